//! The blocks of pages that run in the real kernel show what it prints.
//!
//! Takes the user's guest kernel; `make test` builds it, `sojourn kernel build` does too.
#![cfg(target_arch = "x86_64")]

mod common;

use common::pages;

#[test]
fn pages_show_what_the_kernel_world_prints() {
    let mut pages = pages::all();
    pages.retain(|page| pages::text(page).contains(pages::KERNEL));
    assert!(!pages.is_empty(), "a page runs something in the kernel");
    for page in pages {
        pages::hold(&page, true);
    }
}
