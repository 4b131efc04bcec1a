//! Hello messages: neighbours say that they are there (RFC 3561 section 6.9).

use super::message::Sequenced;
use super::{Aodv, Due, Message, Outbox, Reply};
use alloc::vec::Vec;
use sojourn_units::Time;

/// Intervals without a word after which a neighbour that has said hello is gone (RFC 3561 section
/// 10, ALLOWED_HELLO_LOSS).
const HELLO_LOSS: u64 = 2;

impl<D: Copy> Aodv<D> {
    /// A packet has come to `node` from a neighbour. One of a flow (`is_data`) shows that the node
    /// is part of a route, even when it only receives.
    #[inline]
    pub fn heard(&mut self, node: u32, from: u32, is_data: bool, now: Time) {
        if self.params.hello.is_none() {
            return;
        }
        let router = &mut self.routers[node as usize];
        if let Some(last) = router.heard.get_mut(&from) {
            *last = now;
        }
        if is_data {
            router.used = now;
            self.begin_to_greet(node, now);
        }
    }

    /// A node on a route says hello from now on.
    pub(super) fn begin_to_greet(&mut self, node: u32, now: Time) {
        if let Some(every) = self.params.hello {
            let router = &mut self.routers[node as usize];
            if !core::mem::replace(&mut router.greets, true) {
                let at = now + router.dice.span_below(every);
                self.schedule(at, Due::Hello { node });
            }
        }
    }

    /// Says hello, unless something was sent to all meanwhile, and looks who is silent.
    pub(super) fn greet(&mut self, node: u32, now: Time, out: &mut impl Outbox<D>) {
        let Some(every) = self.params.hello else {
            return;
        };
        let router = &mut self.routers[node as usize];
        let rules = self.params.rules;
        let is_relay = self.routes.known(node).into_iter().any(|target| {
            let route = self.routes.get_mut(node, target);
            route.is_some_and(|route| route.is_usable(rules, now))
        });
        router.greets = is_relay || router.used + self.params.active > now;
        if !router.greets {
            router.heard.clear();
            return;
        }
        if now - router.said >= every {
            router.said = now;
            let hello = Reply {
                target: Sequenced {
                    node,
                    number: router.number,
                },
                origin: node,
                hops: 1,
                lifetime: every * HELLO_LOSS,
                asked: now,
            };
            out.control(node, Message::Reply(hello), None);
        }
        let mut silent = Vec::new();
        router.heard.retain(|neighbour, last| {
            let is_there = now - *last <= every * HELLO_LOSS;
            if !is_there {
                silent.push(*neighbour);
            }
            is_there
        });
        let jitter = router.dice.span_below(self.params.jitter);
        self.schedule(now + every - jitter, Due::Hello { node });
        for neighbour in silent {
            self.broken(node, neighbour, out);
        }
    }
}
