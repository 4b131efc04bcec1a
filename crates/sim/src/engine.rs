//! The event loop of one run.

mod app;
mod burst;
mod fork;
mod held;
mod large;
mod receive;
mod results;
mod trains;

use crate::calendar::{Owner, OwnerKey};
use crate::forwarding::Next;
use crate::host::{Endpoint, Transport};
use crate::net::Net;
use crate::packet::Packet;
use crate::pipe::Pipe;
use burst::send_segments;
pub(crate) use large::is_large;
use sojourn_apps::{App, Datagram, Input, Wishes};
use sojourn_qdisc::Report;
use sojourn_tcp::State;
use sojourn_units::{Span, Time};
use sojourn_world::{CongestionState, FlowRecorder, Progress, WorldName};

/// What the simulated world is called in results.
pub(crate) const WORLD: WorldName = WorldName::new("sim");
/// How often a sender's window is recorded in each interval of the series.
const SAMPLES: u64 = 4;
/// Events between two reports of progress.
const PROGRESS_EVENTS: u64 = 1 << 16;
/// Most packets of a run at one time, in queues and under way: 80 bytes each, and for a moment
/// three times that, while a queue grows.
pub(crate) const MOST_PACKETS: usize = 4_000_000;

/// Why a run ends before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It was stopped from outside.
    Interrupted,
    /// Memory is about to fill with packets.
    Crowded(Crowd),
}

/// Packets that are there at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crowd {
    pub(crate) at: Time,
    /// Where most of them wait.
    pub(crate) interface: usize,
    /// How many wait there.
    pub(crate) waiting: usize,
    /// How many there are in all.
    pub(crate) packets: usize,
}

/// How far a run has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// As far as it was to go.
    Until,
    /// To this time, when something came to an end that is outside.
    News(Time),
    /// To its last event.
    Over,
}

/// After which events a run may stop before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    /// After none; now and then it tells how far it is.
    Seldom,
    /// After those by which something comes to an end that is outside.
    News,
    /// After the next one.
    Single,
}

impl Watch {
    /// The number of the event after which a run is looked at, of one with so many so far.
    const fn next(self, events: u64) -> u64 {
        match self {
            Self::Seldom => (events / PROGRESS_EVENTS + 1) * PROGRESS_EVENTS,
            Self::News | Self::Single => events + 1,
        }
    }
}

/// How hosts send segments, where that is not as usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sending {
    /// In trains.
    pub(crate) trains: bool,
    /// Not again as long as a copy is under way.
    pub(crate) sees_copies: bool,
}

/// One run.
pub(crate) struct Engine {
    pub(crate) net: Net,
    /// By direction of what they send: two for each connection, a flow's connections in a row.
    pub(crate) endpoints: Vec<Endpoint>,
    /// Those at both ends of each instance of a flow, the first end first.
    pub(crate) apps: Vec<Box<dyn App>>,
    /// Flow of the cell, by connection. Beside the endpoints, so that nobody has to wait for
    /// memory twice in a row.
    pub(crate) flows: Vec<u32>,
    /// By flow of the cell; all its instances share one.
    pub(crate) recorders: Vec<FlowRecorder>,
    /// By flow of the cell: the other direction of a call.
    pub(crate) other_ways: Vec<Option<usize>>,
    /// What the sources of each kind are counted from, over all kinds: for the digest.
    pub(crate) numbers: [u64; 8],
    pub(crate) end: Time,
    /// Datagrams under way at the end get this long to arrive.
    pub(crate) drain: Span,
    pub(crate) sample_every: Span,
    /// When senders' windows are recorded next.
    pub(crate) sample_at: Time,
    /// When anything is to be done before an event: that, or the reports at the end.
    pub(crate) look_at: Time,
    /// No event from here on is taken ahead.
    pub(crate) ahead_before: Time,
    /// The packet that was sent last, which most of its burst differ from in little.
    pub(crate) sent: Packet,
    /// Number of the event after which the run is looked at.
    pub(crate) pause: u64,
    /// How many events are left until that one; below zero when some were taken ahead. Counted
    /// down, as nothing else has to be known to find it.
    pub(crate) left: i64,
    pub(crate) digest: u64,
    pub(crate) wishes: Wishes,
    /// Datagrams that apps want to send, until the engine sends them.
    pub(crate) datagrams: Vec<Datagram>,
    /// Bytes of link header in a packet's length.
    pub(crate) link_header: u16,
    /// How hosts send segments, where that is not as usual.
    pub(crate) sending: Sending,
    /// The queues' own statistics, taken when the end is passed.
    pub(crate) reports: Vec<Report>,
    /// Packets that the busiest queue had sent then.
    pub(crate) bottleneck_packets: u64,
    /// Most packets at one time.
    pub(crate) room: usize,
    /// Whether there are so many connections and links that an event finds its own in no cache.
    pub(crate) large: bool,
}

impl Engine {
    /// Runs to the end, then lets datagrams under way arrive.
    /// Breaks off when `progress` says so, or when there are too many packets.
    pub(crate) fn run(&mut self, progress: Progress<'_>) -> Result<(), Stop> {
        self.start();
        self.advance(Time::MAX, Watch::Seldom, progress)?;
        self.end();
        Ok(())
    }

    /// Events so far.
    #[inline]
    pub(crate) const fn events(&self) -> u64 {
        self.pause.wrapping_sub(self.left.cast_unsigned())
    }

    fn pause_at(&mut self, number: u64) {
        self.left = number.wrapping_sub(self.events()).cast_signed();
        self.pause = number;
    }

    /// Events until `until`, or until what `watch` says. What an event does is compiled into the
    /// loop, and nowhere else: what has one caller only is compiled into that.
    fn advance(
        &mut self,
        until: Time,
        watch: Watch,
        progress: Progress<'_>,
    ) -> Result<Advance, Stop> {
        let over = self.end + self.drain;
        let limit = until.min(over);
        self.pause_at(watch.next(self.events()));
        self.ahead_before = match watch {
            Watch::Seldom => limit + Span::from_nanos(1),
            Watch::News | Watch::Single => Time::ZERO,
        };
        self.net.passage.calendar.set_alarm(Time::ZERO);
        loop {
            if self.net.passage.calendar.alarms() && !self.prepare(limit) {
                let (now, _) = self.net.passage.calendar.next();
                return Ok(if now > over {
                    Advance::Over
                } else {
                    Advance::Until
                });
            }
            let (now, source) = self.net.passage.calendar.next();
            self.happen(now, source);
            if self.left > 0 {
                continue;
            }
            self.net.passage.calendar.settle();
            self.pause_at(watch.next(self.events()));
            if watch == Watch::News && self.net.passage.has_news() {
                return Ok(Advance::News(now));
            }
            // By events and not by time: a crowded run makes many in little time, and is the one
            // that must be watched.
            if watch == Watch::Seldom || self.events().is_multiple_of(PROGRESS_EVENTS) {
                self.look_around(now)?;
                if progress(now.min(self.end)).is_break() {
                    return Err(Stop::Interrupted);
                }
            }
            if watch == Watch::Single {
                return Ok(Advance::Until);
            }
        }
    }

    /// Does what seldom has to be done before an event. Returns whether there is one until `limit`.
    #[inline(never)]
    fn prepare(&mut self, limit: Time) -> bool {
        if self.net.passage.calendar.is_spent() {
            self.turn_over();
            if !self.net.passage.calendar.alarms() {
                return true;
            }
        }
        self.net.passage.calendar.settle();
        if self.large {
            self.fetch_timer();
        }
        let (now, _) = self.net.passage.calendar.next();
        if now > limit {
            return false;
        }
        self.look_before(now);
        let alarm = self.look_at.min(limit);
        self.net.passage.calendar.set_alarm(alarm);
        true
    }

    /// Refuses to go on with more packets than there is room for.
    #[cold]
    fn look_around(&self, at: Time) -> Result<(), Stop> {
        let passage = &self.net.passage;
        let packets = passage.packets();
        if packets <= self.room {
            return Ok(());
        }
        let waiting = |index: &usize| passage.interfaces[*index].waiting();
        let interface = (0..passage.interfaces.len())
            .max_by_key(waiting)
            .unwrap_or_default();
        Err(Stop::Crowded(Crowd {
            at,
            interface,
            waiting: waiting(&interface),
            packets,
        }))
    }

    /// Schedules what is known before the run.
    pub(crate) fn start(&mut self) {
        if is_large(self.endpoints.len() / 2, self.net.passage.interfaces.len()) {
            self.enlarge();
        }
        if self.net.passage.tapped.is_some() || self.sending.trains {
            self.net.passage.pipes.iter_mut().for_each(Pipe::ask);
        }
        // First, so that a change at the very beginning comes before the first packet.
        if let Some(at) = self.net.changes.next() {
            self.net
                .passage
                .calendar
                .push(at, OwnerKey::of(Owner::Changes));
        }
        if self.net.passage.autorates.is_some() {
            let source = OwnerKey::of(Owner::Autorate);
            self.net.passage.calendar.push(Time::ZERO, source);
        }
        // In the order of the cell: what starts at the same time is taken in the order of
        // scheduling.
        for endpoint in 0..self.endpoints.len() {
            self.arm_endpoint(endpoint);
        }
    }

    /// The next event; none when the run is over.
    #[inline]
    pub(crate) fn due(&self) -> Option<(Time, OwnerKey)> {
        let next = self.net.passage.calendar.first();
        next.filter(|(now, _)| *now <= self.end + self.drain)
    }

    /// Lets the next event happen, which is this one.
    #[cfg(test)]
    pub(crate) fn step(&mut self, now: Time, source: OwnerKey) {
        self.net.passage.calendar.settle();
        self.look_before(now);
        self.happen(now, source);
    }

    /// Does what is due before an event.
    #[inline]
    fn look_before(&mut self, now: Time) {
        if now >= self.look_at {
            self.look(now);
        }
    }

    /// Lets the next event happen, before which nothing is due.
    #[expect(clippy::inline_always, reason = "it is what the loop does")]
    #[inline(always)]
    fn happen(&mut self, now: Time, source: OwnerKey) {
        self.net.passage.calendar.begin();
        self.left -= 1;
        // Also events that turn out to be stale: two runs that part differ here first.
        self.fold(now, source);
        match source.owner() {
            Owner::Pipe(index) => {
                self.pipe_event(index, now);
            }
            Owner::Uplink(way) => {
                let again = self.net.uplink_event(way, now);
                self.end_event(again, Owner::Uplink(way));
            }
            Owner::Wire(index) => {
                let again = self.net.wire_event(index, now);
                self.end_event(again, Owner::Wire(index));
            }
            Owner::Medium(index) => {
                let again = self.net.radio_event(index, now);
                self.settle(now);
                self.end_event(again, Owner::Medium(index));
            }
            owner => {
                let again = self.other_event(owner, now);
                self.end_event(again, owner);
            }
        }
        self.net.passage.calendar.turn();
    }

    /// An event has happened, and its owner has the next one then. Known to be whose, it takes
    /// fewer instructions.
    #[expect(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    fn end_event(&mut self, again: Option<Time>, owner: Owner) {
        self.net.passage.calendar.end(again, OwnerKey::of(owner));
    }

    /// What happens seldom.
    #[inline(never)]
    fn other_event(&mut self, owner: Owner, now: Time) -> Option<Time> {
        let again = match owner {
            Owner::Endpoint(index) => self.endpoint_event(index, now),
            Owner::Changes => self.net.change_event(now),
            Owner::Routing => self.net.routing_event(now),
            Owner::Autorate => self.net.autorate_event(now),
            Owner::Pipe(_) | Owner::Uplink(_) | Owner::Wire(_) | Owner::Medium(_) => None,
        };
        self.settle(now);
        again
    }

    /// What is due before an event.
    #[cold]
    fn look(&mut self, now: Time) {
        // Before the event, whose effects the sample must not show.
        if now >= self.sample_at {
            self.sample(now.min(self.end));
        }
        // The queues' figures are those of the end; what drains afterwards counts for no queue.
        if now > self.end && self.reports.is_empty() {
            self.take_reports();
        }
        let reports_at = if self.reports.is_empty() {
            self.end + Span::from_nanos(1)
        } else {
            Time::MAX
        };
        self.look_at = self.sample_at.min(reports_at);
    }

    /// Samples the senders' windows at each due time up to `now`. Samples need no events of their
    /// own, because nothing changes between two events.
    #[cold]
    fn sample(&mut self, now: Time) {
        if !self.recorders.iter().any(FlowRecorder::keeps_series) {
            self.sample_at = Time::MAX;
        }
        while self.sample_at <= now {
            let at = self.sample_at;
            self.sample_at += (self.sample_every / SAMPLES).max(Span::from_nanos(1));
            for (endpoint, &flow) in self.endpoints.iter().step_by(2).zip(&self.flows) {
                let Transport::Tcp { connection, .. } = &endpoint.transport else {
                    continue;
                };
                let state = connection.state();
                if !matches!(
                    state,
                    State::Established | State::CloseWait | State::FinWait1
                ) {
                    continue;
                }
                // Of an established connection only: before, there is no window, and after a
                // close nothing that it would hold back.
                let info = connection.info();
                let control = CongestionState {
                    window: info.window_segments,
                    threshold: info.ssthresh_segments,
                    pacing_rate: info.pacing_rate,
                    marked_share: info.marked_share,
                };
                self.recorders[flow as usize].control(at, control);
            }
        }
        if now >= self.end {
            self.sample_at = Time::MAX;
        }
    }

    /// Does what is left to be done over a radio, and hands on what it has brought.
    #[inline]
    fn settle(&mut self, now: Time) {
        if self.net.passage.has_mail() {
            self.settle_mail(now);
        }
    }

    fn settle_mail(&mut self, now: Time) {
        while let Some(packet) = self.net.settle(now) {
            self.receive(&packet, now);
        }
    }

    /// Folds an event into the digest (FNV-1a over words, with a rotation).
    #[inline]
    fn fold(&mut self, now: Time, source: OwnerKey) {
        let number = self.numbers[source.kind()] + source.index() as u64;
        // The time's low bits change most; moved up, they do not meet those of the number.
        self.fold_word(now.as_nanos().rotate_left(20) ^ number);
    }

    #[inline]
    fn fold_word(&mut self, word: u64) {
        self.digest = (self.digest ^ word)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }

    /// The packet at the head of a pipe arrives.
    #[expect(clippy::inline_always, reason = "as `happen`")]
    #[inline(always)]
    fn pipe_event(&mut self, index: usize, now: Time) {
        let pipe = &mut self.net.passage.pipes[index];
        if pipe.armed != now {
            return; // stale
        }
        // A change of the delay arms a pipe anew, so that the event above may be stale: taking it
        // out of the calendar would cost a search.
        let next = pipe.next;
        let Some(&packet) = pipe.arrived(now) else {
            let again = pipe.due();
            pipe.armed = again.unwrap_or(Time::MAX);
            return self.end_event(again, Owner::Pipe(index));
        };
        pipe.advance();
        // Armed before the packet goes on: what follows may put another into this pipe.
        let again = pipe.due();
        let armed = again.unwrap_or(Time::MAX);
        pipe.armed = armed;
        match next.unwrap_or_else(|| self.look_up(index, &packet)) {
            Next::Interface(next) => {
                let mut packet = packet;
                if packet.token().is_none() || self.net.passage.hop(&mut packet) {
                    self.net.offer(next as usize, &packet, now);
                }
            }
            Next::HostOddly => self.receive_oddly(&packet, now),
            Next::Host => {
                let ahead = self.receive_here(&packet, armed, now);
                self.end_event(again, Owner::Pipe(index));
                if let Some(at) = ahead {
                    self.left -= 1;
                    self.fold(at, OwnerKey::of(Owner::Uplink(self.sent.way)));
                    self.net.arrive_up(&self.sent, at);
                }
                return;
            }
            Next::Nowhere => debug_assert!(false, "a packet left its way"),
        }
        self.end_event(again, Owner::Pipe(index));
    }

    /// Something is due at an endpoint: its start, its stop, the app's timer, TCP's timer.
    fn endpoint_event(&mut self, index: usize, now: Time) -> Option<Time> {
        let endpoint = &mut self.endpoints[index];
        if endpoint.armed != now || now >= self.end {
            return None; // stale, or over
        }
        // Disarmed first: what happens below arms it anew for whatever is due next.
        endpoint.armed = Time::MAX;
        // Asked first, as that is known where the rest of an endpoint lies in no cache.
        if endpoint.is_due(now) && endpoint.starts(now) {
            match &mut endpoint.transport {
                Transport::Tcp { connection, .. } if endpoint.opens => connection.open(now),
                Transport::Tcp { .. } => {}
                Transport::Udp { .. } => self.tell(index, Input::Start, now),
            }
        }
        let endpoint = &mut self.endpoints[index];
        if endpoint.is_due(now)
            && endpoint.stops(now)
            && let Transport::Tcp { connection, .. } = &mut endpoint.transport
        {
            connection.close();
        }
        if let Transport::Tcp { connection, .. } = &mut endpoint.transport
            && connection.next_timer().is_some_and(|due| due <= now)
        {
            connection.on_timer(now);
        }
        // TCP before the app: the app writes into what TCP's timer has left.
        if endpoint.is_due(now) && endpoint.wakes(now) {
            self.tell(index, Input::Timer, now);
        }
        self.flush(index, now);
        None
    }

    /// Sends the segments of a connection, of hosts that do not send as usual.
    #[inline(never)]
    fn send_otherwise(&mut self, index: usize, now: Time) {
        if self.sending.sees_copies {
            self.tell_of_copies(index);
        }
        if self.sending.trains {
            self.send_trains(index, now);
        } else {
            self.send_usual(index, Time::ZERO, now);
        }
    }

    /// Sends the segments of a connection, by [`send_segments`].
    fn send_usual(&mut self, index: usize, before: Time, now: Time) -> Option<Time> {
        let endpoint = &mut self.endpoints[index];
        let recorder = &mut self.recorders[self.flows[index / 2] as usize];
        send_segments(
            &mut self.net,
            &mut self.sent,
            endpoint,
            recorder,
            before,
            now,
        )
    }

    /// Before this time an event may be the next one that is not in the calendar. `armed`: for this
    /// time more is yet to be put there.
    #[inline]
    fn ahead_until(&self, armed: Time) -> Time {
        armed.min(self.look_at).min(self.ahead_before)
    }

    /// Tells an endpoint of what it has sent that is no longer under way.
    fn tell_of_copies(&mut self, index: usize) {
        for interface in &mut self.net.passage.interfaces {
            for (way, number) in interface.lost.segments.iter_mut().flat_map(|s| s.drain(..)) {
                if let Transport::Tcp { connection, .. } =
                    &mut self.endpoints[way.index()].transport
                {
                    connection.lose_copy(number);
                }
            }
        }
        let peer = match &self.endpoints[index ^ 1].transport {
            Transport::Tcp { connection, .. } => connection.expects(),
            Transport::Udp { .. } => None,
        };
        if let Transport::Tcp { connection, .. } = &mut self.endpoints[index].transport {
            connection.peer_expects(peer);
        }
    }

    /// Sends whatever an endpoint has to send, and arms its timer.
    #[inline(never)]
    fn flush(&mut self, index: usize, now: Time) {
        // Before sending: a message that is put on the stream now leaves with what waits there.
        if !self.wishes.connections.is_empty() {
            self.grant(index, now);
        }
        let ahead = self.send_all(index, Time::ZERO, now);
        debug_assert!(ahead.is_none(), "there is nothing before time zero");
    }

    /// [`flush`](Self::flush) of one whose app wishes nothing. Returns as [`send_segments`].
    fn send_all(&mut self, index: usize, before: Time, now: Time) -> Option<Time> {
        if self.sending != Sending::default() {
            self.send_otherwise(index, now);
        } else if self.datagrams.is_empty() {
            return self.send_usual(index, before, now);
        }
        if !self.datagrams.is_empty() {
            self.send_datagrams(index, now);
        }
        self.arm_endpoint(index);
        None
    }

    /// Sends the datagrams that an app has left.
    #[inline(never)]
    fn send_datagrams(&mut self, index: usize, now: Time) {
        let flow = self.flows[index / 2] as usize;
        // The list is lent out while the network is called, and given back with its memory.
        let mut datagrams = std::mem::take(&mut self.datagrams);
        for datagram in datagrams.drain(..) {
            if self.endpoints[index].is_first() {
                self.recorders[flow].sent(now, 1, 0);
            }
            self.recorders[flow].datagram_sent(now);
            let packet = self.endpoints[index].datagram(datagram, now);
            self.net.emit(&packet, now);
        }
        self.datagrams = datagrams;
    }

    /// Arms an endpoint's timer if it is due before the armed one. A later time needs nothing:
    /// the armed event finds nothing to do and arms the timer anew.
    #[expect(clippy::inline_always, reason = "mostly it is two comparisons")]
    #[inline(always)]
    fn arm_endpoint(&mut self, index: usize) {
        let endpoint = &mut self.endpoints[index];
        self.net.arm(endpoint.way, endpoint.set_alarm());
    }
}

#[cfg(test)]
mod tests;
