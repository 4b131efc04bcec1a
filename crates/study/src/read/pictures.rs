//! The charts and tables of a study.

use super::{Raw, Reader, Written};
use crate::claims::{Binder, Cells, Evaluator, Expr, Missing, Place, combinations};
use crate::plan::{Along, ChartPlan, DifferencePlan, Log, Shape, TablePlan, ValuesPlan, Why};
use sojourn_scenario::problem::suggestion;
use sojourn_scenario::read::{Fields, join, wrong_type};
use sojourn_scenario::tree::{Node, Value};

/// The kinds of charts with the keys that each needs or knows, beside those of all.
const KINDS: [(&str, &[&str]); 7] = [
    ("lines", &["x", "y", "reference", "lines", "log"]),
    ("bars", &["x", "y", "reference", "lines", "log"]),
    ("box", &["x", "of", "lines", "log"]),
    ("scatter", &["x", "y", "points", "lines", "log"]),
    ("map", &["x", "y", "value"]),
    ("time", &["series", "of", "lines", "log"]),
    ("distribution", &["of", "lines", "log"]),
];
/// Differences from here on need a reason, unless the table says otherwise.
const NOTABLE: f64 = 0.1;

impl Reader {
    fn binder(&mut self, fields: &Fields<'_>, key: &str, path: &str) -> Option<Binder> {
        let written: Written = fields.field(key, &mut self.problems)?;
        let read = crate::claims::binder(&written.text, &self.words);
        self.understood(read, &written, &join(path, key))
    }

    fn binders(&mut self, fields: &Fields<'_>, key: &str, path: &str) -> Option<Vec<Binder>> {
        let written: Written = fields.field(key, &mut self.problems)?;
        let read = crate::claims::binders(&written.text, &self.words);
        self.understood(read, &written, &join(path, key))
    }

    fn quantity(&mut self, fields: &Fields<'_>, key: &str, path: &str) -> Option<Expr> {
        let written: Written = fields.field(key, &mut self.problems)?;
        let read = crate::claims::quantity(&written.text, &self.words);
        self.understood(read, &written, &join(path, key))
    }

    /// Statistics of a distribution: `link.sojourn_ms[link=up]` with `.p5` and so on behind its
    /// name.
    fn statistics<const N: usize>(
        &mut self,
        fields: &Fields<'_>,
        path: &str,
        names: [&str; N],
    ) -> Option<[Expr; N]> {
        let written: Written = fields.field("of", &mut self.problems)?;
        let text = &written.text;
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = text.find(|c| !of_name(c)).unwrap_or(text.len());
        let mut found = Vec::new();
        for name in names {
            let (start, rest) = text.split_at(end);
            let read = crate::claims::quantity(&format!("{start}.{name}{rest}"), &self.words);
            let read = read.map_err(|mut complaint| {
                let shift = |at: usize| if at > end { at - name.len() - 1 } else { at };
                complaint.span = shift(complaint.span.start)..shift(complaint.span.end);
                complaint
            });
            found.push(self.understood(read, &written, &join(path, "of"))?);
        }
        found.try_into().ok()
    }

    pub(super) fn chart(&mut self, node: &Node, path: &str) -> Option<ChartPlan> {
        let kind = node.text_at("kind").unwrap_or_default().to_owned();
        let own = KINDS.iter().find(|(name, _)| *name == kind);
        let common = [
            "title", "setting", "kind", "at", "panels", "label", "x_label",
        ];
        let own_keys = own.map_or(&[][..], |(_, keys)| keys);
        if own.is_none() {
            let Written { text, at } = Fields::of(node, path)?.field("kind", &mut self.problems)?;
            let help = suggestion(&text, &KINDS.map(|(name, _)| name));
            let message = format!("`{text}` is no kind of chart");
            self.add(at, &join(path, "kind"), message, Some(help));
            return None;
        }
        let known: Vec<&str> = common.iter().chain(own_keys).copied().collect();
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        let plan = ChartPlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(&fields, path)?,
            shape: self.shape(&kind, &fields, node, path)?,
            at: self.place(&fields, path)?,
            panels: match node.get("panels") {
                Some(_) => Some(self.binder(&fields, "panels", path)?),
                None => None,
            },
            lines: match node.get("lines") {
                Some(_) => Some(self.binder(&fields, "lines", path)?),
                None => None,
            },
            label: fields.field("label", &mut self.problems)?,
            x_label: fields.field("x_label", &mut self.problems)?,
            log: self.log(&fields, path)?,
        };
        let around = plan.at.iter().map(|(axis, value)| Binder {
            axis: *axis,
            values: vec![*value],
        });
        let around = around.chain(plan.panels.iter().chain(&plan.lines).cloned());
        let around: Vec<Binder> = around.collect();
        for (key, binders, expr) in plan.shape.quantities() {
            let binders: Vec<Binder> = around.iter().cloned().chain(binders).collect();
            self.finds_some(
                plan.setting,
                &binders,
                (node, key, path),
                |evaluator, place| evaluator.quantity_at(place, expr).map(drop),
            );
        }
        if matches!(
            plan.shape,
            Shape::Time { .. } | Shape::Distribution { of: None }
        ) {
            self.finds_some(
                plan.setting,
                &around,
                (node, "kind", path),
                |evaluator, place| evaluator.find(place),
            );
        }
        Some(plan)
    }

    /// `at = "codel, n=14"`
    fn place(&mut self, fields: &Fields<'_>, path: &str) -> Option<Place> {
        let written: Option<Written> = fields.field("at", &mut self.problems)?;
        let Some(written) = written else {
            return Some(Place::new());
        };
        let read = crate::claims::place(&written.text, &self.words);
        self.understood(read, &written, &join(path, "at"))
    }

    /// A quantity of a picture must mean one cell at every place, and have one somewhere. Gaps
    /// are allowed: not every study has every combination.
    fn finds_some(
        &mut self,
        setting: usize,
        binders: &[Binder],
        (node, key, path): (&Node, &str, &str),
        find: impl Fn(&mut Evaluator<'_>, &Place) -> Result<(), Missing>,
    ) {
        let setting = &self.settings[setting];
        let cells = Cells::new(&setting.scenario().cells, &[]);
        let mut evaluator = Evaluator::new(&self.words, &cells);
        let mut missing = None;
        for place in combinations(binders) {
            match find(&mut evaluator, &place) {
                Ok(()) => {
                    missing = None;
                    break;
                }
                Err(Missing::Cell(message)) => missing = missing.or(Some(message)),
                Err(Missing::Unclear(message)) => {
                    missing = Some(message);
                    break;
                }
            }
        }
        if let Some(message) = missing {
            let at = node.get(key).map_or(node.at, |entry| entry.node.at);
            let message = format!("{message} (in setting {})", setting.name);
            self.add(at, &join(path, key), message, None);
        }
    }

    /// A quantity that must be there at every place.
    fn finds_all(
        &mut self,
        setting: usize,
        binders: &[Binder],
        expr: &Expr,
        (node, key, path): (&Node, &str, &str),
    ) {
        let setting = &self.settings[setting];
        let cells = Cells::new(&setting.scenario().cells, &[]);
        let mut evaluator = Evaluator::new(&self.words, &cells);
        let mut places = combinations(binders).into_iter();
        let missing = places.find_map(|place| evaluator.quantity_at(&place, expr).err());
        if let Some(missing) = missing {
            let at = node.get(key).map_or(node.at, |entry| entry.node.at);
            let message = format!("{} (in setting {})", missing.message(), setting.name);
            self.add(at, &join(path, key), message, None);
        }
    }

    fn log(&mut self, fields: &Fields<'_>, path: &str) -> Option<Log> {
        let written: Option<Written> = fields.field("log", &mut self.problems)?;
        let Some(Written { text, at }) = written else {
            return Some(Log::default());
        };
        if !["x", "y", "xy"].contains(&text.as_str()) {
            let message = format!("`{text}` is no axis of a chart");
            let help = "`x`, `y` or `xy`".to_owned();
            self.add(at, &join(path, "log"), message, Some(help));
            return None;
        }
        Some(Log {
            x: text.contains('x'),
            y: text.contains('y'),
        })
    }

    fn shape(&mut self, kind: &str, fields: &Fields<'_>, node: &Node, path: &str) -> Option<Shape> {
        Some(match kind {
            "lines" | "bars" => Shape::Along {
                bars: kind == "bars",
                x: self.binder(fields, "x", path)?,
                of: self.along(node, path)?,
            },
            "box" => Shape::Boxes {
                x: self.binder(fields, "x", path)?,
                of: Box::new(self.statistics(fields, path, ["p5", "p25", "p50", "p75", "p95"])?),
            },
            "scatter" => Shape::Scatter {
                points: match node.get("points") {
                    Some(_) => self.binders(fields, "points", path)?,
                    None => Vec::new(),
                },
                x: self.quantity(fields, "x", path)?,
                y: self.quantity(fields, "y", path)?,
            },
            "map" => Shape::Map {
                x: self.binder(fields, "x", path)?,
                y: self.binder(fields, "y", path)?,
                value: self.quantity(fields, "value", path)?,
            },
            "time" => Shape::Time {
                series: fields.field("series", &mut self.problems)?,
                of: fields.field("of", &mut self.problems)?,
            },
            _ => Shape::Distribution {
                of: match node.get("of") {
                    Some(_) => Some(self.statistics(fields, path, ["p50"])?[0].clone()),
                    None => None,
                },
            },
        })
    }

    /// `y` and `reference`: a quantity, or a table of quantities with their names.
    fn along(&mut self, node: &Node, path: &str) -> Option<Vec<Along>> {
        let ys = self.named(node, "y", path)?;
        let mut references = match node.get("reference") {
            Some(_) => self.named(node, "reference", path)?,
            None => Vec::new(),
        };
        let found = ys.into_iter().map(|(name, y)| {
            let reference = references.iter().position(|(other, _)| *other == name);
            Along {
                reference: reference.map(|index| references.swap_remove(index).1),
                name,
                y,
            }
        });
        let found = found.collect();
        if let Some((name, _)) = references.first() {
            let message = format!("`y` has no quantity `{name}`");
            let at = node.get("reference").map_or(node.at, |entry| entry.at);
            self.add(at, &join(path, "reference"), message, None);
        }
        Some(found)
    }

    fn named(&mut self, node: &Node, key: &str, path: &str) -> Option<Vec<(String, Expr)>> {
        let fields = Fields::of(node, path);
        let Some(Value::Table(entries)) = node.get(key).map(|entry| &entry.node.value) else {
            return Some(vec![(String::new(), self.quantity(&fields?, key, path)?)]);
        };
        let path = join(path, key);
        if entries.is_empty() {
            let message = "a quantity is missing".to_owned();
            self.add(node.get(key)?.at, &path, message, None);
            return None;
        }
        let mut found = Vec::new();
        for entry in entries {
            let of = Fields::of(&node.get(key)?.node, &path)?;
            found.push((entry.key.clone(), self.quantity(&of, &entry.key, &path)?));
        }
        Some(found)
    }

    pub(super) fn table(&mut self, node: &Node, path: &str) -> Option<TablePlan> {
        if node.text_at("kind") == Some("difference") {
            return self.difference(node, path).map(TablePlan::Difference);
        }
        let known = ["title", "setting", "kind", "rows", "columns", "value"];
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        let kind: Option<Written> = fields.field("kind", &mut self.problems)?;
        if let Some(Written { text, at }) = kind {
            let message = format!("`{text}` is no kind of table");
            let help = "`difference`, or no `kind` at all".to_owned();
            self.add(at, &join(path, "kind"), message, Some(help));
        }
        let plan = ValuesPlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(&fields, path)?,
            rows: self.binder(&fields, "rows", path)?,
            columns: self.binder(&fields, "columns", path)?,
            value: self.quantity(&fields, "value", path)?,
        };
        let binders = [plan.rows.clone(), plan.columns.clone()];
        self.finds_some(
            plan.setting,
            &binders,
            (node, "value", path),
            |evaluator, place| evaluator.quantity_at(place, &plan.value).map(drop),
        );
        Some(TablePlan::Values(plan))
    }

    fn difference(&mut self, node: &Node, path: &str) -> Option<DifferencePlan> {
        let known = [
            "title",
            "setting",
            "kind",
            "rows",
            "value",
            "reference",
            "above",
            "why",
        ];
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        let above: Option<Written> = fields.field("above", &mut self.problems)?;
        let above = above.map_or(Some(NOTABLE), |above| self.share(&above, path))?;
        let mut plan = DifferencePlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(&fields, path)?,
            rows: self.binders(&fields, "rows", path)?,
            value: self.quantity(&fields, "value", path)?,
            reference: self.quantity(&fields, "reference", path)?,
            above,
            why: Vec::new(),
        };
        let wanted = [("value", &plan.value), ("reference", &plan.reference)];
        for (key, expr) in wanted {
            self.finds_all(plan.setting, &plan.rows, expr, (node, key, path));
        }
        let why: Option<Option<Raw>> = fields.field("why", &mut self.problems);
        if let Some(Raw(node)) = why? {
            plan.why = self.reasons(&node, &join(path, "why"), &plan)?;
        }
        Some(plan)
    }

    /// `"10%"`
    fn share(&mut self, written: &Written, path: &str) -> Option<f64> {
        let percent = written.text.strip_suffix('%').map(str::trim);
        let share = percent.and_then(|number| number.parse::<f64>().ok());
        let share = share.filter(|share| *share >= 0.0);
        if share.is_none() {
            let message = format!("`{}` is no share, such as \"10%\"", written.text);
            self.add(written.at, &join(path, "above"), message, None);
        }
        Some(share? / 100.0)
    }

    /// `"codel 14" = "why it differs"`: a row, or `all`.
    fn reasons(&mut self, node: &Node, path: &str, plan: &DifferencePlan) -> Option<Vec<Why>> {
        let Value::Table(entries) = &node.value else {
            self.problems.add(wrong_type(node, path, "a table"));
            return None;
        };
        let rows = crate::plan::rows(&plan.rows, &self.words);
        let known: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        let mut reasons = Vec::new();
        for entry in entries {
            let reason = <Written as sojourn_scenario::read::Read>::read(
                &entry.node,
                path,
                &mut self.problems,
            );
            let row = known.iter().position(|name| *name == entry.key);
            if row.is_none() && entry.key != Why::ALL {
                let message = format!("no row of the table is `{}`", entry.key);
                let help = suggestion(&entry.key, &known);
                self.add(entry.at, path, message, Some(help));
                continue;
            }
            let text = reason?.text;
            reasons.push(Why { row, text });
        }
        Some(reasons)
    }
}
