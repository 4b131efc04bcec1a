//! The event loop of one run.

mod fork;
mod held;
mod results;

use crate::calendar::{Owner, Source};
use crate::forwarding::Next;
use crate::host::{Endpoint, SimPort, Transport};
use crate::net::Net;
use crate::packet::{Body, Packet};
use crate::tap::Seen;
use sojourn_apps::{App, Datagram, Input, Message, Wish, Wishes};
use sojourn_qdisc::Report;
use sojourn_tcp::{Codepoint, Received, State};
use sojourn_units::{Span, Time};
use sojourn_world::{Control, FlowRecorder, Progress, WorldName};
use std::ops::ControlFlow;

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
    pub(crate) events: u64,
    pub(crate) digest: u64,
    pub(crate) wishes: Wishes,
    /// Those that an app sends in its turn.
    pub(crate) datagrams: Vec<Datagram>,
    /// Bytes of link header in a packet's length.
    pub(crate) link_header: u16,
    /// The queues' own statistics, taken when the end is passed.
    pub(crate) reports: Vec<Report>,
    /// Packets that the busiest queue had sent then.
    pub(crate) bottleneck_packets: u64,
    /// Most packets at one time.
    pub(crate) room: usize,
}

impl Engine {
    /// Runs to the end, then lets datagrams under way arrive.
    /// Breaks off when `progress` says so, or when there are too many packets.
    pub(crate) fn run(&mut self, progress: Progress<'_>) -> Result<(), Stop> {
        self.start();
        self.advance::<false>(Time::MAX, progress)?;
        self.end();
        Ok(())
    }

    /// The same until `until`, and whether there is more.
    pub(crate) fn forward(&mut self, until: Time) -> Result<bool, Stop> {
        let to = self.advance::<false>(until, &mut |_| ControlFlow::Continue(()))?;
        Ok(to != Advance::Over)
    }

    /// Events until `until`, or with `NEWS` until something comes to an end that is outside. What
    /// an event does is compiled into the loop.
    fn advance<const NEWS: bool>(
        &mut self,
        until: Time,
        progress: Progress<'_>,
    ) -> Result<Advance, Stop> {
        let over = self.end + self.drain;
        let limit = until.min(over);
        while let Some((now, source)) = self.net.passage.calendar.first() {
            if now > limit {
                return Ok(if now > over {
                    Advance::Over
                } else {
                    Advance::Until
                });
            }
            self.step(now, source);
            if NEWS && self.net.passage.has_news() {
                return Ok(Advance::News(now));
            }
            // By events and not by time: a crowded run makes many in little time, and is the one
            // that must be watched.
            if self.events.is_multiple_of(PROGRESS_EVENTS) {
                self.look_around(now)?;
                if progress(now.min(self.end)).is_break() {
                    return Err(Stop::Interrupted);
                }
            }
        }
        Ok(Advance::Over)
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
        let interface = (0..passage.interfaces.len()).max_by_key(waiting);
        let interface = interface.unwrap_or_default();
        Err(Stop::Crowded(Crowd {
            at,
            interface,
            waiting: waiting(&interface),
            packets,
        }))
    }

    /// Schedules what is known before the run.
    pub(crate) fn start(&mut self) {
        // First, so that a change at the very beginning comes before the first packet.
        if let Some(at) = self.net.changes.next() {
            self.net
                .passage
                .calendar
                .push(at, Source::of(Owner::Changes));
        }
        if self.net.passage.autorates.is_some() {
            let source = Source::of(Owner::Autorate);
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
    pub(crate) fn due(&self) -> Option<(Time, Source)> {
        let next = self.net.passage.calendar.first();
        next.filter(|(now, _)| *now <= self.end + self.drain)
    }

    /// Lets the next event happen, which is this one.
    #[expect(clippy::inline_always, reason = "it is what the loop does")]
    #[inline(always)]
    pub(crate) fn step(&mut self, now: Time, source: Source) {
        if now >= self.look_at {
            self.look(now);
        }
        self.net.passage.calendar.begin();
        self.events += 1;
        // Also events that turn out to be stale: two runs that part differ here first.
        self.fold(now, source);
        let again = match source.owner() {
            Owner::Wire(index) | Owner::Medium(index) => self.net.medium_event(index, now),
            Owner::Pipe(index) => self.pipe_event(index, now),
            Owner::Uplink(way) => self.net.uplink_event(way, now),
            Owner::Endpoint(index) => self.endpoint_event(index, now),
            Owner::Changes => self.net.change_event(now),
            Owner::Routing => self.net.routing_event(now),
            Owner::Autorate => self.net.autorate_event(now),
        };
        if self.net.passage.has_mail() {
            self.settle(now);
        }
        self.net.passage.calendar.end(again, source);
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

    /// Records the senders' windows at the times for that until now. Between two events nothing
    /// changes, so that it needs none of its own.
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
                let control = Control {
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

    /// Hands on what a radio has brought.
    fn settle(&mut self, now: Time) {
        while let Some(packet) = self.net.settle(now) {
            self.receive(packet, now);
        }
    }

    /// Folds an event into the digest (FNV-1a over words, with a rotation).
    #[inline]
    fn fold(&mut self, now: Time, source: Source) {
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
    #[inline]
    fn pipe_event(&mut self, index: usize, now: Time) -> Option<Time> {
        let pipe = &mut self.net.passage.pipes[index];
        if pipe.armed != now {
            return None; // stale
        }
        // A change of the delay arms a pipe anew, so that the event above may be stale: taking it
        // out of the calendar would cost a search.
        let interface = pipe.interface as usize;
        let packet = pipe.pop(now);
        // Armed before the packet goes on: what follows may put another into this pipe.
        let again = pipe.next();
        pipe.armed = again.unwrap_or(Time::MAX);
        if let Some(packet) = packet {
            match self.net.passage.forwarding.leg(interface, &packet).next {
                Next::Interface(next) => {
                    let mut packet = packet;
                    if packet.token().is_none() || self.net.passage.hop(&mut packet) {
                        self.net.offer(next as usize, packet, now);
                    }
                }
                Next::Host => self.receive(packet, now),
                Next::Nowhere => debug_assert!(false, "a packet left its way"),
            }
        }
        again
    }

    /// A packet has arrived at the end of its way.
    fn receive(&mut self, packet: Packet, now: Time) {
        if self.net.passage.tapped.is_some() {
            self.net.passage.show(Seen::Received, &packet, now);
        }
        let index = packet.way.back().index();
        let endpoint = &mut self.endpoints[index];
        let first = !packet.way.is_forth();
        let flow = self.flows[index / 2] as usize;
        let recorder = &mut self.recorders[flow];
        if let Some(spp) = recorder.spp().filter(|_| endpoint.paired) {
            // A pair of observers sees what a capture at both hosts would: by the sending time
            // where the transport has it, by the identity of the packet where not.
            match endpoint.transport.sent(&packet) {
                Some(sent) => spp.passed(now, !first, sent),
                None => spp.reached(now, !first, packet.identity()),
            }
        }
        if !first {
            // Without the link's header, as a host's socket counts, so that worlds with other
            // headers agree.
            recorder.received(now, u32::from(packet.len - self.link_header));
            let ecn = Codepoint::from_bits(packet.tos);
            if ecn != Codepoint::NotEct {
                recorder.received_ecn(now, ecn == Codepoint::Ce);
            }
        }
        match (packet.body(), &mut endpoint.transport) {
            (Body::Datagram { datagram, sent }, transport) => {
                if let Some(token) = packet.token()
                    && let Some(outside) = &mut self.net.passage.outside
                {
                    outside.arrived(token, &packet, sent, now);
                }
                // A line that duplicates must not make a flow look faster than it is.
                if transport.has_come(datagram) {
                    return recorder.datagram_repeated(sent);
                }
                recorder.datagram_received(now, sent);
                if !first {
                    recorder.delivered(now, u64::from(datagram.len));
                    if let Some(other) = self.other_ways[flow]
                        && let Some(spp) = self.recorders[other].spp()
                    {
                        spp.passed(now, false, sent);
                    }
                }
                self.tell(index, Input::Datagram(datagram), now);
            }
            // Streams end with the run. Datagrams go on for a moment: one that is under way is
            // not lost.
            (Body::Segment(_), _) if now > self.end => return,
            (Body::Segment(segment), Transport::Tcp { connection, .. }) => {
                let ecn = Codepoint::from_bits(packet.tos);
                let news = connection.receive(segment, ecn, now);
                if let Some(rtt) = news.rtt
                    && first
                {
                    recorder.rtt(now, rtt);
                }
                self.heard(index, news, now);
            }
            (Body::Segment(_), Transport::Udp { .. }) => {
                debug_assert!(false, "a segment for a socket of datagrams");
            }
        }
        self.flush(index, now);
    }

    /// A segment did something to the connection of an endpoint: its app hears of it.
    fn heard(&mut self, index: usize, news: Received, now: Time) {
        if news.delivered > 0 {
            let endpoint = &mut self.endpoints[index];
            let notable = endpoint.deliver(news.delivered);
            if !endpoint.is_first() {
                let recorder = &mut self.recorders[self.flows[index / 2] as usize];
                recorder.delivered(now, news.delivered);
                if notable && endpoint.completes_file() {
                    recorder.completed(now, endpoint.start);
                }
            }
            if self.endpoints[index].hears {
                self.tell(index, Input::Delivered(news.delivered), now);
            }
            while notable && let Some(message) = self.endpoints[index].next_message() {
                let connection = self.endpoints[index].connection;
                let input = Input::Message {
                    connection,
                    message,
                };
                self.tell(index, input, now);
            }
        }
        if news.established {
            let input = match self.endpoints[index].connection {
                0 => Input::Start,
                further => Input::Open(further),
            };
            self.tell(index, input, now);
        }
        // The rest of a message that did not fit goes first, or the next one would be mixed into
        // it.
        if news.writable {
            self.endpoints[index].write_rest();
            if self.endpoints[index].rest == 0 {
                self.tell(index, Input::Writable, now);
            }
        }
    }

    /// Tells the app at an endpoint something; [`flush`](Self::flush) does what it asks for.
    fn tell(&mut self, index: usize, input: Input, now: Time) {
        let endpoint = &mut self.endpoints[index];
        let app = &mut self.apps[endpoint.app as usize];
        // What the app wants is only noted: its calls come back into the same connection, which
        // is borrowed here.
        let mut port = SimPort {
            transport: &mut endpoint.transport,
            now,
            recorder: &mut self.recorders[self.flows[index / 2] as usize],
            wishes: &mut self.wishes,
            datagrams: &mut self.datagrams,
        };
        app.handle(input, now, &mut port);
        // One app has one timer, whatever endpoint it was told at; the timer is kept at its first
        // connection.
        if let Some(wake) = self.wishes.wake.take() {
            let home = endpoint.home();
            self.endpoints[home].wake_at(wake);
            if home != index {
                self.arm_endpoint(home);
            }
        }
    }

    /// Something is due at an endpoint: its start, its stop, the app's timer, TCP's timer.
    fn endpoint_event(&mut self, index: usize, now: Time) -> Option<Time> {
        let endpoint = &mut self.endpoints[index];
        if endpoint.armed != now || now >= self.end {
            return None; // stale, or over
        }
        // Disarmed first: what happens below arms it anew for whatever is due next.
        endpoint.armed = Time::MAX;
        if endpoint.starts(now) {
            match &mut endpoint.transport {
                Transport::Tcp { connection, .. } if endpoint.opens => connection.open(now),
                Transport::Tcp { .. } => {}
                Transport::Udp { .. } => self.tell(index, Input::Start, now),
            }
        }
        let endpoint = &mut self.endpoints[index];
        if endpoint.stops(now)
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
        if endpoint.wakes(now) {
            self.tell(index, Input::Timer, now);
        }
        self.flush(index, now);
        None
    }

    /// Puts a message on the stream of an endpoint.
    fn post(&mut self, index: usize, message: Message, now: Time) {
        let endpoint = &mut self.endpoints[index];
        if endpoint.waits_for_room() {
            self.recorders[self.flows[index / 2] as usize].blocked(now);
            return;
        }
        let end = endpoint.write_message(message.len.into());
        let peer = endpoint.way.back().index();
        self.endpoints[peer].expect(end, message);
    }

    /// Does what the app at an endpoint wants of its connections.
    #[cold]
    fn grant(&mut self, index: usize, now: Time) {
        let home = self.endpoints[index].home();
        for (connection, wish) in std::mem::take(&mut self.wishes.connections) {
            let at = home + 2 * usize::from(connection);
            match wish {
                Wish::Message(message) => self.post(at, message, now),
                Wish::Open => {
                    let peer = self.endpoints[at].way.back().index();
                    for end in [at, peer] {
                        self.endpoints[end].start_at(now);
                        self.arm_endpoint(end);
                    }
                }
                Wish::Abort => self.endpoints[at].abort(),
            }
            if at != index {
                self.flush(at, now);
            }
        }
    }

    /// Sends the segments that an endpoint has to send.
    #[inline]
    fn send_segments(&mut self, index: usize, now: Time) {
        let endpoint = &mut self.endpoints[index];
        let recorder = &mut self.recorders[self.flows[index / 2] as usize];
        while let Transport::Tcp { connection, .. } = &mut endpoint.transport
            && let Some(sent) = connection.poll_transmit(now)
        {
            if sent.segment.payload > 0 && endpoint.is_first() {
                recorder.sent(now, 1, u64::from(sent.retransmission));
            }
            let packet = endpoint.segment(sent.segment, sent.ecn);
            if let Some(spp) = recorder.spp()
                && endpoint.paired
                && endpoint.transport.sent(&packet).is_none()
            {
                spp.left(now, endpoint.is_first(), packet.identity());
            }
            self.net.emit(packet, now);
        }
    }

    /// Sends whatever an endpoint has to send, and arms its timer.
    fn flush(&mut self, index: usize, now: Time) {
        // Before sending: a message that is put on the stream now leaves with what waits there.
        if !self.wishes.connections.is_empty() {
            self.grant(index, now);
        }
        self.send_segments(index, now);
        if !self.datagrams.is_empty() {
            let flow = self.flows[index / 2] as usize;
            // The list is lent out while the network is called, and given back with its memory.
            let mut datagrams = std::mem::take(&mut self.datagrams);
            for datagram in datagrams.drain(..) {
                if self.endpoints[index].is_first() {
                    self.recorders[flow].sent(now, 1, 0);
                }
                self.recorders[flow].datagram_sent(now);
                let packet = self.endpoints[index].datagram(datagram, now);
                self.net.emit(packet, now);
            }
            self.datagrams = datagrams;
        }
        self.arm_endpoint(index);
    }

    /// Arms an endpoint's timer if it is due before the armed one. A later time needs nothing:
    /// the armed event finds nothing to do and arms the timer anew.
    #[inline]
    fn arm_endpoint(&mut self, index: usize) {
        let deadline = self.endpoints[index].deadline();
        if deadline < self.endpoints[index].armed {
            self.endpoints[index].armed = deadline;
            let source = Source::of(Owner::Endpoint(index));
            self.net.passage.calendar.push(deadline, source);
        }
    }
}

#[cfg(test)]
mod tests;
