//! `study.toml`: from its text to a checked study.

mod claims;
mod pictures;
mod recorded;
mod words;

use crate::claims::{Complaint, Vocabulary};
use crate::files::Files;
use crate::study::{Setting, Study};
use sojourn_scenario::problem::{Origin, Problem, Problems, suggestion};
use sojourn_scenario::read::{Fields, Read, join};
use sojourn_scenario::tree::Node;
use sojourn_scenario::{Options, Scenario};
use sojourn_world::{ByWorld, WorldName};

/// The study's own file in its folder.
pub(crate) const FILE: &str = "study.toml";
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

/// Reads a study; see [`Study::read`].
pub(crate) fn study(
    files: &dyn Files,
    options: &Options,
    worlds: &[WorldName],
) -> Result<Study, Problems> {
    let file = files.shown(FILE);
    let text = files.read(FILE);
    let text = text.map_err(|error| Problems::alone(&file, error.to_string()))?;
    let (tree, problems) = Node::of_file(&file, &text)?;
    let mut reader = Reader {
        problems,
        worlds: worlds.to_vec(),
        settings: Vec::new(),
        words: Vocabulary::default(),
        files: vec![(FILE.to_owned(), text.clone())],
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
        "reference",
        "define",
        "claim",
        "chart",
        "table",
    ];
    let head = reader.head(&tree, &known);
    let Some((top, mut study)) = head else {
        return Err(reader.problems);
    };
    let others = reader.settings(&top, files, options)?;
    reader.axes(&top);
    reader.recorded(&top, files);
    reader.definitions(&top);
    reader.sweeps_of_others(&others);
    study.claims = reader.claims(&top);
    reader.use_of_others(&others, &study.claims);
    study.charts = reader.list(&top, "chart", Reader::chart);
    study.tables = reader.list(&top, "table", Reader::table);
    if !reader.problems.is_empty() {
        reader.problems.sort();
        return Err(reader.problems);
    }
    study.settings = reader.settings;
    study.files = reader.files;
    study.words = reader.words;
    study.text = text;
    Ok(study)
}

struct Reader {
    problems: Problems,
    /// The worlds that the file may name; the first is that of the key `scenario`.
    worlds: Vec<WorldName>,
    settings: Vec<Setting>,
    words: Vocabulary,
    /// Names and texts of the files of the study.
    files: Vec<(String, String)>,
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
    fn head<'a>(&mut self, tree: &'a Node, known: &[&str]) -> Option<(Fields<'a>, Study)> {
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
        let study = Study {
            name: name?,
            title: title?,
            description: description?.unwrap_or_default(),
            source: source?,
            settings: Vec::new(),
            claims: Vec::new(),
            words: Vocabulary::default(),
            charts: Vec::new(),
            tables: Vec::new(),
            text: String::new(),
            files: Vec::new(),
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

    /// Reads the scenarios; for every setting, where those of further worlds are named. A problem
    /// in a scenario is reported alone, with its own file.
    fn settings(
        &mut self,
        top: &Fields<'_>,
        files: &dyn Files,
        options: &Options,
    ) -> Result<Vec<ByWorld<Origin>>, Problems> {
        let named = self.list(top, "setting", Self::scenarios_named);
        let mut texts = std::mem::take(&mut self.files);
        let mut open = |file: &str| {
            let shown = files.shown(file);
            let text = files.read(file);
            let text = text.map_err(|error| Problems::alone(&shown, error.to_string()))?;
            let scenario = Scenario::parse(&shown, &text, &files.base(), options);
            if texts.iter().all(|(name, _)| name != file) {
                texts.push((file.to_owned(), text));
            }
            scenario
        };
        let mut places = Vec::new();
        for (name, written) in named {
            let others = written.iter().skip(1);
            places.push(others.map(|(world, w)| (world.clone(), w.at)).collect());
            let scenarios = written.into_iter();
            let scenarios = scenarios.map(|(world, written)| Ok((world, open(&written.text)?)));
            let scenarios = scenarios.collect::<Result<_, Problems>>()?;
            self.settings.push(Setting { name, scenarios });
        }
        self.files = texts;
        if self.settings.is_empty() {
            let message = "a study needs at least one `[[setting]]`".to_owned();
            self.add(Origin::NOWHERE, "setting", message, None);
            return Err(std::mem::take(&mut self.problems));
        }
        Ok(places)
    }

    /// `name`, `scenario` for the first world, and a key for each other world that has one.
    fn scenarios_named(&mut self, node: &Node, path: &str) -> Option<(String, ByWorld<Written>)> {
        let worlds = self.worlds.clone();
        let (first, others) = worlds.split_first()?;
        let mut known = vec!["name", "scenario"];
        known.extend(others.iter().map(WorldName::as_str));
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        let name: String = fields.field("name", &mut self.problems)?;
        let mut scenarios = ByWorld::default();
        scenarios.insert(first.clone(), fields.field("scenario", &mut self.problems)?);
        for world in others {
            let written: Option<Written> = fields.field(world.as_str(), &mut self.problems)?;
            if let Some(written) = written {
                scenarios.insert(world.clone(), written);
            }
        }
        Some((name, scenarios))
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
}
