//! A space of scenarios: a file whose sweep has intervals beside lists. A point in it is a file of
//! its own, which anybody can run.
//!
//! Not here: which points are looked at (see `hunt`).

use crate::interval::Interval;
use crate::problem::{Origin, Problem, Problems, suggestion};
use crate::read::join;
use crate::scenario::{Options, Override, Scenario, apply, overrides};
use crate::sweep::{self, Grid};
use crate::tree::{Entry, Node, Value};
use crate::whole_path::wrong_beginning;
use sojourn_text::named_text;
use std::path::{Path, PathBuf};

/// Scenarios that differ in the dimensions' fields.
#[derive(Clone, Debug)]
pub struct Space {
    /// The file, without its sweep.
    tree: Node,
    name: String,
    base: PathBuf,
    dimensions: Vec<Dimension>,
    /// Fields that every scenario of the space sweeps itself.
    compared: Vec<(String, Vec<Node>)>,
    /// The texts that places in the tree refer to.
    texts: Problems,
}

/// What varies in a space: a field, or several that change together.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// The field, or the first of those that change together.
    pub path: String,
    /// Its values.
    pub values: Values,
    /// Where an interval is written.
    at: Origin,
}

/// The values of a dimension.
#[derive(Clone, Debug)]
pub enum Values {
    /// One of several steps; each has the values of all its fields.
    Steps(Vec<Vec<(String, Node)>>),
    /// A number between two.
    Interval(Interval),
}

/// The value of a dimension at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gene {
    /// Index of the step.
    Step(usize),
    /// The number.
    Value(f64),
}

impl Space {
    /// Reads a file with its sweep; `options.sweeps` may be intervals too. Fields in `compared` are
    /// swept in every scenario of the space.
    ///
    /// # Errors
    /// What is wrong with the file, its sweep or the options. What is wrong with single points
    /// comes out when they are read.
    pub fn load(file: &Path, options: &Options, compared: &[String]) -> Result<Self, Problems> {
        let (name, text) = named_text(file)?;
        let base = file.parent().unwrap_or(Path::new(""));
        Self::parse(&name, &text, base, options, compared)
    }

    /// The same of a text; `name` is shown in messages, and the paths in it are seen from `base`.
    ///
    /// # Errors
    /// As [`Space::load`].
    pub fn parse(
        name: &str,
        text: &str,
        base: &Path,
        options: &Options,
        compared: &[String],
    ) -> Result<Self, Problems> {
        let (mut tree, mut problems) = Node::of_file(name, text)?;
        let mut sweep = tree.take("sweep");
        let sets = overrides("--set", &options.sets, &mut problems);
        let sweeps = overrides("--sweep", &options.sweeps, &mut problems);
        apply(&sets, &mut tree, &mut problems);
        let mut intervals = Vec::new();
        if let Some(Value::Table(entries)) = sweep.as_mut().map(|entry| &mut entry.node.value) {
            take_intervals(entries, "", &mut intervals);
        }
        // What is left of a table of intervals is no sweep of nothing.
        let emptied = |entry: &Entry| {
            !intervals.is_empty() && matches!(&entry.node.value, Value::Table(t) if t.is_empty())
        };
        let mut grid = Grid::read(
            sweep.filter(|entry| !emptied(entry)).as_ref(),
            &mut problems,
        );
        for sweep in sweeps {
            intervals.retain(|interval| interval.path != sweep.path);
            if is_interval(&sweep.node) {
                grid.pin(&sweep.path);
                intervals.push(sweep);
            } else {
                grid.add(&sweep.path, sweep.key, &sweep.node, &mut problems);
            }
        }
        for set in &sets {
            grid.pin(&set.path);
            intervals.retain(|interval| interval.path != set.path);
        }
        grid.drop_unknown(&tree, &mut problems);
        let compared = taken(&mut grid, compared, &intervals, &mut problems);
        let mut dimensions: Vec<Dimension> = grid.into_axes().iter().map(steps).collect();
        for one in intervals {
            dimensions.extend(interval(&tree, one, &mut problems));
        }
        problems.sort();
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            tree,
            name: name.to_owned(),
            base: base.to_owned(),
            dimensions,
            compared,
            texts: problems.texts(),
        })
    }

    /// What varies.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// What every scenario sweeps itself.
    pub fn compared(&self) -> impl Iterator<Item = &str> {
        self.compared.iter().map(|(path, _)| path.as_str())
    }

    /// The file of a point with these seeds. A flow whose `count` is 0 is not in it.
    ///
    /// # Errors
    /// When a field of a dimension leads nowhere.
    pub fn text(&self, point: &[Gene], seeds: &[u64]) -> Result<String, Problems> {
        Ok(self.tree(point, seeds)?.to_toml())
    }

    /// What the file of a point says, with the places where users have written it.
    fn tree(&self, point: &[Gene], seeds: &[u64]) -> Result<Node, Problems> {
        let mut tree = self.tree.clone();
        let mut absent = Vec::new();
        for (path, node) in self.fields(point) {
            let flow = path.strip_prefix("flow.");
            if let Some(flow) = flow.and_then(|path| path.strip_suffix(".count"))
                && matches!(node.value, Value::Integer(0))
            {
                absent.push(flow.to_owned());
            }
            let at = node.at;
            tree.set(&path, at, node)
                .map_err(|error| Problems::alone(&self.name, format!("{path}: {error}")))?;
        }
        let flows = match &mut tree.value {
            Value::Table(entries) => entries.iter_mut().find(|entry| entry.key == "flow"),
            _ => None,
        };
        if let Some(Value::Array(flows)) = flows.map(|entry| &mut entry.node.value) {
            let is_absent = |name: &str| absent.iter().any(|absent| absent == name);
            flows.retain(|flow| !flow.text_at("name").is_some_and(is_absent));
        }
        let seeds = seeds
            .iter()
            .map(|&seed| value(Value::Integer(seed.cast_signed())));
        put(&mut tree, "seeds", Value::Array(seeds.collect()));
        if !self.compared.is_empty() {
            let fields = self.compared.iter().map(|(path, values)| Entry {
                key: path.clone(),
                at: Origin::NOWHERE,
                node: value(Value::Array(values.clone())),
            });
            put(&mut tree, "sweep", Value::Table(fields.collect()));
        }
        Ok(tree)
    }

    /// Reads the scenario that [`Space::text`] writes for this point and these seeds.
    ///
    /// # Errors
    /// When there is no such scenario: values that do not go together. The places are those of the
    /// file and the options from which the space was read.
    pub fn scenario(&self, point: &[Gene], seeds: &[u64]) -> Result<Scenario, Problems> {
        let tree = self.tree(point, seeds)?;
        let read = Scenario::parse(&self.name, &tree.to_toml(), &self.base, &Options::default());
        // Nobody has seen the text that was written here.
        let faults = |_: &Problems| Scenario::faults(tree, &self.base, self.texts.clone());
        read.map_err(|problems| faults(&problems).unwrap_or(problems))
    }

    /// The fields of a point with their values.
    pub fn fields(&self, point: &[Gene]) -> Vec<(String, Node)> {
        let mut fields = Vec::new();
        for (dimension, gene) in self.dimensions.iter().zip(point) {
            match (&dimension.values, *gene) {
                (Values::Steps(steps), Gene::Step(step)) => fields.extend(steps[step].clone()),
                (Values::Interval(interval), Gene::Value(value)) => {
                    let node = Node {
                        at: dimension.at,
                        ..interval.node(value)
                    };
                    fields.push((dimension.path.clone(), node));
                }
                (Values::Steps(_), Gene::Value(_)) | (Values::Interval(_), Gene::Step(_)) => {
                    debug_assert!(false, "a gene is of its dimension's kind");
                }
            }
        }
        fields
    }
}

fn value(value: Value) -> Node {
    Node {
        value,
        at: Origin::NOWHERE,
        text: String::new(),
    }
}

/// Puts a value at a key of the file's top.
fn put(tree: &mut Node, key: &str, new: Value) {
    tree.take(key);
    if let Value::Table(entries) = &mut tree.value {
        entries.push(Entry {
            key: key.to_owned(),
            at: Origin::NOWHERE,
            node: value(new),
        });
    }
}

/// Whether a value of a sweep means to be an interval.
fn is_interval(node: &Node) -> bool {
    matches!(&node.value, Value::Text(text) if text.contains(".."))
}

/// Takes the intervals out of a sweep's table, with their whole paths.
fn take_intervals(entries: &mut Vec<Entry>, above: &str, found: &mut Vec<Override>) {
    for entry in entries.iter_mut() {
        let path = join(above, &entry.key);
        if is_interval(&entry.node) {
            found.push(Override {
                path,
                key: entry.at,
                node: entry.node.clone(),
            });
        } else if let Value::Table(below) = &mut entry.node.value {
            take_intervals(below, &path, found);
        }
    }
    let is_empty = |node: &Node| matches!(&node.value, Value::Table(below) if below.is_empty());
    entries.retain(|entry| !is_interval(&entry.node) && !is_empty(&entry.node));
}

/// Takes the fields that are compared out of the grid.
fn taken(
    grid: &mut Grid,
    compared: &[String],
    intervals: &[Override],
    problems: &mut Problems,
) -> Vec<(String, Vec<Node>)> {
    let mut taken = Vec::new();
    for path in compared {
        let source = problems.add_source("--compare", path);
        let at = Origin::new(source, 0..path.len());
        if let Some(axis) = grid.take(path) {
            let fields = axis.fields();
            taken.extend(fields.map(|(path, values)| (path.to_owned(), values.to_vec())));
            if axis.fields().count() > 1 {
                let message = format!("`{path}` changes together with other fields");
                problems.add(Problem::new(axis.at(), "sweep.zip", message));
            }
            continue;
        }
        let is_interval = intervals.iter().any(|interval| interval.path == *path);
        let help = if is_interval {
            "it has an interval; what is compared has a list of values".to_owned()
        } else {
            let known = grid.paths();
            suggestion(path, &known)
        };
        let message = format!("`{path}` is not swept as a list");
        problems.add(Problem::new(at, path, message).help(help));
    }
    taken
}

/// The dimension of an axis of the grid.
fn steps(axis: &sweep::Dimension) -> Dimension {
    let step = |number: usize| {
        let fields = axis
            .fields()
            .map(|(path, values)| (path.to_owned(), values[number].clone()));
        fields.collect::<Vec<_>>()
    };
    let path = axis.fields().next().map_or("", |(path, _)| path);
    Dimension {
        path: path.to_owned(),
        values: Values::Steps((0..axis.steps()).map(step).collect()),
        at: Origin::NOWHERE,
    }
}

/// The dimension of an interval.
fn interval(tree: &Node, given: Override, problems: &mut Problems) -> Option<Dimension> {
    let Override { path, key, node } = given;
    if let Some(problem) = wrong_beginning(tree, &path, key) {
        return problems.refuse(problem);
    }
    if sweep::is_fixed(&path) {
        let message = format!("`{path}` cannot be swept");
        return problems.refuse(Problem::new(key, "sweep", message));
    }
    match Interval::parse(&node.text) {
        Ok(interval) => Some(Dimension {
            path,
            values: Values::Interval(interval),
            at: node.at,
        }),
        Err(message) => {
            let help = "both ends with the same unit, the smaller one first";
            problems.refuse(Problem::new(node.at, path, message).help(help))
        }
    }
}

#[cfg(test)]
mod tests;
