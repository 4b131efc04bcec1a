//! Control of a running bridge: a Unix socket with a request and an answer a line.
//!
//! A request is a JSON object, or the same in words:
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
use super::error::{BridgeError, Doing};
use serde_json::{Value, json};
use sojourn_qdisc::{Spec, SpecError};
use sojourn_units::{Rate, UnitError, parse_rate};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Most connections at once.
const CLIENTS: usize = 16;
/// Longest request.
const LONGEST_LINE: usize = 64 << 10;

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

/// The socket and who is connected to it.
#[derive(Debug)]
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    stream: UnixStream,
    line: Vec<u8>,
}

impl Control {
    /// Listens at `path`. A socket file that nobody listens at is a dead one's, and is replaced.
    pub(crate) fn listen(path: &Path) -> Result<Self, BridgeError> {
        let listener = Self::bind(path).doing(&format!("listen at `{}`", path.display()))?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            clients: Vec::new(),
        })
    }

    fn bind(path: &Path) -> io::Result<UnixListener> {
        let is = |kind| move |error: &io::Error| error.kind() == kind;
        let mut bound = UnixListener::bind(path);
        if bound.as_ref().is_err_and(is(ErrorKind::AddrInUse))
            && UnixStream::connect(path).is_err_and(|e| is(ErrorKind::ConnectionRefused)(&e))
        {
            std::fs::remove_file(path)?;
            bound = UnixListener::bind(path);
        }
        bound.and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
    }

    /// What becomes readable when there is something to serve.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let clients = self.clients.iter().map(|client| client.stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(clients)
    }

    /// Answers what has been asked, without waiting for anybody.
    pub(crate) fn serve(&mut self, mut answer: impl FnMut(Request) -> Value) {
        while let Ok((stream, _)) = self.listener.accept() {
            // One too many is hung up on by dropping it.
            if self.clients.len() < CLIENTS && stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client {
                    stream,
                    line: Vec::new(),
                });
            }
        }
        self.clients.retain_mut(|client| client.serve(&mut answer));
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Client {
    /// Returns whether the connection goes on.
    fn serve(&mut self, answer: &mut impl FnMut(Request) -> Value) -> bool {
        let mut buffer = [0; 4096];
        let open = match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(len) => {
                self.line.extend(&buffer[..len]);
                true
            }
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        };
        if !open && !self.line.is_empty() {
            self.line.push(b'\n');
        }
        while let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.line.drain(..=end).collect();
            let text = String::from_utf8_lossy(&line);
            if text.trim().is_empty() {
                continue;
            }
            let reply = match parse(text.trim()) {
                Ok(request) => answer(request),
                Err(error) => json!({"ok": false, "error": error.to_string()}),
            };
            // Who does not read is hung up on: the link must not wait for anybody.
            if writeln!(self.stream, "{reply}").is_err() {
                return false;
            }
        }
        open && self.line.len() <= LONGEST_LINE
    }
}

/// What is wrong with a request.
#[derive(Debug, thiserror::Error)]
enum Wrong {
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
fn parse(text: &str) -> Result<Request, Wrong> {
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
