//! What only the inside shows: memory, and the parameters of COBALT.

use super::tin::cobalt;
use super::*;
use crate::{Discard, Ecn};

#[derive(Clone, Copy, Debug)]
struct Tiny(u32);

impl Packet for Tiny {
    fn len(&self) -> u32 {
        1000
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        sojourn_random::mix(u64::from(self.0) ^ perturbation) as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }
}

fn cake(diffserv: crate::DiffServ) -> Cake<Tiny> {
    let params = CakeParams {
        bandwidth: Some(Rate::from_bps(10_000_000)),
        diffserv,
        ..CakeParams::default()
    };
    Cake::new(params, 1514, 14, Stream::named(1, "cake"))
}

/// An ISP will want ten thousand of them.
#[test]
fn an_idle_instance_costs_a_few_kilobytes() {
    let idle = cake(crate::DiffServ::DiffServ3);
    let bytes = size_of::<Cake<Tiny>>() + idle.tins.capacity() * size_of::<Tin<Tiny>>();
    assert!(bytes < 4096, "{bytes}");
    let eight = cake(crate::DiffServ::DiffServ8);
    let bytes = size_of::<Cake<Tiny>>() + eight.tins.capacity() * size_of::<Tin<Tiny>>();
    assert!(bytes < 10_000, "{bytes}");
}

/// A set of eight is full with eight flows; the ninth shares, and all come out.
#[test]
fn many_flows_collide_only_when_their_sets_are_full() {
    let mut queue = cake(crate::DiffServ::BestEffort);
    for flow in 0..5000 {
        queue.enqueue(Tiny(flow), Time::from_nanos(1), &mut Discard);
    }
    let ways = *queue.tins[0].queue.ways();
    // 128 sets of eight are full long before the last flow comes.
    assert_eq!(ways.way_misses, 1024);
    assert!(ways.way_collisions > 3000, "{ways:?}");
    assert_eq!(queue.tins[0].queue.flows_in_turn(), 1024);
}

/// By hand for 625 kbit/s: 1514 bytes last 19379.2 us, and 3/2 of it 29068.8 us.
#[test]
fn slow_tins_have_longer_targets() {
    let params = cobalt(Span::from_millis(100), Rate::from_bps(625_000), 1514);
    assert_eq!(params.target, Span::from_nanos(29_068_800));
    assert_eq!(params.interval, Span::from_nanos(124_068_800));
    let slower = cobalt(Span::from_millis(10), Rate::from_bps(625_000), 1514);
    assert_eq!(slower.interval, Span::from_nanos(58_137_600));
}

/// Tiny packets have no DSCP and so are Best Effort, which tc shows second.
#[test]
fn a_packet_s_tin_is_told_in_tc_s_order() {
    for (diffserv, called) in [
        (crate::DiffServ::DiffServ3, "Best Effort"),
        (crate::DiffServ::BestEffort, "Tin 0"),
    ] {
        let mut queue = cake(diffserv);
        queue.enqueue(Tiny(1), Time::ZERO, &mut Discard);
        let taken = queue.dequeue(Time::ZERO, &mut Discard);
        assert!(matches!(taken, Dequeue::Packet { .. }));
        let name = queue.tin().map(|tin| diffserv.names()[tin]);
        assert_eq!(name, Some(called));
    }
}
