//! Host isolation: a flow's quantum shrinks with the number of bulk flows of its hosts.
//!
//! Source: "Piece of CAKE" section III-C; `tc-cake(8)`; compared with Linux `sch_cake.c` (6.1.192,
//! with the reworked bulk-flow accounts).
//!
//! A host's load is the number of its flows that have a standing queue. In a dual mode a flow
//! gets 1/load of the quantum, in triple mode by the larger load of its two hosts. The fraction
//! of a byte is settled by dice, or small quanta would be rounded to the hosts' disadvantage.
//!
//! Memory: 8 bytes per flow, and per direction 128 sets of up to eight hosts, made when first
//! used: 264 bytes, and 96 for each set.

use super::loads::Loads;
use super::policy::{FlowPolicy, FlowTurns, MOST_TURNS};
use super::ways::{WAYS, Way, bits, find};
use crate::share::{SharedHosts, SharedRate};
use crate::{AckFilter, FlowParts, Isolation, LinkLayer, Packet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use sojourn_random::{Stream, mix};

/// The parameters of [`HostFair`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Between whom.
    pub isolation: Isolation,
    /// A flow may stand in any of the buckets of its set. Stays as it is while there are flows.
    pub set_associative: bool,
    /// Which acknowledgements are dropped.
    pub ack_filter: AckFilter,
    /// Take the addresses inside a network address translation.
    pub nat: bool,
    /// What packets are charged with.
    pub link: LinkLayer,
    /// Packets that the AQM drops have used the link and are charged too.
    pub ingress: bool,
    /// Bytes before the network header of packets that do not tell.
    pub link_header: u32,
    /// An emptied new flow waits for a round of the old ones (RFC 8290 section 4.2; not in CAKE).
    pub emptied_wait: bool,
}

impl Sharing {
    /// Bytes of a packet before its network header.
    pub fn network_offset<P: Packet>(&self, packet: &P) -> u32 {
        packet.network_offset().unwrap_or(self.link_header)
    }

    /// Bytes of a packet on the link; of all of its segments, when it will be cut.
    #[inline]
    pub fn size<P: Packet>(&self, packet: &P) -> u32 {
        let (len, offset) = (packet.len(), self.network_offset(packet));
        match packet.segments() {
            Some((count, each)) if count > 1 => {
                let last = len.saturating_sub(each.saturating_mul(count - 1));
                self.link
                    .size(each, offset)
                    .saturating_mul(count - 1)
                    .saturating_add(self.link.size(last, offset))
            }
            _ => self.link.size(len, offset),
        }
    }
}

/// Eight hosts in one direction.
#[derive(Clone, Copy, Debug, Default)]
struct HostSet {
    tags: [u32; WAYS as usize],
    /// Flows of each that take part.
    flows: [u32; WAYS as usize],
    /// Those of them that have a standing queue.
    bulk: [u32; WAYS as usize],
}

/// A flow's part of a quantum by its hosts' load, in 1/65536; a host with no bulk flow has a load
/// of one. More than a thousand are divided when they come.
static SHARES: [u16; 1025] = {
    let mut shares = [u16::MAX; 1025];
    let mut load = 2;
    while load < shares.len() {
        shares[load] = (65_535 / load) as u16;
        load += 1;
    }
    shares
};

/// A set that has no entry yet.
const NO_SET: u8 = u8::MAX;
const SETS: usize = 128;

/// The hosts of one direction.
#[derive(Clone, Debug, Default)]
struct Hosts {
    /// Where each set is; empty before the first host.
    places: Vec<u8>,
    sets: Vec<HostSet>,
    /// Their loads, where other queues have flows of the same hosts.
    shared: Loads,
}

impl Hosts {
    /// A flow of the host with this hash takes part. Returns the host, or the one that it has to
    /// share an entry with.
    #[inline]
    fn join(&mut self, hash: u32) -> u16 {
        // The usual case: the host is where its hash puts it, and nothing is searched.
        let own = (hash >> 22) % WAYS;
        if let Some(place) = self.places.get((hash >> 25) as usize)
            && let Some(set) = self.sets.get_mut(usize::from(*place))
            && set.tags[own as usize] == hash
            && set.flows[own as usize] > 0
        {
            set.flows[own as usize] += 1;
            return u16::from(*place) * WAYS as u16 + own as u16;
        }
        let id = self.look_through(own, hash);
        self.count(id, 1);
        id
    }

    #[inline(never)]
    fn look_through(&mut self, own: u32, hash: u32) -> u16 {
        if self.places.is_empty() {
            self.places.resize(SETS, NO_SET);
        }
        let place = &mut self.places[(hash >> 25) as usize];
        if *place == NO_SET {
            *place = self.sets.len() as u8;
            self.sets.push(HostSet::default());
        }
        let set = &mut self.sets[usize::from(*place)];
        let busy = bits(&set.flows, |flows| flows > 0);
        let hits = bits(&set.tags, |tag| tag == hash) & busy;
        let found = find(own, hits, busy);
        let (Way::Hit(way) | Way::Free(way) | Way::Collision(way)) = found;
        // On a collision the newcomer's tag stands: the next packet of the host is found at once.
        set.tags[way as usize] = hash;
        let id = u16::from(*place) * WAYS as u16 + way as u16;
        if matches!(found, Way::Free(_)) {
            self.shared.name(id, hash);
        }
        id
    }

    /// The host has so many flows more.
    #[inline]
    fn count(&mut self, id: u16, flows: i32) {
        if let Some(set) = self.sets.get_mut(usize::from(id / WAYS as u16)) {
            let count = &mut set.flows[usize::from(id % WAYS as u16)];
            debug_assert!(
                count.checked_add_signed(flows).is_some(),
                "a flow left twice"
            );
            *count = count.wrapping_add_signed(flows);
        }
    }

    /// So many of its flows more have a standing queue.
    #[inline]
    fn count_bulk(&mut self, id: u16, bulk: i32) {
        if let Some(set) = self.sets.get_mut(usize::from(id / WAYS as u16)) {
            let count = &mut set.bulk[usize::from(id % WAYS as u16)];
            debug_assert!(
                count.checked_add_signed(bulk).is_some(),
                "a flow left twice"
            );
            *count = count.wrapping_add_signed(bulk);
            self.shared.add(id, bulk);
        }
    }

    #[inline]
    fn load(&self, id: u16) -> u32 {
        let set = self.sets.get(usize::from(id / WAYS as u16));
        let own = |set: &HostSet| set.bulk[usize::from(id % WAYS as u16)];
        set.map_or(0, |set| self.shared.of_host(id).unwrap_or_else(|| own(set)))
    }
}

/// Numbers of the hosts that a flow goes from and to. They are one word, because every turn of a
/// flow compares them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct HostPair(u32);

/// No flow's hosts.
const NO_HOSTS: HostPair = HostPair(u32::MAX);

impl HostPair {
    const fn new(src: u16, dst: u16) -> Self {
        Self((src as u32) << 16 | dst as u32)
    }

    const fn src(self) -> u16 {
        (self.0 >> 16) as u16
    }

    const fn dst(self) -> u16 {
        self.0 as u16
    }
}

/// What host isolation keeps of a flow: one word, because turns compare it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostFlow(u64);

impl HostFlow {
    /// It takes part and is counted with its hosts.
    const IN: u64 = 1 << 32;
    /// It has a standing queue.
    const BULK: u64 = 1 << 33;

    /// One that takes part.
    const fn new(hosts: HostPair, is_bulk: bool) -> Self {
        Self(hosts.0 as u64 | Self::IN | if is_bulk { Self::BULK } else { 0 })
    }

    const fn hosts(self) -> HostPair {
        HostPair(self.0 as u32)
    }

    const fn is_in(self) -> bool {
        self.0 & Self::IN != 0
    }

    const fn is_bulk(self) -> bool {
        self.0 & Self::BULK != 0
    }
}

/// Turns of bulk flows of the same hosts.
#[derive(Debug)]
pub struct Steady {
    /// All these flows.
    flow: HostFlow,
    /// What each gets in a round, in 1/65536 byte.
    exact: u64,
    dice: Stream,
}

impl FlowTurns<HostFlow> for Steady {
    #[inline]
    fn fits(&self, flow: &HostFlow) -> bool {
        *flow == self.flow
    }

    #[inline]
    fn next(&mut self) -> i64 {
        settle(self.exact, &mut self.dice)
    }
}

/// Whole bytes for `exact` of them in 1/65536: sixteen random bits below the point round up as
/// often as the fraction says.
#[inline]
fn settle(exact: u64, dice: &mut Stream) -> i64 {
    ((exact + (dice.bits() >> 48)) >> 16).cast_signed()
}

/// Counts which of some numbers of sixteen random bits are below `part`, which has sixteen bits.
///
/// One random word is a bit of all numbers, the highest bit first. Another word is needed only
/// while some number equals the highest bits of `part`: mostly six or seven times.
fn count_below(part: u64, numbers: u32, dice: &mut Stream) -> u32 {
    debug_assert!(numbers <= MOST_TURNS, "{numbers} numbers");
    if part == 0 {
        return 0;
    }
    let (mut count, mut left) = (0, numbers);
    if left > 32 {
        let mut numbers = Numbers::new(part, left.min(64));
        left -= left.min(64);
        while numbers.equal != 0 {
            numbers.see(dice.bits());
        }
        count = numbers.below.count_ones();
    }
    if left > 0 {
        let mut numbers = Numbers::new(part, left.min(32));
        // A word has two bits of each number. Four words are nearly always enough. They are drawn
        // without a test, since a processor cannot foresee a loop that ends by chance.
        for _ in 0..4 {
            numbers.see_two(dice.bits());
        }
        while numbers.equal != 0 {
            numbers.see_two(dice.bits());
        }
        count += numbers.below.count_ones();
    }
    count
}

/// Numbers of which the highest bits are known; each number is a bit of these words.
struct Numbers {
    /// Numbers whose known bits equal those of the part.
    equal: u64,
    /// Numbers that are below the part.
    below: u64,
    /// Bits of the part that are not compared yet, from the top.
    rest: u64,
}

impl Numbers {
    #[inline]
    const fn new(part: u64, count: u32) -> Self {
        Self {
            equal: u64::MAX >> (64 - count),
            below: 0,
            rest: part << 48,
        }
    }

    /// The next bit of each.
    #[inline]
    const fn see(&mut self, bits: u64) {
        let ones = (self.rest.cast_signed() >> 63).cast_unsigned();
        let differ = self.equal & (bits ^ ones);
        self.below |= differ & ones;
        self.equal ^= differ;
        self.rest <<= 1;
    }

    /// The next two bits of each of 32.
    #[inline]
    const fn see_two(&mut self, bits: u64) {
        self.see(bits);
        self.see(bits >> 32);
    }
}

/// Host isolation, ACK filter, link-layer sizes and set-associative hashing.
#[derive(Clone, Debug)]
pub struct HostFair {
    sharing: Sharing,
    /// Hosts of the flow whose share was asked for last, while their loads stay; none where hosts
    /// are shared, because other queues change the loads.
    latest_hosts: HostPair,
    /// That share.
    latest_share: u32,
    dice: Stream,
    sources: Hosts,
    destinations: Hosts,
    /// Hashes of the hosts of the packet hashed last.
    pair: (u32, u32),
    bulk_flows: u32,
    /// Size on the link of the packet charged last.
    charged: u32,
    /// The mean of shares given, in 1/2²⁴ of a quantum, where other queues ask for it.
    mean_share: Option<u32>,
}

impl HostFair {
    /// `dice` settle fractions of a byte.
    pub fn new(sharing: Sharing, dice: Stream) -> Self {
        Self {
            sharing,
            latest_hosts: NO_HOSTS,
            latest_share: 0,
            dice,
            sources: Hosts::default(),
            destinations: Hosts::default(),
            pair: (0, 0),
            bulk_flows: 0,
            charged: 0,
            mean_share: None,
        }
    }

    /// Hosts have flows in other queues too, which count in their loads.
    pub(crate) fn share_hosts(&mut self, sources: SharedHosts, destinations: SharedHosts) {
        self.sources.shared = Loads::of(sources);
        self.destinations.shared = Loads::of(destinations);
        self.latest_hosts = NO_HOSTS;
        self.mean_share = Some(u32::from(u16::MAX) << 8);
    }

    /// As `other` does, in a copy of what that shares.
    pub(crate) fn share_hosts_as(&mut self, other: &Self, shared: &Arc<SharedRate>) {
        self.sources.shared = other.sources.shared.onto(shared);
        self.destinations.shared = other.destinations.shared.onto(shared);
    }

    /// What a flow in turn gets of a quantum, in 1/65536: where hosts are shared, the mean of about
    /// the last 32 turns.
    pub(crate) fn mean_share(&self) -> u64 {
        u64::from(self.mean_share.unwrap_or(u32::from(u16::MAX) << 8) >> 8)
    }

    /// Size on the link of the packet that has left last.
    pub(crate) const fn charged(&self) -> u32 {
        self.charged
    }

    /// The parameters in force.
    pub const fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Changes the parameters. Flows under way stay in their queues with another isolation.
    pub fn set_sharing(&mut self, sharing: Sharing) {
        self.latest_hosts = NO_HOSTS;
        self.sharing = sharing;
    }

    /// A flow's part of a quantum, in 1/65536.
    #[inline(never)]
    fn share_by_load(&mut self, hosts: HostPair) -> u32 {
        let mut load = 1;
        if self.sharing.isolation.is_by_source() {
            load = load.max(self.sources.load(hosts.src()));
        }
        if self.sharing.isolation.is_by_destination() {
            load = load.max(self.destinations.load(hosts.dst()));
        }
        let known = SHARES.get(load as usize);
        let share = known.map_or_else(|| (65_535 / load).max(1), |share| u32::from(*share));
        match &mut self.mean_share {
            // A weight of 1/32; `share` is in 1/2¹⁶, the mean in 1/2²⁴.
            Some(mean) => *mean = *mean - (*mean >> 5) + (share << 3),
            None => self.latest_hosts = hosts,
        }
        self.latest_share = share;
        share
    }

    /// So many flows more of these hosts have a standing queue.
    #[inline(never)]
    fn count_bulk(&mut self, hosts: HostPair, bulk: i32) {
        // The loads change, and with them the share that was kept.
        self.latest_hosts = NO_HOSTS;
        self.sources.count_bulk(hosts.src(), bulk);
        self.destinations.count_bulk(hosts.dst(), bulk);
        self.bulk_flows = self.bulk_flows.wrapping_add_signed(bulk);
    }
}

impl FlowPolicy for HostFair {
    type Flow = HostFlow;
    type Turns = Steady;

    const SHARES_QUANTUM: bool = true;
    const CHARGES_DROPS: bool = true;

    fn hash<P: Packet>(&mut self, packet: &P, perturbation: u64) -> u32 {
        let isolation = self.sharing.isolation;
        let nat = self.sharing.nat.then_some(packet);
        let inside = nat.and_then(|packet| packet.inside_hashes(perturbation));
        if isolation.asks_hosts() {
            let hosts = || packet.host_hashes(perturbation);
            self.pair = inside.map_or_else(hosts, |inside| inside.hosts);
        }
        if isolation.tells_flows() {
            return inside.map_or_else(|| packet.flow_hash(perturbation), |inside| inside.flow);
        }
        match isolation {
            Isolation::SrcHost => self.pair.0,
            Isolation::DstHost => self.pair.1,
            Isolation::Hosts => {
                let pair = u64::from(self.pair.0) << 32 | u64::from(self.pair.1);
                mix(pair ^ perturbation) as u32
            }
            _ => 0,
        }
    }

    #[inline]
    fn is_associative(&self) -> bool {
        self.sharing.set_associative
    }

    #[inline]
    fn emptied_wait(&self) -> bool {
        self.sharing.emptied_wait
    }

    fn set_parts(&mut self, parts: &FlowParts) {
        self.sharing.ack_filter = parts.ack_filter;
    }

    #[inline]
    fn joined(&mut self, flow: &mut HostFlow) {
        debug_assert!(!flow.is_in(), "a flow joins twice");
        let src = self.sources.join(self.pair.0);
        let dst = self.destinations.join(self.pair.1);
        *flow = HostFlow::new(HostPair::new(src, dst), false);
    }

    fn moved(&mut self, flow: &mut HostFlow) {
        let is_bulk = flow.is_bulk();
        // Its hosts are other ones now, and each load must count it once.
        self.left(flow);
        self.joined(flow);
        if is_bulk {
            self.stands(flow);
        }
    }

    #[inline]
    fn stands(&mut self, flow: &mut HostFlow) {
        if !flow.is_bulk() {
            flow.0 |= HostFlow::BULK;
            self.count_bulk(flow.hosts(), 1);
        }
    }

    #[inline]
    fn left(&mut self, flow: &mut HostFlow) {
        if flow.is_in() {
            let (hosts, is_bulk) = (flow.hosts(), flow.is_bulk());
            *flow = HostFlow::default();
            self.sources.count(hosts.src(), -1);
            self.destinations.count(hosts.dst(), -1);
            if is_bulk {
                self.count_bulk(hosts, -1);
            }
        }
    }

    #[inline]
    fn share(&mut self, flow: &HostFlow) -> u32 {
        // Flows of one host often follow each other.
        if flow.hosts() == self.latest_hosts {
            return self.latest_share;
        }
        self.share_by_load(flow.hosts())
    }

    #[inline]
    fn quantum(&mut self, share: u32, quanta: u64) -> i64 {
        settle(quanta * u64::from(share), &mut self.dice)
    }

    #[inline]
    fn exact(&self, quantum: u64) -> u64 {
        quantum * u64::from(self.latest_share)
    }

    #[inline]
    fn gain(&mut self, exact: u64, turns: u32) -> i64 {
        if turns == 1 {
            return settle(exact, &mut self.dice);
        }
        let below = count_below(exact & 0xffff, turns, &mut self.dice);
        ((exact >> 16) * u64::from(turns) + u64::from(below)).cast_signed()
    }

    #[inline]
    fn turns(&self, quantum: u64) -> Steady {
        Steady {
            flow: HostFlow::new(self.latest_hosts, true),
            exact: quantum * u64::from(self.latest_share),
            dice: self.dice.clone(),
        }
    }

    #[inline]
    fn keep(&mut self, turns: Steady) {
        self.dice = turns.dice;
    }

    #[inline]
    fn charge<P: Packet>(&mut self, packet: &P) -> i64 {
        self.charged = self.sharing.size(packet);
        i64::from(self.charged.max(1))
    }

    fn charge_of_drop<P: Packet>(&self, packet: &P) -> i64 {
        if self.sharing.ingress {
            i64::from(self.sharing.size(packet).max(1))
        } else {
            0
        }
    }

    fn bulk_flows(&self) -> u32 {
        self.bulk_flows
    }

    #[inline]
    fn bulk_flows_that_matter(&self) -> u32 {
        if self.sharing.ingress {
            self.bulk_flows
        } else {
            0
        }
    }

    fn ack_filter(&self) -> AckFilter {
        self.sharing.ack_filter
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_quotients() {
        for (load, share) in SHARES.iter().enumerate().skip(1) {
            assert_eq!(usize::from(*share), 65_535 / load);
        }
        assert_eq!(SHARES[0], SHARES[1]);
    }

    /// Turns in sequence give what single turns give, with the same dice, and only bulk flows of the
    /// hosts asked about last fit in.
    #[test]
    fn turns_in_sequence_are_single_turns() {
        for (standing, quantum) in [(1, 1514), (3, 300), (31, 1514), (64, 65_536)] {
            let mut policy = HostFair::new(Sharing::default(), Stream::named(9, "quantum"));
            let mut flows = [HostFlow::default(); 65];
            for flow in &mut flows {
                policy.joined(flow);
            }
            for flow in &mut flows[..standing] {
                policy.stands(flow);
            }
            assert!(!policy.turns(quantum).fits(&flows[0]), "no share is known");
            let share = policy.share(&flows[0]);
            let mut single = policy.clone();
            let mut turns = policy.turns(quantum);
            assert!(turns.fits(&flows[0]) && !turns.fits(&flows[64]));
            for _ in 0..1000 {
                assert_eq!(turns.next(), single.quantum(share, quantum));
            }
            policy.keep(turns);
            assert_eq!(policy.quantum(share, 1), single.quantum(share, 1));
        }
    }

    /// Numbers below a part are as many as chance makes them: mean and variance are those of a
    /// binomial distribution, within five standard errors of 4000 draws.
    #[test]
    fn numbers_thrown_together_are_single_ones() {
        let mut dice = Stream::named(3, "quantum");
        for part in [0, 1, 0x8000, 18_966, 43_690, 65_535] {
            for numbers in [1, 2, 31, 32, 33, 63, 64, 65, 95, 96] {
                let (mut sum, mut squares) = (0.0, 0.0);
                let draws = 4000.0;
                let share = part as f64 / 65_536.0;
                let mean = f64::from(numbers) * share;
                for _ in 0..4000 {
                    let below = count_below(part, numbers, &mut dice);
                    assert!(below <= numbers);
                    let off = f64::from(below) - mean;
                    sum += off;
                    squares += off * off;
                }
                let variance = mean * (1.0 - share);
                let error = libm::sqrt(variance / draws);
                let what = (part, numbers, sum / draws, squares / draws);
                assert!((sum / draws).abs() <= 5.0 * error, "{what:?}");
                // The fourth moment of a binomial number.
                let fourth =
                    variance * (1.0 + 3.0 * variance - 6.0 * variance / f64::from(numbers));
                let error = libm::sqrt((fourth - variance * variance).max(0.0) / draws);
                assert!(
                    (squares / draws - variance).abs() <= 5.0 * error,
                    "{what:?}"
                );
            }
        }
    }

    /// By hand: 65535, a half of it, a third. 2000 flows are more than the table has.
    #[test]
    fn a_share_follows_the_flows_that_stand() {
        let mut policy = HostFair::new(Sharing::default(), Stream::named(1, "quantum"));
        let mut flows = [HostFlow::default(); 2000];
        for flow in &mut flows {
            policy.joined(flow);
        }
        let mut shares = Vec::new();
        for standing in 0..3 {
            policy.stands(&mut flows[standing]);
            shares.push(policy.share(&flows[0]));
        }
        policy.left(&mut flows[1]);
        shares.push(policy.share(&flows[0]));
        assert_eq!(shares, [65_535, 32_767, 21_845, 32_767]);
        for flow in &mut flows[3..] {
            policy.stands(flow);
        }
        assert_eq!(policy.share(&flows[0]), 65_535 / 1999);
        let sharing = Sharing {
            isolation: Isolation::Flows,
            ..Sharing::default()
        };
        policy.set_sharing(sharing);
        assert_eq!(policy.share(&flows[0]), 65_535);
    }
}
