//! Signals that end a run.

use crate::INTERRUPTED;
use crate::name::say;
use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Sets a flag at Ctrl-C, SIGTERM or SIGHUP; see [`on_signals`].
///
/// # Errors
/// When signals cannot be listened for.
pub fn stop_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    on_signal(move || {
        flag.store(true, Ordering::Relaxed);
        say("stopping");
    })?;
    Ok(stop)
}

/// Does something at Ctrl-C, SIGTERM or SIGHUP; see [`on_signals`].
///
/// # Errors
/// When signals cannot be listened for.
pub fn on_signal(first: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    on_signals(first, || {})
}

/// Does something at the first of Ctrl-C, SIGTERM and SIGHUP. The second Ctrl-C or SIGTERM ends the
/// program at once, after `last`. A SIGHUP never does, since it comes twice by itself when a
/// terminal goes, from the kernel and from the shell; `nohup` keeps it away.
///
/// # Errors
/// When signals cannot be listened for.
pub fn on_signals(
    first: impl Fn() + Send + 'static,
    last: impl Fn() + Send + 'static,
) -> anyhow::Result<()> {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    let heard = [SIGINT, SIGTERM].into_iter().chain(hangup);
    let mut signals = Signals::new(heard).context("cannot listen for Ctrl-C")?;
    let listen = move || {
        let (mut stops, mut was_asked) = (false, false);
        for signal in signals.forever() {
            let asks = signal != SIGHUP;
            if asks && std::mem::replace(&mut was_asked, true) {
                last();
                std::process::exit(INTERRUPTED.into());
            }
            if !std::mem::replace(&mut stops, true) {
                first();
            }
        }
    };
    let thread = thread::Builder::new().name("signals".into());
    thread.spawn(listen).context("cannot listen for Ctrl-C")?;
    Ok(())
}

/// Whether who started this process wants it to ignore a signal (`SigIgn` in proc(5)).
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
