//! How many datagrams of QUIC a processor moves in a second: through `quinn-proto` at both ends,
//! with its cryptography, and the simulated network between them.
//!
//!     cargo bench -p sojourn-net --bench datagrams

use sojourn_net::quinn::Quic;
use sojourn_net::{Net, Time};
use std::time::Instant;

const SCENARIO: &str = r#"
format = "sojourn-scenario/1"
name = "datagrams"
duration = "10s"
[dumbbell]
rtt = "20ms"
qdisc = "fq_codel"
up = { rate = "200mbit" }
down = { rate = "200mbit" }
[[flow]]
name = "quic"
direction = "up"
app = "outside"
[[flow]]
name = "cubic"
direction = "up"
app = "bulk"
"#;

#[expect(clippy::disallowed_methods, reason = "it is measured")]
fn main() {
    let mut net = Net::new(SCENARIO, 1).expect("our own scenario");
    let [client, _] = net.attach("quic", Quic::pair(|_| {}));
    let start = Instant::now();
    net.run_until(Time::MAX).expect("it goes on");
    let took = start.elapsed().as_secs_f64();
    let stats = net.stack(client).connection().expect("it sends").stats();
    let (sent, heard) = (stats.udp_tx.datagrams, stats.udp_rx.datagrams);
    println!("{sent} datagrams of QUIC one way, {heard} the other; {took:.2} s");
    println!(
        "{:.0} datagrams of QUIC a second",
        (sent + heard) as f64 / took
    );
}
