//! What a node knows of ways to others: how it learns of one, and that one is broken (RFC 3561
//! sections 6.2 and 6.11; ns-2's rules in `rt_ll_failed` and `recvError` of its `aodv.cc`).

use super::message::{LOST, Sequenced, error};
use super::route::{Route, State};
use super::{Aodv, Ends, Lost, Outbox};
use crate::profile::Rules;
use alloc::vec::Vec;
use sojourn_units::Time;

/// Who is out of reach of a node, and which neighbours are to hear of it.
#[derive(Default)]
struct Unreachable {
    lost: Vec<Sequenced>,
    concerned: Vec<u32>,
}

impl Unreachable {
    /// A target, if anybody sends to it over here.
    fn add(&mut self, lost: Sequenced, precursors: Vec<u32>) {
        if !precursors.is_empty() {
            self.lost.push(lost);
        }
        for one in precursors {
            if !self.concerned.contains(&one) {
                self.concerned.push(one);
            }
        }
    }

    /// To whom RERRs go: to the one neighbour that is concerned, or to all.
    fn addressee(&self) -> Option<u32> {
        match self.concerned[..] {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl<D: Copy> Aodv<D> {
    /// Takes a route, if it is newer or shorter than what is known. Returns whether it did.
    pub(super) fn learn(
        &mut self,
        node: u32,
        target: Sequenced,
        next: u32,
        hops: u8,
        expires: Time,
        now: Time,
    ) -> bool {
        self.begin_to_greet(node, now);
        let (rules, number) = (self.params.rules, target.number);
        let mut is_new = false;
        let known = self.routes.get_or_insert_with(node, target.node, || {
            is_new = true;
            Route::new(next, number, hops, expires)
        });
        if is_new {
            return true;
        }
        let is_usable = known.is_usable(rules, now);
        let is_newer = number > known.number;
        let is_shorter = number == known.number && (hops < known.hops || !is_usable);
        if is_usable && known.next == next {
            known.expires = known.expires.max(expires);
        }
        if is_newer || is_shorter {
            (known.number, known.hops, known.next) = (number, hops, next);
            known.expires = expires.max(now);
            known.state = State::Up;
        }
        is_newer || is_shorter
    }

    /// A message has come from a neighbour, to which there is a route then, whatever its sequence
    /// number (RFC 3561 sections 6.2, 6.5 and 6.7).
    pub(super) fn meet(&mut self, node: u32, neighbour: u32, now: Time, out: &mut impl Outbox<D>) {
        let until = now + self.params.active;
        let new = || Route::new(neighbour, 0, 1, until);
        let route = self.routes.get_or_insert_with(node, neighbour, new);
        // An old one is down first, so that what is known of its number stays right.
        route.is_usable(self.params.rules, now);
        (route.next, route.hops, route.state) = (neighbour, 1, State::Up);
        route.expires = route.expires.max(until);
        self.found(node, neighbour, 1, None);
        self.release(node, neighbour, self.params.pace, now, out);
    }

    /// A packet from a source is forwarded to the neighbour `next`: the routes to both and to the
    /// neighbour on the way back live on (RFC 3561 section 6.2).
    pub(super) fn renew_around(&mut self, node: u32, [source, next]: [u32; 2], now: Time) {
        let (rules, until) = (self.params.rules, now + self.params.active);
        let mut renew = |target: u32| {
            let route = self.routes.get_mut(node, target)?;
            if route.is_usable(rules, now) {
                route.expires = route.expires.max(until);
            }
            Some(route.next)
        };
        let previous = renew(source);
        for neighbour in previous.into_iter().chain([next]) {
            renew(neighbour);
        }
    }

    /// The MAC of `node` has given up a packet for `target`, or for nobody in particular, to
    /// `neighbour`. Returns whether the packet waits for another way.
    pub fn failed(
        &mut self,
        node: u32,
        neighbour: u32,
        packet: Option<(D, Ends)>,
        now: Time,
        out: &mut impl Outbox<D>,
    ) -> bool {
        if self.params.rules == Rules::Standard {
            self.broken(node, neighbour, out);
            return false;
        }
        let Some((packet, ends)) = packet else {
            return false;
        };
        let source = self.routes.get(node, ends.source);
        let back = source.map_or(0, |route| route.hops);
        if let Some(route) = self.routes.get_mut(node, ends.target)
            && route.state != State::Down
            && node != ends.source
            && back > route.hops
        {
            route.state = State::Mending;
            self.wait(node, ends.target, packet, now, out);
            return true;
        }
        out.purge(node, neighbour);
        self.broken(node, neighbour, out);
        false
    }

    /// A neighbour of `node` has stopped answering: routes over it are broken.
    pub fn broken(&mut self, node: u32, neighbour: u32, out: &mut impl Outbox<D>) {
        let rules = self.params.rules;
        let mut all = Unreachable::default();
        for target in self.routes.known(node) {
            let Some(route) = self.routes.get_mut(node, target) else {
                continue;
            };
            route.precursors.remove(neighbour);
            if route.state != State::Down && route.next == neighbour {
                route.fall();
                let number = route.number;
                let lost = Sequenced {
                    node: target,
                    number,
                };
                match rules {
                    Rules::Standard => all.add(lost, route.precursors.take()),
                    Rules::Ns2 => all.lost.push(lost),
                }
            }
        }
        report(node, &all, out);
    }

    /// A packet has come to a relay that knows no way for it. By the RFC the neighbour on the way
    /// back hears of it, which has sent the packet and so uses the route, in no list though it may
    /// be: without an RERR it would go on for ever.
    pub(super) fn astray(
        &mut self,
        node: u32,
        packet: D,
        ends: Ends,
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
        let rules = self.params.rules;
        let back = self.routes.get_mut(node, ends.source).and_then(|route| {
            let is_known = rules == Rules::Standard && route.is_usable(rules, now);
            is_known.then_some(route.next)
        });
        let target = Sequenced {
            node: ends.target,
            number: self.number_of(node, ends.target),
        };
        let lost = Unreachable {
            lost: alloc::vec![target],
            concerned: back.into_iter().collect(),
        };
        report(node, &lost, out);
        out.lost(node, packet, Lost::NoRoute);
    }

    /// A neighbour tells what is out of its reach.
    pub(super) fn unreachable(
        &mut self,
        node: u32,
        from: u32,
        lost: &[Sequenced],
        now: Time,
        out: &mut impl Outbox<D>,
    ) {
        let rules = self.params.rules;
        let (mut further, mut is_concerned) = (Unreachable::default(), false);
        for &target in lost {
            let number = target.number;
            if let Some(route) = self.routes.get_mut(node, target.node)
                && route.state != State::Down
                && route.next == from
                && (rules == Rules::Standard || route.number <= number)
            {
                (route.state, route.number) = (State::Down, route.number.max(number));
                is_concerned = true;
                let precursors = route.precursors.take();
                further.add(target, precursors);
            }
        }
        if is_concerned && rules == Rules::Ns2 {
            out.purge(node, from);
        }
        let alone = further.addressee().filter(|_| rules == Rules::Standard);
        if alone.is_some() {
            return report(node, &further, out);
        }
        for some in further.lost.chunks(LOST) {
            self.tell_all(node, error(some), now);
        }
    }
}

/// Tells the neighbours what is out of reach.
fn report<D>(node: u32, all: &Unreachable, out: &mut impl Outbox<D>) {
    for some in all.lost.chunks(LOST) {
        out.control(node, error(some), all.addressee());
    }
}
