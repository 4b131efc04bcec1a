//! A sender that does as one of ns-2's: packets of one size on the stream of bytes.

use super::ack::Acked;
use super::{Outgoing, Sender};
use crate::info::Counters;
use crate::{Span, Time};

impl Sender {
    /// Packets of what has been written, the FIN one of its own.
    fn ns2_packets(&self) -> u64 {
        // Offset 0 is the SYN's.
        let bytes = self.written.min(self.buffered) - 1;
        let fin = self.closing && self.written <= self.buffered;
        bytes.div_ceil(u64::from(self.mss)) + u64::from(fin)
    }

    pub(super) fn ns2_poll(&mut self, now: Time) -> Option<Outgoing> {
        let available = self.ns2_packets();
        let ns2 = self.ns2.as_mut()?;
        let sent = ns2.poll(available, now)?;
        self.timer.follow(ns2.timer);
        let mss = u64::from(self.mss);
        let offset = (1 + sent.packet * mss).min(self.written);
        let payload = mss.min(self.written - offset) as u16;
        let fin = payload == 0;
        self.fin_sent |= fin;
        // ns-2 goes back and sends again what it has sent: the furthest byte stays.
        self.next = self.next.max(offset + u64::from(payload) + u64::from(fin));
        self.data_segments += 1;
        Some(Outgoing {
            offset,
            payload,
            fin,
            push: offset + u64::from(payload) == self.written,
            retransmission: sent.again,
            reduced: false,
            fills: false,
        })
    }

    pub(super) fn ns2_ack(&mut self, ack: u64, echo: Time, now: Time) -> Acked {
        let prior = self.una;
        let packets = if ack > self.written {
            self.ns2_packets()
        } else {
            let bytes = ack.saturating_sub(1);
            // The last packet may be short.
            let whole = ack == self.written;
            (bytes + u64::from(whole) * (u64::from(self.mss) - 1)) / u64::from(self.mss)
        };
        let mut rtt = None;
        if let Some(ns2) = &mut self.ns2 {
            rtt = ns2.on_ack(packets, echo, now);
            self.timer.follow(ns2.timer);
        }
        self.una = self.una.max(ack);
        self.fill_buffer();
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, self.una, self.next);
            self.rtt.observe_min(rtt, now);
        }
        Acked {
            unacceptable: false,
            bytes: self.una - prior,
            rtt,
        }
    }

    pub(super) fn ns2_timeout(&mut self, now: Time) {
        if let Some(ns2) = &mut self.ns2 {
            ns2.on_timeout(now);
            self.timer.follow(ns2.timer);
        }
    }

    /// Random bits for what is decided by lot.
    pub(crate) fn seed(&mut self, bits: u64) {
        self.control.seed(bits);
        if let Some(ns2) = &mut self.ns2 {
            ns2.seed(bits);
        }
    }

    /// The slow-start threshold in segments.
    pub(crate) fn ssthresh(&self) -> u32 {
        let ns2 = self.ns2.as_ref();
        ns2.map_or_else(|| self.control.ssthresh(), |ns2| ns2.threshold())
    }

    /// The retransmission timeout with its backoff.
    pub(crate) fn rto(&self) -> Span {
        let ns2 = self.ns2.as_ref();
        ns2.map_or_else(|| self.rtt.rto(), |ns2| ns2.timeout())
    }

    /// Segments in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        let ns2 = self.ns2.as_ref();
        ns2.map_or_else(|| self.board.in_flight(), |ns2| ns2.in_flight())
    }

    /// What was counted, but for what every segment moves.
    pub(crate) fn counted(&self) -> Counters {
        let Some(ns2) = &self.ns2 else {
            return self.counters;
        };
        Counters {
            retransmitted: ns2.retransmitted,
            timeouts: ns2.timeouts,
            fast_recoveries: ns2.recoveries,
            ..self.counters
        }
    }
}
