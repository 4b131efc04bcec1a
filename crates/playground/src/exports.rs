//! What the module exports: room for a request, the answer to it, and where that stands. There is
//! no other `unsafe` in this crate than these names.
//!
//! The page calls [`sojourn_room`] with the bytes of a request, writes it there, calls
//! [`sojourn_answer`], and reads as many bytes as [`sojourn_answer_length`] says from
//! [`sojourn_answer_at`]. All texts are UTF-8. When a call traps, the answer says why.
#![expect(
    unsafe_code,
    reason = "a name for the page to call; there is no other way to export one"
)]

use crate::Session;
use serde_json::json;
use std::cell::RefCell;
use std::panic;

thread_local! {
    static SESSION: RefCell<Option<Session>> = const { RefCell::new(None) };
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Where the next request is written to, of so many bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sojourn_room(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(length, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sojourn_answer() {
    let request = REQUEST.take();
    let answer = SESSION.with_borrow_mut(|session| {
        let session = session.get_or_insert_with(|| {
            panic::set_hook(Box::new(|panic| {
                say(&json!({ "failure": panic.to_string() }));
            }));
            Session::default()
        });
        session.answer(&String::from_utf8_lossy(&request))
    });
    say(&answer);
}

fn say(answer: &serde_json::Value) {
    ANSWER.set(answer.to_string().into_bytes());
}

/// Where the answer begins.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sojourn_answer_at() -> *const u8 {
    ANSWER.with_borrow(Vec::as_ptr)
}

/// How many bytes it has.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn sojourn_answer_length() -> usize {
    ANSWER.with_borrow(Vec::len)
}
