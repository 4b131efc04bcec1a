//! The event loop of one run.

use crate::calendar::{Calendar, Source};
use crate::host::{Access, Endpoint, Transport, datagram_segment, segment_datagram};
use crate::link::{Link, Sent};
use crate::packet::{Packet, Way};
use crate::pipe::Pipe;
use sojourn_apps::{Datagram, Input};
use sojourn_qdisc::{Ecn, Report};
use sojourn_units::{Span, Time};
use sojourn_world::{Aggregate, Cell, Control, Cost, FlowRecorder, Progress, RunResult};
use std::ops::ControlFlow;

/// Datagrams under way at the end get this long to arrive, so that a standing queue does not
/// count as loss.
const DRAIN: Span = Span::from_secs(10);
/// Events between two reports of progress.
const PROGRESS_EVENTS: u64 = 1 << 16;

/// Where a packet goes when it leaves a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To the queue of a link.
    Link(u32),
    /// To the endpoint at the end of its way.
    Host,
    /// Nowhere: this way does not pass here.
    None,
}

/// The way of packets through the network, as tables by row and direction. There is a row for
/// each link, and a last one for the hosts' access links.
#[derive(Debug)]
pub(crate) struct Routes {
    pub(crate) ways: usize,
    /// Where a packet goes after this row's pipe.
    pub(crate) next: Vec<Next>,
    /// The pipe into which this row sends a packet.
    pub(crate) pipe: Vec<u32>,
}

impl Routes {
    fn at(&self, row: usize, way: Way) -> usize {
        row * self.ways + way.index()
    }
}

/// One run.
pub(crate) struct Engine {
    pub(crate) calendar: Calendar,
    pub(crate) links: Vec<Link>,
    pub(crate) pipes: Vec<Pipe>,
    /// The row each pipe belongs to.
    pub(crate) pipe_rows: Vec<u32>,
    pub(crate) routes: Routes,
    /// By direction of what they send: `2 · flow` and `2 · flow + 1`.
    pub(crate) endpoints: Vec<Endpoint>,
    /// By direction: the sending host's access link, if its rate is limited.
    pub(crate) uplinks: Vec<Option<Access>>,
    /// By direction: the receiving host's access link. It is fed by one pipe only, so its times
    /// are known when a packet enters that pipe, and it needs no event of its own.
    pub(crate) downlinks: Vec<Option<Access>>,
    pub(crate) recorders: Vec<FlowRecorder>,
    pub(crate) end: Time,
    pub(crate) sample_every: Span,
    pub(crate) events: u64,
    pub(crate) digest: u64,
    pub(crate) outbox: Vec<Datagram>,
    /// The queues' own statistics, taken when the end is passed.
    pub(crate) reports: Vec<Report>,
    /// Packets that the busiest queue had sent then.
    pub(crate) bottleneck_packets: u64,
}

impl Engine {
    fn pipe_source(&self, pipe: usize) -> Source {
        (self.links.len() + pipe) as Source
    }

    fn endpoint_source(&self, endpoint: usize) -> Source {
        (self.links.len() + self.pipes.len() + endpoint) as Source
    }

    /// Runs to the end, then lets datagrams under way arrive.
    /// Breaks off when `progress` says so.
    pub(crate) fn run(&mut self, progress: Progress<'_>) -> ControlFlow<()> {
        for endpoint in 0..self.endpoints.len() {
            self.arm_endpoint(endpoint);
        }
        let (links, pipes) = (self.links.len(), self.pipes.len());
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
            } else if index < links + pipes {
                self.pipe_event(index - links, now)
            } else {
                self.endpoint_event(index - links - pipes, now)
            };
            match again {
                Some(time) => self.calendar.move_first(time, source),
                None => self.calendar.pop(),
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
        let at = self.routes.at(index, packet.way());
        let pipe = self.routes.pipe[at] as usize;
        let Some(mut arrival) = self.links[index].arrival(sent, &self.pipes[pipe]) else {
            return;
        };
        if self.routes.next[at] == Next::Host
            && let Some(access) = &mut self.downlinks[packet.way().index()]
        {
            arrival = access.send(arrival, packet.len);
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
        let packet = pipe.pop(now);
        // Armed before the packet goes on: what follows may put another into this pipe.
        let again = pipe.next();
        pipe.armed = again.unwrap_or(Time::MAX);
        if let Some(packet) = packet {
            let at = self.routes.at(self.pipe_rows[index] as usize, packet.way());
            match self.routes.next[at] {
                Next::Link(link) => self.offer(link as usize, packet, now),
                Next::Host => self.receive(packet, now),
                Next::None => debug_assert!(false, "a packet left its way"),
            }
        }
        again
    }

    /// Offers a packet to a link, and starts the link if it is idle.
    fn offer(&mut self, index: usize, packet: Packet, now: Time) {
        let link = &mut self.links[index];
        link.offer(packet, now);
        let again = if now >= link.free_at {
            self.serve(index, now)
        } else {
            Some(link.free_at)
        };
        if let Some(time) = again
            && time < self.links[index].armed
        {
            self.links[index].armed = time;
            self.calendar.push(time, index as Source);
        }
    }

    /// A packet has arrived at the end of its way.
    fn receive(&mut self, packet: Packet, now: Time) {
        let index = packet.way().back().index();
        let flow = packet.way().flow();
        let over = now > self.end;
        let endpoint = &mut self.endpoints[index];
        let first = endpoint.is_first();
        let recorder = &mut self.recorders[flow];
        let outbox = &mut self.outbox;
        match &mut endpoint.transport {
            Transport::Udp { .. } => {
                let (datagram, sent) = segment_datagram(&packet.segment);
                recorder.datagram_received(now, sent);
                if !first {
                    recorder.delivered(now, u64::from(datagram.len));
                }
                endpoint.tell(Input::Datagram(datagram), now, recorder, outbox);
            }
            Transport::Tcp { .. } if over => return,
            Transport::Tcp { connection, .. } => {
                let ce = Ecn::from_bits(packet.tos) == Ecn::Ce;
                let news = connection.receive(&packet.segment, ce, now);
                if let Some(rtt) = news.rtt
                    && first
                {
                    recorder.rtt(now, rtt);
                    if now >= endpoint.sample_at {
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
                if news.delivered > 0 {
                    endpoint.delivered += news.delivered;
                    if !first {
                        recorder.delivered(now, news.delivered);
                        if endpoint
                            .expected
                            .is_some_and(|size| endpoint.delivered >= size)
                        {
                            recorder.completed(now - endpoint.start);
                        }
                    }
                    endpoint.tell(Input::Delivered(news.delivered), now, recorder, outbox);
                }
                if news.established {
                    endpoint.tell(Input::Start, now, recorder, outbox);
                }
                if news.writable {
                    endpoint.tell(Input::Writable, now, recorder, outbox);
                }
            }
        }
        self.flush(index, now);
    }

    /// Something is due at an endpoint: its start, its stop, the app's timer, TCP's timer.
    fn endpoint_event(&mut self, index: usize, now: Time) -> Option<Time> {
        let endpoint = &mut self.endpoints[index];
        if endpoint.armed != now || now >= self.end {
            return None; // stale, or over
        }
        endpoint.armed = Time::MAX;
        let recorder = &mut self.recorders[endpoint.way.flow()];
        if !endpoint.started && now >= endpoint.start {
            endpoint.started = true;
            match &mut endpoint.transport {
                Transport::Tcp { connection, .. } if endpoint.way.is_forth() => {
                    connection.open(now);
                }
                Transport::Tcp { .. } => {}
                Transport::Udp { .. } => {
                    endpoint.tell(Input::Start, now, recorder, &mut self.outbox);
                }
            }
        }
        if endpoint.started && !endpoint.stopped && now >= endpoint.stop {
            endpoint.stopped = true;
            endpoint.wake = Time::MAX;
            if let Transport::Tcp { connection, .. } = &mut endpoint.transport {
                connection.close();
            }
        }
        if let Transport::Tcp { connection, .. } = &mut endpoint.transport
            && connection.next_timer().is_some_and(|due| due <= now)
        {
            connection.on_timer(now);
        }
        if endpoint.wake <= now {
            endpoint.wake = Time::MAX;
            endpoint.tell(Input::Timer, now, recorder, &mut self.outbox);
        }
        self.flush(index, now);
        None
    }

    /// Sends whatever an endpoint has to send, and arms its timer.
    fn flush(&mut self, index: usize, now: Time) {
        let flow = index / 2;
        while let Transport::Tcp { connection, .. } = &mut self.endpoints[index].transport {
            let Some(sent) = connection.poll_transmit(now) else {
                break;
            };
            if sent.segment.payload > 0 && self.endpoints[index].is_first() {
                self.recorders[flow].sent(now, 1, u64::from(sent.retransmission));
            }
            let packet = self.endpoints[index].packet(sent.segment, sent.ect);
            self.emit(packet, now);
        }
        if !self.outbox.is_empty() {
            let mut outbox = std::mem::take(&mut self.outbox);
            for datagram in outbox.drain(..) {
                if self.endpoints[index].is_first() {
                    self.recorders[flow].sent(now, 1, 0);
                }
                self.recorders[flow].datagram_sent(now);
                let packet = self.endpoints[index].packet(datagram_segment(datagram, now), false);
                self.emit(packet, now);
            }
            self.outbox = outbox;
        }
        self.arm_endpoint(index);
    }

    /// Sends a packet on its way: over the host's access link, or straight to the first queue.
    fn emit(&mut self, packet: Packet, now: Time) {
        let at = self.routes.at(self.links.len(), packet.way());
        if let Some(access) = &mut self.uplinks[packet.way().index()] {
            let arrival = access.send(now, packet.len);
            self.fly(self.routes.pipe[at] as usize, arrival, packet);
        } else if let Next::Link(link) = self.routes.next[at] {
            self.offer(link as usize, packet, now);
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
        let names = cell.hops().map(|hop| hop.name.clone());
        let flows: Vec<_> = (cell.flows.iter().zip(self.recorders))
            .map(|(flow, recorder)| (flow.name.clone(), recorder.finish(flow)))
            .collect();
        RunResult {
            world: "sim",
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
        }
    }
}
