//! The border to AQMs.

use super::{Tell, Text};
use std::ffi::c_void;

/// The function that a plug-in with AQMs exports, of the type [`Entry`].
pub const ENTRY: &str = "sojourn_plugin_1";

/// What [`ENTRY`] is.
pub type Entry = extern "C" fn() -> AqmTables;

/// All AQMs of a plug-in, which it keeps for ever.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmTables {
    /// The first.
    pub start: *const AqmTable,
    /// How many there are.
    pub count: usize,
}

/// Where an instance stands.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InstanceSetting {
    /// Seed of the run.
    pub seed: u64,
    /// Name of the instance, on which its dice depend.
    pub name: Text,
    /// Largest packet of the link.
    pub mtu: u32,
    /// Bytes of a packet before its network header.
    pub link_header: u32,
}

/// A queue without the packet in question.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Bytes waiting.
    pub bytes: u64,
    /// How long the packet at the head has waited.
    pub head_wait: u64,
    /// Packets waiting.
    pub packets: u32,
}

/// The packet in question.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// How long it has waited; zero on arrival.
    pub sojourn: u64,
    /// Its length.
    pub len: u32,
    /// The two bits of its ECN field.
    pub ecn: u32,
}

/// The packet goes on with CE set. The other answers are [`PASS`](super::PASS), [`DROP`] and
/// [`PANICKED`](super::PANICKED).
pub const MARK: u32 = 1;
/// It is dropped.
pub const DROP: u32 = 2;

/// One AQM: what makes an object, and what is asked of it. One thread at a time asks an object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmTable {
    /// Its name.
    pub name: Text,
    /// Whether [`AqmTable::arrive`] is asked also about packets that a full queue refuses.
    pub sees_all_arrivals: u32,
    /// Makes an object from options (`n=5 low=5ms`); null when they are wrong, after it has told
    /// why.
    pub make: unsafe extern "C" fn(Text, *const InstanceSetting, *mut c_void, Tell) -> *mut c_void,
    /// Frees an object.
    pub free: unsafe extern "C" fn(*mut c_void),
    /// A packet arrives at a time. The answer is `PASS`, [`MARK`], [`DROP`] or `PANICKED`.
    pub arrive: Ask,
    /// A packet has reached the head, and the queue is what stays behind it. The same answers.
    pub leave: Ask,
    /// A dequeue found the queue empty at this time, or dropping emptied it: `PASS` or `PANICKED`.
    pub empty: Notice,
    /// An arriving packet was dropped because the queue is full.
    pub refused: Notice,
}

/// A question about a packet at a time. Last: whom to tell of a panic.
pub type Ask = unsafe extern "C" fn(
    *mut c_void,
    *const Queue,
    *const Packet,
    now: u64,
    context: *mut c_void,
    Tell,
) -> u32;

/// Something has happened at a time. Last: whom to tell of a panic.
pub type Notice = unsafe extern "C" fn(*mut c_void, now: u64, context: *mut c_void, Tell) -> u32;

// SAFETY: the texts of tables are constants of the plug-in.
unsafe impl Sync for AqmTable {}
// SAFETY: as above.
unsafe impl Send for AqmTable {}
