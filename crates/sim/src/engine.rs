//! The event loop of one run.

use crate::access::AccessLinks;
use crate::calendar::{Calendar, Source};
use crate::change::Changes;
use crate::host::{Endpoint, Outbox, SimPort, Transport};
use crate::link::{Link, Sent};
use crate::packet::{Packet, Way};
use crate::pipe::Pipe;
use crate::route::{Next, Routes};
use crate::tap::Tapped;
use sojourn_apps::{App, Input, Message};
use sojourn_qdisc::{Ecn, Report};
use sojourn_tcp::Received;
use sojourn_units::{Span, Time};
use sojourn_world::{Aggregate, Cell, Control, Cost, FlowRecorder, Progress, RunResult};
use std::ops::ControlFlow;

/// Datagrams under way at the end get this long to arrive, so that a standing queue does not
/// count as loss.
const DRAIN: Span = Span::from_secs(10);
/// Events between two reports of progress.
const PROGRESS_EVENTS: u64 = 1 << 16;

/// One run.
pub(crate) struct Engine {
    pub(crate) calendar: Calendar,
    pub(crate) links: Vec<Link>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) routes: Routes,
    /// By direction of what they send: two for each connection, a flow's connections in a row.
    pub(crate) endpoints: Vec<Endpoint>,
    /// Those at both ends of each instance of a flow, the first end first.
    pub(crate) apps: Vec<Box<dyn App>>,
    /// The hosts' access links, if their rate is limited.
    pub(crate) access: Option<AccessLinks>,
    /// Flow of the cell, by connection. Beside the endpoints, so that nobody has to wait for
    /// memory twice in a row.
    pub(crate) flows: Vec<u32>,
    /// By flow of the cell; all its instances share one.
    pub(crate) recorders: Vec<FlowRecorder>,
    /// By flow of the cell: the other direction of a call.
    pub(crate) other_ways: Vec<Option<usize>>,
    pub(crate) changes: Changes,
    pub(crate) end: Time,
    pub(crate) sample_every: Span,
    pub(crate) events: u64,
    pub(crate) digest: u64,
    pub(crate) outbox: Outbox,
    /// Bytes of link header in a packet's length.
    pub(crate) link_header: u16,
    /// The queues' own statistics, taken when the end is passed.
    pub(crate) reports: Vec<Report>,
    /// Packets that the busiest queue had sent then.
    pub(crate) bottleneck_packets: u64,
    /// Who wants to see packets; seldom anybody.
    pub(crate) tapped: Option<Box<Tapped>>,
}

impl Engine {
    fn pipe_source(&self, pipe: usize) -> Source {
        (self.links.len() + pipe) as Source
    }

    fn uplink_source(&self, way: Way) -> Source {
        self.pipe_source(self.pipes.len()) + way.index() as Source
    }

    fn endpoint_source(&self, endpoint: usize) -> Source {
        let uplinks = if self.access.is_some() {
            self.endpoints.len()
        } else {
            0
        };
        self.pipe_source(self.pipes.len() + uplinks + endpoint)
    }

    /// The last source: links that change.
    fn change_source(&self) -> Source {
        self.endpoint_source(self.endpoints.len())
    }

    /// Runs to the end, then lets datagrams under way arrive.
    /// Breaks off when `progress` says so.
    pub(crate) fn run(&mut self, progress: Progress<'_>) -> ControlFlow<()> {
        // First, so that a change at the very beginning comes before the first packet.
        if let Some(at) = self.changes.next() {
            self.calendar.push(at, self.change_source());
        }
        for endpoint in 0..self.endpoints.len() {
            self.arm_endpoint(endpoint);
        }
        let (links, pipes) = (self.links.len(), self.links.len() + self.pipes.len());
        let uplinks = self.endpoint_source(0) as usize;
        let changes = self.change_source() as usize;
        let horizon = self.end + DRAIN;
        while let Some((now, source)) = self.calendar.first() {
            if now > horizon {
                break;
            }
            if now > self.end && self.reports.is_empty() {
                self.take_reports();
            }
            self.events += 1;
            self.fold(now, source);
            if self.events.is_multiple_of(PROGRESS_EVENTS) {
                progress(now.min(self.end))?;
            }
            let index = source as usize;
            let again = if index < links {
                self.link_event(index, now)
            } else if index < pipes {
                self.pipe_event(index - links, now)
            } else if index < uplinks {
                self.uplink_event(Way((index - pipes) as u32), now)
            } else if index < changes {
                self.endpoint_event(index - uplinks, now)
            } else {
                self.change_event(now)
            };
            match again {
                Some(time) => self.calendar.move_first(time, source),
                None => self.calendar.pop_first(source),
            }
        }
        ControlFlow::Continue(())
    }

    #[cold]
    fn take_reports(&mut self) {
        self.reports = self
            .links
            .iter()
            .map(|link| link.qdisc.report(self.end))
            .collect();
        let sent = self
            .links
            .iter()
            .map(|link| link.qdisc.counters().dequeued.packets);
        self.bottleneck_packets = sent.max().unwrap_or(0);
    }

    /// Folds an event into the digest (FNV-1a over words, with a rotation).
    fn fold(&mut self, now: Time, source: Source) {
        let word = now.as_nanos().rotate_left(20) ^ u64::from(source);
        self.digest = (self.digest ^ word)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }

    /// The transmitter may be free, or a shaper's time may have come.
    fn link_event(&mut self, index: usize, now: Time) -> Option<Time> {
        if self.links[index].armed != now {
            return None; // stale
        }
        let again = self.serve(index, now);
        self.links[index].armed = again.unwrap_or(Time::MAX);
        again
    }

    /// Sends what may be sent now; returns when to go on.
    fn serve(&mut self, index: usize, now: Time) -> Option<Time> {
        loop {
            match self.links[index].send(now) {
                Sent::Nothing => return None,
                Sent::Later(time) => return Some(time),
                Sent::Packet(packet, sent) => {
                    if let Some(tapped) = &mut self.tapped {
                        tapped.dequeued(index, &packet, now);
                    }
                    self.launch(index, packet, sent);
                    if sent > now {
                        let waiting = self.links[index].qdisc.backlog().packets > 0;
                        return waiting.then_some(sent);
                    }
                }
            }
        }
    }

    /// Puts a packet that link `index` has sent at `sent` into its pipe.
    fn launch(&mut self, index: usize, packet: Packet, sent: Time) {
        let leg = self.routes.leg(index, packet.way());
        let pipe = leg.pipe as usize;
        let Some(mut arrival) = self.links[index].arrival(sent, &self.pipes[pipe]) else {
            return;
        };
        if leg.next == Next::Host
            && let Some(access) = &mut self.access
        {
            arrival = access.pass_down(packet.way(), arrival, packet.bytes());
        }
        self.fly(pipe, arrival, packet);
    }

    fn fly(&mut self, pipe: usize, arrival: Time, packet: Packet) {
        self.pipes[pipe].push(arrival, packet);
        if arrival < self.pipes[pipe].armed {
            self.pipes[pipe].armed = arrival;
            self.calendar.push(arrival, self.pipe_source(pipe));
        }
    }

    /// The packet at the head of a pipe arrives.
    fn pipe_event(&mut self, index: usize, now: Time) -> Option<Time> {
        let pipe = &mut self.pipes[index];
        if pipe.armed != now {
            return None; // stale
        }
        let link = pipe.link as usize;
        let packet = pipe.pop(now);
        // Armed before the packet goes on: what follows may put another into this pipe.
        let again = pipe.next();
        pipe.armed = again.unwrap_or(Time::MAX);
        if let Some(packet) = packet {
            match self.routes.leg(link, packet.way()).next {
                Next::Link(link) => self.offer(link as usize, packet, now),
                Next::Host => self.receive(packet, now),
                Next::None => debug_assert!(false, "a packet left its way"),
            }
        }
        again
    }

    /// The packet at the head of an uplink arrives.
    fn uplink_event(&mut self, way: Way, now: Time) -> Option<Time> {
        let (packet, again) = self.access.as_mut()?.arrive(way)?;
        self.offer(self.routes.first(way), packet, now);
        again
    }

    /// Offers a packet to a link, and starts the link if it is idle.
    fn offer(&mut self, index: usize, packet: Packet, now: Time) {
        if let Some(tapped) = &mut self.tapped {
            tapped.offered(index, &packet, now);
        }
        self.links[index].offer(packet, now);
        self.start_link(index, now);
    }

    /// Starts a link that has something to send, or arms it for when it is free.
    fn start_link(&mut self, index: usize, now: Time) {
        let free_at = self.links[index].free_at;
        let again = if now >= free_at {
            self.serve(index, now)
        } else {
            Some(free_at)
        };
        if let Some(time) = again
            && time < self.links[index].armed
        {
            self.links[index].armed = time;
            self.calendar.push(time, index as Source);
        }
    }

    /// The changes that are due happen.
    #[cold]
    fn change_event(&mut self, now: Time) -> Option<Time> {
        while let Some(index) = self.changes.apply(&mut self.links, now) {
            self.start_link(index, now);
        }
        self.changes.next()
    }

    /// A packet has arrived at the end of its way.
    fn receive(&mut self, packet: Packet, now: Time) {
        if let Some(tapped) = &mut self.tapped {
            tapped.received(&packet, now);
        }
        let index = packet.way().back().index();
        let endpoint = &mut self.endpoints[index];
        let first = !packet.way().is_forth();
        let flow = self.flows[index / 2] as usize;
        let recorder = &mut self.recorders[flow];
        if let Some(spp) = recorder.spp().filter(|_| endpoint.connection == 0) {
            match endpoint.transport.sent(&packet) {
                Some(sent) => spp.passed(now, !first, sent),
                None => spp.reached(now, !first, packet.identity()),
            }
        }
        if !first {
            recorder.received(now, u32::from(packet.bytes() - self.link_header));
        }
        match (packet, &mut endpoint.transport) {
            (Packet::Datagram { datagram, sent, .. }, _) => {
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
            (Packet::Segment { .. }, _) if now > self.end => return,
            (Packet::Segment { segment, tos, .. }, Transport::Tcp { connection, .. }) => {
                let ce = Ecn::from_bits(tos) == Ecn::Ce;
                let news = connection.receive(&segment, ce, now);
                if let Some(rtt) = news.rtt
                    && first
                {
                    recorder.rtt(now, rtt);
                    if recorder.keeps_series() && now >= endpoint.sample_at {
                        endpoint.sample_at = now + self.sample_every / 4;
                        let info = connection.info();
                        let control = Control {
                            window: info.window_segments,
                            threshold: info.ssthresh_segments,
                            pacing_rate: info.pacing_rate,
                        };
                        recorder.control(now, control);
                    }
                }
                self.heard(index, news, now);
            }
            (Packet::Segment { .. }, Transport::Udp { .. }) => {
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
            self.tell(index, Input::Delivered(news.delivered), now);
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
        let mut port = SimPort {
            transport: &mut endpoint.transport,
            now,
            recorder: &mut self.recorders[self.flows[index / 2] as usize],
            outbox: &mut self.outbox,
        };
        app.handle(input, now, &mut port);
        if let Some(wake) = self.outbox.wake.take() {
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
        if endpoint.wakes(now) {
            self.tell(index, Input::Timer, now);
        }
        self.flush(index, now);
        None
    }

    /// Puts a message on the stream of an endpoint.
    fn post(&mut self, index: usize, message: Message, now: Time) {
        let endpoint = &mut self.endpoints[index];
        if endpoint.rest > 0 {
            self.recorders[self.flows[index / 2] as usize].blocked(now);
            return;
        }
        let end = endpoint.write_message(message.len.into());
        let peer = endpoint.way.back().index();
        self.endpoints[peer].expect(end, message);
    }

    /// Puts the messages of the app at an endpoint on its connections.
    #[cold]
    fn post_all(&mut self, index: usize, now: Time) {
        let home = self.endpoints[index].home();
        for (connection, message) in std::mem::take(&mut self.outbox.messages) {
            let at = home + 2 * usize::from(connection);
            self.post(at, message, now);
            if at != index {
                self.flush(at, now);
            }
        }
    }

    /// Sends whatever an endpoint has to send, and arms its timer.
    fn flush(&mut self, index: usize, now: Time) {
        if !self.outbox.messages.is_empty() {
            self.post_all(index, now);
        }
        loop {
            let endpoint = &mut self.endpoints[index];
            let Transport::Tcp { connection, .. } = &mut endpoint.transport else {
                break;
            };
            let Some(sent) = connection.poll_transmit(now) else {
                break;
            };
            let recorder = &mut self.recorders[self.flows[index / 2] as usize];
            if sent.segment.payload > 0 && endpoint.is_first() {
                recorder.sent(now, 1, u64::from(sent.retransmission));
            }
            let packet = endpoint.segment(sent.segment, sent.ect);
            if let Some(spp) = recorder.spp()
                && endpoint.connection == 0
                && endpoint.transport.sent(&packet).is_none()
            {
                spp.left(now, endpoint.is_first(), packet.identity());
            }
            self.emit(packet, now);
        }
        if !self.outbox.datagrams.is_empty() {
            let flow = self.flows[index / 2] as usize;
            let mut datagrams = std::mem::take(&mut self.outbox.datagrams);
            for datagram in datagrams.drain(..) {
                if self.endpoints[index].is_first() {
                    self.recorders[flow].sent(now, 1, 0);
                }
                self.recorders[flow].datagram_sent(now);
                let packet = self.endpoints[index].datagram(datagram, now);
                self.emit(packet, now);
            }
            self.outbox.datagrams = datagrams;
        }
        self.arm_endpoint(index);
    }

    /// Sends a packet on its way: over the host's access link, or straight to the first queue.
    fn emit(&mut self, packet: Packet, now: Time) {
        if let Some(tapped) = &mut self.tapped {
            tapped.emitted(&packet, now);
        }
        let way = packet.way();
        if let Some(access) = &mut self.access {
            if let Some(arrival) = access.send_up(packet, now) {
                self.calendar.push(arrival, self.uplink_source(way));
            }
        } else {
            self.offer(self.routes.first(way), packet, now);
        }
    }

    /// Arms an endpoint's timer if it is due before the armed one. A later time needs nothing:
    /// the armed event finds nothing to do and arms the timer anew.
    fn arm_endpoint(&mut self, index: usize) {
        let deadline = self.endpoints[index].deadline();
        if deadline < self.endpoints[index].armed {
            self.endpoints[index].armed = deadline;
            self.calendar.push(deadline, self.endpoint_source(index));
        }
    }

    /// The results.
    pub(crate) fn finish(mut self, cell: &Cell) -> RunResult {
        if self.reports.is_empty() {
            self.take_reports();
        }
        let links = (self.links.into_iter().zip(self.reports))
            .map(|(link, report)| link.recorder.finish(report));
        let names = cell.network.link_names().into_iter().map(str::to_owned);
        let flows: Vec<_> = (cell.flows.iter().zip(self.recorders))
            .map(|(flow, recorder)| (flow.name.clone(), recorder.finish(flow)))
            .collect();
        RunResult {
            world: crate::Sim::NAME,
            seed: cell.seed,
            params: cell.params.clone(),
            links: names.zip(links).collect(),
            aggregate: Aggregate::of(&cell.flows, &flows),
            flows,
            cost: Cost {
                events: self.events,
                bottleneck_packets: self.bottleneck_packets,
                ..Cost::default()
            },
            digest: self.digest,
            program: None,
        }
    }
}
