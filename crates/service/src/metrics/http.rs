//! A server for one page: `GET /metrics`, and nothing else of HTTP.
//!
//! A connection has a thread, a deadline and one request. There are few at a time, and one more
//! takes the place of the oldest: first of those that have not asked yet, so that clients that say
//! nothing keep nobody out. RFC 9112 is followed as far as Prometheus and curl go: a request line,
//! headers up to an empty line, an answer with its length, and the end of the connection.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Most connections at a time.
const CLIENTS: usize = 32;
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
    let clients = Arc::new(Clients::default());
    loop {
        let Ok((mut stream, _)) = listener.accept() else {
            // Too many open files, most likely: it does not pass at once.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let Ok(turn) = Turn::take(&clients, &stream) else {
            continue;
        };
        let page = Arc::clone(page);
        let client = thread::Builder::new().name("scrape".into()).spawn(move || {
            let wrong = || Response {
                status: "400 Bad Request",
                content_type: "text/plain; charset=utf-8",
                body: "not a request\n".to_owned(),
            };
            // A client that goes away has its answer, or wants none.
            let _ = read(&mut stream).and_then(|request| {
                turn.has_asked();
                let response = request.map_or_else(wrong, |request| page(&request));
                answer(&mut stream, &response)
            });
            drop(turn);
        });
        // Without a thread there is no answer.
        drop(client);
    }
}

/// A connection, by its number, and whether it has asked.
type Known = (u64, bool, TcpStream);

/// Those that there are, and how many there have been.
#[derive(Default)]
struct Clients(Mutex<(u64, Vec<Known>)>);

impl Clients {
    fn known(&self) -> MutexGuard<'_, (u64, Vec<Known>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the connections.
struct Turn {
    clients: Arc<Clients>,
    number: u64,
}

impl Turn {
    /// Hangs up on another one if there are too many.
    fn take(clients: &Arc<Clients>, stream: &TcpStream) -> io::Result<Self> {
        let stream = stream.try_clone()?;
        let mut known = clients.known();
        let (count, all) = &mut *known;
        if all.len() >= CLIENTS {
            let oldest = (0..all.len()).min_by_key(|&at| (all[at].1, all[at].0));
            if let Some(at) = oldest {
                let _ = all.swap_remove(at).2.shutdown(Shutdown::Both);
            }
        }
        *count += 1;
        all.push((*count, false, stream));
        Ok(Self {
            clients: Arc::clone(clients),
            number: *count,
        })
    }

    fn has_asked(&self) {
        let mut known = self.clients.known();
        if let Some(own) = known.1.iter_mut().find(|it| it.0 == self.number) {
            own.1 = true;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.clients.known().1.retain(|it| it.0 != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However many connect and say nothing, who asks is answered.
    #[test]
    fn silent_clients_keep_nobody_out() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("it has one");
        thread::spawn(move || {
            let page = |_: &Request| Response {
                status: "200 OK",
                content_type: "text/plain",
                body: "here".into(),
            };
            serve(&listener, &(Arc::new(page) as _))
        });
        let connect = || TcpStream::connect(address).expect("it listens");
        let _silent: Vec<_> = (0..2 * CLIENTS).map(|_| connect()).collect();
        let mut client = connect();
        client
            .write_all(b"GET / HTTP/1.1\r\n\r\n")
            .expect("it is sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("it answers");
        assert!(answer.ends_with("here"), "{answer}");
    }

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
