//! The recorder of a link's queue.

use super::dual::DualRecorder;
use super::radio::{RadioEvent, RadioRecorder};
use super::spread::Spread;
use super::usage::Usage;
use super::window::{Bins, Quantity, Rows, Window};
use super::{mean, millis, named};
use crate::figure::{Kind, LinkResult};
use crate::{Fate, LineRate};
use sojourn_memory::fetch_part;
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
    /// Before this time nothing but packets is told, and all of it counts and belongs to one
    /// interval of the series; zero where that is not known.
    usual_before: Time,
    /// When `packets` changed last: from the window on while the above is known.
    backlog_since: Time,
    /// Packet-nanoseconds held within the window.
    held: u128,
    /// That the queue holds.
    packets: u64,
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
    /// So many of its first bytes are what most packets need.
    pub const USUAL: usize = std::mem::offset_of!(Self, series);

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
            packets: 0,
            usual_before: Time::ZERO,
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
        self.usual_before = Time::ZERO;
        self.radio = Some(Box::new(RadioRecorder::new(deadline)));
    }

    /// Asks for the memory that most of what a radio does needs, but for what it has apart.
    pub fn fetch_first(&self) {
        fetch_part(self, std::mem::offset_of!(Self, window)..Self::USUAL);
    }

    /// Asks for what it has apart for radios.
    pub fn fetch_radio(&self) {
        self.radio.as_deref().inspect(|radio| radio.fetch());
    }

    /// Has the utilisation of a link follow its rate, which is this at first and varies. Of a
    /// packet's length so many bytes are no part of what a trace lets leave.
    pub fn follow_rate(&mut self, rate: LineRate, link_header: u16) {
        self.usual_before = Time::ZERO;
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
        self.packets > 0
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

    fn sent(&mut self, now: Time, len: u32, sojourn: Span) {
        self.sent_after(now, len, sojourn);
        if self.window.holds(now) {
            self.dequeued.add(len);
            self.sojourn.add(sojourn);
        }
    }

    /// All of that but what counts in the window only.
    fn sent_after(&mut self, now: Time, len: u32, sojourn: Span) {
        self.put(len, sojourn);
        if let Some(usage) = &mut self.usage {
            usage.sent(now, len);
        }
        if let Some(radio) = &mut self.radio {
            radio.left(now, sojourn, self.window.holds(now));
        }
    }

    /// Adds a packet that has left to the series.
    #[inline]
    fn put(&mut self, len: u32, sojourn: Span) {
        // Whole bytes: the count of packets is not asked for.
        self.series.put_whole(THROUGHPUT, 8 * u64::from(len), 0);
        self.series.put(SOJOURN, millis(sojourn));
    }

    /// The backlog has changed to `backlog`.
    pub fn backlog(&mut self, now: Time, backlog: Backlog) {
        self.hold(now);
        self.series.open(now);
        self.count(backlog);
    }

    #[inline]
    fn count(&mut self, backlog: Backlog) {
        self.series.put_whole(BACKLOG, backlog.packets, 1);
        self.packets = backlog.packets;
    }

    /// Counts what has been held until now.
    fn hold(&mut self, now: Time) {
        let from = self.backlog_since.max(self.window.from);
        self.hold_since(from, now.min(self.window.to));
        self.backlog_since = now;
    }

    #[inline]
    fn hold_since(&mut self, from: Time, to: Time) {
        self.held += u128::from((to - from).as_nanos()) * u128::from(self.packets);
    }

    /// Whether what is told of now is usual.
    #[inline]
    fn is_usual(&self, now: Time) -> bool {
        now < self.usual_before
    }

    /// [`hold`](Self::hold) where that is so.
    #[inline]
    fn hold_usual(&mut self, now: Time) {
        self.hold_since(self.backlog_since, now);
        self.backlog_since = now;
    }

    /// Finds out how long it is usual. What is now has been told, the backlog too.
    fn look_ahead(&mut self, now: Time) {
        let is_usual = self.usage.is_none() && self.radio.is_none() && self.window.holds(now);
        self.usual_before = if is_usual {
            self.series.ends().min(self.window.to) + Span::from_nanos(1)
        } else {
            Time::ZERO
        };
    }

    /// [`offered`](Self::offered) and [`backlog`](Self::backlog) in one.
    #[expect(clippy::inline_always, reason = "mostly it is a few additions")]
    #[inline(always)]
    pub fn entered(&mut self, now: Time, backlog: Backlog, len: u32) {
        if !self.is_usual(now) {
            return self.entered_otherwise(now, backlog, len);
        }
        self.offered.add(len);
        self.hold_usual(now);
        self.count(backlog);
    }

    // What calls other functions is one itself, for whose sake no registers are saved otherwise.
    #[cold]
    #[inline(never)]
    fn entered_otherwise(&mut self, now: Time, backlog: Backlog, len: u32) {
        self.offered(now, len);
        self.backlog(now, backlog);
        self.look_ahead(now);
    }

    /// [`backlog`](Self::backlog) and [`dequeued`](Self::dequeued) in one.
    #[inline(never)]
    pub fn left(&mut self, now: Time, backlog: Backlog, len: u32, sojourn: Span) {
        if !self.is_usual(now) {
            return self.left_otherwise(now, backlog, len, sojourn);
        }
        self.hold_usual(now);
        self.count(backlog);
        self.put(len, sojourn);
        self.dequeued.add(len);
        self.sojourn.add(sojourn);
    }

    #[cold]
    #[inline(never)]
    fn left_otherwise(&mut self, now: Time, backlog: Backlog, len: u32, sojourn: Span) {
        self.backlog(now, backlog);
        self.sent(now, len, sojourn);
        self.look_ahead(now);
    }

    /// [`offered`](Self::offered), [`backlog`](Self::backlog) of one packet, and
    /// [`left`](Self::left) at once, of a packet that was never held: nothing else is.
    #[inline(never)]
    pub fn passed(&mut self, now: Time, len: u32) {
        if !self.is_usual(now) {
            return self.passed_otherwise(now, len);
        }
        self.pass(now);
        self.put(len, Span::ZERO);
        self.offered.add(len);
        self.dequeued.add(len);
        self.sojourn.add_zero();
    }

    #[cold]
    #[inline(never)]
    fn passed_otherwise(&mut self, now: Time, len: u32) {
        self.series.open(now);
        self.pass(now);
        self.sent_after(now, len, Span::ZERO);
        if self.window.holds(now) {
            self.offered.add(len);
            self.dequeued.add(len);
            self.sojourn.add_zero();
        }
        self.look_ahead(now);
    }

    /// The backlog was one packet, and is none again.
    #[inline]
    fn pass(&mut self, now: Time) {
        self.backlog_since = now;
        self.series.put_whole(BACKLOG, 1, 2);
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
        let packets = self.packets;
        self.backlog(to, Backlog { packets, bytes: 0 });
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
