//! Any string: the parser neither panics nor takes what it cannot show and read back.
#![no_main]

#[path = "../../crates/qdisc/tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|text: &str| common::operations::read(text));
