//! A bridge that stands still: the kernel forwards, nothing arrives twice and nothing stale. Needs
//! root; without it these are passed over, except in CI (`CI=true`), where a machine that cannot
//! run them fails them.

mod common;

use common::process::{Running, bridge, program};
use common::rig::{
    Link, Raw, StopOnDrop, available, frame, lost_but_not_doubled, measured, numbered, wait_for,
};
use std::ops::Range;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

fn wait(millis: u64) {
    thread::sleep(Duration::from_millis(millis));
}

/// One test after another, if there may be namespaces: the kernel drops what a flood lets no
/// processor receive, in every namespace, and then frames of the others are lost on their way.
fn alone() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    let lock = || ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    available().then(lock)
}

/// The numbers that are sent while a process is stopped; how many those are is a matter of the
/// machine's load.
struct Stop {
    /// From the moment on when it has stopped for certain.
    all: Range<u32>,
    /// Those when the watchdog's limit has passed for certain too.
    late: Range<u32>,
}

/// Stops the process for longer than frames may be old, and lets it go on.
fn stand_still(process: &Running, sent: &AtomicU32) -> Stop {
    // The one that is being sent just now is not among them.
    let next = || sent.load(Ordering::Relaxed) + 1;
    process.stop();
    let start = next();
    wait(500);
    let middle = next();
    wait(500);
    wait_for("frames", || sent.load(Ordering::Relaxed) > middle);
    let end = sent.load(Ordering::Relaxed);
    process.signal("CONT");
    Stop {
        all: start..end,
        late: middle..end,
    }
}

/// What statistics have of the direction up under a name.
fn told<'a>(statistics: &'a str, name: &str) -> &'a str {
    let line = statistics.lines().find(|line| line.starts_with(" up "));
    let mut words = line.expect("a line for up").split_whitespace();
    words.find(|word| *word == name).expect("it is told");
    words.next().expect("a value")
}

fn counted(statistics: &str, name: &str) -> usize {
    told(statistics, name).parse().expect("a number")
}

#[test]
fn the_kernel_forwards_while_a_bridge_stands_still() {
    let Some(_alone) = alone() else { return };
    for port in ["packet", "packet --workers 2", "xdp"] {
        measured(|| the_kernel_forwards(port), few_are_lost);
    }
}

/// Of so many sent so many were lost.
fn few_are_lost(&(sent, lost): &(usize, usize)) {
    assert!(lost < sent / 5, "{lost} of {sent} are lost");
}

fn the_kernel_forwards(port: &str) -> (usize, usize) {
    let link = Link::new();
    let words = format!("a1 b1 --require-fail-open --port {port}");
    let process = bridge(&link, &words, Path::new("."));
    let mut stops = Vec::new();
    let (sent, received) = numbered(&link, |sent| {
        for _ in 0..2 {
            wait(300);
            stops.push(stand_still(&process, sent));
        }
        wait(300);
    });
    let lost = lost_but_not_doubled(sent, &received);
    let statistics = process.interrupt();
    let by_kernel = counted(&statistics, "by_kernel");
    println!("{port}: {sent} sent, {lost} lost, {by_kernel} by the kernel");
    assert!(port.starts_with(told(&statistics, "port")));
    // Outside the stops a busy machine makes it stand still too, for less long than frames may be
    // old: what it holds then it sends, after what the kernel has forwarded.
    for Stop { all, late } in &stops {
        let of_stop: Vec<_> = received.iter().filter(|&n| all.contains(n)).collect();
        assert!(of_stop.is_sorted(), "stale frames came after fresh ones");
        let arrived = |number: u32| of_stop.binary_search(&&number).is_ok();
        assert!(late.clone().all(arrived), "{late:?}, {of_stop:?}");
    }
    let late: usize = stops.iter().map(|stop| stop.late.len()).sum();
    assert!(late > 0 && by_kernel >= late);
    (sent as usize, lost)
}

/// Under a flood from its left frames are long under way in the kernel, and it stands still with
/// many in its sockets: none of them has been forwarded already.
#[test]
fn a_flooded_bridge_that_stands_still_doubles_nothing() {
    let Some(_alone) = alone() else { return };
    for port in ["packet", "packet --workers 2"] {
        let link = Link::new();
        let words = format!("bridge b1 a1 --require-fail-open --port {port}");
        let mut command = program(&words, Path::new("."));
        command.stdout(Stdio::piped());
        let mut process = link.middle.run(|| Running::start(&mut command));
        assert!(process.first_line().starts_with("ready: b1 <-> a1"));
        let done = AtomicBool::new(false);
        let (sent, received) = thread::scope(|scope| {
            let _done = StopOnDrop(&done);
            scope.spawn(|| {
                let left = Raw::new(&link.server, "b0");
                while !done.load(Ordering::Relaxed) {
                    left.send(&frame(0x88b6, &[0; 50]));
                }
            });
            numbered(&link, |_| {
                for _ in 0..20 {
                    wait(100);
                    process.stop();
                    wait(250);
                    process.signal("CONT");
                }
            })
        });
        let lost = lost_but_not_doubled(sent, &received);
        let statistics = process.interrupt();
        let by_kernel = counted(&statistics, "by_kernel");
        println!("{port}: {sent} sent, {lost} lost, {by_kernel} by the kernel");
        assert!(by_kernel > 0);
    }
}

/// As a service manager ends one that is stopped: SIGTERM, then SIGCONT.
#[test]
fn one_that_ends_after_a_standstill_doubles_nothing() {
    let Some(_alone) = alone() else { return };
    for port in ["packet", "packet --workers 2"] {
        measured(|| ends_after_a_standstill(port), few_are_lost);
    }
}

fn ends_after_a_standstill(port: &str) -> (usize, usize) {
    let link = Link::new();
    let words = format!("a1 b1 --require-fail-open --keep-bridge --port {port}");
    let mut process = bridge(&link, &words, Path::new("."));
    let (sent, received) = numbered(&link, |_| {
        wait(300);
        process.stop();
        wait(400);
        process.signal("TERM");
        process.signal("CONT");
        assert!(process.ends_by_itself());
        wait(200);
    });
    let lost = lost_but_not_doubled(sent, &received);
    println!("{port}: {sent} sent, {lost} lost");
    (sent as usize, lost)
}

#[test]
fn stale_frames_are_dropped_and_counted() {
    let Some(_alone) = alone() else { return };
    for port in ["packet", "packet --workers 2", "xdp"] {
        stale_frames_are_dropped(port);
    }
}

fn stale_frames_are_dropped(port: &str) {
    let link = Link::new();
    let words = format!("a1 b1 --no-fail-open --port {port}");
    let process = bridge(&link, &words, Path::new("."));
    let mut meanwhile = 0..0;
    let (sent, received) = numbered(&link, |sent| {
        wait(200);
        meanwhile = stand_still(&process, sent).late;
        let end = sent.load(Ordering::Relaxed);
        wait_for("frames", || sent.load(Ordering::Relaxed) > end + 100);
    });
    let lost = lost_but_not_doubled(sent, &received);
    assert!(
        received.iter().any(|number| *number > meanwhile.end),
        "it goes on"
    );
    let statistics = process.interrupt();
    let (stale, missed) = (
        counted(&statistics, "stale"),
        counted(&statistics, "missed"),
    );
    println!("{port}: {sent} sent, {lost} lost, {stale} stale, {missed} missed");
    assert!(!meanwhile.is_empty());
    if port == "xdp" {
        // It holds 1024 where the kernel copies, some of them on their way when it stops.
        assert!(stale <= 1100 && stale >= meanwhile.len().min(1000));
    } else {
        assert!(stale >= meanwhile.len());
    }
    assert!(!received.iter().any(|number| meanwhile.contains(number)));
    assert_eq!(stale + missed, lost, "each is accounted for");
}
