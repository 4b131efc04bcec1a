//! The bridge's part of a run: its configuration, and what is recorded of its queues.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use sojourn_qdisc::{Backlog, DropReason, Report};
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Cell, Dumbbell, Hop, HopRate, LinkRecorder, LinkResult, Transport, Window};

use super::{Outcome, Run};
use crate::bridge::{Bridge, BridgeConfig, Direction, Observer, PathDelays, Side};
use crate::clock::{Clock, read_nanos};
use crate::host::Ends;
use crate::lab::Lab;

/// One frame in so many may be lost at the bridge's sockets before a run counts as failed.
const TOLERATED: u64 = 1000;

/// The packets now held by the two queues, for the thread that waits for them to drain.
#[derive(Debug, Default)]
pub(super) struct Gauge([AtomicU64; 2]);

impl Gauge {
    /// In both queues together.
    pub(super) fn backlog(&self) -> u64 {
        self.0.iter().map(|held| held.load(Ordering::Relaxed)).sum()
    }
}

/// Records what happens at the two queues.
struct Links<'a> {
    recorders: [LinkRecorder; 2],
    gauge: &'a Gauge,
    /// Packets sent from the start of the run, each side.
    sent: [u64; 2],
}

impl<'a> Links<'a> {
    fn new(cell: &Cell, dumbbell: &Dumbbell, gauge: &'a Gauge) -> Self {
        let window = Window::of(cell);
        let recorder = |hop: &Hop| LinkRecorder::new(window, fixed_rate(hop));
        Self {
            recorders: [recorder(&dumbbell.up), recorder(&dumbbell.down)],
            gauge,
            sent: [0; 2],
        }
    }

    fn finish(self, dumbbell: &Dumbbell, reports: [Report; 2]) -> Vec<(String, LinkResult)> {
        let names = [&dumbbell.up.name, &dumbbell.down.name];
        let results = self.recorders.into_iter().zip(reports);
        names
            .into_iter()
            .zip(results)
            .map(|(name, (recorder, report))| (name.clone(), recorder.finish(report)))
            .collect()
    }
}

impl Observer for Links<'_> {
    fn offered(&mut self, side: Side, now: Time, len: u32) {
        self.recorders[side as usize].offered(now, len);
    }

    fn dropped(&mut self, side: Side, now: Time, _len: u32, _reason: DropReason) {
        self.recorders[side as usize].dropped(now);
    }

    fn marked(&mut self, side: Side, now: Time, _len: u32) {
        self.recorders[side as usize].marked(now);
    }

    fn dequeued(&mut self, side: Side, now: Time, len: u32, sojourn: Span) {
        self.sent[side as usize] += 1;
        self.recorders[side as usize].dequeued(now, len, sojourn);
    }

    fn backlog(&mut self, side: Side, now: Time, backlog: Backlog) {
        self.gauge.0[side as usize].store(backlog.packets, Ordering::Relaxed);
        self.recorders[side as usize].backlog(now, backlog);
    }
}

fn fixed_rate(hop: &Hop) -> Option<Rate> {
    match hop.rate {
        HopRate::Fixed(rate) => Some(rate),
        HopRate::Infinite | HopRate::Trace(_) => None,
    }
}

/// The delay of each flow beyond that of the two links, half each way, by its ports.
fn paths(cell: &Cell, dumbbell: &Dumbbell) -> PathDelays {
    let links = dumbbell.up.delay + dumbbell.down.delay;
    let own_host = dumbbell.access.is_some();
    let mut paths = PathDelays::new(Span::ZERO);
    for (index, flow) in cell.flows.iter().enumerate() {
        let half = (flow.base_rtt - links) / 2;
        let ends = Ends::of(index, flow, own_host);
        for port in [ends.from.port(), ends.to.port()] {
            paths = match flow.transport {
                Transport::Tcp(_) => paths.tcp(port, half),
                Transport::Udp => paths.udp(port, half),
            };
        }
    }
    paths
}

/// The thread of the bridge.
pub(super) fn run(run: &Run<'_>, clock: Clock, ready: &Sender<bool>) -> io::Result<Outcome> {
    let opened = run.lab.bridge.enter();
    let opened = opened.and_then(|()| Bridge::open(config(run, clock)).map_err(io::Error::other));
    // The other end of the channel waits for exactly this.
    let _ = ready.send(opened.is_ok());
    let mut bridge = opened?;
    let mut links = Links::new(run.cell, run.dumbbell, &run.gauge);
    bridge
        .run(&run.shared.stop, &mut links)
        .map_err(io::Error::other)?;
    let reports = Side::BOTH.map(|side| bridge.report(side));
    let inputs = Side::BOTH.map(|side| bridge.stats(side).input);
    let frames: u64 = inputs.iter().map(|input| input.received).sum();
    let lost: u64 = inputs
        .iter()
        .map(|i| i.missed + i.no_buffer + i.unreadable)
        .sum();
    // Losses that no queue has decided on make every figure of the run doubtful.
    if lost > frames / TOLERATED {
        return Err(io::Error::other(format!(
            "the bridge could not keep up: {lost} of {} frames were lost before the queues saw \
             them; use lower rates, or fewer runs at once",
            frames + lost
        )));
    }
    Ok(Outcome {
        bottleneck_packets: links.sent[0].max(links.sent[1]),
        links: links.finish(run.dumbbell, reports),
        frames,
        cpu_nanos: read_nanos(libc::CLOCK_THREAD_CPUTIME_ID),
    })
}

fn config(run: &Run<'_>, clock: Clock) -> BridgeConfig {
    let paths = paths(run.cell, run.dumbbell);
    let direction = |hop: &Hop| Direction {
        hop: hop.clone(),
        paths: paths.clone(),
    };
    BridgeConfig {
        up: direction(&run.dumbbell.up),
        down: direction(&run.dumbbell.down),
        seed: run.cell.seed,
        clock,
        ..BridgeConfig::new(Lab::LEFT, Lab::RIGHT)
    }
}
