//! Stacks of others over a simulated network: what they send arrives, runs repeat whatever keys
//! they draw, and a run that fails leaves what shows why.

mod common;
#[path = "../stacks/smoltcp.rs"]
mod smoltcp;

use common::CUBIC;
use smoltcp::Smoltcp;
use sojourn_net::quinn::Quic;
use sojourn_net::{Arrival, Datagram, End, Net, NetError, RunResult, Span, Stack, Start, Time};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{env, fs, process};

/// A line of 20 Mbit/s and 40 ms with this queue, a flow from outside, and what else there is.
fn scenario(queue: &str, more: &str) -> String {
    common::scenario(queue, &format!("{OUTSIDE}{more}"))
}

const OUTSIDE: &str = r#"
    [[flow]]
    name = "outside"
    direction = "up"
    app = "outside"
"#;

fn attached<S: Stack>(net: &mut Net<S>, stacks: [S; 2]) -> [End; 2] {
    net.attach("outside", stacks).expect("there is such a flow")
}

/// A run of QUIC, and what the server got of the stream.
fn quic(queue: &str, more: &str) -> (RunResult, u64) {
    let mut net = Net::new(&scenario(queue, more), 1).expect("our own scenario");
    let [client, server] = attached(&mut net, Quic::pair(|_| {}));
    net.run_until(Time::MAX).expect("it goes on");
    let sender = net.look().stack(client).connection();
    let stats = sender.expect("it sends").stats();
    assert!(stats.path.congestion_events > 0, "{stats:?}");
    let received = net.look().stack(server).received;
    (net.finish(), received)
}

fn mbit(result: &RunResult, flow: usize) -> f64 {
    result.flows[flow].1.goodput.as_bps() as f64 / 1e6
}

#[test]
fn quic_fills_a_line_and_shares_it_under_fair_queueing() {
    let (alone, received) = quic("fq_codel", "");
    assert!(
        (17.0..20.0).contains(&mbit(&alone, 0)),
        "{}",
        mbit(&alone, 0)
    );
    assert!(received > 12_000_000, "{received}");
    let (shared, _) = quic("fq_codel", CUBIC);
    let (quic, cubic) = (mbit(&shared, 0), mbit(&shared, 1));
    assert!((0.8..1.25).contains(&(quic / cubic)), "{quic} and {cubic}");
}

#[test]
fn quic_hears_marks() {
    for queue in ["codel ecn", "dualpi2", "fq_codel"] {
        let (result, _) = quic(queue, CUBIC);
        let (_, up) = &result.links[0];
        assert!(up.marked_packets > 0, "{queue}");
        let lost = result.flows[0].1.loss_ratio.unwrap_or(0.0);
        assert!(lost < 0.01, "{queue}: {lost}");
        assert!(mbit(&result, 0) > 5.0, "{queue}: {}", mbit(&result, 0));
    }
}

#[test]
fn runs_repeat_whatever_keys_are_drawn() {
    let [one, other] = [(), ()].map(|()| quic("codel", CUBIC).0);
    assert_eq!(one.digest, other.digest);
    assert_eq!(one.flows[0].1.sent_packets, other.flows[0].1.sent_packets);
}

#[test]
fn smoltcp_goes_through() {
    let mut net = Net::new(&scenario("pfifo limit 50", CUBIC), 1).expect("our own scenario");
    let [_, there] = attached(&mut net, Smoltcp::pair());
    net.run_until(Time::MAX).expect("it goes on");
    let received = net.look().stack(there).received;
    assert!(received > 1_000_000, "{received}");
}

/// A stack that answers, with a byte more each time, and can be copied.
#[derive(Clone, Default)]
struct Echo {
    waiting: Vec<Datagram>,
    heard: u64,
}

impl Stack for Echo {
    fn input(&mut self, arrival: Arrival) {
        let mut datagram = arrival.datagram;
        datagram.payload.push(0);
        self.heard += 1;
        self.waiting.push(datagram);
    }

    fn timeout(&mut self, _: Time) {}

    fn output(&mut self, _: Time) -> Option<Datagram> {
        self.waiting.pop()
    }

    fn next_timeout(&mut self) -> Option<Time> {
        None
    }

    fn fork(&self) -> Option<Self> {
        Some(self.clone())
    }
}

/// Two that echo, of which the first begins.
fn echoes(record: usize) -> Net<Echo> {
    let start = Start { seed: 7, record };
    let mut net = Net::new(&scenario("fq_codel", CUBIC), start).expect("our own scenario");
    let first = Echo {
        waiting: vec![Datagram::default()],
        heard: 0,
    };
    attached(&mut net, [first, Echo::default()]);
    net
}

#[test]
fn a_copy_goes_on_with_its_stacks() {
    let whole = {
        let mut net = echoes(0);
        net.run_until(Time::MAX).unwrap();
        net.finish().digest
    };
    // To record changes nothing.
    let mut net = echoes(1 << 20);
    net.run_until(Time::ZERO + Span::from_millis(3333)).unwrap();
    let mut copy = net.fork().expect("echoes can be copied");
    assert!(copy.look().capture().is_empty() && !net.look().capture().is_empty());
    copy.run_until(Time::MAX).unwrap();
    assert_eq!(copy.finish().digest, whole);
    net.run_until(Time::MAX).unwrap();
    assert_eq!(net.finish().digest, whole);
}

#[test]
fn quic_cannot_be_copied_and_says_so() {
    let mut net = Net::new(&scenario("fq_codel", ""), 1).expect("our own scenario");
    attached(&mut net, Quic::pair(|_| {}));
    let error = net.fork().expect_err("it has a connection in it");
    let told = "the stack at the `from` end of flow `outside` cannot be copied";
    assert!(error.to_string().starts_with(told), "{error}");
}

#[test]
fn a_run_that_fails_leaves_scenario_seed_and_packets() {
    let mut net = echoes(1 << 20);
    let failed = catch_unwind(AssertUnwindSafe(move || {
        net.run_until(Time::ZERO + Span::from_secs(1)).unwrap();
        panic!("what a test finds wrong");
    }));
    assert!(failed.is_err());
    let path =
        |end: &str| env::temp_dir().join(format!("sojourn-net-{}-seed7.{end}", process::id()));
    let text = fs::read_to_string(path("toml")).expect("it was left");
    assert_eq!(text, scenario("fq_codel", CUBIC));
    let capture = fs::read(path("pcapng")).expect("it was left");
    assert_eq!(capture[..4], 0x0a0d_0d0a_u32.to_ne_bytes());
    assert!(capture.len() > 10_000, "{} bytes", capture.len());
    for end in ["toml", "pcapng"] {
        fs::remove_file(path(end)).expect("it is there");
    }
}

/// One whose timer expires for ever.
struct Stuck;

impl Stack for Stuck {
    fn input(&mut self, _: Arrival) {}

    fn timeout(&mut self, _: Time) {}

    fn output(&mut self, _: Time) -> Option<Datagram> {
        None
    }

    fn next_timeout(&mut self) -> Option<Time> {
        Some(Time::ZERO)
    }
}

#[test]
fn a_stack_that_stands_still_is_named() {
    let mut net = Net::new(&scenario("fq_codel", ""), 1).expect("our own scenario");
    attached(&mut net, [Stuck, Stuck]);
    let error = net.run_until(Time::MAX).expect_err("time does not pass");
    assert!(matches!(error, NetError::StandsStill { .. }), "{error}");
    assert!(error.to_string().contains("must be later"), "{error}");
}

#[test]
fn what_is_wrong_with_a_scenario_is_told() {
    let error = Net::<Stuck>::new(&scenario("fq_codle", ""), 1).expect_err("no such queue");
    assert!(error.to_string().contains("fq_codel"), "{error}");
}

#[test]
fn flows_without_ends_in_the_program_are_named() {
    let mut net = Net::new(&scenario("fq_codel", CUBIC), 1).expect("our own scenario");
    let told = |error: Result<_, NetError>| error.expect_err("there are no ends").to_string();
    let error = told(net.attach("cubic", [Stuck, Stuck]));
    assert!(error.contains("no flow `cubic`"), "{error}");
    assert!(error.ends_with("there is `outside`"), "{error}");
    attached(&mut net, [Stuck, Stuck]);
    let error = told(net.attach("outside", [Stuck, Stuck]));
    assert!(error.contains("all 1 instances"), "{error}");
}

#[test]
fn a_stack_that_was_given_something_sends_it_at_once_and_not_before_its_flow_starts() {
    let late = OUTSIDE.replace("app", "start = '1s'\napp");
    let text = common::scenario("fq_codel", &late);
    let mut net = Net::new(&text, 1).expect("our own scenario");
    let [first, second] = attached(&mut net, [Echo::default(), Echo::default()]);
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    net.stack(first).waiting.push(Datagram::default());
    net.run_until(at(1010)).unwrap();
    assert_eq!(net.look().stack(second).heard, 0, "half of 40 ms is 20");
    let turn = net.next(at(2000)).unwrap();
    assert_eq!((turn, net.look().stack(second).heard), (Some(second), 1));
    net.run_until(at(2000)).unwrap();
    let heard = net.look().stack(second).heard;
    assert!((24..=25).contains(&heard), "{heard} in a second of 40 ms");
    let packets = |net: &Net<Echo>| {
        let queue = net.look().queue("up").expect("there is such a link");
        queue.counters().offered.packets
    };
    let before = packets(&net);
    net.stack(second);
    assert_eq!(net.next(at(2000)).unwrap(), Some(second));
    assert_eq!(packets(&net), before, "it had nothing to send");
    net.stack(first).waiting.push(Datagram::default());
    assert_eq!(packets(&net), before, "time stands still");
    assert_eq!(net.next(at(2000)).unwrap(), Some(first));
    assert_eq!(packets(&net), before + 1);
    assert_eq!(net.next(at(2000)).unwrap(), None);
}
