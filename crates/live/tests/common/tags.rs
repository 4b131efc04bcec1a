//! VLAN tags beside frames, where the kernel has no VLAN devices: a program at a device's egress.
#![allow(unsafe_code, reason = "system calls")]

use super::Net;
use std::ffi::CString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::from_ref;

/// From linux/bpf.h.
const BPF_PROG_LOAD: u32 = 5;
const BPF_LINK_CREATE: u32 = 28;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_TCX_EGRESS: u32 = 47;
const BPF_FUNC_SKB_VLAN_PUSH: i32 = 18;
const TCX_NEXT: i32 = -1;

#[repr(C)]
struct Instruction(u8, u8, i16, i32);

/// The beginning of `union bpf_attr` for a program; what follows is zero.
#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    rest: [u64; 12],
}

/// The same for a link.
#[repr(C)]
struct Attach {
    program: i32,
    interface: u32,
    kind: u32,
    rest: [u32; 13],
}

/// Gives all frames that leave by `device` this tag, until what it returns is dropped. The tag is
/// beside the frame, as if a VLAN device had sent it.
pub fn tag_what_leaves(net: &Net, device: &str, protocol: u16, tci: u16) -> OwnedFd {
    let program = [
        Instruction(0xb7, 2, 0, protocol.to_be().into()),
        Instruction(0xb7, 3, 0, tci.into()),
        Instruction(0x85, 0, 0, BPF_FUNC_SKB_VLAN_PUSH),
        Instruction(0xb7, 0, 0, TCX_NEXT),
        Instruction(0x95, 0, 0, 0),
    ];
    let load = Load {
        kind: BPF_PROG_TYPE_SCHED_CLS,
        count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        license: c"GPL".as_ptr() as u64,
        rest: [0; 12],
    };
    let program = bpf(BPF_PROG_LOAD, &load);
    net.run(|| {
        let name = CString::new(device).expect("a name");
        // SAFETY: the name is terminated and outlives the call.
        let interface = unsafe { libc::if_nametoindex(name.as_ptr()) };
        let attach = Attach {
            program: std::os::fd::AsRawFd::as_raw_fd(&program),
            interface,
            kind: BPF_TCX_EGRESS,
            rest: [0; 13],
        };
        bpf(BPF_LINK_CREATE, &attach)
    })
}

fn bpf<T>(command: u32, attributes: &T) -> OwnedFd {
    // SAFETY: the attributes are plain data of the length beside them, and what they point at
    // outlives the call; a descriptor that it yields is nobody else's.
    unsafe {
        let pointer = from_ref(attributes);
        let made = libc::syscall(libc::SYS_bpf, command, pointer, size_of::<T>());
        assert!(made >= 0, "bpf({command}): {}", io::Error::last_os_error());
        OwnedFd::from_raw_fd(made as i32)
    }
}
