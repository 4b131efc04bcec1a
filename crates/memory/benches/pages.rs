//! What a read costs that finds its memory in no cache, and what it costs more to find its page.
//!
//!     cargo bench -p sojourn-memory --bench pages
//!
//! Reads go from place to place in an order by chance, each to where the one before says. The lines
//! lie side by side, or one in each small page; both lists are on large pages. With more lines
//! than a processor's list of pages is long, the second costs more where the machine has no large
//! pages below this system's, as a guest of a host that gives it small ones.

#![allow(clippy::disallowed_methods, reason = "a bench measures real time")]

use sojourn_memory::{LINE, on_large_pages};
use std::hint::black_box;
use std::time::Instant;

/// Bytes of a small page.
const PAGE: usize = 4096;
const READS: u32 = 3_000_000;

fn main() {
    println!("  lines   side by side   one a page (ns a read, least of three)");
    for lines in (9..=15).map(|bits| 1 << bits) {
        let [dense, spread] = [LINE, PAGE].map(|apart| least(lines, apart));
        println!("{lines:7} {dense:14.1} {spread:12.1}");
    }
}

/// The least of three times of a read.
fn least(lines: usize, apart: usize) -> f64 {
    let next = chain(lines, apart);
    (0..3).map(|_| walk(&next)).fold(f64::INFINITY, f64::min)
}

/// A list in which each of so many lines, so many bytes apart, has the index of the next one.
fn chain(lines: usize, apart: usize) -> Vec<usize> {
    let words = apart / size_of::<usize>();
    let mut next = Vec::with_capacity(lines * words);
    on_large_pages(&next);
    next.resize(lines * words, 0);
    // Sattolo's shuffle: one cycle through all.
    let mut order: Vec<usize> = (0..lines).collect();
    let mut state = 1_u64;
    for last in (1..lines).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        order.swap(last, (state >> 33) as usize % last);
    }
    // In each page another line, so that they share no set of a cache.
    let place = |line: usize| line * words + line * (LINE / 8) % words;
    for (line, &to) in order.iter().enumerate() {
        next[place(line)] = place(to);
    }
    next
}

fn walk(next: &[usize]) -> f64 {
    let mut at = 0;
    let start = Instant::now();
    for _ in 0..READS {
        at = next[at];
    }
    black_box(at);
    start.elapsed().as_secs_f64() * 1e9 / f64::from(READS)
}
