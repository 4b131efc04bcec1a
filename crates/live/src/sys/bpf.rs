//! `bpf(2)`: programs at the ingress of two interfaces that let frames pass or not.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is mapped of the map: at least a page, whatever its size.
const PAGE: usize = 4096;

/// Commands, types and flags of `bpf(2)` (linux/bpf.h).
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;
const BPF_TCX_INGRESS: u32 = 46;

/// Verdicts of a tcx program: go on to the bridge, or drop.
const TCX_NEXT: i32 = -1;
const TCX_DROP: i32 = 2;

/// `struct bpf_insn`.
#[repr(C)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// `bpf_ktime_get_ns`: CLOCK_MONOTONIC (linux/bpf.h).
const BPF_FUNC_KTIME_GET_NS: i32 = 5;

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
    .map(|(code, registers, offset, immediate)| Instruction {
        code,
        registers,
        offset,
        immediate,
    })
}

/// `union bpf_attr`, as far as BPF_MAP_CREATE needs it.
#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    rest: [u32; 27],
}

/// `union bpf_attr`, as far as BPF_PROG_LOAD needs it.
#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    rest: [u64; 13],
}

/// `union bpf_attr`, as far as BPF_LINK_CREATE needs it.
#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach: u32,
    flags: u32,
    rest: [u64; 14],
}

/// `bpf(2)` with one of the structures above; the answer is a new descriptor.
fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the structure is at least as long as the kernel reads for this command, and zero
    // beyond what it knows; pointers in it outlive the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Programs at the ingress of both interfaces, which let frames pass to the kernel bridge or
/// not, and the word in shared memory that tells them until when not. One store changes both at
/// once, and when nobody stores any more, the time passes by itself.
#[derive(Debug)]
pub(crate) struct Gate {
    closed_until: Word,
    _links: [OwnedFd; 2],
}

/// The word at the start of a map's memory, mapped as long as this lives.
#[derive(Debug)]
struct Word(NonNull<AtomicU64>);

impl Gate {
    /// An open gate.
    pub(crate) fn new(interfaces: [u32; 2]) -> io::Result<Self> {
        let map = bpf(
            BPF_MAP_CREATE,
            &MapCreate {
                kind: BPF_MAP_TYPE_ARRAY,
                key_size: 4,
                value_size: 8,
                entries: 1,
                flags: BPF_F_MMAPABLE,
                ..MapCreate::default()
            },
        )?;
        // SAFETY: a new mapping at an address of the kernel's choice; a page is the least that
        // such a map has.
        let page = unsafe {
            mmap(
                std::ptr::null_mut(),
                PAGE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &map,
                0,
            )
        }?;
        let closed_until = Word(NonNull::new(page.cast()).expect("a mapping is not at zero"));
        let [left, right] = interfaces.map(|interface| Self::attach(&map, interface));
        Ok(Self {
            closed_until,
            _links: [left?, right?],
        })
    }

    fn attach(map: &OwnedFd, interface: u32) -> io::Result<OwnedFd> {
        let program = program(map);
        let loaded = bpf(
            BPF_PROG_LOAD,
            &ProgramLoad {
                kind: BPF_PROG_TYPE_SCHED_CLS,
                instruction_count: program.len() as u32,
                instructions: program.as_ptr() as u64,
                license: c"Dual MIT/GPL".as_ptr() as u64,
                ..ProgramLoad::default()
            },
        )?;
        bpf(
            BPF_LINK_CREATE,
            &LinkCreate {
                program: loaded.as_raw_fd() as u32,
                interface,
                attach: BPF_TCX_INGRESS,
                ..LinkCreate::default()
            },
        )
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
        // SAFETY: the mapping lives as long as `self`; the kernel reads it word by word.
        unsafe { self.closed_until.0.as_ref() }.store(nanos, Ordering::SeqCst);
    }
}

impl Drop for Word {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `Gate::new`; `self` was the only one to point to it. The
        // programs keep the map itself.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), PAGE) };
    }
}
