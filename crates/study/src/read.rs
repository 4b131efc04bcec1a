//! `study.toml`: from its text to a checked study.

mod claims;
mod marks;
mod pictures;
mod recorded;
mod words;

use crate::claims::{Complaint, Vocabulary};
use crate::files::Files;
use crate::format::{FORMAT, SETTING, STUDY};
use crate::study::{Setting, Study};
use sojourn_scenario::problem::{Origin, Problem, Problems, suggestion};
use sojourn_scenario::read::{Fields, Read, short_name};
use sojourn_scenario::tree::{Entry, Node};
use sojourn_scenario::{Options, Scenario};
use sojourn_world::{ByWorld, WorldName};

/// The study's own file in its folder.
pub(crate) const FILE: &str = "study.toml";
/// A text that knows where it was written.
#[derive(Clone)]
struct Written {
    text: String,
    at: Origin,
}

impl Written {
    fn key(entry: &Entry) -> Self {
        let (text, at) = (entry.key.clone(), entry.at);
        Self { text, at }
    }
}

impl Read for Written {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let text = String::read(node, path, problems)?;
        Some(Self { text, at: node.at })
    }
}

/// A name that is part of file names and results.
struct Short(String);

impl Read for Short {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        short_name(node, path, problems).map(Self)
    }
}

/// Opens the table at a path and reads all its keys, each into a variable of its name that is none
/// after a problem.
macro_rules! keys {
    ($reader:ident, $node:expr, $path:expr, $table:expr; $($key:ident),+) => {
        let known = $table.names();
        debug_assert_eq!(known, [$(stringify!($key)),+], "the keys that are read");
        let fields = Fields::open($node, $path, &known, &mut $reader.problems)?;
        $(let $key = fields.field(stringify!($key), &mut $reader.problems);)+
    };
}

use keys;

/// Reads a study; see [`Study::read`], if it is `kept` [`Study::kept`].
pub(crate) fn study(
    files: &dyn Files,
    options: &Options,
    worlds: &[WorldName],
    kept: bool,
) -> Result<Study, Problems> {
    let file = files.shown(FILE);
    let text = files
        .read(FILE)
        .map_err(|error| Problems::alone(&file, error.to_string()))?;
    let (tree, problems) = Node::of_file(&file, &text)?;
    let mut reader = Reader {
        problems,
        kept,
        worlds: worlds.to_vec(),
        settings: Vec::new(),
        words: Vocabulary::default(),
        files: vec![(FILE.to_owned(), text.clone())],
    };
    let Some((top, mut study)) = reader.head(&tree) else {
        return Err(reader.problems);
    };
    let others = reader.settings(&top, files, options)?;
    reader.links_and_flows(&top);
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
    Ok(Study {
        settings: reader.settings,
        files: reader.files,
        words: reader.words,
        text,
        ..study
    })
}

struct Reader {
    problems: Problems,
    /// It stands beside results.
    kept: bool,
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

    /// A problem of something that is none then.
    fn refuse<T>(
        &mut self,
        at: Origin,
        field: &str,
        message: String,
        help: Option<String>,
    ) -> Option<T> {
        self.add(at, field, message, help);
        None
    }

    /// A word that is none of those that are known.
    fn unknown<T>(
        &mut self,
        word: &Written,
        field: &str,
        message: impl FnOnce(&str) -> String,
        known: &[&str],
    ) -> Option<T> {
        let help = suggestion(&word.text, known);
        self.refuse(word.at, field, message(&word.text), Some(help))
    }

    /// What the study says of itself.
    fn head<'a>(&mut self, tree: &'a Node) -> Option<(Fields<'a>, Study)> {
        let top = Fields::open(tree, "", &STUDY.names(), &mut self.problems)?;
        let problems = &mut self.problems;
        let format: Option<Written> = top.field("format", problems);
        let name: Option<Short> = top.field("name", problems);
        let title = top.field("title", problems);
        let description: Option<Option<String>> = top.field("description", problems);
        let source = top.field("source", problems);
        let link: Option<Option<Written>> = top.field("link", problems);
        self.words.link = link.flatten().map_or_else(String::new, |link| link.text);
        let flow: Option<Option<Written>> = top.field("flow", problems);
        self.words.flow = flow.flatten().map_or_else(|| "*".into(), |flow| flow.text);
        let format = format?;
        if format.text != FORMAT {
            let message = format!("`{}` is not a format that this version reads", format.text);
            let help = format!("the first line is `format = \"{FORMAT}\"`");
            return self.refuse(format.at, "format", message, Some(help));
        }
        let study = Study {
            name: name?.0,
            title: title?,
            description: description?.unwrap_or_default(),
            source: source?,
            ..Study::default()
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
        let list: Option<Option<Vec<Node>>> = top.field(key, &mut self.problems);
        let items = list.flatten().unwrap_or_default();
        let found = items.iter().enumerate().filter_map(|(i, node)| {
            let path = match node.text_at("id") {
                Some(id) => format!("{key}.{id}"),
                None => format!("{key}[{}]", i + 1),
            };
            one(self, node, &path)
        });
        found.collect()
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
        let (texts, problems) = (&mut self.files, &mut self.problems);
        let mut open = |Written { text: file, at }: Written| {
            let shown = files.shown(&file);
            let text = files.read(&file).map_err(|error| {
                problems.add(Problem::new(at, "setting", format!("{shown} {error}")));
                std::mem::take(problems)
            })?;
            let scenario = Scenario::parse(&shown, &text, &files.base(), options);
            if texts.iter().all(|(name, _)| *name != file) {
                texts.push((file, text));
            }
            scenario
        };
        let mut places = Vec::new();
        for (name, slow, on_request, written) in named {
            let others = written.iter().skip(1);
            places.push(others.map(|(world, w)| (world.clone(), w.at)).collect());
            let scenarios = written
                .into_iter()
                .map(|(world, written)| Ok((world, open(written)?)))
                .collect::<Result<_, Problems>>()?;
            self.settings.push(Setting {
                name,
                slow,
                on_request,
                scenarios,
            });
        }
        if self.settings.is_empty() {
            let message = "a study needs at least one `[[setting]]`".to_owned();
            self.add(Origin::NOWHERE, "setting", message, None);
            return Err(std::mem::take(&mut self.problems));
        }
        Ok(places)
    }

    /// `name`, `slow`, `on_request`, `scenario` for the first world, and a key for each other world
    /// that has one.
    fn scenarios_named(
        &mut self,
        node: &Node,
        path: &str,
    ) -> Option<(String, bool, bool, ByWorld<Written>)> {
        let others = self.worlds.iter().skip(1).map(WorldName::as_str);
        let known: Vec<&str> = SETTING.names().into_iter().chain(others).collect();
        let fields = Fields::open(node, path, &known, &mut self.problems)?;
        let Short(name) = fields.field("name", &mut self.problems)?;
        let slow: Option<bool> = fields.field("slow", &mut self.problems)?;
        let on_request: Option<bool> = fields.field("on_request", &mut self.problems)?;
        let first: Written = fields.field("scenario", &mut self.problems)?;
        let mut scenarios = ByWorld::default();
        scenarios.insert(self.worlds.first()?.clone(), first);
        scenarios.extend(self.by_world(&fields, 1)?);
        let (slow, on_request) = (slow.unwrap_or(false), on_request.unwrap_or(false));
        Some((name, slow, on_request, scenarios))
    }

    /// The values of the keys that are names of worlds, from the one with this number on.
    fn by_world<T: Read>(&mut self, fields: &Fields<'_>, from: usize) -> Option<ByWorld<T>> {
        let mut found = ByWorld::default();
        for world in &self.worlds[from..] {
            let value: Option<T> = fields.field(world.as_str(), &mut self.problems)?;
            found.extend(value.map(|value| (world.clone(), value)));
        }
        Some(found)
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
        self.refuse(at, path, complaint.message, complaint.help)
    }

    /// What the text at `key` says, in the claims' language.
    fn says<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: fn(&str, &Vocabulary) -> Result<T, Complaint>,
    ) -> Option<T> {
        let written: Written = fields.field(key, &mut self.problems)?;
        let read = read(&written.text, &self.words);
        self.understood(read, &written, &fields.path(key))
    }

    /// The same of a key that may be left out.
    #[expect(
        clippy::option_option,
        reason = "the outer one is none after a problem"
    )]
    fn may_say<T>(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        read: fn(&str, &Vocabulary) -> Result<T, Complaint>,
    ) -> Option<Option<T>> {
        match fields.get(key) {
            Some(_) => self.says(fields, key, read).map(Some),
            None => Some(None),
        }
    }

    fn setting(&mut self, fields: &Fields<'_>) -> Option<usize> {
        let name: Written = fields.field("setting", &mut self.problems)?;
        let names: Vec<String> = self.settings.iter().map(|s| s.name.clone()).collect();
        let found = names.iter().position(|known| *known == name.text);
        found.or_else(|| {
            let message = |name: &str| format!("no setting is named `{name}`");
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            self.unknown(&name, &fields.path("setting"), message, &names)
        })
    }
}
