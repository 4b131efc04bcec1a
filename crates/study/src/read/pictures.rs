//! The charts and tables of a study.

use super::{Reader, Written};
use crate::claims::{self, Binder, Cells, Evaluator, Expr, Missing, Place, combinations};
use crate::format::{CHARTS, TABLES, Variant};
use crate::plan::{
    Along, ChartPlan, DifferencePlan, Log, NumberedPlan, Shape, TablePlan, ValuesPlan, Why,
};
use sojourn_scenario::problem::Origin;
use sojourn_scenario::read::{Fields, Read, wrong_type};
use sojourn_scenario::tree::{Node, Value};
use sojourn_world::{Flow, Transport, figure};

/// Differences from here on need a reason, unless the table says otherwise.
const NOTABLE: f64 = 0.1;

/// Whether a flow can have a series.
fn can_have(flow: &Flow, series: &str) -> bool {
    match series {
        "delay" => flow.deadline.is_some(),
        "cwnd" | "ssthresh" | "pacing_rate" => matches!(flow.transport, Transport::Tcp(_)),
        _ => true,
    }
}

/// The names of the series of links or of flows.
fn known_series(kind: figure::Kind) -> Vec<&'static str> {
    figure::series(kind).map(|figure| figure.key).collect()
}

impl Reader {
    /// Statistics of a distribution: `link.sojourn_ms[link=up]` with `.p5` and so on behind its
    /// name.
    fn statistics<const N: usize>(
        &mut self,
        fields: &Fields<'_>,
        names: [&str; N],
    ) -> Option<[Expr; N]> {
        let written: Written = fields.field("of", &mut self.problems)?;
        let text = &written.text;
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = text.find(|c| !of_name(c)).unwrap_or(text.len());
        let mut found = Vec::new();
        for name in names {
            let (start, rest) = text.split_at(end);
            let read = claims::quantity(&format!("{start}.{name}{rest}"), &self.words).map_err(
                |mut complaint| {
                    let shift = |at: usize| if at > end { at - name.len() - 1 } else { at };
                    complaint.span = shift(complaint.span.start)..shift(complaint.span.end);
                    complaint
                },
            );
            found.push(self.understood(read, &written, &fields.path("of"))?);
        }
        found.try_into().ok()
    }

    pub(super) fn chart(&mut self, node: &Node, path: &str) -> Option<ChartPlan> {
        let kind = node.text_at("kind").unwrap_or_default();
        let Some(known) = Variant::of(CHARTS, Some(kind)) else {
            let written = Fields::of(node, path)?.field("kind", &mut self.problems)?;
            let message = |text: &str| format!("unknown kind of chart `{text}`");
            let path = sojourn_scenario::read::join(path, "kind");
            return self.unknown(&written, &path, message, &Variant::words(CHARTS));
        };
        let fields = Fields::open(node, path, &known.names(), &mut self.problems)?;
        let plan = ChartPlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(&fields)?,
            shape: self.shape(kind, &fields)?,
            at: self
                .may_say(&fields, "at", claims::place)?
                .unwrap_or_default(),
            panels: self.may_say(&fields, "panels", claims::binder)?,
            lines: self.may_say(&fields, "lines", claims::binder)?,
            label: fields.field("label", &mut self.problems)?,
            x_label: fields.field("x_label", &mut self.problems)?,
            log: self.log(&fields)?,
        };
        let around: Vec<Binder> = plan
            .at
            .iter()
            .map(|(axis, value)| Binder {
                axis: *axis,
                values: vec![*value],
            })
            .chain(plan.panels.iter().chain(&plan.lines).cloned())
            .collect();
        for (key, binders, expr) in plan.shape.quantities() {
            for (series, flows) in expr.flow_series() {
                let at = fields.at(key);
                self.has_series(series, at, flows, plan.setting, &fields.path(key))?;
            }
            let binders = [&around[..], &binders].concat();
            self.finds(
                false,
                plan.setting,
                &binders,
                &fields,
                key,
                |evaluator, place| evaluator.quantity_at(place, expr).map(drop),
            );
        }
        if let Shape::Time { .. } | Shape::Distribution { of: None } = plan.shape {
            let find = |evaluator: &mut Evaluator<'_>, place: &Place| evaluator.find(place);
            self.finds(false, plan.setting, &around, &fields, "kind", find);
        }
        Some(plan)
    }

    /// A quantity must mean one cell at every place, and have one `everywhere` or somewhere: not
    /// every study has every combination.
    fn finds(
        &mut self,
        everywhere: bool,
        setting: usize,
        binders: &[Binder],
        fields: &Fields<'_>,
        key: &str,
        find: impl Fn(&mut Evaluator<'_>, &Place) -> Result<(), Missing>,
    ) {
        let setting = &self.settings[setting];
        let cells = Cells::planned(&setting.scenario().cells);
        let mut evaluator = Evaluator::new(&self.words, &cells);
        let mut missing = None;
        for place in combinations(binders) {
            match find(&mut evaluator, &place) {
                Ok(()) if everywhere => {}
                Ok(()) => {
                    missing = None;
                    break;
                }
                Err(Missing::Cell(message)) if !everywhere => missing = missing.or(Some(message)),
                Err(one) => {
                    missing = Some(one.message());
                    break;
                }
            }
        }
        if let Some(message) = missing {
            let message = format!("{message} (in setting {})", setting.name);
            self.add(fields.at(key), &fields.path(key), message, None);
        }
    }

    fn log(&mut self, fields: &Fields<'_>) -> Option<Log> {
        let written: Option<Written> = fields.field("log", &mut self.problems)?;
        let Some(Written { text, at }) = written else {
            return Some(Log::default());
        };
        if !["x", "y", "xy"].contains(&text.as_str()) {
            let message = format!("unknown axis of a chart `{text}`");
            let help = "`x`, `y` or `xy`".to_owned();
            return self.refuse(at, &fields.path("log"), message, Some(help));
        }
        Some(Log {
            x: text.contains('x'),
            y: text.contains('y'),
        })
    }

    fn shape(&mut self, kind: &str, fields: &Fields<'_>) -> Option<Shape> {
        Some(match kind {
            "lines" | "bars" => Shape::Along {
                bars: kind == "bars",
                x: self.says(fields, "x", claims::binder)?,
                of: self.along(fields)?,
            },
            "box" => Shape::Boxes {
                x: self.says(fields, "x", claims::binder)?,
                of: Box::new(self.statistics(fields, ["p5", "p25", "p50", "p75", "p95"])?),
                reference: self.may_say(fields, "reference", claims::quantity)?,
            },
            "scatter" => Shape::Scatter {
                points: self
                    .may_say(fields, "points", claims::binders)?
                    .unwrap_or_default(),
                x: self.says(fields, "x", claims::quantity)?,
                y: self.says(fields, "y", claims::quantity)?,
            },
            "map" => Shape::Map {
                x: self.says(fields, "x", claims::binder)?,
                y: self.says(fields, "y", claims::binder)?,
                value: self.says(fields, "value", claims::quantity)?,
            },
            "time" => self.over_time(fields)?,
            _ => Shape::Distribution {
                of: match fields.get("of") {
                    Some(_) => Some(self.statistics(fields, ["p50"])?[0].clone()),
                    None => None,
                },
            },
        })
    }

    /// Series over time. There is a flow or a link that can have each of them.
    fn over_time(&mut self, fields: &Fields<'_>) -> Option<Shape> {
        let node: Node = fields.field("series", &mut self.problems)?;
        let path = fields.path("series");
        let names: Vec<Written> = match node.value {
            Value::Array(_) => Read::read(&node, &path, &mut self.problems)?,
            _ => vec![Written::read(&node, &path, &mut self.problems)?],
        };
        let of = self.flows_or_links(fields)?;
        let setting = self.setting(fields)?;
        if names.is_empty() {
            let message = "a list without a series".to_owned();
            return self.refuse(node.at, &path, message, None);
        }
        for name in &names {
            self.knows_series(name, &path)?;
            self.has_series(&name.text, name.at, &of, setting, &path)?;
        }
        Some(Shape::Time {
            series: names.into_iter().map(|name| name.text).collect(),
            of,
            levels: match fields.get("reference") {
                Some(_) => self.named(fields, "reference")?,
                None => Vec::new(),
            },
            between: self.between(fields)?,
            scale: self.may_say(fields, "scale", claims::quantity)?,
        })
    }

    /// `"180 .. 320"`: seconds of the run; all of it when left out.
    fn between(&mut self, fields: &Fields<'_>) -> Option<(f64, f64)> {
        let written: Option<Written> = fields.field("between", &mut self.problems)?;
        let Some(Written { text, at }) = written else {
            return Some((f64::NEG_INFINITY, f64::INFINITY));
        };
        let second = |text: &str| text.trim().parse::<f64>().ok();
        let ends = text
            .split_once("..")
            .and_then(|(from, to)| Some((second(from)?, second(to)?)));
        ends.filter(|(from, to)| from < to).or_else(|| {
            let message = format!("`{text}` is not a span of time");
            let help = "seconds of the run, the earlier first: `180 .. 320`".to_owned();
            self.refuse(at, &fields.path("between"), message, Some(help))
        })
    }

    /// Whether any flow or link has a series of this name.
    fn knows_series(&mut self, name: &Written, path: &str) -> Option<()> {
        let all = [figure::Kind::Link, figure::Kind::Flow]
            .map(known_series)
            .concat();
        if all.contains(&name.text.as_str()) {
            return Some(());
        }
        let message = |text: &str| format!("no flow and no link has a series `{text}`");
        self.unknown(name, path, message, &all)
    }

    /// A chart without data is refused: a flow or a link that fits `of` has the series.
    fn has_series(
        &mut self,
        series: &str,
        at: Origin,
        of: &str,
        setting: usize,
        path: &str,
    ) -> Option<()> {
        let [of_links, of_flows] = [figure::Kind::Link, figure::Kind::Flow].map(known_series);
        let setting = &self.settings[setting];
        let scenarios = setting.scenarios.iter();
        let mut cells = scenarios.flat_map(|(_, scenario)| &scenario.cells);
        let found = cells.any(|cell| {
            let interfaces = cell.network.interfaces.iter();
            let mut links = interfaces.map(|interface| interface.name.as_str());
            let mut flows = cell.flows.iter();
            of_links.contains(&series) && links.any(|link| claims::fits(link, of))
                || of_flows.contains(&series)
                    && flows.any(|flow| claims::fits(&flow.name, of) && can_have(flow, series))
        });
        if found {
            return Some(());
        }
        let message = format!(
            "the chart would have no data: in setting {} nothing that `{of}` fits has a series \
             `{series}`",
            setting.name
        );
        let help = match series {
            "delay" => "`delay` is of flows with a `deadline`".to_owned(),
            "cwnd" | "ssthresh" | "pacing_rate" => format!("`{series}` is of TCP connections"),
            _ if of_links.contains(&series) => format!("`{series}` is a series of links"),
            _ => format!("`{series}` is a series of flows"),
        };
        self.refuse(at, path, message, Some(help))
    }

    /// `of`: whose series; there is one at least.
    fn flows_or_links(&mut self, fields: &Fields<'_>) -> Option<String> {
        let of: Written = fields.field("of", &mut self.problems)?;
        let words = &self.words;
        let names: Vec<String> = words.links.iter().chain(&words.flows).cloned().collect();
        if names.iter().any(|name| claims::fits(name, &of.text)) {
            return Some(of.text);
        }
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let message = |text: &str| format!("no scenario has a flow or a link `{text}`");
        self.unknown(&of, &fields.path("of"), message, &known)
    }

    /// `y` and `reference`: a quantity, or a table of quantities with their names.
    fn along(&mut self, fields: &Fields<'_>) -> Option<Vec<Along>> {
        let ys = self.named(fields, "y")?;
        let mut references = match fields.get("reference") {
            Some(_) => self.named(fields, "reference")?,
            None => Vec::new(),
        };
        let found = ys
            .into_iter()
            .map(|(name, y)| {
                let reference = references.iter().position(|(other, _)| *other == name);
                Along {
                    reference: reference.map(|index| references.swap_remove(index).1),
                    name,
                    y,
                }
            })
            .collect();
        if let (Some((name, _)), Some(entry)) = (references.first(), fields.get("reference")) {
            let message = format!("`y` has no quantity `{name}`");
            self.add(entry.at, &fields.path("reference"), message, None);
        }
        Some(found)
    }

    fn named(&mut self, fields: &Fields<'_>, key: &str) -> Option<Vec<(String, Expr)>> {
        let Some(entry) = fields.get(key).filter(|entry| entry.node.is_table()) else {
            let quantity = self.says(fields, key, claims::quantity)?;
            return Some(vec![(String::new(), quantity)]);
        };
        let path = fields.path(key);
        let quantities = Fields::of(&entry.node, &path)?;
        let mut found = Vec::new();
        for entry in quantities.entries {
            let quantity = self.says(&quantities, &entry.key, claims::quantity)?;
            found.push((entry.key.clone(), quantity));
        }
        if found.is_empty() {
            let message = "a quantity is missing".to_owned();
            return self.refuse(entry.at, &path, message, None);
        }
        Some(found)
    }

    pub(super) fn table(&mut self, node: &Node, path: &str) -> Option<TablePlan> {
        let kind = node.text_at("kind");
        let known = Variant::of(TABLES, kind)
            // Of a kind that there is not, the keys are those of a table without one.
            .or_else(|| Variant::of(TABLES, None))
            .map(Variant::names);
        let fields = Fields::open(node, path, &known.unwrap_or_default(), &mut self.problems)?;
        match kind {
            Some("difference") => self.difference(&fields).map(TablePlan::Difference),
            Some("numbered") => self.numbered(&fields).map(TablePlan::Numbered),
            _ => self.values(&fields).map(TablePlan::Values),
        }
    }

    fn values(&mut self, fields: &Fields<'_>) -> Option<ValuesPlan> {
        let kind: Option<Written> = fields.field("kind", &mut self.problems)?;
        if let Some(Written { text, at }) = kind {
            let message = format!("`{text}` is not a kind of table");
            let kinds = Variant::words(TABLES).join("`, `");
            let help = format!("`{kinds}`, or no `kind` at all");
            self.add(at, &fields.path("kind"), message, Some(help));
        }
        let plan = ValuesPlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(fields)?,
            rows: self.says(fields, "rows", claims::binder)?,
            columns: self.says(fields, "columns", claims::binder)?,
            value: self.says(fields, "value", claims::quantity)?,
        };
        let binders = [plan.rows.clone(), plan.columns.clone()];
        self.finds(
            false,
            plan.setting,
            &binders,
            fields,
            "value",
            |evaluator, place| evaluator.quantity_at(place, &plan.value).map(drop),
        );
        Some(plan)
    }

    /// `{}` in `value` and `reference` stands for the number.
    fn numbered(&mut self, fields: &Fields<'_>) -> Option<NumberedPlan> {
        let count: u32 = fields.field("count", &mut self.problems)?;
        let value: Written = fields.field("value", &mut self.problems)?;
        let reference: Option<Written> = fields.field("reference", &mut self.problems)?;
        let mut plan = NumberedPlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(fields)?,
            columns: self.says(fields, "columns", claims::binder)?,
            rows: Vec::new(),
        };
        for number in 1..=count {
            let mut quantity = |written: &Written, key: &str| {
                let text = written.text.replace("{}", &number.to_string());
                let read = claims::quantity(&text, &self.words);
                let expr = self.understood(read, written, &fields.path(key))?;
                let binders = [plan.columns.clone()];
                self.finds(
                    false,
                    plan.setting,
                    &binders,
                    fields,
                    key,
                    |evaluator, place| evaluator.quantity_at(place, &expr).map(drop),
                );
                Some(expr)
            };
            let ours = quantity(&value, "value")?;
            let theirs = match &reference {
                Some(reference) => Some(quantity(reference, "reference")?),
                None => None,
            };
            plan.rows.push((ours, theirs));
        }
        Some(plan)
    }

    fn difference(&mut self, fields: &Fields<'_>) -> Option<DifferencePlan> {
        let written: Option<Written> = fields.field("above", &mut self.problems)?;
        let above = written.map_or(Some(NOTABLE), |above| self.share(&above, fields))?;
        let mut plan = DifferencePlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(fields)?,
            rows: self.says(fields, "rows", claims::binders)?,
            value: self.says(fields, "value", claims::quantity)?,
            reference: self.says(fields, "reference", claims::quantity)?,
            above,
            why: Vec::new(),
        };
        for (key, expr) in [("value", &plan.value), ("reference", &plan.reference)] {
            self.finds(
                true,
                plan.setting,
                &plan.rows,
                fields,
                key,
                |evaluator, place| evaluator.quantity_at(place, expr).map(drop),
            );
        }
        let why: Option<Node> = fields.field("why", &mut self.problems)?;
        if let Some(node) = why {
            plan.why = self.reasons(&node, &fields.path("why"), &plan)?;
        }
        Some(plan)
    }

    /// `"10%"`
    fn share(&mut self, written: &Written, fields: &Fields<'_>) -> Option<f64> {
        let percent = written.text.strip_suffix('%').map(str::trim);
        let share = percent
            .and_then(|number| number.parse::<f64>().ok())
            .filter(|share| *share >= 0.0)
            .map(|share| share / 100.0);
        share.or_else(|| {
            let message = format!("`{}` is not a share, such as \"10%\"", written.text);
            self.refuse(written.at, &fields.path("above"), message, None)
        })
    }

    /// `"codel 14" = "why it differs"`: a row, or `all`.
    fn reasons(&mut self, node: &Node, path: &str, plan: &DifferencePlan) -> Option<Vec<Why>> {
        let Value::Table(entries) = &node.value else {
            return self.problems.refuse(wrong_type(node, path, "a table"));
        };
        let rows = crate::plan::rows(&plan.rows, &self.words);
        let known: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        let mut reasons = Vec::new();
        for entry in entries {
            let reason = String::read(&entry.node, path, &mut self.problems);
            let row = known.iter().position(|name| *name == entry.key);
            if row.is_none() && entry.key != Why::ALL {
                let message = |key: &str| format!("no row of the table is `{key}`");
                self.unknown::<()>(&Written::key(entry), path, message, &known);
                continue;
            }
            let text = reason?;
            reasons.push(Why { row, text });
        }
        Some(reasons)
    }
}
