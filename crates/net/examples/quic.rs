//! QUIC (`quinn-proto`) beside a CUBIC flow of ours, over three queues, with ECN.
//!
//!     cargo run -p sojourn-net --example quic

use sojourn_net::quinn::Quic;
use sojourn_net::{Net, NetError, Time};

/// The same home line for all queues.
const SCENARIO: &str = r#"
format = "sojourn-scenario/1"
name = "quic-beside-cubic"
duration = "20s"
warmup = "5s"
[dumbbell]
rtt = "40ms"
qdisc = "QUEUE"
up = { rate = "20mbit" }
down = { rate = "20mbit" }
[[flow]]
name = "quic"
direction = "up"
app = "outside"
[[flow]]
name = "cubic"
direction = "up"
app = "bulk"
tcp = { ecn = true }
"#;

fn main() -> Result<(), NetError> {
    println!("queue      quic Mbit/s  cubic Mbit/s  delay ms  marked");
    for queue in ["fq_codel", "codel ecn", "dualpi2"] {
        let mut net = Net::new(&SCENARIO.replace("QUEUE", queue), 1)?;
        let [client, server] = net.attach("quic", Quic::pair(|_| {}))?;
        net.run_until(Time::MAX)?;
        let sender = net.look().stack(client).connection();
        let stats = sender.expect("it sends").stats();
        let received = net.look().stack(server).received;
        assert!(received > 1_000_000, "{stats:?}");
        let result = net.finish();
        let goodput = |flow: usize| result.flows[flow].1.goodput.as_bps() as f64 / 1e6;
        let (_, up) = &result.links[0];
        let (delay, marked) = (up.sojourn.mean, up.marked_packets);
        println!(
            "{queue:<10} {:>11.2}  {:>12.2}  {delay:>8.2}  {marked:>6}",
            goodput(0),
            goodput(1)
        );
    }
    Ok(())
}
