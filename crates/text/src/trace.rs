//! mahimahi's link traces: one integer a line, the millisecond of a chance to send 1500 bytes.

use sojourn_line::RateTrace;

/// Most lines of a trace: at 1500 bytes each, an hour at more than 30 Mbit/s.
const MOST_LINES: usize = 10_000_000;

/// What is wrong with a trace, with the number of the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line is not a number.
    #[error("{0}: `{1:.20}` is not a time in whole milliseconds")]
    NotATime(usize, String),
    /// A line holds several numbers.
    #[error(
        "{0}: `{1:.20}` are several numbers; a table of times and rates is not read. A trace has \
         one integer a line, the millisecond of a chance to send 1500 bytes, as mahimahi's"
    )]
    Table(usize, String),
    /// A time before the one above it.
    #[error("{line}: {at} is before {last}; times must not decrease")]
    Decreases {
        /// The line.
        line: usize,
        /// Its time, in ms.
        at: u64,
        /// The time above it, in ms.
        last: u64,
    },
    /// More lines than anybody measures.
    #[error("{0}: more than {MOST_LINES} lines")]
    TooLong(usize),
    /// No line.
    #[error("1: an empty trace sends nothing")]
    Empty,
    /// All times are zero.
    #[error("1: a trace that ends at 0 has no length")]
    NoLength,
}

/// What is wrong with a line that is no time.
fn unreadable(line: usize, text: &str) -> TraceError {
    let words = text
        .split([',', ';', '\t', ' '])
        .filter(|word| !word.is_empty());
    let numbers = words.clone().filter(|word| word.parse::<f64>().is_ok());
    match numbers.count() {
        count if count > 1 && count == words.count() => TraceError::Table(line, text.to_owned()),
        _ => TraceError::NotATime(line, text.to_owned()),
    }
}

/// Reads a trace.
///
/// # Errors
/// What is wrong with the first bad line.
pub(crate) fn parse(text: &str) -> Result<RateTrace, TraceError> {
    let mut opportunities_ms: Vec<u64> = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let (line, text) = (index + 1, text.trim());
        let at: u64 = text.parse().map_err(|_| unreadable(line, text))?;
        if let Some(&last) = opportunities_ms.last().filter(|&&last| at < last) {
            return Err(TraceError::Decreases { line, at, last });
        }
        if line > MOST_LINES {
            return Err(TraceError::TooLong(line));
        }
        opportunities_ms.push(at);
    }
    match opportunities_ms.last() {
        None => Err(TraceError::Empty),
        Some(0) => Err(TraceError::NoLength),
        Some(_) => Ok(RateTrace { opportunities_ms }),
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
            ("0.0,4.2\n0.5,3\n", "1: `0.0,4.2` are several numbers"),
            ("1 fast\n", "1: `1 fast` is not a time"),
            ("5\n4\n", "2: 4 is before 5"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{text:?}: {error}");
        }
    }
}
