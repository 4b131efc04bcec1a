//! The program's side of the border to AQMs: a plug-in's object as one.

use crate::fault::{Fault, tell};
use libloading::Library;
use sojourn_plugin::abi::aqm::{AqmTable, Ask, DROP, InstanceSetting, MARK, Notice, Packet, Queue};
use sojourn_plugin::abi::{PASS, Text};
use sojourn_qdisc::{Aqm, Facts, QueueView, Setting, Verdict};
use sojourn_units::{Span, Time};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

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
        view: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        if self.is_broken {
            return Verdict::Pass;
        }
        let queue = Queue {
            bytes: view.bytes,
            head_wait: view.head_wait.as_nanos(),
            packets: view.packets,
        };
        let seen = Packet {
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
            PASS => Verdict::Pass,
            MARK if packet.ect() => Verdict::Mark,
            // As everywhere: who cannot be told by a mark is told by a drop.
            MARK | DROP => Verdict::Drop,
            other => {
                self.is_broken = true;
                self.fault.wrong_answer(other);
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
        if answer != PASS {
            self.is_broken = true;
            self.fault.wrong_answer(answer);
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
        self.ask(self.table.arrive, queue, packet, Span::ZERO, now)
    }

    fn leave(
        &mut self,
        (): &mut (),
        queue: QueueView,
        packet: Facts<'_>,
        sojourn: Span,
        now: Time,
    ) -> Verdict {
        self.ask(self.table.leave, queue, packet, sojourn, now)
    }

    fn found_empty(&mut self, (): &mut (), now: Time) {
        self.notice(self.table.empty, now);
    }

    fn tail_dropped(&mut self, (): &mut (), now: Time) {
        self.notice(self.table.refused, now);
    }
}
