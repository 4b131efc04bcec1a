//! What a program may be told, and a panic that must not reach it: C cannot unwind.

use crate::abi::{PANICKED, Tell, Text};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Whom a call tells what goes wrong.
#[derive(Clone, Copy)]
pub(crate) struct Listener {
    pub(crate) context: *mut c_void,
    pub(crate) tell: Tell,
}

impl Listener {
    fn say(self, text: &str) {
        (self.tell)(self.context, Text::of(text));
    }

    /// The answer, or what a panic is.
    pub(crate) fn guarded(self, ask: impl FnOnce() -> u32) -> u32 {
        // Nobody asks the object again.
        catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|payload| {
            self.say(&panicked(payload.as_ref()));
            PANICKED
        })
    }

    /// What was made, for the program to keep; null after it was told why there is nothing.
    pub(crate) fn made<T>(self, make: impl FnOnce() -> Result<T, String>) -> *mut c_void {
        let made = catch_unwind(AssertUnwindSafe(make));
        match made.unwrap_or_else(|payload| Err(panicked(payload.as_ref()))) {
            Ok(object) => Box::into_raw(Box::new(object)).cast(),
            Err(why) => {
                self.say(&why);
                ptr::null_mut()
            }
        }
    }
}

/// Frees what [`Listener::made`] has made.
///
/// # Safety
/// The program gives it back once, and its type is `T`.
pub(crate) unsafe fn freed<T>(object: *mut c_void) {
    // SAFETY: the caller's promise.
    let object = unsafe { Box::from_raw(object.cast::<T>()) };
    // A panic here would have nobody to hear it.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(object)));
}

/// What a panic says.
fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("it does not say why"))
}
