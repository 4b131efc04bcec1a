//! dash.js 2.0.0 of 2016: a player that gives up chunks that come too slowly.
//! Source: its FragmentLoader, ScheduleController, AbrController, ThroughputRule,
//! AbandonRequestsRule, BufferOccupancyRule and BufferController, at their defaults.
//!
//! - A chunk is asked for with the choice made before it; only then do the rules choose for the
//!   next one. A buffer at its target is looked at again after a second; each header that was
//!   fetched leaves one more such look behind.
//! - ThroughputRule: the plain mean of the last three chunks, each from its first progress event to
//!   its last byte, times 0.9. The highest rate below that. A chunk that is whole at its first
//!   progress event, 50 ms after its first byte, counts from its request.
//! - AbandonRequestsRule: at each progress event from half a second after the first one on, a chunk
//!   whose rate so far would take 1.5 times its playing time is given up when nine tenths of that
//!   rate are a lower choice. Its connection is broken off, and the chunk asked for again at that
//!   choice over another one. For ten seconds no rule chooses; no chunk is looked at twice.
//! - BufferOccupancyRule: with more than 20 s in the buffer the highest rate.
//! - The first chunk of a rate waits for the rate's header, which is asked for when the chunk is
//!   there. What was measured before is then forgotten: the rules see the header.
//!
//! Not here: the InsufficientBufferRule, which acts on an empty buffer alone, while requests
//! follow a chunk; buffers of long videos (60 s from ten minutes on).

use super::manifest::{ChunkName, Manifest};
use super::player::Viewing;
use super::playout::{Fetched, Playout};
use super::server::HEAD;
use crate::{App, Input, Message, Port};
use alloc::boxed::Box;
use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// Bytes of a request.
const REQUEST: u32 = 350;
/// The first choice is the highest below this (`DEFAULT_VIDEO_BITRATE`).
const FIRST_BPS: f64 = 1e6;
/// Share of a measured rate that is trusted (`BANDWIDTH_SAFETY_FACTOR`).
const SAFETY: f64 = 0.9;
/// Chunks that count (`AVERAGE_THROUGHPUT_SAMPLE_AMOUNT_VOD`).
const SAMPLES: usize = 3;
/// Between two looks at a full buffer.
const POLL: Span = Span::from_secs(1);
/// A chunk is given time from its first progress event (`GRACE_TIME_THRESHOLD`).
const GRACE: Span = Span::from_millis(500);
/// So many playing times are too long for a chunk (`ABANDON_MULTIPLIER`).
const TOO_LONG: f64 = 1.5;
/// No rule chooses for so long (`ABANDON_LOAD_TIMEOUT`).
const HOLD: Span = Span::from_secs(10);
/// More in the buffer means the highest rate (`RICH_BUFFER_THRESHOLD`).
const RICH: Span = Span::from_secs(20);
/// Between two progress events of a request, and from the first byte to the first one: what comes
/// at once is one event (XMLHttpRequest standard, section 3.5.6).
const PROGRESS: Span = Span::from_millis(50);

/// Connections: the first, and one for each chunk that may be given up.
pub(super) const CONNECTIONS: u8 = 64;

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    chunk: ChunkName,
    asked: Time,
    /// When the first progress event is due: a while after the first byte.
    first: Option<Time>,
    /// The last progress event.
    progress: Time,
    /// Bytes that have arrived, the answer's head included.
    loaded: u64,
}

/// The player's end of a DASH flow.
#[derive(Clone, Debug)]
pub(super) struct Player {
    viewing: Viewing,
    playout: Playout,
    /// The choice for the next request.
    quality: usize,
    /// Rates of chunks in bit/s, the last one last.
    samples: Vec<f64>,
    /// What the last chunk has measured, until the rules look at it.
    measured: Option<f64>,
    /// Until then no rule chooses.
    held: Time,
    fetch: Option<Fetch>,
    /// The chunk under way is not given up any more.
    spared: bool,
    /// The rate of a chunk that waits for its header, and how long the chunk took.
    waits: Option<(usize, Span)>,
    /// Whose headers are there.
    headers: Vec<bool>,
    number: usize,
    /// The connection in use.
    connection: u8,
    /// Looks at the buffer that are planned.
    looks: Vec<Time>,
}

/// The highest representation below `bps`, the lowest when there is none (`getQualityForBitrate`).
fn below(manifest: &Manifest, bps: f64) -> usize {
    let fits = |rate: &sojourn_units::Rate| (rate.as_bps() as f64) < bps;
    manifest.rates().iter().rposition(fits).unwrap_or(0)
}

impl Player {
    /// Watches a video.
    pub(super) fn new(viewing: Viewing) -> Self {
        let quality = below(&viewing.manifest, FIRST_BPS);
        let headers = alloc::vec![false; viewing.manifest.rates().len()];
        Self {
            playout: Playout::new(viewing.prefill),
            viewing,
            quality,
            samples: Vec::with_capacity(SAMPLES + 1),
            measured: None,
            held: Time::ZERO,
            fetch: None,
            spared: false,
            waits: None,
            headers,
            number: 0,
            connection: 0,
            looks: Vec::new(),
        }
    }

    fn top(&self) -> usize {
        self.viewing.manifest.rates().len() - 1
    }

    /// Looks whether the buffer wants a chunk: if so asks for one, then lets the rules choose.
    fn look(&mut self, now: Time, port: &mut dyn Port) {
        let target = if self.quality == self.top() {
            self.viewing.buffer.max(self.viewing.buffer_at_top)
        } else {
            self.viewing.buffer
        };
        let busy = self.fetch.is_some() || self.waits.is_some();
        if busy || self.playout.buffer >= target {
            self.looks.push(now + POLL);
            return;
        }
        self.spared = false;
        self.ask(self.quality, self.number, now);
        self.send(port);
        self.choose(now);
    }

    fn ask(&mut self, representation: usize, number: usize, now: Time) {
        self.fetch = Some(Fetch {
            chunk: ChunkName {
                representation,
                number,
            },
            asked: now,
            first: None,
            progress: now,
            loaded: 0,
        });
    }

    fn send(&self, port: &mut dyn Port) {
        if let Some(fetch) = &self.fetch {
            port.message(self.connection, Message::new(fetch.chunk.tag(), REQUEST));
        }
    }

    /// The rules choose for the next request.
    fn choose(&mut self, now: Time) {
        let Some(measured) = self.measured.take() else {
            // The last answer was a header's, or there was none.
            self.enrich(now);
            return;
        };
        if self.samples.last() != Some(&measured) {
            self.samples.push(measured);
        }
        let surplus = self.samples.len().saturating_sub(SAMPLES);
        self.samples.drain(..surplus);
        if now >= self.held {
            let mean = self.samples.iter().sum::<f64>() / self.samples.len() as f64;
            self.quality = below(&self.viewing.manifest, SAFETY * mean);
        }
        self.enrich(now);
    }

    fn enrich(&mut self, now: Time) {
        if now >= self.held && self.playout.buffer > RICH {
            self.quality = self.top();
        }
    }

    /// Bytes have arrived: a progress event, unless the last one was just now.
    fn progress(&mut self, bytes: u64, now: Time, port: &mut dyn Port) {
        let Some(fetch) = &mut self.fetch else {
            return;
        };
        fetch.loaded += bytes;
        let first = *fetch.first.get_or_insert(now + PROGRESS);
        let next = first.max(fetch.progress + PROGRESS);
        if fetch.chunk.is_header() || self.spared || now < next {
            return;
        }
        fetch.progress = now;
        let manifest = &self.viewing.manifest;
        let size = manifest.size(fetch.chunk.representation, fetch.chunk.number);
        let size = f64::from(size.unwrap_or(0));
        let loaded = fetch.loaded.saturating_sub(HEAD.into()) as f64;
        if now - first < GRACE || loaded >= size || self.quality == 0 {
            return;
        }
        let bps = loaded * 8.0 / (now - first).as_secs_f64();
        if size * 8.0 < TOO_LONG * manifest.chunk().as_secs_f64() * bps {
            return;
        }
        self.spared = true;
        let choice = below(manifest, SAFETY * bps);
        if choice < self.quality && self.connection + 1 < CONNECTIONS {
            self.give_up(choice, now, port);
        }
    }

    /// Breaks the request off and asks for the same chunk at another rate, over another connection.
    fn give_up(&mut self, choice: usize, now: Time, port: &mut dyn Port) {
        port.abort(self.connection);
        self.connection += 1;
        self.quality = choice;
        if now >= self.held {
            self.held = now + HOLD;
        }
        self.ask(choice, self.number, now);
        port.open(self.connection);
    }

    /// An answer is complete.
    fn arrived(&mut self, message: Message, now: Time, port: &mut dyn Port) {
        let expected = |fetch: &Fetch| fetch.chunk.tag() == message.tag;
        let Some(fetch) = self.fetch.take_if(|fetch| expected(fetch)) else {
            return; // an answer to nothing
        };
        let representation = fetch.chunk.representation;
        if fetch.chunk.is_header() {
            self.headers[representation] = true;
            self.measured = None;
            match self.waits.take() {
                Some((waiting, took)) => {
                    // The header in the buffer has it looked at too, while the chunk follows.
                    self.looks.push(now + POLL);
                    self.append(waiting, took, now, port);
                }
                None => self.look(now, port),
            }
            return;
        }
        let took = now - fetch.asked;
        let size = self.viewing.manifest.size(representation, self.number);
        let begun = fetch.first.filter(|first| *first < now);
        let seconds = (now - begun.unwrap_or(fetch.asked)).as_secs_f64();
        let bits = f64::from(size.unwrap_or(0)) * 8.0;
        self.measured = (bits > 0.0).then(|| bits / seconds.max(0.001));
        if self.headers[representation] {
            self.append(representation, took, now, port);
        } else {
            self.waits = Some((representation, took));
            self.ask(representation, ChunkName::HEADER, now);
            self.send(port);
        }
    }

    /// The next chunk goes into the buffer.
    fn append(&mut self, representation: usize, took: Span, now: Time, port: &mut dyn Port) {
        let manifest = &self.viewing.manifest;
        let chunk = Fetched {
            length: manifest.chunk(),
            rate: manifest.rates()[representation],
            bytes: manifest.size(representation, self.number).unwrap_or(0),
            took,
        };
        self.playout.add(&chunk, port);
        self.number += 1;
        self.look(now, port);
    }

    /// Does what is due, and asks to be woken for the next.
    fn go_on(&mut self, now: Time, port: &mut dyn Port) {
        let due = self.looks.iter().filter(|at| **at <= now).count();
        self.looks.retain(|at| *at > now);
        for _ in 0..due {
            self.look(now, port);
        }
        let next = self.looks.iter().min().copied().unwrap_or(Time::MAX);
        port.wake_at(self.playout.look_at(now).min(next));
    }
}

impl App for Player {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => {
                self.playout.start(now);
                self.ask(self.quality, ChunkName::HEADER, now);
                self.send(port);
            }
            Input::Open(connection) if connection == self.connection => {
                self.send(port);
                return;
            }
            Input::Delivered(bytes) => {
                self.progress(bytes, now, port);
                return;
            }
            Input::Message { message, .. } => {
                self.playout.play(now, port);
                self.arrived(message, now, port);
            }
            Input::Timer => self.playout.play(now, port),
            _ => return,
        }
        self.go_on(now, port);
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}
