//! The server: answers each request with the chunk that it names.

use super::manifest::{ChunkName, Manifest};
use crate::{App, Input, Message, Port};
use alloc::boxed::Box;
use alloc::sync::Arc;
use sojourn_units::{Span, Time};

/// Bytes of an answer's head.
pub(super) const HEAD: u32 = 250;
/// Bytes of a representation's header.
const HEADER: u32 = 800;

/// A time in which the server is away: requests that come then are answered when it is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// From the flow's start to its beginning.
    pub after: Span,
    /// How long.
    pub lasts: Span,
}

/// The server's end of a DASH flow.
#[derive(Clone, Debug)]
pub(super) struct Server {
    manifest: Arc<Manifest>,
    outage: Option<Outage>,
    start: Time,
    /// The answer that waits for the end of the outage.
    owed: Option<(u8, Message)>,
}

impl Server {
    /// Has the chunks of `manifest`.
    pub(super) fn new(manifest: Arc<Manifest>, outage: Option<Outage>) -> Self {
        Self {
            manifest,
            outage,
            start: Time::ZERO,
            owed: None,
        }
    }

    /// When the server is back, if it is away now.
    fn back_at(&self, now: Time) -> Option<Time> {
        let outage = self.outage?;
        let from = self.start + outage.after;
        let to = from + outage.lasts;
        (now >= from && now < to).then_some(to)
    }
}

impl App for Server {
    fn handle(&mut self, input: Input, now: Time, port: &mut dyn Port) {
        match input {
            Input::Start => self.start = now,
            Input::Message {
                connection,
                message,
            } => {
                let chunk = ChunkName::of_tag(message.tag);
                // A chunk that does not exist is answered with a head alone.
                let size = if chunk.is_header() {
                    Some(HEADER)
                } else {
                    self.manifest.size(chunk.representation, chunk.number)
                };
                let bytes = size.unwrap_or(0).saturating_add(HEAD);
                let answer = Message::new(message.tag, bytes);
                match self.back_at(now) {
                    None => port.message(connection, answer),
                    Some(back) => {
                        self.owed = Some((connection, answer));
                        port.wake_at(back);
                    }
                }
            }
            Input::Timer if self.back_at(now).is_none() => {
                if let Some((connection, answer)) = self.owed.take() {
                    port.message(connection, answer);
                }
            }
            _ => {}
        }
    }

    fn fork(&self) -> Option<Box<dyn App>> {
        Some(Box::new(self.clone()))
    }
}
