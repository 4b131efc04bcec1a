//! Recorders: observations in, results out, streaming, with memory that does not grow with the
//! length of the run.

mod dual;
mod limited;
mod link;
mod radio;
mod samples;
mod spp;
mod spread;
mod usage;
mod window;

pub use link::LinkRecorder;
pub use radio::RadioEvent;
pub use spp::SppRecorder;
pub use window::Window;

use crate::figure::{self, Amount, Distribution, FlowResult, Kind, Measured, Series};
use samples::{Samples, Sliding};
use sojourn_apps::{Gathering, Metric};
use sojourn_memory::{fetch, fetch_part};
use sojourn_tcp::Limits;
use sojourn_units::{Rate, Span, Time, Unit};
use spread::Spread;
use std::mem::offset_of;
use window::{Bins, Quantity, Rows, float};

/// A series of the list.
fn named(kind: Kind, metric: &'static str) -> Quantity {
    let found = figure::series(kind).find(|figure| figure.key == metric);
    debug_assert!(found.is_some(), "`{metric}` stands in the list of figures");
    let unit = found.map_or(Unit::None, |figure| figure.unit);
    Quantity { metric, unit }
}

fn mean(sum: f64, count: u32) -> f64 {
    if count == 0 {
        f64::NAN
    } else {
        sum / f64::from(count)
    }
}

/// Milliseconds of a span that is far below 2⁶³ ns, as [`Span::as_millis_f64`] in fewer
/// instructions.
fn millis(span: Span) -> f64 {
    float(span.as_nanos()) * 1e-6
}

/// Records what happens to one flow. Times must not decrease.
///
/// In this order, so that sending a packet and its arrival need one cache line of it, and a
/// round-trip time one more; the rest lies apart.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct FlowRecorder {
    from: Time,
    to: Time,
    /// None where nobody asked for it.
    series: Option<Box<FlowSeries>>,
    /// None where nobody asked for it: most runs do without.
    spp: Option<Box<SppRecorder>>,
    goodput: u64,
    sent: u64,
    throughput: Sliding,
    seldom: Box<Seldom>,
    rtt: Spread,
}

// Where pointers have 32 bits it is smaller.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(FlowRecorder, throughput) == 48);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<FlowRecorder>() == 256);

/// What most packets of a flow do not change.
#[derive(Clone, Debug)]
struct Seldom {
    every: Span,
    base_rtt: Span,
    retransmitted: u64,
    datagrams_sent: u64,
    datagrams_received: u64,
    datagrams_late: u64,
    /// Those that were queued or on the way when the run stopped; None where nobody counts them.
    datagrams_in_flight: Option<u64>,
    /// Those that came again; None where none can.
    duplicates: Option<u64>,
    /// Above it they are.
    deadline: Option<Span>,
    delay: Spread,
    blocked: u64,
    completed: Option<Span>,
    /// Of the files whose flow began within the window.
    completions: Spread,
    /// How long its sender was limited by what.
    limits: Limits,
    observed: Vec<(Metric, Samples)>,
    /// ECN-capable packets that came to the receiver, and those of them with CE.
    ecn: [u64; 2],
    /// The sender's share of marked segments, as it reckons with it.
    alpha: Samples,
}

/// Rows of a flow's series that packets tell.
const GOODPUTS: usize = 0;
const THROUGHPUTS: usize = 1;
const RTTS: usize = 2;

/// The series of a flow, apart from its figures: of thousands of flows, whose series nobody
/// would look at, they would be most of the memory, and far from everything in it.
#[derive(Clone, Debug)]
struct FlowSeries {
    /// What packets tell, by the indices below.
    packets: Rows<3>,
    delays: Bins,
    windows: Bins,
    thresholds: Bins,
    pacing_rates: Bins,
    alphas: Bins,
}

impl FlowSeries {
    fn new(window: &Window) -> Self {
        let bins = Bins::new(window);
        Self {
            packets: Rows::new(window),
            delays: bins.clone(),
            windows: bins.clone(),
            thresholds: bins.clone(),
            pacing_rates: bins.clone(),
            alphas: bins,
        }
    }

    fn control(&mut self, now: Time, control: CongestionState) {
        self.windows.add(now, f64::from(control.window));
        if let Some(threshold) = control.threshold {
            self.thresholds.add(now, f64::from(threshold));
        }
        if let Some(rate) = control.pacing_rate {
            self.pacing_rates.add(now, rate.as_bps() as f64);
        }
        if let Some(alpha) = control.marked_share {
            self.alphas.add(now, alpha);
        }
    }

    fn finish(mut self, window: &Window) -> Vec<Series> {
        let (to, per_second) = (window.to, window.every.as_secs_f64());
        let of = |bins: Bins, key, value: &dyn Fn(f64, u32) -> f64| {
            bins.series(to, named(Kind::Flow, key), value)
        };
        let delays = self.delays.any().then(|| of(self.delays, "delay", &mean));
        let alphas = self.alphas.any().then(|| of(self.alphas, "alpha", &mean));
        let rate = |sum, _| sum / per_second;
        let mut told = |row, key, value: &dyn Fn(f64, u32) -> f64| {
            self.packets
                .series_of(row, to, named(Kind::Flow, key), value)
        };
        let others = [
            told(GOODPUTS, "goodput", &rate),
            told(THROUGHPUTS, "throughput", &rate),
            told(RTTS, "rtt", &mean),
            of(self.windows, "cwnd", &mean),
            of(self.thresholds, "ssthresh", &mean),
            of(self.pacing_rates, "pacing_rate", &mean),
        ];
        others.into_iter().chain(delays).chain(alphas).collect()
    }
}

/// What a sender's congestion control allows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CongestionState {
    /// Congestion window in segments.
    pub window: u32,
    /// Slow-start threshold in segments; none while it is unset.
    pub threshold: Option<u32>,
    /// Rate at which segments are spaced; none when they are not.
    pub pacing_rate: Option<Rate>,
    /// Share of marked segments that it reckons with (alpha of DCTCP and Prague).
    pub marked_share: Option<f64>,
}

impl FlowRecorder {
    /// For a flow with this base RTT.
    pub fn new(window: Window, base_rtt: Span) -> Self {
        Self {
            from: window.from,
            to: window.to,
            series: Some(Box::new(FlowSeries::new(&window))),
            spp: None,
            goodput: 0,
            sent: 0,
            throughput: Sliding::new(&window),
            seldom: Box::new(Seldom {
                every: window.every,
                base_rtt,
                retransmitted: 0,
                datagrams_sent: 0,
                datagrams_received: 0,
                datagrams_late: 0,
                datagrams_in_flight: None,
                duplicates: None,
                deadline: None,
                delay: Spread::new(Span::ZERO),
                blocked: 0,
                completed: None,
                completions: Spread::new(Span::ZERO),
                limits: Limits::default(),
                observed: Vec::new(),
                ecn: [0; 2],
                alpha: Samples::default(),
            }),
            rtt: Spread::new(base_rtt),
        }
    }

    /// Asks for the memory of what a packet changes that arrives: data, or an answer, which gives a
    /// round-trip time.
    #[inline]
    pub fn fetch(&self, is_data: bool) {
        fetch_part(self, 0..offset_of!(Self, throughput));
        if !is_data {
            fetch(&self.rtt);
        }
    }

    /// Asks for the memory of what goes into histograms next.
    #[inline]
    pub fn fetch_apart(&self) {
        self.rtt.fetch_apart();
    }

    fn holds(&self, now: Time) -> bool {
        now >= self.from && now <= self.to
    }

    /// Its sender was limited so long by what, within the time that counts.
    pub fn limited(&mut self, limits: &Limits) {
        self.seldom.limits.extend(limits);
    }

    /// The same of the time between two readings, which counts if both are within that time.
    pub fn limited_between(&mut self, from: Time, to: Time, limits: &Limits) {
        if self.holds(from) && self.holds(to) {
            self.limited(limits);
        }
    }

    /// Counts datagrams that take longer than `deadline`.
    pub fn set_deadline(&mut self, deadline: Option<Span>) {
        self.seldom.deadline = deadline;
    }

    /// Counts datagrams that come again.
    pub fn count_duplicates(&mut self) {
        self.seldom.duplicates = Some(0);
    }

    /// A datagram sent at `sent`, by either end, came again.
    pub fn datagram_repeated(&mut self, sent: Time) {
        if self.holds(sent)
            && let Some(duplicates) = &mut self.seldom.duplicates
        {
            *duplicates += 1;
        }
    }

    /// Keeps the flow's figures only.
    pub fn omit_series(&mut self) {
        self.series = None;
    }

    /// Whether it keeps series beside the flow's figures.
    #[inline]
    pub fn keeps_series(&self) -> bool {
        self.series.is_some()
    }

    /// Gives the flow round-trip times by synthetic packet pairs too; whoever sees packets at
    /// both ends feeds them in through [`spp`](Self::spp), or gives them here at the end.
    pub fn set_spp(&mut self, spp: SppRecorder) {
        self.spp = Some(Box::new(spp));
    }

    /// Lends out what [`set_spp`](Self::set_spp) has given, until it is given again.
    pub fn take_spp(&mut self) -> Option<SppRecorder> {
        self.spp.take().map(|spp| *spp)
    }

    /// What packets at both ends are to be told to; none where nobody asked for it.
    #[inline]
    pub fn spp(&mut self) -> Option<&mut SppRecorder> {
        self.spp.as_deref_mut()
    }

    /// `from` sent `packets` data packets, of which `retransmitted` were not the first copy.
    #[inline]
    pub fn sent(&mut self, now: Time, packets: u64, retransmitted: u64) {
        if self.holds(now) {
            self.sent += packets;
            if retransmitted > 0 {
                self.seldom.retransmitted += retransmitted;
            }
        }
    }

    /// `bytes` of payload reached the app at `to`.
    #[inline]
    pub fn delivered(&mut self, now: Time, bytes: u64) {
        if self.holds(now) {
            self.goodput += bytes;
        }
        if let Some(series) = &mut self.series {
            series.packets.add_whole_to(GOODPUTS, now, 8 * bytes);
        }
    }

    /// An IP packet of `len` bytes came to `to`.
    #[inline]
    pub fn received(&mut self, now: Time, len: u32) {
        self.throughput.add(now, len);
        if let Some(series) = &mut self.series {
            let bits = 8 * u64::from(len);
            series.packets.add_whole_to(THROUGHPUTS, now, bits);
        }
    }

    /// Such a packet was ECN-capable; `marked`: it came with CE.
    pub fn received_ecn(&mut self, now: Time, marked: bool) {
        if self.holds(now) {
            let [capable, with_ce] = &mut self.seldom.ecn;
            *capable += 1;
            *with_ce += u64::from(marked);
        }
    }

    /// An app reports a figure.
    pub fn observe(&mut self, now: Time, metric: Metric, value: f64) {
        if !self.holds(now) || !value.is_finite() {
            return;
        }
        let known = self.seldom.observed.iter().position(|(m, _)| *m == metric);
        let index = known.unwrap_or_else(|| {
            self.seldom.observed.push((metric, Samples::default()));
            self.seldom.observed.len() - 1
        });
        self.seldom.observed[index].1.add(value);
    }

    /// What the app has measured, each of its metrics in their order.
    fn measured(&self, app: &sojourn_apps::Spec) -> Vec<Measured> {
        let of = |&metric: &Metric| {
            let samples = self
                .seldom
                .observed
                .iter()
                .find(|(m, _)| *m == metric)
                .map(|(_, samples)| samples);
            let amount = match metric.measure().gathering {
                Gathering::Sum => Amount::Sum(samples.map_or(0.0, |s| s.sum)),
                Gathering::Sample => {
                    Amount::Spread(samples.map(Samples::distribution).unwrap_or_default())
                }
            };
            Measured { metric, amount }
        };
        app.kind().metrics.iter().map(of).collect()
    }

    /// A round-trip time was measured.
    #[inline(never)]
    pub fn rtt(&mut self, now: Time, rtt: Span) {
        if self.rtt.gathers_next() {
            return self.rtt_gathered(now, rtt);
        }
        if self.holds(now) {
            self.rtt.add_waiting(rtt);
        }
        self.rtt_over_time(now, rtt);
    }

    /// [`rtt`](Self::rtt) where one of many calls other functions.
    #[inline(never)]
    fn rtt_gathered(&mut self, now: Time, rtt: Span) {
        if self.holds(now) {
            self.rtt.add(rtt);
        }
        self.rtt_over_time(now, rtt);
    }

    #[inline]
    fn rtt_over_time(&mut self, now: Time, rtt: Span) {
        if let Some(series) = &mut self.series {
            series.packets.add_to(RTTS, now, millis(rtt));
        }
    }

    /// A datagram was sent at `sent`, by either end.
    pub fn datagram_sent(&mut self, sent: Time) {
        if self.holds(sent) {
            self.seldom.datagrams_sent += 1;
        }
    }

    /// A datagram sent at `sent`, by either end, arrived. Loss counts datagrams by the time
    /// they were sent, so those under way at the end must still be let in.
    pub fn datagram_received(&mut self, now: Time, sent: Time) {
        if self.holds(sent) {
            let seldom = &mut self.seldom;
            seldom.datagrams_received += 1;
            seldom.delay.add(now - sent);
            if let Some(deadline) = seldom.deadline {
                seldom.datagrams_late += u64::from(now - sent > deadline);
            }
        }
        if self.seldom.deadline.is_some()
            && let Some(series) = &mut self.series
        {
            series.delays.add(now, (now - sent).as_millis_f64());
        }
    }

    /// Counts datagrams that are queued or on the way when the run stops.
    pub fn count_in_flight(&mut self) {
        self.seldom.datagrams_in_flight = Some(0);
    }

    /// A datagram sent at `sent`, by either end, is queued or on the way when the run stops.
    pub fn datagram_in_flight(&mut self, sent: Time) {
        if self.holds(sent)
            && let Some(in_flight) = &mut self.seldom.datagrams_in_flight
        {
            *in_flight += 1;
        }
    }

    /// What the sender's congestion control allows now. Worlds ask a few times an interval.
    pub fn control(&mut self, now: Time, control: CongestionState) {
        if let Some(alpha) = control.marked_share
            && self.holds(now)
        {
            self.seldom.alpha.add(alpha);
        }
        if let Some(series) = &mut self.series {
            series.control(now, control);
        }
    }

    /// A message was skipped because the send buffer was full.
    pub fn blocked(&mut self, now: Time) {
        if self.holds(now) {
            self.seldom.blocked += 1;
        }
    }

    /// The whole file of an instance that began at `start` has arrived. Told once each.
    pub fn completed(&mut self, now: Time, start: Time) {
        self.seldom.completed.get_or_insert(now - start);
        if self.holds(start) {
            self.seldom.completions.add(now - start);
        }
    }

    /// The result of `flow`.
    pub fn finish(mut self, flow: &crate::Flow) -> FlowResult {
        let window = Window {
            from: self.from,
            to: self.to,
            every: self.seldom.every,
        };
        let (to, base_rtt) = (self.to, self.seldom.base_rtt);
        let active = to - self.from.max(flow.start);
        let datagrams = flow.transport == crate::Transport::Udp && self.seldom.datagrams_sent > 0;
        let arrived = self.seldom.datagrams_received as f64;
        let sent = self.seldom.datagrams_sent as f64;
        let in_flight = self.seldom.datagrams_in_flight.map(|count| count as f64);
        let late = self
            .seldom
            .deadline
            .map(|_| self.seldom.datagrams_late as f64);
        let mut spp = self.spp.take();
        let instances = flow.instances(to).into_iter();
        let starts = instances.map(|instance| instance.start);
        let [
            window_limited,
            send_buffer_limited,
            receive_window_limited,
            application_limited,
            pacing_limited,
        ] = limited::shares(&self.seldom.limits);
        FlowResult {
            ce_ratio: match self.seldom.ecn {
                [0, _] => None,
                [capable, with_ce] => Some(with_ce as f64 / capable as f64),
            },
            alpha: self.seldom.alpha.distribution(),
            l4s: flow.is_l4s().then_some(1.0),
            app: flow.app.kind().name.into(),
            elastic: flow.app.kind().is_elastic,
            goodput: Rate::from_bps_f64(self.goodput as f64 * 8.0 / active.as_secs_f64()),
            sent_packets: self.sent,
            retransmitted_packets: self.seldom.retransmitted,
            rtt: self.rtt.distribution(),
            induced_rtt: self.rtt.less(base_rtt),
            spp_rtt: (spp.as_mut()).map_or_else(Distribution::default, |spp| spp.less(Span::ZERO)),
            spp_induced_rtt: (spp.as_mut())
                .map_or_else(Distribution::default, |spp| spp.less(base_rtt)),
            delay: self.seldom.delay.distribution(),
            duplicates: self.seldom.duplicates.map(|count| count as f64),
            measured: self.measured(&flow.app),
            throughput: self.throughput.distribution(),
            loss_ratio: datagrams.then(|| 1.0 - (arrived + in_flight.unwrap_or(0.0)) / sent),
            in_flight_ratio: in_flight.filter(|_| datagrams).map(|count| count / sent),
            late_ratio: late.filter(|_| arrived > 0.0).map(|late| late / arrived),
            data_yield: late
                .filter(|_| datagrams)
                .map(|late| (arrived - late) / sent),
            window_limited,
            send_buffer_limited,
            receive_window_limited,
            application_limited,
            pacing_limited,
            blocked_messages: self.seldom.blocked,
            completed: self.seldom.completed,
            started: starts.filter(|&at| at < to && window.holds(at)).count() as u64,
            completion: self.seldom.completions.distribution(),
            series: (self.series).map_or_else(Vec::new, |series| series.finish(&window)),
        }
    }
}

#[cfg(test)]
mod tests;
