//! AODV over networks that are graphs: every message takes a millisecond and is never lost.

use super::route::Route;
use super::*;
use proptest::prelude::*;
use std::format;
use std::vec;

/// A data packet: where it comes from and goes to.
type Data = (u32, u32);

#[derive(Clone, Copy)]
enum Event {
    Control(u32, u32, Message),
    Packet(u32, u32, Data),
}

struct World {
    links: Vec<Vec<u32>>,
    events: Vec<(Time, u64, Event)>,
    count: u64,
    now: Time,
    questions: u32,
    /// RERRs: from whom, and to whom; None for all.
    errors: Vec<(u32, Option<u32>)>,
    lost: Vec<(Data, Lost)>,
    arrived: Vec<(Data, Time)>,
    forwards: Vec<(u32, Data)>,
}

impl Outbox<Data> for World {
    fn control(&mut self, node: u32, message: Message, to: Option<u32>) {
        self.questions += u32::from(matches!(message, Message::Request(_)));
        if matches!(message, Message::Error { .. }) {
            self.errors.push((node, to));
        }
        assert_eq!(Message::from_words(&message.words()), message);
        for neighbour in self.links[node as usize].clone() {
            if to.is_none_or(|to| to == neighbour) {
                self.push(Event::Control(neighbour, node, message));
            }
        }
    }

    fn forward(&mut self, node: u32, packet: Data) {
        self.forwards.push((node, packet));
    }

    fn lost(&mut self, _node: u32, packet: Data, why: Lost) {
        self.lost.push((packet, why));
    }

    fn purge(&mut self, _node: u32, _neighbour: u32) {}
}

fn route(routing: &Aodv<Data>, node: u32, target: u32) -> &Route {
    let route = routing.routes.get(node, target);
    route.expect("a target that is known")
}

impl World {
    fn new(nodes: u32, links: &[(u32, u32)]) -> Self {
        let mut lists = vec![Vec::new(); nodes as usize];
        for &(a, b) in links {
            lists[a as usize].push(b);
            lists[b as usize].push(a);
        }
        Self {
            links: lists,
            events: Vec::new(),
            count: 0,
            now: Time::ZERO,
            questions: 0,
            errors: Vec::new(),
            lost: Vec::new(),
            arrived: Vec::new(),
            forwards: Vec::new(),
        }
    }

    fn push(&mut self, event: Event) {
        self.count += 1;
        self.events
            .push((self.now + Span::from_millis(1), self.count, event));
    }

    fn cut(&mut self, a: u32, b: u32) {
        self.links[a as usize].retain(|n| *n != b);
        self.links[b as usize].retain(|n| *n != a);
    }

    /// Sends what is to be forwarded; a next hop that is gone is told.
    fn drain(&mut self, aodv: &mut Aodv<Data>) {
        while let Some((node, packet)) = self.forwards.pop() {
            match aodv.next(node, packet.1) {
                Some(next) if self.links[node as usize].contains(&next) => {
                    self.push(Event::Packet(next, node, packet));
                }
                Some(next) => {
                    let packet = Some((packet, ends(packet)));
                    aodv.failed(node, next, packet, self.now, self);
                }
                None => self.lost.push((packet, Lost::NoRoute)),
            }
        }
    }

    fn run(&mut self, aodv: &mut Aodv<Data>, end: Time) {
        loop {
            self.drain(aodv);
            let first = self.events.iter().map(|(at, count, _)| (*at, *count)).min();
            let due = aodv.due().unwrap_or(Time::MAX);
            let now = first.map_or(Time::MAX, |first| first.0).min(due);
            if now > end {
                self.now = end;
                return;
            }
            self.now = now;
            if due == now {
                aodv.run(now, self);
                continue;
            }
            let place = self
                .events
                .iter()
                .position(|(at, count, _)| Some((*at, *count)) == first);
            match self.events.remove(place.expect("the first one")).2 {
                Event::Control(node, from, message) => {
                    aodv.receive(node, from, &message, now, self);
                }
                Event::Packet(node, from, packet) => {
                    aodv.heard(node, from, true, now);
                    if packet.1 == node {
                        self.arrived.push((packet, now));
                    } else {
                        self.submit(aodv, node, false, packet);
                    }
                }
            }
        }
    }

    fn send(&mut self, aodv: &mut Aodv<Data>, from: u32, to: u32) {
        self.submit(aodv, from, true, (from, to));
    }

    fn submit(&mut self, aodv: &mut Aodv<Data>, node: u32, is_source: bool, packet: Data) {
        let ready = aodv.submit(node, is_source, &packet, ends(packet), self.now, self);
        self.forwards.extend(ready.map(|_| (node, packet)));
    }
}

fn ends((source, target): Data) -> Ends {
    Ends { source, target }
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

fn chain(nodes: u32) -> World {
    let links: Vec<(u32, u32)> = (1..nodes).map(|n| (n - 1, n)).collect();
    World::new(nodes, &links)
}

fn aodv(params: AodvParams, nodes: u32) -> Aodv<Data> {
    Aodv::new(params, nodes as usize, |node| {
        Stream::named(1, &format!("aodv.{node}"))
    })
}

#[test]
fn a_route_is_found_hop_by_hop_and_used_both_ways() {
    let (mut world, mut aodv) = (chain(6), aodv(AodvParams::NS2, 6));
    world.send(&mut aodv, 0, 5);
    world.send(&mut aodv, 0, 5);
    world.run(&mut aodv, at(1000));
    assert_eq!(world.questions, 5, "one a hop");
    assert_eq!(world.arrived.len(), 2);
    // There by jitter below 10 ms a hop, back and there again without; the second 10 ms later.
    let [first, second] = [world.arrived[0].1, world.arrived[1].1];
    assert_eq!(second - first, Span::from_millis(10));
    assert!((at(15)..at(55)).contains(&first), "{first:?}");
    world.send(&mut aodv, 5, 0);
    world.run(&mut aodv, at(2000));
    assert_eq!((world.questions, world.arrived.len()), (5, 3));
}

#[test]
fn rings_grow_until_the_target_is_found() {
    let (mut world, mut aodv) = (chain(5), aodv(AodvParams::RFC, 5));
    world.send(&mut aodv, 0, 4);
    world.run(&mut aodv, at(3000));
    // Rings of 1, 3 and 5 hops: 1, 3 and 4 questions.
    assert_eq!(world.questions, 8);
    assert_eq!(world.arrived.len(), 1);
}

#[test]
fn without_an_answer_it_is_given_up_and_silent() {
    let (mut world, mut aodv) = (chain(2), aodv(AodvParams::NS2, 3));
    world.links.push(Vec::new());
    for _ in 0..70 {
        world.send(&mut aodv, 0, 2);
    }
    assert_eq!(world.lost.len(), 6, "64 wait");
    world.run(&mut aodv, at(60_000));
    // Four questions of its own, passed on once each: after 1.8, 3.6, 5.4 and 7.2 s.
    assert_eq!(world.questions, 8);
    assert_eq!(world.lost.len(), 70);
    assert!(world.lost[6..].iter().all(|(_, why)| *why == Lost::NoRoute));
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(61_000));
    assert_eq!(world.questions, 10, "the silence is over");
}

#[test]
fn a_broken_link_is_told_to_the_source_which_finds_another_way() {
    // 0 - 1 - 2 and 0 - 3 - 4 - 2.
    let mut world = World::new(5, &[(0, 1), (1, 2), (0, 3), (3, 4), (4, 2)]);
    let mut aodv = aodv(AodvParams::NS2, 5);
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(100));
    assert_eq!(aodv.next(0, 2), Some(1));
    world.cut(1, 2);
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(200));
    assert_eq!(aodv.next(0, 2), None, "the source has heard");
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(400));
    assert_eq!(aodv.next(0, 2), Some(3));
    assert_eq!(world.arrived.len(), 2, "one was lost at the broken link");
}

/// RFC 3561 section 6.11: an RERR names targets that have precursors, goes to these and no further:
/// by unicast where it is one, to all where they are several.
#[test]
fn errors_go_to_those_who_send_over_the_broken_link() {
    // 0 - 1 - 2 - 3 - 4: each relay has one precursor, which got its answer.
    let (mut world, mut routing) = (chain(5), aodv(AodvParams::RFC, 5));
    world.send(&mut routing, 0, 4);
    world.run(&mut routing, at(1000));
    world.cut(3, 4);
    world.send(&mut routing, 0, 4);
    world.run(&mut routing, at(1050));
    assert_eq!(world.errors, [(3, Some(2)), (2, Some(1)), (1, Some(0))]);
    let known = [0, 1, 2, 3].map(|node| routing.next(node, 4));
    assert_eq!(known, [None; 4]);
    assert_eq!(routing.next(2, 0), Some(1), "the way back holds");

    // 0 and 1 both send over 2, which 3 has as its only precursor.
    let mut world = World::new(5, &[(0, 2), (1, 2), (2, 3), (3, 4)]);
    let mut routing = aodv(AodvParams::RFC, 5);
    for source in [0, 1] {
        world.send(&mut routing, source, 4);
        let now = at(1000 * (u64::from(source) + 1));
        world.run(&mut routing, now);
    }
    assert_eq!(world.arrived.len(), 2);
    world.cut(3, 4);
    world.send(&mut routing, 0, 4);
    world.run(&mut routing, at(2050));
    assert_eq!(world.errors, [(3, Some(2)), (2, None)]);
    assert_eq!([0, 1].map(|node| routing.next(node, 4)), [None; 2]);
}

/// The same section: nobody is told of a route that nobody else uses. No answer went over the way
/// back from 2 to 0, so that a packet has to come before 2 hears that 1 knows no way any more.
#[test]
fn without_precursors_there_is_no_error_but_for_a_packet_that_comes_all_the_same() {
    let (mut world, mut routing) = (chain(3), aodv(AodvParams::RFC, 3));
    world.send(&mut routing, 0, 2);
    world.run(&mut routing, at(1000));
    world.cut(0, 1);
    world.send(&mut routing, 0, 2);
    world.run(&mut routing, at(1020));
    assert_eq!(world.errors, [], "the source itself");
    world.send(&mut routing, 2, 0);
    world.run(&mut routing, at(1040));
    assert_eq!((world.errors.len(), routing.next(2, 0)), (0, Some(1)));
    world.send(&mut routing, 2, 0);
    world.run(&mut routing, at(1060));
    assert_eq!(world.errors, [(1, Some(2))]);
    assert_eq!(routing.next(2, 0), None);
}

/// ns-2 tells all of every break, and passes on what concerns a precursor.
#[test]
fn by_the_rules_of_ns2_errors_go_to_all() {
    let (mut world, mut routing) = (chain(4), aodv(AodvParams::NS2, 4));
    world.send(&mut routing, 0, 3);
    world.run(&mut routing, at(1000));
    world.cut(0, 1);
    world.send(&mut routing, 0, 3);
    world.run(&mut routing, at(1020));
    assert_eq!(world.errors, [(0, None)], "also a source");
    let (mut world, mut routing) = (chain(4), aodv(AodvParams::NS2, 4));
    world.send(&mut routing, 0, 3);
    world.run(&mut routing, at(1000));
    let broken = route(&routing, 2, 3).number;
    world.control(
        2,
        message::error(&[Sequenced {
            node: 3,
            number: broken + 1,
        }]),
        None,
    );
    world.run(&mut routing, at(1020));
    assert_eq!(world.errors, [(2, None), (1, None)], "0 has no precursors");
}

#[test]
fn hellos_tell_of_a_neighbour_that_is_gone_and_end_with_the_traffic() {
    let hello = Some(Span::from_secs(1));
    let params = AodvParams {
        hello,
        ..AodvParams::NS2
    };
    let (mut world, mut aodv) = (chain(3), aodv(params, 3));
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(4000));
    assert_eq!(aodv.next(0, 2), Some(1));
    world.cut(0, 1);
    world.run(&mut aodv, at(8000));
    assert_eq!(aodv.next(0, 2), None, "found without a packet");
    assert_eq!(aodv.next(1, 2), Some(2), "the other link is there");
    world.run(&mut aodv, at(60_000));
    assert!(aodv.due().is_none(), "nobody has a route");
}

#[test]
fn routes_that_carry_nothing_grow_old() {
    let (mut world, mut aodv) = (chain(3), aodv(AodvParams::RFC, 3));
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(1000));
    let before = world.questions;
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(5000));
    assert_eq!(world.questions, before, "in use");
    world.run(&mut aodv, at(20_000));
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(25_000));
    assert!(world.questions > before);
    assert_eq!(world.arrived.len(), 3);
}

/// RFC 3561 section 6.2: each time a route is used to forward a data packet, the lifetimes of the
/// source, the destination, the next hop to the destination and the previous hop on the way back to
/// the source are no less than the current time plus ACTIVE_ROUTE_TIMEOUT.
#[test]
fn a_relay_keeps_the_routes_alive_that_a_packet_shows() {
    let (mut world, mut routing) = (chain(5), aodv(AodvParams::RFC, 5));
    for second in 0..20 {
        world.run(&mut routing, at(1000 * second));
        world.send(&mut routing, 0, 4);
    }
    world.run(&mut routing, at(20_000));
    assert_eq!(world.arrived.len(), 20);
    assert_eq!(world.questions, 8, "the first ones");
    // The last packet left at 19 s: 3 s from then, over a hop each millisecond.
    for (relay, others) in [
        (1, [0, 4, 2]),
        (2, [0, 4, 3]),
        (2, [1, 3, 4]),
        (3, [0, 4, 2]),
    ] {
        for other in others {
            let expires = route(&routing, relay, other).expires;
            let until = at(22_000 + relay as u64);
            assert_eq!(expires, until, "of {other} at {relay}");
        }
    }
    // Under ns-2's rules that of the target alone.
    let (mut world, mut routing) = (chain(3), aodv(AodvParams::NS2, 3));
    for second in 0..20 {
        world.run(&mut routing, at(1000 * second));
        world.send(&mut routing, 0, 2);
    }
    let [back, forth] = [0, 2].map(|end| route(&routing, 1, end).expires);
    assert!(
        back < at(11_000) && forth > at(28_000),
        "{back:?} {forth:?}"
    );
}

/// RFC 3561 sections 6.5 and 6.6: a question makes a route to the neighbour that it came from, whose
/// sequence number is unknown, so that nobody answers for it.
#[test]
fn a_neighbour_that_has_asked_needs_no_question_and_is_not_answered_for() {
    let (mut world, mut aodv) = (chain(4), aodv(AodvParams::RFC, 4));
    world.send(&mut aodv, 0, 3);
    world.run(&mut aodv, at(1000));
    let before = world.questions;
    world.send(&mut aodv, 2, 1);
    world.run(&mut aodv, at(1100));
    assert_eq!((world.questions, world.arrived.len()), (before, 2));
    // 0 asks for 2: 1 has a route but no number, and passes the question on.
    world.send(&mut aodv, 0, 2);
    world.run(&mut aodv, at(2000));
    assert!(world.questions >= before + 2, "{}", world.questions);
    assert_eq!(world.arrived.len(), 3);
}

proptest! {
    /// Over any graph packets arrive exactly where there is a way, and never come back to a node.
    #[test]
    fn packets_arrive_where_there_is_a_way(
        params in prop::sample::select(vec![AodvParams::NS2, AodvParams::RFC]),
        links in prop::collection::vec((0..9_u32, 0..9_u32), 0..24),
        packets in prop::collection::vec((0..9_u32, 0..9_u32), 1..8),
    ) {
        let links: Vec<(u32, u32)> = links.into_iter().filter(|(a, b)| a != b).collect();
        let mut world = World::new(9, &links);
        let mut reach: Vec<u32> = (0..9).collect();
        for _ in 0..9 {
            for &(a, b) in &links {
                let least = reach[a as usize].min(reach[b as usize]);
                (reach[a as usize], reach[b as usize]) = (least, least);
            }
        }
        let mut aodv = aodv(params, 9);
        let packets: Vec<Data> = packets.into_iter().filter(|(a, b)| a != b).collect();
        for &(from, to) in &packets {
            world.send(&mut aodv, from, to);
            let now = world.now + Span::from_millis(7);
            world.run(&mut aodv, now);
        }
        world.run(&mut aodv, at(60_000));
        let joined = |&(a, b): &Data| reach[a as usize] == reach[b as usize];
        let expected = packets.iter().filter(|packet| joined(packet)).count();
        prop_assert_eq!(world.arrived.len(), expected);
        prop_assert_eq!(world.lost.len(), packets.len() - expected);
    }
}
