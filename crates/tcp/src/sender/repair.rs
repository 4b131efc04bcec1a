//! The ACKs of a fast recovery. Most of them report one segment more, others that a retransmission
//! has filled a gap.

use super::Sender;
use super::ack::{Acked, stamped};
use crate::scoreboard::Run;
use crate::segment::Flags;
use crate::{Segment, Span, Time, seq};

/// What most ACKs of a recovery tell.
struct News {
    run: Run,
    /// A round trip for the estimator, and the shortest.
    rtts: Option<(Span, Span)>,
    /// SND.UNA moved.
    advanced: bool,
    /// The retransmission timer begins anew.
    rearms: bool,
}

impl Sender {
    /// [`on_other_ack`](Self::on_other_ack) of a fast recovery. Most of its ACKs take one of two
    /// short ways, where RACK finds the losses and CUBIC waits for the recovery's end.
    #[inline(never)]
    pub(super) fn on_repair_ack(&mut self, segment: &Segment, isn: u32, now: Time) -> Acked {
        let ack = seq::offset(isn, segment.ack, self.una);
        let recovery = &self.recovery;
        let is_usual = self.rack
            && self.marks.is_none()
            && !segment.flags.has(Flags::ECE)
            // No AccECN option in place of a block.
            && usize::from(segment.sack_count) <= segment.sack.len()
            && !self.times_one
            && self.control.avoids()
            && !recovery.reordering
            && recovery.tail_probe.is_none()
            && !self.undo.all_duplicates()
            && self.una <= ack
            && ack < recovery.high;
        if !is_usual {
            return self.on_other_ack(segment, isn, now);
        }
        let usual = if ack == self.una {
            self.on_next_sack(ack, segment, isn, now)
        } else {
            self.on_filled_gap(ack, segment, now)
        };
        if let Some(acked) = usual {
            return acked;
        }
        self.on_other_ack(segment, isn, now)
    }

    /// [`on_repair_ack`](Self::on_repair_ack) of an ACK whose blocks are those of the last one, but
    /// for the end of the first.
    #[expect(
        clippy::inline_always,
        reason = "the way that most ACKs of a recovery take"
    )]
    #[inline(always)]
    fn on_next_sack(&mut self, ack: u64, segment: &Segment, isn: u32, now: Time) -> Option<Acked> {
        let [first, others @ ..] = &segment.sack;
        let [last, others_then @ ..] = &self.told;
        let differs = segment.sack_count != self.told_count
            || self.told_count == 0
            || first.start != last.start
            || others != others_then;
        let end = seq::offset(isn, first.end, ack);
        if differs || end > self.next {
            return None;
        }
        let head = self.board.oldest_sent();
        let run = self.board.sack_next(end, now)?;
        self.told[0].end = first.end;
        self.update_window(ack, segment.window, false);
        let (oldest, newest) = run.sent;
        let (sample, shortest) = (now - oldest, now - newest);
        let news = News {
            run,
            rtts: Some((sample, shortest)),
            advanced: false,
            rearms: head.is_some_and(|head| oldest < head),
        };
        self.note_news(&news, now);
        Some(Acked {
            rtt: Some(sample),
            ..Acked::default()
        })
    }

    /// [`on_repair_ack`](Self::on_repair_ack) of an ACK that acknowledges a retransmission and what
    /// had arrived behind it. It repeats blocks of the last ACK, or has none.
    #[expect(clippy::inline_always, reason = "as `on_next_sack`")]
    #[inline(always)]
    fn on_filled_gap(&mut self, ack: u64, segment: &Segment, now: Time) -> Option<Acked> {
        let blocks = segment.sack_blocks();
        let repeats = segment.sack_count <= self.told_count
            && blocks
                .iter()
                .zip(&self.told)
                .all(|(block, told)| block == told)
            && self.board.reports_above(ack, blocks.len());
        let echo = segment.echo();
        if !repeats || self.undo.answers_original(echo) {
            return None;
        }
        let min_rtt = self.rtt.min().unwrap_or(Span::ZERO);
        let run = self.board.ack_filled(ack, min_rtt, now)?;
        if !blocks.is_empty() {
            self.told = segment.sack;
            self.told_count = segment.sack_count;
            self.board.keep_reported(blocks.len());
        }
        self.update_window(ack, segment.window, false);
        let bytes = ack - core::mem::replace(&mut self.una, ack);
        self.recovery.timeouts = 0;
        // Karn's rule.
        let sample = (echo != Time::ZERO && echo <= now).then(|| stamped(echo, now));
        let news = News {
            run,
            rtts: sample.map(|sample| (sample, sample)),
            advanced: true,
            rearms: true,
        };
        self.note_news(&news, now);
        Some(Acked {
            bytes,
            rtt: sample,
            ..Acked::default()
        })
    }

    /// Timers, RTT, recovery and congestion control: what [`finish_ack`](Self::finish_ack) does of
    /// such an ACK.
    #[expect(clippy::inline_always, reason = "as `on_next_sack`")]
    #[inline(always)]
    fn note_news(&mut self, news: &News, now: Time) {
        let run = &news.run;
        if let Some((sample, shortest)) = news.rtts {
            self.rtt.observe_min(shortest, now);
            self.rtt.sample(sample, self.una, self.next);
            self.rtt.reset_backoff();
        }
        let (_, newest) = run.sent;
        self.rate.on_arrival(run.bytes, newest, now);
        self.recovery.prefer_new = false;
        let (newly_lost, keep_timer) = if self.board.rack_advanced() {
            self.detect_by_time(now)
        } else {
            (0, false)
        };
        if news.rearms && !keep_timer {
            self.rearm(now);
        }
        self.reduce(run.segments, newly_lost, news.advanced);
        let shortest = news.rtts.map(|(_, shortest)| shortest);
        self.control.avoid(run.segments, shortest, false, now);
        self.recovery.lost_by_timer = 0;
        if self.buffered < self.written {
            self.fill_buffer();
        }
    }
}
