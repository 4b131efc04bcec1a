//! Signals that end a run.

use crate::INTERRUPTED;
use anyhow::Context as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag at Ctrl-C, SIGTERM or SIGHUP; the second signal ends the program at once.
pub(crate) fn stop_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    on_signal(move || {
        flag.store(true, Ordering::Relaxed);
        eprintln!("sojourn: stopping");
    })?;
    Ok(stop)
}

/// Does something at Ctrl-C, SIGTERM or SIGHUP; the second signal ends the program at once.
pub(crate) fn on_signal(first: impl Fn() + Send + 'static) -> anyhow::Result<()> {
    on_signals(first, || {})
}

/// As [`on_signal`], with what must be done before the second signal ends the program.
pub(crate) fn on_signals(
    first: impl Fn() + Send + 'static,
    last: impl Fn() + Send + 'static,
) -> anyhow::Result<()> {
    let mut stops = false;
    let handler = move || {
        if std::mem::replace(&mut stops, true) {
            last();
            std::process::exit(INTERRUPTED.into());
        }
        first();
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")
}
