//! A scenario file as a tree in which every key and value knows where it was written.
//!
//! Sweeps and `--set` replace parts of the tree before it is read, so that a value from the
//! command line goes through the same checks as one from the file and is blamed at its own
//! place.

use crate::problem::{Origin, Problem, Problems, suggestion};
use toml_edit::{Item, TableLike, Value as TomlValue};

/// Most keys of a field path; toml_edit nests a file no deeper.
const DEEPEST: usize = 80;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    /// The value itself.
    pub value: Value,
    /// Where it stands.
    pub at: Origin,
    /// As written, without quotes: what a cell's `params` show.
    pub text: String,
}

/// TOML's kinds of values.
#[derive(Clone, Debug)]
pub enum Value {
    /// A string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// A number with a point or an exponent.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// TOML's dates; no field takes one.
    Date,
    /// A list, of tables too.
    Array(Vec<Node>),
    /// A table, inline or not, in the order of the file.
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub at: Origin,
    /// The value.
    pub node: Node,
}

/// Where a field path leads nowhere.
#[derive(Debug, thiserror::Error)]
pub enum NoPath {
    /// Nothing between two dots, or nothing at all.
    #[error("a field path is keys with dots between, such as `dumbbell.rtt`")]
    Empty,
    /// More keys than files have.
    #[error("a field path has at most {DEEPEST} keys")]
    TooDeep,
    /// No item of a list has this name.
    #[error("no {list} is named `{name}`; {help}")]
    NoItem {
        /// The list.
        list: String,
        /// The name.
        name: String,
        /// What would be right.
        help: String,
    },
    /// An item of a list, which is no field.
    #[error("`{0}` is a whole {1}; name a field")]
    Whole(String, String),
    /// A field of a value that has none.
    #[error("`{above}` is {kind} in this scenario and has no field `{part}`")]
    NoField {
        /// The value.
        above: String,
        /// What it is.
        kind: &'static str,
        /// The field.
        part: String,
    },
}

impl Value {
    /// With an article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Bool(_) => "a boolean",
            Self::Date => "a date",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

impl Node {
    /// A value that is never shown as it was written.
    const fn untold(value: Value, at: Origin) -> Self {
        let text = String::new();
        Self { value, at, text }
    }

    /// The root of a TOML file, and the list for what is wrong with it.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn of_file(name: &str, text: &str) -> Result<(Self, Problems), Problems> {
        let mut problems = Problems::with_source(name, text);
        match Self::of_text(text, 0, &mut problems) {
            Some(root) => Ok((root, problems)),
            None => Err(problems),
        }
    }

    /// The root of another TOML text, whose positions have this index.
    pub fn of_text(text: &str, source: usize, problems: &mut Problems) -> Option<Self> {
        match toml_edit::Document::parse(text) {
            Ok(document) => Some(Self::of_document(&document, source)),
            Err(error) => {
                let at = Origin::new(source, error.span().unwrap_or(0..0));
                let message = error.message().trim().replace('\n', "; ");
                problems.refuse(Problem::new(at, "", format!("not TOML: {message}")))
            }
        }
    }

    fn of_document(document: &toml_edit::Document<&str>, source: usize) -> Self {
        let raw = document.raw();
        Convert { raw, source }.table(document.as_table(), Origin::new(source, 0..0))
    }

    /// The value of `KEY=VALUE`'s right side: TOML if it is TOML, otherwise a bare string, so
    /// that `--set duration=10s` needs no second pair of quotes, or in brackets a list of such
    /// values: `[10ms, 20ms]`.
    pub fn of_argument(text: &str, at: Origin) -> Self {
        let bare = || Self {
            value: bare_list(text).map_or_else(
                || Value::Text(text.to_owned()),
                |items| Value::Array(items.map(|item| Self::of_argument(item, at)).collect()),
            ),
            at,
            text: text.to_owned(),
        };
        let document = format!("value = {text}\n");
        let Ok(document) = toml_edit::Document::parse(document.as_str()) else {
            return bare();
        };
        let mut root = Self::of_document(&document, at.source);
        match &mut root.value {
            Value::Table(entries) if entries.len() == 1 => {
                let mut node = entries.remove(0).node;
                node.blame(at);
                node
            }
            _ => bare(),
        }
    }

    /// Makes `at` the place of the node and of everything in it.
    fn blame(&mut self, at: Origin) {
        self.at = at;
        match &mut self.value {
            Value::Array(items) => items.iter_mut().for_each(|node| node.blame(at)),
            Value::Table(entries) => {
                for entry in entries {
                    entry.at = at;
                    entry.node.blame(at);
                }
            }
            _ => {}
        }
    }

    /// Whether it is a table.
    pub fn is_table(&self) -> bool {
        matches!(self.value, Value::Table(_))
    }

    /// The table's entry.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// Takes an entry out of a table.
    pub fn take(&mut self, key: &str) -> Option<Entry> {
        match &mut self.value {
            Value::Table(entries) => {
                let index = entries.iter().position(|entry| entry.key == key)?;
                Some(entries.remove(index))
            }
            _ => None,
        }
    }

    /// The string at `key`.
    pub fn text_at(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.node.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Names of a list of tables (`flow`, `node`, `link`).
    fn names(items: &[Self]) -> Vec<&str> {
        items
            .iter()
            .filter_map(|item| item.text_at("name"))
            .collect()
    }

    /// Whether something was written at `path`.
    pub fn has(&self, path: &str) -> bool {
        self.walk(path).1
    }

    /// Where the value at `path` was written, or else the nearest table above it.
    pub fn locate(&self, path: &str) -> Origin {
        self.walk(path).0
    }

    /// Where the value at `path` or the nearest table above it was written, and whether it is the
    /// value itself.
    fn walk(&self, path: &str) -> (Origin, bool) {
        let (mut node, mut at) = (self, self.at);
        for part in path.split('.') {
            // `link[2]`: the second item of a list, which has no name.
            if let Some((list, number)) = part.strip_suffix(']').and_then(|p| p.split_once('['))
                && let Some(Value::Array(items)) = node.get(list).map(|entry| &entry.node.value)
                && let Ok(number) = number.parse::<usize>()
                && let Some(item) = items.get(number.wrapping_sub(1))
            {
                (node, at) = (item, item.at);
                continue;
            }
            let next = match &node.value {
                Value::Array(items) => items
                    .iter()
                    .find(|item| item.text_at("name") == Some(part))
                    .map(|item| (item, item.at)),
                _ => node
                    .get(part)
                    .map(|entry| (&entry.node, entry.value_or_key_at())),
            };
            let Some(next) = next else {
                return (at, false);
            };
            (node, at) = next;
        }
        (at, true)
    }

    /// Puts `new` at `path`, which is written at `key`; tables on the way are made when missing.
    ///
    /// # Errors
    /// Says which part of the path leads nowhere.
    pub fn set(&mut self, path: &str, key: Origin, new: Self) -> Result<(), NoPath> {
        // Each part is a table inside the one before.
        if path.split('.').count() > DEEPEST {
            return Err(NoPath::TooDeep);
        }
        self.set_below(path, "", key, new)
    }

    fn set_below(&mut self, path: &str, above: &str, key: Origin, new: Self) -> Result<(), NoPath> {
        let (part, rest) = path
            .split_once('.')
            .map_or((path, None), |(part, rest)| (part, Some(rest)));
        if part.is_empty() {
            return Err(NoPath::Empty);
        }
        let kind = self.value.kind();
        let entries = match &mut self.value {
            Value::Table(entries) => entries,
            Value::Array(items) if items.iter().all(Self::is_table) => {
                let named = |item: &Self| item.text_at("name") == Some(part);
                let Some(index) = items.iter().position(named) else {
                    return Err(NoPath::NoItem {
                        list: above.to_owned(),
                        name: part.to_owned(),
                        help: suggestion(part, &Self::names(items)),
                    });
                };
                let item = &mut items[index];
                let whole = || NoPath::Whole(part.to_owned(), above.to_owned());
                let rest = rest.ok_or_else(whole)?;
                return item.set_below(rest, part, key, new);
            }
            _ => {
                let (above, part) = (above.to_owned(), part.to_owned());
                return Err(NoPath::NoField { above, kind, part });
            }
        };
        let found = entries.iter().position(|entry| entry.key == part);
        match (found, rest) {
            (Some(index), None) => {
                entries[index].at = key;
                entries[index].node = new;
                Ok(())
            }
            (Some(index), Some(rest)) => entries[index].node.set_below(rest, part, key, new),
            (None, rest) => {
                let mut node = Self::untold(Value::Table(Vec::new()), key);
                match rest {
                    Some(rest) => node.set_below(rest, part, key, new)?,
                    None => node = new,
                }
                entries.push(Entry {
                    key: part.to_owned(),
                    at: key,
                    node,
                });
                Ok(())
            }
        }
    }
}

/// The values of a list that is no TOML, because they have no quotes. None for what is no list, or
/// has quotes or brackets in it, where commas need not part values.
fn bare_list(text: &str) -> Option<impl Iterator<Item = &str>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let plain = !inside.contains(['[', ']', '{', '}', '"', '\'']) && !inside.trim().is_empty();
    plain.then(|| {
        inside
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
    })
}

impl Entry {
    /// A table is blamed at its key, because its own extent may be a screenful.
    fn value_or_key_at(&self) -> Origin {
        match self.node.value {
            Value::Table(_) => self.at,
            _ => self.node.at,
        }
    }
}

/// From `toml_edit`'s types to ours.
struct Convert<'a> {
    raw: &'a str,
    source: usize,
}

impl Convert<'_> {
    fn origin(&self, span: Option<std::ops::Range<usize>>, or: Origin) -> Origin {
        span.map_or(or, |span| Origin::new(self.source, span))
    }

    fn table(&self, table: &dyn TableLike, at: Origin) -> Node {
        let entries = table.iter().map(|(key, item)| {
            let at = self.origin(table.key(key).and_then(toml_edit::Key::span), at);
            Entry {
                key: key.to_owned(),
                at,
                node: self.item(item, at),
            }
        });
        Node::untold(Value::Table(entries.collect()), at)
    }

    fn item(&self, item: &Item, above: Origin) -> Node {
        let at = self.origin(item.span(), above);
        match item {
            Item::Table(table) => self.table(table, at),
            Item::ArrayOfTables(tables) => {
                let tables = tables.iter();
                let nodes = tables.map(|table| self.table(table, self.origin(table.span(), at)));
                Node::untold(Value::Array(nodes.collect()), at)
            }
            Item::Value(value) => self.value(value, above),
            Item::None => Node::untold(Value::Table(Vec::new()), at),
        }
    }

    fn value(&self, value: &TomlValue, above: Origin) -> Node {
        let at = self.origin(value.span(), above);
        let written = self.raw.get(at.start..at.end).unwrap_or("").to_owned();
        let (value, text) = match value {
            TomlValue::String(text) => (Value::Text(text.value().clone()), text.value().clone()),
            TomlValue::Integer(number) => (Value::Integer(*number.value()), written),
            TomlValue::Float(number) => (Value::Float(*number.value()), written),
            TomlValue::Boolean(truth) => (Value::Bool(*truth.value()), written),
            TomlValue::Datetime(_) => (Value::Date, written),
            TomlValue::Array(items) => (
                Value::Array(items.iter().map(|item| self.value(item, at)).collect()),
                written,
            ),
            TomlValue::InlineTable(table) => (self.table(table, at).value, written),
        };
        Node { value, at, text }
    }
}
