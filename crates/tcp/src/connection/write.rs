//! How a segment is written: with data, or without.

use super::{Connection, Phase, Sent, Then, Transmit};
use crate::config::Ecn;
use crate::segment::{Flags, SackBlock, Segment};
use crate::sender::Outgoing;
use crate::{Codepoint, Time, seq};

impl Connection {
    /// RFC 3168 section 6.1.5; with DCTCP, as Linux, retransmissions are capable too.
    #[inline]
    pub(super) fn classic_codepoint(&self, outgoing: &Outgoing) -> Codepoint {
        let again = outgoing.retransmission && !self.receiver.echoes_exactly();
        if outgoing.payload > 0 && !again {
            Codepoint::Ect0
        } else {
            Codepoint::NotEct
        }
    }

    /// A segment without data.
    #[inline(never)]
    pub(super) fn plain(&mut self, number: u32, flags: Flags, now: Time) -> Transmit {
        let mut segment = Segment::default();
        let ecn = self.plain_here(&mut segment, number, flags, now);
        Transmit::without_data(segment, ecn)
    }

    /// [`plain`](Self::plain), compiled into the way that most ACKs take. Returns the ECN field.
    #[expect(clippy::inline_always, reason = "as `fill`")]
    #[inline(always)]
    pub(super) fn plain_here(
        &mut self,
        to: &mut Segment,
        number: u32,
        flags: Flags,
        now: Time,
    ) -> Codepoint {
        let count = self.receiver.sack_count();
        self.fill(to, number, flags, count, [true, true], now);
        match self.ecn {
            Ecn::Accurate => self.ack_codepoint(),
            Ecn::Off | Ecn::Classic => Codepoint::NotEct,
        }
    }

    /// A segment with data. `room`: the payload that so many SACK blocks leave.
    #[inline(never)]
    pub(super) fn data(
        &mut self,
        to: &mut Segment,
        outgoing: &Outgoing,
        room: u16,
        blocks: u8,
        now: Time,
    ) -> Sent {
        self.data_here(to, outgoing, room, blocks, now)
    }

    /// [`data`](Self::data), compiled into the way that most segments take.
    #[expect(clippy::inline_always, reason = "as `fill`")]
    #[inline(always)]
    pub(super) fn data_here(
        &mut self,
        to: &mut Segment,
        outgoing: &Outgoing,
        room: u16,
        blocks: u8,
        now: Time,
    ) -> Sent {
        let mut flags = Flags::ACK;
        if outgoing.fin {
            flags = flags.with(Flags::FIN);
        }
        if outgoing.push {
            flags = flags.with(Flags::PSH);
        }
        if self.ecn == Ecn::Classic && outgoing.reduced {
            flags = flags.with(Flags::CWR);
        }
        // A retransmission keeps its size: SACK blocks only if they fit beside it.
        let fits = outgoing.payload <= room;
        let count = if fits { blocks } else { 0 };
        let number = seq::wire(self.isn, outgoing.offset);
        self.fill(to, number, flags, count, [false, fits], now);
        to.payload = outgoing.payload;
        self.receiver.on_data_sent(now);
        Sent {
            ecn: match self.ecn {
                Ecn::Off => Codepoint::NotEct,
                Ecn::Classic => self.classic_codepoint(outgoing),
                Ecn::Accurate => self.accurate_codepoint(outgoing),
            },
            retransmission: outgoing.retransmission,
            then: Then::Ask,
        }
    }

    /// Writes a segment. The two flags: it is an ACK without data; options fit beside its data.
    ///
    /// Inline: otherwise it would be copied at once in larger pieces than it was written in, which
    /// waits until those have left the store buffer.
    #[expect(clippy::inline_always, reason = "see above")]
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        to: &mut Segment,
        number: u32,
        flags: Flags,
        sack_count: u8,
        [is_pure, fits]: [bool; 2],
        now: Time,
    ) {
        let (ts, ts_echo) = if self.receiver.timestamps() {
            (now, self.receiver.ts_recent())
        } else {
            (Time::ZERO, Time::ZERO)
        };
        *to = Segment {
            ts,
            ts_echo,
            seq: number,
            ack: self.receiver.ack_number(),
            sack: [SackBlock::default(); 3],
            window: self.receiver.offer(),
            payload: 0,
            flags,
            sack_count,
        };
        if sack_count > 0 {
            to.sack = self.receiver.sacks();
        }
        if self.receiver.echo() && self.phase == Phase::Open {
            *to = self.echo(*to, is_pure, fits);
        }
        self.receiver.on_ack_sent();
    }
}
