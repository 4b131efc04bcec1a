//! AODV: routes found when they are wanted, by asking everybody.
//!
//! Source: RFC 3561 (RREQ, RREP, RERR, sequence numbers, expanding ring, precursors), with the
//! constants of ns-2.35's `aodv.cc` in [`AodvParams::NS2`].
//!
//! Feedback of the link layer finds broken links; hello messages (section 6.9) do it too where
//! they are wanted. They say that a neighbour is there and do not prolong routes, which would
//! never end. Answers come from the target or from a node with a route that is as new; without
//! gratuitous RREPs, RREP-ACK, multicast and limits to messages a second. A relay repairs a route
//! as ns-2's does, under its rules alone. Addresses are nodes' numbers.
//!
//! Whoever drives it has the queues: [`Aodv`] says which packet is to go into which queue, and is
//! asked for the next hop when one comes out, so that a packet follows the newest route.

mod hello;
mod message;
mod met;
mod params;
mod route;
mod routes;
mod search;
mod table;

pub use message::{Message, Sequenced};
pub use params::AodvParams;

use crate::phy::MANY;
use crate::profile::Rules;
use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use message::{Reply, Request};
use met::Met;
use route::State;
use search::Search;
use sojourn_memory::{LINE, fetch, fetch_part};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};
use table::Table;

/// The nodes where a packet begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The node that sends the packet first.
    pub source: u32,
    /// The node that it is for.
    pub target: u32,
}

/// Why routing lost a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A relay knows no way, or none was found.
    NoRoute,
    /// Too many waited for a route, or for too long.
    Buffer,
}

/// What AODV wants done. `D` is a data packet.
pub trait Outbox<D> {
    /// Send a message from `node`: to a neighbour, or to all.
    fn control(&mut self, node: u32, message: Message, to: Option<u32>);

    /// Put a packet into the queue of `node`.
    fn forward(&mut self, node: u32, packet: D);

    /// A packet is lost at `node`.
    fn lost(&mut self, node: u32, packet: D, why: Lost);

    /// What is queued at `node` for `neighbour` is lost.
    fn purge(&mut self, node: u32, neighbour: u32);
}

/// In this order: what a question asks of each node that it comes to is in the first cache line.
/// Questions go to all nodes, which are in no cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Router<D> {
    searches: BTreeMap<u32, Search>,
    dice: Stream,
    /// When it last sent something to all.
    said: Time,
    /// When a packet of a flow last came to it.
    used: Time,
    number: u32,
    questions: u32,

    /// Packets that wait for a route: since when, where to.
    waiting: VecDeque<(Time, u32, D)>,
    /// Neighbours that have said hello, and when they were last heard.
    heard: BTreeMap<u32, Time>,
    /// Whether it is to say hello.
    greets: bool,
}

#[derive(Clone, Copy, Debug)]
enum Due<D> {
    /// To all neighbours.
    Send {
        node: u32,
        message: Message,
    },
    Search {
        node: u32,
        target: u32,
    },
    Release {
        node: u32,
        packet: D,
    },
    Hello {
        node: u32,
    },
}

/// Where something is that is due, and the node whose it is, of which memory may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// In `dues`.
    due: u32,
    node: u32,
}

/// All nodes' routing.
#[derive(Clone, Debug)]
pub struct Aodv<D> {
    params: AodvParams,
    routers: Vec<Router<D>>,
    routes: Table,
    /// Questions of others that nodes remember.
    met: Met,
    /// What is due, by time and order.
    calendar: BinaryHeap<Reverse<(Time, u64, Place)>>,
    dues: Vec<Option<Due<D>>>,
    free: Vec<usize>,
    scheduled: u64,
}

impl<D: Copy> Aodv<D> {
    /// The packets that wait for a route, or to be queued after they have got one.
    pub fn held(&self) -> impl Iterator<Item = &D> {
        let waiting = self.routers.iter().flat_map(|router| &router.waiting);
        let released = self.dues.iter().filter_map(|due| match due {
            Some(Due::Release { packet, .. }) => Some(packet),
            _ => None,
        });
        waiting.map(|(_, _, packet)| packet).chain(released)
    }

    /// For so many nodes; `dice` makes the stream of each.
    pub fn new(params: AodvParams, nodes: usize, mut dice: impl FnMut(usize) -> Stream) -> Self {
        let router = |node| Router {
            number: 2,
            questions: 0,
            searches: BTreeMap::new(),
            waiting: VecDeque::new(),
            heard: BTreeMap::new(),
            said: Time::ZERO,
            used: Time::ZERO,
            greets: false,
            dice: dice(node),
        };
        Self {
            params,
            routers: (0..nodes).map(router).collect(),
            routes: Table::new(nodes),
            met: Met::new(nodes),
            calendar: BinaryHeap::new(),
            dues: Vec::new(),
            free: Vec::new(),
            scheduled: 0,
        }
    }

    /// The constants.
    pub const fn params(&self) -> &AodvParams {
        &self.params
    }

    /// Whom `node` sends packets for `target` to: also over a route that has become old while they
    /// waited, but over none that is broken.
    pub fn next(&self, node: u32, target: u32) -> Option<u32> {
        let route = self.routes.get(node, target)?;
        (route.state != State::Down).then_some(route.next)
    }

    /// The last known sequence number of a target; zero when none is known.
    fn number_of(&self, node: u32, target: u32) -> u32 {
        let route = self.routes.get(node, target);
        route.map_or(0, |route| route.number)
    }

    /// When something is next due; [`Aodv::run`] does it.
    pub fn due(&self) -> Option<Time> {
        self.calendar.peek().map(|Reverse((at, ..))| *at)
    }

    /// Asks for what a message with these words needs that comes to a node.
    #[inline]
    pub fn fetch(&self, node: u32, words: &[u32; 12]) {
        fetch_part(&self.routers[node as usize], 0..LINE);
        if let Some(origin) = Message::asked_by(words) {
            self.routes.fetch(node, origin);
        }
    }

    /// The node of what is next due and those of whom something may be due after that, where there
    /// are so many that their memory is asked for.
    pub fn next_senders(&self) -> Option<(u32, impl Iterator<Item = u32>)> {
        if self.routers.len() < MANY {
            return None;
        }
        // The least one of a heap has the next one among the two behind it.
        let mut places = self
            .calendar
            .as_slice()
            .iter()
            .take(3)
            .map(|Reverse((.., place))| {
                fetch(&self.dues[place.due as usize]);
                place.node
            });
        places.next().map(|first| (first, places))
    }

    fn schedule(&mut self, at: Time, due: Due<D>) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.dues.push(None);
            self.dues.len() - 1
        });
        let (Due::Send { node, .. }
        | Due::Search { node, .. }
        | Due::Release { node, .. }
        | Due::Hello { node }) = due;
        self.dues[place] = Some(due);
        self.scheduled += 1;
        let place = Place {
            due: place as u32,
            node,
        };
        self.calendar.push(Reverse((at, self.scheduled, place)));
    }

    /// Does what is due.
    pub fn run(&mut self, now: Time, out: &mut impl Outbox<D>) {
        while let Some(&Reverse((at, _, place))) = self.calendar.peek()
            && at <= now
        {
            self.calendar.pop();
            let place = place.due as usize;
            self.free.push(place);
            match self.dues[place].take() {
                Some(Due::Send { node, message }) => {
                    self.routers[node as usize].said = now;
                    out.control(node, message, None);
                }
                Some(Due::Search { node, target }) => self.search_again(node, target, now, out),
                Some(Due::Release { node, packet }) => out.forward(node, packet),
                Some(Due::Hello { node }) => self.greet(node, now, out),
                None => debug_assert!(false, "an entry without its content"),
            }
        }
    }

    /// A packet is at `node`: where it begins (`is_source`), or on its way. Returns the neighbour
    /// that is next, if the packet is to go into the queue at once.
    #[inline]
    pub fn submit(
        &mut self,
        node: u32,
        is_source: bool,
        packet: &D,
        ends: Ends,
        now: Time,
        out: &mut impl Outbox<D>,
    ) -> Option<u32> {
        let (active, rules) = (self.params.active, self.params.rules);
        if let Some(route) = self.routes.get_mut(node, ends.target) {
            if route.is_usable(rules, now) {
                route.expires = route.expires.max(now + active);
                let next = route.next;
                if rules == Rules::Standard {
                    self.renew_around(node, [ends.source, next], now);
                }
                return Some(next);
            }
            if route.state == State::Mending && !is_source {
                self.hold(node, ends.target, *packet, now, out);
                return None;
            }
        }
        if is_source {
            self.wait(node, ends.target, *packet, now, out);
        } else {
            self.astray(node, *packet, ends, now, out);
        }
        None
    }

    /// A message has come to `node` from its neighbour `from`.
    pub fn receive(
        &mut self,
        node: u32,
        from: u32,
        message: &Message,
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
        let is_hello =
            matches!(message, Message::Reply(hello) if hello.origin == hello.target.node);
        let shows_neighbour = !matches!(message, Message::Error { .. }) && !is_hello;
        if shows_neighbour && self.params.rules == Rules::Standard {
            self.meet(node, from, now, out);
        }
        match *message {
            Message::Request(ask) => {
                if self.is_new(node, ask.origin.node, ask.id, now) {
                    self.asked(node, from, ask, now, out);
                    self.answer(node, ask, now, out);
                }
            }
            Message::Reply(_) if is_hello => {
                self.routers[node as usize].heard.insert(from, now);
            }
            Message::Reply(reply) => self.replied(node, from, reply, now, out),
            Message::Error { lost, count } => {
                let lost = &lost[..usize::from(count)];
                self.unreachable(node, from, lost, now, out);
            }
        }
    }

    /// A question shows the way to whoever asks.
    fn asked(&mut self, node: u32, from: u32, ask: Request, now: Time, out: &mut impl Outbox<D>) {
        let until = now + self.params.reverse;
        if !self.learn(node, ask.origin, from, ask.hops, until, now) {
            return;
        }
        let origin = ask.origin.node;
        if self.found(node, origin, ask.hops, None)
            && let Some(route) = self.routes.get_mut(node, origin)
        {
            route.expires = now + self.params.active;
        }
        self.release(node, origin, Span::ZERO, now, out);
    }

    /// An answer shows the way to the target, and goes on to whoever has asked.
    fn replied(&mut self, node: u32, from: u32, reply: Reply, now: Time, out: &mut impl Outbox<D>) {
        let target = reply.target.node;
        let until = now + reply.lifetime;
        if !self.learn(node, reply.target, from, reply.hops, until, now) {
            return;
        }
        let took = (reply.origin == node).then_some(now - reply.asked);
        self.found(node, target, reply.hops, took);
        self.release(node, target, self.params.pace, now, out);
        if reply.origin == node {
            return;
        }
        let Some(back) = self.routes.get_mut(node, reply.origin) else {
            return;
        };
        if back.state != State::Up {
            return;
        }
        back.expires = back.expires.max(now + self.params.active);
        let back = back.next;
        if let Some(route) = self.routes.get_mut(node, target) {
            route.precede([back]);
        }
        // RFC 3561 section 6.7: the neighbour on the way there is used over here too.
        if self.params.rules == Rules::Standard
            && let Some(route) = self.routes.get_mut(node, from)
        {
            route.precede([back]);
        }
        let hops = reply.hops.saturating_add(1);
        let reply = Message::Reply(Reply { hops, ..reply });
        out.control(node, reply, Some(back));
    }

    /// Whether a question is another node's and was not met before.
    fn is_new(&mut self, node: u32, origin: u32, id: u32, now: Time) -> bool {
        origin != node && self.met.is_new(node, origin, id, now)
    }

    /// Answers a question that is new here, or passes it on.
    fn answer(&mut self, node: u32, ask: Request, now: Time, out: &mut impl Outbox<D>) {
        let (origin, target) = (ask.origin, ask.target);
        let (back, rules) = (self.next(node, origin.node), self.params.rules);
        let router = &mut self.routers[node as usize];
        let known = self.routes.get_mut(node, target.node).and_then(|route| {
            let is_known = route.is_usable(rules, now) || route.state == State::Mending;
            is_known.then_some(route)
        });
        let reply = if target.node == node {
            // Its own number is at least what is asked for (RFC 3561 section 6.6.1).
            router.number = router.number.max(target.number) + 2;
            Some((router.number, 1, self.params.mine))
        } else if let Some(route) = known
            && route.number >= target.number.max(1)
        {
            route.precede(back);
            let next = route.next;
            let rest = route.expires - now;
            let rest = match rules {
                // In whole milliseconds, as the message carries it; ns-2's in seconds.
                Rules::Standard => Span::from_millis(rest.as_micros() / 1000),
                Rules::Ns2 => Span::from_secs(rest.as_micros() / 1_000_000),
            };
            let answer = (route.number, route.hops.saturating_add(1), rest);
            // Whoever is sought may send over here to whoever asks (RFC 3561 section 6.6.2).
            if let Some(route) = self.routes.get_mut(node, origin.node) {
                route.precede([next]);
            }
            Some(answer)
        } else {
            None
        };
        if let Some((number, hops, lifetime)) = reply {
            let reply = Reply {
                target: Sequenced { number, ..target },
                origin: origin.node,
                hops,
                lifetime,
                asked: ask.asked,
            };
            return out.control(node, Message::Reply(reply), back);
        }
        if ask.ttl > 1 {
            let newest = self.number_of(node, target.node);
            let message = Message::Request(Request {
                target: Sequenced {
                    number: target.number.max(newest),
                    ..target
                },
                hops: ask.hops.saturating_add(1),
                ttl: ask.ttl - 1,
                ..ask
            });
            self.tell_all(node, message, now);
        }
    }

    /// Sends a message to all neighbours, a random time from now.
    fn tell_all(&mut self, node: u32, message: Message, now: Time) {
        let dice = &mut self.routers[node as usize].dice;
        let at = now + dice.span_below(self.params.jitter);
        self.schedule(at, Due::Send { node, message });
    }
}

#[cfg(test)]
mod tests;
