//! The plug-in's side of the border: an AQM as functions that a program calls.

use crate::abi::aqm::{AqmTable, AqmTables, DROP, InstanceSetting, MARK, Packet, Queue};
use crate::abi::{PASS, Tell, Text};
use crate::guard::{Listener, freed};
use crate::options::NO_UTF8;
use crate::{Aqm, Facts, Options, QueueView, Setting, Verdict};
use sojourn_qdisc::EcnField;
use sojourn_units::{Ecn, Span, Time};
use std::ffi::c_void;

/// An AQM that can be made from options.
pub trait Make: Aqm {
    /// One with these options, at this place. Whoever draws random numbers takes them from
    /// [`Setting::dice`], so that a seed always gives the same run.
    ///
    /// # Errors
    /// Says what is wrong with the options.
    fn make(options: &mut Options<'_>, setting: Setting<'_>) -> Result<Self, String>
    where
        Self: Sized;
}

/// An AQM and what belongs to its queue.
struct Instance<A: Aqm> {
    aqm: A,
    state: A::State,
}

/// The table of an AQM, which [`export!`](crate::export) makes.
#[must_use]
pub const fn table<A: Make>(name: &'static str) -> AqmTable {
    const {
        assert!(!A::BOUNDS, "an AQM in a plug-in cannot bound its queue");
    }
    AqmTable {
        name: Text::of(name),
        sees_all_arrivals: A::SEES_ALL_ARRIVALS as u32,
        make: make::<A>,
        free: free::<A>,
        arrive: arrive::<A>,
        leave: leave::<A>,
        empty: empty::<A>,
        refused: refused::<A>,
    }
}

/// All tables of a plug-in.
#[must_use]
pub const fn tables(tables: &'static [AqmTable]) -> AqmTables {
    AqmTables {
        start: tables.as_ptr(),
        count: tables.len(),
    }
}

unsafe extern "C" fn make<A: Make>(
    options: Text,
    place: *const InstanceSetting,
    context: *mut c_void,
    tell: Tell,
) -> *mut c_void {
    Listener { context, tell }.made(|| {
        // SAFETY: the program keeps both as long as this call lasts.
        let (options, place) = unsafe { (options.get(), &*place) };
        // SAFETY: as above.
        let name = unsafe { place.name.get() };
        let mut options = Options::parse(options.ok_or(NO_UTF8)?)?;
        let setting = Setting {
            seed: place.seed,
            name: name.ok_or(NO_UTF8)?,
            mtu: place.mtu,
            link_header: place.link_header,
        };
        let aqm = A::make(&mut options, setting)?;
        options.end()?;
        let state = A::State::default();
        Ok(Instance { aqm, state })
    })
}

unsafe extern "C" fn free<A: Make>(object: *mut c_void) {
    // SAFETY: `make` has made it, and the program gives it back once.
    unsafe { freed::<Instance<A>>(object) }
}

/// What a queue and a packet are here.
fn seen<'a>(queue: &Queue, packet: &'a Packet) -> (QueueView, Facts<'a>) {
    let view = QueueView {
        packets: queue.packets,
        bytes: queue.bytes,
        total_bytes: queue.bytes,
        head_wait: Span::from_nanos(queue.head_wait),
        bulk_flows: 0,
    };
    (view, Facts::new(packet.len, packet))
}

impl EcnField for Packet {
    fn ecn_field(&self) -> Ecn {
        Ecn::from_bits((self.ecn & 3) as u8)
    }
}

const fn answer(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::Pass => PASS,
        Verdict::Mark => MARK,
        Verdict::Drop => DROP,
    }
}

/// The verdict of an object on a packet, which `ask` asks it for.
///
/// # Safety
/// [`make`] has made the object, which one thread asks at a time. The queue and the packet are the
/// program's as long as the call lasts.
unsafe fn judged<A: Make>(
    object: *mut c_void,
    queue: *const Queue,
    packet: *const Packet,
    context: *mut c_void,
    tell: Tell,
    ask: impl FnOnce(&mut Instance<A>, QueueView, Facts<'_>, Span) -> Verdict,
) -> u32 {
    Listener { context, tell }.guarded(|| {
        // SAFETY: the caller's promise.
        let (instance, queue, packet) =
            unsafe { (&mut *object.cast::<Instance<A>>(), &*queue, &*packet) };
        let (view, facts) = seen(queue, packet);
        let sojourn = Span::from_nanos(packet.sojourn);
        answer(ask(instance, view, facts, sojourn))
    })
}

/// Tells an object what has happened.
///
/// # Safety
/// As of [`judged`].
unsafe fn noticed<A: Make>(
    object: *mut c_void,
    context: *mut c_void,
    tell: Tell,
    hear: impl FnOnce(&mut Instance<A>),
) -> u32 {
    Listener { context, tell }.guarded(|| {
        // SAFETY: the caller's promise.
        hear(unsafe { &mut *object.cast::<Instance<A>>() });
        PASS
    })
}

unsafe extern "C" fn arrive<A: Make>(
    object: *mut c_void,
    queue: *const Queue,
    packet: *const Packet,
    now: u64,
    context: *mut c_void,
    tell: Tell,
) -> u32 {
    let now = Time::from_nanos(now);
    let ask = |instance: &mut Instance<A>, view, facts: Facts<'_>, _| {
        instance.aqm.arrive(&mut instance.state, view, facts, now)
    };
    // SAFETY: the program keeps the border's contract.
    unsafe { judged(object, queue, packet, context, tell, ask) }
}

unsafe extern "C" fn leave<A: Make>(
    object: *mut c_void,
    queue: *const Queue,
    packet: *const Packet,
    now: u64,
    context: *mut c_void,
    tell: Tell,
) -> u32 {
    let now = Time::from_nanos(now);
    let ask = |instance: &mut Instance<A>, view, facts: Facts<'_>, sojourn| {
        let state = &mut instance.state;
        instance.aqm.leave(state, view, facts, sojourn, now)
    };
    // SAFETY: the program keeps the border's contract.
    unsafe { judged(object, queue, packet, context, tell, ask) }
}

unsafe extern "C" fn empty<A: Make>(
    object: *mut c_void,
    now: u64,
    context: *mut c_void,
    tell: Tell,
) -> u32 {
    let now = Time::from_nanos(now);
    let hear = |instance: &mut Instance<A>| instance.aqm.found_empty(&mut instance.state, now);
    // SAFETY: the program keeps the border's contract.
    unsafe { noticed(object, context, tell, hear) }
}

unsafe extern "C" fn refused<A: Make>(
    object: *mut c_void,
    now: u64,
    context: *mut c_void,
    tell: Tell,
) -> u32 {
    let now = Time::from_nanos(now);
    let hear = |instance: &mut Instance<A>| instance.aqm.tail_dropped(&mut instance.state, now);
    // SAFETY: the program keeps the border's contract.
    unsafe { noticed(object, context, tell, hear) }
}
