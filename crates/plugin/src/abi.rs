//! The border between the program and a plug-in: types of C, which no version of a compiler moves.
//!
//! Another border has another [`ENTRY`], and a program says so of a plug-in that lacks it. Times
//! and spans are nanoseconds, lengths bytes.

use std::ffi::c_void;

/// The function that a plug-in exports, of the type [`Entry`]. Its number is the border's version.
pub const ENTRY: &str = "sojourn_plugin_1";

/// What [`ENTRY`] is.
pub type Entry = extern "C" fn() -> AqmTables;

/// A text in UTF-8 that its owner keeps as long as the call lasts, or, in a [`AqmTable`], for ever.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its first byte.
    pub start: *const u8,
    /// How many bytes it has.
    pub len: usize,
}

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

/// The packet goes on unharmed.
pub const PASS: u32 = 0;
/// It goes on with CE set.
pub const MARK: u32 = 1;
/// It is dropped.
pub const DROP: u32 = 2;
/// The plug-in has panicked: the object is given back, and not asked again.
pub const PANICKED: u32 = 3;

/// Tells the program why an object cannot be made, or where it has panicked: the `context` of the
/// call, and the text.
pub type Tell = extern "C" fn(context: *mut c_void, text: Text);

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
    /// A packet arrives at a time. The answer is [`PASS`], [`MARK`], [`DROP`] or [`PANICKED`].
    pub arrive: Ask,
    /// A packet has reached the head, and the queue is what stays behind it. The same answers.
    pub leave: Ask,
    /// A dequeue found the queue empty at this time, or dropping emptied it: [`PASS`] or
    /// [`PANICKED`].
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

impl Text {
    /// A text that is kept as long as the value lasts.
    pub const fn of(text: &str) -> Self {
        Self {
            start: text.as_ptr(),
            len: text.len(),
        }
    }

    /// The text; none when it is not UTF-8.
    ///
    /// # Safety
    /// Its owner keeps it for as long as `'a`.
    pub unsafe fn get<'a>(self) -> Option<&'a str> {
        if self.len == 0 {
            return Some("");
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.len) };
        std::str::from_utf8(bytes).ok()
    }
}
