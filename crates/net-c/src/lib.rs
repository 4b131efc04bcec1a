//! [`sojourn_net`] for stacks in C: what `include/sojourn_net.h` declares, which is the contract.
//!
//! A network is a pointer that its owner gives back. What goes wrong is kept for each thread.
#![expect(
    unsafe_code,
    reason = "functions that C calls, with pointers that it gives"
)]

mod stack;

use sojourn_net::{End, Net, NetError, Start, Time};
use sojourn_report::summary_json;
use sojourn_scenario::{Options, Scenario};
use sojourn_world::ScenarioInfo;
use stack::CStack;
pub use stack::{CDatagram, Calls};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::path::Path;
use std::ptr;

/// A network in the hands of C.
#[derive(Debug)]
pub struct CNet {
    net: Net<CStack>,
    info: ScenarioInfo,
    /// Ends that have stacks, in the order in which they got them.
    ends: Vec<End>,
}

const NO_NETWORK: &str = "the network is NULL";

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
    static SUMMARY: RefCell<CString> = RefCell::default();
}

/// A text for C. One from C has no zero, and ours has none.
fn told(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).unwrap_or_default()
}

/// Keeps what went wrong; 0 if nothing did.
fn status(done: Result<(), String>) -> c_int {
    match done {
        Ok(()) => 0,
        Err(text) => {
            ERROR.set(told(&text));
            -1
        }
    }
}

/// Hands a network over to C, or keeps why there is none.
fn handed(made: Result<CNet, String>) -> *mut CNet {
    match made {
        Ok(net) => Box::into_raw(Box::new(net)),
        Err(text) => {
            ERROR.set(told(&text));
            ptr::null_mut()
        }
    }
}

fn in_words(error: NetError) -> String {
    match error {
        NetError::StackNoFork { stack } => {
            format!("{stack} cannot be copied: its `fork` is NULL, or returned NULL")
        }
        error => error.to_string(),
    }
}

/// A text that C gives.
///
/// # Safety
/// `text` is null, or ends with a zero.
unsafe fn read<'a>(text: *const c_char) -> Result<&'a str, String> {
    if text.is_null() {
        return Err("a text is NULL".into());
    }
    // SAFETY: it is not null, and the caller says that it ends with a zero.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str()
        .map_err(|e| format!("a text is not UTF-8: {e}"))
}

fn made(scenario: &str, start: Start) -> Result<CNet, String> {
    let net = Net::new(scenario, start).map_err(in_words)?;
    let read = Scenario::parse("scenario", scenario, Path::new("."), &Options::default());
    let info = read.map_err(|problems| problems.to_string())?.info;
    Ok(CNet {
        net,
        info,
        ends: Vec::new(),
    })
}

impl CNet {
    fn attach(&mut self, flow: &str, stacks: &[Calls; 2]) -> Result<(), String> {
        let stacks = stacks.map(CStack::new);
        self.ends
            .extend(self.net.attach(flow, stacks).map_err(in_words)?);
        Ok(())
    }

    fn wake(&mut self, own: *mut c_void) -> Result<(), String> {
        let is_it = |end: &&End| self.net.look().stack(**end).own() == own;
        let end = *{ self.ends.iter() }
            .find(is_it)
            .ok_or("no stack of the network has this self")?;
        self.net.stack(end);
        Ok(())
    }

    fn fork(&self) -> Result<Self, String> {
        Ok(Self {
            net: self.net.fork().map_err(in_words)?,
            info: self.info.clone(),
            ends: self.ends.clone(),
        })
    }

    fn capture(&self, path: &str) -> Result<(), String> {
        let capture = self.net.look().capture();
        if capture.is_empty() {
            return Err("nothing was recorded: sojourn_net_new was given 0 bytes for it".into());
        }
        fs::write(path, capture).map_err(|error| format!("{path}: {error}"))
    }
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `scenario` is null, or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_new(
    scenario: *const c_char,
    seed: u64,
    record: usize,
) -> *mut CNet {
    let start = Start { seed, record };
    // SAFETY: as the caller says.
    handed(unsafe { read(scenario) }.and_then(|text| made(text, start)))
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`], `flow` null or a text that ends with a zero, and `stacks` two
/// stacks whose functions may be called until the network is finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_attach(
    net: *mut CNet,
    flow: *const c_char,
    stacks: *const [Calls; 2],
) -> c_int {
    // SAFETY: as the caller says.
    let (net, flow, stacks) = unsafe { (net.as_mut(), read(flow), stacks.as_ref()) };
    status(match (net, stacks) {
        (Some(net), Some(stacks)) => flow.and_then(|flow| net.attach(flow, stacks)),
        _ => Err("the network or the stacks are NULL".into()),
    })
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_run_until(net: *mut CNet, until: u64) -> c_int {
    // SAFETY: as the caller says.
    let net = unsafe { net.as_mut() }.ok_or_else(|| NO_NETWORK.to_owned());
    let run = |net: &mut CNet| net.net.run_until(Time::from_nanos(until)).map_err(in_words);
    status(net.and_then(run))
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_wake(net: *mut CNet, own: *mut c_void) -> c_int {
    // SAFETY: as the caller says.
    let net = unsafe { net.as_mut() }.ok_or_else(|| NO_NETWORK.to_owned());
    status(net.and_then(|net| net.wake(own)))
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`], and `selves` null or room for two pointers for each flow that
/// got stacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_fork(net: *const CNet, selves: *mut *mut c_void) -> *mut CNet {
    // SAFETY: as the caller says.
    let net = unsafe { net.as_ref() }.ok_or_else(|| NO_NETWORK.to_owned());
    let copy = net.and_then(CNet::fork);
    if let (Ok(copy), false) = (&copy, selves.is_null()) {
        for (index, end) in copy.ends.iter().enumerate() {
            // SAFETY: as the caller says.
            unsafe { *selves.add(index) = copy.net.look().stack(*end).own() };
        }
    }
    handed(copy)
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`], and `path` null or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_capture(net: *const CNet, path: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let (net, path) = unsafe { (net.as_ref(), read(path)) };
    let net = net.ok_or_else(|| NO_NETWORK.to_owned());
    status(net.and_then(|net| net.capture(path?)))
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is null, or from [`sojourn_net_new`] and not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_finish(net: *mut CNet) -> *const c_char {
    if net.is_null() {
        ERROR.set(told(NO_NETWORK));
        return ptr::null();
    }
    // SAFETY: it is not null, and the caller gives it back.
    let CNet { net, info, .. } = *unsafe { Box::from_raw(net) };
    SUMMARY.set(told(&summary_json(&info, &[net.finish()])));
    SUMMARY.with_borrow(|text| text.as_ptr())
}

/// See `sojourn_net.h`.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_net_error() -> *const c_char {
    ERROR.with_borrow(|text| text.as_ptr())
}
