//! `bpf(2)`: programs of a few instructions at interfaces, and the maps they look into. All of
//! them go with the descriptors of this process.

mod gate;
mod redirect;

pub use gate::Hook;
pub(crate) use gate::{Gate, Held, Taking, wait_for_packets};
pub(crate) use redirect::{META, Redirect, TAGGED};

use super::mapping::Mapping;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// What is mapped of an array: at least a page, whatever its size.
const PAGE: usize = 4096;

/// Commands, types and flags of `bpf(2)` (linux/bpf.h).
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_MAP_UPDATE_ELEM: libc::c_long = 2;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_OBJ_GET_INFO_BY_FD: libc::c_long = 15;
const BPF_LINK_CREATE: libc::c_long = 28;
#[cfg(test)]
const BPF_LINK_DETACH: libc::c_long = 34;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const BPF_PSEUDO_MAP_FD: u8 = 1;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;
/// `bpf_ktime_get_ns`: CLOCK_MONOTONIC (linux/bpf.h).
const BPF_FUNC_KTIME_GET_NS: i32 = 5;

/// `struct bpf_insn`.
#[repr(C)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A line of a program; of `registers` the source has the upper four bits.
const fn op(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction {
        code,
        registers,
        offset,
        immediate,
    }
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

/// `union bpf_attr`, as far as BPF_MAP_UPDATE_ELEM needs it.
#[repr(C)]
#[derive(Default)]
struct MapUpdate {
    map: u64,
    key: u64,
    value: u64,
    flags: u64,
    rest: [u64; 12],
}

/// `union bpf_attr`, as far as BPF_PROG_LOAD needs it.
#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log: [u64; 2],
    kernel_version: u32,
    flags: u32,
    name: [u64; 2],
    interface: u32,
    attach: u32,
    rest: [u64; 7],
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

/// `struct bpf_link_info`, as far as a link of tcx needs it: longer than any kernel's.
#[repr(C)]
#[derive(Default)]
struct LinkInfo {
    kind: u32,
    number: u32,
    program: u32,
    padding: u32,
    interface: u32,
    attach: u32,
    rest: [u64; 16],
}

/// `union bpf_attr`, as far as BPF_OBJ_GET_INFO_BY_FD needs it.
#[repr(C)]
#[derive(Default)]
struct InfoGet {
    descriptor: u32,
    len: u32,
    info: u64,
    rest: [u64; 14],
}

/// `union bpf_attr`, as far as BPF_LINK_DETACH needs it.
#[cfg(test)]
#[repr(C)]
#[derive(Default)]
struct LinkDetach {
    link: u32,
    rest: [u32; 31],
}

/// `bpf(2)` with one of the structures above.
fn call<T>(command: libc::c_long, attributes: &T) -> io::Result<i32> {
    // SAFETY: the structure is at least as long as the kernel reads for this command, and zero
    // beyond what it knows; pointers in it outlive the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer as i32)
}

/// A command whose answer is a new descriptor.
fn made<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    let fd = call(command, attributes)?;
    // SAFETY: the call has just made this descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// How often a program is loaded at most. A signal that is pending ends the kernel's look at it
/// (`signal_pending` in `do_check`), and has been dealt with by the next time.
const LOADS: usize = 100;

/// Loads a program of one of the kinds, `load.kind`.
fn load(program: &[Instruction], load: &ProgramLoad) -> io::Result<OwnedFd> {
    let load = ProgramLoad {
        instruction_count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        ..*load
    };
    for _ in 1..LOADS {
        match made(BPF_PROG_LOAD, &load) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            loaded => return loaded,
        }
    }
    made(BPF_PROG_LOAD, &load)
}

/// Attaches a program to an interface as long as the answer lives.
fn attach(program: &OwnedFd, interface: u32, attach: u32, flags: u32) -> io::Result<OwnedFd> {
    made(
        BPF_LINK_CREATE,
        &LinkCreate {
            program: program.as_raw_fd() as u32,
            interface,
            attach,
            flags,
            ..LinkCreate::default()
        },
    )
}

/// The interface to which a link of tcx attaches its program; 0 when it was detached.
fn interface_of(link: &OwnedFd) -> io::Result<u32> {
    let mut info = LinkInfo::default();
    let get = InfoGet {
        descriptor: link.as_raw_fd() as u32,
        len: size_of::<LinkInfo>() as u32,
        info: (&raw mut info) as u64,
        ..InfoGet::default()
    };
    call(BPF_OBJ_GET_INFO_BY_FD, &get)?;
    Ok(info.interface)
}

/// Detaches a program as another process can, which leaves its link without effect.
#[cfg(test)]
fn detach(link: &OwnedFd) -> io::Result<()> {
    let detach = LinkDetach {
        link: link.as_raw_fd() as u32,
        ..LinkDetach::default()
    };
    call(BPF_LINK_DETACH, &detach).map(drop)
}

/// Words that programs and this process share.
#[derive(Debug)]
struct Words<const COUNT: usize> {
    map: OwnedFd,
    memory: Mapping,
}

impl<const COUNT: usize> Words<COUNT> {
    /// All zero.
    fn new() -> io::Result<Self> {
        let map = made(
            BPF_MAP_CREATE,
            &MapCreate {
                kind: BPF_MAP_TYPE_ARRAY,
                key_size: 4,
                value_size: (COUNT * size_of::<u64>()) as u32,
                entries: 1,
                flags: BPF_F_MMAPABLE,
                ..MapCreate::default()
            },
        )?;
        let memory = Mapping::of(&map, 0, PAGE)?;
        Ok(Self { map, memory })
    }

    /// One of them. The kernel reads and writes it whole.
    fn word(&self, place: usize) -> &AtomicU64 {
        assert!(place < COUNT, "there are {COUNT} words");
        let word: NonNull<AtomicU64> = self.memory.at(8 * place as u64, 1).expect("it is inside");
        // SAFETY: it lies in the mapping, which lives as long as `self`, and is only ever used as
        // an atomic word.
        unsafe { word.as_ref() }
    }
}
