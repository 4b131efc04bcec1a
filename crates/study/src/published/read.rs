//! `study.toml`: from its text to a checked study.

mod claims;
mod pictures;
mod recorded;
mod words;

use super::{Deviation, Files, Published, Setting};
use crate::claims::{Complaint, Vocabulary};
use sojourn_scenario::problem::{Origin, Problem, Problems, suggestion};
use sojourn_scenario::read::{Fields, Read, join, wrong_type};
use sojourn_scenario::tree::{Node, Value};
use sojourn_scenario::{Options, Scenario};

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

impl Read for Deviation {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        if let Value::Text(reason) = &node.value {
            let reason = Some(reason.clone());
            return Some(Self {
                sim: reason.clone(),
                live: reason,
            });
        }
        if !matches!(node.value, Value::Table(_)) {
            let wanted = "a string, or a table with `sim` or `live`";
            problems.add(wrong_type(node, path, wanted));
            return None;
        }
        let fields = Fields::open(node, path, &["sim", "live"], problems)?;
        Some(Self {
            sim: fields.field("sim", problems)?,
            live: fields.field("live", problems)?,
        })
    }

    fn absent() -> Option<Self> {
        Some(Self::default())
    }
}

/// Reads a study; see [`Published::read`].
pub(super) fn study(
    file: &str,
    text: &str,
    files: &dyn Files,
    options: &Options,
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
        files: vec![(super::FILE.to_owned(), text.to_owned())],
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
    let live = reader.settings(&top, files, options)?;
    reader.axes(&top);
    reader.recorded(&top, files);
    reader.definitions(&top);
    reader.sweeps_of_live(&live);
    study.claims = reader.claims(&top);
    reader.use_of_live(&live, &study.claims);
    study.charts = reader.list(&top, "chart", Reader::chart);
    study.tables = reader.list(&top, "table", Reader::table);
    if !reader.problems.is_empty() {
        reader.problems.sort();
        return Err(reader.problems);
    }
    study.settings = reader.settings;
    study.files = reader.files;
    study.words = reader.words;
    text.clone_into(&mut study.text);
    Ok(study)
}

struct Reader {
    problems: Problems,
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

    /// Reads the scenarios; for every setting, where its live scenario is named. A problem in a
    /// scenario is reported alone, with its own file.
    fn settings(
        &mut self,
        top: &Fields<'_>,
        files: &dyn Files,
        options: &Options,
    ) -> Result<Vec<Option<Origin>>, Problems> {
        let named = self.list(top, "setting", |reader, node, path| {
            let known = ["name", "scenario", "live"];
            let fields = Fields::open(node, path, &known, &mut reader.problems)?;
            let name: String = fields.field("name", &mut reader.problems)?;
            let file: String = fields.field("scenario", &mut reader.problems)?;
            let live: Option<Written> = fields.field("live", &mut reader.problems)?;
            Some((name, file, live))
        });
        let mut texts = std::mem::take(&mut self.files);
        let mut open = |file: &str| {
            let shown = files.shown(file);
            let text = files.read(file);
            let text = text.map_err(|message| super::nowhere(&shown, message))?;
            let scenario = Scenario::parse(&shown, &text, &files.base(), options);
            if texts.iter().all(|(name, _)| name != file) {
                texts.push((file.to_owned(), text));
            }
            scenario
        };
        let mut places = Vec::new();
        for (name, file, live) in named {
            let scenario = open(&file)?;
            places.push(live.as_ref().map(|live| live.at));
            let live = live.map(|live| open(&live.text)).transpose()?;
            self.settings.push(Setting {
                name,
                scenario,
                live,
            });
        }
        self.files = texts;
        if self.settings.is_empty() {
            let message = "a study needs at least one `[[setting]]`".to_owned();
            self.add(Origin::NOWHERE, "setting", message, None);
            return Err(std::mem::take(&mut self.problems));
        }
        Ok(places)
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
