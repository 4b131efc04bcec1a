//! The program at an interface that hands its frames to AF_XDP sockets.

use super::{
    BPF_FUNC_KTIME_GET_NS, BPF_MAP_CREATE, BPF_MAP_UPDATE_ELEM, BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_VALUE, Instruction, MapCreate, MapUpdate, ProgramLoad, Words, attach, call,
    load, made, op,
};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::from_ref;
use std::sync::atomic::Ordering;

/// From linux/bpf.h and linux/if_link.h.
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_XDP: u32 = 37;
const BPF_F_XDP_DEV_BOUND_ONLY: u32 = 1 << 6;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;
const BPF_PSEUDO_KFUNC_CALL: u8 = 2;
const BPF_FUNC_REDIRECT_MAP: i32 = 51;
const BPF_FUNC_XDP_ADJUST_META: i32 = 54;
/// Verdict: the frame goes on as if there were no program.
const XDP_PASS: i32 = 2;

/// What the program writes before a frame: when it came in nanoseconds of CLOCK_MONOTONIC, and its
/// VLAN tag if the kernel holds it beside the frame.
pub(crate) const META: usize = ROOM.unsigned_abs() as usize;
/// The same as an instruction's number, and the register with the end of the program's stack.
const ROOM: i32 = 16;
const FRAME: u8 = 0xa;
/// In the second word, beside the tag's protocol (bits 16 to 31, as on the wire) and its control
/// information (bits 0 to 15): there is a tag.
pub(crate) const TAGGED: u64 = 1 << 32;

/// The words shared with the program.
const UNTIL: usize = 0;
const PASSED: usize = 1;

/// Up to the time in the first of `words` hands every frame to the socket of its queue in
/// `sockets`, with its [`META`] before it where the driver has room for that. Later ones, and those
/// of a queue without a socket, pass; the later ones are counted in the second word.
/// `tag_function` is the kernel's `bpf_xdp_metadata_rx_vlan_tag`.
fn program(words: &OwnedFd, sockets: &OwnedFd, tag_function: i32) -> [Instruction; 43] {
    let (words, sockets) = (words.as_raw_fd(), sockets.as_raw_fd());
    [
        // r6 = the context, r7 = now, r8 = no tag
        op(0xbf, 1 << 4 | 6, 0, 0),
        op(0x85, 0, 0, BPF_FUNC_KTIME_GET_NS),
        op(0xbf, 7, 0, 0),
        op(0xb7, 8, 0, 0),
        // r1 = address of the words (two slots); r2 = the first; if r7 > r2, to the last part
        op(0x18, BPF_PSEUDO_MAP_VALUE << 4 | 1, 0, words),
        op(0, 0, 0, 0),
        op(0x79, 1 << 4 | 2, 0, 0),
        op(0x2d, 2 << 4 | 7, 31, 0),
        // make room before the frame; without it, to the redirection
        op(0xbf, 6 << 4 | 1, 0, 0),
        op(0xb7, 2, 0, -ROOM),
        op(0x85, 0, 0, BPF_FUNC_XDP_ADJUST_META),
        op(0x55, 0, 21, 0),
        // *(u64 *)(r10 - 8) = 0, *(u64 *)(r10 - 16) = 0
        op(0x7b, 8 << 4 | FRAME, -8, 0),
        op(0x7b, 8 << 4 | FRAME, -16, 0),
        // r0 = tag_function(r6, r10 - 8, r10 - 16); without a tag over the next five
        op(0xbf, 6 << 4 | 1, 0, 0),
        op(0xbf, FRAME << 4 | 2, 0, 0),
        op(0x07, 2, 0, -8),
        op(0xbf, FRAME << 4 | 3, 0, 0),
        op(0x07, 3, 0, -16),
        op(0x85, BPF_PSEUDO_KFUNC_CALL << 4, 0, tag_function),
        op(0x55, 0, 5, 0),
        // r8 = TAGGED >> 16 | protocol, r8 <<= 16, r8 |= control information
        op(0x69, FRAME << 4 | 8, -8, 0),
        op(0x47, 8, 0, (TAGGED >> 16) as i32),
        op(0x67, 8, 0, 16),
        op(0x69, FRAME << 4 | 1, -16, 0),
        op(0x4f, 1 << 4 | 8, 0, 0),
        // r1 = data_meta, r2 = data; r3 = r1 + META; if r3 > r2, to the redirection
        op(0x61, 6 << 4 | 1, 8, 0),
        op(0x61, 6 << 4 | 2, 0, 0),
        op(0xbf, 1 << 4 | 3, 0, 0),
        op(0x07, 3, 0, ROOM),
        op(0x2d, 2 << 4 | 3, 2, 0),
        // *(u64 *)r1 = r7, *(u64 *)(r1 + 8) = r8
        op(0x7b, 7 << 4 | 1, 0, 0),
        op(0x7b, 8 << 4 | 1, 8, 0),
        // r0 = bpf_redirect_map(sockets, rx_queue_index, XDP_PASS), exit
        op(0x61, 6 << 4 | 2, 16, 0),
        op(0x18, BPF_PSEUDO_MAP_FD << 4 | 1, 0, sockets),
        op(0, 0, 0, 0),
        op(0xb7, 3, 0, XDP_PASS),
        op(0x85, 0, 0, BPF_FUNC_REDIRECT_MAP),
        op(0x95, 0, 0, 0),
        // lock *(u64 *)(r1 + 8) += 1, exit
        op(0xb7, 2, 0, 1),
        op(0xdb, 2 << 4 | 1, 8, 0),
        op(0xb7, 0, 0, XDP_PASS),
        op(0x95, 0, 0, 0),
    ]
}

/// The program at an interface, there as long as this lives: the kernel removes it with the last
/// descriptor of its link.
#[derive(Debug)]
pub(crate) struct Redirect {
    words: Words<2>,
    _link: OwnedFd,
}

impl Redirect {
    /// From now on the frames of queue 0, 1, ... of the interface go to these sockets.
    pub(crate) fn new(interface: u32, sockets: &[OwnedFd], tag_function: u32) -> io::Result<Self> {
        let words = Words::new()?;
        words.word(UNTIL).store(u64::MAX, Ordering::SeqCst);
        let map = made(
            BPF_MAP_CREATE,
            &MapCreate {
                kind: BPF_MAP_TYPE_XSKMAP,
                key_size: 4,
                value_size: 4,
                entries: sockets.len() as u32,
                ..MapCreate::default()
            },
        )?;
        for (queue, socket) in (0_u32..).zip(sockets) {
            let socket = socket.as_raw_fd();
            let update = MapUpdate {
                map: map.as_raw_fd() as u64,
                key: from_ref(&queue) as u64,
                value: from_ref(&socket) as u64,
                ..MapUpdate::default()
            };
            call(BPF_MAP_UPDATE_ELEM, &update)?;
        }
        let program = load(
            &program(&words.map, &map, tag_function.cast_signed()),
            &ProgramLoad {
                kind: BPF_PROG_TYPE_XDP,
                flags: BPF_F_XDP_DEV_BOUND_ONLY,
                interface,
                attach: BPF_XDP,
                ..ProgramLoad::default()
            },
        )?;
        let link = attach(&program, interface, BPF_XDP, XDP_FLAGS_DRV_MODE)?;
        Ok(Self { words, _link: link })
    }

    /// Hands frames over up to this time in nanoseconds of CLOCK_MONOTONIC, and lets later ones
    /// pass.
    pub(crate) fn until(&self, nanos: u64) {
        self.words.word(UNTIL).store(nanos, Ordering::SeqCst);
    }

    /// Frames that came too late for that.
    pub(crate) fn passed(&self) -> u64 {
        self.words.word(PASSED).load(Ordering::Relaxed)
    }
}
