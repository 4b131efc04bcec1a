//! Nanoseconds per delivered segment, both ends and the in-memory link included.
//!
//! `cargo bench -p sojourn-tcp`. The window is held by the receiver; "burst" loses 10 000
//! segments in a row, as a slow-start overshoot does.

#[path = "../src/tests/pair.rs"]
mod pair;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use pair::{A, Fate, Pair, Script};
use sojourn_tcp::{Config, SlowStart};
use sojourn_units::Span;

const SEGMENTS: u64 = 100_000;

fn connection(window: u32, script: Script) -> Pair {
    let config = Config {
        slow_start: SlowStart::Standard,
        initial_window: window,
        receive_window: window * 1448,
        receive_window_max: window * 1448,
        ..Config::default()
    };
    let mut pair = Pair::with_script(&config, Span::from_millis(25), script);
    pair.ends[A].write_forever();
    pair.run_for(Span::from_secs(1));
    pair
}

fn every(n: u64, burst: std::ops::Range<u64>) -> Script {
    Box::new(move |side, index, _, _| {
        if side == A && (index % n == n - 1 || burst.contains(&index)) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    })
}

fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("connection");
    group.throughput(Throughput::Elements(SEGMENTS));
    group.sample_size(10);
    let cases: [(&str, u32, u64, u64); 6] = [
        ("window 100", 100, u64::MAX, 0),
        ("window 10000", 10_000, u64::MAX, 0),
        ("window 40000", 40_000, u64::MAX, 0),
        ("window 100, loss 0.1 %", 100, 1000, 0),
        ("window 10000, loss 0.1 %", 10_000, 1000, 0),
        ("window 20000, burst of 10000", 20_000, u64::MAX, 10_000),
    ];
    for (name, window, loss, burst) in cases {
        let settled = connection(window, every(u64::MAX, 0..0)).sent[A];
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || {
                    let start = settled + 30_000;
                    connection(window, every(loss, start..start + burst))
                },
                |mut pair| {
                    let target = pair.delivered[pair::B] + SEGMENTS * 1448;
                    pair.run_to(target, Span::from_secs(1000))
                        .expect("the link works");
                    pair
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

criterion_group!(all, benches);
criterion_main!(all);
