//! Version and commit of whatever is made from these crates, found out when it is built.
//!
//! A crate of its own, so that a new commit builds nothing anew but this and what says it.
#![no_std]
#![forbid(unsafe_code)]

/// `0.1.0 (0123456789ab)`: the version, and the commit where there was a repository.
pub const VERSION: &str = env!("SOJOURN_VERSION");
