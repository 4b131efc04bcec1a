//! mahimahi's link traces: one integer a line, the millisecond of a chance to send 1500 bytes.

use sojourn_world::RateTrace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most lines of a trace: at 1500 bytes each, an hour at more than 30 Mbit/s.
const MOST_LINES: usize = 10_000_000;

/// Reads a trace.
///
/// # Errors
/// A sentence that begins with the number of the bad line.
pub fn parse(text: &str) -> Result<RateTrace, String> {
    let mut opportunities_ms: Vec<u64> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (number, line) = (index + 1, line.trim());
        let at: u64 = line
            .parse()
            .map_err(|_| format!("{number}: `{line:.20}` is not a time in whole milliseconds"))?;
        if let Some(last) = opportunities_ms.last().filter(|&&last| at < last) {
            return Err(format!(
                "{number}: {at} is before {last}; times must not decrease"
            ));
        }
        if number > MOST_LINES {
            return Err(format!("{number}: more than {MOST_LINES} lines"));
        }
        opportunities_ms.push(at);
    }
    match opportunities_ms.last() {
        None => Err("1: an empty trace sends nothing".into()),
        Some(0) => Err("1: a trace that ends at 0 has no length".into()),
        Some(_) => Ok(RateTrace { opportunities_ms }),
    }
}

/// Traces by path, each read once however many cells use it.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    base: PathBuf,
    known: BTreeMap<String, Result<Arc<RateTrace>, String>>,
}

impl Traces {
    /// Paths are seen from `base`.
    pub(crate) fn new(base: &Path) -> Self {
        Self {
            base: base.to_owned(),
            known: BTreeMap::new(),
        }
    }

    /// The trace in the file `path`.
    ///
    /// # Errors
    /// A sentence with the file and, where there is one, the line.
    pub(crate) fn get(&mut self, path: &str) -> Result<Arc<RateTrace>, String> {
        let full = self.base.join(path);
        self.known
            .entry(path.to_owned())
            .or_insert_with(|| {
                let shown = full.display();
                let bytes = std::fs::read(&full)
                    .map_err(|error| format!("cannot read the trace {shown}: {error}"))?;
                let text =
                    String::from_utf8(bytes).map_err(|_| format!("{shown} is not a text file"))?;
                let trace = parse(&text).map_err(|error| format!("{shown}:{error}"))?;
                Ok(Arc::new(trace))
            })
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn one_chance_a_line() {
        assert_eq!(
            parse("0\n5\n5\n12\n").unwrap().opportunities_ms,
            [0, 5, 5, 12]
        );
        assert_eq!(parse("7").unwrap().opportunities_ms, [7]);
        assert_eq!(parse(" 7 \r\n9\r\n").unwrap().opportunities_ms, [7, 9]);
    }

    #[test]
    fn bad_lines_are_named() {
        for (text, wanted) in [
            ("", "1: an empty trace"),
            ("0\n0\n", "1: a trace that ends at 0"),
            ("1\n\n2\n", "2: `` is not a time"),
            ("1\n2.5\n", "2: `2.5` is not a time"),
            ("1\n-3\n", "2: `-3` is not a time"),
            ("5\n4\n", "2: 4 is before 5"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(wanted), "{text:?}: {error}");
        }
    }
}
