//! A packet with addresses, for disciplines that know hosts and classes.

use sojourn_qdisc::{
    AckFacts, Dequeue, DropReason, Ecn, InsideHashes, Outlet, Packet, Qdisc, Setting, Spec,
};
use sojourn_units::Time;

/// A packet with addresses, a class and maybe an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: u64,
    pub(crate) len: u32,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) port: u32,
    pub(crate) dscp: u8,
    pub(crate) ecn: Ecn,
    pub(crate) ack: Option<AckFacts>,
    pub(crate) mark: u32,
    pub(crate) class: u16,
    /// Source inside a translation.
    pub(crate) inside: Option<u32>,
    /// Of a super-packet, the length of each segment but the last.
    pub(crate) segment: u32,
}

fn hash(value: u64, perturbation: u64) -> u32 {
    (sojourn_random::mix(sojourn_random::mix(value ^ perturbation) ^ 7) >> 32) as u32
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        self.len
    }
    fn flow_hash(&self, perturbation: u64) -> u32 {
        let pair = u64::from(self.src) << 40 | u64::from(self.dst) << 20 | u64::from(self.port);
        hash(pair, perturbation)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) -> bool {
        let capable = self.ecn.is_capable();
        if capable {
            self.ecn = Ecn::Ce;
        }
        capable
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn clear_dscp(&mut self) {
        self.dscp = 0;
    }
    fn host_hashes(&self, p: u64) -> (u32, u32) {
        (hash(u64::from(self.src), p), hash(u64::from(self.dst), p))
    }
    fn inside_hashes(&self, p: u64) -> Option<InsideHashes> {
        let src = self.inside?;
        let inside = Self { src, ..*self };
        Some(InsideHashes {
            flow: inside.flow_hash(p),
            hosts: inside.host_hashes(p),
        })
    }
    fn mark(&self) -> u32 {
        self.mark
    }
    fn class(&self) -> u16 {
        self.class
    }
    fn ack(&self) -> Option<AckFacts> {
        self.ack
    }
    fn segments(&self) -> Option<(u32, u32)> {
        let is_super = self.segment > 0 && self.len > self.segment;
        is_super.then(|| (self.len.div_ceil(self.segment), self.segment))
    }
}

/// A full-sized packet of best effort.
pub(crate) fn frame(src: u32, dst: u32, port: u32) -> Frame {
    Frame {
        id: 0,
        len: 1514,
        src,
        dst,
        port,
        dscp: 0,
        ecn: Ecn::NotEct,
        ack: None,
        mark: 0,
        class: 0,
        inside: None,
        segment: 0,
    }
}

/// Keeps what was dropped.
#[derive(Default)]
pub(crate) struct Drops(pub(crate) Vec<(Frame, DropReason)>);

impl Outlet<Frame> for Drops {
    fn dropped(&mut self, packet: Frame, reason: DropReason) {
        self.0.push((packet, reason));
    }

    /// The first segment keeps the number, the rest has the next one.
    fn cut(&mut self, packet: &mut Frame) -> Option<Frame> {
        let (_, len) = packet.segments()?;
        let first = Frame { len, ..*packet };
        packet.id += 1;
        packet.len -= len;
        Some(first)
    }
}

pub(crate) const SETTING: Setting<'static> = Setting {
    seed: 5,
    name: "test",
    mtu: 1514,
    link_header: 14,
};

pub(crate) fn build(spec: &str) -> Box<dyn Qdisc<Frame>> {
    let spec: Spec = spec.parse().expect("a valid string");
    spec.build(SETTING)
}

pub(crate) fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// Keeps every flow backlogged for `seconds` and counts the bytes that each gets. Each flow
/// offers a packet again whenever one of its own leaves or is dropped.
pub(crate) fn compete(mut queue: Box<dyn Qdisc<Frame>>, flows: &[Frame], seconds: u64) -> Vec<f64> {
    let mut sent = vec![0_u64; flows.len()];
    let mut now = ms(1);
    let mut drops = Drops::default();
    for _ in 0..10 {
        for (id, flow) in flows.iter().enumerate() {
            let id = id as u64;
            queue.enqueue(Frame { id, ..*flow }, now, &mut drops);
        }
    }
    while now < ms(1000 * seconds) {
        match queue.dequeue(now, &mut drops) {
            Dequeue::Packet { packet, .. } => {
                sent[packet.id as usize] += u64::from(packet.len);
                drops.0.push((packet, DropReason::Aqm));
            }
            Dequeue::NotBefore(time) => now = time,
            Dequeue::Empty => panic!("always backlogged"),
        }
        for (packet, _) in std::mem::take(&mut drops.0) {
            let fresh = flows[packet.id as usize];
            queue.enqueue(
                Frame {
                    id: packet.id,
                    ..fresh
                },
                now,
                &mut drops,
            );
        }
    }
    let all: u64 = sent.iter().sum();
    sent.iter()
        .map(|&bytes| bytes as f64 / all as f64)
        .collect()
}

pub(crate) fn near(shares: &[f64], wanted: &[f64], slack: f64) {
    for (share, wanted) in shares.iter().zip(wanted) {
        assert!((share - wanted).abs() < slack, "{shares:?}");
    }
}
