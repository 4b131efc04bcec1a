//! Flow queues served by deficit round robin with new flows first (RFC 8290 section 4), without an
//! AQM, and with what has gone wrong in others.

use sojourn_qdisc::{
    Backlog, ChangeError, Counters, Dequeue, DropReason, Outlet, Packet as _, Qdisc, Report, Spec,
};
use sojourn_sim::Packet;
use sojourn_units::Time;
use std::collections::VecDeque;

const QUANTUM: i64 = 300;
const LIMIT: u64 = 500;
const BUCKETS: u32 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    Sound,
    /// What a flow has sent too much is forgotten with its next turn.
    LeaksDeficit,
    /// A new flow that has run empty leaves at once, and comes back as a new one.
    StaysNew,
    /// A full queue drops what arrives, whoever has filled it.
    DropsArrival,
    /// All flows have one bucket.
    OneBucket,
}

#[derive(Default)]
struct Bucket {
    held: VecDeque<(Time, Packet)>,
    deficit: i64,
    is_listed: bool,
}

pub(crate) struct Fair {
    flaw: Flaw,
    buckets: Vec<Bucket>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    counters: Counters,
}

impl Fair {
    pub(crate) fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            buckets: (0..BUCKETS).map(|_| Bucket::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    fn drop(&mut self, packet: Packet, reason: DropReason, out: &mut dyn Outlet<Packet>) {
        self.counters.drop(packet.len(), reason);
        out.dropped(packet, reason);
    }

    /// The bucket whose turn it is; those whose turn has ended move on.
    fn turn(&mut self) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let leaves = !is_new || self.old.is_empty() || self.flaw == Flaw::StaysNew;
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let bucket = &mut self.buckets[index];
            if bucket.deficit <= 0 {
                let debt = match self.flaw {
                    Flaw::LeaksDeficit => 0,
                    _ => bucket.deficit,
                };
                bucket.deficit = debt + QUANTUM;
            } else if !bucket.held.is_empty() {
                return Some(index);
            } else if leaves {
                list.pop_front();
                bucket.is_listed = false;
                continue;
            }
            list.pop_front();
            self.old.push_back(index);
        }
    }
}

impl Qdisc<Packet> for Fair {
    fn enqueue(&mut self, packet: Packet, now: Time, out: &mut dyn Outlet<Packet>) {
        self.counters.offered.add(packet.len());
        if self.flaw == Flaw::DropsArrival && self.backlog().packets > LIMIT {
            return self.drop(packet, DropReason::Tail, out);
        }
        let index = match self.flaw {
            Flaw::OneBucket => 0,
            _ => packet.flow_hash(0) % BUCKETS,
        };
        let bucket = &mut self.buckets[index as usize];
        bucket.held.push_back((now, packet));
        if !bucket.is_listed {
            bucket.is_listed = true;
            bucket.deficit = QUANTUM;
            self.new.push_back(index as usize);
        }
        if self.backlog().packets > LIMIT {
            let bytes = |bucket: &Bucket| -> u32 {
                let lengths = bucket.held.iter().map(|(_, packet)| packet.len());
                lengths.sum()
            };
            let fattest = self.buckets.iter_mut().max_by_key(|bucket| bytes(bucket));
            let head = fattest.and_then(|bucket| bucket.held.pop_front());
            let (_, packet) = head.expect("it is full");
            self.drop(packet, DropReason::Overlimit, out);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut dyn Outlet<Packet>) -> Dequeue<Packet> {
        let Some(index) = self.turn() else {
            return Dequeue::Empty;
        };
        let bucket = &mut self.buckets[index];
        let (arrived, packet) = bucket.held.pop_front().expect("it has one in its turn");
        bucket.deficit -= i64::from(packet.len());
        self.counters.dequeued.add(packet.len());
        Dequeue::Packet {
            packet,
            sojourn: now - arrived,
        }
    }

    fn backlog(&self) -> Backlog {
        self.counters.held()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn report(&self, _: Time) -> Report {
        Report::default()
    }

    fn spec(&self) -> Option<Spec> {
        None
    }

    fn change(&mut self, _: &Spec, _: Time) -> Result<(), ChangeError> {
        unreachable!("no scenario here changes it")
    }

    fn drain(&mut self) -> Vec<(Time, Packet)> {
        unreachable!("no scenario here changes it")
    }

    fn adopt(&mut self, _: Vec<(Time, Packet)>, _: Counters) {
        unreachable!("no scenario here changes it")
    }
}
