//! A server for one page: `GET /metrics`, and nothing else of HTTP.
//!
//! A connection has a thread, a deadline and one request; there are few at a time, and one more is
//! hung up on. RFC 9112 is followed as far as Prometheus and curl go: a request line, headers up to
//! an empty line, an answer with its length, and the end of the connection.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Most connections at a time.
const CLIENTS: usize = 8;
/// Longest request.
const LONGEST: usize = 16 << 10;
/// How long a client may take to ask, and as long again to read.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// The `Accept` header, empty without one.
    pub(super) accept: String,
}

/// What is said.
pub(super) struct Response {
    pub(super) status: &'static str,
    pub(super) content_type: &'static str,
    pub(super) body: String,
}

impl Request {
    /// Reads the head of a request; none while its end has not come, or when it is no request.
    fn parse(head: &[u8]) -> Option<Self> {
        let text = str::from_utf8(head).ok()?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if !version.starts_with("HTTP/1.") || words.next().is_some() {
            return None;
        }
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("accept")
                .then(|| value.trim().to_owned())
        };
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        Some(Self {
            method: method.to_owned(),
            path: path.to_owned(),
            accept: lines.find_map(header).unwrap_or_default(),
        })
    }
}

/// Reads a request, for as long as it may take.
fn read(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let end = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    while head.len() < LONGEST {
        let left = end.saturating_duration_since(Instant::now());
        // Zero would be for ever.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut buffer)? {
            0 => break,
            len => head.extend(&buffer[..len]),
        }
        if let Some(at) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            return Ok(Request::parse(&head[..at]));
        }
        if left.is_zero() {
            break;
        }
    }
    Ok(None)
}

fn answer(stream: &mut TcpStream, response: &Response) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let Response {
        status,
        content_type,
        body,
    } = response;
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Answers to the end of the process.
pub(super) fn serve(
    listener: &TcpListener,
    page: &Arc<dyn Fn(&Request) -> Response + Send + Sync>,
) -> ! {
    let busy = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((mut stream, _)) = listener.accept() else {
            // Too many open files, most likely: it does not pass at once.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if busy.load(Ordering::Relaxed) >= CLIENTS {
            continue;
        }
        let (page, turn) = (Arc::clone(page), Turn::take(&busy));
        let client = thread::Builder::new().name("scrape".into());
        let client = client.spawn(move || {
            let wrong = || Response {
                status: "400 Bad Request",
                content_type: "text/plain; charset=utf-8",
                body: "not a request\n".to_owned(),
            };
            // A client that goes away has its answer, or wants none.
            let _ = read(&mut stream).and_then(|request| {
                let response = request.map_or_else(wrong, |request| page(&request));
                answer(&mut stream, &response)
            });
            drop(turn);
        });
        // Without a thread there is no answer.
        drop(client);
    }
}

/// One of the connections at a time.
struct Turn(Arc<AtomicUsize>);

impl Turn {
    fn take(busy: &Arc<AtomicUsize>) -> Self {
        busy.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(busy))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<(String, String, String)> {
        let request = Request::parse(text.as_bytes())?;
        Some((request.method, request.path, request.accept))
    }

    #[test]
    fn requests_are_read_as_rfc_9112_has_them() {
        let own = |a: &str, b: &str, c: &str| Some((a.to_owned(), b.to_owned(), c.to_owned()));
        let text = "GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nACCEPT:  text/plain;q=0.5 ";
        assert_eq!(parse(text), own("GET", "/metrics", "text/plain;q=0.5"));
        assert_eq!(parse("POST / HTTP/1.0"), own("POST", "/", ""));
        for wrong in [
            "",
            "GET /",
            "GET / HTTP/2",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1 x",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
