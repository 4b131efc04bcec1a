use super::*;
use crate::tests::harness::{Wire, ms};
use alloc::boxed::Box;
use sojourn_units::Rate;

#[test]
fn a_report_is_as_old_as_its_way_takes() {
    let ends = (
        Box::new(Device::new(100, Span::from_millis(8))) as Box<dyn App>,
        Box::new(Collector) as Box<dyn App>,
    );
    // 100 bytes take 0.8 ms at 1 Mbit/s, and 20 ms to arrive.
    let mut wire = Wire::new(ends, 1, Rate::from_bps(1_000_000), Span::from_millis(20));
    wire.run(ms(1000));
    let ages = wire.values(Metric::AgeMs);
    assert_eq!(ages.len(), 123);
    assert!(ages.iter().all(|age| (age - 20.8).abs() < 1e-6), "{ages:?}");
}
