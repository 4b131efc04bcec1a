//! The fuzzer's corpus, and random sequences of calls, on stable.

use crate::common::operations::{SPECS, read, run};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// The files of one target's corpus.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let files = fs::read_dir(folder.join(target))
        .expect("the corpus is part of the repository")
        .map(|file| fs::read(file.expect("readable").path()).expect("readable"));
    files.collect()
}

#[test]
fn the_corpus_of_strings() {
    let files = corpus("spec");
    assert!(files.len() >= 10, "{}", files.len());
    for text in files {
        read(&String::from_utf8_lossy(&text));
    }
}

#[test]
fn the_corpus_of_operations() {
    let files = corpus("operations");
    assert!(files.len() >= SPECS.len(), "{}", files.len());
    for data in files {
        run(&data);
    }
}

proptest! {
    #[test]
    fn any_sequence_of_calls_keeps_the_accounts(data in vec(any::<u8>(), 0..900)) {
        run(&data);
    }
}
