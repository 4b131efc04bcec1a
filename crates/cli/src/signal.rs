//! Signals that end a run.

use crate::INTERRUPTED;
use anyhow::Context as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag at Ctrl-C, SIGTERM or SIGHUP; the second signal ends the program at once.
pub(crate) fn stop_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED.into());
        }
        eprintln!("sojourn: stopping");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}
