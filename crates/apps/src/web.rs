//! Web pages: a document, then its objects over several connections at once, then a pause.
//!
//! Connections are opened with the flow and stay open, one request at a time on each, as browsers
//! use HTTP/1.1 (six per server since 2008). Sizes are log-normal with σ = 1.25, which gives
//! the heavy tail that Barford and Crovella 1998 and later surveys found; defaults follow
//! the HTTP Archive's median page of 2 MB in 70 objects.
//! Not here: names, TLS, caches, several servers, HTTP/2 streams.

use crate::model::ends;
use crate::{App, Ends, Input, Kind, Message, Metric, Model, Port, Transport};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// Bytes of a request, and of an answer's head.
const REQUEST: u32 = 400;
const HEAD: u32 = 300;
/// Shape of the objects' sizes.
const SIGMA: f64 = 1.25;
/// No object is smaller, and none is larger than so many times the mean.
const SMALLEST: f64 = 100.0;
const LARGEST: f64 = 50.0;

/// What pages are like. By default as the HTTP Archive's median page: 70 objects of 30 kB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Web {
    /// Objects of a page, its document included, 1 to [`Web::MOST_OBJECTS`].
    pub objects: u32,
    /// Mean size of an object in bytes, 1 to [`Web::MOST_SIZE`].
    pub mean_size: u32,
    /// Connections, 1 to [`Web::MOST_CONNECTIONS`].
    pub connections: u8,
    /// From the end of a page to the next.
    pub pause: Span,
}

impl Web {
    /// Most objects of a page.
    pub const MOST_OBJECTS: u32 = 10_000;
    /// Largest mean size of an object in bytes.
    pub const MOST_SIZE: u32 = 10_000_000;
    /// Most connections.
    pub const MOST_CONNECTIONS: u8 = 64;
}

impl Default for Web {
    fn default() -> Self {
        Self {
            objects: 70,
            mean_size: 30_000,
            connections: 6,
            pause: Span::from_secs(5),
        }
    }
}

impl Model for Web {
    const KIND: Kind = Kind {
        second_opens: true,
        has_messages: true,
        metrics: &[Metric::PageLoadMs, Metric::ObjectMs],
        ..Kind::new(
            "web",
            "pages over several connections",
            Some(Transport::Tcp),
        )
    };

    fn build(&self, dice: Stream) -> Ends {
        ends(WebServer, Browser::new(*self, dice))
    }

    fn connections(&self) -> u8 {
        self.connections.max(1)
    }
}

/// The end that asks.
#[derive(Clone, Debug)]
struct Browser {
    pages: Web,
    dice: Stream,
    /// When the object on each connection was asked for; none: idle. Closed ones are not idle.
    asked: Vec<Option<Time>>,
    open: Vec<bool>,
    /// Objects of this page still to be asked for, and not yet here.
    to_ask: u32,
    missing: u32,
    began: Time,
    next_page: Option<Time>,
}

impl Browser {
    /// Looks at `pages`, with sizes from `dice`.
    fn new(pages: Web, dice: Stream) -> Self {
        let connections = usize::from(pages.connections.max(1));
        Self {
            pages,
            dice,
            asked: vec![None; connections],
            open: vec![false; connections],
            to_ask: 0,
            missing: 0,
            began: Time::ZERO,
            next_page: None,
        }
    }

    fn size(&mut self) -> u32 {
        let mean = f64::from(self.pages.mean_size);
        let size = mean * libm::exp(SIGMA * self.dice.normal() - SIGMA * SIGMA / 2.0);
        size.clamp(SMALLEST, (LARGEST * mean).max(SMALLEST)) as u32
    }

    fn begin(&mut self, now: Time, port: &mut dyn Port) {
        self.next_page = None;
        self.began = now;
        self.to_ask = self.pages.objects.max(1);
        self.missing = self.to_ask;
        // The document names the others: it comes alone.
        self.ask(0, now, port);
    }

    fn ask(&mut self, connection: usize, now: Time, port: &mut dyn Port) {
        let size = self.size();
        self.to_ask -= 1;
        self.asked[connection] = Some(now);
        port.message(connection as u8, Message::new(size.into(), REQUEST));
    }

    /// Gives every idle connection something to fetch.
    fn ask_more(&mut self, now: Time, port: &mut dyn Port) {
        if self.missing == self.pages.objects.max(1) {
            return; // the document is still on its way, or there is no page yet
        }
        for connection in 0..self.asked.len() {
            if self.to_ask > 0 && self.open[connection] && self.asked[connection].is_none() {
                self.ask(connection, now, port);
            }
        }
    }

    fn arrived(&mut self, connection: u8, now: Time, port: &mut dyn Port) {
        let asked = self.asked.get_mut(usize::from(connection));
        let Some(since) = asked.and_then(Option::take) else {
            return; // nothing was asked for
        };
        port.observe(Metric::ObjectMs, (now - since).as_millis_f64());
        self.missing -= 1;
        if self.missing == 0 {
            port.observe(Metric::PageLoadMs, (now - self.began).as_millis_f64());
            let next = now + self.pages.pause;
            self.next_page = Some(next);
            port.wake_at(next);
        } else {
            self.ask_more(now, port);
        }
    }
}

impl App for Browser {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => {
                self.open[0] = true;
                self.begin(now, port);
            }
            Input::Open(connection) => {
                if let Some(open) = self.open.get_mut(usize::from(connection)) {
                    *open = true;
                    self.ask_more(now, port);
                }
            }
            Input::Message { connection, .. } => self.arrived(connection, now, port),
            Input::Timer if self.next_page.is_some_and(|at| now >= at) => self.begin(now, port),
            _ => {}
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}

/// The end that answers: with as many bytes as the request asks for.
#[derive(Clone, Copy, Debug)]
struct WebServer;

impl App for WebServer {
    fn handle(&mut self, input: Input, _now: Time, port: &mut dyn Port) {
        if let Input::Message {
            connection,
            message,
        } = input
        {
            let size = u32::try_from(message.tag).unwrap_or(u32::MAX);
            let answer = Message::new(message.tag, size.saturating_add(HEAD));
            port.message(connection, answer);
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(*self))
    }
}

#[cfg(test)]
mod tests;
