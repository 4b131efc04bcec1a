//! The claims of a study.

use super::{Raw, Reader, Written};
use crate::claims::{Cells, Check, Evaluator, Missing};
use crate::published::{Claim, Deviation, Expected, Setting};
use sojourn_scenario::problem::Origin;
use sojourn_scenario::read::{Fields, Read, join};
use sojourn_scenario::tree::{Node, Value};

impl Reader {
    pub(super) fn claims(&mut self, top: &Fields<'_>) -> Vec<Claim> {
        let claims = self.list(top, "claim", |reader, node, path| {
            Some((reader.claim(node, path)?, node.at))
        });
        for (i, (claim, at)) in claims.iter().enumerate() {
            if claims[..i].iter().any(|(other, _)| other.id == claim.id) {
                let message = format!("another claim has the id `{}`", claim.id);
                self.add(*at, "claim", message, None);
            }
        }
        claims.into_iter().map(|(claim, _)| claim).collect()
    }

    fn claim(&mut self, node: &Node, path: &str) -> Option<Claim> {
        let known = [
            "id",
            "setting",
            "statement",
            "published",
            "check",
            "deviation",
        ];
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        let id = fields.field("id", &mut self.problems);
        let statement = fields.field("statement", &mut self.problems);
        let published = fields.field("published", &mut self.problems);
        let deviation = fields.field("deviation", &mut self.problems);
        let checks: Option<Vec<Raw>> = fields.field("check", &mut self.problems);
        let setting = self.setting(&fields, path)?;
        let path = join(path, "check");
        let mut expected = Vec::new();
        for Raw(node) in checks? {
            expected.push(self.expected(&node, &path, setting)?);
        }
        if expected.is_empty() {
            self.add(node.at, &path, "a claim needs a check".into(), None);
        }
        Some(Claim {
            id: id?,
            setting,
            statement: statement?,
            published: published?,
            checks: expected,
            deviation: deviation?,
        })
    }

    /// A check alone, or `{ holds = "...", deviation = "..." }`.
    fn expected(&mut self, node: &Node, path: &str, setting: usize) -> Option<Expected> {
        let (written, deviation) = if let Value::Table(_) = &node.value {
            let known = ["holds", "deviation"];
            let fields = Fields::open(node, path, &known, &mut self.problems)?;
            let holds: Option<Written> = fields.field("holds", &mut self.problems);
            (holds?, fields.field("deviation", &mut self.problems)?)
        } else {
            let written = Written::read(node, path, &mut self.problems)?;
            (written, Deviation::default())
        };
        let read = crate::claims::check(&written.text, &self.words);
        let check = self.understood(read, &written, path)?;
        self.finds_cells(&check, &written, path, setting);
        Some(Expected {
            text: written.text,
            check,
            deviation,
        })
    }

    /// A check must find its cells before anything is run.
    fn finds_cells(&mut self, check: &Check, written: &Written, path: &str, setting: usize) {
        let Setting {
            name,
            scenario,
            live,
        } = &self.settings[setting];
        let cells = Cells::new(&scenario.cells, &[]);
        let cases = Evaluator::new(&self.words, &cells).check(check);
        let mut wrong = cases
            .into_iter()
            .find_map(|case| Some((case.err()?.message(), "")));
        // Cells that the live world does not have are left out there.
        if let (None, Some(live)) = (&wrong, live) {
            let cells = Cells::new(&live.cells, &[]);
            let mut evaluator = Evaluator::new(&self.words, &cells).over_part();
            wrong = evaluator
                .check(check)
                .into_iter()
                .find_map(|case| match case {
                    Err(Missing::Unclear(message)) => Some((message, ", live")),
                    Ok(_) | Err(Missing::Cell(_)) => None,
                });
        }
        if let Some((message, world)) = wrong {
            let message = format!("{message} (in setting {name}{world})");
            self.add(written.at, path, message, None);
        }
    }

    /// A live scenario must have cells that a claim is about.
    pub(super) fn use_of_live(&mut self, places: &[Option<Origin>], claims: &[Claim]) {
        for (number, at) in places.iter().enumerate() {
            let setting = &self.settings[number];
            let (Some(at), Some(live)) = (at, &setting.live) else {
                continue;
            };
            let mut about = claims.iter().filter(|claim| claim.setting == number);
            if about.any(|claim| claim.finds(live, &self.words)) || claims.is_empty() {
                continue;
            }
            let fields: Vec<&str> = setting
                .scenario
                .info
                .axes
                .iter()
                .map(|a| &a.field[..])
                .collect();
            let message = format!("no claim of {} finds a cell in it", setting.name);
            let help = format!(
                "it must sweep the same fields, one value each will do: {}",
                fields.join(", ")
            );
            self.add(*at, "setting", message, Some(help));
        }
    }
}
