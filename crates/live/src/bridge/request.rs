//! What can be asked of a running bridge, in words or as a JSON object, a line each.
//!
//! | words | object |
//! | --- | --- |
//! | `stats` | `{"command":"stats"}` |
//! | `text` | `{"command":"text"}` |
//! | `change up codel limit 100` | `{"command":"change","side":"up","spec":"codel limit 100"}` |
//! | `rate down 20mbit` | `{"command":"rate","side":"down","rate":"20mbit"}` |
//!
//! An answer is `{"ok":true,...}` or `{"ok":false,"error":"..."}`. A wrong request changes
//! nothing.

use super::config::Side;
use super::remote::{Remote, RemoteError};
use serde_json::{Value, json};
use sojourn_qdisc::{Spec, SpecError};
use sojourn_units::{Rate, UnitError, parse_rate, show_rate};
use sojourn_world::LineRate;

/// What can be asked of a bridge.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Counters and tc's JSON of both directions.
    Stats,
    /// The same as text.
    Text,
    /// Another queue, or other parameters.
    Change(Side, Spec),
    /// Another rate; none: no limit.
    Rate(Side, Option<Rate>),
}

impl Request {
    /// Whether it changes something.
    pub(crate) const fn changes(&self) -> bool {
        matches!(self, Self::Change(..) | Self::Rate(..))
    }

    /// Has it done, and says what came of it.
    pub(crate) fn answer(self, bridge: &Remote) -> Value {
        let answer = self.carry_out(bridge);
        answer.unwrap_or_else(|error| refusal(&error))
    }

    fn carry_out(self, bridge: &Remote) -> Result<Value, RemoteError> {
        Ok(match self {
            Self::Stats => json!({"ok": true, "stats": bridge.snapshot()?.json()}),
            Self::Text => json!({"ok": true, "text": bridge.snapshot()?.text()}),
            Self::Change(side, spec) => {
                let text = spec.to_string();
                bridge.change(side, spec)?;
                json!({"ok": true, "side": side.name(), "spec": text})
            }
            Self::Rate(side, rate) => {
                let text = rate.map_or("unlimited".to_owned(), show_rate);
                bridge.set_rate(side, rate.map_or(LineRate::Infinite, LineRate::Fixed))?;
                json!({"ok": true, "side": side.name(), "rate": text})
            }
        })
    }
}

/// The answer to a request that cannot be done.
pub(crate) fn refusal(error: &dyn std::error::Error) -> Value {
    json!({"ok": false, "error": error.to_string()})
}

/// What is wrong with a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Wrong {
    #[error("not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("`{0}` is missing or not a text")]
    Missing(&'static str),
    #[error("`{0}` is not a side; there are `up` and `down`")]
    Side(String),
    #[error("`{0}` is not a command; there are `stats`, `text`, `change` and `rate`")]
    Command(String),
    #[error(transparent)]
    Spec(#[from] SpecError),
    #[error(transparent)]
    Rate(#[from] RateError),
}

/// Why a text is no rate of a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RateError {
    /// It is no rate at all, or its unit is missing.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// It would stop the link.
    #[error("a rate must be above zero; for none, take the interface down")]
    Zero,
}

/// Reads the rate of a link, in tc's notation.
///
/// # Errors
/// When the unit is missing, and when it is zero.
pub fn parse_link_rate(text: &str) -> Result<Rate, RateError> {
    match parse_rate(text)? {
        Rate::ZERO => Err(RateError::Zero),
        rate => Ok(rate),
    }
}

/// Reads a request.
pub(crate) fn parse(text: &str) -> Result<Request, Wrong> {
    let object: Value = if text.starts_with('{') {
        serde_json::from_str(text)?
    } else {
        let (command, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let (side, value) = rest
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((rest.trim(), ""));
        json!({"command": command, "side": side, "spec": value.trim(), "rate": value.trim()})
    };
    let field = |name| object[name].as_str().ok_or(Wrong::Missing(name));
    let side = || match field("side")? {
        "up" => Ok(Side::Up),
        "down" => Ok(Side::Down),
        other => Err(Wrong::Side(other.to_owned())),
    };
    match field("command")? {
        "stats" => Ok(Request::Stats),
        "text" => Ok(Request::Text),
        "change" => {
            let spec = field("spec")?.parse::<Spec>();
            Ok(Request::Change(side()?, spec?))
        }
        "rate" => {
            let rate = match field("rate")? {
                "unlimited" => None,
                text => Some(parse_link_rate(text)?),
            };
            Ok(Request::Rate(side()?, rate))
        }
        other => Err(Wrong::Command(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_objects_mean_the_same() {
        let codel: Spec = "codel limit 100".parse().unwrap();
        for (words, object, request) in [
            ("stats", r#"{"command":"stats"}"#, Request::Stats),
            ("text", r#"{"command":"text"}"#, Request::Text),
            (
                "change up codel limit 100",
                r#"{"command":"change","side":"up","spec":"codel limit 100"}"#,
                Request::Change(Side::Up, codel),
            ),
            (
                "rate  down  20mbit",
                r#"{"command":"rate","side":"down","rate":"20mbit"}"#,
                Request::Rate(Side::Down, Some(Rate::from_bps(20_000_000))),
            ),
        ] {
            assert_eq!(parse(words).unwrap(), request);
            assert_eq!(parse(object).unwrap(), request);
        }
        let unlimited = parse("rate up unlimited").unwrap();
        assert_eq!(unlimited, Request::Rate(Side::Up, None));
    }

    #[test]
    fn wrong_requests_say_what_is_wrong() {
        for (request, part) in [
            ("stat", "`stat` is not a command"),
            ("rate left 1mbit", "`left` is not a side"),
            ("rate up fast", "`fast` is not a rate"),
            ("rate up 20", "`20` needs a unit"),
            ("rate up 0", "above zero"),
            ("change up fq_codel target 5", "`target 5` needs a unit"),
            ("change up codle", "codel"),
            ("{", "not JSON"),
            ("{}", "`command` is missing"),
            (r#"{"command":1}"#, "`command` is missing or not a text"),
        ] {
            let error = parse(request).unwrap_err().to_string();
            assert!(error.contains(part), "{request}: {error}");
        }
    }
}
