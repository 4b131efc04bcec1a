//! The plug-in's side of the border: an AQM as functions that a program calls.

use crate::abi::{self, AqmTable, AqmTables, InstanceSetting, Queue, Tell, Text};
use crate::{Aqm, Facts, Options, QueueView, Setting, Verdict};
use sojourn_qdisc::EcnField;
use sojourn_units::{Ecn, Span, Time};
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

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

/// Tells a program something.
fn say(context: *mut c_void, tell: Tell, text: &str) {
    tell(context, Text::of(text));
}

/// The answer, or what a panic is: a program in C cannot unwind.
fn guarded(context: *mut c_void, tell: Tell, ask: impl FnOnce() -> u32) -> u32 {
    // Nobody asks the object again.
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|payload| {
        say(context, tell, &panicked(payload.as_ref()));
        abi::PANICKED
    })
}

/// What a panic says.
fn panicked(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("panicked: {}", text.unwrap_or("it does not say why"))
}

unsafe extern "C" fn make<A: Make>(
    options: Text,
    place: *const InstanceSetting,
    context: *mut c_void,
    tell: Tell,
) -> *mut c_void {
    let made = || {
        // SAFETY: the program keeps both as long as this call lasts.
        let (options, place) = unsafe { (options.get(), &*place) };
        // SAFETY: as above.
        let name = unsafe { place.name.get() };
        let utf8 = "a name or an option that is not UTF-8";
        let mut options = Options::parse(options.ok_or(utf8)?)?;
        let setting = Setting {
            seed: place.seed,
            name: name.ok_or(utf8)?,
            mtu: place.mtu,
            link_header: place.link_header,
        };
        let aqm = A::make(&mut options, setting)?;
        options.end()?;
        Ok(aqm)
    };
    let made = catch_unwind(AssertUnwindSafe(made))
        .unwrap_or_else(|payload| Err(panicked(payload.as_ref())));
    match made {
        Ok(aqm) => {
            let state = A::State::default();
            Box::into_raw(Box::new(Instance { aqm, state })).cast()
        }
        Err(why) => {
            say(context, tell, &why);
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn free<A: Make>(object: *mut c_void) {
    // SAFETY: `make` has made it, and the program gives it back once.
    let instance = unsafe { Box::from_raw(object.cast::<Instance<A>>()) };
    // A panic here would have nobody to hear it.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(instance)));
}

/// What a queue and a packet are here.
fn seen<'a>(queue: &Queue, packet: &'a abi::Packet) -> (QueueView, Facts<'a>) {
    let view = QueueView {
        packets: queue.packets,
        bytes: queue.bytes,
        total_bytes: queue.bytes,
        head_wait: Span::from_nanos(queue.head_wait),
        bulk_flows: 0,
    };
    (view, Facts::new(packet.len, packet))
}

impl EcnField for abi::Packet {
    fn ecn_field(&self) -> Ecn {
        Ecn::from_bits((self.ecn & 3) as u8)
    }
}

const fn answer(verdict: Verdict) -> u32 {
    match verdict {
        Verdict::Pass => abi::PASS,
        Verdict::Mark => abi::MARK,
        Verdict::Drop => abi::DROP,
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
    packet: *const abi::Packet,
    context: *mut c_void,
    tell: Tell,
    ask: impl FnOnce(&mut Instance<A>, QueueView, Facts<'_>, Span) -> Verdict,
) -> u32 {
    guarded(context, tell, || {
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
    guarded(context, tell, || {
        // SAFETY: the caller's promise.
        hear(unsafe { &mut *object.cast::<Instance<A>>() });
        abi::PASS
    })
}

unsafe extern "C" fn arrive<A: Make>(
    object: *mut c_void,
    queue: *const Queue,
    packet: *const abi::Packet,
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
    packet: *const abi::Packet,
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
