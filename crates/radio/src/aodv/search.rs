//! Questions for a route, what waits for their answers, and when they are repeated (RFC 3561
//! sections 6.3 and 6.4; ns-2's rules in `sendRequest` and `rt_purge` of its `aodv.cc`).

use super::message::{Request, Sequenced};
use super::route::{State, look};
use super::{Aodv, Due, Lost, Message, Outbox};
use crate::profile::Rules;
use alloc::collections::VecDeque;
use sojourn_units::{Span, Time};

/// Hops that an answer may be late by (RFC 3561 section 10, TIMEOUT_BUFFER).
const TIMEOUT_BUFFER: u64 = 2;
/// Longest time that ns-2 waits for an answer.
const LONGEST: Span = Span::from_secs(10);
/// Answers of which ns-2 keeps the time.
const KEPT: usize = 3;

/// A node's questions for one target.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// Whether one has had no answer yet.
    is_open: bool,
    /// Those of them that went everywhere.
    asked: u32,
    /// Hops that the last one went, or that the answer said.
    ttl: u8,
    /// No further question before.
    until: Time,
    /// What the last answers took for each hop, and which place is the oldest.
    took: [Span; KEPT],
    oldest: usize,
}

impl Search {
    /// The time for one hop: what answers took, when there were any.
    fn traversal(&self, otherwise: Span) -> Span {
        let known = self.took.iter().filter(|took| !took.is_zero());
        let count = known.clone().count() as u64;
        let sum = known.fold(Span::ZERO, |sum, took| sum + *took);
        if count == 0 { otherwise } else { sum / count }
    }
}

impl<D: Copy> Aodv<D> {
    /// A packet waits for a route, which is asked for.
    pub(super) fn wait(
        &mut self,
        node: u32,
        target: u32,
        packet: D,
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
        self.hold(node, target, packet, now, out);
        self.search(node, target, now, out);
    }

    /// A packet waits for a route.
    pub(super) fn hold(
        &mut self,
        node: u32,
        target: u32,
        packet: D,
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
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
    }

    /// Asks, unless an answer is waited for or nothing is to be said.
    fn search(&mut self, node: u32, target: u32, now: Time, out: &mut impl Outbox<D>) {
        let params = self.params;
        let search = self.routers[node as usize]
            .searches
            .entry(target)
            .or_default();
        if search.until > now {
            return;
        }
        if search.asked <= params.retries {
            return self.ask(node, target, now, out);
        }
        (search.asked, search.is_open) = (0, false);
        search.until = now + params.silence;
        let until = search.until;
        if until > now {
            self.schedule(self.again(until), Due::Search { node, target });
        }
        self.give_up(node, target, out);
    }

    /// When a question is repeated that may be from this time on.
    fn again(&self, from: Time) -> Time {
        match self.params.rules {
            Rules::Ns2 => look(from),
            Rules::Standard => from,
        }
    }

    /// Loses what waits for a target that was not found.
    fn give_up(&mut self, node: u32, target: u32, out: &mut impl Outbox<D>) {
        let router = &mut self.routers[node as usize];
        if let Some(route) = self.routes.get_mut(node, target)
            && route.state == State::Mending
        {
            route.state = State::Down;
        }
        router.waiting.retain(|&(_, to, packet)| {
            if to == target {
                out.lost(node, packet, Lost::NoRoute);
            }
            to != target
        });
    }

    /// Sends a question.
    fn ask(&mut self, node: u32, target: u32, now: Time, out: &mut impl Outbox<D>) {
        let params = self.params;
        let [first, more, most] = params.ring;
        let router = &mut self.routers[node as usize];
        let known = self.routes.get(node, target);
        let search = router.searches.entry(target).or_default();
        let beyond = |hops: u8| {
            let hops = Some(hops).filter(|hops| *hops < most);
            hops.map_or(params.diameter, |hops| hops + more)
        };
        let ttl = match known {
            _ if search.is_open => beyond(search.ttl),
            None => first,
            Some(route) if params.rules == Rules::Ns2 => beyond(search.ttl.max(route.hops)),
            Some(route) => route.hops.saturating_add(more),
        }
        .min(params.diameter);
        let is_wide = ttl == params.diameter;
        search.asked += u32::from(is_wide);
        let asked = search.asked.max(1);
        let wait = match params.rules {
            Rules::Ns2 => {
                let hop = search.traversal(params.traversal);
                (hop * (2 * u64::from(ttl) * u64::from(asked))).min(LONGEST)
            }
            Rules::Standard if is_wide => {
                params.traversal * ((2 * u64::from(ttl)) << (asked - 1).min(16))
            }
            Rules::Standard => params.traversal * (2 * (u64::from(ttl) + TIMEOUT_BUFFER)),
        };
        (search.is_open, search.ttl, search.until) = (true, ttl, now + wait);
        let until = search.until;
        router.number += 2;
        router.said = now;
        router.questions += 1;
        let message = Message::Request(Request {
            id: router.questions,
            origin: Sequenced {
                node,
                number: router.number,
            },
            target: Sequenced {
                node: target,
                number: known.map_or(0, |route| route.number),
            },
            hops: 1,
            ttl,
            asked: now,
        });
        self.schedule(self.again(until), Due::Search { node, target });
        match params.rules {
            Rules::Ns2 => out.control(node, message, None),
            // Those who ask at one time, and cannot hear each other or find the medium idle, would
            // collide then and with every repetition (RFC 5148 section 5.2).
            Rules::Standard => self.tell_all(node, message, now),
        }
    }

    /// No answer has come.
    pub(super) fn search_again(
        &mut self,
        node: u32,
        target: u32,
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
        let router = &mut self.routers[node as usize];
        let Some(search) = router.searches.get_mut(&target) else {
            return;
        };
        if search.until > now {
            return; // another question has been sent since
        }
        if router.waiting.iter().any(|&(_, to, _)| to == target) {
            return self.search(node, target, now, out);
        }
        search.is_open = false;
        if self.params.rules == Rules::Standard {
            search.asked = 0;
        }
    }

    /// A way to `target` over so many hops is known anew; by an answer to a question of this node
    /// that took so long. Returns whether one had been sent.
    pub(super) fn found(&mut self, node: u32, target: u32, hops: u8, took: Option<Span>) -> bool {
        let Some(search) = self.routers[node as usize].searches.get_mut(&target) else {
            return false;
        };
        let was_asked = search.until > Time::ZERO;
        (search.is_open, search.asked, search.ttl) = (false, 0, hops);
        search.until = Time::ZERO;
        if let Some(took) = took {
            search.took[search.oldest] = took / u64::from(hops.max(1));
            search.oldest = (search.oldest + 1) % KEPT;
        }
        was_asked
    }

    /// There is a route: what has waited for it goes, one every `pace`.
    pub(super) fn release(
        &mut self,
        node: u32,
        target: u32,
        pace: Span,
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
        let router = &mut self.routers[node as usize];
        // What waits for a route is asked for. Most nodes ask for few, and many packets may wait.
        let is_sought = router.searches.contains_key(&target);
        if !is_sought || !router.waiting.iter().any(|&(_, to, _)| to == target) {
            return;
        }
        let held = core::mem::take(&mut router.waiting);
        let (ready, rest): (VecDeque<_>, VecDeque<_>) =
            held.into_iter().partition(|&(_, to, _)| to == target);
        router.waiting = rest;
        for (place, (_, _, packet)) in ready.into_iter().enumerate() {
            let at = now + pace * place as u64;
            if at == now {
                out.forward(node, packet);
            } else {
                self.schedule(at, Due::Release { node, packet });
            }
        }
    }
}
