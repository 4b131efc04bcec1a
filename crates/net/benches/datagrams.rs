//! How many datagrams of QUIC move in a second of CPU time: through `quinn-proto` at both ends, with
//! its cryptography, and the simulated network between them. What else the machine does hardly
//! matters, because only this process's time counts.
//!
//!     cargo bench -p sojourn-net --bench datagrams

use rustix::time::{ClockId, clock_gettime};
use sojourn_net::quinn::Quic;
use sojourn_net::{Net, Time};

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

/// CPU time of this process so far, in seconds.
fn cpu_time() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn main() {
    let mut net = Net::new(SCENARIO, 1).expect("our own scenario");
    let [client, _] = net
        .attach("quic", Quic::pair(|_| {}))
        .expect("our own flow");
    let start = cpu_time();
    net.run_until(Time::MAX).expect("it goes on");
    let took = cpu_time() - start;
    let stats = net
        .look()
        .stack(client)
        .connection()
        .expect("it sends")
        .stats();
    let (sent, heard) = (stats.udp_tx.datagrams, stats.udp_rx.datagrams);
    println!("{sent} datagrams of QUIC one way, {heard} the other; {took:.3} s of CPU time");
    println!(
        "{:.0} datagrams of QUIC in a second of it",
        (sent + heard) as f64 / took
    );
}
