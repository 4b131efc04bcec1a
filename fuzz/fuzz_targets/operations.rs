//! Any sequence of calls on any discipline keeps the accounts balanced.
#![no_main]

#[path = "../../crates/qdisc/tests/common/mod.rs"]
mod common;

libfuzzer_sys::fuzz_target!(|data: &[u8]| common::operations::run(data));
