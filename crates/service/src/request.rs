//! What can be asked of running bridges, in words or as a JSON object, a line each.
//!
//! | words | object |
//! | --- | --- |
//! | `stats` | `{"command":"stats"}` |
//! | `text` | `{"command":"text"}` |
//! | `change up codel limit 100` | `{"command":"change","side":"up","spec":"codel limit 100"}` |
//! | `rate down 20mbit` | `{"command":"rate","side":"down","rate":"20mbit"}` |
//! | `history` | `{"command":"history"}` |
//! | `reload` | `{"command":"reload"}` |
//! | `reload dry-run` | `{"command":"reload","dry_run":true}` |
//!
//! The first four may name a pair: `stats wan`, `change wan up codel`, `"pair":"wan"`. An answer is
//! `{"ok":true,...}` or `{"ok":false,"error":"..."}`. A wrong request changes nothing.

use crate::Fleet;
use crate::fleet::AskError;
use crate::reload::ReloadError;
use serde_json::{Map, Value, json};
use sojourn_live::bridge::Side;
use sojourn_qdisc::{Spec, SpecError};
use sojourn_units::{Rate, UnitError, parse_rate, show_rate};
use sojourn_world::LineRate;

/// What can be asked. Where a pair is named, it is meant alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Counters and tc's JSON of both directions.
    Stats(Option<String>),
    /// The same as text.
    Text(Option<String>),
    /// Another queue, or other parameters.
    Change(Option<String>, Side, Spec),
    /// Another rate; none: no limit.
    Rate(Option<String>, Side, Option<Rate>),
    /// What was changed, and by whom.
    History,
    /// Follow the file; or say what would change.
    Reload { dry_run: bool },
}

/// Why a request is not done.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Reload(#[from] ReloadError),
}

impl Request {
    /// Has it done for somebody, and says what came of it.
    pub(crate) fn answer(self, by: &str, fleet: &Fleet) -> Value {
        let answer = self.carry_out(by, fleet);
        answer.unwrap_or_else(|error| refusal(&error))
    }

    fn carry_out(self, by: &str, fleet: &Fleet) -> Result<Value, Refused> {
        Ok(match self {
            Self::Stats(pair) => {
                let snapshots = fleet.snapshots(pair.as_deref())?;
                let stats = snapshots.into_iter().map(|(name, snapshot)| {
                    let stats = snapshot.map(|snapshot| snapshot.json());
                    let stats = stats.unwrap_or_else(|error| json!({"error": error.to_string()}));
                    (name, stats)
                });
                json!({"ok": true, "stats": stats.collect::<Map<_, _>>()})
            }
            Self::Text(pair) => json!({"ok": true, "text": fleet.text_of(pair.as_deref())?}),
            Self::Change(pair, side, spec) => {
                let text = spec.to_string();
                let pair = fleet.change(by, pair.as_deref(), |bridge| bridge.change(side, spec))?;
                json!({"ok": true, "pair": pair, "side": side.name(), "spec": text})
            }
            Self::Rate(pair, side, rate) => {
                let text = rate.map_or("unlimited".to_owned(), show_rate);
                let rate = rate.map_or(LineRate::Infinite, LineRate::Fixed);
                let pair =
                    fleet.change(by, pair.as_deref(), |bridge| bridge.set_rate(side, rate))?;
                json!({"ok": true, "pair": pair, "side": side.name(), "rate": text})
            }
            Self::History => json!({"ok": true, "history": fleet.history.json()}),
            Self::Reload { dry_run } => {
                json!({"ok": true, "dry_run": dry_run, "changes": fleet.reload(by, dry_run)?})
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
    #[error("`{0}` is not a command; there are stats, text, change, rate, history and reload")]
    Command(String),
    #[error("`dry_run` is true or false; in words it is `reload dry-run`")]
    DryRun,
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
        of_words(text)
    };
    let field = |name| object[name].as_str().ok_or(Wrong::Missing(name));
    let side = || match field("side")? {
        "up" => Ok(Side::Up),
        "down" => Ok(Side::Down),
        other => Err(Wrong::Side(other.to_owned())),
    };
    let pair = match &object["pair"] {
        Value::Null => None,
        name => Some(name.as_str().ok_or(Wrong::Missing("pair"))?.to_owned()),
    };
    match field("command")? {
        "stats" => Ok(Request::Stats(pair)),
        "text" => Ok(Request::Text(pair)),
        "change" => {
            let spec = field("spec")?.parse::<Spec>();
            Ok(Request::Change(pair, side()?, spec?))
        }
        "rate" => {
            let side = side()?;
            let rate = match field("rate")? {
                "unlimited" => None,
                text => Some(parse_link_rate(text)?),
            };
            Ok(Request::Rate(pair, side, rate))
        }
        "history" => Ok(Request::History),
        "reload" => match &object["dry_run"] {
            Value::Null | Value::Bool(false) => Ok(Request::Reload { dry_run: false }),
            Value::Bool(true) => Ok(Request::Reload { dry_run: true }),
            _ => Err(Wrong::DryRun),
        },
        other => Err(Wrong::Command(other.to_owned())),
    }
}

/// The object that words stand for.
fn of_words(text: &str) -> Value {
    let first = |text: &str| {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        (word.to_owned(), rest.trim().to_owned())
    };
    let (command, rest) = first(text);
    let mut object = json!({"command": command});
    match command.as_str() {
        "reload" => {
            object["dry_run"] = match rest.as_str() {
                "" => false.into(),
                "dry-run" => true.into(),
                other => other.into(),
            };
        }
        "change" | "rate" => {
            let is_side = |word: &str| Side::BOTH.iter().any(|side| side.name() == word);
            let (mut word, mut value) = first(&rest);
            if !is_side(&word) && is_side(&first(&value).0) {
                object["pair"] = word.into();
                (word, value) = first(&value);
            }
            object["side"] = word.into();
            (object["spec"], object["rate"]) = (value.clone().into(), value.into());
        }
        _ if !rest.is_empty() => object["pair"] = rest.into(),
        _ => {}
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_objects_mean_the_same() {
        let codel: Spec = "codel limit 100".parse().unwrap();
        for (words, object, request) in [
            ("stats", r#"{"command":"stats"}"#, Request::Stats(None)),
            (
                "stats wan",
                r#"{"command":"stats","pair":"wan"}"#,
                Request::Stats(Some("wan".into())),
            ),
            ("text", r#"{"command":"text"}"#, Request::Text(None)),
            ("history", r#"{"command":"history"}"#, Request::History),
            (
                "reload",
                r#"{"command":"reload"}"#,
                Request::Reload { dry_run: false },
            ),
            (
                "reload dry-run",
                r#"{"command":"reload","dry_run":true}"#,
                Request::Reload { dry_run: true },
            ),
            (
                "rate wan up unlimited",
                r#"{"command":"rate","pair":"wan","side":"up","rate":"unlimited"}"#,
                Request::Rate(Some("wan".into()), Side::Up, None),
            ),
            (
                "change up codel limit 100",
                r#"{"command":"change","side":"up","spec":"codel limit 100"}"#,
                Request::Change(None, Side::Up, codel),
            ),
            (
                "rate  down  20mbit",
                r#"{"command":"rate","side":"down","rate":"20mbit"}"#,
                Request::Rate(None, Side::Down, Some(Rate::from_bps(20_000_000))),
            ),
        ] {
            assert_eq!(parse(words).unwrap(), request);
            assert_eq!(parse(object).unwrap(), request);
        }
        let unlimited = parse("rate up unlimited").unwrap();
        assert_eq!(unlimited, Request::Rate(None, Side::Up, None));
    }

    #[test]
    fn wrong_requests_say_what_is_wrong() {
        for (request, part) in [
            ("stat", "`stat` is not a command"),
            ("rate left 1mbit", "`left` is not a side"),
            ("rate up fast", "`fast` is not a rate"),
            ("rate up 20", "`20` needs a unit"),
            ("rate up 0", "above zero"),
            ("rate wan left 1mbit", "`wan` is not a side"),
            ("reload now", "in words it is `reload dry-run`"),
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
