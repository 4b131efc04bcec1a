//! AODV: routes found when they are wanted, by asking everybody.
//!
//! Source: RFC 3561 (RREQ, RREP, RERR, sequence numbers, expanding ring, precursors), with the
//! constants of ns-2.35's `aodv.cc` in [`AodvParams::NS2`].
//!
//! Feedback of the link layer finds broken links; hello messages (section 6.9) do it too where they
//! are wanted. They say that a neighbour is there and do not prolong routes, which would never end.
//! Answers come from the target or from a node with a route that is as new; without gratuitous
//! RREPs, RREP-ACK and multicast. There is no local repair: ns-2 tries it only near the target, and
//! a source that hears of the break asks within a hop's time of it. Addresses are nodes' numbers.
//!
//! Whoever drives it has the queues: [`Aodv`] says which packet is to go into which queue, and is
//! asked for the next hop when one comes out, so that a packet follows the newest route.

mod hello;
mod message;

pub use message::Message;

use alloc::collections::{BTreeMap, BinaryHeap, VecDeque};
use alloc::vec::Vec;
use core::cmp::Reverse;
use message::{LOST, Reply, Request, error};
use sojourn_random::Stream;
use sojourn_units::{Span, Time};

/// Constants of AODV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvParams {
    /// A route that carried no packet for so long is used no more.
    pub active: Span,
    /// Lifetime that a target gives to routes to itself.
    pub mine: Span,
    /// Lifetime of the route back to whoever asks.
    pub reverse: Span,
    /// Hops that a first question goes, what is added for each further one, and from where on the
    /// next one goes everywhere. None: all go everywhere.
    pub ring: Option<[u8; 3]>,
    /// Most hops in the network.
    pub diameter: u8,
    /// Time for one hop, from which follows how long an answer is waited for.
    pub traversal: Span,
    /// Further questions that go everywhere before it is given up.
    pub retries: u32,
    /// Silence after that.
    pub silence: Span,
    /// Questions that are passed on wait a random time below this.
    pub jitter: Span,
    /// Packets that wait at their source for a route, at most.
    pub buffer: usize,
    /// So long at most.
    pub patience: Span,
    /// Time between packets that leave that buffer.
    pub pace: Span,
    /// Between hello messages of a node on a route; None: there are none.
    pub hello: Option<Span>,
    /// Bytes of an RREQ and of an RREP, without IP and UDP headers.
    pub bytes: [u16; 2],
}

impl AodvParams {
    /// Those of ns-2.35.
    pub const NS2: Self = Self {
        active: Span::from_secs(10),
        mine: Span::from_secs(10),
        reverse: Span::from_secs(6),
        ring: None,
        diameter: 30,
        traversal: Span::from_millis(30),
        retries: 3,
        silence: Span::from_secs(10),
        jitter: Span::from_millis(10),
        buffer: 64,
        patience: Span::from_secs(30),
        pace: Span::from_millis(10),
        hello: None,
        bytes: [28, 24],
    };

    /// Those of RFC 3561 section 10; what it leaves open (jitter, buffer) is ns-2's.
    pub const RFC: Self = Self {
        active: Span::from_secs(3),
        mine: Span::from_secs(6),
        reverse: Span::from_millis(5600),
        ring: Some([1, 2, 7]),
        diameter: 35,
        traversal: Span::from_millis(40),
        retries: 2,
        pace: Span::ZERO,
        bytes: [24, 20],
        ..Self::NS2
    };
}

/// A question is remembered for so long, so that its copies are known.
const REMEMBERED: Span = Span::from_secs(6);

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
}

#[derive(Clone, Debug)]
struct Route {
    next: u32,
    /// Sequence number of the target; zero while it is unknown.
    number: u32,
    hops: u8,
    expires: Time,
    is_up: bool,
    /// Who sends over here.
    precursors: Vec<u32>,
}

/// A question that waits for its answer, or silence after it was given up.
#[derive(Clone, Copy, Debug)]
struct Search {
    asked: u32,
    ttl: u8,
    until: Time,
}

#[derive(Debug)]
struct Router<D> {
    number: u32,
    questions: u32,
    routes: BTreeMap<u32, Route>,
    searches: BTreeMap<u32, Search>,
    /// Questions of others, by origin and number, in the order in which they will be forgotten.
    seen: VecDeque<(Time, u32, u32)>,
    /// Packets that wait for a route: since when, where to.
    waiting: VecDeque<(Time, u32, D)>,
    /// Neighbours that have said hello, and when they were last heard.
    heard: BTreeMap<u32, Time>,
    /// When it last sent something to all.
    said: Time,
    /// When a packet of a flow last came to it.
    used: Time,
    /// Whether it is to say hello.
    greets: bool,
    dice: Stream,
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

/// All nodes' routing.
#[derive(Debug)]
pub struct Aodv<D> {
    params: AodvParams,
    routers: Vec<Router<D>>,
    /// What is due, by time and order; the entry is the place in `dues`.
    calendar: BinaryHeap<Reverse<(Time, u64, usize)>>,
    dues: Vec<Option<Due<D>>>,
    free: Vec<usize>,
    scheduled: u64,
}

impl<D: Copy> Aodv<D> {
    /// For so many nodes; `dice` makes the stream of each.
    pub fn new(params: AodvParams, nodes: usize, mut dice: impl FnMut(usize) -> Stream) -> Self {
        let router = |node| Router {
            number: 2,
            questions: 0,
            routes: BTreeMap::new(),
            searches: BTreeMap::new(),
            seen: VecDeque::new(),
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
        let route = self.routers[node as usize].routes.get(&target)?;
        route.is_up.then_some(route.next)
    }

    /// When something is next due; [`Aodv::run`] does it.
    pub fn due(&self) -> Option<Time> {
        self.calendar.peek().map(|Reverse((at, ..))| *at)
    }

    fn schedule(&mut self, at: Time, due: Due<D>) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.dues.push(None);
            self.dues.len() - 1
        });
        self.dues[place] = Some(due);
        self.scheduled += 1;
        self.calendar.push(Reverse((at, self.scheduled, place)));
    }

    /// Does what is due.
    pub fn run(&mut self, now: Time, out: &mut impl Outbox<D>) {
        while let Some(&Reverse((at, _, place))) = self.calendar.peek()
            && at <= now
        {
            self.calendar.pop();
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

    /// A packet for `target` is at `node`, its source or on its way.
    pub fn submit(
        &mut self,
        (node, is_source): (u32, bool),
        (packet, target): (D, u32),
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
        let active = self.params.active;
        let router = &mut self.routers[node as usize];
        if let Some(route) = router.routes.get_mut(&target)
            && route.is_up
            && route.expires > now
        {
            route.expires = route.expires.max(now + active);
            out.forward(node, packet);
        } else if is_source {
            self.wait(node, (packet, target), now, out);
        } else {
            let number = router.routes.get(&target).map_or(0, |route| route.number);
            report(node, &[(target, number)], out);
            out.lost(node, packet, Lost::NoRoute);
        }
    }

    /// A packet waits for a route.
    fn wait(&mut self, node: u32, (packet, target): (D, u32), now: Time, out: &mut impl Outbox<D>) {
        let (most, patience) = (self.params.buffer, self.params.patience);
        let router = &mut self.routers[node as usize];
        let is_old = |since: Time| now - since > patience;
        while let Some(&(since, _, old)) = router.waiting.front()
            && (router.waiting.len() >= most || is_old(since))
        {
            router.waiting.pop_front();
            out.lost(node, old, Lost::Buffer);
        }
        router.waiting.push_back((now, target, packet));
        if router
            .searches
            .get(&target)
            .is_none_or(|search| search.until <= now)
        {
            router.searches.remove(&target);
            self.ask(node, target, now, out);
        }
    }

    /// Sends a question.
    fn ask(&mut self, node: u32, target: u32, now: Time, out: &mut impl Outbox<D>) {
        let params = self.params;
        let router = &mut self.routers[node as usize];
        let last = router.searches.get(&target).copied();
        let known = router.routes.get(&target);
        let ttl = match (params.ring, last) {
            (Some([start, ..]), None) => known.map_or(start, |route| route.hops.max(start)),
            (Some([_, more, most]), Some(last)) if last.ttl + more <= most => last.ttl + more,
            _ => params.diameter,
        };
        let is_wide = ttl == params.diameter;
        let asked = last.map_or(0, |last| last.asked) + u32::from(is_wide);
        let wait = params.traversal * (2 * u64::from(ttl) * u64::from(asked.max(1)));
        let until = now + wait.min(params.silence);
        router.searches.insert(target, Search { asked, ttl, until });
        router.number += 2;
        router.said = now;
        router.questions += 1;
        let message = Message::Request(Request {
            id: router.questions,
            origin: (node, router.number),
            target: (target, known.map_or(0, |route| route.number)),
            hops: 1,
            ttl,
        });
        self.schedule(until, Due::Search { node, target });
        out.control(node, message, None);
    }

    /// No answer came.
    fn search_again(&mut self, node: u32, target: u32, now: Time, out: &mut impl Outbox<D>) {
        let params = self.params;
        let router = &mut self.routers[node as usize];
        let Some(search) = router.searches.get_mut(&target) else {
            return; // found
        };
        if search.until > now {
            return; // another question has been sent since
        }
        if !router.waiting.iter().any(|&(_, to, _)| to == target) {
            router.searches.remove(&target);
        } else if search.asked <= params.retries {
            self.ask(node, target, now, out);
        } else {
            search.until = now + params.silence;
            search.asked = 0;
            let mut kept = VecDeque::with_capacity(router.waiting.len());
            for (since, to, packet) in router.waiting.drain(..) {
                if to == target {
                    out.lost(node, packet, Lost::NoRoute);
                } else {
                    kept.push_back((since, to, packet));
                }
            }
            router.waiting = kept;
        }
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
        match *message {
            Message::Request(ask) => {
                if self.is_new(node, (ask.origin.0, ask.id), now) {
                    let until = now + self.params.reverse;
                    self.learn(node, ask.origin, (from, ask.hops), until, now);
                    self.answer(node, ask, now, out);
                    self.release(node, ask.origin.0, now, out);
                }
            }
            Message::Reply(hello) if hello.origin == hello.target.0 => {
                self.routers[node as usize].heard.insert(from, now);
            }
            Message::Reply(reply) => {
                let target = reply.target.0;
                let until = now + reply.lifetime;
                self.learn(node, reply.target, (from, reply.hops), until, now);
                self.release(node, target, now, out);
                if reply.origin != node
                    && let Some(back) = self.next(node, reply.origin)
                {
                    if let Some(route) = self.routers[node as usize].routes.get_mut(&target)
                        && !route.precursors.contains(&back)
                    {
                        route.precursors.push(back);
                    }
                    let hops = reply.hops.saturating_add(1);
                    let reply = Message::Reply(Reply { hops, ..reply });
                    out.control(node, reply, Some(back));
                }
            }
            Message::Error { lost, count } => {
                self.unreachable(node, from, &lost[..usize::from(count)], now);
            }
        }
    }

    /// Whether a question was not met before.
    fn is_new(&mut self, node: u32, (origin, id): (u32, u32), now: Time) -> bool {
        let router = &mut self.routers[node as usize];
        while router.seen.front().is_some_and(|&(until, ..)| until <= now) {
            router.seen.pop_front();
        }
        let mut seen = router.seen.iter();
        if origin == node || seen.any(|&(_, o, i)| (o, i) == (origin, id)) {
            return false;
        }
        router.seen.push_back((now + REMEMBERED, origin, id));
        true
    }

    /// Takes a route, if it is newer or shorter than what is known.
    fn learn(
        &mut self,
        node: u32,
        (target, number): (u32, u32),
        (next, hops): (u32, u8),
        expires: Time,
        now: Time,
    ) {
        self.begin_to_greet(node, now);
        let routes = &mut self.routers[node as usize].routes;
        if let Some(known) = routes.get_mut(&target) {
            let is_usable = known.is_up && known.expires > now;
            let is_newer = number > known.number;
            let is_shorter = number == known.number && (hops < known.hops || !is_usable);
            if is_usable && known.next == next {
                known.expires = known.expires.max(expires);
            }
            if is_newer || is_shorter {
                (known.number, known.hops, known.next) = (number, hops, next);
                known.expires = expires.max(now);
                known.is_up = true;
            }
            return;
        }
        let route = Route {
            next,
            number,
            hops,
            expires,
            is_up: true,
            precursors: Vec::new(),
        };
        routes.insert(target, route);
    }

    /// Answers a question that is new here, or passes it on.
    fn answer(&mut self, node: u32, ask: Request, now: Time, out: &mut impl Outbox<D>) {
        let (origin, target) = (ask.origin, ask.target);
        let back = self.next(node, origin.0);
        let router = &mut self.routers[node as usize];
        let known = router.routes.get_mut(&target.0);
        let known = known.filter(|route| route.is_up && route.expires > now);
        let reply = if target.0 == node {
            // Its own number is at least what is asked for (RFC 3561 section 6.6.1).
            router.number = router.number.max(target.1) + 2;
            Some((router.number, 1, self.params.mine))
        } else if let Some(route) = known
            && route.number >= target.1
            && target.1 > 0
        {
            route
                .precursors
                .extend(back.filter(|back| !route.precursors.contains(back)));
            // In whole microseconds, as the message carries it.
            let rest = Span::from_micros((route.expires - now).as_micros());
            Some((route.number, route.hops.saturating_add(1), rest))
        } else {
            None
        };
        if let Some((number, hops, lifetime)) = reply {
            let (target, origin) = ((target.0, number), origin.0);
            let reply = Reply {
                target,
                origin,
                hops,
                lifetime,
            };
            return out.control(node, Message::Reply(reply), back);
        }
        if ask.ttl > 1 {
            let newest = router.routes.get(&target.0).map_or(0, |route| route.number);
            let message = Message::Request(Request {
                target: (target.0, target.1.max(newest)),
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

    /// There is a route: what has waited for it goes, one after another.
    fn release(&mut self, node: u32, target: u32, now: Time, out: &mut impl Outbox<D>) {
        let router = &mut self.routers[node as usize];
        router.searches.remove(&target);
        if !router.waiting.iter().any(|&(_, to, _)| to == target) {
            return;
        }
        let held = core::mem::take(&mut router.waiting);
        let (ready, rest): (VecDeque<_>, VecDeque<_>) =
            held.into_iter().partition(|&(_, to, _)| to == target);
        router.waiting = rest;
        for (place, (_, _, packet)) in ready.into_iter().enumerate() {
            let at = now + self.params.pace * place as u64;
            if at == now {
                out.forward(node, packet);
            } else {
                self.schedule(at, Due::Release { node, packet });
            }
        }
    }

    /// A neighbour of `node` has stopped answering: routes over it are broken.
    pub fn broken(&mut self, node: u32, neighbour: u32, out: &mut impl Outbox<D>) {
        let router = &mut self.routers[node as usize];
        let mut lost = Vec::new();
        for (target, route) in &mut router.routes {
            if route.is_up && route.next == neighbour {
                route.is_up = false;
                route.number += 1;
                lost.push((*target, route.number));
            }
        }
        report(node, &lost, out);
    }

    /// A neighbour tells what is out of its reach.
    fn unreachable(&mut self, node: u32, from: u32, lost: &[(u32, u32)], now: Time) {
        let router = &mut self.routers[node as usize];
        let mut further = Vec::new();
        for &(target, number) in lost {
            if let Some(route) = router.routes.get_mut(&target)
                && route.is_up
                && route.next == from
                && route.number <= number
            {
                (route.is_up, route.number) = (false, number);
                if !route.precursors.is_empty() {
                    route.precursors.clear();
                    further.push((target, number));
                }
            }
        }
        for some in further.chunks(LOST) {
            self.tell_all(node, error(some), now);
        }
    }
}

/// Tells the neighbours what is out of reach.
fn report<D>(node: u32, all: &[(u32, u32)], out: &mut impl Outbox<D>) {
    for some in all.chunks(LOST) {
        out.control(node, error(some), None);
    }
}

#[cfg(test)]
mod tests;
