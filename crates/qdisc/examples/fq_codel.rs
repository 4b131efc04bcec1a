//! Drives `fq_codel` by hand: packets of two flows in, a packet a millisecond out.
//!
//!     cargo run -p sojourn-qdisc --example fq_codel

use sojourn_qdisc::{Dequeue, Discard, Ecn, Packet, Place, Setting, Spec};
use sojourn_units::{Span, Time};

struct Frame {
    flow: u64,
}

impl Packet for Frame {
    fn len(&self) -> u32 {
        1514
    }

    fn flow_hash(&self, perturbation: u64) -> u32 {
        (sojourn_random::mix(self.flow ^ perturbation) >> 32) as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn set_ce(&mut self) -> bool {
        false
    }
}

fn main() {
    let spec: Spec = "fq_codel limit 1000 target 5ms"
        .parse()
        .expect("tc's words");
    let setting = Setting {
        seed: 1,
        name: "eth0",
        mtu: 1514,
        link_header: 14,
    };
    let mut queue = spec.build::<Frame>(setting);
    let (mut now, mut sent) = (Time::ZERO, [0, 0]);
    for _ in 0..2000 {
        // Flow 0 offers twice what the link carries, flow 1 a quarter of it.
        now += Span::from_millis(1);
        queue.enqueue(Frame { flow: 0 }, now, &mut Discard);
        queue.enqueue(Frame { flow: 0 }, now, &mut Discard);
        if now.as_nanos() % 4_000_000 == 0 {
            queue.enqueue(Frame { flow: 1 }, now, &mut Discard);
        }
        if let Dequeue::Packet { packet, .. } = queue.dequeue(now, &mut Discard) {
            sent[packet.flow as usize] += 1;
        }
    }
    assert_eq!(sent[1], 500, "the sparse flow loses nothing");
    print!(
        "{}",
        queue.report(now).tc_text(Place {
            dev: Some("eth0"),
            handle: 1
        })
    );
}
