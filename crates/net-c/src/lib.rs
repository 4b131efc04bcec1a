//! [`sojourn_net`] for stacks in C: what `include/sojourn_net.h` declares, which is the contract.
//!
//! A network is a pointer that its owner gives back. What goes wrong is kept for each thread.
#![expect(
    unsafe_code,
    reason = "functions that C calls, with pointers that it gives"
)]

mod stack;

use sojourn_net::{End, Net, Time};
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
    /// Flows whose ends have stacks, once for each pair, with the two ends.
    attached: Vec<(String, [End; 2])>,
}

const NO_NETWORK: &str = "the network is NULL";

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps what went wrong.
fn failed(text: &str) {
    // A text from C has no zero, and ours has none.
    ERROR.set(CString::new(text.replace('\0', " ")).unwrap_or_default());
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

fn made(scenario: &str, seed: u64) -> Result<CNet, String> {
    let net = Net::new(scenario, seed).map_err(|e| e.to_string())?;
    let read = Scenario::parse("scenario", scenario, Path::new("."), &Options::default());
    let info = read.map_err(|problems| problems.to_string())?.info;
    Ok(CNet {
        net,
        info,
        attached: Vec::new(),
    })
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `scenario` is null, or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_new(scenario: *const c_char, seed: u64) -> *mut CNet {
    // SAFETY: as the caller says.
    let made = unsafe { read(scenario) }.and_then(|text| made(text, seed));
    match made {
        Ok(net) => Box::into_raw(Box::new(net)),
        Err(text) => {
            failed(&text);
            ptr::null_mut()
        }
    }
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`], `flow` null or a text that ends with a zero, and `stacks` two
/// stacks whose functions may be called until the network is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_attach(
    net: *mut CNet,
    flow: *const c_char,
    stacks: *const [Calls; 2],
) -> c_int {
    // SAFETY: as the caller says.
    let (Some(net), flow, Some(stacks)) = (unsafe { (net.as_mut(), read(flow), stacks.as_ref()) })
    else {
        failed("the network or the stacks are NULL");
        return -1;
    };
    match flow.and_then(|flow| net.attach(flow, stacks)) {
        Ok(()) => 0,
        Err(text) => {
            failed(&text);
            -1
        }
    }
}

impl CNet {
    fn attach(&mut self, flow: &str, stacks: &[Calls; 2]) -> Result<(), String> {
        let ends = self.net.run().ends(flow).len();
        let taken = self
            .attached
            .iter()
            .filter(|(other, _)| other == flow)
            .count();
        if ends == 0 {
            return Err(format!("no flow `{flow}` with `app = \"outside\"`"));
        }
        if taken == ends {
            return Err(format!(
                "all {ends} instances of the flow `{flow}` have stacks"
            ));
        }
        let ends = self.net.attach(flow, stacks.map(CStack::new));
        self.attached.push((flow.to_owned(), ends));
        Ok(())
    }

    fn fork(&self) -> Result<Self, String> {
        let net = self
            .net
            .fork()
            .map_err(|error| error.to_string())?
            .ok_or("a stack cannot be copied: its `fork` is NULL, or returned NULL")?;
        Ok(Self {
            net,
            info: self.info.clone(),
            attached: self.attached.clone(),
        })
    }

    fn capture(&self, path: &str) -> Result<(), String> {
        let capture = self.net.capture();
        if capture.is_empty() {
            return Err("nothing was recorded: call sojourn_net_record before the run".into());
        }
        fs::write(path, capture).map_err(|error| format!("{path}: {error}"))
    }
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_run_until(net: *mut CNet, until: u64) -> c_int {
    // SAFETY: as the caller says.
    let Some(net) = (unsafe { net.as_mut() }) else {
        failed(NO_NETWORK);
        return -1;
    };
    match net.net.run_until(Time::from_nanos(until)) {
        Ok(()) => 0,
        Err(error) => {
            failed(&error.to_string());
            -1
        }
    }
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_now(net: *const CNet) -> u64 {
    // SAFETY: as the caller says.
    let net = unsafe { net.as_ref() };
    net.map_or(0, |net| net.net.run().now().as_nanos())
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_fork(net: *const CNet) -> *mut CNet {
    // SAFETY: as the caller says.
    let net = unsafe { net.as_ref() };
    let copy = net
        .ok_or_else(|| NO_NETWORK.to_owned())
        .and_then(CNet::fork);
    match copy {
        Ok(copy) => Box::into_raw(Box::new(copy)),
        Err(text) => {
            failed(&text);
            ptr::null_mut()
        }
    }
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_self(net: *const CNet, number: usize) -> *mut c_void {
    // SAFETY: as the caller says.
    let net = unsafe { net.as_ref() };
    let own = net.and_then(|net| {
        let mut ends = net.attached.iter().flat_map(|(_, ends)| ends);
        let stack = net.net.look(*ends.nth(number)?)?;
        Some(stack.own())
    });
    own.unwrap_or(ptr::null_mut())
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_record(net: *mut CNet, most: usize) -> c_int {
    // SAFETY: as the caller says.
    let Some(net) = (unsafe { net.as_mut() }) else {
        failed(NO_NETWORK);
        return -1;
    };
    net.net.record(most);
    0
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`], and `path` null or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_capture(net: *const CNet, path: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let (net, path) = unsafe { (net.as_ref(), read(path)) };
    let written = net
        .ok_or_else(|| NO_NETWORK.to_owned())
        .and_then(|net| net.capture(path?));
    match written {
        Ok(()) => 0,
        Err(text) => {
            failed(&text);
            -1
        }
    }
}

/// See `sojourn_net.h`.
#[unsafe(no_mangle)]
pub extern "C" fn sojourn_net_error() -> *const c_char {
    ERROR.with_borrow(|text| text.as_ptr())
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is from [`sojourn_net_new`], and is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_finish(net: *mut CNet) -> *mut c_char {
    if net.is_null() {
        failed(NO_NETWORK);
        return ptr::null_mut();
    }
    // SAFETY: it is not null, and the caller gives it back.
    let CNet { net, info, .. } = *unsafe { Box::from_raw(net) };
    let summary = summary_json(&info, &[net.finish()]);
    CString::new(summary).map_or(ptr::null_mut(), CString::into_raw)
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `text` is null, or from [`sojourn_net_finish`] and not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_free_text(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it is not null, and the caller gives it back.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// See `sojourn_net.h`.
///
/// # Safety
/// `net` is null, or from [`sojourn_net_new`] and not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sojourn_net_free(net: *mut CNet) {
    if !net.is_null() {
        // SAFETY: it is not null, and the caller gives it back.
        drop(unsafe { Box::from_raw(net) });
    }
}
