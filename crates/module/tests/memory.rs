//! An instance never needs more memory than its arena has, however its queue grows: before that,
//! packets are lost.
#![allow(unsafe_code, reason = "an allocator that takes from an arena")]

use sojourn_module::{Arena, Block, FRONT, Handle, Instance, Kernel, Link, Offer};
use sojourn_qdisc::DropReason;
use sojourn_units::{Span, Time};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Takes from the arena that a thread has named.
struct Named;

thread_local! {
    static ARENA: Cell<*mut Arena<'static>> = const { Cell::new(ptr::null_mut()) };
    static PLACE: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static SPILLED: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: blocks of an arena do not overlap; all else is the system's own, known by its address.
unsafe impl GlobalAlloc for Named {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let arena = ARENA.get();
        if !arena.is_null() {
            // SAFETY: the thread has it for itself alone.
            if let Some(offset) = unsafe { (*arena).take(layout.size(), layout.align()) } {
                return (PLACE.get().0 + offset) as *mut u8;
            }
            SPILLED.set(SPILLED.get() + 1);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        let (start, bytes) = PLACE.get();
        let offset = (at as usize).wrapping_sub(start);
        if offset < bytes {
            // SAFETY: as in `alloc`.
            unsafe { (*ARENA.get()).give(offset, layout.size(), layout.align()) };
            return;
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (start, bytes) = PLACE.get();
        let offset = (at as usize).wrapping_sub(start);
        // SAFETY: as in `alloc`; the caller's promise for the rest.
        unsafe {
            if offset < bytes && (*ARENA.get()).extend(offset, layout.size(), layout.align(), size)
            {
                return at;
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

#[global_allocator]
static NAMED: Named = Named;

struct Nowhere;

impl Kernel for Nowhere {
    fn front(_: Handle, _: &mut [u8; FRONT]) -> usize {
        0
    }

    fn set_ce(_: Handle) -> bool {
        true
    }

    fn clear_dscp(_: Handle) {}

    fn free(_: Handle) {}
}

/// Runs `inside` with `kib` of memory; returns what it returns, and how often there was no block.
fn within<T>(kib: usize, inside: impl FnOnce(*mut Arena<'static>) -> T) -> (T, u64) {
    let blocks = kib * 1024 / Arena::bytes(1);
    let metadata = Box::leak(vec![Block::TAKEN; blocks].into_boxed_slice());
    let layout = Layout::from_size_align(kib * 1024, 4096).unwrap();
    // SAFETY: the layout is not empty.
    let start = unsafe { System.alloc(layout) };
    let arena = Box::into_raw(Box::new(Arena::new(metadata)));
    SPILLED.set(0);
    PLACE.set((start as usize, kib * 1024));
    ARENA.set(arena);
    let result = inside(arena);
    ARENA.set(ptr::null_mut());
    PLACE.set((0, 0));
    // SAFETY: it was made above, and `inside` has given everything up.
    let all_free = unsafe { Box::from_raw(arena) }.free();
    assert_eq!(all_free, kib * 1024, "something was kept");
    // SAFETY: as above.
    unsafe { System.dealloc(start, layout) };
    (result, SPILLED.get())
}

/// Offers packets of many flows, and takes one of ten; returns those taken in and lost.
fn flood(arena: *mut Arena<'static>, text: &str) -> (u64, u64) {
    let link = Link {
        seed: 1,
        mtu: 1514,
        link_header: 14,
    };
    let mut instance = Instance::<Nowhere>::new(text, link).unwrap();
    let mut now = Time::ZERO;
    let mut front = [0_u8; 42];
    front[12..16].copy_from_slice(&[8, 0, 0x45, 2]);
    front[23] = 17;
    for number in 0..60_000_usize {
        now += Span::from_micros(1);
        // SAFETY: nobody else has it.
        if !unsafe { (*arena).has_room() } {
            instance.lost(100);
            continue;
        }
        let offer = Offer {
            handle: Handle::new(number + 1).unwrap(),
            len: 100,
            memory: 768,
            hash: (number as u32 % 3000 + 1).wrapping_mul(0x9e37_79b1),
            front: &front,
        };
        instance.enqueue(&offer, now, &mut |_, _| {});
        if number % 10 == 0 {
            instance.dequeue(now, &mut |_, _| {});
        }
    }
    let lost = instance.counters().dropped_for(DropReason::NoBuffer);
    (instance.backlog().packets, lost)
}

#[test]
fn a_queue_that_grows_too_large_loses_packets_and_asks_for_nothing_more() {
    for text in [
        "pfifo limit 1000000",
        "codel limit 1000000",
        "pie limit 1000000",
        "adth limit 1000000",
        "fq_codel limit 1000000 memory_limit 1gb",
        "fq_pie limit 1000000",
        "dualpi2 limit 1000000",
        "cake memlimit 1gb",
        "cake diffserv4 memlimit 1gb ack-filter",
        "tbf rate 1mbit burst 5kb over pfifo limit 1000000",
        "htb rate 1mbit over fq_codel limit 1000000 memory_limit 1gb",
        "cake_mq queues 2 memlimit 1gb",
    ] {
        let ((held, lost), spilled) = within(2 * 1024, |arena| flood(arena, text));
        assert_eq!(spilled, 0, "{text}");
        assert!(
            lost > 0,
            "{text}: the arena was never short, {held} are held"
        );
        assert!(held > 1000, "{text}: only {held} are held");
    }
}

/// Offers so many packets a microsecond apart to an instance that asks as the kernel's side does;
/// returns how many are taken in.
fn offer(
    arena: *mut Arena<'static>,
    instance: &mut Instance<Nowhere>,
    now: &mut Time,
    packets: usize,
) -> u64 {
    let mut front = [0_u8; 42];
    front[12..16].copy_from_slice(&[8, 0, 0x45, 2]);
    front[23] = 17;
    let mut taken = 0;
    for number in 0..packets {
        *now += Span::from_micros(1);
        // SAFETY: nobody else has it.
        let arena = unsafe { &*arena };
        let fits = |bytes| arena.has_block(bytes);
        if !arena.has_room() && !instance.makes_do().is_some_and(fits) {
            instance.lost(100);
            continue;
        }
        let offer = Offer {
            handle: Handle::new(number + 1).unwrap(),
            len: 100,
            memory: 768,
            hash: (number as u32 % 3000 + 1).wrapping_mul(0x9e37_79b1),
            front: &front,
        };
        instance.enqueue(&offer, *now, &mut |_, _| {});
        taken += 1;
    }
    taken
}

/// Fills the memory, sends some, and fills it again; then sends all, and fills it once more.
fn refill(arena: *mut Arena<'static>, text: &str) -> [u64; 4] {
    let link = Link {
        seed: 1,
        mtu: 1514,
        link_header: 14,
    };
    let mut instance = Instance::<Nowhere>::new(text, link).unwrap();
    let mut now = Time::ZERO;
    let first = offer(arena, &mut instance, &mut now, 60_000);
    let lost = instance.counters().dropped_for(DropReason::NoBuffer);
    let before = instance.backlog().packets;
    for _ in 0..1000 {
        now += Span::from_secs(1);
        instance.dequeue(now, &mut |_, _| {});
    }
    let sent = before - instance.backlog().packets;
    let again = offer(arena, &mut instance, &mut now, 60_000);
    while instance.backlog().packets > 0 {
        now += Span::from_secs(1);
        instance.dequeue(now, &mut |_, _| {});
    }
    let anew = offer(arena, &mut instance, &mut now, 60_000);
    assert!(
        first > 1000 && lost > 0,
        "{text}: {first} taken, {lost} lost"
    );
    [first, sent, again, anew]
}

/// A queue that was short of memory once goes on: what has left makes room.
#[test]
fn a_full_memory_is_used_again() {
    for (text, is_one_store) in [
        ("pfifo limit 1000000", true),
        ("pie limit 1000000", true),
        ("fq_codel limit 1000000 memory_limit 1gb", true),
        (
            "tbf rate 1mbit burst 5kb over fq_codel limit 1000000 memory_limit 1gb",
            true,
        ),
        ("htb rate 1mbit over pfifo limit 1000000", true),
        ("dualpi2 limit 1000000", false),
        ("cake memlimit 1gb", false),
        ("cake diffserv4 memlimit 1gb", false),
    ] {
        let ([first, sent, again, anew], spilled) = within(2 * 1024, |arena| refill(arena, text));
        assert_eq!(spilled, 0, "{text}");
        assert!(!is_one_store || again >= sent, "{text}: {again} for {sent}");
        assert!(anew >= first / 2, "{text}: {anew}, first {first}");
    }
}

#[test]
fn a_queue_with_a_common_limit_loses_nothing() {
    for text in [
        "pfifo limit 1000",
        "codel",
        "fq_codel",
        "cake memlimit 4mb",
        "cake diffserv8 memlimit 4mb",
        "dualpi2",
    ] {
        let ((_, lost), spilled) = within(8 * 1024, |arena| flood(arena, text));
        assert_eq!((spilled, lost), (0, 0), "{text}");
    }
}
