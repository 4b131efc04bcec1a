//! What an ACK does to the sender.
//! Source: RFC 9293 section 3.10.7.4, RFC 2018, RFC 2883 (DSACK), RFC 7323 (RTT by timestamps).

use super::{Recovery, Sender};
use crate::congestion::{AckArrival, AckEvent};
use crate::rate::RateSample;
use crate::scoreboard::Outcome;
use crate::segment::Flags;
use crate::{Segment, Span, Time, seq};

/// A round trip by timestamps, which count milliseconds (Linux `tcp_rtt_tsopt_us`). Of paths with
/// jitter less than that it is often the shortest, and then it decides whether RACK believes that
/// a fast answer is a retransmission's.
pub(super) fn stamped(echo: Time, now: Time) -> Span {
    let ticks = |time: Time| time.as_nanos() / 1_000_000;
    Span::from_millis((ticks(now) - ticks(echo)).max(1))
}

/// Whether an ACK tells of neither marks nor gaps.
#[inline]
fn is_plain(segment: &Segment) -> bool {
    !segment.flags.has(Flags::ECE) && segment.sack_count == 0
}

/// What the connection learns from an ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acked {
    /// It acknowledges what was never sent, or so long ago that it cannot be an ACK of this
    /// connection's that came late: the segment is not to be used, and an ACK answers it (RFC 5961
    /// section 5.2, Linux `tcp_ack`).
    pub(crate) unacceptable: bool,
    pub(crate) bytes: u64,
    pub(crate) rtt: Option<Span>,
}

/// The ACK's properties, and what recovery finds out about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// SND.UNA moved.
    pub(super) advanced: bool,
    /// No data, no window change, nothing acknowledged: a duplicate (RFC 5681 section 2).
    pub(super) duplicate: bool,
    pub(super) ece: bool,
    /// Of what is delivered, the marked packets and bytes, where the peer counts them.
    pub(super) marked: Option<(u32, u64)>,
    /// Echoed timestamp.
    pub(super) echo: Time,
    /// End of the range reported as a duplicate; zero for none.
    pub(super) dsack_end: u64,
    /// Segments that have left the network, as PRR counts them.
    pub(super) delivered: u32,
    pub(super) newly_lost: u32,
    /// RACK has armed the timer.
    pub(super) keep_timer: bool,
}

impl Facts {
    /// Of so many segments and bytes, those that the receiver reports as marked. An echo is meant
    /// for all that its ACK delivers.
    #[inline]
    fn marked_of(&self, segments: u32, bytes: u64) -> (u32, u64) {
        match self.marked {
            Some(marked) => marked,
            None if self.ece => (segments, bytes),
            None => (0, 0),
        }
    }
}

/// Of an ACK, what the control's event is made from. Apart from [`Facts`] and [`Outcome`], which
/// need no place in memory for most ACKs.
struct Told {
    now: Time,
    acked: u32,
    delivered: u32,
    delivered_bytes: u64,
    newly_lost: u32,
    may_grow: bool,
    ece: bool,
    marked: Option<(u32, u64)>,
    rate: Option<RateSample>,
    round_start: bool,
    rtt: Option<Span>,
    prior_in_flight: u32,
}

/// The state that an ACK has met.
#[derive(Clone, Copy)]
struct Prior {
    /// First byte that was not acknowledged.
    una: u64,
    /// Segments in flight.
    in_flight: u32,
    /// When the first unacknowledged segment was sent, if an ACK asks for it.
    head: Option<Time>,
}

impl Sender {
    /// Processes the ACK part of a segment of the peer. `isn` is this side's.
    #[expect(
        clippy::inline_always,
        reason = "of an end that only receives it is little"
    )]
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, segment: &Segment, isn: u32, now: Time) -> Acked {
        // With data for an end that only receives. (ns-2's senders keep no scoreboard.)
        let repeats = !self.by_ns2 && segment.ack == seq::wire(isn, self.una);
        if repeats && !self.has_outstanding() && is_plain(segment) {
            self.update_window(self.una, segment.window, false);
            return Acked::default();
        }
        if self.recovery.state == Recovery::Recovering {
            return self.on_repair_ack(segment, isn, now);
        }
        self.on_other_ack(segment, isn, now)
    }

    /// [`on_ack`](Self::on_ack) of an end that sends.
    #[inline(never)]
    pub(super) fn on_other_ack(&mut self, segment: &Segment, isn: u32, now: Time) -> Acked {
        let ack = seq::offset(isn, segment.ack, self.una);
        if self.by_ns2 && ack <= self.next {
            return self.ns2_ack(ack, segment.ts_echo, now);
        }
        if ack > self.next || (ack < self.una && self.is_too_old(ack)) {
            return Acked {
                unacceptable: !self.by_ns2,
                ..Acked::default()
            };
        }
        if is_plain(segment)
            && let Some(acked) = self.on_plain_ack(ack, segment, now)
        {
            return acked;
        }
        self.on_any_ack(ack, segment, isn, now)
    }

    /// [`on_ack`](Self::on_ack) of any ACK that can be one of this connection's. A function of its
    /// own, as what it needs of registers and stack would otherwise be missing where most pass.
    #[inline(never)]
    fn on_any_ack(&mut self, ack: u64, segment: &Segment, isn: u32, now: Time) -> Acked {
        let prior_una = self.una;
        let stale = ack < self.una;
        // A stale ACK may still carry SACK blocks that a later one had no room for.
        let ack = ack.max(self.una);
        let opened = self.update_window(ack, segment.window, stale);
        let mut facts = Facts {
            advanced: ack > prior_una,
            ece: segment.flags.has(Flags::ECE) && self.marks.is_none(),
            echo: segment.echo(),
            ..Facts::default()
        };
        // All five conditions of RFC 5681 section 2: without them a window update or a segment of
        // data counts as a sign of loss.
        facts.duplicate = !facts.advanced
            && !opened
            && !stale
            && segment.payload == 0
            && !segment.flags.has(Flags::FIN)
            && self.has_outstanding();
        if !self.has_outstanding() && !facts.ece {
            self.count_marks(segment, &mut facts, &Outcome::default());
            if !facts.ece {
                return Acked::default();
            }
        }
        let prior_in_flight = self.board.in_flight();
        let mut out = Outcome {
            now,
            min_rtt: self.rtt.min().unwrap_or(Span::ZERO),
            frto_limit: self.recovery.high,
            ..Outcome::default()
        };
        // Before the scoreboard changes: what follows compares with the state that the ACK has
        // met.
        let prior_head = self.board.oldest_sent();
        let duplicates = self.board.sacked();
        let highest = self.board.highest();
        self.una = ack;
        if segment.sack_count > 0 && self.sack {
            self.read_sacks(segment, isn, prior_una, &mut facts, &mut out);
        }
        // Last: the round trip that RACK waits is the last one seen, of what fills a gap.
        self.board.ack_through(ack, highest, &mut out);
        if !self.sack && out.acked > 0 {
            // One of them was the hole; the others had been counted by duplicate ACKs.
            out.delivered = out.acked.saturating_sub(duplicates).max(1);
            self.board.remove_duplicates(out.acked);
        }
        if facts.marked.is_none() {
            self.count_marks(segment, &mut facts, &out);
        }
        let prior = Prior {
            una: prior_una,
            in_flight: prior_in_flight,
            head: prior_head,
        };
        self.finish_ack::<false>(&mut facts, &out, prior)
    }

    #[inline(never)]
    fn is_too_old(&self, ack: u64) -> bool {
        ack < self.una - self.largest_window.min(self.una - 1)
    }

    /// The ACK of which nothing has to be asked (what Van Jacobson's header prediction finds): it
    /// acknowledges in order what was sent once while nothing is amiss, or comes late to an end
    /// that only receives. What it does is what [`on_ack`](Self::on_ack) does then.
    #[expect(clippy::inline_always, reason = "the way that most ACKs take")]
    #[inline(always)]
    fn on_plain_ack(&mut self, ack: u64, segment: &Segment, now: Time) -> Option<Acked> {
        if !self.has_outstanding() {
            self.update_window(ack.max(self.una), segment.window, ack < self.una);
            return Some(Acked::default());
        }
        let calm = self.recovery.state == Recovery::Open && self.recovery.tail_probe.is_none();
        if ack <= self.una || !calm {
            return None;
        }
        let prior = Prior {
            una: self.una,
            in_flight: self.board.outstanding(),
            head: None,
        };
        let taken = self.board.ack_in_order(ack, now)?;
        self.update_window(ack, segment.window, false);
        self.una = ack;
        let mut facts = Facts {
            advanced: true,
            echo: segment.echo(),
            ..Facts::default()
        };
        let out = Outcome {
            now,
            acked: taken.segments,
            delivered: taken.segments,
            delivered_bytes: taken.bytes,
            acked_sent: Some(taken.sent),
            newest: Some(taken.newest),
            ..Outcome::default()
        };
        Some(self.finish_ack::<true>(&mut facts, &out, prior))
    }

    /// Timers, RTT, recovery and congestion control, after the scoreboard. `PLAIN`: of an ACK of
    /// [`on_plain_ack`](Self::on_plain_ack).
    #[expect(
        clippy::inline_always,
        reason = "of a plain ACK most of what it asks is known: a copy without that"
    )]
    #[inline(always)]
    fn finish_ack<const PLAIN: bool>(
        &mut self,
        facts: &mut Facts,
        out: &Outcome,
        prior: Prior,
    ) -> Acked {
        let now = out.now;
        facts.delivered = out.delivered;
        // Once seen, reordering is believed for the life of the connection, as in Linux
        // (`reord_seen`).
        if out.reordered > 0 {
            self.recovery.reordering = true;
            self.counters.reordered += 1;
            self.counters.reorder_distance = self.counters.reorder_distance.max(out.reordered);
        }
        let (sample, newest_rtt) = self.measure(facts, out);
        self.rate
            .on_delivered(out.delivered_bytes, out.newest.as_ref(), now);
        // Any progress: the next timeout is a first one again (Linux `icsk_retransmits = 0`).
        if facts.advanced {
            self.recovery.timeouts = 0;
        }
        if self.rack && (facts.dsack_end > 0 || self.recovery.reordering) {
            let delivered = self.sample(out).map(|rate| rate.prior_delivered);
            self.adapt_reorder_window(facts.dsack_end > 0, delivered);
        }
        // Before recovery, which may end by this very ACK: Westwood counts the ACKs of a recovery
        // too.
        if self.control.hears_arrivals() {
            let (marked, marked_bytes) = facts.marked_of(out.delivered, out.delivered_bytes);
            self.control.on_ack_arrival(&AckArrival {
                now,
                acked: out.acked,
                rtt: newest_rtt,
                delivered: out.delivered,
                marked,
                delivered_bytes: out.delivered_bytes,
                marked_bytes,
                una: self.una,
                next: self.next,
            });
        }
        // F-RTO asks for new data once: for the ACK that has asked.
        self.recovery.prefer_new = false;
        if !PLAIN {
            self.end_tail_probe(facts, out, now);
        }
        // Re-arm also when SACKs come from segments sent after the head (else a lost
        // retransmission of the head would never time out, or always too early).
        let sack_fresh = out
            .sacked_sent
            .is_some_and(|(first, _)| prior.head.is_some_and(|head| first < head));
        if !PLAIN && self.is_dubious(facts, out) {
            self.recover(facts, out, now);
        }
        if (facts.advanced || sack_fresh)
            && !facts.keep_timer
            // A tail loss probe takes the place of the retransmission timer (RFC 8985 section
            // 7.2).
            && !self.schedule_probe(facts.advanced, now)
        {
            self.rearm(now);
        }
        self.conclude::<PLAIN>(facts, out, newest_rtt, prior.in_flight);
        if self.buffered < self.written {
            self.fill_buffer();
        }
        Acked {
            unacceptable: false,
            bytes: self.una - prior.una,
            rtt: sample,
        }
    }

    /// Congestion control.
    #[expect(clippy::inline_always, reason = "as `finish_ack`")]
    #[inline(always)]
    fn conclude<const PLAIN: bool>(
        &mut self,
        facts: &Facts,
        out: &Outcome,
        rtt: Option<Span>,
        prior_in_flight: u32,
    ) {
        let now = out.now;
        let reducing = !PLAIN && self.recovery.reducing() && !self.control.controls_recovery();
        if reducing {
            self.reduce(facts.delivered, facts.newly_lost, facts.advanced);
        }
        let may_grow = !reducing && facts.advanced;
        let grows = may_grow && self.usage.limited;
        if self.control.avoid(facts.delivered, rtt, grows, now) {
            self.recovery.lost_by_timer = 0;
            return;
        }
        // Of which the control above asks for neither.
        let rate = self.sample(out);
        let round_start = self.counts_round(rate.as_ref());
        self.tell_control(&Told {
            now,
            acked: out.acked,
            delivered: facts.delivered,
            delivered_bytes: out.delivered_bytes,
            newly_lost: facts.newly_lost,
            may_grow,
            ece: facts.ece,
            marked: facts.marked,
            rate,
            round_start,
            rtt,
            prior_in_flight,
        });
    }

    #[inline]
    fn is_dubious(&self, facts: &Facts, out: &Outcome) -> bool {
        facts.ece
            || facts.duplicate
            || out.sacked > 0
            || facts.dsack_end > 0
            || self.recovery.state != Recovery::Open
            || self.board.sacked() > 0
    }

    /// Returns whether the window's right edge moved forward. It moves back only with an ACK of
    /// something new (Linux `tcp_may_update_window`).
    #[expect(clippy::inline_always, reason = "the way that most ACKs take")]
    #[inline(always)]
    pub(super) fn update_window(&mut self, ack: u64, window: u32, stale: bool) -> bool {
        let window = u64::from(window);
        let edge = ack + window;
        if stale || edge <= self.window_end {
            // A receiver should not shrink its window (RFC 9293 section 3.8.6.2.1), and does so
            // nevertheless; an older ACK that comes late looks as if it did.
            if ack > self.una {
                self.window_end = edge.max(self.next);
            }
            return false;
        }
        self.window_end = edge;
        self.largest_window = self.largest_window.max(window);
        self.stop_persist();
        true
    }

    fn read_sacks(
        &mut self,
        segment: &Segment,
        isn: u32,
        prior_una: u64,
        facts: &mut Facts,
        out: &mut Outcome,
    ) {
        let blocks = segment.sack_blocks();
        let mut ranges = [(0, 0); 3];
        // Of an AccECN option in place of a block nothing is remembered.
        let mut tells = usize::from(segment.sack_count) <= ranges.len();
        for (index, block) in blocks.iter().enumerate() {
            let start = seq::offset(isn, block.start, self.una);
            let end = seq::offset(isn, block.end, self.una);
            tells &= self.una <= start && start < end && end <= self.next;
            if start >= end || end > self.next {
                continue;
            }
            if index == 0 && self.is_duplicate_report(segment, isn, start, end) {
                // A report of data from 1 GiB ago says nothing of what is out now.
                if end + (1 << 30) > prior_una {
                    facts.dsack_end = end;
                    self.counters.dsacks += 1;
                }
                tells = false;
                continue;
            }
            if end > self.una {
                ranges[index] = (start.max(self.una), end);
            }
        }
        self.told = segment.sack;
        self.told_count = if tells { segment.sack_count } else { 0 };
        self.board.sack_all(ranges, out);
    }

    /// RFC 2883 section 4: below the ACK, or inside the second block.
    fn is_duplicate_report(&self, segment: &Segment, isn: u32, first: u64, last: u64) -> bool {
        let ack = seq::offset(isn, segment.ack, self.una);
        if first < ack {
            return last <= ack;
        }
        segment.sack_blocks().get(1).is_some_and(|second| {
            let start = seq::offset(isn, second.start, self.una);
            let end = seq::offset(isn, second.end, self.una);
            start <= first && last <= end
        })
    }

    /// RTT samples (Karn's rule; timestamps where it forbids). Returns the one for the
    /// estimator and the one of the newest segment.
    #[expect(clippy::inline_always, reason = "the way that most ACKs take")]
    #[inline(always)]
    fn measure(&mut self, facts: &Facts, out: &Outcome) -> (Option<Span>, Option<Span>) {
        let now = out.now;
        // Karn's rule: the ACK of something that was sent twice does not tell which of both it
        // answers.
        let acked = out.acked_sent.filter(|_| !out.retransmission_acked);
        let (sample, newest) = match (acked.or(out.sacked_sent), out.sacked_sent.or(acked)) {
            (Some((first, _)), Some((_, last))) => (Some(now - first), Some(now - last)),
            _ if out.acked > 0 && facts.echo != Time::ZERO && facts.echo <= now => {
                let stamped = Some(stamped(facts.echo, now));
                (stamped, stamped)
            }
            _ => (None, None),
        };
        // The shortest round trip takes the newest segment: an older one has waited for a delayed
        // ACK.
        if let Some(newest) = newest {
            self.rtt.observe_min(newest, now);
        }
        let sample = match self.timed {
            // ns-2 times one segment a round trip and ignores what all other ACKs say.
            _ if !self.times_one => sample,
            Some((end, sent)) if self.una >= end => {
                self.timed = None;
                Some(now - sent)
            }
            _ => None,
        };
        if let Some(sample) = sample {
            self.rtt.sample(sample, self.una, self.next);
            self.rtt.reset_backoff();
        }
        (sample, newest)
    }

    /// RFC 8985 section 7.4.
    fn end_tail_probe(&mut self, facts: &Facts, out: &Outcome, now: Time) {
        let Some((end, retransmission)) = self.recovery.tail_probe else {
            return;
        };
        if self.una < end {
            return;
        }
        // The probe was new data, or the receiver had the original too: nothing was lost.
        if !retransmission || facts.dsack_end > 0 {
            self.recovery.tail_probe = None;
        // More than the probe is acknowledged and no duplicate reported, so that the probe has
        // repaired a loss, which must cost a reduction as any other.
        } else if self.una > end {
            self.recovery.tail_probe = None;
            self.counters.tail_repairs += 1;
            self.reduce_after_probe(now);
        // The ACK of the original came first, this one answers the probe: nothing was lost.
        } else if facts.duplicate && out.sacked == 0 {
            self.recovery.tail_probe = None;
        }
    }

    /// How fast the network delivers, by what an ACK has just told.
    #[expect(
        clippy::inline_always,
        reason = "else most ACKs would leave it in memory"
    )]
    #[inline(always)]
    fn sample(&self, out: &Outcome) -> Option<RateSample> {
        let min_rtt = self.rtt.min().unwrap_or(Span::ZERO);
        self.rate.sample(out.newest.as_ref(), min_rtt, out.now)
    }

    /// Whether a round ends: when something is delivered that was sent after the last round's end
    /// (BBR's count of rounds; Linux counts so in `bbr_update_model`).
    #[inline]
    fn counts_round(&mut self, rate: Option<&RateSample>) -> bool {
        let round_start = rate.is_some_and(|rate| rate.prior_delivered >= self.next_round);
        if round_start {
            self.next_round = self.rate.delivered();
        }
        round_start
    }

    #[inline(never)]
    fn tell_control(&mut self, told: &Told) {
        let now = told.now;
        // An echo is meant for all that its ACK delivers.
        let (marked, marked_bytes) = match told.marked {
            Some(marked) => marked,
            None if told.ece => (told.delivered, told.delivered_bytes),
            None => (0, 0),
        };
        self.control.on_ack(&AckEvent {
            now,
            acked: told.acked,
            delivered: told.delivered,
            lost: told.newly_lost + core::mem::take(&mut self.recovery.lost_by_timer),
            lost_by_ack: told.newly_lost,
            rtt: told.rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min().unwrap_or(Span::ZERO),
            prior_in_flight: told.prior_in_flight,
            in_flight: self.board.in_flight(),
            delivered_total: self.rate.delivered(),
            una: self.una,
            next: self.next,
            calm: self.recovery.state == Recovery::Open,
            rate: told.rate,
            round_start: told.round_start,
            window_limited: self.is_window_limited(),
            paced: self.paced(),
            // A division that only slow start needs.
            pacing_rate: if self.control.window() < self.control.ssthresh() {
                self.pacing_rate()
            } else {
                crate::Rate::ZERO
            },
            pacing_wait: if self.paced() {
                self.pace_at - now
            } else {
                Span::ZERO
            },
            ecn_echo: told.ece,
            marked,
            marked_bytes,
            may_grow: told.may_grow,
        });
        // The rates that follow say what the control has let go, not what the path can do.
        if self.control.limits_itself() {
            let flight = u64::from(self.board.in_flight()) * u64::from(self.mss);
            self.rate.on_app_limited(flight);
        }
    }
}
