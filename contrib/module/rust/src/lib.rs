//! The border between Linux and the queue library: what `sch_sojourn.c` calls, and what calls it.
//!
//! All that can be tested on any machine is in `crates/module`. Here are the functions' names, the
//! kernel's pointers, the allocator and the end of a panic; all `unsafe` code of the module in Rust
//! is in this file.
//!
//! # Who holds what
//! The C side takes memory for a qdisc,
//! has [`sojourn_arena`] lay it out, and names it by `sojourn_kernel_arena()` while it calls the
//! others: one caller at a time for one qdisc. Everything that the library allocates in such a call
//! comes from there. What does not fit comes from the kernel's allocator and is counted; the C side
//! gives up a qdisc that needed that when it was made.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::fmt::{self, Write};
use core::mem::{MaybeUninit, size_of};
use core::panic::PanicInfo;
use core::ptr;
use core::slice;
use sojourn_module::check::{self, digest, is_checked};
use sojourn_module::{Arena, Block, FRONT, Handle, Instance, Kernel, Link, Offer, Taken};
use sojourn_qdisc::DropReason;
use sojourn_units::Time;

// What the C side offers.
#[expect(
    improper_ctypes,
    reason = "the C side knows `Memory` by its address alone"
)]
unsafe extern "C" {
    /// The memory of the qdisc that is being called.
    safe fn sojourn_kernel_arena() -> *mut Memory;
    safe fn sojourn_kernel_alloc(size: usize) -> *mut u8;
    fn sojourn_kernel_free(at: *mut u8);
    fn sojourn_kernel_front(skb: usize, room: *mut u8, len: *mut usize) -> *const u8;
    fn sojourn_kernel_set_ce(skb: usize) -> bool;
    fn sojourn_kernel_clear_dscp(skb: usize);
    fn sojourn_kernel_mark(skb: usize) -> u32;
    fn sojourn_kernel_inside(skb: usize, inside: &mut [u32; 3]) -> bool;
    fn sojourn_kernel_class(skb: usize) -> u16;
    fn sojourn_kernel_free_skb(skb: usize);
    fn sojourn_kernel_dropped(call: *mut c_void, skb: usize, reason: u32);
    fn sojourn_kernel_panic(text: *const u8, len: usize) -> !;
}

/// The start of a qdisc's memory. Blocks' metadata follow, and then what they stand for.
pub struct Memory {
    arena: Arena<'static>,
    instance: Option<Instance<Linux>>,
    start: *mut u8,
    bytes: usize,
    /// Allocations that the arena had no block for.
    spilled: u64,
    /// What the C side is told drops with.
    call: *mut c_void,
}

/// Packets as the kernel's `sk_buff`, by their address.
struct Linux;

impl Kernel for Linux {
    fn front(packet: Handle, room: &mut [u8; FRONT]) -> usize {
        if is_checked(packet) {
            return check::front(packet, room);
        }
        Self::look(packet, |front| {
            room[..front.len()].copy_from_slice(front);
            front.len()
        })
    }

    #[inline]
    fn look<R>(packet: Handle, look: impl FnOnce(&[u8]) -> R) -> R {
        if is_checked(packet) {
            let mut room = [0; FRONT];
            let filled = check::front(packet, &mut room);
            return look(&room[..filled]);
        }
        let mut room = [MaybeUninit::<u8>::uninit(); FRONT];
        let mut len = FRONT;
        // SAFETY: a handle that is not of a check is the address of a packet that the qdisc holds.
        // The bytes are the packet's own or a copy in `room`, and stay while `look` runs.
        look(unsafe {
            let at = sojourn_kernel_front(packet.number(), room.as_mut_ptr().cast(), &raw mut len);
            slice::from_raw_parts(at, len.min(FRONT))
        })
    }

    fn set_ce(packet: Handle) -> bool {
        // SAFETY: as above.
        is_checked(packet) || unsafe { sojourn_kernel_set_ce(packet.number()) }
    }

    fn clear_dscp(packet: Handle) {
        if !is_checked(packet) {
            // SAFETY: as above.
            unsafe { sojourn_kernel_clear_dscp(packet.number()) }
        }
    }

    fn mark(packet: Handle) -> u32 {
        if is_checked(packet) {
            return 0;
        }
        // SAFETY: as above.
        unsafe { sojourn_kernel_mark(packet.number()) }
    }

    fn inside(packet: Handle) -> Option<[u32; 3]> {
        if is_checked(packet) {
            return None;
        }
        let mut inside = [0; 3];
        // SAFETY: as above.
        let is_known = unsafe { sojourn_kernel_inside(packet.number(), &mut inside) };
        is_known.then_some(inside)
    }

    fn class(packet: Handle) -> u16 {
        if is_checked(packet) {
            return 0;
        }
        // SAFETY: as above.
        unsafe { sojourn_kernel_class(packet.number()) }
    }

    fn free(packet: Handle) {
        if !is_checked(packet) {
            // SAFETY: as above; the discipline gives it up.
            unsafe { sojourn_kernel_free_skb(packet.number()) }
        }
    }
}

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: blocks of an arena do not overlap and are aligned to their size; what is beside it comes
// from the kernel's allocator, and is known by its address when it goes back. The kernel's blocks
// are aligned to their size or to a page, which is more than any type here asks for.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let memory = sojourn_kernel_arena();
        if memory.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the C side names the memory of the qdisc that it calls, which nobody else calls;
        // the fields used here are not borrowed while the library runs.
        unsafe {
            let arena = &mut *ptr::addr_of_mut!((*memory).arena);
            if let Some(offset) = arena.take(layout.size(), layout.align()) {
                return (*memory).start.add(offset);
            }
            (*memory).spilled += 1;
        }
        sojourn_kernel_alloc(layout.size().max(layout.align()).next_power_of_two())
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let memory = sojourn_kernel_arena();
        // SAFETY: as in `alloc`. `at` is from there.
        unsafe {
            if !memory.is_null() {
                let offset = (at as usize).wrapping_sub((*memory).start as usize);
                if offset < (*memory).bytes {
                    let arena = &mut *ptr::addr_of_mut!((*memory).arena);
                    arena.give(offset, layout.size(), layout.align());
                    return;
                }
            }
            sojourn_kernel_free(at);
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let memory = sojourn_kernel_arena();
        // SAFETY: as in `alloc`. `at` is from there, and has as much as the layout says.
        unsafe {
            if !memory.is_null() {
                let offset = (at as usize).wrapping_sub((*memory).start as usize);
                let arena = &mut *ptr::addr_of_mut!((*memory).arena);
                if offset < (*memory).bytes
                    && arena.extend(offset, layout.size(), layout.align(), size)
                {
                    return at;
                }
            }
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(at, new, size.min(layout.size()));
                self.dealloc(at, layout);
            }
            new
        }
    }
}

/// Text in a buffer of the kernel's; what does not fit is cut off.
struct Text<'a> {
    room: &'a mut [u8],
    filled: usize,
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = &mut self.room[self.filled..];
        let len = text.len().min(left.len());
        left[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.filled += len;
        Ok(())
    }
}

#[panic_handler]
fn panicked(info: &PanicInfo<'_>) -> ! {
    let mut room = [0; 200];
    let mut text = Text {
        room: &mut room,
        filled: 0,
    };
    let _ = write!(text, "{info}");
    let filled = text.filled;
    // SAFETY: so many bytes are there; the call does not return.
    unsafe { sojourn_kernel_panic(room.as_ptr(), filled) }
}

/// Results of [`sojourn_new`] and [`sojourn_change`]: done, or why not.
const DONE: i32 = 0;
const NO_DISCIPLINE: i32 = 1;
const NO_MEMORY: i32 = 2;

/// Lays out the memory of a qdisc, whose drops are told with `call`; nothing is allocated.
///
/// # Safety
/// `at` is aligned to a page, with `bytes` bytes that nobody uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_arena(
    at: *mut u8,
    bytes: usize,
    call: *mut c_void,
) -> *mut Memory {
    let head = size_of::<Memory>().next_multiple_of(64);
    let blocks = bytes.saturating_sub(head + 4096) / (64 + size_of::<Block>());
    // SAFETY: head, metadata and memory follow each other within `bytes`; 4096 are left for
    // alignment.
    unsafe {
        let metadata = at.add(head).cast::<Block>();
        for number in 0..blocks {
            metadata.add(number).write(Block::TAKEN);
        }
        let end = metadata.add(blocks) as usize;
        let start = at.add(end.next_multiple_of(4096) - at as usize);
        let memory = at.cast::<Memory>();
        memory.write(Memory {
            arena: Arena::new(slice::from_raw_parts_mut(metadata, blocks)),
            instance: None,
            start,
            bytes: Arena::bytes(blocks),
            spilled: 0,
            call,
        });
        memory
    }
}

/// Makes the qdisc of a string in its memory. An error's text goes to `room`.
///
/// # Safety
/// `memory` is of [`sojourn_arena`], and named by the C side. `text` and `room` have that many
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_new(
    memory: *mut Memory,
    text: *const u8,
    len: usize,
    link: &CLink,
    room: *mut u8,
    room_len: usize,
) -> i32 {
    // SAFETY: the caller's.
    let (text, room) = unsafe {
        (slice::from_raw_parts(text, len), slice::from_raw_parts_mut(room, room_len))
    };
    let link = Link {
        seed: link.seed,
        mtu: link.mtu,
        link_header: link.link_header,
    };
    let made = match core::str::from_utf8(text) {
        Ok(text) => Instance::new(text, link),
        Err(_) => return NO_DISCIPLINE,
    };
    match made {
        Ok(instance) => {
            // SAFETY: the caller's.
            let memory = unsafe { &mut *memory };
            memory.instance = Some(instance);
            // What queues need to grow is half of it.
            let is_enough = memory.spilled == 0
                && memory.arena.has_room()
                && memory.arena.free() >= memory.bytes / 2;
            if is_enough { DONE } else { NO_MEMORY }
        }
        Err(error) => {
            let mut text = Text { room, filled: 0 };
            let _ = write!(text, "{error}");
            NO_DISCIPLINE
        }
    }
}

/// What the C side knows of a device.
#[repr(C)]
pub struct CLink {
    seed: u64,
    mtu: u32,
    link_header: u32,
}

/// Gives up the qdisc, with the packets that it holds.
///
/// # Safety
/// As of [`sojourn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_end(memory: *mut Memory) {
    // SAFETY: the caller's.
    unsafe { instance(memory).take() };
}

/// The place of a qdisc.
///
/// # Safety
/// As of [`sojourn_new`], for as long as the result is used.
unsafe fn instance<'a>(memory: *mut Memory) -> &'a mut Option<Instance<Linux>> {
    // SAFETY: the caller's; the allocator borrows other fields.
    unsafe { &mut *ptr::addr_of_mut!((*memory).instance) }
}

/// Offers a packet whose headers are read when the discipline asks for them. `facts` has its memory
/// in the lower half and its hash in the upper one. The packet is then the qdisc's, or was told to
/// be dropped.
///
/// # Safety
/// As of [`sojourn_new`]; the packet is not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_enqueue(
    memory: *mut Memory,
    skb: Handle,
    len: u32,
    now: u64,
    facts: u64,
) {
    // SAFETY: the caller's.
    unsafe { enqueue(memory, skb, ptr::dangling(), len.into(), now, facts) }
}

/// The same with a packet that begins with `front`. `lengths` has its length (`qdisc_pkt_len`) in
/// the lower half and that of `front` in the upper one: all of it is in registers.
///
/// # Safety
/// As of [`sojourn_enqueue`]; `front` has that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_enqueue_read(
    memory: *mut Memory,
    skb: Handle,
    front: *const u8,
    lengths: u64,
    now: u64,
    facts: u64,
) {
    // SAFETY: the caller's.
    unsafe { enqueue(memory, skb, front, lengths, now, facts) }
}

/// # Safety
/// As of [`sojourn_enqueue_read`].
#[inline(always)]
unsafe fn enqueue(
    memory: *mut Memory,
    skb: Handle,
    front: *const u8,
    lengths: u64,
    now: u64,
    facts: u64,
) {
    // SAFETY: the caller's.
    unsafe {
        if (*memory).arena.has_room() {
            enqueue_with_room(memory, skb, front, lengths, now, facts);
        } else {
            enqueue_without_room(memory, skb, front, lengths, now, facts);
        }
    }
}

/// When what the packet could need is not free.
///
/// # Safety
/// As of [`sojourn_enqueue_read`].
#[cold]
#[inline(never)]
unsafe fn enqueue_without_room(
    memory: *mut Memory,
    skb: Handle,
    front: *const u8,
    lengths: u64,
    now: u64,
    facts: u64,
) {
    // SAFETY: the caller's; the instance is no part of the arena, and `call` is the C side's own.
    unsafe {
        let needs = instance(memory).as_mut().and_then(Instance::makes_do);
        if needs.is_some_and(|bytes| (*memory).arena.has_block(bytes)) {
            return enqueue_with_room(memory, skb, front, lengths, now, facts);
        }
        if let Some(instance) = instance(memory) {
            instance.lost(lengths as u32);
        }
        let reason = DropReason::NoBuffer as u32;
        sojourn_kernel_dropped((*memory).call, skb.number(), reason);
    }
}

/// When there is memory.
///
/// # Safety
/// As of [`sojourn_enqueue_read`].
#[inline(always)]
unsafe fn enqueue_with_room(
    memory: *mut Memory,
    handle: Handle,
    front: *const u8,
    lengths: u64,
    now: u64,
    facts: u64,
) {
    // SAFETY: the caller's.
    let (call, instance) = unsafe { ((*memory).call, instance(memory)) };
    let offer = Offer {
        handle,
        len: lengths as u32,
        memory: facts as u32,
        hash: (facts >> 32) as u32,
        // SAFETY: the caller's.
        front: unsafe { slice::from_raw_parts(front, (lengths >> 32) as usize) },
    };
    if let Some(instance) = instance {
        instance.enqueue(&offer, Time::from_nanos(now), move |handle, reason| {
            // SAFETY: `call` is the C side's own.
            unsafe { sojourn_kernel_dropped(call, handle.number(), reason as u32) }
        });
    }
}

/// Takes a packet: its address, or zero and in `next` the time before which none may leave (zero if
/// none is held).
///
/// # Safety
/// As of [`sojourn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_dequeue(memory: *mut Memory, now: u64, next: &mut u64) -> usize {
    // SAFETY: the caller's.
    let (call, instance) = unsafe { ((*memory).call, instance(memory)) };
    let taken = instance.as_mut().map(|instance| {
        instance.dequeue(Time::from_nanos(now), move |handle, reason| {
            // SAFETY: `call` is the C side's own.
            unsafe { sojourn_kernel_dropped(call, handle.number(), reason as u32) }
        })
    });
    *next = match taken {
        Some(Taken::Packet { handle, .. }) => return handle.number(),
        Some(Taken::NotBefore(time)) => time.as_nanos().max(1),
        Some(Taken::Empty) | None => 0,
    };
    0
}

/// Makes the qdisc follow another string.
///
/// # Safety
/// As of [`sojourn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_change(
    memory: *mut Memory,
    text: *const u8,
    len: usize,
    now: u64,
) -> i32 {
    // SAFETY: the caller's.
    let (instance, text) = unsafe { (instance(memory), slice::from_raw_parts(text, len)) };
    let (Some(instance), Ok(text)) = (instance, core::str::from_utf8(text)) else {
        return NO_DISCIPLINE;
    };
    match instance.change(text, Time::from_nanos(now)) {
        Ok(()) => DONE,
        Err(_) => NO_DISCIPLINE,
    }
}

/// Whether packets had better be offered by [`sojourn_enqueue_read`].
///
/// # Safety
/// As of [`sojourn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_reads(memory: *mut Memory) -> bool {
    // SAFETY: the caller's.
    let instance = unsafe { instance(memory) };
    instance.as_ref().is_some_and(Instance::reads)
}

/// Bytes of the qdisc's memory that are in use.
///
/// # Safety
/// As of [`sojourn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_used(memory: *mut Memory) -> usize {
    // SAFETY: the caller's.
    unsafe { (*memory).bytes - (*memory).arena.free() }
}

/// Whether so many bytes are free, and so many of them in one block.
///
/// # Safety
/// As of [`sojourn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_can_take(
    memory: *mut Memory,
    bytes: usize,
    at_once: usize,
) -> bool {
    // SAFETY: the caller's.
    let arena = unsafe { &(*memory).arena };
    arena.free() >= bytes && arena.has_block(at_once) && arena.has_room()
}

/// Drops all that the qdisc holds.
///
/// # Safety
/// As of [`sojourn_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_reset(memory: *mut Memory) {
    // SAFETY: the caller's.
    if let Some(instance) = unsafe { instance(memory) } {
        instance.reset();
    }
}

/// Writes the qdisc's string (`handle` zero) or its statistics as JSON to `room`; returns the whole
/// length, which may be more than there is room for. Zero without memory to make it.
///
/// # Safety
/// As of [`sojourn_new`]; `room` has that many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_show(
    memory: *mut Memory,
    handle: u16,
    now: u64,
    room: *mut u8,
    room_len: usize,
) -> usize {
    // SAFETY: the caller's.
    let (has_room, instance, room) = unsafe {
        let room = slice::from_raw_parts_mut(room, room_len);
        ((*memory).arena.has_room(), instance(memory), room)
    };
    let Some(instance) = instance.as_ref().filter(|_| has_room) else {
        return 0;
    };
    let text = match handle {
        0 => instance.text(),
        _ => instance.json(handle, Time::from_nanos(now)),
    };
    let mut out = Text { room, filled: 0 };
    let _ = out.write_str(&text);
    text.len()
}

/// Decides on a sequence of packets (`sojourn_module::check`), and writes what came out to `room`.
///
/// # Safety
/// `memory` is of [`sojourn_arena`], and named by the C side. `text` and `room` have that many
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_check(
    text: *const u8,
    len: usize,
    packets: u64,
    room: *mut u8,
    room_len: usize,
) -> usize {
    // SAFETY: the caller's.
    let (text, room) = unsafe {
        (slice::from_raw_parts(text, len), slice::from_raw_parts_mut(room, room_len))
    };
    let mut out = Text { room, filled: 0 };
    let checked = match core::str::from_utf8(text) {
        Ok(text) => digest::<Linux>(text, 1, packets),
        Err(_) => return 0,
    };
    let _ = match checked {
        Ok(all) => writeln!(out, "{} {} {} {:016x}", all.sent, all.dropped, all.marked, all.sum),
        Err(error) => writeln!(out, "{error}"),
    };
    out.filled
}
