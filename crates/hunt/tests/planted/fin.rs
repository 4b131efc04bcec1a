//! A receiver whose SACK blocks never cover a FIN. It stands in the path: the queue before the line
//! there notes where a FIN ends, and the queue on the way back takes it out of the blocks.

use sojourn_qdisc::{Backlog, ChangeError, Counters, Dequeue, Outlet, Qdisc, Report, Spec};
use sojourn_sim::Packet;
use sojourn_tcp::Flags;
use sojourn_units::Time;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Numbers after the FINs of a run. Its files have one size, so that no other block ends there.
pub(crate) type Ends = Arc<Mutex<BTreeSet<u32>>>;

pub(crate) struct Fins {
    pub(crate) inner: Box<dyn Qdisc<Packet>>,
    pub(crate) ends: Ends,
    /// Whether ACKs come through here, and not what they acknowledge.
    pub(crate) is_back: bool,
}

impl Fins {
    fn note(&self, packet: &Packet) {
        let Some(segment) = packet.tcp().filter(|it| it.flags.has(Flags::FIN)) else {
            return;
        };
        let end = segment.seq.wrapping_add(u32::from(segment.payload) + 1);
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.insert(end);
    }

    fn hide(&self, packet: &mut Packet) {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(segment) = packet.tcp_mut() else {
            return;
        };
        let blocks = segment.sack_blocks().len();
        let mut kept = 0;
        for index in 0..blocks {
            let mut block = segment.sack[index];
            if ends.contains(&block.end) {
                block.end = block.end.wrapping_sub(1);
            }
            if block.start != block.end {
                segment.sack[kept] = block;
                kept += 1;
            }
        }
        segment.sack_count -= (blocks - kept) as u8;
    }
}

impl Qdisc<Packet> for Fins {
    fn enqueue(&mut self, mut packet: Packet, now: Time, out: &mut dyn Outlet<Packet>) {
        if self.is_back {
            self.hide(&mut packet);
        } else {
            self.note(&packet);
        }
        self.inner.enqueue(packet, now, out);
    }

    sojourn_units::forward! { self.inner;
        dequeue(self: &mut Self, now: Time, out: &mut dyn Outlet<Packet>) -> Dequeue<Packet>;
        backlog(self: &Self) -> Backlog;
        counters(self: &Self) -> &Counters;
        report(self: &Self, now: Time) -> Report;
        spec(self: &Self) -> Option<Spec>;
        change(self: &mut Self, spec: &Spec, now: Time) -> Result<(), ChangeError>;
        drain(self: &mut Self) -> Vec<(Time, Packet)>;
        adopt(self: &mut Self, held: Vec<(Time, Packet)>, counters: Counters);
    }
}
