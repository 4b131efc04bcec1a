//! A tin of CAKE, one class of traffic: its queue and clock, its parameters, its statistics.
//!
//! Source: as of [`Cake`](crate::Cake). Linux: `struct cake_tin_data`, `cake_set_rate`.

use crate::accounts::DropReason;
use crate::aqm::Cobalt;
use crate::flow::{FlowPolicy, FlowQueue, HostFair, Sharing};
use crate::packet::Packet;
use crate::params::{CakeParams, CobaltParams, FlowParams, FlowParts};
use crate::report::{Field, int, micros};
use crate::shaper::TinClock;
use alloc::format;
use alloc::vec::Vec;
use sojourn_random::Stream;
use sojourn_units::{Rate, Span};

/// Queues of a tin.
const QUEUES: u32 = 1024;
/// Least and largest quantum of a flow.
const QUANTUM: (u64, u64) = (300, 1514);
/// The slowest rate by which Linux lengthens a tin's target: 64 bytes per second.
const SLOWEST: Rate = Rate::from_bps(512);

/// Averages of the delays of packets that leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delays {
    /// Follows rises fast.
    peak: Span,
    avg: Span,
    /// Follows falls fast.
    base: Span,
}

impl Delays {
    /// A packet leaves after `sojourn`.
    #[inline]
    pub(super) fn see(&mut self, sojourn: Span) {
        self.avg = follow(self.avg, sojourn, 8);
        let rises = sojourn > self.peak;
        self.peak = follow(self.peak, sojourn, if rises { 2 } else { 8 });
        let falls = sojourn < self.base;
        self.base = follow(self.base, sojourn, if falls { 2 } else { 8 });
    }
}

/// `average + (sample − average)/2^shift`, as the kernel rounds it. It cannot overflow: the first
/// term is largest for the largest average, and then leaves as much as the second one is at most.
#[inline]
pub(super) const fn ewma(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

#[inline]
fn follow(average: Span, sample: Span, shift: u32) -> Span {
    Span::from_nanos(ewma(average.as_nanos(), sample.as_nanos(), shift))
}

/// One class of traffic.
#[derive(Clone, Debug)]
pub(super) struct Tin<P> {
    pub(super) queue: FlowQueue<P, Cobalt, HostFair>,
    pub(super) clock: TinClock,
    pub(super) delays: Delays,
    /// Longest packet.
    pub(super) max_pkt_len: u32,
}

impl<P: Packet> Tin<P> {
    /// An empty one, without a rate. Its random decisions have `seed` and `name`.
    pub(super) fn new(seed: u64, name: &str, mtu: u32) -> Self {
        let dice = |purpose: &str| Stream::named(seed, &format!("{name}.{purpose}"));
        let cobalt = Cobalt::new(CobaltParams::default(), dice("blue"));
        // Limits are out of reach: memory is counted over all tins, and the longest queue of any
        // of them drops.
        let flows = FlowParams {
            limit: u32::MAX,
            flows: QUEUES,
            memory_limit: u64::MAX,
            ..FlowParams::default()
        };
        let policy = HostFair::new(Sharing::default(), dice("quantum"));
        // One hash for all tins.
        let hash = Stream::named(seed, "hash");
        Self {
            queue: FlowQueue::with_policy(flows, mtu, hash, cobalt, policy),
            clock: TinClock::new(Rate::ZERO),
            delays: Delays::default(),
            max_pkt_len: 0,
        }
    }

    /// Brings the parts in line with the tin's rate and CAKE's parameters.
    pub(super) fn configure(
        &mut self,
        rate: Rate,
        params: &CakeParams,
        sharing: Sharing,
        mtu: u32,
    ) {
        self.clock.set_rate(rate);
        self.queue.policy_mut().set_sharing(sharing);
        self.queue.aqm_mut().set_params(CobaltParams {
            ce_threshold: params.ce_threshold,
            ce_selector: params.ce_selector,
            ..cobalt(params.rtt, rate, mtu)
        });
        // Linux: what the tin sends in a 4096th of a second, so that slow links take turns by
        // small packets and fast ones save turns.
        let quantum = match rate.bytes_per_sec() >> 12 {
            _ if rate.is_zero() => QUANTUM.1,
            quantum => quantum.clamp(QUANTUM.0, QUANTUM.1),
        };
        self.queue.set_params(FlowParams {
            quantum: Some(quantum as u32),
            parts: FlowParts {
                isolation: sharing.isolation,
                set_associative: sharing.set_associative,
                nat: sharing.nat,
                ack_filter: sharing.ack_filter,
            },
            ..*self.queue.params()
        });
    }

    /// The statistics that tc shows of a tin.
    pub(super) fn report(&self) -> Vec<Field> {
        let (queue, delays) = (&self.queue, &self.delays);
        let (counts, ways, params) = (queue.counts(), queue.ways(), queue.aqm().params());
        let acks = counts.dropped_for(DropReason::AckFilter);
        let bulk = queue.policy().bulk_flows();
        let unresponsive = queue.busy_flows().filter(|(_, state)| state.blue_prob > 0);
        Vec::from([
            int("threshold_rate", self.clock.rate().bytes_per_sec()),
            int("sent_bytes", counts.offered.bytes),
            int("backlog_bytes", queue.held().bytes),
            micros("target_us", params.target),
            micros("interval_us", params.interval),
            micros("peak_delay_us", delays.peak),
            micros("avg_delay_us", delays.avg),
            micros("base_delay_us", delays.base),
            int("sent_packets", counts.offered.packets),
            int("way_indirect_hits", ways.way_indirect_hits),
            int("way_misses", ways.way_misses),
            int("way_collisions", ways.way_collisions),
            int("drops", counts.dropped.packets - acks),
            int("ecn_mark", counts.marked.packets),
            int("ack_drops", acks),
            int("sparse_flows", queue.flows_in_turn().saturating_sub(bulk)),
            int("bulk_flows", bulk),
            int("unresponsive_flows", unresponsive.count() as u64),
            int("max_pkt_len", self.max_pkt_len),
            int("flow_quantum", queue.quantum()),
        ])
    }
}

/// COBALT for a tin that has `rate`, whose longest packet takes its time there.
pub(super) fn cobalt(rtt: Span, rate: Rate, mtu: u32) -> CobaltParams {
    let mtu_time = if rate.is_zero() {
        Span::ZERO
    } else {
        rate.max(SLOWEST).time_for(u64::from(mtu))
    };
    let wanted = Span::from_nanos(rtt.as_nanos() / 20);
    let slow = Span::from_nanos(mtu_time.as_nanos().saturating_mul(3) / 2);
    let target = wanted.max(slow);
    CobaltParams {
        target,
        interval: (rtt + (target - wanted)).max(target * 2),
        ecn: true,
        mtu_time,
        ..CobaltParams::default()
    }
}
