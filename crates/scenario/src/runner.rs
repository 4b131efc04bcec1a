//! Runs cells on several threads; the results come in the grid's order.

use sojourn_units::Time;
use sojourn_world::{Cell, RunResult, Taps, World, WorldError};
use std::borrow::Borrow;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The result of a cell, as whatever it is kept, or why there is none.
pub type Outcome<T = RunResult> = Result<T, WorldError>;

/// Observes cells while they run; called from several threads.
pub trait Watch: Sync {
    /// A cell has come so far: simulated or real time since its start.
    fn progress(&self, index: usize, now: Time);
    /// A cell is done.
    fn done(&self, index: usize, outcome: &Outcome);
}

/// Observes nothing.
impl Watch for () {
    fn progress(&self, _: usize, _: Time) {}
    fn done(&self, _: usize, _: &Outcome) {}
}

/// Runs every cell, at most `jobs` at a time, and gives the outcomes in the order of `cells`.
/// Once `stop` is set no cell is begun any more, running ones are interrupted, and what is left
/// has [`WorldError::Interrupted`]. A cell that panics fails alone.
pub fn run(
    world: &(dyn World + Sync),
    cells: &[Cell],
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    watch: &dyn Watch,
) -> Vec<Outcome> {
    let outcomes: Vec<OnceLock<Outcome>> = cells.iter().map(|_| OnceLock::new()).collect();
    each(world, cells, jobs, stop, watch, &|index, outcome| {
        let first = outcomes[index].set(outcome).is_ok();
        debug_assert!(first, "each index is taken once");
    });
    outcomes
        .into_iter()
        .map(OnceLock::into_inner)
        .map(|outcome| outcome.expect("the threads have taken every index"))
        .collect()
}

/// Runs every cell as [`run`] does, and hands each outcome over as soon as it is there, with the
/// cell's index and from several threads, so that memory does not grow with the number of cells.
pub fn each<C: Borrow<Cell> + Sync>(
    world: &(dyn World + Sync),
    cells: &[C],
    jobs: NonZeroUsize,
    stop: &AtomicBool,
    watch: &dyn Watch,
    take: &(dyn Fn(usize, Outcome) + Sync),
) {
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = cells.get(index) else { return };
            let tell = |now| watch.progress(index, now);
            let outcome = one(world, cell.borrow(), stop, &tell);
            watch.done(index, &outcome);
            take(index, outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.get().min(cells.len()) {
            scope.spawn(work);
        }
        work();
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "what a run costs stands outside its digest"
)]
fn one(
    world: &(dyn World + Sync),
    cell: &Cell,
    stop: &AtomicBool,
    progress: &dyn Fn(Time),
) -> Outcome {
    if stop.load(Ordering::Relaxed) {
        return Err(WorldError::Interrupted);
    }
    let mut report = |now| {
        progress(now);
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let (wall, cpu) = (Instant::now(), cpu_time());
    let run = || world.run(cell, Taps::default(), &mut report);
    let outcome = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Err(WorldError::Bug {
            world: world.name(),
            what: what.to_owned(),
        })
    });
    outcome.map(|mut result| {
        let cost = &mut result.cost;
        // The simulator has no clock; a world that has one knows better than we do.
        if cost.wall_s <= 0.0 {
            cost.wall_s = wall.elapsed().as_secs_f64();
            cost.cpu_s = cpu_time().saturating_sub(cpu).as_secs_f64();
        }
        if cost.peak_rss_bytes == 0 {
            cost.peak_rss_bytes = peak_rss_bytes(wall + wall.elapsed());
        }
        result
    })
}

/// Processor time of this thread so far.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Not told by a browser.
#[cfg(not(unix))]
fn cpu_time() -> Duration {
    Duration::ZERO
}

/// How long what is known of the largest resident memory is told again: to ask takes longer than
/// parts of a short run.
const ASKED_EVERY: Duration = Duration::from_millis(10);

/// Largest resident memory of the process so far; zero where the system does not tell.
fn peak_rss_bytes(now: Instant) -> u64 {
    static KNOWN: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match *known {
        Some((at, bytes)) if now.saturating_duration_since(at) < ASKED_EVERY => bytes,
        _ => {
            let bytes = ask_peak_rss();
            *known = Some((now, bytes));
            bytes
        }
    }
}

fn ask_peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.map_or(0, |kib: u64| kib * 1024)
}

/// Results, and a sentence for each run without one.
pub fn split<T, C: Borrow<Cell>>(cells: &[C], outcomes: Vec<Outcome<T>>) -> (Vec<T>, Vec<String>) {
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for (number, (cell, outcome)) in cells.iter().zip(outcomes).enumerate() {
        match outcome {
            Ok(result) => results.push(result),
            Err(error) => {
                let cell = cell.borrow();
                let mut name = format!("run {} of {}", number + 1, cells.len());
                for (key, value) in &cell.params {
                    let _ = write!(name, ", {key} = {value}");
                }
                failures.push(format!("{name}, seed {}: {error}", cell.seed));
            }
        }
    }
    (results, failures)
}

#[cfg(test)]
mod tests;
