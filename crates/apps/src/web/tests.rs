use super::*;
use crate::tests::harness::{Wire, ms};
use alloc::boxed::Box;
use proptest::prelude::*;
use sojourn_units::Rate;

fn pages(objects: u32, connections: u8) -> Web {
    Web {
        objects,
        mean_size: 10_000,
        connections,
        pause: Span::from_secs(1),
    }
}

fn browse(pages: Web, seed: u64) -> Wire {
    let browser = Browser::new(pages, Stream::named(seed, "web"));
    let ends = (
        Box::new(WebServer) as Box<dyn App>,
        Box::new(browser) as Box<dyn App>,
    );
    let rate = Rate::from_bps(10_000_000);
    Wire::new(ends, pages.connections, rate, Span::from_millis(10))
}

#[test]
fn a_page_of_one_object_takes_a_round_trip_and_its_bytes() {
    let mut wire = browse(pages(1, 6), 1);
    wire.run(ms(100));
    let answer = wire
        .messages
        .iter()
        .find(|(_, end, ..)| *end == 0)
        .unwrap()
        .3;
    let wanted = 20.0 + f64::from(answer.len + REQUEST) * 8.0 / 1e4;
    let loads = wire.values(Metric::PageLoadMs);
    assert_eq!(loads.len(), 1);
    assert!(
        (loads[0] - wanted).abs() < 1e-3,
        "{loads:?}, wanted {wanted}"
    );
}

#[test]
fn more_connections_load_a_page_of_small_objects_faster() {
    let load = |connections| {
        let mut wire = browse(pages(40, connections), 1);
        wire.run(ms(5000));
        wire.values(Metric::PageLoadMs)[0]
    };
    assert!(load(1) > 1.5 * load(6), "{} {}", load(1), load(6));
}

proptest! {
    /// One request at a time on each connection, every object is fetched, no page is lost.
    #[test]
    fn every_object_of_every_page_is_fetched(
        objects in 1_u32..30,
        connections in 1_u8..8,
        seed in any::<u64>(),
    ) {
        let mut wire = browse(pages(objects, connections), seed);
        wire.run(ms(20_000));
        let loaded = wire.values(Metric::PageLoadMs).len();
        prop_assert!(loaded > 2);
        let objects_here = wire.values(Metric::ObjectMs).len();
        prop_assert!(objects_here >= loaded * objects as usize);
        let mut open = [0_i32; 8];
        for &(_, end, connection, _) in &wire.messages {
            open[usize::from(connection)] += if end == 1 { 1 } else { -1 };
            prop_assert!((0..=1).contains(&open[usize::from(connection)]));
        }
    }
}

#[test]
fn sizes_have_the_mean_that_was_asked_for() {
    let mut browser = Browser::new(pages(1, 1), Stream::named(3, "web"));
    let n = 50_000;
    let mean = (0..n).map(|_| f64::from(browser.size())).sum::<f64>() / f64::from(n);
    assert!((mean / 10_000.0 - 1.0).abs() < 0.05, "{mean}");
}
