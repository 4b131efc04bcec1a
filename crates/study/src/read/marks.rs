//! Marks of known deviations.

use super::{Reader, Written, keys};
use crate::claims::Check;
use crate::format::MARK;
use crate::mark::{Cause, Mark};
use sojourn_scenario::problem::suggestion;
use sojourn_scenario::read::{Fields, join, wrong_type};
use sojourn_scenario::tree::{Node, Value};
use sojourn_world::WorldName;

impl Reader {
    /// A mark, or several, each for other conditions.
    pub(super) fn marks(
        &mut self,
        node: Option<Node>,
        path: &str,
        setting: usize,
    ) -> Option<Vec<Mark>> {
        let path = join(path, "deviation");
        let Some(node) = node else {
            return Some(Vec::new());
        };
        match &node.value {
            // Older programs had marks without a verdict, or a reason alone.
            Value::Table(entries)
                if self.kept && entries.iter().all(|entry| entry.key != "verdict") =>
            {
                let why = entries
                    .iter()
                    .find(|entry| entry.key == "why")
                    .map_or(String::new(), |why| why.node.text.clone());
                Some(vec![Mark::without_verdict(why)])
            }
            Value::Table(_) => Some(vec![self.mark(&node, &path, setting)?]),
            Value::Array(items) => {
                let marks = items.iter();
                marks.map(|item| self.mark(item, &path, setting)).collect()
            }
            Value::Text(why) if self.kept => Some(vec![Mark::without_verdict(why.clone())]),
            _ => {
                let wanted = "a table with `verdict`, `why` and, where they apply, \
                     `within`, `world` and `reference`, or a list of such tables";
                self.problems.refuse(wrong_type(&node, &path, wanted))
            }
        }
    }

    fn mark(&mut self, node: &Node, path: &str, setting: usize) -> Option<Mark> {
        keys!(self, node, path, MARK; verdict, why, within, world, reference);
        let cause = self.cause(&verdict?, path)?;
        let why = self.sentence(why?, &join(path, "why"))?;
        let worlds = self.worlds_of(world?, &join(path, "world"))?;
        let reference: Option<Written> = reference?;
        let reference = match reference {
            Some(written) => Some(self.sentence(written, &join(path, "reference"))?),
            None if cause == Cause::Reference => {
                let message = "`reference` is missing".to_owned();
                let help = "the verdict says that a reference gives what we do: which, and what?";
                return self.refuse(node.at, path, message, Some(help.to_owned()));
            }
            None => None,
        };
        let path = join(path, "within");
        let within: Option<Written> = within?;
        let bound = match within {
            Some(written) => Some((self.bound(&written, &path, setting)?, written.text)),
            None if cause == Cause::Reference => {
                let message = "is missing".to_owned();
                let help = "how far may it go? What the reference gives says so";
                return self.refuse(node.at, &path, message, Some(help.to_owned()));
            }
            None => None,
        };
        let (within, bound) = bound.unzip();
        Some(Mark {
            cause,
            why,
            worlds,
            within,
            bound,
            reference,
        })
    }

    /// How far a deviation may go: a check with a number in it.
    fn bound(&mut self, within: &Written, path: &str, setting: usize) -> Option<Check> {
        let read = crate::claims::check(&within.text, &self.words);
        let check = self.understood(read, within, path)?;
        self.finds_cells(&check, within, path, setting);
        if !check.has_number() {
            let message = format!("`{}` has no number, so it is not a bound", within.text);
            let help = "for example `for n: delay in 5 .. 9`".to_owned();
            return self.refuse(within.at, path, message, Some(help));
        }
        Some(check)
    }

    /// A sentence for readers who do not know the code.
    fn sentence(&mut self, written: Written, path: &str) -> Option<String> {
        let text = &written.text;
        let begins = text.starts_with("ns-") || text.starts_with(|c: char| !c.is_lowercase());
        if begins && written.text.ends_with('.') && written.text.contains(' ') {
            return Some(written.text);
        }
        let message = "is not a sentence with a full stop".to_owned();
        let help = "a reader who does not know the code should understand it".to_owned();
        self.refuse(written.at, path, message, Some(help))
    }

    /// A world or a list of them; without, all.
    pub(super) fn worlds_of(&mut self, node: Option<Node>, path: &str) -> Option<Vec<WorldName>> {
        let nodes = match node {
            None => return Some(Vec::new()),
            Some(Node {
                value: Value::Array(items),
                ..
            }) => items,
            Some(node) => vec![node],
        };
        let names: Vec<String> = self.worlds.iter().map(ToString::to_string).collect();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut found = Vec::new();
        for Node { text, at, .. } in nodes {
            let Some(place) = known.iter().position(|name| *name == text) else {
                let message = format!("no world is named `{text}`");
                return self.refuse(at, path, message, Some(suggestion(&text, &known)));
            };
            found.push(self.worlds[place].clone());
        }
        Some(found)
    }

    fn cause(&mut self, word: &Written, path: &str) -> Option<Cause> {
        let words = Cause::WORDS.iter();
        let Some(place) = words.into_iter().position(|known| *known == word.text) else {
            let message = |word: &str| format!("unknown verdict of a deviation `{word}`");
            return self.unknown(word, &join(path, "verdict"), message, &Cause::WORDS);
        };
        Some(Cause::ALL[place])
    }
}
