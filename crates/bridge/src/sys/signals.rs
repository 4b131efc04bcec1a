//! Signals, taken one by one by a thread that waits for them: no handler interrupts anything.

use std::io;
use std::mem::MaybeUninit;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGINT or SIGTERM: end.
    Stop,
    /// SIGUSR1: say what has been counted.
    Report,
    /// SIGHUP: read the configuration anew.
    Reload,
}

/// The signals that [`Signals::block`] keeps from the process.
#[derive(Clone, Copy)]
pub struct Signals(libc::sigset_t);

const TAKEN: [(libc::c_int, Signal); 4] = [
    (libc::SIGINT, Signal::Stop),
    (libc::SIGTERM, Signal::Stop),
    (libc::SIGUSR1, Signal::Report),
    (libc::SIGHUP, Signal::Reload),
];

impl Signals {
    /// From now on these signals wait for [`Signals::wait`]. Call it before the process has a
    /// second thread: threads inherit it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn block() -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initialises the set, the others read and change it; null asks for
        // no old mask.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            for (signal, _) in TAKEN {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            let set = set.assume_init();
            match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
                0 => Ok(Self(set)),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// Waits for the next one.
    pub fn wait(&self) -> Signal {
        loop {
            let mut signal = 0;
            // SAFETY: both outlive the call.
            let result = unsafe { libc::sigwait(&raw const self.0, &raw mut signal) };
            let known = TAKEN.iter().find(|(number, _)| *number == signal);
            if let (0, Some((_, meaning))) = (result, known) {
                return *meaning;
            }
        }
    }
}
