//! What makes sense of the tables of a file: where they were written, and what is wrong with them.

use crate::files::Files;
use crate::problem::{Problem, Problems};
use crate::quantity::Name;
use crate::tree::Node;
use std::collections::BTreeSet;

/// What resolving needs beside the file.
pub struct Resolver<'a> {
    /// The tree that the file was read from, to find places.
    pub tree: &'a Node,
    /// Takes what is wrong.
    pub problems: &'a mut Problems,
    /// Reads the files that it names.
    pub files: &'a mut Files,
}

impl Resolver<'_> {
    /// A problem with the field at `path`.
    pub fn complain(&mut self, path: &str, message: impl Into<String>) {
        let problem = Problem::new(self.tree.locate(path), path, message);
        self.problems.add(problem);
    }

    /// The same, of a field that has no meaning then.
    pub fn refuse<T>(&mut self, path: &str, message: impl Into<String>) -> Option<T> {
        self.complain(path, message);
        None
    }

    /// The same, with what would be right.
    pub fn advise<T>(
        &mut self,
        path: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        let problem = Problem::new(self.tree.locate(path), path, message);
        self.problems.refuse(problem.help(help))
    }

    /// Whether no name of the list `list` occurs twice; complains about those that do. There is a
    /// name for each item that has one.
    pub fn check_unique<'n>(
        &mut self,
        list: &str,
        names: impl Iterator<Item = Option<&'n Name>>,
    ) -> bool {
        let before = self.problems.len();
        let mut seen = BTreeSet::new();
        for (index, name) in names.enumerate() {
            let Some(name) = name else { continue };
            if !seen.insert(&name.0) {
                let at = self.tree.locate(&format!("{list}[{}].name", index + 1));
                let message = format!("another {list} has the name `{}` already", name.0);
                self.problems.add(Problem::new(at, list, message));
            }
        }
        self.problems.len() == before
    }
}
