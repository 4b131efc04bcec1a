//! Which frames are ours and which are the kernel bridge's: one decision for each frame.
//!
//! A filter at each packet socket decides. It reads the clock once and compares it with a word in
//! shared memory, until when this process takes frames. If the time is not past, the socket takes
//! the frame, and the filter writes a mark beside it (`cb` of the kernel's `sk_buff`); else the
//! socket does not get it. The gate, a program at the ingress of the interface, decides nothing: it
//! drops frames that bear the mark. All others go on to the kernel bridge.
//!
//! **No frame goes both ways or neither.** The kernel shows a frame to the packet sockets first and
//! to the gate afterwards, in one call and on one processor. Whatever happens between the two (an
//! interrupt, a change of the word, a clock that is set), the gate follows what the filter did:
//!
//! | what the filter did | the socket | the gate |
//! | --- | --- | --- |
//! | it took the frame | has it | drops it |
//! | it did not, since the time is past | has nothing | lets it pass |
//! | it did not run: no socket, or one that is being closed | has nothing | lets it pass |
//!
//! How long a frame has waited before it comes here does not count, nor does any other clock: the
//! word is in CLOCK_MONOTONIC, which nobody sets. A process that has died has no socket, so that
//! its frames pass at once, whether its gate has gone with it (tcx, Linux 6.6) or is left (clsact).
//! One that stands still moves the word no more, so that they pass when the time in it is past.
//!
//! Order of steps. At the start the gates come first, then the filters, so that no marked frame
//! finds no gate. When the word or a filter is changed, [`wait_for_packets`] waits for the frames
//! that saw what was before.
//!
//! Lost, and counted by the kernel (`missed`): frames that were taken for a socket whose buffer is
//! full. Lost without a count: what a process had taken when it was killed. Twice: frames whose
//! mark another program of BPF overwrites between the two (a socket filter or a program of tc that
//! writes `cb`). Twice, until the monitor has put it back: all frames, when somebody removes the
//! gate (`tc qdisc del dev eth1 clsact`).

mod held;

pub(crate) use held::Held;

use super::{
    BPF_FUNC_KTIME_GET_NS, BPF_PSEUDO_MAP_VALUE, Instruction, ProgramLoad, Words, load, op,
};
use crate::forwarding::random_word;
use crate::sys::set_option;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// From linux/bpf.h.
const BPF_PROG_TYPE_SOCKET_FILTER: u32 = 1;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_INGRESS: u32 = 46;

/// Verdicts of a tcx program, and of a direct action: go on to the bridge, or drop.
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;

/// Where the mark is in `struct __sk_buff`: the first two words of `cb`.
const MARK_AT: i16 = 48;

/// Verdict of a socket's filter: the whole frame.
const WHOLE: i32 = -1;

/// The two halves of an instruction that loads a 64-bit number.
fn number(register: u8, number: u64) -> [Instruction; 2] {
    let [low, high] = [number as u32, (number >> 32) as u32];
    [
        op(0x18, register, 0, low.cast_signed()),
        op(0, 0, 0, high.cast_signed()),
    ]
}

/// The filter of a socket: it takes and marks frames up to the time in the array map `until`. It
/// counts the others in the map `passed`, unless that time is zero.
fn taking(until: &OwnedFd, passed: &OwnedFd, mark: u64) -> [Instruction; 18] {
    let [low, high] = number(1, mark);
    [
        // r6 = the frame, r0 = now
        op(0xbf, 1 << 4 | 6, 0, 0),
        op(0x85, 0, 0, BPF_FUNC_KTIME_GET_NS),
        // r2 = address of `until` (two slots), r2 = *(u64 *)r2; if r0 > r2, over the next five
        op(0x18, BPF_PSEUDO_MAP_VALUE << 4 | 2, 0, until.as_raw_fd()),
        op(0, 0, 0, 0),
        op(0x79, 2 << 4 | 2, 0, 0),
        op(0x2d, 2 << 4, 5, 0),
        // r1 = the mark (two slots), *(u64 *)(r6 + cb) = r1, r0 = all of it, exit
        low,
        high,
        op(0x7b, 1 << 4 | 6, MARK_AT, 0),
        op(0xb7, 0, 0, WHOLE),
        op(0x95, 0, 0, 0),
        // if r2 == 0, over the next four; lock *(u64 *)passed += 1
        op(0x15, 2, 4, 0),
        op(0x18, BPF_PSEUDO_MAP_VALUE << 4 | 1, 0, passed.as_raw_fd()),
        op(0, 0, 0, 0),
        op(0xb7, 3, 0, 1),
        op(0xdb, 3 << 4 | 1, 0, 0),
        // r0 = nothing of it, exit
        op(0xb7, 0, 0, 0),
        op(0x95, 0, 0, 0),
    ]
}

/// The gate: it drops frames that bear the mark.
fn dropping(mark: u64) -> [Instruction; 8] {
    let [low, high] = number(2, mark);
    [
        // r2 = the mark (two slots), r3 = *(u64 *)(the frame + cb); if r3 != r2, over the next two
        low,
        high,
        op(0x79, 1 << 4 | 3, MARK_AT, 0),
        op(0x5d, 2 << 4 | 3, 2, 0),
        // r0 = drop, exit
        op(0xb7, 0, 0, TCX_DROP),
        op(0x95, 0, 0, 0),
        // r0 = go on, exit
        op(0xb7, 0, 0, TCX_NEXT),
        op(0x95, 0, 0, 0),
    ]
}

/// Programs at the ingress of both interfaces, which let frames pass to the kernel bridge that no
/// socket has taken, and the word in shared memory that tells sockets until when to take them. One
/// store changes it for all of them, and when nobody stores any more, the time passes by itself.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Until when sockets take frames, in nanoseconds of CLOCK_MONOTONIC. Zero: they take none.
    until: Arc<Words<1>>,
    /// What they mark them with: no other process knows it.
    mark: u64,
    /// Shared with the monitor, which puts back what others remove. Never locked by a thread that
    /// forwards.
    held: Arc<Mutex<Held>>,
}

/// The filter of one socket.
#[derive(Debug)]
pub(crate) struct Taking {
    program: OwnedFd,
    passed: Words<1>,
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

impl Gate {
    /// A gate that lets all pass: there is no socket yet that takes anything.
    pub(crate) fn new(interfaces: [u32; 2], hook: Hook) -> io::Result<Self> {
        let mark = random_word();
        let load = || load_as(BPF_PROG_TYPE_SCHED_CLS, &dropping(mark));
        let held = Held::new(interfaces, hook, load)?;
        Ok(Self {
            until: Arc::new(Words::new()?),
            mark,
            held: Arc::new(Mutex::new(held)),
        })
    }

    /// For the monitor.
    pub(crate) fn held(&self) -> Arc<Mutex<Held>> {
        Arc::clone(&self.held)
    }

    /// A filter for one socket, which may outlive the gate.
    pub(crate) fn filter(&self) -> io::Result<Taking> {
        let passed = Words::new()?;
        let program = taking(&self.until.map, &passed.map, self.mark);
        Ok(Taking {
            program: load_as(BPF_PROG_TYPE_SOCKET_FILTER, &program)?,
            passed,
        })
    }

    /// Has sockets take frames up to this time in nanoseconds of CLOCK_MONOTONIC; zero: none,
    /// `u64::MAX`: all. The others are the kernel bridge's.
    pub(crate) fn take_until(&self, nanos: u64) {
        self.until.word(0).store(nanos, Ordering::SeqCst);
    }
}

impl Taking {
    /// Has the filter decide for a packet socket.
    pub(crate) fn attach(&self, socket: impl AsFd) -> io::Result<()> {
        let program = self.program.as_raw_fd().to_ne_bytes();
        set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program)
    }

    /// Frames that it has left to the kernel bridge since the time was past.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.word(0).load(Ordering::Relaxed)
    }
}

/// Loads a program of this type.
fn load_as(kind: u32, program: &[Instruction]) -> io::Result<OwnedFd> {
    load(
        program,
        &ProgramLoad {
            kind,
            ..ProgramLoad::default()
        },
    )
}

/// Waits until the kernel is done with the frames that it is working on just now, on any processor:
/// later ones see what was stored and attached before the call. It takes some milliseconds.
pub(crate) fn wait_for_packets() {
    /// `MEMBARRIER_CMD_GLOBAL` (linux/membarrier.h): a grace period of RCU, under which the kernel
    /// receives packets.
    const GLOBAL: libc::c_int = 1;
    /// Where the kernel refuses that (`nohz_full`): longer than it works on what it has begun.
    const LONG: Duration = Duration::from_millis(20);
    // SAFETY: it takes numbers alone.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, 0, 0) };
    if result < 0 {
        std::thread::sleep(LONG);
    }
}

#[cfg(test)]
mod tests;
