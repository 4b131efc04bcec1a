//! What goes wrong in a plug-in, as its run is told of it.

use sojourn_plugin::abi::{PANICKED, Text};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

/// What went wrong first, of all that share it.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    first: Arc<Mutex<Option<String>>>,
    /// Whose it is, in front of what is told.
    name: String,
}

impl Fault {
    /// The same for one of those that share it.
    pub(crate) fn of(&self, name: &str) -> Self {
        let first = Arc::clone(&self.first);
        let name = format!("{name}: ");
        Self { first, name }
    }

    pub(crate) fn told(&self, why: &str) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| format!("{}{why}", self.name));
    }

    /// Whether anything has gone wrong.
    pub fn has_come(&self) -> bool {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.is_some()
    }

    /// What it was, in words; nothing has then.
    pub fn take(&self) -> Option<String> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }

    /// After an answer that the border does not have. A panic has told more.
    pub(crate) fn wrong_answer(&self, answer: u32) {
        if answer != PANICKED {
            self.told(&format!("answers {answer}, which the border does not have"));
        }
    }

    /// For [`tell`].
    pub(crate) fn context(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Takes a plug-in's word to the [`Fault`] of the call.
pub(crate) extern "C" fn tell(context: *mut c_void, text: Text) {
    // SAFETY: the context of each call is a fault that lives as long as the call.
    let fault = unsafe { &*context.cast::<Fault>() };
    // SAFETY: the plug-in keeps the text as long as it tells it.
    let text = unsafe { text.get() };
    fault.told(text.unwrap_or("it says why, but not in UTF-8"));
}
