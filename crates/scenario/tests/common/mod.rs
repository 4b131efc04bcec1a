//! What the tests share.
#![allow(dead_code, reason = "each test uses a part of it")]

use sojourn_scenario::{Options, Problems, Scenario};
use std::path::Path;

/// A right scenario, for tests to change a line of.
pub(crate) const GOOD: &str = include_str!("good.toml");

/// Reads a text as `test.toml`.
pub(crate) fn parse(text: &str, sets: &[&str]) -> Result<Scenario, Problems> {
    let options = Options {
        sets: sets.iter().map(|set| (*set).to_owned()).collect(),
        ..Options::default()
    };
    Scenario::parse("test.toml", text, Path::new(""), &options)
}

/// [`GOOD`] with one line, which must be there, replaced.
pub(crate) fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}
