//! A stack whose functions are C's.

use sojourn_net::{Arrival, Datagram, Stack, Time};
use sojourn_units::Ecn;
use std::ffi::{c_int, c_void};

/// The most bytes of a datagram, as the header says.
const MOST: usize = 65_000;

/// `struct sojourn_datagram`.
#[derive(Debug)]
#[repr(C)]
pub struct CDatagram {
    data: *mut u8,
    size: usize,
    ecn: u8,
    ttl: u8,
}

/// `struct sojourn_stack`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Calls {
    own: *mut c_void,
    input: unsafe extern "C" fn(*mut c_void, *const CDatagram, u64),
    timeout: unsafe extern "C" fn(*mut c_void, u64),
    output: unsafe extern "C" fn(*mut c_void, *mut CDatagram, u64) -> c_int,
    next_timeout: unsafe extern "C" fn(*mut c_void) -> u64,
    fork: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
    free: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// One with room for what it sends.
#[derive(Debug)]
pub(crate) struct CStack {
    calls: Calls,
    room: Vec<u8>,
    /// Whether the stack's `fork` made it, so that its `free` frees it.
    is_copy: bool,
}

impl CStack {
    pub(crate) fn new(calls: Calls) -> Self {
        Self {
            calls,
            room: vec![0; MOST],
            is_copy: false,
        }
    }

    /// What C calls the stack by.
    pub(crate) const fn own(&self) -> *mut c_void {
        self.calls.own
    }
}

impl Stack for CStack {
    fn input(&mut self, arrival: Arrival) {
        let mut datagram = arrival.datagram;
        let given = CDatagram {
            data: datagram.payload.as_mut_ptr(),
            size: datagram.payload.len(),
            ecn: datagram.ecn as u8,
            ttl: datagram.ttl,
        };
        let now = arrival.at.as_nanos();
        // SAFETY: whoever attached the stack says that its functions may be called; the datagram
        // lives longer than the call.
        unsafe { (self.calls.input)(self.calls.own, &raw const given, now) };
    }

    fn timeout(&mut self, now: Time) {
        // SAFETY: as above.
        unsafe { (self.calls.timeout)(self.calls.own, now.as_nanos()) };
    }

    fn output(&mut self, now: Time) -> Option<Datagram> {
        let mut wanted = CDatagram {
            data: self.room.as_mut_ptr(),
            size: 0,
            ecn: 0,
            ttl: Datagram::default().ttl,
        };
        // SAFETY: as above; the room has as many bytes as the header says.
        let has = unsafe { (self.calls.output)(self.calls.own, &raw mut wanted, now.as_nanos()) };
        (has != 0).then(|| Datagram {
            payload: self.room[..wanted.size.min(MOST)].to_vec(),
            ecn: Ecn::from_bits(wanted.ecn),
            ttl: wanted.ttl,
        })
    }

    fn next_timeout(&mut self) -> Option<Time> {
        // SAFETY: as above.
        let at = unsafe { (self.calls.next_timeout)(self.calls.own) };
        (at != u64::MAX).then(|| Time::from_nanos(at))
    }

    fn fork(&self) -> Option<Self> {
        // SAFETY: as above.
        let own = unsafe { self.calls.fork?(self.calls.own) };
        (!own.is_null()).then(|| Self {
            calls: Calls { own, ..self.calls },
            room: vec![0; MOST],
            is_copy: true,
        })
    }
}

impl Drop for CStack {
    fn drop(&mut self) {
        if let (true, Some(free)) = (self.is_copy, self.calls.free) {
            // SAFETY: as above; `fork` made it, and nobody calls it after this.
            unsafe { free(self.calls.own) };
        }
    }
}
