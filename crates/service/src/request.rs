//! What can be asked of running bridges, in words or as a JSON object, a line each.
//!
//! | words | object |
//! | --- | --- |
//! | `stats` | `{"command":"stats"}` |
//! | `text` | `{"command":"text"}` |
//! | `change up codel limit 100` | `{"command":"change","side":"up","spec":"codel limit 100"}` |
//! | `replace up codel` | `{"command":"replace","side":"up","spec":"codel"}` |
//! | `rate down 20mbit` | `{"command":"rate","side":"down","rate":"20mbit"}` |
//! | `history` | `{"command":"history"}` |
//! | `reload` | `{"command":"reload"}` |
//! | `reload dry-run` | `{"command":"reload","dry_run":true}` |
//! | `capture` | `{"command":"capture","places":["left","right"],"snap_len":192}` |
//! | `talkers` | `{"command":"talkers","count":3}` |
//! | `verify` | `{"command":"verify"}` |
//! | `top` | `{"command":"top","flows":20,"order":"rate"}` |
//!
//! The first five, `capture`, `verify` and `top` may name a pair: `stats wan`, `change wan up
//! codel`, `"pair":"wan"`; `change` and `replace` with `"tc":true` read the queue as tc does; what
//! limits a capture is `"frames":1000` and `"duration":"10s"`. An answer is `{"ok":true,...}` or
//! `{"ok":false,"error":"..."}`. A wrong request changes nothing. What follows the answer to
//! `capture` is pcapng, until it ends or the client does; whatever the client sends ends it.

use crate::Fleet;
use crate::capture::{CapturePlace, Wanted};
use crate::change::{ChangeError, Words};
use crate::fleet::AskError;
use crate::flows::Order;
use crate::reload::ReloadError;
use crate::{circuits, talkers, top};
use serde_json::{Map, Value, json};
use sojourn_bridge::{CAPTURED, FailOpenState, Side};
use sojourn_units::{Rate, UnitError, parse_rate, parse_span};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

/// What can be asked. Where a pair is named, it is meant alone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    /// Counters and tc's JSON of both directions.
    Stats(Option<String>),
    /// The same as text.
    Text(Option<String>),
    /// Other parameters of a queue, or another queue.
    Change(Option<String>, Side, Words),
    /// Another rate; none: no limit.
    Rate(Option<String>, Side, Option<Rate>),
    /// What was changed, and by whom.
    History,
    /// Follow the file; or say what would change.
    Reload { dry_run: bool },
    /// What circuits have counted.
    Circuits(Option<String>, circuits::Wanted),
    /// Who sends most below each site, so many of each.
    Talkers(Option<String>, usize),
    /// Show frames.
    Capture(Option<String>, Wanted),
    /// What `sojourn ctl verify` judges.
    Verify(Option<String>),
    /// What `sojourn top` shows.
    Top(Option<String>, top::Wanted),
}

/// What becomes of a request.
pub(crate) enum Done {
    /// The answer to it.
    Answer(Value),
    /// The connection has another use from now on.
    TakenOver,
}

/// Why a request is not done.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error(transparent)]
    Change(#[from] ChangeError),
    #[error(transparent)]
    Reload(#[from] ReloadError),
    #[error("the connection: {0}")]
    Connection(#[from] std::io::Error),
}

impl Request {
    /// Whether it takes files, which may take their time.
    pub(crate) const fn takes_files(&self) -> bool {
        matches!(self, Self::Reload { .. })
    }

    /// Has it done for somebody at the other end of `stream`, and says what came of it.
    pub(crate) fn answer(self, by: &str, fleet: &Arc<Fleet>, stream: &UnixStream) -> Done {
        let done = self.carry_out(by, fleet, stream);
        done.unwrap_or_else(|error| Done::Answer(refusal(&error)))
    }

    fn carry_out(self, by: &str, fleet: &Arc<Fleet>, stream: &UnixStream) -> Result<Done, Refused> {
        Ok(Done::Answer(match self {
            Self::Stats(pair) => {
                let said = fleet.snapshots(pair.as_deref())?;
                let stats = said.into_iter().map(|said| {
                    let mut stats = said.snapshot.map_or_else(
                        |error| json!({"error": error.to_string()}),
                        |snapshot| snapshot.json(),
                    );
                    stats["fail_open"] = fail_open(&said.fail_open);
                    (said.name, stats)
                });
                json!({"ok": true, "stats": stats.collect::<Map<_, _>>()})
            }
            Self::Text(pair) => json!({"ok": true, "text": fleet.text_of(pair.as_deref())?}),
            Self::Change(pair, side, words) => {
                fleet.change_queue(by, pair.as_deref(), side, &words)?
            }
            Self::Rate(pair, side, rate) => fleet.change_rate(by, pair.as_deref(), side, rate)?,
            Self::History => json!({"ok": true, "history": fleet.all_history()}),
            Self::Reload { dry_run } => {
                json!({"ok": true, "dry_run": dry_run, "changes": fleet.reload(by, dry_run)?})
            }
            Self::Circuits(pair, wanted) => fleet.circuits(pair.as_deref(), wanted)?,
            Self::Talkers(pair, most) => fleet.talkers(pair.as_deref(), most)?,
            Self::Verify(pair) => fleet.look(pair.as_deref())?,
            Self::Top(pair, wanted) => fleet.top(pair.as_deref(), wanted)?,
            Self::Capture(pair, wanted) => {
                fleet.capture(by, pair.as_deref(), wanted, stream.try_clone()?)?;
                return Ok(Done::TakenOver);
            }
        }))
    }
}

/// What happens to a link when the process dies, for programs.
pub(crate) fn fail_open(state: &FailOpenState) -> Value {
    json!({
        "ready": state.ready,
        "well": state.well,
        "text": state.text,
        "repairs": state.repairs,
    })
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
    #[error(
        "`{0}` is not a command; there are stats, text, change, replace, rate, history, reload, \
         circuits, talkers, capture, verify and top"
    )]
    Command(String),
    #[error("`dry_run` is true or false; in words it is `reload dry-run`")]
    DryRun,
    #[error(
        "unknown place `{0}`; available: {places}",
        places = CapturePlace::WORDS.join(", ")
    )]
    Place(String),
    #[error(
        "`places` is a list of one or more of {places}",
        places = CapturePlace::WORDS.join(", ")
    )]
    Places,
    #[error("`{0}` is a whole number from 1 to {1}")]
    Number(&'static str, u64),
    #[error("`first` is a whole number from 0")]
    First,
    #[error("`order` is one of {}", Order::WORDS.join(", "))]
    Order,
    #[error("`duration`: {0}")]
    Duration(UnitError),
    #[error("`tc` is true or false")]
    Tc,
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
        command @ ("change" | "replace") => {
            let as_tc = match &object["tc"] {
                Value::Null => Some(false),
                as_tc => as_tc.as_bool(),
            };
            let words = Words {
                text: field("spec")?.to_owned(),
                replaces: command == "replace",
                as_tc: as_tc.ok_or(Wrong::Tc)?,
            };
            Ok(Request::Change(pair, side()?, words))
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
        "capture" => Ok(Request::Capture(pair, wanted(&object)?)),
        "circuits" => Ok(Request::Circuits(pair, counted(&object)?)),
        "talkers" => {
            let count = number(&object, "count", talkers::MOST)?
                .map_or(talkers::USUAL, |count| count as usize);
            Ok(Request::Talkers(pair, count))
        }
        "verify" => Ok(Request::Verify(pair)),
        "top" => Ok(Request::Top(pair, looked_at(&object)?)),
        other => Err(Wrong::Command(other.to_owned())),
    }
}

/// A number of an object, if it is there.
fn number(object: &Value, name: &'static str, most: u64) -> Result<Option<u64>, Wrong> {
    let Some(value) = object.get(name).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let number = value.as_u64().filter(|number| (1..=most).contains(number));
    number.map(Some).ok_or(Wrong::Number(name, most))
}

/// Which circuits are wanted.
fn counted(object: &Value) -> Result<circuits::Wanted, Wrong> {
    let mut wanted = circuits::Wanted::default();
    if let Some(count) = number(object, "count", circuits::MOST)? {
        wanted.count = count as u32;
    }
    match object.get("first") {
        None | Some(Value::Null) => {}
        Some(first) => {
            let first = first.as_u64().and_then(|first| u32::try_from(first).ok());
            wanted.first = first.ok_or(Wrong::First)?;
        }
    }
    Ok(wanted)
}

/// What is to be shown.
fn looked_at(object: &Value) -> Result<top::Wanted, Wrong> {
    let mut wanted = top::Wanted::default();
    if let Some(flows) = number(object, "flows", top::MOST)? {
        wanted.flows = flows as usize;
    }
    if object["order"] != Value::Null {
        let order = object["order"].as_str().and_then(Order::find);
        wanted.order = order.ok_or(Wrong::Order)?;
    }
    Ok(wanted)
}

/// What is to be captured.
fn wanted(object: &Value) -> Result<Wanted, Wrong> {
    let mut wanted = Wanted::default();
    let number = |name, most| number(object, name, most);
    if object["places"] != Value::Null {
        let words = object["places"].as_array().ok_or(Wrong::Places)?;
        let place = |word: &Value| {
            let word = word.as_str().ok_or(Wrong::Places)?;
            CapturePlace::find(word).ok_or_else(|| Wrong::Place(word.to_owned()))
        };
        wanted.places.clear();
        for word in words {
            let place = place(word)?;
            if !wanted.places.contains(&place) {
                wanted.places.push(place);
            }
        }
        if wanted.places.is_empty() {
            return Err(Wrong::Places);
        }
    }
    if let Some(bytes) = number("snap_len", CAPTURED as u64)? {
        wanted.snap_len = bytes as u32;
    }
    wanted.frames = number("frames", u64::MAX)?;
    wanted.duration = match &object["duration"] {
        Value::Null => None,
        value => {
            let text = value.as_str().ok_or(Wrong::Missing("duration"))?;
            Some(parse_span(text).map_err(Wrong::Duration)?)
        }
    };
    Ok(wanted)
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
        "change" | "replace" | "rate" => {
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
        let codel = |replaces| Words {
            text: "codel limit 100".into(),
            replaces,
            as_tc: false,
        };
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
                "capture wan",
                r#"{"command":"capture","pair":"wan","places":["left","right"],"snap_len":192}"#,
                Request::Capture(Some("wan".into()), Wanted::default()),
            ),
            (
                "circuits wan",
                r#"{"command":"circuits","pair":"wan","first":0,"count":100}"#,
                Request::Circuits(Some("wan".into()), circuits::Wanted::default()),
            ),
            (
                "verify wan",
                r#"{"command":"verify","pair":"wan"}"#,
                Request::Verify(Some("wan".into())),
            ),
            (
                "top",
                r#"{"command":"top","flows":20,"order":"rate"}"#,
                Request::Top(None, top::Wanted::default()),
            ),
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
                Request::Change(None, Side::Up, codel(false)),
            ),
            (
                "replace wan up codel limit 100",
                r#"{"command":"replace","pair":"wan","side":"up","spec":"codel limit 100"}"#,
                Request::Change(Some("wan".into()), Side::Up, codel(true)),
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
    fn a_site_has_three_talkers_or_so_many_as_are_asked_for() {
        let wan = || Some("wan".to_owned());
        assert_eq!(parse("talkers wan").unwrap(), Request::Talkers(wan(), 3));
        let seven = parse(r#"{"command":"talkers","pair":"wan","count":7}"#);
        assert_eq!(seven.unwrap(), Request::Talkers(wan(), 7));
        let wrong = parse(r#"{"command":"talkers","count":0}"#).expect_err("none");
        let expected = "`count` is a whole number from 1 to 100";
        assert_eq!(wrong.to_string(), expected);
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
            (
                r#"{"command":"change","side":"up","spec":"codel","tc":1}"#,
                "`tc` is true or false",
            ),
            ("{", "not JSON"),
            ("{}", "`command` is missing"),
            (r#"{"command":1}"#, "`command` is missing or not a text"),
            (
                r#"{"command":"capture","places":[]}"#,
                "one or more of left,",
            ),
            (
                r#"{"command":"capture","places":["in"]}"#,
                "unknown place `in`; available: left, right, up:in, up, down:in, down",
            ),
            (
                r#"{"command":"capture","snap_len":257}"#,
                "`snap_len` is a whole number from 1 to 256",
            ),
            (
                r#"{"command":"circuits","first":-1}"#,
                "`first` is a whole number from 0",
            ),
            (
                r#"{"command":"circuits","count":101}"#,
                "`count` is a whole number from 1 to 100",
            ),
            (
                r#"{"command":"capture","frames":0}"#,
                "`frames` is a whole number from 1",
            ),
            (
                r#"{"command":"capture","duration":"5"}"#,
                "`duration`: `5` needs a unit",
            ),
        ] {
            let error = parse(request).unwrap_err().to_string();
            assert!(error.contains(part), "{request}: {error}");
        }
    }
}
