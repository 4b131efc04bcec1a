//! The law of AQM Steering step by step, against numbers worked out by hand.

use crate::common::{Log, TestPacket};
use sojourn_qdisc::{
    Aqm, Decision, Dequeue, Ecn, Facts, Gsp, GspParams, Place, Qdisc, QueueView, Setpoint, Setting,
    Spec, SteerParams, SteerStatus, Steered, SteeredState, Unmet, Value, Verdict,
};
use sojourn_units::{Rate, Span, Time};
use std::sync::{Arc, Mutex};

const PACKET: Facts<'static> = Facts::new(1000, &Ecn::NotEct);

/// What the test and its AQM tell each other.
#[derive(Debug, Default)]
struct Wire {
    /// Drop the next arrival.
    drop: bool,
    /// The queue that the AQM was shown at the last arrival.
    shown: QueueView,
}

/// An AQM that does as it is told.
#[derive(Clone, Debug)]
struct Toy {
    target: Span,
    wire: Arc<Mutex<Wire>>,
}

impl Aqm for Toy {
    type State = ();
    type Params = ();

    fn arrive(&mut self, (): &mut (), queue: QueueView, _: Facts<'_>, _: Time) -> Verdict {
        let mut wire = self.wire.lock().unwrap();
        wire.shown = queue;
        if std::mem::take(&mut wire.drop) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}

impl Setpoint for Toy {
    fn target(&self) -> Span {
        self.target
    }

    fn set_target(&mut self, target: Span) {
        self.target = target;
    }
}

/// A steered toy before a link of 1 MB/s, which is a packet a millisecond.
struct Bench {
    steered: Steered<Toy>,
    state: SteeredState<()>,
    wire: Arc<Mutex<Wire>>,
    now: Time,
}

fn micros(micros: u64) -> Span {
    Span::from_micros(micros)
}

fn policy(util: u32, ceiling: u32) -> SteerParams {
    SteerParams {
        rate: Some(Rate::from_bps(8_000_000)),
        util,
        delay: Span::from_millis(30),
        ceiling,
    }
}

fn waiting(head_wait: Span) -> QueueView {
    let packets = u32::from(!head_wait.is_zero()) * 5;
    QueueView {
        bulk_flows: 0,
        packets,
        bytes: u64::from(packets) * 1000,
        total_bytes: u64::from(packets) * 1000,
        head_wait,
    }
}

impl Bench {
    fn new(policy: SteerParams, target: Span) -> Self {
        let wire = Arc::new(Mutex::new(Wire::default()));
        let toy = Toy {
            target,
            wire: wire.clone(),
        };
        let mut bench = Self {
            steered: Steered::new(policy, toy),
            state: SteeredState::default(),
            wire,
            now: Time::ZERO,
        };
        bench.arrive(Span::ZERO);
        bench
    }

    fn arrive(&mut self, head_wait: Span) -> Verdict {
        let view = waiting(head_wait);
        self.steered.arrive(&mut self.state, view, PACKET, self.now)
    }

    /// Sends a packet every `every` milliseconds, each of which has waited for `sojourn`.
    fn send(&mut self, packets: u32, every: u64, sojourn: Span) {
        for _ in 0..packets {
            self.now += Span::from_millis(every);
            let view = waiting(sojourn);
            self.steered
                .leave(&mut self.state, view, PACKET, sojourn, self.now);
        }
    }

    fn drop_one(&mut self, head_wait: Span) {
        self.wire.lock().unwrap().drop = true;
        assert_eq!(self.arrive(head_wait), Verdict::Drop);
    }

    fn status(&self) -> SteerStatus {
        self.steered.status()
    }

    fn outcome(&self) -> (Span, Decision) {
        (self.status().target, self.status().decision)
    }
}

#[test]
fn what_never_drains_is_taken_away() {
    let mut bench = Bench::new(policy(99, 100), Span::from_millis(10));
    bench.send(500, 1, Span::from_millis(9));
    bench.send(500, 1, micros(6050));
    // The swing is 10 − 6.05 = 3.95 ms, known exactly: 6.05 ms less are 30 steps and a bit.
    bench.drop_one(Span::from_millis(11));
    assert_eq!(bench.outcome(), (Span::from_millis(4), Decision::Lowered));
    assert_eq!(bench.status().swing, micros(3950));
    assert_eq!(bench.status().deviation, Span::ZERO);
    // A second later the swing is 1 ms. With q = e^(−1/5): mean (3.95q + 1)/(q + 1) and variance
    // q·2.95²/(q + 1)²; 2.32761 + 1.5 · 1.46767 = 4.529 ms, which is more than there is.
    bench.send(1000, 1, Span::from_millis(3));
    bench.drop_one(Span::from_millis(5));
    assert_eq!(bench.outcome(), (Span::from_millis(4), Decision::KeptSwing));
    assert_eq!(bench.status().swing.as_micros(), 2327);
    assert_eq!(bench.status().deviation.as_micros(), 1467);
    // After a minute the last counts, with a trace of what was before: 14 steps of 2.99 ms.
    bench.send(60_000, 1, Span::from_millis(3));
    bench.drop_one(Span::from_millis(5));
    assert_eq!(bench.outcome(), (micros(1200), Decision::Lowered));
    // Never below the target: the AQM has not converged.
    bench.send(1000, 1, Span::from_millis(2));
    bench.drop_one(Span::from_millis(2));
    assert_eq!(bench.status().decision, Decision::KeptStanding);
    assert_eq!(bench.status().unmet, None);
    // Nor below the highest delay, which is 30 ms: that is not what the policy asks for.
    bench.send(1000, 1, Span::from_millis(31));
    bench.drop_one(Span::from_millis(31));
    assert_eq!(bench.status().unmet, Some(Unmet::Delay));
    // However little the queue swings, 0.2 ms stay: 0.24 ms would be one step too many.
    let mut bench = Bench::new(policy(99, 100), micros(250));
    bench.send(1000, 1, micros(240));
    bench.drop_one(Span::from_millis(1));
    assert_eq!(bench.outcome(), (micros(200), Decision::Lowered));
    bench.send(60_000, 1, micros(199));
    bench.drop_one(Span::from_millis(1));
    assert_eq!(bench.outcome(), (micros(200), Decision::KeptSwing));
}

#[test]
fn an_underused_link_keeps_its_target() {
    let mut bench = Bench::new(policy(60, 100), Span::from_millis(10));
    // A packet every 2 ms: half the link.
    bench.send(1000, 2, Span::from_millis(8));
    bench.drop_one(Span::from_millis(11));
    assert_eq!(
        bench.outcome(),
        (Span::from_millis(10), Decision::KeptUnderused)
    );
    assert_eq!(bench.status().rate, Rate::from_bps(4_000_000));
}

#[test]
fn a_link_that_ran_idle_and_was_underused_gets_a_higher_target() {
    let mut bench = Bench::new(policy(60, 100), Span::from_millis(1));
    let high = Span::from_millis(40);
    // Before the first drop nothing is known.
    bench.send(1000, 2, Span::from_millis(1));
    assert_eq!(bench.arrive(high), Verdict::Pass);
    assert_eq!(bench.outcome().1, Decision::None);
    bench.drop_one(high);
    // Not idle since.
    bench.send(1000, 2, Span::from_millis(1));
    bench.arrive(high);
    assert_eq!(bench.status().target, Span::from_millis(1));
    // Idle, but not above the target.
    bench.arrive(Span::ZERO);
    bench.arrive(Span::from_millis(1));
    assert_eq!(bench.status().target, Span::from_millis(1));
    // To 5 ms at least, then doubled up to the policy's delay; each time from an empty queue
    // (Algorithm 2, line 11), however often packets come that exceed the target.
    for wanted in [5, 10, 20, 30] {
        bench.arrive(Span::ZERO);
        for _ in 0..3 {
            bench.arrive(high);
            assert_eq!(
                bench.outcome(),
                (Span::from_millis(wanted), Decision::Raised)
            );
        }
    }
    // There the AQM drops as it likes, and the policy is not met.
    bench.arrive(Span::ZERO);
    bench.arrive(high);
    assert_eq!(bench.outcome().1, Decision::KeptHighest);
    bench.drop_one(high);
    assert_eq!(bench.status().unmet, Some(Unmet::Util));
    assert_eq!((bench.status().raised, bench.status().lowered), (4, 0));
    // Used well for a minute: met, and nothing is raised although the link ran idle.
    bench.arrive(Span::ZERO);
    bench.send(60_000, 1, Span::from_millis(29));
    bench.drop_one(high);
    assert_eq!(bench.status().unmet, None);
}

#[test]
fn nothing_is_raised_while_the_aqm_pauses() {
    let mut steered = Steered::new(policy(60, 100), Gsp::new(GspParams::default()));
    let mut state = SteeredState::default();
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    let (high, low) = (waiting(Span::from_millis(20)), waiting(Span::ZERO));
    steered.arrive(&mut state, low, PACKET, Time::ZERO);
    steered.leave(&mut state, low, PACKET, Span::ZERO, at(500));
    // 5 ms are exceeded: a drop, then a pause of 200 ms in which the link runs idle.
    let verdict = steered.arrive(&mut state, high, PACKET, at(1000));
    assert_eq!(verdict, Verdict::Drop);
    steered.arrive(&mut state, low, PACKET, at(1100));
    for (millis, target) in [(1150, 5), (1200, 5), (1201, 10)] {
        let verdict = steered.arrive(&mut state, high, PACKET, at(millis));
        assert_eq!(verdict, Verdict::Pass, "{millis}");
        assert_eq!(
            steered.status().target,
            Span::from_millis(target),
            "{millis}"
        );
        steered.arrive(&mut state, low, PACKET, at(millis));
    }
}

/// Algorithm 2 over GSP: a raise stands for the drop (lines 8 to 11), and the next arrival above the
/// new target is dropped (line 13).
#[test]
fn after_a_raise_gsp_drops_until_the_queue_runs_empty_again() {
    let mut steered = Steered::new(policy(60, 100), Gsp::new(GspParams::default()));
    let mut state = SteeredState::default();
    let at = |millis| Time::ZERO + Span::from_millis(millis);
    let (high, low) = (waiting(Span::from_millis(40)), waiting(Span::ZERO));
    steered.arrive(&mut state, low, PACKET, Time::ZERO);
    steered.leave(&mut state, low, PACKET, Span::ZERO, at(500));
    // (time, queue, verdict, target) from the pseudo-code; GSP's pause is 200 ms and shorter.
    for (millis, queue, verdict, target) in [
        (1000, high, Verdict::Drop, 5),
        (1100, low, Verdict::Pass, 5),
        (1300, high, Verdict::Pass, 10),
        (1301, high, Verdict::Drop, 10),
        (1600, high, Verdict::Drop, 10),
        (1650, low, Verdict::Pass, 10),
        (1900, high, Verdict::Pass, 20),
        (1901, high, Verdict::Drop, 20),
    ] {
        let found = steered.arrive(&mut state, queue, PACKET, at(millis));
        assert_eq!(found, verdict, "{millis}");
        let target = Span::from_millis(target);
        assert_eq!(steered.status().target, target, "{millis}");
    }
}

/// Above a ceiling of 50 % of 1 MB/s: 1 ms, 0.75, 0.5625 and so on to 0.2 ms in six drops.
fn at_the_minimum() -> Bench {
    let mut bench = Bench::new(policy(40, 50), Span::from_millis(1));
    for step in 1..=5 {
        bench.send(1000, 1, micros(100));
        bench.drop_one(Span::from_millis(2));
        assert_eq!(bench.outcome().1, Decision::SteppedDown, "{step}");
    }
    bench.send(1000, 1, micros(100));
    bench.drop_one(Span::from_millis(2));
    // The step that reaches the minimum brings the virtual queue (Algorithm 3, lines 8 to 10).
    assert_eq!(bench.outcome(), (micros(200), Decision::VirtualQueue));
    assert_eq!(bench.status().virtual_rate, Some(Rate::from_bps(8_000_000)));
    bench
}

/// Kilobits per second of the virtual queue.
fn virtual_kbps(bench: &Bench) -> u64 {
    bench.status().virtual_rate.expect("virtual").as_bps() / 1000
}

#[test]
fn the_target_steps_down_when_both_rates_are_above_the_ceiling() {
    let mut bench = Bench::new(policy(40, 50), Span::from_millis(1));
    bench.send(1000, 1, micros(100));
    bench.drop_one(Span::from_millis(2));
    assert_eq!(bench.outcome(), (micros(750), Decision::SteppedDown));
    // A second at 0.1 MB/s. The average is e^(−1/5) + 0.1·(1 − e^(−1/5)) = 0.837 MB/s, above the
    // ceiling, but the rate since the last drop is not (Algorithm 3, line 7).
    bench.send(100, 10, micros(100));
    bench.drop_one(Span::from_millis(2));
    assert_eq!(bench.status().rate.as_bps() / 1000, 6694);
    assert_eq!(bench.outcome(), (micros(750), Decision::KeptSwing));
    bench.send(1000, 1, micros(100));
    bench.drop_one(Span::from_millis(2));
    assert_eq!(
        bench.outcome(),
        (micros(562) + Span::from_nanos(500), Decision::SteppedDown)
    );
}

#[test]
fn between_the_bounds_the_virtual_rate_stays() {
    let mut bench = at_the_minimum();
    // A second at 1 MB/s, the ceiling being 0.5: 1 + (1 − e^(−1/20))·(0.5 − 1) MB/s.
    bench.send(1000, 1, micros(100));
    bench.drop_one(Span::from_millis(2));
    assert_eq!(bench.outcome().1, Decision::VirtualRate);
    assert_eq!(virtual_kbps(&bench), 7804);
    // A minute at 1/2.2 MB/s, between 40 and 50 %.
    bench.send(27_272, 2, micros(100));
    bench.now += Span::from_millis(5456);
    bench.drop_one(Span::from_millis(2));
    assert_eq!(bench.outcome().1, Decision::KeptVirtual);
    assert_eq!(virtual_kbps(&bench), 7804);
    // A minute at 0.1 MB/s: a drop does not raise the virtual rate.
    bench.send(6000, 10, micros(100));
    bench.drop_one(Span::from_millis(2));
    assert_eq!(bench.outcome().1, Decision::KeptVirtual);
    assert_eq!(virtual_kbps(&bench), 7804);
    // A second more, and the virtual queue runs empty, then exceeds the target: in place of a
    // drop the rate goes up by (1 − e^(−1/20))·(0.5 − 0.1) MB/s, once (Algorithm 4).
    bench.send(100, 10, micros(100));
    bench.arrive(Span::ZERO);
    for _ in 0..3 {
        assert_eq!(bench.arrive(Span::ZERO), Verdict::Pass);
        assert_eq!(bench.outcome().1, Decision::VirtualRate);
        assert_eq!(virtual_kbps(&bench), 7960);
    }
    // After the next drop and the next empty queue it reaches the link: the real queue is back.
    bench.drop_one(Span::ZERO);
    bench.send(100, 10, micros(100));
    bench.arrive(Span::ZERO);
    bench.arrive(Span::ZERO);
    assert_eq!(bench.outcome(), (micros(200), Decision::RealQueue));
    assert_eq!(bench.status().virtual_rate, None);
    assert_eq!(bench.status().unmet, None);
}

#[test]
fn a_virtual_queue_at_the_ceiling_is_what_the_aqm_sees() {
    let mut bench = at_the_minimum();
    // An hour at 1 MB/s and it is as slow as it may be; the ceiling is not met, and it says so.
    for _ in 0..60 {
        bench.send(60_000, 1, micros(100));
        bench.drop_one(Span::from_millis(2));
    }
    let floor = Rate::from_bps(4_000_000);
    assert_eq!(bench.status().virtual_rate, Some(floor));
    assert_eq!(bench.status().unmet, Some(Unmet::Ceiling));
    // The AQM sees the virtual queue: 10 packets at once are 10 kB, of which 500 bytes drain in
    // a millisecond, although the real queue is empty.
    bench.now += Span::from_secs(60);
    for _ in 0..10 {
        bench.arrive(Span::ZERO);
    }
    bench.now += Span::from_millis(1);
    bench.arrive(Span::ZERO);
    let shown = bench.wire.lock().unwrap().shown;
    assert_eq!((shown.packets, shown.bytes), (10, 9500));
    assert_eq!(shown.head_wait, Span::from_millis(19));
    // It does not grow beyond 200 ms of 500 bytes.
    for _ in 0..100 {
        bench.arrive(Span::ZERO);
    }
    assert_eq!(
        bench.wire.lock().unwrap().shown.head_wait,
        Span::from_millis(200)
    );
}

#[test]
fn the_rate_of_the_link_is_measured_while_packets_wait() {
    let params = SteerParams {
        rate: None,
        ..policy(99, 100)
    };
    let mut bench = Bench::new(params, Span::from_millis(10));
    bench.send(100, 1, Span::from_millis(9));
    assert_eq!(bench.status().link, Rate::from_bps(8_000_000));
    // Gaps without a queue say nothing.
    let empty = QueueView::default();
    for gap in [1, 50, 50, 50] {
        bench.now += Span::from_millis(gap);
        let (state, now) = (&mut bench.state, bench.now);
        bench.steered.leave(state, empty, PACKET, Span::ZERO, now);
    }
    bench.send(100, 1, Span::from_millis(9));
    assert_eq!(bench.status().link, Rate::from_bps(8_000_000));
    // Bursts count with the time until the next one, and not at all when they end the queue.
    for round in 0..100 {
        bench.now += Span::from_millis(if round == 0 { 1 } else { 10 });
        bench.send(10, 0, Span::from_millis(9));
    }
    for gap in [10, 50, 50] {
        bench.now += Span::from_millis(gap);
        bench.send(10, 0, Span::from_millis(9));
        let (state, now) = (&mut bench.state, bench.now);
        bench.steered.leave(state, empty, PACKET, Span::ZERO, now);
    }
    bench.send(100, 1, Span::from_millis(9));
    assert_eq!(bench.status().link, Rate::from_bps(8_000_000));
    // A fifth of the rate is known after five seconds, but for e⁻⁵ of the way.
    bench.send(1000, 5, Span::from_millis(9));
    let link = bench.status().link.as_bps();
    assert!((1_600_000..1_650_000).contains(&link), "{link}");
}

const SETTING: Setting<'static> = Setting {
    seed: 1,
    name: "up",
    mtu: 1500,
    link_header: 0,
};

fn spec(text: &str) -> Spec {
    text.parse().expect("valid")
}

fn stat(qdisc: &dyn Qdisc<TestPacket>, now: Time, name: &str) -> Value {
    let stats = qdisc.report(now).stats;
    let found = stats.into_iter().find(|field| field.name == name);
    found.expect("it is there").value
}

/// Two packets a millisecond for a link that takes one, then none, for twenty seconds; but 30
/// packets are always left.
fn swing(qdisc: &mut dyn Qdisc<TestPacket>, log: &mut Log) {
    for ms in 0..20_000 {
        let now = Time::ZERO + Span::from_millis(ms);
        let few = qdisc.backlog().packets < 30;
        for id in 0..u64::from(few || ms % 180 < 90) * 2 {
            qdisc.enqueue(TestPacket::new(id, 1000), now, log);
        }
        qdisc.dequeue(now, log);
    }
}

#[test]
fn what_was_learned_survives_a_new_policy_and_not_a_new_target() {
    for inner in [
        "gsp limit 9000 threshold",
        "codel limit 9000 interval 20ms target",
    ] {
        let mut log = Log::default();
        let steer = |policy: &str, target| spec(&format!("steer {policy} over {inner} {target}"));
        let mut qdisc = steer("util 10% delay 50ms", "40ms").build::<TestPacket>(SETTING);
        swing(&mut *qdisc, &mut log);
        let now = Time::ZERO + Span::from_secs(20);
        let Value::Int(before) = stat(&*qdisc, now, "target") else {
            panic!("a time");
        };
        let mut gauges = Vec::new();
        qdisc.gauges(now, &mut |gauge| gauges.push(gauge));
        let gauge = |name| gauges.iter().find(|g| g.name == name).map(|g| g.value);
        let target = gauge("target").expect("it is steered");
        assert_eq!((target * 1e3).round() as i64, before);
        assert!(target < 40.0 && gauge("virtual_rate").is_none());
        assert_eq!(gauge("pause").is_some(), inner.starts_with("gsp"));
        // The two never differ.
        let Value::Text(decision) = stat(&*qdisc, now, "decision") else {
            panic!("a word");
        };
        let code = gauge("decision").expect("there is always one");
        let named = Decision::ALL.into_iter().find(|d| d.word() == decision);
        assert!(named.is_some_and(|d| (f64::from(d as u8) - code).abs() < 1e-9));
        let raised = steer("util 20% delay 60ms", "40ms");
        assert_eq!(qdisc.change(&raised, now), Ok(()));
        assert_eq!(qdisc.spec(), Some(raised));
        assert_eq!(stat(&*qdisc, now, "target"), Value::Int(before));
        // A lower highest delay caps it at once; a new target starts there.
        assert_eq!(qdisc.change(&steer("delay 1ms", "40ms"), now), Ok(()));
        assert_eq!(stat(&*qdisc, now, "target"), Value::Int(1000));
        assert_eq!(qdisc.change(&steer("delay 60ms", "30ms"), now), Ok(()));
        assert_eq!(stat(&*qdisc, now, "target"), Value::Int(30_000));
    }
}

#[test]
fn without_traffic_nothing_is_decided() {
    let mut qdisc = spec("steer over gsp").build::<TestPacket>(SETTING);
    let now = Time::ZERO + Span::from_secs(3600);
    assert_eq!(qdisc.dequeue(now, &mut Log::default()), Dequeue::Empty);
    assert_eq!(
        stat(&*qdisc, now, "decision"),
        Value::Text("none".to_string())
    );
    let place = Place {
        dev: None,
        handle: 1,
    };
    assert_eq!(
        qdisc.report(now).tc_text(place),
        "qdisc steer 1: root refcnt 2 util 99 delay 30ms \n \
         Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n \
         backlog 0b 0p requeues 0\n  \
         target 5ms swing 0us deviation 0us\n  \
         link_rate 0bit avg_rate 0bit\n  \
         decision none decided 3.6e+03s unmet none lowered 0 raised 0\n\
         qdisc gsp 2: parent 1:1 limit 1000p threshold 5ms interval 200ms alpha 2 tau 1s \
         min_interval 1ms \n \
         Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n \
         backlog 0b 0p requeues 0\n  \
         delay 0us pause 200ms cumul 0us\n  \
         dropped 0 ecn_mark 0 overflows 0 drop_overlimit 0\n"
    );
}
