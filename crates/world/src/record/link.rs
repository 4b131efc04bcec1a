//! The recorder of a link's queue.

use super::dual::DualRecorder;
use super::radio::{RadioEvent, RadioRecorder};
use super::spread::Spread;
use super::usage::Usage;
use super::window::{Bins, Quantity, Rows, Window};
use super::{float, mean, named};
use crate::figure::{Kind, LinkResult};
use crate::{Fate, LineRate};
use sojourn_qdisc::{Backlog, Dual, Gauge, Report, Tally};
use sojourn_units::{Rate, Span, Time};

/// How often a queue's variables are looked at.
const GAUGES_PER_INTERVAL: u64 = 4;

/// Rows of a link's series.
const THROUGHPUT: usize = 0;
const BACKLOG: usize = 1;
const DROPS: usize = 2;
const SOJOURN: usize = 3;

/// Records what happens at one link's queue. Times must not decrease.
///
/// In this order, so that what each packet changes lies in six cache lines: of hundreds of links it
/// is not in the cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct LinkRecorder {
    sojourn: Spread,
    window: Window,
    backlog_since: Time,
    /// Packet-nanoseconds held within the window.
    held: u128,
    backlog: Backlog,
    offered: Tally,
    dequeued: Tally,
    /// When the queue's own variables are next wanted.
    gauges_due: Time,
    /// Of a link whose rate is no constant.
    usage: Option<Box<Usage>>,
    /// Of a radio's interface.
    radio: Option<Box<RadioRecorder>>,
    /// Of a queue that is a pair.
    dual: Option<Box<DualRecorder>>,
    /// Whether marks of a pair are left out.
    omits_dual_marks: bool,
    /// By the indices above.
    series: Rows<4>,
    rate: Option<Rate>,
    rate_since: Time,
    /// Bits that the link could have sent within the window; None once it had no rate.
    capacity: Option<f64>,
    /// Packets lost and copied on the line; None where neither happens.
    line: Option<[u64; 2]>,
    /// The queue's own variables, as they come.
    gauges: Vec<(Gauge, Bins)>,
    /// Its counts of drops and marks; all else is told at the end.
    result: Box<LinkResult>,
}

impl LinkRecorder {
    /// For a link of `rate`; none means that utilisation has no meaning.
    pub fn new(window: Window, rate: Option<Rate>) -> Self {
        Self {
            window,
            rate,
            rate_since: Time::ZERO,
            capacity: Some(0.0),
            result: Box::default(),
            offered: Tally::default(),
            dequeued: Tally::default(),
            sojourn: Spread::new(Span::ZERO),
            backlog: Backlog::default(),
            backlog_since: Time::ZERO,
            held: 0,
            series: Rows::new(&window),
            usage: None,
            line: None,
            radio: None,
            dual: None,
            omits_dual_marks: false,
            gauges: Vec::new(),
            gauges_due: Time::ZERO,
        }
    }

    /// Gives the link the figures of a radio; nodal delays above `deadline` are counted.
    pub fn set_radio(&mut self, deadline: Option<Span>) {
        self.radio = Some(Box::new(RadioRecorder::new(deadline)));
    }

    /// Has the utilisation of a link follow its rate, which is this at first and varies. Of a
    /// packet's length so many bytes are no part of what a trace lets leave.
    pub fn follow_rate(&mut self, rate: LineRate, link_header: u16) {
        self.usage = Some(Box::new(Usage::new(self.window, rate, link_header)));
    }

    /// Whether what the line loses and copies is counted.
    pub fn count_line(&mut self, counts: bool) {
        self.line = counts.then_some([0; 2]);
    }

    /// The line has got a packet.
    #[inline]
    pub fn launched(&mut self, now: Time, fate: &Fate) {
        if let Some([lost, copied]) = &mut self.line
            && self.window.holds(now)
        {
            *lost += fate.lost();
            *copied += u64::from(fate.is_copied);
        }
    }

    /// Tells of a radio what happened to it.
    #[inline]
    pub fn radio(&mut self, now: Time, event: RadioEvent) {
        if let Some(radio) = &mut self.radio
            && self.window.holds(now)
        {
            radio.tell(event);
        }
    }

    /// A radio begins with a packet that has been in the queue, or behind it, since then.
    #[inline]
    pub fn radio_begins(&mut self, queued: Time) {
        if let Some(radio) = &mut self.radio {
            radio.begins(queued);
        }
    }

    /// A radio is done with the packet that it began with last.
    #[inline]
    pub fn radio_done(&mut self, now: Time) {
        if let Some(radio) = &mut self.radio {
            radio.done(now, self.window.holds(now));
        }
    }

    /// Whether the queue's own variables are to be told now: a few times an interval.
    #[inline]
    pub fn wants_gauges(&mut self, now: Time) -> bool {
        let due = now >= self.gauges_due;
        if due {
            self.gauges_due = now + self.window.every / GAUGES_PER_INTERVAL;
        }
        due
    }

    /// A variable of the queue. Its series has the last value of each interval.
    pub fn gauge(&mut self, now: Time, gauge: Gauge) {
        let known = self.gauges.iter_mut().find(|(g, _)| g.name == gauge.name);
        if let Some((_, bins)) = known {
            bins.set(now, gauge.value);
        } else {
            let mut bins = Bins::new(&self.window);
            bins.set(now, gauge.value);
            self.gauges.push((gauge, bins));
        }
    }

    /// What a queue that is a pair has counted after it was offered or asked for a packet; `left`:
    /// it gave one to the link after holding it for so long.
    #[inline]
    pub fn dual(&mut self, now: Time, dual: &Dual, left: Option<Span>) {
        let counts = self.window.holds(now);
        let recorder = self
            .dual
            .get_or_insert_with(|| Box::new(DualRecorder::new()));
        recorder.told(dual, left, counts);
    }

    /// Leaves out the marks of a pair, where they cannot be told from those that packets came with.
    pub fn omit_dual_marks(&mut self) {
        self.omits_dual_marks = true;
    }

    /// Looks at the probability of such a queue when [its variables are
    /// wanted](Self::wants_gauges).
    pub fn dual_probability(&mut self, now: Time, dual: &Dual) {
        if let Some(recorder) = &mut self.dual
            && self.window.holds(now)
        {
            recorder.looked(dual);
        }
    }

    /// Whether the queue held a packet when it was last told of.
    #[inline]
    pub fn holds_packets(&self) -> bool {
        self.backlog.packets > 0
    }

    /// A packet of `len` bytes was offered.
    #[inline]
    pub fn offered(&mut self, now: Time, len: u32) {
        if self.window.holds(now) {
            self.offered.add(len);
        }
    }

    /// The queue dropped a packet.
    pub fn dropped(&mut self, now: Time) {
        self.series.add_to(DROPS, now, 1.0);
        if self.window.holds(now) {
            self.result.dropped_packets += 1;
        }
    }

    /// The queue marked a packet.
    pub fn marked(&mut self, now: Time) {
        if self.window.holds(now) {
            self.result.marked_packets += 1;
        }
    }

    /// The queue gave a packet of `len` bytes to the link after holding it for `sojourn`.
    pub fn dequeued(&mut self, now: Time, len: u32, sojourn: Span) {
        self.series.open(now);
        self.sent(now, len, sojourn);
    }

    #[expect(clippy::inline_always, reason = "a packet's part of a function")]
    #[inline(always)]
    fn sent(&mut self, now: Time, len: u32, sojourn: Span) {
        self.sent_after(now, len, sojourn);
        if self.window.holds(now) {
            self.dequeued.add(len);
            self.sojourn.add(sojourn);
        }
    }

    /// All of that but what counts in the window only.
    #[expect(clippy::inline_always, reason = "a packet's part of a function")]
    #[inline(always)]
    fn sent_after(&mut self, now: Time, len: u32, sojourn: Span) {
        self.series.put(THROUGHPUT, f64::from(len) * 8.0);
        self.series.put(SOJOURN, sojourn.as_millis_f64());
        if let Some(usage) = &mut self.usage {
            usage.sent(now, len);
        }
        if let Some(radio) = &mut self.radio {
            radio.left(now, sojourn, self.window.holds(now));
        }
    }

    /// The backlog has changed to `backlog`.
    #[inline]
    pub fn backlog(&mut self, now: Time, backlog: Backlog) {
        self.hold(now);
        self.series.add_to(BACKLOG, now, float(backlog.packets));
        self.backlog = backlog;
    }

    /// Counts what has been held until now.
    #[inline]
    fn hold(&mut self, now: Time) {
        let from = self.backlog_since.max(self.window.from);
        let to = now.min(self.window.to);
        self.held += u128::from((to - from).as_nanos()) * u128::from(self.backlog.packets);
        self.backlog_since = now;
    }

    /// [`backlog`](Self::backlog) and [`dequeued`](Self::dequeued) in one.
    #[inline(never)]
    pub fn left(&mut self, now: Time, backlog: Backlog, len: u32, sojourn: Span) {
        if self.is_usual(now) {
            self.left_here(now, backlog, len, sojourn);
        } else {
            self.left_otherwise(now, backlog, len, sojourn);
        }
    }

    /// Whether a packet that leaves now calls nothing else. What does is a function of its own, for
    /// whose sake no registers are saved otherwise.
    #[inline]
    fn is_usual(&self, now: Time) -> bool {
        !self.series.is_over(now) && self.usage.is_none() && self.radio.is_none()
    }

    #[cold]
    #[inline(never)]
    fn left_otherwise(&mut self, now: Time, backlog: Backlog, len: u32, sojourn: Span) {
        self.left_here(now, backlog, len, sojourn);
    }

    #[expect(clippy::inline_always, reason = "a copy without what is not usual")]
    #[inline(always)]
    fn left_here(&mut self, now: Time, backlog: Backlog, len: u32, sojourn: Span) {
        self.hold(now);
        self.backlog = backlog;
        self.series.open(now);
        self.series.put(BACKLOG, float(backlog.packets));
        self.sent(now, len, sojourn);
    }

    /// [`offered`](Self::offered), [`backlog`](Self::backlog) of one packet, and
    /// [`left`](Self::left) at once, of a packet that was never held: nothing else is.
    #[inline(never)]
    pub fn passed(&mut self, now: Time, len: u32) {
        if self.is_usual(now) {
            self.passed_here(now, len);
        } else {
            self.passed_otherwise(now, len);
        }
    }

    #[cold]
    #[inline(never)]
    fn passed_otherwise(&mut self, now: Time, len: u32) {
        self.passed_here(now, len);
    }

    #[expect(clippy::inline_always, reason = "a copy without what is not usual")]
    #[inline(always)]
    fn passed_here(&mut self, now: Time, len: u32) {
        self.backlog_since = now;
        self.series.open(now);
        self.series.put(BACKLOG, 1.0);
        self.series.put(BACKLOG, 0.0);
        self.sent_after(now, len, Span::ZERO);
        if self.window.holds(now) {
            self.offered.add(len);
            self.dequeued.add(len);
            self.sojourn.add_zero();
        }
    }

    /// The link's rate is `rate` from now on.
    pub fn rate(&mut self, now: Time, rate: &LineRate) {
        if let Some(usage) = &mut self.usage {
            usage.rate(now, rate.clone());
        }
        self.count_capacity(now, rate.fixed());
    }

    /// Counts what could be sent until now.
    fn count_capacity(&mut self, now: Time, rate: Option<Rate>) {
        let from = self.rate_since.max(self.window.from);
        let length = now.min(self.window.to) - from;
        if !length.is_zero() {
            let bits = |rate: Rate| rate.as_bps() as f64 * length.as_secs_f64();
            let sum = self.capacity.zip(self.rate.map(bits));
            self.capacity = sum.map(|(sum, more)| sum + more);
        }
        (self.rate, self.rate_since) = (rate, now);
    }

    /// The result, with the queue's own statistics.
    pub fn finish(mut self, qdisc: Report) -> LinkResult {
        let (window, to) = (self.window, self.window.to);
        self.backlog(to, self.backlog);
        self.count_capacity(to, self.rate);
        let seconds = window.length().as_secs_f64();
        let per_second = window.every.as_secs_f64();
        let rate = |sum, _| sum / per_second;
        let mut of = |row, key, value: &dyn Fn(f64, u32) -> f64| {
            self.series
                .series_of(row, to, named(Kind::Link, key), value)
        };
        let mut series = vec![
            of(THROUGHPUT, "throughput", &rate),
            of(BACKLOG, "backlog", &mean),
            of(DROPS, "drops", &|sum, _| sum),
            of(SOJOURN, "sojourn", &mean),
        ];
        for (gauge, bins) in self.gauges {
            let quantity = Quantity {
                metric: gauge.name,
                unit: gauge.unit,
            };
            series.push(bins.series(to, quantity, mean));
        }
        let bits = self.dequeued.bytes as f64 * 8.0;
        self.result.offered_packets = self.offered.packets;
        self.result.offered_bytes = self.offered.bytes;
        self.result.dequeued_packets = self.dequeued.packets;
        self.result.dequeued_bytes = self.dequeued.bytes;
        let mut utilisation = self.capacity.map(|capacity| bits / capacity);
        if let Some(usage) = self.usage {
            let (share, over_time) = usage.finish(named(Kind::Link, "utilisation"));
            utilisation = utilisation.or(share);
            series.push(over_time);
        }
        if let Some(radio) = self.radio {
            radio.finish(&mut self.result, window.length());
        }
        if let Some(mut dual) = self.dual {
            if self.omits_dual_marks {
                dual.omit_marks();
            }
            dual.finish(&mut self.result);
        }
        LinkResult {
            utilisation,
            backlog_packets_mean: self.held as f64 * 1e-9 / seconds,
            sojourn: self.sojourn.distribution(),
            lost_packets: self.line.map(|[lost, _]| lost as f64),
            duplicated_packets: self.line.map(|[_, copied]| copied as f64),
            qdisc,
            series,
            ..*self.result
        }
    }
}
