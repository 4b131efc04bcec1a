//! Signals as flags: a handler may do no more than that.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);

extern "C" fn on_stop(_signal: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}

extern "C" fn on_report(_signal: libc::c_int) {
    REPORT.store(true, Ordering::Relaxed);
}

/// From now on SIGINT and SIGTERM set the first flag, and SIGUSR1 the second.
///
/// # Errors
/// When the system refuses the handlers.
pub fn catch_signals() -> io::Result<(&'static AtomicBool, &'static AtomicBool)> {
    type Handler = extern "C" fn(libc::c_int);
    let handlers: [(libc::c_int, Handler); 3] = [
        (libc::SIGINT, on_stop),
        (libc::SIGTERM, on_stop),
        (libc::SIGUSR1, on_report),
    ];
    for (signal, handler) in handlers {
        // SAFETY: plain old data for which all zeros is valid. The handlers only store to an
        // atomic, which is allowed in a signal handler.
        let result = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler as *const () as libc::sighandler_t;
            libc::sigaction(signal, &raw const action, std::ptr::null_mut())
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok((&STOP, &REPORT))
}
