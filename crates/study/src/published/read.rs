//! `study.toml`: from its text to a checked study.

use super::picture::{ChartKind, ChartPlan, GridPlan};
use super::{Claim, Expected, Published, Setting};
use crate::claims::{
    Axis, AxisValue, Binder, Cells, Check, Complaint, Evaluator, Expr, Set, Vocabulary,
};
use crate::problem::{Origin, Problem, Problems, suggestion};
use crate::read::{Fields, Read, join, wrong_type};
use crate::study::Study;
use crate::tree::{Entry, Node, Value};

/// The only format so far.
const FORMAT: &str = "sojourn-study/1";

/// A text that knows where it was written.
#[derive(Clone)]
struct Written {
    text: String,
    at: Origin,
}

impl Read for Written {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let text = String::read(node, path, problems)?;
        Some(Self { text, at: node.at })
    }
}

/// A value of the file as it is, to be read later.
struct Raw(Node);

impl Read for Raw {
    fn read(node: &Node, _: &str, _: &mut Problems) -> Option<Self> {
        Some(Self(node.clone()))
    }
}

/// Reads a study; see [`Published::parse`].
pub(super) fn study(
    file: &str,
    text: &str,
    scenario: &dyn Fn(&str) -> Result<Study, Problems>,
) -> Result<Published, Problems> {
    let mut problems = Problems::with_source(file, text);
    let tree = match toml_edit::Document::parse(text) {
        Ok(document) => Node::of_document(&document, 0),
        Err(error) => {
            let at = Origin::new(0, error.span().unwrap_or(0..0));
            let message = error.message().trim().replace('\n', "; ");
            problems.add(Problem::new(at, "", format!("not TOML: {message}")));
            return Err(problems);
        }
    };
    let mut reader = Reader {
        problems,
        settings: Vec::new(),
        words: Vocabulary::default(),
    };
    let known = [
        "format",
        "name",
        "title",
        "description",
        "source",
        "link",
        "flow",
        "setting",
        "axes",
        "sets",
        "define",
        "claim",
        "chart",
        "table",
    ];
    let head = reader.head(&tree, &known);
    let Some((top, mut study)) = head else {
        return Err(reader.problems);
    };
    reader.settings(&top, scenario)?;
    reader.vocabulary(&top);
    study.claims = reader.claims(&top);
    study.charts = reader.list(&top, "chart", Reader::chart);
    study.grids = reader.list(&top, "table", Reader::table);
    if !reader.problems.is_empty() {
        reader.problems.sort();
        return Err(reader.problems);
    }
    study.settings = reader.settings;
    study.words = reader.words;
    text.clone_into(&mut study.text);
    Ok(study)
}

struct Reader {
    problems: Problems,
    settings: Vec<Setting>,
    words: Vocabulary,
}

impl Reader {
    fn add(&mut self, at: Origin, field: &str, message: String, help: Option<String>) {
        let problem = Problem::new(at, field, message);
        self.problems.add(match help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }

    /// What the study says of itself.
    fn head<'a>(&mut self, tree: &'a Node, known: &[&str]) -> Option<(Fields<'a>, Published)> {
        let top = Fields::open(tree, "", known, &mut self.problems)?;
        let problems = &mut self.problems;
        let format: Option<Written> = top.field("format", problems);
        let name: Option<String> = top.field("name", problems);
        let title: Option<String> = top.field("title", problems);
        let description: Option<Option<String>> = top.field("description", problems);
        let source: Option<String> = top.field("source", problems);
        let link: Option<Option<String>> = top.field("link", problems);
        self.words.link = link.flatten().unwrap_or_default();
        let flow: Option<Option<String>> = top.field("flow", problems);
        self.words.flow = flow.flatten().unwrap_or_else(|| "*".into());
        let format = format?;
        if format.text != FORMAT {
            let message = format!("`{}` is not a format that this version reads", format.text);
            let help = format!("the first line is `format = \"{FORMAT}\"`");
            self.add(format.at, "format", message, Some(help));
            return None;
        }
        let study = Published {
            name: name?,
            title: title?,
            description: description?.unwrap_or_default(),
            source: source?,
            settings: Vec::new(),
            claims: Vec::new(),
            words: Vocabulary::default(),
            charts: Vec::new(),
            grids: Vec::new(),
            text: String::new(),
        };
        Some((top, study))
    }

    /// The tables of a list, each read by `one`; those with problems are left out.
    fn list<T>(
        &mut self,
        top: &Fields<'_>,
        key: &str,
        one: fn(&mut Self, &Node, &str) -> Option<T>,
    ) -> Vec<T> {
        let list: Option<Option<Vec<Raw>>> = top.field(key, &mut self.problems);
        let items = list.flatten().unwrap_or_default();
        items
            .iter()
            .enumerate()
            .filter_map(|(i, Raw(node))| {
                let path = match node.text_at("id") {
                    Some(id) => format!("{key}.{id}"),
                    None => format!("{key}[{}]", i + 1),
                };
                one(self, node, &path)
            })
            .collect()
    }

    /// Reads the scenarios. A problem in one of them is reported alone, with its own file.
    fn settings(
        &mut self,
        top: &Fields<'_>,
        scenario: &dyn Fn(&str) -> Result<Study, Problems>,
    ) -> Result<(), Problems> {
        let names = self.list(top, "setting", |reader, node, path| {
            let known = ["name", "scenario"];
            let fields = Fields::open(node, path, &known, &mut reader.problems)?;
            let name: String = fields.field("name", &mut reader.problems)?;
            let file: String = fields.field("scenario", &mut reader.problems)?;
            Some((name, file))
        });
        for (name, file) in names {
            let study = scenario(&file)?;
            self.settings.push(Setting { name, study });
        }
        if self.settings.is_empty() {
            let message = "a study needs at least one `[[setting]]`".to_owned();
            self.add(Origin::NOWHERE, "setting", message, None);
            return Err(std::mem::take(&mut self.problems));
        }
        Ok(())
    }

    fn entries(&mut self, top: &Fields<'_>, key: &str) -> Vec<Entry> {
        let table: Option<Option<Raw>> = top.field(key, &mut self.problems);
        let Some(Raw(node)) = table.flatten() else {
            return Vec::new();
        };
        self.table_of(&node, key)
    }

    fn table_of(&mut self, node: &Node, path: &str) -> Vec<Entry> {
        if let Value::Table(entries) = &node.value {
            return entries.clone();
        }
        self.problems.add(wrong_type(node, path, "a table"));
        Vec::new()
    }

    /// Axes, sets and definitions.
    fn vocabulary(&mut self, top: &Fields<'_>) {
        for entry in self.entries(top, "axes") {
            let values = match &entry.node.value {
                Value::Text(field) => self.swept(field, &entry),
                _ => self.axis_values(&entry),
            };
            self.words.axes.push(Axis {
                name: entry.key,
                values,
            });
        }
        for entry in self.entries(top, "sets") {
            let axes: Vec<&str> = self.words.axes.iter().map(|a| a.name.as_str()).collect();
            let Some(axis) = axes.iter().position(|name| *name == entry.key) else {
                let help = suggestion(&entry.key, &axes);
                let message = format!("no axis is named `{}`", entry.key);
                self.add(entry.at, "sets", message, Some(help));
                continue;
            };
            for set in self.table_of(&entry.node, &join("sets", &entry.key)) {
                self.set(axis, &set);
            }
        }
        for entry in self.entries(top, "define") {
            let path = join("define", &entry.key);
            let Some(written) = Written::read(&entry.node, &path, &mut self.problems) else {
                continue;
            };
            let read = crate::claims::quantity(&written.text, &self.words);
            if let Some(expr) = self.understood(read, &written, &path) {
                self.words.definitions.push((entry.key, expr));
            }
        }
    }

    /// The values that a field takes in the scenarios' sweeps.
    fn swept(&mut self, field: &str, entry: &Entry) -> Vec<AxisValue> {
        let mut values: Vec<AxisValue> = Vec::new();
        let axes = || self.settings.iter().flat_map(|s| &s.study.info.axes);
        for value in axes().filter(|a| a.field == field).flat_map(|a| &a.values) {
            if values.iter().all(|known| known.name != *value) {
                values.push(AxisValue {
                    name: value.clone(),
                    params: vec![(field.to_owned(), value.clone())],
                });
            }
        }
        if values.is_empty() {
            let known: Vec<&str> = axes().map(|axis| axis.field.as_str()).collect();
            let help = suggestion(field, &known);
            let message = format!("no scenario of the study sweeps `{field}`");
            self.add(entry.node.at, "axes", message, Some(help));
        }
        values
    }

    /// `{ codel = { "dumbbell.up.qdisc" = "codel" } }`
    fn axis_values(&mut self, entry: &Entry) -> Vec<AxisValue> {
        let path = join("axes", &entry.key);
        let values = self.table_of(&entry.node, &path);
        values
            .into_iter()
            .map(|value| {
                let path = join(&path, &value.key);
                let mut params = Vec::new();
                for param in self.table_of(&value.node, &path) {
                    flatten(&param, "", &mut params);
                }
                AxisValue {
                    name: value.key,
                    params,
                }
            })
            .collect()
    }

    fn set(&mut self, axis: usize, set: &Entry) {
        let path = format!("sets.{}.{}", self.words.axes[axis].name, set.key);
        let list = <Vec<Raw>>::read(&set.node, &path, &mut self.problems);
        let mut values = Vec::new();
        for Raw(node) in list.unwrap_or_default() {
            let known = &self.words.axes[axis].values;
            if let Some(value) = known.iter().position(|value| value.name == node.text) {
                values.push(value);
                continue;
            }
            let names: Vec<&str> = known.iter().map(|v| v.name.as_str()).collect();
            let help = suggestion(&node.text, &names);
            let name = &self.words.axes[axis].name;
            let message = format!("axis `{name}` has no value `{}`", node.text);
            self.add(node.at, &path, message, Some(help));
        }
        self.words.sets.push(Set {
            name: set.key.clone(),
            axis,
            values,
        });
    }

    /// What was read, or the complaint at its place in the file.
    fn understood<T>(
        &mut self,
        read: Result<T, Complaint>,
        written: &Written,
        path: &str,
    ) -> Option<T> {
        let complaint = match read {
            Ok(value) => return Some(value),
            Err(complaint) => complaint,
        };
        let whole = written.at;
        let source = self.problems.source_text(whole.source);
        // Without escapes, the text stands in the file as it is, behind its quotes.
        let inner = source
            .get(whole.start..whole.end)
            .and_then(|raw| raw.find(&written.text));
        let at = inner.map_or(whole, |offset| {
            let start = whole.start + offset;
            let span = complaint.span.start + start..complaint.span.end + start;
            Origin::new(whole.source, span)
        });
        self.add(at, path, complaint.message, complaint.help);
        None
    }

    fn claims(&mut self, top: &Fields<'_>) -> Vec<Claim> {
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

    fn setting(&mut self, fields: &Fields<'_>, path: &str) -> Option<usize> {
        let name: Written = fields.field("setting", &mut self.problems)?;
        let names: Vec<&str> = self.settings.iter().map(|s| s.name.as_str()).collect();
        let found = names.iter().position(|known| *known == name.text);
        if found.is_none() {
            let help = suggestion(&name.text, &names);
            let message = format!("no setting is named `{}`", name.text);
            self.add(name.at, &join(path, "setting"), message, Some(help));
        }
        found
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
        let (written, deviation) = match &node.value {
            Value::Table(_) => {
                let known = ["holds", "deviation"];
                let fields = Fields::open(node, path, &known, &mut self.problems)?;
                let holds: Option<Written> = fields.field("holds", &mut self.problems);
                (holds?, fields.field("deviation", &mut self.problems)?)
            }
            _ => (Written::read(node, path, &mut self.problems)?, None),
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
        let cells = Cells::new(&self.settings[setting].study.cells, &[]);
        if let Err(message) = Evaluator::new(&self.words, &cells).check(check) {
            let name = &self.settings[setting].name;
            let message = format!("{message} (in setting {name})");
            self.add(written.at, path, message, None);
        }
    }

    fn binder(&mut self, fields: &Fields<'_>, key: &str, path: &str) -> Option<Binder> {
        let written: Written = fields.field(key, &mut self.problems)?;
        let read = crate::claims::binder(&written.text, &self.words);
        self.understood(read, &written, &join(path, key))
    }

    fn quantity(&mut self, fields: &Fields<'_>, key: &str, path: &str) -> Option<Expr> {
        let written: Written = fields.field(key, &mut self.problems)?;
        let read = crate::claims::quantity(&written.text, &self.words);
        self.understood(read, &written, &join(path, key))
    }

    fn chart(&mut self, node: &Node, path: &str) -> Option<ChartPlan> {
        let known = [
            "title", "setting", "kind", "panels", "lines", "x", "y", "series", "of", "label",
        ];
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        let setting = self.setting(&fields, path)?;
        let lines = self.binder(&fields, "lines", path)?;
        let panels = match node.get("panels") {
            Some(_) => Some(self.binder(&fields, "panels", path)?),
            None => None,
        };
        let kind: Written = fields.field("kind", &mut self.problems)?;
        let mut plan = ChartPlan {
            title: fields.field("title", &mut self.problems)?,
            setting,
            kind: ChartKind::Lines,
            panels,
            lines,
            x: None,
            y: None,
            series: None,
            label: fields.field("label", &mut self.problems)?,
        };
        match kind.text.as_str() {
            "lines" => {
                plan.x = Some(self.binder(&fields, "x", path)?);
                plan.y = Some(self.quantity(&fields, "y", path)?);
            }
            "distribution" => plan.kind = ChartKind::Distribution,
            "time" => {
                plan.kind = ChartKind::Time;
                let series = fields.field("series", &mut self.problems)?;
                plan.series = Some((series, fields.field("of", &mut self.problems)?));
            }
            other => {
                let help = suggestion(other, &["lines", "distribution", "time"]);
                let message = format!("`{other}` is no kind of chart");
                self.add(kind.at, &join(path, "kind"), message, Some(help));
                return None;
            }
        }
        Some(plan)
    }

    fn table(&mut self, node: &Node, path: &str) -> Option<GridPlan> {
        let known = ["title", "setting", "rows", "columns", "value"];
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        Some(GridPlan {
            title: fields.field("title", &mut self.problems)?,
            setting: self.setting(&fields, path)?,
            rows: self.binder(&fields, "rows", path)?,
            columns: self.binder(&fields, "columns", path)?,
            value: self.quantity(&fields, "value", path)?,
        })
    }
}

/// `"tcp.cc" = "reno"` and `tcp.cc = "reno"` mean the same.
fn flatten(entry: &Entry, above: &str, params: &mut Vec<(String, String)>) {
    let path = join(above, &entry.key);
    match &entry.node.value {
        Value::Table(entries) => {
            for entry in entries {
                flatten(entry, &path, params);
            }
        }
        _ => params.push((path, entry.node.text.clone())),
    }
}
