//! Programs at the ingress of two interfaces that let frames pass or not: by tcx (Linux 6.6), which
//! takes them away with this process, or by clsact, where they stay and the time they know passes.

use super::{
    BPF_FUNC_KTIME_GET_NS, BPF_PSEUDO_MAP_VALUE, Instruction, ProgramLoad, Words, attach, load,
};
use crate::clock::read_nanos;
use crate::clsact::Filter;
use rustix::time::ClockId;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;

/// From linux/bpf.h.
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_INGRESS: u32 = 46;

/// Verdicts of a tcx program, and of a direct action: go on to the bridge, or drop.
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;

/// A program that lets frames pass after the time in the array map `map`.
fn program(map: &OwnedFd) -> [Instruction; 9] {
    [
        // r6 = address of the map's value (two slots)
        (0x18, BPF_PSEUDO_MAP_VALUE << 4 | 6, 0, map.as_raw_fd()),
        (0, 0, 0, 0),
        // r0 = now
        (0x85, 0, 0, BPF_FUNC_KTIME_GET_NS),
        // r1 = *(u64 *)r6
        (0x79, 6 << 4 | 1, 0, 0),
        // if r0 > r1, over the next two
        (0x2d, 1 << 4, 2, 0),
        // r0 = drop, exit
        (0xb7, 0, 0, TCX_DROP),
        (0x95, 0, 0, 0),
        // r0 = go on, exit
        (0xb7, 0, 0, TCX_NEXT),
        (0x95, 0, 0, 0),
    ]
    .map(Instruction::from)
}

/// Programs at the ingress of both interfaces, which let frames pass to the kernel bridge or
/// not, and the word in shared memory that tells them until when not. One store changes both at
/// once, and when nobody stores any more, the time passes by itself.
#[derive(Debug)]
pub(crate) struct Gate {
    closed_until: Words<1>,
    held: Held,
}

/// Where programs are put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hook {
    /// tcx; clsact where the kernel has none.
    #[default]
    Newest,
    /// clsact, as where the kernel has no tcx.
    Clsact,
}

/// What has programs stay at interfaces.
#[derive(Debug)]
enum Held {
    Links { _links: [OwnedFd; 2] },
    Filters { _filters: [Filter; 2] },
}

/// How long a gate whose programs outlive the process is closed at most.
const LONGEST: u64 = 10_000_000_000;

impl Gate {
    /// An open gate.
    pub(crate) fn new(interfaces: [u32; 2], hook: Hook) -> io::Result<Self> {
        let closed_until = Words::new()?;
        let program = program(&closed_until.map);
        // tcx takes a program once only.
        let loaded = || {
            load(
                &program,
                &ProgramLoad {
                    kind: BPF_PROG_TYPE_SCHED_CLS,
                    ..ProgramLoad::default()
                },
            )
        };
        let by_tcx = || {
            let attached = |interface| attach(&loaded()?, interface, BPF_TCX_INGRESS, 0);
            let [left, right] = interfaces.map(attached);
            let links = [left?, right?];
            Ok(Held::Links { _links: links })
        };
        let by_clsact = || {
            let [left, right] = interfaces.map(|interface| Filter::attach(&loaded()?, interface));
            let filters = [left?, right?];
            Ok(Held::Filters { _filters: filters })
        };
        let held = match hook {
            Hook::Clsact => by_clsact(),
            Hook::Newest => by_tcx().or_else(|error: io::Error| match error.raw_os_error() {
                // It knows no such place.
                Some(libc::EINVAL) => by_clsact(),
                _ => Err(error),
            }),
        };
        Ok(Self {
            closed_until,
            held: held?,
        })
    }

    /// Whether its programs stay when the process is killed, so that it must not be closed for
    /// ever.
    pub(crate) fn outlives(&self) -> bool {
        matches!(self.held, Held::Filters { .. })
    }

    /// Lets frames pass from now on.
    pub(crate) fn open(&self) {
        self.close_until(0);
    }

    /// Lets none pass from now on.
    pub(crate) fn close(&self) {
        self.close_until(u64::MAX);
    }

    /// Lets none pass up to this time in nanoseconds of CLOCK_MONOTONIC, and all that come later.
    pub(crate) fn close_until(&self, nanos: u64) {
        let latest = if self.outlives() {
            read_nanos(ClockId::Monotonic).saturating_add(LONGEST)
        } else {
            u64::MAX
        };
        let nanos = nanos.min(latest);
        self.closed_until.word(0).store(nanos, Ordering::SeqCst);
    }
}
