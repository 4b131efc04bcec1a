//! The grid: which fields take which values, and every combination of them.

use crate::problem::{Origin, Problem, Problems};
use crate::read::{join, wrong_type};
use crate::tree::{Entry, Node, Value};
use crate::whole_path::wrong_beginning;
use sojourn_world::Axis;
use std::collections::BTreeSet;

/// Most fields that a sweep varies.
const MOST_FIELDS: usize = 100;

/// Fields that make no sense as an axis.
const FIXED: [&str; 6] = ["format", "name", "title", "description", "seeds", "sweep"];

/// Whether a field makes no sense as an axis.
pub(crate) fn is_fixed(path: &str) -> bool {
    FIXED.contains(&path.split('.').next().unwrap_or(""))
}

/// One dimension of the grid: fields that change together. One field, unless zipped.
#[derive(Clone, Debug)]
pub(crate) struct Dimension {
    at: Origin,
    fields: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Field {
    path: String,
    at: Origin,
    values: Vec<Node>,
}

impl Dimension {
    pub(crate) fn steps(&self) -> usize {
        self.fields.first().map_or(1, |field| field.values.len())
    }

    /// Where it is written.
    pub(crate) const fn at(&self) -> Origin {
        self.at
    }

    /// Its fields, each with its values.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &[Node])> {
        let fields = self.fields.iter();
        fields.map(|field| (field.path.as_str(), &field.values[..]))
    }

    /// The same values again would be the same runs again, counted as others.
    fn refuse_repeats(&self, problems: &mut Problems) {
        let mut seen = BTreeSet::new();
        for step in 0..self.steps() {
            let values = self.fields.iter().map(|field| &field.values[step]);
            let texts: Vec<&str> = values.map(|node| node.text.as_str()).collect();
            if !seen.insert(texts) {
                let field = &self.fields[0];
                let node = &field.values[step];
                let message = format!("`{}` has {} twice", field.path, quoted(node));
                let help = "each value once; `seeds` runs a combination several times";
                problems.add(Problem::new(node.at, "sweep", message).help(help));
            }
        }
    }
}

/// All dimensions, slowest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    axes: Vec<Dimension>,
}

/// One combination: all swept fields, where each is written, and their values.
pub(crate) type Combination<'a> = Vec<(&'a str, Origin, &'a Node)>;

impl Grid {
    /// Reads `[sweep]`. Axes with problems are left out, so that the rest can be checked too.
    pub(crate) fn read(sweep: Option<&Entry>, problems: &mut Problems) -> Self {
        let mut grid = Self::default();
        let Some(sweep) = sweep else { return grid };
        let Value::Table(entries) = &sweep.node.value else {
            problems.add(wrong_type(&sweep.node, "sweep", "a table"));
            return grid;
        };
        if entries.is_empty() {
            let problem = Problem::new(sweep.at, "sweep", "nothing to vary")
                .help("for example: \"dumbbell.qdisc\" = [\"pfifo\", \"fq_codel\"]");
            problems.add(problem);
        }
        for entry in entries {
            match &entry.node.value {
                Value::Array(groups) if entry.key == "zip" => {
                    for group in groups {
                        grid.axes.extend(zip(group, entry.at, problems));
                    }
                }
                _ => {
                    let fields = fields(entry, "", "sweep", problems);
                    grid.axes.extend(fields.into_iter().map(|field| Dimension {
                        at: field.at,
                        fields: vec![field],
                    }));
                }
            }
        }
        // Dotted keys gather under their first part; the order of the file is what counts.
        grid.axes.sort_by_key(|axis| axis.at);
        let fields: usize = grid.axes.iter().map(|axis| axis.fields.len()).sum();
        if fields > MOST_FIELDS {
            let message = format!("{fields} fields are more than {MOST_FIELDS}");
            problems.add(Problem::new(sweep.at, "sweep", message));
            return Self::default();
        }
        grid.drop_doubles(problems);
        grid
    }

    fn drop_doubles(&mut self, problems: &mut Problems) {
        let mut seen: Vec<String> = Vec::new();
        for axis in &mut self.axes {
            axis.fields.retain(|field| {
                let double = seen.contains(&field.path);
                if double {
                    let message = format!("`{}` is swept twice", field.path);
                    problems.add(Problem::new(field.at, "sweep", message));
                }
                seen.push(field.path.clone());
                !double
            });
            axis.refuse_repeats(problems);
        }
        self.axes.retain(|axis| !axis.fields.is_empty());
    }

    /// Adds an axis from outside, behind those of the file; it replaces one of the same field.
    /// Its path is written at `at`.
    pub(crate) fn add(&mut self, path: &str, at: Origin, values: &Node, problems: &mut Problems) {
        self.pin(path);
        let (key, node) = (path.to_owned(), values.clone());
        let fields = fields(&Entry { key, at, node }, "", "sweep", problems);
        let added = fields.into_iter().map(|field| Dimension {
            at: field.at,
            fields: vec![field],
        });
        for axis in added {
            axis.refuse_repeats(problems);
            self.axes.push(axis);
        }
    }

    /// A field set on the command line is swept no more.
    pub(crate) fn pin(&mut self, path: &str) {
        for axis in &mut self.axes {
            axis.fields.retain(|field| field.path != path);
        }
        self.axes.retain(|axis| !axis.fields.is_empty());
    }

    /// Number of combinations; one without a sweep.
    pub(crate) fn len(&self) -> usize {
        self.axes.iter().fold(1, |product: usize, axis| {
            product.saturating_mul(axis.steps())
        })
    }

    /// The combination with this number; the last axis changes fastest.
    pub(crate) fn combination(&self, mut number: usize) -> Combination<'_> {
        let mut axes: Vec<Combination<'_>> = Vec::new();
        for axis in self.axes.iter().rev() {
            let step = number % axis.steps();
            number /= axis.steps();
            axes.push(
                axis.fields
                    .iter()
                    .map(|field| (field.path.as_str(), field.at, &field.values[step]))
                    .collect(),
            );
        }
        axes.into_iter().rev().flatten().collect()
    }

    /// The axes for a report: one for each field, with its distinct values.
    pub(crate) fn info(&self) -> Vec<Axis> {
        let mut axes = Vec::new();
        for field in self.axes.iter().flat_map(|axis| &axis.fields) {
            Axis::add(
                &mut axes,
                &field.path,
                field.values.iter().map(|node| &node.text),
            );
        }
        axes
    }

    /// Leaves out fields whose path does not begin with a key of a scenario, and says so.
    pub(crate) fn drop_unknown(&mut self, tree: &Node, problems: &mut Problems) {
        for axis in &mut self.axes {
            axis.fields.retain(|field| {
                let problem = wrong_beginning(tree, &field.path, field.at);
                let is_known = problem.is_none();
                if let Some(problem) = problem {
                    problems.add(problem);
                }
                is_known
            });
        }
        self.axes.retain(|axis| !axis.fields.is_empty());
    }

    /// Takes the axis out that varies a field.
    pub(crate) fn take(&mut self, path: &str) -> Option<Dimension> {
        let varies = |axis: &Dimension| axis.fields.iter().any(|field| field.path == path);
        let index = self.axes.iter().position(varies)?;
        Some(self.axes.remove(index))
    }

    /// The fields that are varied.
    pub(crate) fn paths(&self) -> Vec<&str> {
        let fields = self.axes.iter().flat_map(|axis| &axis.fields);
        fields.map(|field| field.path.as_str()).collect()
    }

    /// The axes, slowest first.
    pub(crate) fn into_axes(self) -> Vec<Dimension> {
        self.axes
    }

    /// Where an axis stands, for problems of the grid as a whole.
    pub(crate) fn at(&self) -> Option<Origin> {
        self.axes.first().map(|axis| axis.at)
    }
}

/// One `[[sweep.zip]]`: fields whose values change together.
fn zip(group: &Node, at: Origin, problems: &mut Problems) -> Option<Dimension> {
    let Value::Table(entries) = &group.value else {
        return problems.refuse(wrong_type(group, "sweep.zip", "a table"));
    };
    let fields: Vec<Field> = entries
        .iter()
        .flat_map(|entry| fields(entry, "", "sweep.zip", problems))
        .collect();
    let Some(first) = fields.first() else {
        if entries.is_empty() {
            problems.add(Problem::new(at, "sweep.zip", "nothing to vary"));
        }
        return None;
    };
    for field in &fields {
        if field.values.len() != first.values.len() {
            let message = format!(
                "`{}` has {} values, but `{}` has {}; zipped lists change together",
                field.path,
                field.values.len(),
                first.path,
                first.values.len()
            );
            return problems.refuse(Problem::new(field.at, "sweep.zip", message));
        }
    }
    Some(Dimension {
        at: first.at,
        fields,
    })
}

/// The fields below one key: `"a.b" = [..]` and `a.b = [..]` mean the same.
fn fields(entry: &Entry, above: &str, table: &str, problems: &mut Problems) -> Vec<Field> {
    let path = join(above, &entry.key);
    let problem = match &entry.node.value {
        Value::Table(entries) => {
            return entries
                .iter()
                .flat_map(|entry| fields(entry, &path, table, problems))
                .collect();
        }
        Value::Array(_) if is_fixed(&path) => {
            let problem = Problem::new(entry.at, table, format!("`{path}` cannot be swept"));
            match path.as_str() {
                "seeds" => problem.help("`seeds` at the top already runs every combination so"),
                _ => problem,
            }
        }
        Value::Array(values) if values.is_empty() => {
            Problem::new(entry.node.at, table, format!("`{path}` has no values"))
        }
        Value::Array(values) => {
            return vec![Field {
                path,
                at: entry.at,
                values: values.clone(),
            }];
        }
        Value::Text(text) if text.contains("..") => {
            let message = format!("`{path}` has an interval, and a run needs values");
            Problem::new(entry.node.at, table, message)
                .help("a list of values; `sojourn hunt` searches intervals")
        }
        other => {
            let message = format!("`{path}` needs a list of values, found {}", other.kind());
            Problem::new(entry.node.at, table, message)
                .help(format!("\"{path}\" = [{}]", quoted(&entry.node)))
        }
    };
    problems.add(problem);
    Vec::new()
}

/// The value as TOML; of a text with commas each part.
fn quoted(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => {
            let parts = text.split(',').map(|part| format!("\"{}\"", part.trim()));
            parts.collect::<Vec<_>>().join(", ")
        }
        _ => node.text.clone(),
    }
}
