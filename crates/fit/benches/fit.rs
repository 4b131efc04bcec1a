//! Time to find a line, on one processor: `cargo bench -p sojourn-fit`.

#[path = "../tests/known/line.rs"]
mod line;

use criterion::{Criterion, criterion_group, criterion_main};
use line::{measured, searched};
use sojourn_fit::{DOWN, Line, Queue, UP};

fn benches(criterion: &mut Criterion) {
    let line = Line {
        queue: Queue::Fifo,
        rtt_ms: 30.0,
        rate: [Some(4e6), Some(16e6)],
        buffer: [80_000.0, 160_000.0],
    };
    let mut group = criterion.benchmark_group("fit");
    group.sample_size(10);
    for (name, ways) in [("upload", &[UP][..]), ("both", &[UP, DOWN])] {
        let load = measured(&line, ways);
        group.bench_function(name, |bencher| bencher.iter(|| searched(&load)));
    }
    group.finish();
}

criterion_group!(fits, benches);
criterion_main!(fits);
