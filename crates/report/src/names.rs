//! Names read from files, given the life of those that are written in the program.
//!
//! Results name metrics and statistics with `&'static str`. Names that come from a file are
//! few and repeat, so each distinct one is kept once, until the process ends.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The one lasting copy of `name`.
pub(crate) fn lasting(name: &str) -> &'static str {
    // The set is whole after every insertion, so a panic elsewhere cannot spoil it.
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.into());
    names.insert(new);
    new
}

#[cfg(test)]
mod tests {
    use super::lasting;

    #[test]
    fn a_name_is_kept_once() {
        assert!(core::ptr::eq(
            lasting(&String::from("drops")),
            lasting("drops")
        ));
        assert_ne!(lasting("drops"), lasting("marks"));
    }
}
