//! From the tree to typed tables, collecting every problem on the way.

use crate::problem::{Origin, Problem, Problems, suggestion};
use crate::tree::{Entry, Node, Value};

/// A type that a value of the file can become.
pub trait Read: Sized {
    /// Reads a value; every problem is added to `problems`, and then nothing is returned.
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self>;

    /// The value of a key that is not there; none when the key is required.
    fn absent() -> Option<Self> {
        None
    }
}

impl<T: Read> Read for Option<T> {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        T::read(node, path, problems).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

/// "... is X, not Y", the usual complaint about a type.
pub fn wrong_type(node: &Node, path: &str, wanted: &str) -> Problem {
    let message = format!("expected {wanted}, found {}", node.value.kind());
    let problem = Problem::new(node.at, path, message);
    match node.value {
        // Nothing of a line is a list: whoever writes one wants to compare.
        Value::Array(_) if path.starts_with("dumbbell.") => problem.help(format!(
            "several are run one after the other by `\"{path}\" = [...]` in [sweep]"
        )),
        _ => problem,
    }
}

/// The value as it is, to be read later.
impl Read for Node {
    fn read(node: &Node, _: &str, _: &mut Problems) -> Option<Self> {
        Some(node.clone())
    }
}

impl Read for String {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => problems.refuse(wrong_type(node, path, "a string")),
        }
    }
}

/// Reads a short name: names become file names and columns.
pub fn short_name(node: &Node, path: &str, problems: &mut Problems) -> Option<String> {
    const LONGEST: usize = 64;
    let name = String::read(node, path, problems)?;
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > LONGEST || !name.chars().all(good) {
        let message = format!("`{name}` is not a name");
        let help = format!("1 to {LONGEST} of the characters a-z A-Z 0-9 - _");
        return problems.refuse(Problem::new(node.at, path, message).help(help));
    }
    Some(name)
}

impl Read for bool {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match node.value {
            Value::Bool(truth) => Some(truth),
            _ => problems.refuse(wrong_type(node, path, "`true` or `false`")),
        }
    }
}

impl Read for u64 {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let Value::Integer(number) = node.value else {
            return problems.refuse(wrong_type(node, path, "an integer"));
        };
        let negative = |_| problems.add(Problem::new(node.at, path, "must not be negative"));
        Self::try_from(number).map_err(negative).ok()
    }
}

impl Read for u32 {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let wide = u64::read(node, path, problems)?;
        let message = format!("{wide} is too large; at most {}", Self::MAX);
        let large = |_| problems.add(Problem::new(node.at, path, message));
        Self::try_from(wide).map_err(large).ok()
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let Value::Array(items) = &node.value else {
            return problems.refuse(wrong_type(node, path, "an array"));
        };
        let read: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(i, item)| T::read(item, &item_path(path, i, item), problems))
            .collect();
        read.into_iter().collect()
    }
}

/// `flow.upload` when the item has a name, `flow[1]` (from 1) otherwise.
fn item_path(path: &str, index: usize, item: &Node) -> String {
    match item.text_at("name") {
        Some(name) if !name.is_empty() => format!("{path}.{name}"),
        _ => format!("{path}[{}]", index + 1),
    }
}

/// `above.key`, or the key alone at the root.
pub fn join(above: &str, key: &str) -> String {
    if above.is_empty() {
        key.to_owned()
    } else {
        format!("{above}.{key}")
    }
}

/// A table that is being read.
pub struct Fields<'a> {
    node: &'a Node,
    /// Its keys with their values.
    pub entries: &'a [Entry],
    path: &'a str,
}

impl<'a> Fields<'a> {
    /// Opens a table; complains about keys that are not among `known`.
    pub fn open(
        node: &'a Node,
        path: &'a str,
        known: &[&str],
        problems: &mut Problems,
    ) -> Option<Self> {
        let Some(fields) = Self::of(node, path) else {
            return problems.refuse(wrong_type(node, path, "a table"));
        };
        for entry in fields.entries {
            if !known.contains(&entry.key.as_str()) {
                let problem = Problem::new(entry.at, path, format!("unknown key `{}`", entry.key));
                problems.add(problem.help(suggestion(&entry.key, known)));
            }
        }
        Some(fields)
    }

    /// A table whose keys are not looked at.
    pub fn of(node: &'a Node, path: &'a str) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            return None;
        };
        Some(Self {
            node,
            entries,
            path,
        })
    }

    /// The entry of `key`.
    pub fn get(&self, key: &str) -> Option<&'a Entry> {
        self.node.get(key)
    }

    /// The path of `key`.
    pub fn path(&self, key: &str) -> String {
        join(self.path, key)
    }

    /// Where the value of `key` was written, or else the table.
    pub fn at(&self, key: &str) -> Origin {
        self.get(key).map_or(self.node.at, |entry| entry.node.at)
    }

    /// Reads the value of `key`; complains when it is required and missing.
    pub fn field<T: Read>(&self, key: &str, problems: &mut Problems) -> Option<T> {
        if let Some(entry) = self.get(key) {
            return T::read(&entry.node, &self.path(key), problems);
        }
        T::absent().or_else(|| {
            let message = format!("missing key `{key}`");
            problems.refuse(Problem::new(self.node.at, self.path, message))
        })
    }
}

/// Declares a table of the scenario format: a struct, its JSON Schema and its reader, from one
/// list of keys. `Option` fields may be absent, others must be there; the keys of `..field` stand
/// in the same table. An `overlay` has optional keys only, and can be laid over another one.
#[macro_export]
macro_rules! table {
    (overlay $($table:tt)*) => {
        $crate::table! { $($table)* }
        $crate::overlay! { $($table)* }
    };
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty,)*
        $(..$inner:ident: $Inner:ident,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $vis struct $name {
            $($(#[$doc])* $vis $field: $type,)*
            $(#[schemars(flatten)] $vis $inner: $Inner,)?
        }

        impl $name {
            /// Its keys, and those of the table within it.
            $vis const KEYS: &[&[&str]] =
                &[&[$(stringify!($field)),*] $(, $Inner::KEYS[0])?];

            /// Reads it from an open table, whose keys are known.
            // A table may have no keys.
            #[allow(unused_variables)]
            $vis fn of(
                fields: &$crate::read::Fields<'_>,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                $(let $field = fields.field(stringify!($field), problems);)*
                $(let $inner = $Inner::of(fields, problems);)?
                Some(Self { $($field: $field?,)* $($inner: $inner?,)? })
            }
        }

        impl $crate::read::Read for $name {
            fn read(
                node: &$crate::tree::Node,
                path: &str,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                let known = Self::KEYS.concat();
                Self::of(&$crate::read::Fields::open(node, path, &known, problems)?, problems)
            }
        }
    };
}

/// For tables whose keys are all optional: an empty one, and one laid over another.
#[macro_export]
macro_rules! overlay {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty,)*
    }) => {
        impl Default for $name {
            fn default() -> Self {
                Self { $($field: None),* }
            }
        }

        impl $name {
            /// This table's keys before `below`'s.
            #[must_use]
            $vis fn over(self, below: Self) -> Self {
                Self { $($field: self.$field.or(below.$field)),* }
            }
        }
    };
}

/// Declares a choice between words: an enum, its JSON Schema and its reader, and what the words
/// mean.
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $vis:vis enum $name:ident $(: $Value:ty)? {
        $($(#[$doc:meta])* $variant:ident = $word:literal $(=> $value:expr)?,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema)]
        $vis enum $name {
            $($(#[$doc])* #[schemars(rename = $word)] $variant,)*
        }

        $crate::words! { @value $vis $name $($Value)?: $($variant $($value)?,)* }

        impl $crate::read::Read for $name {
            fn read(
                node: &$crate::tree::Node,
                path: &str,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                let $crate::tree::Value::Text(word) = &node.value else {
                    let problem = $crate::read::wrong_type(node, path, "a string");
                    let help = $crate::problem::suggestion("", &[$($word),*]);
                    return problems.refuse(problem.help(help));
                };
                match word.as_str() {
                    $($word => Some(Self::$variant),)*
                    _ => {
                        let message = format!("unknown value `{word}`");
                        let help = $crate::problem::from_elsewhere(word, &[$($word),*]);
                        let problem = $crate::problem::Problem::new(node.at, path, message);
                        problems.refuse(problem.help(help))
                    }
                }
            }
        }
    };
    (@value $vis:vis $name:ident: $($variant:ident,)*) => {};
    (@value $vis:vis $name:ident $Value:ty: $($variant:ident $value:expr,)*) => {
        impl $name {
            /// What the word means.
            $vis fn value(self) -> $Value {
                match self {
                    $(Self::$variant => $value,)*
                }
            }
        }
    };
}
