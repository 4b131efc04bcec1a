//! Lines that are known are found again, whatever they are.

#[path = "known/line.rs"]
mod line;

use line::{measured, searched};
use proptest::prelude::*;
use sojourn_fit::{DOWN, Line, Queue, UP};

proptest! {
    // Each takes some 100 simulated minutes.
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// An upload over a FIFO between half and three bandwidth-delay products.
    #[test]
    fn a_fifo_is_found(mbit in 1.0..40.0_f64, rtt_ms in 5.0..120.0_f64, products in 0.5..3.0_f64) {
        let bytes = (mbit * 125.0 * rtt_ms * products).max(10.0 * 1514.0);
        let line = Line {
            queue: Queue::Fifo,
            rtt_ms,
            rate: [Some(mbit * 1e6), None],
            buffer: [bytes, 0.0],
        };
        let found = searched(&measured(&line, &[UP])).expect("it shows a line").line;
        let rate = found.rate[UP].unwrap();
        prop_assert!((rate / (mbit * 1e6) - 1.0).abs() < 0.03, "{line:?} {found:?}");
        prop_assert!((found.rtt_ms / rtt_ms - 1.0).abs() < 0.03, "{line:?} {found:?}");
        let (is, was) = (found.buffer_ms(UP).unwrap(), line.buffer_ms(UP).unwrap());
        prop_assert!((is - was).abs() < 0.05 * was + 2.0, "{line:?} {found:?}");
    }

    /// Nothing that a measurement holds stops the search with a panic.
    #[test]
    fn any_measurement_ends(values in prop::collection::vec(any::<f64>(), 0..40), ways in 0..3_usize) {
        let ways: &[usize] = [&[UP][..], &[DOWN], &[UP, DOWN]][ways];
        let line = Line {
            queue: Queue::Fifo,
            rtt_ms: 20.0,
            rate: [Some(4e6), Some(4e6)],
            buffer: [40_000.0; 2],
        };
        let mut load = measured(&line, ways);
        for (index, value) in values.iter().enumerate() {
            let points = match index % 3 {
                way @ (UP | DOWN) => &mut load.throughput[way],
                _ => &mut load.round_trips,
            };
            let place = index * points.len() / values.len();
            if let Some(point) = points.get_mut(place) {
                point.value = *value;
            }
        }
        let _ = searched(&load);
    }
}
