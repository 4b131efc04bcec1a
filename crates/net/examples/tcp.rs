//! TCP by `smoltcp` over three queues, beside a probe of ours that sees what it does to others.
//!
//!     cargo run -p sojourn-net --example tcp

#[path = "../stacks/smoltcp.rs"]
mod smoltcp;

use smoltcp::Smoltcp;
use sojourn_net::{Net, NetError, Time};

const SCENARIO: &str = r#"
format = "sojourn-scenario/1"
name = "smoltcp"
duration = "20s"
warmup = "2s"
[dumbbell]
rtt = "30ms"
qdisc = "QUEUE"
up = { rate = "8mbit" }
down = { rate = "8mbit" }
[[flow]]
name = "smoltcp"
direction = "up"
app = "outside"
[[flow]]
name = "probe"
direction = "up"
app = "ping"
"#;

fn main() -> Result<(), NetError> {
    println!("queue             Mbit/s  probe's RTT in ms  drops");
    for queue in ["pfifo limit 100", "codel", "fq_codel"] {
        let mut net = Net::new(&SCENARIO.replace("QUEUE", queue), 1)?;
        let [_, there] = net.attach("smoltcp", Smoltcp::pair())?;
        net.run_until(Time::MAX)?;
        let received = net.look().stack(there).received;
        assert!(received > 1_000_000, "{received} bytes");
        let result = net.finish();
        let rate = result.flows[0].1.goodput.as_bps() as f64 / 1e6;
        let rtt = result.flows[1].1.rtt.mean;
        let drops = result.links[0].1.dropped_packets;
        println!("{queue:<16} {rate:>7.2}  {rtt:>17.1}  {drops:>5}");
    }
    Ok(())
}
