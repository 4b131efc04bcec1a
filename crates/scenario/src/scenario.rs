//! A scenario file with its overrides, read and resolved into cells.

use crate::format::ScenarioFile;
use crate::problem::{Origin, Problem, Problems, Warnings, suggestion};
use crate::quantity::Seeds;
use crate::read::Read;
use crate::resolve::Resolver;
use crate::sweep::Grid;
use crate::tree::{Node, Value};
use crate::videos::Videos;
use crate::whole_path::wrong_beginning;
use sojourn_text::{Files, named_text};
use sojourn_world::{Cell, ScenarioInfo, Source};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Most runs that are read at a time: combinations with seeds.
const MOST_RUNS: u64 = 100_000;
/// Most runs of a scenario that is read in parts.
const MOST_RUNS_IN_PARTS: u64 = 100_000_000;
/// Most links and flows of all runs together: what they are stands in memory before the first
/// begins.
const MOST_PARTS: usize = 1_000_000;

/// What the command line changes of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// `KEY=VALUE`: a field path and its value. A field that the file sweeps is swept no more.
    pub sets: Vec<String>,
    /// `KEY=[VALUE, ...]`: a field path and the values that it takes, as in `[sweep]`, behind
    /// those of the file. What the file sweeps itself takes these values instead.
    pub sweeps: Vec<String>,
    /// The first seed; alone, the only one.
    pub seed: Option<u64>,
    /// The number of seeds, 1 to 10 000.
    pub seeds: Option<u64>,
}

/// A scenario and all its cells.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What the scenario says of itself.
    pub info: ScenarioInfo,
    /// Every combination with every seed; the seed changes fastest. Never empty.
    pub cells: Vec<Cell>,
    /// What of it is right and may not be meant.
    pub warnings: Warnings,
}

/// A `--set` argument that could be read.
pub(crate) struct Override {
    pub(crate) path: String,
    /// Where the path is written.
    pub(crate) key: Origin,
    pub(crate) node: Node,
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// Everything that is wrong with the file, with what it names, or with the options.
    pub fn load(file: &Path, options: &Options) -> Result<Self, Problems> {
        let (name, text) = named_text(file)?;
        let base = file.parent().unwrap_or(Path::new(""));
        Self::parse(&name, &text, base, options)
    }

    /// Reads a scenario from a text; `name` is shown in messages, and the paths in it are seen
    /// from `base`.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn parse(name: &str, text: &str, base: &Path, options: &Options) -> Result<Self, Problems> {
        let (plan, problems) = Plan::read(name, text, base, options, MOST_RUNS)?;
        plan.cells(options, 0..plan.runs(), problems)
    }

    /// Reads the runs with these numbers, from 0 in the order of [`Scenario::cells`], and looks at
    /// no others. Runs beyond the last one there are not.
    ///
    /// # Errors
    /// As [`Scenario::load`], and when there are more than can be read at a time.
    pub fn part(
        name: &str,
        text: &str,
        base: &Path,
        options: &Options,
        runs: Range<usize>,
    ) -> Result<Self, Problems> {
        let (plan, mut problems) = Plan::read(name, text, base, options, MOST_RUNS_IN_PARTS)?;
        let runs = runs.start..runs.end.min(plan.runs());
        if runs.len() as u64 > MOST_RUNS {
            let message = format!("{} runs are more than {MOST_RUNS} at a time", runs.len());
            let (at, field) = plan.at();
            problems.add(Problem::new(at, field, message));
            return Err(problems);
        }
        plan.cells(options, runs, problems)
    }

    /// What is wrong with a tree, where `problems` has the texts that its places refer to. It is
    /// another form of a text that was refused; none if the tree is right.
    pub(crate) fn faults(tree: Node, base: &Path, mut problems: Problems) -> Option<Problems> {
        let options = Options::default();
        let source = Source {
            name: String::new(),
            text: String::new(),
            base: base.to_owned(),
        };
        let plan = Plan::of(tree, &options, source, &mut problems);
        let runs = plan.runs();
        plan.cells(&options, 0..runs, problems).err()
    }

    /// Checks every combination, keeps none, and counts the combinations and the seeds of each.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn survey(
        name: &str,
        text: &str,
        base: &Path,
        options: &Options,
    ) -> Result<(usize, usize), Problems> {
        let (plan, mut problems) = Plan::read(name, text, base, options, MOST_RUNS_IN_PARTS)?;
        let mut builder = plan.builder(options);
        for number in 0..plan.grid.len() {
            builder.combination(&plan, number, 0..1, &mut problems);
            builder.scenario.cells.clear();
            builder.parts = 0;
            if problems.is_full() {
                break;
            }
        }
        if problems.is_empty() {
            return Ok((plan.grid.len(), plan.seeds));
        }
        problems.sort();
        Err(problems)
    }

    /// Makes a cell anew from where it was written, its parameters and its seed.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn cell(source: &Source, params: &[(String, String)], seed: u64) -> Result<Cell, Problems> {
        let options = Options {
            sets: (params.iter())
                .map(|(field, value)| format!("{field}={value}"))
                .collect(),
            seed: Some(seed),
            ..Options::default()
        };
        let scenario = Self::parse(&source.name, &source.text, &source.base, &options)?;
        let only = scenario.cells.into_iter().next();
        Ok(only.expect("a scenario has at least one cell"))
    }
}

/// A scenario's text, with everything that was set, before its combinations are looked at.
struct Plan {
    tree: Node,
    grid: Grid,
    sets: Vec<Override>,
    /// Of each combination.
    seeds: usize,
    source: Arc<Source>,
}

impl Plan {
    /// With what is wrong so far.
    fn read(
        name: &str,
        text: &str,
        base: &Path,
        options: &Options,
        most: u64,
    ) -> Result<(Self, Problems), Problems> {
        let (tree, mut problems) = Node::of_file(name, text)?;
        let source = Source {
            name: name.to_owned(),
            text: text.to_owned(),
            base: base.to_owned(),
        };
        let plan = Self::of(tree, options, source, &mut problems);
        if let Some(problem) = plan.too_many_runs(most) {
            problems.add(problem);
            return Err(problems);
        }
        Ok((plan, problems))
    }

    /// Of a file's tree, with everything that the options set.
    fn of(mut tree: Node, options: &Options, source: Source, problems: &mut Problems) -> Self {
        let sweep = tree.take("sweep");
        let sets = overrides("--set", &options.sets, problems);
        let sweeps = overrides("--sweep", &options.sweeps, problems);
        apply(&sets, &mut tree, problems);
        let mut grid = Grid::read(sweep.as_ref(), problems);
        for sweep in &sweeps {
            grid.add(&sweep.path, sweep.key, &sweep.node, problems);
        }
        for set in &sets {
            grid.pin(&set.path);
        }
        grid.drop_unknown(&tree, problems);
        Self {
            seeds: seeds(&tree, options) as usize,
            tree,
            grid,
            sets,
            source: Arc::new(source),
        }
    }

    fn runs(&self) -> usize {
        self.grid.len().saturating_mul(self.seeds)
    }

    /// What makes so many runs: where it is written, and the field.
    fn at(&self) -> (Origin, &'static str) {
        match (self.grid.at(), self.tree.get("seeds")) {
            (Some(at), _) => (at, "sweep"),
            (None, Some(seeds)) => (seeds.node.at, "seeds"),
            (None, None) => (self.tree.at, "sweep"),
        }
    }

    /// The problem of a scenario with more runs than can be.
    fn too_many_runs(&self, most: u64) -> Option<Problem> {
        let (at, field) = self.at();
        let message = format!(
            "{} combinations with {} seeds each are more than {most} runs",
            self.grid.len(),
            self.seeds
        );
        (self.runs() as u64 > most).then(|| Problem::new(at, field, message))
    }

    fn builder<'a>(&self, options: &'a Options) -> Builder<'a> {
        Builder {
            options,
            files: Files::new(&self.source.base),
            videos: Videos::new(&self.source.base),
            source: Arc::clone(&self.source),
            scenario: Scenario {
                info: ScenarioInfo::default(),
                cells: Vec::new(),
                warnings: Warnings::default(),
            },
            parts: 0,
        }
    }

    /// The scenario with the cells of these runs.
    fn cells(
        &self,
        options: &Options,
        runs: Range<usize>,
        mut problems: Problems,
    ) -> Result<Scenario, Problems> {
        let mut builder = self.builder(options);
        for number in runs.start / self.seeds..runs.end.div_ceil(self.seeds) {
            let first = number * self.seeds;
            let (from, to) = (runs.start.max(first), runs.end.min(first + self.seeds));
            builder.combination(self, number, from - first..to - first, &mut problems);
            if problems.is_full() || builder.is_full(self, &mut problems) {
                break;
            }
        }
        if !problems.is_empty() {
            problems.sort();
            return Err(problems);
        }
        builder.scenario.info.axes = self.grid.info();
        builder.scenario.info.source = Some(self.source.text.clone());
        builder.scenario.warnings = problems.into_warnings();
        Ok(builder.scenario)
    }
}

/// How many seeds each combination has.
fn seeds(tree: &Node, options: &Options) -> u64 {
    let own = tree.get("seeds").map(|entry| &entry.node.value);
    let seeds = match (options.seed, options.seeds, own) {
        (_, Some(count), _) => count,
        (None, None, Some(Value::Array(list))) => list.len() as u64,
        (None, None, Some(Value::Integer(count))) => u64::try_from(*count).unwrap_or(1),
        // Other values are a problem of their own.
        _ => 1,
    };
    // So are seeds beyond their limit.
    seeds.clamp(1, Seeds::MOST)
}

/// Puts the values of `--set` into a file's tree.
pub(crate) fn apply(sets: &[Override], tree: &mut Node, problems: &mut Problems) {
    for set in sets {
        if let Some(problem) = wrong_beginning(tree, &set.path, set.key) {
            problems.add(problem);
            continue;
        }
        if let Err(error) = tree.set(&set.path, set.key, set.node.clone()) {
            problems.add(Problem::new(set.key, &set.path, error.to_string()));
        }
    }
}

/// Reads the arguments of an option that names fields.
pub(crate) fn overrides(
    option: &str,
    arguments: &[String],
    problems: &mut Problems,
) -> Vec<Override> {
    let mut sets = Vec::new();
    for argument in arguments {
        let source = problems.add_source(option, argument);
        let whole = Origin::new(source, 0..argument.len());
        let Some((key, value)) = argument.split_once('=') else {
            let problem = Problem::new(whole, "", format!("`{argument}` has no `=`"))
                .help("KEY=VALUE, for example dumbbell.down.rate=20mbit");
            problems.add(problem);
            continue;
        };
        let path = key.trim();
        let start = key.len() - key.trim_start().len();
        let key = Origin::new(source, start..start + path.len());
        if matches!(path.split('.').next(), Some("format" | "sweep")) {
            problems.add(Problem::new(key, path, "cannot be set"));
            continue;
        }
        let start = argument.len() - value.len();
        let at = Origin::new(source, start..argument.len());
        sets.push(Override {
            path: path.to_owned(),
            key,
            node: Node::of_argument(value, at),
        });
    }
    sets
}

/// Collects cells.
struct Builder<'a> {
    options: &'a Options,
    files: Files,
    videos: Videos,
    source: Arc<Source>,
    scenario: Scenario,
    /// Links and flows of all cells.
    parts: usize,
}

impl Builder<'_> {
    /// Whether there are more links and flows than can be, which is a problem.
    fn is_full(&self, plan: &Plan, problems: &mut Problems) -> bool {
        let is_full = self.parts > MOST_PARTS;
        if is_full {
            let (at, field) = match plan.grid.at() {
                Some(at) => (at, "sweep"),
                None => (plan.tree.locate("seeds"), "seeds"),
            };
            let message = format!("all runs together have more than {MOST_PARTS} links and flows");
            problems.add(Problem::new(at, field, message));
        }
        is_full
    }

    /// Adds the cells of one combination with the seeds of these numbers.
    fn combination(
        &mut self,
        plan: &Plan,
        number: usize,
        seeds: Range<usize>,
        problems: &mut Problems,
    ) {
        let mut tree = plan.tree.clone();
        let mut params: Vec<(String, String)> = plan
            .sets
            .iter()
            .map(|set| (set.path.clone(), set.node.text.clone()))
            .collect();
        for (path, key, node) in plan.grid.combination(number) {
            if let Err(error) = tree.set(path, key, node.clone()) {
                problems.add(Problem::new(key, path, error.to_string()));
                return;
            }
            params.push((path.to_owned(), node.text.clone()));
        }
        if !check_format(&tree, problems) {
            return;
        }
        let Some(file) = ScenarioFile::read(&tree, "", problems) else {
            return;
        };
        let mut resolver = Resolver {
            file: sojourn_text::Resolver {
                tree: &tree,
                problems,
                files: &mut self.files,
            },
            videos: &mut self.videos,
            pending: Vec::new(),
            link_paths: Vec::new(),
        };
        let Some(template) = resolver.template(&file, params, &self.source) else {
            return;
        };
        let numbers = self.seeds(&file);
        for seed in numbers.into_iter().skip(seeds.start).take(seeds.len()) {
            self.parts += template.parts();
            if self.parts > MOST_PARTS {
                return;
            }
            self.scenario.cells.push(template.seeded(seed));
        }
        self.scenario.info = ScenarioInfo {
            title: file.title.clone().unwrap_or_else(|| file.name.0.clone()),
            name: file.name.0,
            description: file.description.unwrap_or_default(),
            version: file.format.value(),
            ..ScenarioInfo::default()
        };
    }

    fn seeds(&self, file: &ScenarioFile) -> Vec<u64> {
        match (self.options.seed, self.options.seeds) {
            (None, None) => file.seeds.as_ref().map_or(vec![1], |seeds| seeds.0.clone()),
            (first, count) => {
                let first = first.unwrap_or(1);
                let count = count.unwrap_or(1).clamp(1, Seeds::MOST);
                (0..count).map(|n| first.wrapping_add(n)).collect()
            }
        }
    }
}

/// A file of another format, or of none, is not worth a list of unknown keys.
fn check_format(tree: &Node, problems: &mut Problems) -> bool {
    use crate::format::FORMAT;
    let help = format!("the first line is `format = \"{FORMAT}\"`");
    let problem = match tree.get("format") {
        None if tree.get("pair").is_some() => Problem::new(
            tree.at,
            "",
            "this is the file of a bridge, and not a scenario",
        )
        .help("`sojourn bridge --config` runs it; `sojourn check` shows its queues"),
        None if tree.get("circuit").is_some() => Problem::new(
            tree.at,
            "",
            "these are the subscribers of a bridge, and not a scenario",
        )
        .help("the bridge's file names them; `sojourn check` shows its sites and circuits"),
        None => Problem::new(tree.at, "", "missing key `format`").help(help),
        Some(entry) => match &entry.node.value {
            Value::Text(text) if text == FORMAT => return true,
            Value::Text(text) if text.starts_with("sojourn-study/") => Problem::new(
                entry.node.at,
                "format",
                "this is a study, and not a scenario",
            )
            .help("`sojourn reproduce` runs it; `sojourn check` shows its claims"),
            Value::Text(text) => {
                let message = format!("`{text}` is not a format that this version reads");
                Problem::new(entry.node.at, "format", message).help(suggestion(text, &[FORMAT]))
            }
            _ => Problem::new(entry.node.at, "format", "expected a string").help(help),
        },
    };
    problems.add(problem);
    false
}
