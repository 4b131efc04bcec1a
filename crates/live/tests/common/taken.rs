//! Processor time that work takes from everybody else, whoever it is counted for.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Steps between two looks at whether to end, of some nanosecond each.
const STEPS: u64 = 1000;
/// How long a processor is watched without the work, before it and after it.
const CALIBRATION: Duration = Duration::from_millis(250);

/// Has a thread count on each processor while `work` runs, which gives way to everything else, and
/// sees how far it comes beside what it does alone. Yields the time that the processors have lacked
/// together, in seconds: of threads, interrupts, what is deferred from these, and switching between
/// them, and nothing of processors that halt, since none does.
///
/// A thread counts in its registers, so that it puts nothing out of a cache.
pub fn taken<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let processors = sched_getaffinity(None).expect("Linux tells it");
    let numbers = (0..CpuSet::MAX_CPU).filter(|number| processors.is_set(*number));
    let counts: Vec<_> = numbers.map(|number| (number, AtomicU64::new(0))).collect();
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        let _end = super::StopOnDrop(&ends);
        for (number, count) in &counts {
            scope.spawn(|| spin(*number, count, &ends));
        }
        let look = || -> (Instant, Vec<u64>) {
            let steps = counts
                .iter()
                .map(|(_, count)| count.load(Ordering::Relaxed));
            (Instant::now(), steps.collect())
        };
        thread::sleep(CALIBRATION);
        let mut looks = vec![look()];
        thread::sleep(CALIBRATION);
        looks.push(look());
        let value = work();
        looks.push(look());
        thread::sleep(CALIBRATION);
        looks.push(look());
        let passed = |part: usize, number: usize| {
            let [(start, before), (end, after)] = [&looks[part], &looks[part + 1]];
            let steps = (after[number] - before[number]) as f64;
            ((*end - *start).as_secs_f64(), steps)
        };
        let lacked = (0..counts.len()).map(|number| {
            let [before, during, after] = [0, 1, 2].map(|part| passed(part, number));
            let pace = (before.1 + after.1) / (before.0 + after.0);
            during.0 - during.1 / pace
        });
        (value, lacked.sum())
    })
}

/// Counts on this processor, whenever nobody else wants it.
fn spin(processor: usize, count: &AtomicU64, ends: &AtomicBool) {
    let mut alone = CpuSet::new();
    alone.set(processor);
    sched_setaffinity(None, &alone).expect("it may run there");
    super::scheduled(libc::SCHED_IDLE, 0);
    let mut state = 1_u64;
    while !ends.load(Ordering::Relaxed) {
        for _ in 0..STEPS {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
        }
        state = black_box(state);
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}
