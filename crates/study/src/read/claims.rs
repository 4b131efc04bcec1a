//! The claims of a study.

use super::{Reader, Written, keys};
use crate::claims::{Cells, Check, Evaluator, Missing};
use crate::format::{CLAIM, EXPECTED};
use crate::study::{Claim, Expected};
use sojourn_scenario::problem::Origin;
use sojourn_scenario::read::{Fields, Read, join};
use sojourn_scenario::tree::Node;
use sojourn_world::ByWorld;

/// Seeds from which on an interval is narrow enough to decide an order.
const ORDER_SEEDS: usize = 3;

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
        let fields = Fields::open(node, path, &CLAIM.names(), &mut self.problems)?;
        let id = fields.field("id", &mut self.problems);
        let statement = fields.field("statement", &mut self.problems);
        let published = fields.field("published", &mut self.problems);
        let own: Option<Option<bool>> = fields.field("own", &mut self.problems);
        let seeds: Option<Option<u32>> = fields.field("seeds", &mut self.problems);
        let worlds = fields.field("world", &mut self.problems);
        let worlds = self.worlds_of(worlds?, &join(path, "world"))?;
        let checks: Option<Vec<Node>> = fields.field("check", &mut self.problems);
        let setting = self.setting(&fields)?;
        let claim = path;
        let path = join(path, "check");
        let mut expected = Vec::new();
        for node in checks? {
            expected.push(self.expected(&node, &path, setting)?);
        }
        if expected.is_empty() {
            self.add(node.at, &path, "a claim needs a check".into(), None);
        }
        let seeds = self.least_seeds(seeds?, node, &join(claim, "seeds"), &expected)?;
        Some(Claim {
            own: own?.unwrap_or(false),
            seeds,
            worlds,
            id: id?,
            setting,
            statement: statement?,
            published: published?,
            checks: expected,
        })
    }

    /// The least number of seeds: what is said, three where an interval decides.
    fn least_seeds(
        &mut self,
        given: Option<u32>,
        node: &Node,
        path: &str,
        checks: &[Expected],
    ) -> Option<usize> {
        let least = if checks.iter().any(|expected| expected.check.is_order()) {
            ORDER_SEEDS
        } else {
            1
        };
        match given.map(|seeds| seeds as usize) {
            None => Some(least),
            Some(seeds) if seeds >= least => Some(seeds),
            Some(seeds) => {
                let message = format!("{seeds} seeds are too few");
                let help = match least {
                    1 => "it needs 1 at least".to_owned(),
                    least => format!("a check compares two figures: it needs {least} at least"),
                };
                self.refuse(node.at, path, message, Some(help))
            }
        }
    }

    /// A check alone, or `{ holds = "...", deviation = { ... } }`.
    fn expected(&mut self, node: &Node, path: &str, setting: usize) -> Option<Expected> {
        let (written, marks) = if node.is_table() {
            keys!(self, node, path, EXPECTED; holds, deviation);
            let holds: Option<Written> = holds;
            (holds?, self.marks(deviation?, path, setting)?)
        } else {
            let written = Written::read(node, path, &mut self.problems)?;
            (written, Vec::new())
        };
        let read = crate::claims::check(&written.text, &self.words);
        let check = self.understood(read, &written, path)?;
        self.finds_cells(&check, &written, path, setting);
        Some(Expected {
            text: written.text,
            check,
            marks,
        })
    }

    /// A check must find its cells before anything is run.
    pub(super) fn finds_cells(
        &mut self,
        check: &Check,
        written: &Written,
        path: &str,
        setting: usize,
    ) {
        let setting = &self.settings[setting];
        let cells = Cells::planned(&setting.scenario().cells);
        let cases = Evaluator::new(&self.words, &cells).check(check);
        let mut wrong = cases
            .into_iter()
            .find_map(|case| Some((case.err()?.message(), String::new())));
        // Cells that the other worlds do not have are left out there.
        for (world, scenario) in setting.scenarios.iter().skip(1) {
            let cells = Cells::planned(&scenario.cells);
            let mut evaluator = Evaluator::new(&self.words, &cells).over_part();
            let unclear = |case| match case {
                Err(Missing::Unclear(message)) => Some((message, format!(", {world}"))),
                Ok(_) | Err(Missing::Cell(_)) => None,
            };
            wrong = wrong.or_else(|| evaluator.check(check).into_iter().find_map(unclear));
        }
        if let Some((message, world)) = wrong {
            let message = format!("{message} (in setting {}{world})", setting.name);
            self.add(written.at, path, message, None);
        }
    }

    /// A scenario of a further world must have cells that a claim is about.
    pub(super) fn use_of_others(&mut self, places: &[ByWorld<Origin>], claims: &[Claim]) {
        let named = places.iter().enumerate();
        for (number, world, at) in
            named.flat_map(|(number, at)| at.iter().map(move |(world, at)| (number, world, *at)))
        {
            let setting = &self.settings[number];
            let mut about = claims.iter().filter(|claim| claim.setting == number);
            let found = setting.scenarios.get(world).is_none_or(|scenario| {
                claims.is_empty() || about.any(|claim| claim.finds(scenario, &self.words))
            });
            if found {
                continue;
            }
            let axes = setting.scenario().info.axes.iter();
            let fields: Vec<&str> = axes.map(|axis| axis.field.as_str()).collect();
            let message = format!("no claim of {} finds a cell in it", setting.name);
            let help = format!(
                "it must sweep the same fields, one value each will do: {}",
                fields.join(", ")
            );
            self.add(at, "setting", message, Some(help));
        }
    }
}
