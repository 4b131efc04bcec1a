//! Recorders: observations in, results out, streaming, with memory that does not grow with the
//! length of the run.

use crate::result::{Distribution, FlowResult, LinkResult, Point, Series};
use hdrhistogram::Histogram;
use sojourn_qdisc::{Backlog, Report};
use sojourn_units::{Rate, Span, Time};

/// Longest series kept.
const MAX_POINTS: u64 = 2000;
/// One hour in microseconds: above that a latency is a broken clock, and the histogram stays
/// small.
const LARGEST_US: u64 = 3_600_000_000;
/// Longest cumulative distribution kept.
const MAX_CDF_POINTS: usize = 200;

/// When statistics count, and how series are cut.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Statistics count from here …
    pub from: Time,
    /// … to here.
    pub to: Time,
    /// Interval of the series.
    pub every: Span,
}

impl Window {
    /// The window of a cell: from the warm-up to the end, with at most 2000 points.
    pub fn of(cell: &crate::Cell) -> Self {
        let every = cell
            .sample_every
            .max(cell.duration / MAX_POINTS)
            .max(Span::from_nanos(1));
        Self {
            from: Time::ZERO + cell.warmup,
            to: cell.end(),
            every,
        }
    }

    /// Its length.
    pub fn length(&self) -> Span {
        self.to - self.from
    }

    fn holds(&self, now: Time) -> bool {
        now >= self.from && now <= self.to
    }
}

/// Spans gathered into a histogram: exact mean, minimum and maximum; quantiles of what exceeds
/// `base` within 0.5 % plus half a microsecond.
#[derive(Clone, Debug)]
struct Spread {
    /// What every span is expected to exceed: only the rest needs the histogram's precision.
    base: Span,
    histogram: Histogram<u32>,
    sum: u128,
    min: Span,
    max: Span,
}

impl Spread {
    fn new(base: Span) -> Self {
        // Microseconds; grows by itself as larger values come.
        let histogram = Histogram::new(2).expect("two significant digits are within 0 to 5");
        Self {
            base,
            histogram,
            sum: 0,
            min: Span::MAX,
            max: Span::ZERO,
        }
    }

    fn add(&mut self, span: Span) {
        self.sum += u128::from(span.as_nanos());
        self.min = self.min.min(span);
        self.max = self.max.max(span);
        self.histogram
            .record((span - self.base).as_micros().min(LARGEST_US))
            .expect("it grows by itself");
    }

    /// The distribution of the spans less `base` (zero where it is longer), in milliseconds.
    fn less(&self, base: Span) -> Distribution {
        let count = self.histogram.len();
        if count == 0 {
            return Distribution::default();
        }
        let base_ms = base.as_millis_f64();
        let (min, max) = (self.min.as_millis_f64(), self.max.as_millis_f64());
        // The middle of the bucket, never outside what was seen.
        let value = |us: u64| {
            let low = self.histogram.lowest_equivalent(us);
            let high = self.histogram.next_non_equivalent(us);
            (self.base.as_millis_f64() + (low + high) as f64 / 2000.0).clamp(min, max)
        };
        let at = |q: f64| (value(self.histogram.value_at_quantile(q)) - base_ms).max(0.0);
        let steps: Vec<_> = self.histogram.iter_recorded().collect();
        let stride = steps.len().div_ceil(MAX_CDF_POINTS);
        let last = steps.len() - 1;
        let cdf = steps
            .iter()
            .enumerate()
            .filter(|(i, _)| i % stride == 0 || *i == last)
            .map(|(_, s)| {
                let ms = (value(s.value_iterated_to()) - base_ms).max(0.0);
                (ms, (s.quantile_iterated_to()).min(1.0))
            })
            .collect();
        Distribution {
            count,
            mean: (self.sum as f64 / count as f64 * 1e-6 - base_ms).max(0.0),
            min: (min - base_ms).max(0.0),
            p5: at(0.05),
            p25: at(0.25),
            p50: at(0.50),
            p75: at(0.75),
            p95: at(0.95),
            p99: at(0.99),
            max: (max - base_ms).max(0.0),
            cdf,
        }
    }

    fn distribution(&self) -> Distribution {
        self.less(Span::ZERO)
    }
}

/// A row of intervals, each with a sum and a count.
#[derive(Clone, Debug)]
struct Bins {
    every: Span,
    /// End of the current interval: the hot path compares, and seldom divides.
    ends: Time,
    current: (f64, u32),
    done: Vec<(f64, u32)>,
    /// Intervals in the run.
    count: usize,
}

impl Bins {
    fn new(window: &Window) -> Self {
        let count = (window.to.as_nanos() / window.every.as_nanos()).min(MAX_POINTS) as usize;
        Self {
            every: window.every,
            ends: Time::ZERO + window.every,
            current: (0.0, 0),
            done: Vec::new(),
            count,
        }
    }

    fn add(&mut self, now: Time, value: f64) {
        if now > self.ends {
            self.close_until(now);
        }
        self.current.0 += value;
        self.current.1 += 1;
    }

    #[cold]
    fn close_until(&mut self, now: Time) {
        while now > self.ends && self.done.len() < self.count {
            self.done.push(core::mem::take(&mut self.current));
            self.ends += self.every;
        }
    }

    fn series(
        mut self,
        to: Time,
        metric: &'static str,
        unit: &'static str,
        value: impl Fn(f64, u32) -> f64,
    ) -> Series {
        // One past the end, so that an interval that ends exactly there is closed too.
        self.close_until(to + Span::from_nanos(1));
        let every = self.every.as_secs_f64();
        let point = |(i, &(sum, count)): (usize, &(f64, u32))| Point {
            t: (i + 1) as f64 * every,
            value: value(sum, count),
        };
        Series {
            metric,
            unit,
            points: self.done.iter().enumerate().map(point).collect(),
        }
    }
}

fn mean(sum: f64, count: u32) -> f64 {
    if count == 0 {
        f64::NAN
    } else {
        sum / f64::from(count)
    }
}

/// Records what happens at one link's queue. Times must not decrease.
#[derive(Clone, Debug)]
pub struct LinkRecorder {
    window: Window,
    rate: Option<Rate>,
    offered: (u64, u64),
    dequeued: (u64, u64),
    dropped: u64,
    marked: u64,
    sojourn: Spread,
    backlog: Backlog,
    backlog_since: Time,
    /// Packet-nanoseconds held within the window.
    held: u128,
    throughput: Bins,
    drops: Bins,
    sojourns: Bins,
    backlogs: Bins,
}

impl LinkRecorder {
    /// For a link of `rate`; none means that utilisation has no meaning.
    pub fn new(window: Window, rate: Option<Rate>) -> Self {
        let bins = Bins::new(&window);
        Self {
            window,
            rate,
            offered: (0, 0),
            dequeued: (0, 0),
            dropped: 0,
            marked: 0,
            sojourn: Spread::new(Span::ZERO),
            backlog: Backlog::default(),
            backlog_since: Time::ZERO,
            held: 0,
            throughput: bins.clone(),
            drops: bins.clone(),
            sojourns: bins.clone(),
            backlogs: bins,
        }
    }

    /// A packet of `len` bytes was offered.
    pub fn offered(&mut self, now: Time, len: u32) {
        if self.window.holds(now) {
            self.offered.0 += 1;
            self.offered.1 += u64::from(len);
        }
    }

    /// The queue dropped a packet.
    pub fn dropped(&mut self, now: Time) {
        self.drops.add(now, 1.0);
        if self.window.holds(now) {
            self.dropped += 1;
        }
    }

    /// The queue marked a packet.
    pub fn marked(&mut self, now: Time) {
        if self.window.holds(now) {
            self.marked += 1;
        }
    }

    /// The queue gave a packet of `len` bytes to the link after holding it for `sojourn`.
    pub fn dequeued(&mut self, now: Time, len: u32, sojourn: Span) {
        self.throughput.add(now, f64::from(len) * 8.0);
        self.sojourns.add(now, sojourn.as_millis_f64());
        if self.window.holds(now) {
            self.dequeued.0 += 1;
            self.dequeued.1 += u64::from(len);
            self.sojourn.add(sojourn);
        }
    }

    /// The backlog has changed to `backlog`.
    pub fn backlog(&mut self, now: Time, backlog: Backlog) {
        let from = self.backlog_since.max(self.window.from);
        let to = now.min(self.window.to);
        self.held += u128::from((to - from).as_nanos()) * u128::from(self.backlog.packets);
        self.backlogs.add(now, backlog.packets as f64);
        self.backlog = backlog;
        self.backlog_since = now;
    }

    /// The result, with the queue's own statistics.
    pub fn finish(mut self, qdisc: Report) -> LinkResult {
        let (window, to) = (self.window, self.window.to);
        self.backlog(to, self.backlog);
        let seconds = window.length().as_secs_f64();
        let per_second = window.every.as_secs_f64();
        LinkResult {
            offered_packets: self.offered.0,
            offered_bytes: self.offered.1,
            dequeued_packets: self.dequeued.0,
            dequeued_bytes: self.dequeued.1,
            dropped_packets: self.dropped,
            marked_packets: self.marked,
            utilisation: self
                .rate
                .map(|rate| self.dequeued.1 as f64 * 8.0 / (rate.as_bps() as f64 * seconds)),
            backlog_packets_mean: self.held as f64 * 1e-9 / seconds,
            sojourn: self.sojourn.distribution(),
            qdisc,
            series: vec![
                self.throughput
                    .series(to, "throughput", "bit/s", |sum, _| sum / per_second),
                self.backlogs.series(to, "backlog", "packets", mean),
                self.drops.series(to, "drops", "packets", |sum, _| sum),
                self.sojourns.series(to, "sojourn", "ms", mean),
            ],
        }
    }
}

/// Records what happens to one flow. Times must not decrease.
#[derive(Clone, Debug)]
pub struct FlowRecorder {
    window: Window,
    base_rtt: Span,
    goodput: u64,
    sent: u64,
    retransmitted: u64,
    datagrams_sent: u64,
    datagrams_received: u64,
    blocked: u64,
    completed: Option<Span>,
    rtt: Spread,
    delay: Spread,
    goodputs: Bins,
    rtts: Bins,
    windows: Bins,
    thresholds: Bins,
    pacing_rates: Bins,
}

/// What a sender's congestion control allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// Congestion window in segments.
    pub window: u32,
    /// Slow-start threshold in segments; none while it is unset.
    pub threshold: Option<u32>,
    /// Rate at which segments are spaced; none when they are not.
    pub pacing_rate: Option<Rate>,
}

impl FlowRecorder {
    /// For a flow with this base RTT.
    pub fn new(window: Window, base_rtt: Span) -> Self {
        let bins = Bins::new(&window);
        Self {
            window,
            base_rtt,
            goodput: 0,
            sent: 0,
            retransmitted: 0,
            datagrams_sent: 0,
            datagrams_received: 0,
            blocked: 0,
            completed: None,
            rtt: Spread::new(base_rtt),
            delay: Spread::new(Span::ZERO),
            goodputs: bins.clone(),
            rtts: bins.clone(),
            windows: bins.clone(),
            thresholds: bins.clone(),
            pacing_rates: bins,
        }
    }

    /// `from` sent `packets` data packets, of which `retransmitted` were not the first copy.
    pub fn sent(&mut self, now: Time, packets: u64, retransmitted: u64) {
        if self.window.holds(now) {
            self.sent += packets;
            self.retransmitted += retransmitted;
        }
    }

    /// `bytes` of payload reached the app at `to`.
    pub fn delivered(&mut self, now: Time, bytes: u64) {
        self.goodputs.add(now, bytes as f64 * 8.0);
        if self.window.holds(now) {
            self.goodput += bytes;
        }
    }

    /// A round-trip time was measured.
    pub fn rtt(&mut self, now: Time, rtt: Span) {
        self.rtts.add(now, rtt.as_millis_f64());
        if self.window.holds(now) {
            self.rtt.add(rtt);
        }
    }

    /// A datagram was sent at `sent`, by either end.
    pub fn datagram_sent(&mut self, sent: Time) {
        if self.window.holds(sent) {
            self.datagrams_sent += 1;
        }
    }

    /// A datagram sent at `sent`, by either end, arrived. Loss counts datagrams by the time
    /// they were sent, so those under way at the end must still be let in.
    pub fn datagram_received(&mut self, now: Time, sent: Time) {
        if self.window.holds(sent) {
            self.datagrams_received += 1;
            self.delay.add(now - sent);
        }
    }

    /// What the sender's congestion control allows now. Worlds ask a few times an interval.
    pub fn control(&mut self, now: Time, control: Control) {
        self.windows.add(now, f64::from(control.window));
        if let Some(threshold) = control.threshold {
            self.thresholds.add(now, f64::from(threshold));
        }
        if let Some(rate) = control.pacing_rate {
            self.pacing_rates.add(now, rate.as_bps() as f64);
        }
    }

    /// A message was skipped because the send buffer was full.
    pub fn blocked(&mut self, now: Time) {
        if self.window.holds(now) {
            self.blocked += 1;
        }
    }

    /// The whole file has arrived, `after` the flow's start.
    pub fn completed(&mut self, after: Span) {
        self.completed.get_or_insert(after);
    }

    /// The result of `flow`.
    pub fn finish(self, flow: &crate::Flow) -> FlowResult {
        let to = self.window.to;
        let active = to - self.window.from.max(flow.start);
        let per_second = self.window.every.as_secs_f64();
        let datagrams = flow.transport == crate::Transport::Udp && self.datagrams_sent > 0;
        FlowResult {
            app: flow.app.name(),
            elastic: flow.app.is_elastic(),
            goodput: Rate::from_bps_f64(self.goodput as f64 * 8.0 / active.as_secs_f64()),
            sent_packets: self.sent,
            retransmitted_packets: self.retransmitted,
            rtt: self.rtt.distribution(),
            induced_rtt: self.rtt.less(self.base_rtt),
            delay: self.delay.distribution(),
            loss_ratio: datagrams
                .then(|| 1.0 - self.datagrams_received as f64 / self.datagrams_sent as f64),
            blocked_messages: self.blocked,
            completed: self.completed,
            series: vec![
                self.goodputs
                    .series(to, "goodput", "bit/s", |sum, _| sum / per_second),
                self.rtts.series(to, "rtt", "ms", mean),
                self.windows.series(to, "cwnd", "segments", mean),
                self.thresholds.series(to, "ssthresh", "segments", mean),
                self.pacing_rates.series(to, "pacing_rate", "bit/s", mean),
            ],
        }
    }
}

#[cfg(test)]
mod tests;
