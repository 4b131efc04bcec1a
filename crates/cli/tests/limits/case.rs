//! A case: files, the program's arguments, and what it must say.

/// A right scenario, for cases to change a line of: that of the tests of the format.
pub(crate) const GOOD: &str = include_str!("../../../scenario/tests/common/good.toml");

/// What is given, and what must be said of it.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// By their names.
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
    pub(crate) arguments: Vec<String>,
    /// Stands on standard error.
    pub(crate) says: String,
}

/// The program with these words, without files.
pub(crate) fn program(arguments: &str, says: &str) -> Case {
    Case {
        name: arguments.to_owned(),
        files: Vec::new(),
        arguments: arguments.split(' ').map(str::to_owned).collect(),
        says: says.to_owned(),
    }
}

/// `sojourn check scenario.toml`; `says` goes on behind the file's name.
pub(crate) fn file(name: &str, bytes: impl Into<Vec<u8>>, says: &str) -> Case {
    Case {
        name: name.to_owned(),
        files: vec![("scenario.toml", bytes.into())],
        ..program("check scenario.toml", &format!("scenario.toml:{says}"))
    }
}

/// [`GOOD`] with a text, which must be there, replaced.
pub(crate) fn changed(from: &str, to: &str, says: &str) -> Case {
    assert!(GOOD.contains(from), "{from}");
    let name: String = to.chars().take(60).collect();
    file(&name, GOOD.replacen(from, to, 1), says)
}
