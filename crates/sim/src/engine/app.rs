//! What apps hear, and what they want done.

use super::Engine;
use crate::host::{Endpoint, SimPort};
use sojourn_apps::{Input, Message, Wish};
use sojourn_tcp::Received;
use sojourn_units::Time;
use sojourn_world::FlowRecorder;

/// Data has come to an endpoint. Tells whether something is complete.
#[expect(
    clippy::inline_always,
    reason = "of most packets there is no more to tell"
)]
#[inline(always)]
pub(super) fn deliver(
    endpoint: &mut Endpoint,
    recorder: &mut FlowRecorder,
    bytes: u64,
    now: Time,
) -> bool {
    let notable = endpoint.deliver(bytes);
    if !endpoint.is_first() {
        recorder.delivered(now, bytes);
        if notable && endpoint.completes_file() {
            recorder.completed(now, endpoint.start);
        }
    }
    notable
}

impl Engine {
    /// A segment has brought something of which an app may want to hear; `notable`: a message may
    /// be complete.
    #[inline(never)]
    pub(super) fn tell_news(&mut self, index: usize, news: Received, notable: bool, now: Time) {
        if news.delivered > 0 && (notable | self.endpoints[index].hears) {
            self.hear(index, news.delivered, notable, now);
        }
        if news.established | news.writable {
            self.turn(index, news, now);
        }
    }

    /// Data has come to an endpoint whose app hears of it; `notable`: a message may be complete.
    #[inline(never)]
    pub(super) fn hear(&mut self, index: usize, delivered: u64, notable: bool, now: Time) {
        if self.endpoints[index].hears {
            self.tell(index, Input::Delivered(delivered), now);
        }
        while notable && let Some(message) = self.endpoints[index].next_message() {
            let connection = self.endpoints[index].connection;
            let input = Input::Message {
                connection,
                message,
            };
            self.tell(index, input, now);
        }
    }

    /// The connection of an endpoint has been established, or there is room to write again.
    #[inline(never)]
    pub(super) fn turn(&mut self, index: usize, news: Received, now: Time) {
        if news.established {
            let input = match self.endpoints[index].connection {
                0 => Input::Start,
                further => Input::Open(further),
            };
            self.tell(index, input, now);
        }
        // The rest of a message that did not fit goes first, or the next one would be mixed into
        // it.
        if news.writable {
            self.endpoints[index].write_rest();
            if self.endpoints[index].rest == 0 {
                self.tell(index, Input::Writable, now);
            }
        }
    }

    /// Tells the app at an endpoint something; [`flush`](Self::flush) does what it asks for.
    pub(super) fn tell(&mut self, index: usize, input: Input, now: Time) {
        let endpoint = &mut self.endpoints[index];
        let app = &mut self.apps[endpoint.app as usize];
        // What the app wants is only noted: its calls come back into the same connection, which
        // is borrowed here.
        let mut port = SimPort {
            transport: &mut endpoint.transport,
            now,
            recorder: &mut self.recorders[self.flows[index / 2] as usize],
            wishes: &mut self.wishes,
            datagrams: &mut self.datagrams,
        };
        app.handle(input, now, &mut port);
        // One app has one timer, whatever endpoint it was told at; the timer is kept at its first
        // connection.
        if let Some(wake) = self.wishes.wake.take() {
            let home = endpoint.home();
            self.endpoints[home].wake_at(wake);
            if home != index {
                self.arm_endpoint(home);
            }
        }
    }

    /// Puts a message on the stream of an endpoint.
    fn post(&mut self, index: usize, message: Message, now: Time) {
        let endpoint = &mut self.endpoints[index];
        if endpoint.waits_for_room() {
            self.recorders[self.flows[index / 2] as usize].blocked(now);
            return;
        }
        let end = endpoint.write_message(message.len.into());
        let peer = endpoint.way.back().index();
        self.endpoints[peer].expect(end, message);
    }

    /// Does what the app at an endpoint wants of its connections.
    #[cold]
    pub(super) fn grant(&mut self, index: usize, now: Time) {
        let home = self.endpoints[index].home();
        for (connection, wish) in std::mem::take(&mut self.wishes.connections) {
            let at = home + 2 * usize::from(connection);
            match wish {
                Wish::Message(message) => self.post(at, message, now),
                Wish::Open => {
                    let peer = self.endpoints[at].way.back().index();
                    for end in [at, peer] {
                        self.endpoints[end].start_at(now);
                        self.arm_endpoint(end);
                    }
                }
                Wish::Abort => self.endpoints[at].abort(),
            }
            if at != index {
                self.flush(at, now);
            }
        }
    }
}
