//! Whatever clocks and samples do, rates stay within their bounds and nothing panics.

use proptest::prelude::*;
use sojourn_autorate::{Monitor, Params, Seen, Setting, Way};
use sojourn_units::{Rate, Span, Time};

#[derive(Clone, Debug)]
enum Operation {
    Sent(bool, u32),
    Departs(Seen),
    Returns(Seen),
    Sample(u64, u64),
    /// The clock is this from now on.
    At(u64),
    /// The clock goes on by so much, and a step follows.
    Step(u64),
}

fn seen() -> impl Strategy<Value = Seen> {
    (0_u64..4, 0_u32..8, 0_u32..8, any::<bool>()).prop_map(|(flow, value, echo, payload)| Seen {
        flow,
        source: flow,
        value,
        echo,
        payload,
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    let delay = prop_oneof![0_u64..1_000_000_000, Just(u64::MAX)];
    prop_oneof![
        4 => (any::<bool>(), any::<u32>()).prop_map(|(out, len)| Operation::Sent(out, len)),
        2 => seen().prop_map(Operation::Departs),
        2 => seen().prop_map(Operation::Returns),
        4 => (0_u64..100, delay).prop_map(|(source, delay)| Operation::Sample(source, delay)),
        1 => prop_oneof![0_u64..1_000_000_000_000, Just(u64::MAX)].prop_map(Operation::At),
        8 => (0_u64..500_000_000).prop_map(Operation::Step),
    ]
}

fn params() -> impl Strategy<Value = Params> {
    let rate = || 1_u64..100_000_000;
    (rate(), rate(), rate(), 1_u64..100_000_000).prop_map(|(a, b, c, threshold)| {
        let mut rates = [a, b, c];
        rates.sort_unstable();
        let [min, base, max] = rates.map(Rate::from_bps);
        Params {
            min,
            base,
            max,
            threshold: Span::from_nanos(threshold),
        }
    })
}

proptest! {
    #[test]
    fn rates_stay_within_their_bounds(
        ways in [params(), params()],
        operations in prop::collection::vec(operation(), 1..400),
    ) {
        let mut monitor = Monitor::new(ways.map(Setting::Follows));
        let mut now = Time::ZERO;
        for operation in operations {
            match operation {
                Operation::Sent(true, len) => monitor.sent(Way::Out, len),
                Operation::Sent(false, len) => monitor.sent(Way::Back, len),
                Operation::Departs(seen) => monitor.departs(&seen, now),
                Operation::Returns(seen) => monitor.returns(&seen, now),
                Operation::Sample(source, delay) => {
                    monitor.sample(source, Span::from_nanos(delay), now);
                }
                Operation::At(at) => now = Time::from_nanos(at),
                Operation::Step(by) => {
                    now += Span::from_nanos(by);
                    let before = Way::BOTH.map(|way| monitor.control(way).unwrap().rate());
                    for (way, decision) in monitor.step(now).into_iter().enumerate() {
                        let rate = monitor.control(Way::BOTH[way]).unwrap().rate();
                        prop_assert!((ways[way].min..=ways[way].max).contains(&rate));
                        match decision {
                            None => prop_assert_eq!(rate, before[way]),
                            Some(decision) => {
                                prop_assert_eq!([decision.from, decision.to], [before[way], rate]);
                                prop_assert!(rate != before[way]);
                                prop_assert!(!decision.to_string().is_empty());
                            }
                        }
                    }
                }
            }
        }
    }
}
