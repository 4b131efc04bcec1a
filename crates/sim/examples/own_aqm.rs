//! An AQM of one's own, run in the simulator: it drops an arrival with a probability that grows
//! with the time that the head has waited, from none at 5 ms to one at 50 ms.
//!
//!     cargo run -p sojourn-sim --example own_aqm

use sojourn_apps::Bulk;
use sojourn_qdisc::{Aqm, Facts, Limit, Qdisc, QueueView, Setting, SingleQueue, Spec, Verdict};
use sojourn_random::Stream;
use sojourn_sim::{Instead, Packet, Sim};
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Cell, Flow, Interface, Line, LineRate, Network, Taps, Transport};
use std::ops::ControlFlow;

/// Its parameters and dice; what belongs to one queue would be in `State`.
struct Slope {
    low: Span,
    high: Span,
    dice: Stream,
}

impl Aqm for Slope {
    type State = ();
    type Params = ();

    fn arrive(&mut self, (): &mut (), queue: QueueView, _: Facts<'_>, _: Time) -> Verdict {
        let above = queue.head_wait - self.low;
        let probability = above.as_secs_f64() / (self.high - self.low).as_secs_f64();
        if self.dice.chance(probability.min(1.0)) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}

/// Where it stands.
struct OnTheUplink;

impl Instead for OnTheUplink {
    fn queue(&mut self, at: &Interface, setting: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        let slope = Slope {
            low: Span::from_millis(5),
            high: Span::from_millis(50),
            dice: setting.dice("slope"),
        };
        let queue = SingleQueue::new(Limit::Packets(1000), slope);
        (at.name == "up").then(|| Box::new(queue) as _)
    }
}

fn main() {
    let mut network = Network::new(["client", "server"]);
    let line = Line::new(LineRate::Fixed(Rate::from_bps(20_000_000)));
    network.join([0, 1], "up", Spec::pfifo(1000), line.clone());
    network.join([1, 0], "down", Spec::pfifo(1000), line);
    let bulk = Flow {
        base_rtt: Span::from_millis(40),
        ..Flow::new("bulk", Transport::Tcp(sojourn_tcp::Config::default()), Bulk)
    };
    let cell = Cell::new("own AQM", network, vec![bulk], Span::from_secs(20));
    let nobody_stops = &mut |_| ControlFlow::Continue(());
    let result = Sim
        .run_with(&cell, Taps::default(), nobody_stops, &mut OnTheUplink)
        .expect("the cell can be run");
    let (_, up) = &result.links[0];
    let (delay, used) = (up.sojourn.mean, up.utilisation.unwrap_or(0.0));
    println!(
        "{} drops, mean delay {delay:.1} ms, {:.1} % used",
        up.dropped_packets,
        used * 100.0
    );
    assert!(up.dropped_packets > 0 && delay < 50.0 && used > 0.8);
}
