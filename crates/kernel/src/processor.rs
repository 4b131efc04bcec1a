//! One of the host's processors for a guest. Kernel and programs of a guest take turns, several
//! thousand times a second of its time, and a turn costs least when nobody has to be woken up on
//! another processor.
//!
//! Which processors have how many guests is known by names that their guards hold: abstract
//! sockets, which the host's kernel frees with the process and no file stands for.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Guests on one processor that are told apart; what comes beyond goes where it likes.
const MOST: usize = 64;

/// A processor that this process keeps to, with all that it starts.
#[derive(Debug)]
pub(crate) struct Processor {
    /// Holds the name.
    _name: UnixListener,
}

impl Processor {
    /// One of those with the fewest guests, the present one if it is among them. None when this
    /// process may not choose, or there is nothing to choose from.
    pub(crate) fn take() -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        if allowed.count() < 2 {
            return None;
        }
        let present = sched_getcpu();
        let all = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core));
        let mut cores: Vec<usize> = all.collect();
        cores.sort_by_key(|&core| core != present);
        let mut places = (0..MOST).flat_map(|guest| cores.iter().map(move |core| (guest, *core)));
        let (name, core) = places.find_map(|(guest, core)| {
            let name = format!("sojourn-processor-{core}-guest-{guest}");
            let address = SocketAddr::from_abstract_name(name).ok()?;
            Some((UnixListener::bind_addr(&address).ok()?, core))
        })?;
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only).ok()?;
        Some(Self { _name: name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn each_guest_has_one_processor() {
        // A thread's affinity is its own.
        let allowed = sched_getaffinity(None).unwrap().count();
        let take = || {
            thread::spawn(|| {
                let held = Processor::take();
                (held, sched_getaffinity(None).unwrap())
            })
            .join()
            .unwrap()
        };
        let (first, second) = (take(), take());
        if allowed < 2 {
            assert!(first.0.is_none() && second.0.is_none());
            return;
        }
        assert!(first.0.is_some() && second.0.is_some());
        assert_eq!((first.1.count(), second.1.count()), (1, 1));
    }
}
