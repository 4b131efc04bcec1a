//! Bytes as strings and as sequences of calls, for the fuzzer, its corpus and property tests.

use super::{Log, TestPacket};
use sojourn_qdisc::{Dequeue, Place, Qdisc, Setting, Spec};
use sojourn_units::{Span, Time};

/// Small enough for limits, schedulers and shapers to matter within a few calls.
pub(crate) const SPECS: [&str; 38] = [
    "pfifo limit 3",
    "bfifo limit 4000",
    "pfifo_head_drop limit 3",
    "red limit 9000 min 2000 max 6000 avpkt 1000 burst 3 probability 0.5 ecn",
    "red limit 9p min 2p max 6p weight 0.5 gentle adaptive",
    "codel limit 6 target 1ms interval 5ms ecn ce_threshold 2ms",
    "pie limit 6 target 1ms tupdate 1ms ecn",
    "pie limit 6 target 1ms tupdate 1ms bytemode dq_rate_estimator",
    "fq_codel limit 8 flows 4 target 1ms interval 5ms quantum 300 memory_limit 9000 drop_batch 2",
    "fq_codel limit 8 flows 1 noecn",
    "fq_pie limit 8 flows 4 target 1ms tupdate 1ms quantum 1514 ecn",
    "tbf rate 8mbit burst 3000 limit 9000",
    "tbf rate 8mbit burst 3000 peakrate 20mbit mtu 1600 mpu 64 overhead 18 over fq_codel limit 5",
    "tbf rate 1gbit burst 9000 over tbf rate 8mbit burst 1600 over codel limit 4",
    "gsp limit 6 threshold 1ms interval 20ms tau 10ms ecn",
    "fq_gsp limit 8 flows 4 threshold 1ms interval 5ms quantum 300 memory_limit 9000",
    "steer delay 4ms over gsp limit 6 threshold 1ms interval 20ms",
    "steer util 50% delay 4ms ceiling 60% over codel limit 6 target 200us interval 2ms ecn",
    "steer rate 8mbit util 50% delay 4ms ceiling 60% over fq_pie limit 8 flows 4 target 1ms",
    "cobalt limit 6 target 1ms interval 5ms",
    "cake memlimit 9000 rtt 5ms",
    "cake bandwidth 8mbit diffserv4 memlimit 9000 rtt 5ms ingress pppoe-llcsnap ack-filter",
    "cake bandwidth 8mbit precedence flowblind wash memlimit 20000 ack-filter-aggressive",
    "cake bandwidth 8mbit autorate-ingress besteffort dual-dsthost memlimit 9000 overhead -64",
    "htb rate 8mbit burst 3000 over fq_codel limit 5",
    "tbf rate 8mbit burst 3000 over cake diffserv8 memlimit 9000",
    "fq_codel limit 8 flows 16 triple-isolate set-associative quantum 300 memory_limit 9000",
    "fq_pie limit 8 flows 4 target 1ms tupdate 1ms dual-srchost ack-filter",
    "fq_gsp limit 8 flows 4 threshold 1ms dsthost nat ack-filter-aggressive set-associative",
    "adth limit 6 target 4ms sampling 1ms full head",
    "adth limit 6 target 4ms sampling 2ms fmax 2 drop tail nopurge",
    "fq_adth limit 8 flows 4 target 4ms sampling 1ms quantum 300 memory_limit 9000",
    "cake_mq queues 3 bandwidth 8mbit diffserv4 memlimit 9000 rtt 5ms ingress ack-filter",
    "cake_mq memlimit 9000 rtt 5ms dual-srchost",
    "dualpi2 limit 6 target 1ms tupdate 1ms step_thresh 200us classic_protection 30",
    "dualpi2 limit 8 memlimit 9000 step_thresh 1p min_qlen_step 1 overflow drop_enqueue any_ect",
    "steer util 50% delay 4ms over dualpi2 limit 6 target 1ms tupdate 1ms step_thresh 200us",
    "steer delay 4ms over dualpi2 limit 8 target 1ms tupdate 1ms drop_enqueue any_ect",
];

const LENGTHS: [u32; 8] = [0, 1, 40, 576, 1514, 1515, 9000, u32::MAX];

const SETTING: Setting<'static> = Setting {
    seed: 7,
    name: "fuzz",
    mtu: 1514,
    link_header: 14,
};

/// Reads a string. What is taken is shown and read back; what is refused says where.
pub(crate) fn read(text: &str) {
    match text.parse::<Spec>() {
        Ok(spec) => assert_eq!(spec.to_string().parse(), Ok(spec)),
        Err(error) => {
            assert!(text.get(error.at.clone()).is_some());
            assert!(error.pretty().ends_with("^\n"));
        }
    }
}

/// Runs a sequence of calls: the first byte chooses the discipline, then three bytes a call.
pub(crate) fn run(data: &[u8]) {
    let Some((&first, calls)) = data.split_first() else {
        return;
    };
    let mut machine = Machine {
        qdisc: spec(first).build(SETTING),
        now: Time::ZERO,
        log: Log::default(),
        offered: 0,
        taken: 0,
    };
    for call in calls.chunks_exact(3) {
        machine.call(call[0], call[1], call[2]);
        machine.check();
    }
    machine.finish();
}

fn spec(choice: u8) -> Spec {
    let text = SPECS[usize::from(choice) % SPECS.len()];
    text.parse().expect("the table is valid")
}

struct Machine {
    qdisc: Box<dyn Qdisc<TestPacket>>,
    now: Time,
    log: Log,
    offered: u64,
    taken: u64,
}

impl Machine {
    fn call(&mut self, what: u8, a: u8, b: u8) {
        match what % 8 {
            0..=3 => {
                let len = LENGTHS[usize::from(a) % LENGTHS.len()];
                let flow = u32::from(b) % 16;
                let mut packet = TestPacket::of_flow(self.offered, len, flow, 16);
                if a & 0x80 != 0 {
                    packet = packet.capable();
                }
                self.qdisc.enqueue(packet, self.now, &mut self.log);
                self.offered += 1;
            }
            4 | 5 => self.take(),
            6 if b == 0 => self.now = self.now - Span::from_nanos(1 << (a % 40)),
            // Up to ten weeks: the clock itself never ends.
            6 => self.now += Span::from_nanos(1 << (a % 53)),
            _ => {
                let wanted = spec(a);
                wanted.reconfigure(&mut self.qdisc, SETTING, self.now);
                assert_eq!(self.qdisc.spec(), Some(wanted));
            }
        }
    }

    fn take(&mut self) {
        match self.qdisc.dequeue(self.now, &mut self.log) {
            Dequeue::Packet { .. } => self.taken += 1,
            Dequeue::NotBefore(time) => {
                assert!(time > self.now, "held back without a reason");
                assert!(self.qdisc.backlog().packets > 0, "nothing is held back");
            }
            Dequeue::Empty => assert_eq!(self.qdisc.backlog().packets, 0),
        }
    }

    fn check(&self) {
        let (counters, held) = (self.qdisc.counters(), self.qdisc.backlog());
        assert_eq!(counters.offered.packets, self.offered);
        assert_eq!(counters.dequeued.packets, self.taken);
        assert_eq!(counters.dropped.packets, self.log.dropped.len() as u64);
        assert_eq!(counters.dropped.packets, counters.drops.iter().sum::<u64>());
        assert_eq!(counters.marked.packets, self.log.marked.len() as u64);
        assert_eq!(
            counters.offered.packets,
            counters.dequeued.packets + counters.dropped.packets + held.packets
        );
        assert_eq!(
            counters.offered.bytes,
            counters.dequeued.bytes + counters.dropped.bytes + held.bytes
        );
        assert!(held.packets > 0 || self.qdisc.head_len().is_none());
    }

    /// What is held comes out in the end, whatever happened before.
    fn finish(&mut self) {
        let place = Place {
            dev: Some("fuzz"),
            handle: 1,
        };
        let report = self.qdisc.report(self.now);
        assert!(report.tc_text(place).ends_with('\n'));
        assert!(report.tc_json(place).ends_with(']'));
        // A packet waits at most once for each of two shapers.
        for _ in 0..=3 * self.offered {
            match self.qdisc.dequeue(self.now, &mut self.log) {
                Dequeue::Packet { .. } => self.taken += 1,
                Dequeue::NotBefore(time) => self.now = time,
                Dequeue::Empty => break,
            }
            self.check();
        }
        assert_eq!(self.qdisc.backlog().packets, 0);
    }
}
