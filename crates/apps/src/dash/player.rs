//! The player: asks for chunk after chunk, fills its buffer, plays from it, stalls when it is
//! empty.
//!
//! Buffer and schedule as dash.js: the next chunk is asked for when the one before is there and
//! the buffer is below its target, which is higher while the highest rate plays.

use super::bola::Bola;
use super::manifest::{ChunkName, Manifest};
use super::playout::{Fetched, Playout};
use super::throughput::Estimate;
use crate::{App, Input, Message, Port};
use alloc::boxed::Box;
use alloc::sync::Arc;
use sojourn_units::{Span, Time};

/// Bytes of a request.
const REQUEST: u32 = 350;
/// The first chunk's rate is the highest up to this (dash.js' `initialBitrate`).
const FIRST_BPS: f64 = 1e6;
/// How a player chooses among the representations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By the measured throughput.
    Throughput,
    /// By the playout buffer.
    Bola,
    /// By the measured throughput as dash.js 2.0.0, which gives up chunks that come too slowly.
    DashJs2,
}

impl Rule {
    /// The buffer that it chooses by unless told otherwise: dash.js' `stableBufferTime` (as in its
    /// versions 3 and 4), and BOLA's own.
    pub const fn buffer(self) -> Span {
        match self {
            Self::Throughput | Self::DashJs2 => Span::from_secs(12),
            Self::Bola => Span::from_secs(30),
        }
    }
}

/// How a video is watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Viewing {
    /// The video.
    pub manifest: Arc<Manifest>,
    /// How the player chooses.
    pub rule: Rule,
    /// Playing begins with so much in the buffer.
    pub prefill: Span,
    /// Below this the next chunk is asked for.
    pub buffer: Span,
    /// The same while the highest rate plays.
    pub buffer_at_top: Span,
}

impl Viewing {
    /// Pre-fill unless told otherwise.
    pub const PREFILL: Span = Span::from_secs(4);
    /// Buffer at the highest rate unless told otherwise: dash.js' `bufferTimeAtTopQuality`.
    pub const BUFFER_AT_TOP: Span = Span::from_secs(30);
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Fetch {
    chunk: ChunkName,
    asked: Time,
    first_byte: Option<Time>,
}

/// The player's end of a DASH flow.
#[derive(Clone, Debug)]
pub(super) struct Player {
    viewing: Viewing,
    estimate: Estimate,
    bola: Option<Bola>,
    playout: Playout,
    fetch: Option<Fetch>,
    /// When the next request is due.
    planned: Option<Time>,
    /// From here on the next request waits for the buffer, not for the rule.
    waits_since: Time,
    number: usize,
}

impl Player {
    /// Watches a video.
    pub(super) fn new(viewing: Viewing) -> Self {
        let bola = match viewing.rule {
            Rule::Bola => Bola::new(&viewing.manifest, viewing.buffer),
            Rule::Throughput | Rule::DashJs2 => None,
        };
        Self {
            playout: Playout::new(viewing.prefill),
            viewing,
            estimate: Estimate::default(),
            bola,
            fetch: None,
            planned: None,
            waits_since: Time::ZERO,
            number: 0,
        }
    }

    fn target(&self) -> Span {
        let top = self.viewing.manifest.rates().last().copied();
        if self.playout.last_rate.is_some() && self.playout.last_rate == top {
            self.viewing.buffer.max(self.viewing.buffer_at_top)
        } else {
            self.viewing.buffer
        }
    }

    /// Plans the next request: at once, or when the buffer has fallen below its target.
    fn plan(&mut self, now: Time) {
        // Before the playing begins nothing falls.
        let above = if self.playout.began && self.playout.buffer >= self.target() {
            self.playout.buffer - self.target() + Span::from_millis(1)
        } else {
            Span::ZERO
        };
        (self.waits_since, self.planned) = (now, Some(now + above));
    }

    /// Which chunk to ask for now, or how long to wait first.
    fn choose(&mut self, now: Time) -> (usize, Span) {
        let manifest = &self.viewing.manifest;
        let sustained = self
            .estimate
            .choose(manifest)
            .unwrap_or_else(|| manifest.fitting(FIRST_BPS));
        let Some(bola) = &mut self.bola else {
            return (sustained, Span::ZERO);
        };
        bola.waited(now - self.waits_since);
        let (choice, wait) = bola.choose(self.playout.buffer, manifest.chunk(), sustained);
        self.waits_since = now + wait;
        (choice, wait)
    }

    /// Asks for the next chunk if its time has come.
    fn go_on(&mut self, now: Time, port: &mut dyn Port) {
        if self.planned.is_none_or(|at| at > now) {
            return;
        }
        let (choice, wait) = self.choose(now);
        // A player that does not play would wait for ever.
        if wait.is_zero() || !self.playout.playing {
            self.ask(choice, now, port);
        } else {
            self.planned = Some(now + wait);
        }
    }

    fn ask(&mut self, representation: usize, now: Time, port: &mut dyn Port) {
        let chunk = ChunkName {
            representation,
            number: self.number,
        };
        self.planned = None;
        self.fetch = Some(Fetch {
            chunk,
            asked: now,
            first_byte: None,
        });
        port.message(0, Message::new(chunk.tag(), REQUEST));
    }

    /// A chunk is complete.
    fn arrived(&mut self, message: Message, now: Time, port: &mut dyn Port) {
        let expected = |fetch: &Fetch| fetch.chunk.tag() == message.tag;
        let Some(fetch) = self.fetch.take_if(|fetch| expected(fetch)) else {
            return; // an answer to nothing
        };
        let manifest = Arc::clone(&self.viewing.manifest);
        let index = fetch.chunk.representation;
        let size = manifest.size(index, fetch.chunk.number).unwrap_or(0);
        let took = now - fetch.asked;
        if size > 0 && !took.is_zero() {
            let first = fetch.first_byte.unwrap_or(now);
            self.estimate
                .add(size.into(), first - fetch.asked, now - first);
        }
        self.number += 1;
        let rate = manifest.rates()[index];
        let chunk = Fetched {
            length: manifest.chunk(),
            rate,
            bytes: size,
            took,
        };
        self.playout.add(&chunk, port);
    }

    /// Sets the timer to whatever comes first.
    fn rest(&mut self, now: Time, port: &mut dyn Port) {
        let next = self.planned.unwrap_or(Time::MAX);
        port.wake_at(self.playout.look_at(now).min(next));
    }
}

impl App for Player {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => {
                self.playout.start(now);
                self.plan(now);
            }
            Input::Delivered(_) => {
                if let Some(fetch) = &mut self.fetch {
                    fetch.first_byte.get_or_insert(now);
                }
                return;
            }
            Input::Message { message, .. } => {
                self.playout.play(now, port);
                self.arrived(message, now, port);
                if self.fetch.is_none() && self.planned.is_none() {
                    self.plan(now);
                }
            }
            Input::Timer => self.playout.play(now, port),
            _ => return,
        }
        self.go_on(now, port);
        self.rest(now, port);
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}
