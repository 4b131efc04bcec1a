//! The program's side of the border: a plug-in's object as an AQM.

use libloading::Library;
use sojourn_plugin::abi::{self, AqmTable, Ask, InstanceSetting, Notice, Text};
use sojourn_qdisc::{Aqm, Facts, QueueView, Setting, Verdict};
use sojourn_units::{Span, Time};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

/// What went wrong first, of all that share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fault {
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

    fn told(&self, why: &str) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| format!("{}{why}", self.name));
    }

    pub(crate) fn has_come(&self) -> bool {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.is_some()
    }

    pub(crate) fn take(&self) -> Option<String> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }

    /// For [`tell`].
    fn context(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Takes a plug-in's word to the [`Fault`] of the call.
extern "C" fn tell(context: *mut c_void, text: Text) {
    // SAFETY: the context of each call is a fault that lives as long as the call.
    let fault = unsafe { &*context.cast::<Fault>() };
    // SAFETY: the plug-in keeps the text as long as it tells it.
    let text = unsafe { text.get() };
    fault.told(text.unwrap_or("it says why, but not in UTF-8"));
}

/// An object of a plug-in. `ALL`: it is asked about all arrivals.
pub(crate) struct Loaded<const ALL: bool> {
    object: NonNull<c_void>,
    table: AqmTable,
    fault: Fault,
    /// Nothing is asked after a panic.
    is_broken: bool,
    /// What the functions of the table are in.
    _library: Arc<Library>,
}

// SAFETY: the contract of the border: an object may move to another thread, and one thread at a
// time asks it. What makes it asks that of the AQM's type (`Aqm: Send`).
unsafe impl<const ALL: bool> Send for Loaded<ALL> {}

impl<const ALL: bool> Loaded<ALL> {
    /// One with these options at this place; none after the fault was told.
    pub(crate) fn new(
        table: &AqmTable,
        options: Text,
        setting: Setting<'_>,
        fault: &Fault,
        library: &Arc<Library>,
    ) -> Option<Self> {
        let place = InstanceSetting {
            seed: setting.seed,
            name: Text::of(setting.name),
            mtu: setting.mtu,
            link_header: setting.link_header,
        };
        // SAFETY: all that is given lives as long as the call.
        let object = unsafe { (table.make)(options, &raw const place, fault.context(), tell) };
        let object = NonNull::new(object);
        if object.is_none() {
            fault.told("it refuses, and does not say why");
        }
        Some(Self {
            object: object?,
            table: *table,
            fault: fault.clone(),
            is_broken: false,
            _library: Arc::clone(library),
        })
    }

    fn ask(
        &mut self,
        ask: Ask,
        (view, packet, sojourn): (QueueView, Facts<'_>, Span),
        now: Time,
    ) -> Verdict {
        if self.is_broken {
            return Verdict::Pass;
        }
        let queue = abi::Queue {
            bytes: view.bytes,
            head_wait: view.head_wait.as_nanos(),
            packets: view.packets,
        };
        let seen = abi::Packet {
            sojourn: sojourn.as_nanos(),
            len: packet.len,
            ecn: packet.ecn() as u32,
        };
        let (object, context) = (self.object.as_ptr(), self.fault.context());
        // SAFETY: the object is the table's, `&mut self` is the one thread that asks it, and all
        // that is given lives as long as the call.
        let answer = unsafe {
            ask(
                object,
                &raw const queue,
                &raw const seen,
                now.as_nanos(),
                context,
                tell,
            )
        };
        match answer {
            abi::PASS => Verdict::Pass,
            abi::MARK if packet.ect() => Verdict::Mark,
            // As everywhere: who cannot be told by a mark is told by a drop.
            abi::MARK | abi::DROP => Verdict::Drop,
            other => {
                self.breaks(other);
                Verdict::Pass
            }
        }
    }

    fn notice(&mut self, notice: Notice, now: Time) {
        if self.is_broken {
            return;
        }
        let (object, context) = (self.object.as_ptr(), self.fault.context());
        // SAFETY: as in `ask`.
        let answer = unsafe { notice(object, now.as_nanos(), context, tell) };
        if answer != abi::PASS {
            self.breaks(answer);
        }
    }

    /// After an answer that is none.
    fn breaks(&mut self, answer: u32) {
        self.is_broken = true;
        if answer != abi::PANICKED {
            self.fault
                .told(&format!("answers {answer}, which is no verdict"));
        }
    }
}

impl<const ALL: bool> Drop for Loaded<ALL> {
    fn drop(&mut self) {
        // SAFETY: the object is the table's, and nobody asks it any more.
        unsafe { (self.table.free)(self.object.as_ptr()) }
    }
}

impl<const ALL: bool> Aqm for Loaded<ALL> {
    type State = ();
    type Params = ();

    const SEES_ALL_ARRIVALS: bool = ALL;
    const JUDGES_DEPARTURES: bool = true;

    fn arrive(&mut self, (): &mut (), queue: QueueView, packet: Facts<'_>, now: Time) -> Verdict {
        self.ask(self.table.arrive, (queue, packet, Span::ZERO), now)
    }

    fn leave(
        &mut self,
        (): &mut (),
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.ask(self.table.leave, (queue, packet, sojourn), now)
    }

    fn found_empty(&mut self, (): &mut (), now: Time) {
        self.notice(self.table.empty, now);
    }

    fn tail_dropped(&mut self, (): &mut (), now: Time) {
        self.notice(self.table.refused, now);
    }
}
