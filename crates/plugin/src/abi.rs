//! The border between the program and a plug-in: types of C, which no version of a compiler moves.
//!
//! [`aqm`] is the border to AQMs, [`control`] that to congestion controls. Each has an entry of its
//! own, whose number is the border's version: another border has another entry, and a program says
//! so of a plug-in that lacks it. Times and spans are nanoseconds, lengths bytes.

pub mod aqm;
pub mod control;

use std::ffi::c_void;

/// A text in UTF-8 that its owner keeps as long as the call lasts, or, in a table, for ever.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its first byte.
    pub start: *const u8,
    /// How many bytes it has.
    pub len: usize,
}

/// The answer of a plug-in that has nothing to say against a packet, or has heard an event.
pub const PASS: u32 = 0;
/// The plug-in has panicked: the object is given back, and not asked again.
pub const PANICKED: u32 = 3;

/// Tells the program why an object cannot be made, or where it has panicked: the `context` of the
/// call, and the text.
pub type Tell = extern "C" fn(context: *mut c_void, text: Text);

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
