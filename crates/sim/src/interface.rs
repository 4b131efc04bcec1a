//! An interface: a queue before a medium, which asks it for packets.

use crate::label::{Labelling, Labels};
use crate::outside::Token;
use crate::packet::{Packet, Way};
use sojourn_memory::{fetch, fetch_part};
use sojourn_qdisc::{Backlog, Dequeue, DropReason, Outlet, Packet as _, Qdisc, Setting, Spec};
use sojourn_tcp::{Flags, Segment};
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, LinkRecorder};
use std::collections::VecDeque;

/// Largest IP packet of a link: the default quantum is made from it.
const MTU: u32 = 1500;
/// Most packets of the routing protocol that wait before others.
const MOST_ROUTING: usize = 64;

/// In this order: what each packet needs comes first.
#[repr(C)]
pub(crate) struct Interface {
    pub(crate) qdisc: Box<dyn Qdisc<Packet>>,
    /// Packets of the routing protocol, which go before all others; None: they queue as others do.
    routing: Option<VecDeque<Packet>>,
    /// Index of what it sends into.
    pub(crate) medium: u32,
    /// Whether its queue is a pair, which is recorded apart.
    is_dual: bool,
    /// Whether its queue does nothing unless it gets a packet or is asked for one.
    is_plain: bool,
    /// Whether such a queue has said that it is empty, and got nothing since. It is not asked
    /// again, as its memory is in no cache where there are many.
    is_spent: bool,
    pub(crate) recorder: LinkRecorder,
    /// The name of its random streams.
    name: String,
    /// What its queue is built with, but for the name.
    setting: Setting<'static>,
    /// What its queue and its line have lost since that was asked.
    pub(crate) lost: Lost,
}

/// Lost packets that somebody wants to know of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lost {
    /// Datagrams from outside.
    tokens: Vec<Token>,
    /// Segments that are sent again when they are lost: their ways and their numbers. None where
    /// nobody asks.
    pub(crate) segments: Option<Vec<(Way, u32)>>,
}

impl Lost {
    /// A packet is lost.
    fn note(&mut self, packet: &Packet) {
        self.tokens.extend(packet.token());
        self.note_segments(packet);
    }

    /// Segments are lost, of a packet that is perhaps one.
    #[inline]
    pub(crate) fn note_segments(&mut self, packet: &Packet) {
        if let Some(segments) = &mut self.segments {
            segments.extend(packet.parts().filter_map(|part| {
                let asks_again = |segment: &&Segment| {
                    let ends = segment.flags.has(Flags::SYN) || segment.flags.has(Flags::FIN);
                    segment.payload > 0 || ends
                };
                Some((part.way, part.tcp().filter(asks_again)?.seq))
            }));
        }
    }
}

/// Tells the recorder of drops and marks.
struct Watch<'a> {
    recorder: &'a mut LinkRecorder,
    lost: &'a mut Lost,
    now: Time,
}

impl Outlet<Packet> for Watch<'_> {
    fn dropped(&mut self, packet: Packet, _reason: DropReason) {
        self.recorder.dropped(self.now);
        self.lost.note(&packet);
    }

    fn marked(&mut self, _packet: &Packet) {
        self.recorder.marked(self.now);
    }

    fn cut(&mut self, packet: &mut Packet) -> Option<Packet> {
        let segment = packet.cut()?;
        // The bytes are counted; of the packets so far only the whole.
        self.recorder.offered(self.now, 0);
        Some(segment)
    }
}

impl Interface {
    /// So many of its first bytes are what most packets need.
    pub(crate) const USUAL: usize = std::mem::offset_of!(Self, recorder) + LinkRecorder::USUAL;

    /// That of a cell with this index; `labels` serve all queues.
    pub(crate) fn new(cell: &Cell, index: usize, labels: &Labels, recorder: LinkRecorder) -> Self {
        let interface = &cell.network.interfaces[index];
        let name = stream_name(&interface.name);
        let setting = Setting {
            seed: cell.seed,
            name: "",
            mtu: MTU + u32::from(cell.link_header),
            link_header: u32::from(cell.link_header),
        };
        let named = setting.named(&name);
        let qdisc: Box<dyn Qdisc<Packet>> = if labels.serve(cell, index) {
            Box::new(Labelling::new(&interface.qdisc, named, labels.clone()))
        } else {
            interface.qdisc.build(named)
        };
        Self {
            is_dual: qdisc.dual().is_some(),
            is_plain: matches!(interface.qdisc, Spec::Fifo(_)) && !labels.serve(cell, index),
            is_spent: false,
            qdisc,
            medium: interface.medium as u32,
            recorder,
            routing: (cell.network.radio())
                .filter(|radio| radio.routing_first)
                .map(|_| VecDeque::new()),
            name,
            setting,
            lost: Lost {
                segments: sees_copies(cell).then(Vec::new),
                ..Lost::default()
            },
        }
    }

    /// Asks for the memory that tells what a radio needs of it.
    pub(crate) fn fetch_first(&self) {
        fetch_part(self, 0..std::mem::offset_of!(Self, recorder));
        self.recorder.fetch_first();
    }

    /// Asks for the memory that a radio needs of it.
    pub(crate) fn fetch_radio(&self) {
        if let Some(first) = self.routing.as_ref().and_then(VecDeque::front) {
            fetch(first);
        }
        if !self.is_spent {
            self.qdisc.ahead(0).inspect(|packet| fetch(*packet));
        }
        self.recorder.fetch_radio();
    }

    /// A copy, if its queue can be copied.
    pub(crate) fn fork(&self) -> Option<Self> {
        Some(Self {
            qdisc: self.qdisc.fork()?,
            routing: self.routing.clone(),
            medium: self.medium,
            is_dual: self.is_dual,
            is_plain: self.is_plain,
            is_spent: self.is_spent,
            recorder: self.recorder.clone(),
            name: self.name.clone(),
            setting: self.setting,
            lost: self.lost.clone(),
        })
    }

    /// Tells which datagrams from outside its queue has dropped.
    pub(crate) fn lost(&mut self) -> impl Iterator<Item = Token> {
        self.lost.tokens.drain(..)
    }

    /// What its queue is built with.
    pub(crate) fn setting(&self) -> Setting<'_> {
        self.setting.named(&self.name)
    }

    /// Whether a packet waits in the queue. Beside it those of the routing protocol may, but not of
    /// what sends into a wire: where a radio is, no wire is.
    #[inline]
    pub(crate) fn waits(&self) -> bool {
        self.recorder.holds_packets()
    }

    /// Packets in the queue.
    pub(crate) fn waiting(&self) -> usize {
        self.qdisc.backlog().packets as usize
    }

    /// Queues a packet of the routing protocol.
    pub(crate) fn offer_routing(&mut self, packet: Packet, now: Time) {
        match &mut self.routing {
            Some(first) if first.len() < MOST_ROUTING => first.push_back(packet),
            Some(_) => {} // lost
            None => self.offer(packet, now),
        }
    }

    /// Offers a packet to the queue.
    #[expect(clippy::inline_always, reason = "a packet is too large to hand around")]
    #[inline(always)]
    pub(crate) fn offer(&mut self, packet: Packet, now: Time) {
        let len = packet.len();
        let (recorder, lost) = (&mut self.recorder, &mut self.lost);
        let mut watch = Watch {
            recorder,
            lost,
            now,
        };
        self.qdisc.enqueue(packet, now, &mut watch);
        self.is_spent = false;
        self.recorder.entered(now, self.qdisc.backlog(), len);
        if self.is_dual {
            self.tell_dual(now, None);
        }
    }

    /// Tells the recorder of both queues of a pair.
    #[inline(never)]
    fn tell_dual(&mut self, now: Time, left: Option<Span>) {
        if let Some(dual) = self.qdisc.dual() {
            self.recorder.dual(now, &dual, left);
        }
    }

    /// Takes the next packet of a station: those of the routing protocol first.
    #[expect(clippy::inline_always, reason = "as `take_queued`")]
    #[inline(always)]
    pub(crate) fn take(&mut self, now: Time) -> Dequeue<Packet> {
        if let Some(first) = &mut self.routing
            && let Some(packet) = first.pop_front()
        {
            let sojourn = Span::ZERO;
            return Dequeue::Packet { packet, sojourn };
        }
        if self.is_spent {
            self.recorder.backlog(now, Backlog::default());
            return Dequeue::Empty;
        }
        let taken = self.take_queued(now);
        self.is_spent = self.is_plain && matches!(taken, Dequeue::Empty);
        taken
    }

    /// Takes the next packet from the queue.
    #[expect(
        clippy::inline_always,
        reason = "what it yields is a packet, too large to hand around"
    )]
    #[inline(always)]
    pub(crate) fn take_queued(&mut self, now: Time) -> Dequeue<Packet> {
        let (recorder, lost) = (&mut self.recorder, &mut self.lost);
        let mut watch = Watch {
            recorder,
            lost,
            now,
        };
        let mut taken = self.qdisc.dequeue(now, &mut watch);
        let backlog = self.qdisc.backlog();
        match &mut taken {
            Dequeue::Packet { packet, sojourn } => {
                self.recorder.left(now, backlog, packet.len(), *sojourn);
                if self.is_dual {
                    self.tell_dual(now, Some(*sojourn));
                }
                self.look(now);
            }
            // At least one step ahead: a shaper that says "now" must not stop time.
            Dequeue::NotBefore(time) => {
                self.recorder.backlog(now, backlog);
                *time = (*time).max(now + Span::from_nanos(1));
            }
            Dequeue::Empty => {
                self.recorder.backlog(now, backlog);
                if self.is_dual {
                    self.tell_dual(now, None);
                }
            }
        }
        taken
    }

    /// Looks at the queue's own variables, if it is time for that.
    #[expect(clippy::inline_always, reason = "mostly it is not")]
    #[inline(always)]
    fn look(&mut self, now: Time) {
        if self.recorder.wants_gauges(now) {
            self.look_now(now);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_now(&mut self, now: Time) {
        let recorder = &mut self.recorder;
        self.qdisc
            .gauges(now, &mut |gauge| recorder.gauge(now, gauge));
        if let Some(dual) = self.qdisc.dual() {
            recorder.dual_probability(now, &dual);
        }
    }

    /// Lets a packet pass that a medium takes at once, if nothing waits and the queue has nothing
    /// to say about it.
    #[expect(
        clippy::inline_always,
        reason = "once for the way that most packets take"
    )]
    #[inline(always)]
    pub(crate) fn pass(&mut self, packet: &Packet, now: Time) -> bool {
        let passes = !self.waits() && self.qdisc.pass(packet.len());
        if passes {
            self.recorder.passed(now, packet.len());
            self.look(now);
        }
        passes
    }

    /// Asks its queue for packets even when that has just said that it has none.
    #[cfg(test)]
    pub(crate) fn ask_always(&mut self) {
        self.is_plain = false;
    }

    /// Empties the queue and hands over what it held, also what the discipline would drop.
    pub(crate) fn empty(&mut self, mut now: Time, held: &mut Vec<Packet>) {
        struct All<'a>(&'a mut Vec<Packet>);
        impl Outlet<Packet> for All<'_> {
            fn dropped(&mut self, packet: Packet, _reason: DropReason) {
                self.0.push(packet);
            }
        }
        while self.waiting() > 0 {
            match self.qdisc.dequeue(now, &mut All(held)) {
                Dequeue::Packet { packet, .. } => held.push(packet),
                Dequeue::NotBefore(time) => now = time.max(now + Span::from_nanos(1)),
                Dequeue::Empty => return,
            }
        }
    }

    /// Makes the queue follow another spec. No packet is lost by the change itself.
    pub(crate) fn change(&mut self, spec: &Spec, now: Time) {
        let setting = self.setting.named(&self.name);
        spec.reconfigure(&mut self.qdisc, setting, now);
        self.is_dual = self.qdisc.dual().is_some();
        self.is_plain &= matches!(spec, Spec::Fifo(_));
        self.is_spent = false;
        self.recorder.backlog(now, self.qdisc.backlog());
    }
}

/// Whether senders are told of copies that are lost: of none that a radio loses.
pub(crate) fn sees_copies(cell: &Cell) -> bool {
    cell.one_machine && cell.network.radio().is_none()
}

/// The name of the random streams of the link with this name.
pub(crate) fn stream_name(link: &str) -> String {
    format!("link.{link}")
}
