//! Memory that is asked for before it is needed, and large pages for much of it.
//!
//! Of thousands of flows, links or radios, the one whose turn it is lies in no cache of the
//! processor. To wait for its memory may take longer than all that is done with it. Who knows whose
//! turn comes next asks for it meanwhile.
//!
//! Nothing here changes what a program computes, so that every function is safe. On other
//! processors and systems than those named they do nothing.
//!
//! The feature `reads` is for `benches/misses.py` alone, which finds what is not asked for: each
//! request is a read then, which takes longer, and an address must be one that may be read.
#![no_std]
#![allow(
    unsafe_code,
    reason = "neither the instruction nor the calls of the system are safe to call"
)]

extern crate alloc;

use alloc::vec::Vec;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
use core::hint::black_box;
use core::ops::Range;

/// Bytes that a processor fetches at once.
pub const LINE: usize = 64;

/// Asks the processor (x86-64) for a value that is needed soon.
#[inline]
pub fn fetch<T>(place: &T) {
    fetch_part(place, 0..size_of::<T>());
}

/// The same for some bytes of a value.
#[expect(clippy::inline_always, reason = "with constant bounds no loop is left")]
#[inline(always)]
pub fn fetch_part<T>(place: &T, bytes: Range<usize>) {
    let start = core::ptr::from_ref(place).cast::<u8>();
    let end = bytes.end.min(size_of::<T>());
    let aligned = align_of::<T>() >= LINE;
    let mut at = bytes.start - if aligned { bytes.start % LINE } else { 0 };
    while at < end {
        fetch_line(start.wrapping_add(at));
        at += LINE;
    }
    // Of what is not aligned to lines, the end lies in one more.
    if !aligned && end > bytes.start {
        fetch_line(start.wrapping_add(end - 1));
    }
}

/// Asks for the line in which an address lies, whether anything is there or not.
#[cfg(all(target_arch = "x86_64", target_feature = "sse", not(feature = "reads")))]
#[inline]
pub fn fetch_line(place: *const u8) {
    use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: it only fills caches, and does not fail, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
}

/// Reads a byte of the line in which an address lies, as the feature `reads` wants. Valgrind models
/// reads and not requests, and leaves out a read that nobody uses: what is read is summed up. The
/// function is not inlined, so that what misses in it is told from all other misses.
#[cfg(all(target_arch = "x86_64", target_feature = "sse", feature = "reads"))]
#[inline(never)]
pub fn fetch_line(place: *const u8) {
    use core::arch::asm;
    use core::sync::atomic::{AtomicU64, Ordering};
    static SUM: AtomicU64 = AtomicU64::new(0);
    let byte: u64;
    // SAFETY: callers ask for what they have, so that it may be read. Which bytes these are, and
    // whether they have a value, does not matter here.
    unsafe {
        asm!("movzx {0:e}, byte ptr [{1}]", out(reg) byte, in(reg) place,
            options(nostack, readonly, preserves_flags));
    }
    SUM.store(
        SUM.load(Ordering::Relaxed).wrapping_add(byte),
        Ordering::Relaxed,
    );
}

/// Asks for the line in which an address lies; here that is left to the processor.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse")))]
#[inline]
pub fn fetch_line(_place: *const u8) {}

/// Asks the kernel (Linux, `MADV_HUGEPAGE`) for large pages where a list is going to be that has
/// its capacity already. Of memory that is spread widely, every access to a small page costs a
/// search for the page too. A list below two mebibytes has no large page.
pub fn on_large_pages<T>(list: &Vec<T>) {
    let bytes = list.capacity() * size_of::<T>();
    if bytes >= LARGE {
        advise(list.as_ptr().cast(), bytes);
    }
}

/// Asks for large pages for so many bytes that this thread is going to allocate in pieces (Linux
/// with glibc; elsewhere nothing happens).
///
/// Blocks are taken from glibc's heap and given back. It keeps them, with the advice, and cuts
/// later pieces from them. Only pages that are used take memory. For that it is told to keep what
/// is given back, and to map nothing apart but the longest blocks. More than a gibibyte is not
/// asked for, nor what there is no room for.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn expect_much(bytes: usize) {
    // SAFETY: they change when glibc asks the kernel for memory, and nothing that it holds.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
    let block = |_| {
        let mut block = Vec::<u8>::new();
        block.try_reserve_exact(BLOCK).ok().map(|()| block)
    };
    let blocks: Vec<_> = (0..bytes.min(MOST).div_ceil(BLOCK))
        .map_while(block)
        .collect();
    blocks.iter().for_each(on_large_pages);
    // Otherwise the compiler sees that nobody uses them.
    drop(black_box(blocks));
}

/// So much at most.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MOST: usize = 1 << 30;
/// Shorter than the longest that glibc does not map apart.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BLOCK: usize = 24 << 20;

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn expect_much(_bytes: usize) {}

/// Bytes of a large page.
const LARGE: usize = 2 << 20;

#[cfg(target_os = "linux")]
fn advise(start: *const u8, bytes: usize) {
    // From the first whole page of this size on, which is one of every smaller size too.
    let skipped = start.align_offset(LARGE);
    let Some(rest) = bytes.checked_sub(skipped).filter(|rest| *rest >= LARGE) else {
        return;
    };
    let whole = rest - rest % LARGE;
    // SAFETY: the range belongs to the list, and the advice changes nothing that it holds. A
    // kernel that does not know it refuses it, with no effect.
    unsafe {
        libc::madvise(
            start.add(skipped).cast_mut().cast(),
            whole,
            libc::MADV_HUGEPAGE,
        )
    };
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _bytes: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// However much is expected, also of a network that is refused for its size afterwards.
    #[test]
    fn anything_may_be_expected() {
        for bytes in [0, 1, 100 << 20, usize::MAX] {
            expect_much(bytes);
            let list: Vec<usize> = (0..LARGE).collect();
            assert_eq!(list.iter().sum::<usize>(), LARGE * (LARGE - 1) / 2);
        }
    }

    #[test]
    fn a_list_keeps_what_it_holds() {
        for length in [0, 1, LARGE / 8, LARGE / 2] {
            let mut list: Vec<u64> = Vec::with_capacity(length);
            on_large_pages(&list);
            list.extend(0..length as u64);
            on_large_pages(&list);
            list.iter().for_each(fetch);
            fetch_part(&list, 8..1 << 20);
            assert!(list.iter().copied().eq(0..length as u64));
        }
    }
}
