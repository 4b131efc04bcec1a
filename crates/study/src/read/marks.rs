//! Marks of known deviations.

use super::{Reader, Written, keys};
use crate::format::{MARK, WITNESS};
use crate::mark::{Agreement, Mark, Reference};
use sojourn_scenario::problem::suggestion;
use sojourn_scenario::read::{Fields, join, wrong_type};
use sojourn_scenario::tree::{Node, Value};
use sojourn_world::WorldName;
use std::ops::RangeInclusive;

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
            Value::Table(_) => Some(vec![self.mark(&node, &path, setting)?]),
            Value::Array(items) => {
                let marks = items.iter();
                marks.map(|item| self.mark(item, &path, setting)).collect()
            }
            // A reason alone is what older programs had.
            Value::Text(why) if self.kept => Some(vec![Mark {
                why: why.clone(),
                worlds: Vec::new(),
                seeds: 1..=usize::MAX,
                within: None,
                bound: String::new(),
                reference: None,
            }]),
            _ => {
                let wanted = "a table with `why`, `within` and, where they apply, `world`, \
                     `seeds` and `reference`, or a list of such tables";
                self.problems.refuse(wrong_type(&node, &path, wanted))
            }
        }
    }

    fn mark(&mut self, node: &Node, path: &str, setting: usize) -> Option<Mark> {
        keys!(self, node, path, MARK; why, within, world, seeds, reference);
        let why = self.sentence(why?, &join(path, "why"))?;
        let worlds = self.worlds_of(world?, &join(path, "world"))?;
        let seeds = self.seeds(seeds?, &join(path, "seeds"))?;
        let reference: Option<Node> = reference?;
        let reference = match reference {
            Some(node) => Some(self.reference(&node, &join(path, "reference"))?),
            None => None,
        };
        let (within, path): (Written, _) = (within?, join(path, "within"));
        let read = crate::claims::check(&within.text, &self.words);
        let check = self.understood(read, &within, &path)?;
        self.finds_cells(&check, &within, &path, setting);
        if !check.has_number() {
            let message = format!("`{}` has no number, so it is no bound", within.text);
            let help = "for example `for n: delay in 5 .. 9`".to_owned();
            return self.refuse(within.at, &path, message, Some(help));
        }
        Some(Mark {
            why,
            worlds,
            seeds,
            within: Some(check),
            bound: within.text,
            reference,
        })
    }

    /// A sentence for readers who do not know the code.
    fn sentence(&mut self, written: Written, path: &str) -> Option<String> {
        let text = &written.text;
        let begins = text.starts_with("ns-") || text.starts_with(|c: char| !c.is_lowercase());
        if begins && written.text.ends_with('.') && written.text.contains(' ') {
            return Some(written.text);
        }
        let message = "is no sentence with a full stop".to_owned();
        let help = "a reader who does not know the code should understand it".to_owned();
        self.refuse(written.at, path, message, Some(help))
    }

    /// A world or a list of them; without, all.
    fn worlds_of(&mut self, node: Option<Node>, path: &str) -> Option<Vec<WorldName>> {
        let nodes = match node {
            None => return Some(Vec::new()),
            Some(Node {
                value: Value::Array(items),
                ..
            }) => items,
            Some(node) => vec![node],
        };
        let known: Vec<String> = self.worlds.iter().map(ToString::to_string).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
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

    /// `1`, `"1..4"` or `"5.."`; without, any number.
    fn seeds(&mut self, node: Option<Node>, path: &str) -> Option<RangeInclusive<usize>> {
        let Some(Node { text, at, .. }) = node else {
            return Some(1..=usize::MAX);
        };
        let range = match text.split_once("..") {
            None => text.parse().ok().map(|number| number..=number),
            Some((least, "")) => least.parse().ok().map(|least| least..=usize::MAX),
            Some((least, most)) => (least.parse().ok())
                .zip(most.parse().ok())
                .map(|(a, b)| a..=b),
        };
        let range = range.filter(|range| *range.start() > 0 && !range.is_empty());
        range.or_else(|| {
            let message = format!("`{text}` is no number of seeds");
            let help = "`1`, `\"1..4\"` or `\"5..\"`".to_owned();
            self.refuse(at, path, message, Some(help))
        })
    }

    fn reference(&mut self, node: &Node, path: &str) -> Option<Reference> {
        keys!(self, node, path, WITNESS; agrees, says);
        let (agrees, says): (Written, Written) = (agrees?, says?);
        let says = self.sentence(says, &join(path, "says"))?;
        let place = Agreement::WORDS
            .iter()
            .position(|word| *word == agrees.text);
        let Some(place) = place else {
            let message = |word: &str| format!("`{word}` is nobody to agree with");
            return self.unknown(&agrees, &join(path, "agrees"), message, &Agreement::WORDS);
        };
        Some(Reference {
            agrees: Agreement::ALL[place],
            says,
        })
    }
}
