//! The sending half: how many marks the peer has counted since its last ACK.

use super::{FIRST_BYTES, FIRST_CEP, RESERVED, unreflected};
use crate::Codepoint;
use crate::Time;
use crate::config::AccEcnRule;
use crate::segment::{AccEcnOption, Segment};

/// Linux `ACK_COMP_THRESH`, in 64ths: more packets than these an ACK show that ACKs are thinned
/// out.
const THINNED: u32 = 4 << 6;

/// Newly marked, by one ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marked {
    /// Packets.
    pub(crate) packets: u32,
    /// Bytes, if the option told them.
    pub(crate) bytes: Option<u64>,
}

/// The sender of AccECN (its counters s.cep, s.e0b, s.ceb and s.e1b).
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    cep: u64,
    /// ECT(0), CE and ECT(1).
    bytes: [u64; 3],
    /// `cep` when an option was last read, up to which it tells of bytes.
    cep_at_option: u64,
    /// The newest timestamp whose counters were read.
    newest: Time,
    /// Data may be sent as ECN-capable: nothing speaks against the path (sections 3.2.2.3 and
    /// 3.2.2.4).
    capable: bool,
    /// Marks that the peer tells of mean something.
    responds: bool,
    /// The ACE field of the ACK that is read next, and whether it is the handshake's.
    ace: u8,
    of_handshake: bool,
    /// The first counter after the handshake has come; the first option has.
    began: bool,
    saw_option: bool,
    ignores_options: bool,
    /// What the handshake says must fit what was sent.
    pub(crate) checks_handshake: bool,
    /// Counters are read as Linux reads them.
    is_linux: bool,
    /// Packets that an ACK delivers on average, in 64ths (Linux `pkts_acked_ewma`).
    delivered_average: u32,
}

impl Counter {
    pub(crate) fn new(rule: AccEcnRule) -> Self {
        Self {
            checks_handshake: true,
            is_linux: rule != AccEcnRule::Rfc9768,
            delivered_average: 0,
            cep: FIRST_CEP,
            bytes: FIRST_BYTES,
            cep_at_option: FIRST_CEP,
            newest: Time::ZERO,
            capable: true,
            responds: true,
            ace: 0,
            of_handshake: false,
            began: false,
            saw_option: false,
            ignores_options: false,
        }
    }

    /// Whether data may be sent as ECN-capable.
    pub(crate) fn is_capable(&self) -> bool {
        self.capable
    }

    /// From now on nothing is sent as ECN-capable.
    pub(crate) fn give_up(&mut self) {
        self.capable = false;
    }

    /// Marked packets of which the peer has told, the handshake's included.
    pub(crate) fn marked(&self) -> u64 {
        self.cep - FIRST_CEP
    }

    /// Bytes of which the peer has told, with ECT(0), CE and ECT(1).
    pub(crate) fn bytes(&self) -> [u64; 3] {
        let [ect0, ce, ect1] = self.bytes;
        let [from0, from_ce, from1] = FIRST_BYTES;
        [ect0 - from0, ce - from_ce, ect1 - from1]
    }

    /// A client reads what a SYN-ACK says of its SYN, which was sent without ECN. Returns whether
    /// it was marked.
    pub(crate) fn read_syn_ack(&mut self, syn_ack: &Segment) -> bool {
        let ace = syn_ack.flags.ace();
        self.read_option(syn_ack);
        self.test_transition(if ace == RESERVED {
            None
        } else {
            unreflected(ace)
        })
    }

    /// A server reads the pure ACK of its SYN-ACK, which was sent without ECN (table 4). Returns
    /// whether it was marked.
    pub(crate) fn read_last_ack(&mut self, ack: &Segment) -> bool {
        self.of_handshake = true;
        let ace = ack.flags.ace();
        if ace == 0 {
            self.capable = false;
            self.responds = false;
        }
        let marked = self.test_transition(unreflected(ace));
        self.cep += u64::from(marked);
        marked
    }

    /// What was sent without ECN must arrive without (RFC 3168 section 18).
    fn test_transition(&mut self, arrived: Option<Codepoint>) -> bool {
        self.capable &= !self.checks_handshake
            || arrived.is_none_or(|codepoint| codepoint == Codepoint::NotEct);
        arrived == Some(Codepoint::Ce)
    }

    /// The ACE field of the ACK that is read next.
    pub(crate) fn note_ace(&mut self, ace: u8) {
        self.ace = ace;
    }

    /// Reads an ACK that newly acknowledges so many packets, or none. `progress`: it acknowledges
    /// something. `mss`: payload of a full segment.
    pub(crate) fn read(
        &mut self,
        ack: &Segment,
        progress: bool,
        delivered: u32,
        mss: u16,
    ) -> Marked {
        // Otherwise an older ACK may have come late.
        if !progress && ack.ts <= self.newest && (self.began || self.is_linux) {
            self.of_handshake = false;
            return Marked::default();
        }
        self.note_delivered(delivered);
        self.newest = self.newest.max(ack.ts);
        let bytes = self.read_option(ack);
        if core::mem::take(&mut self.of_handshake) {
            return Marked::default();
        }
        let ace = self.ace;
        let tells = bytes.is_some_and(|bytes| bytes > 0);
        if !core::mem::replace(&mut self.began, true) && ace == 0 && (delivered < 3 || !tells) {
            // Three marks would make it zero, of which this ACK cannot tell.
            self.capable = false;
            self.responds = false;
        }
        let delta = u32::from(ace.wrapping_sub(self.cep as u8) & 7);
        let uncounted = self.cep - self.cep_at_option;
        let packets = match bytes {
            // More bytes are marked, but no more packets, and too few for a wrapped counter:
            // something has mangled one of them (section 3.2.3.2.5).
            Some(bytes)
                if tells
                    && uncounted + u64::from(delta) == 0
                    && delivered < 8
                    && bytes <= 7 * u64::from(mss) =>
            {
                self.capable = false;
                0
            }
            Some(bytes) => unwrapped_by_bytes(delta, uncounted, bytes, mss),
            // The next option will tell.
            None if self.saw_option && !self.ignores_options => delta,
            // ACKs are thinned out on the way: so many packets do not speak for marks.
            None if self.is_linux && self.delivered_average > THINNED => delta,
            None => unwrapped(delta, delivered),
        };
        self.cep += u64::from(packets);
        if bytes.is_some() {
            self.cep_at_option = self.cep;
        }
        if self.responds {
            Marked { packets, bytes }
        } else {
            Marked::default()
        }
    }

    /// Linux `__tcp_accecn_process`: an average with a weight of 1/64.
    fn note_delivered(&mut self, delivered: u32) {
        let sample = delivered << 6;
        self.delivered_average = match (delivered, self.delivered_average) {
            (0, average) => average,
            (_, 0) => sample,
            (_, average) => ((average << 6) - average + sample) >> 6,
        }
        .min(u32::from(u16::MAX));
    }

    /// Reads the option, if there is one. Returns how many bytes more are marked.
    fn read_option(&mut self, segment: &Segment) -> Option<u64> {
        let option = segment.accecn()?;
        if !core::mem::replace(&mut self.saw_option, true) {
            // Where these begin is never zero (section 3.2.3.2.4).
            let order = [option.fields().first(), option.fields().get(2)];
            self.ignores_options = order.contains(&Some(&0));
        }
        if self.ignores_options {
            return None;
        }
        let order = if option.ect1_first {
            [2, 1, 0]
        } else {
            [0, 1, 2]
        };
        let before = self.bytes[1];
        for (&field, counter) in option.fields().iter().zip(order) {
            let more = field.wrapping_sub(self.bytes[counter] as u32) & AccEcnOption::MASK;
            self.bytes[counter] += u64::from(more);
        }
        Some(self.bytes[1] - before)
    }
}

/// How many packets were marked, if three bits of the count have grown by `delta`: as few as hold
/// the bytes that were marked since the last option, `counted` packets of which are counted. Also
/// more than were newly acknowledged, as some may have come twice.
fn unwrapped_by_bytes(delta: u32, counted: u64, bytes: u64, mss: u16) -> u32 {
    let full = bytes.div_ceil(u64::from(mss.max(1)));
    let missing = full.saturating_sub(counted + u64::from(delta));
    let rounds = u32::try_from(missing.div_ceil(8)).unwrap_or(u32::MAX);
    delta.saturating_add(rounds.saturating_mul(8))
}

/// As many as may be, if `delivered` were newly acknowledged (appendix A.2).
fn unwrapped(delta: u32, delivered: u32) -> u32 {
    if delivered < 8 {
        return delta;
    }
    delivered - ((delivered - delta) & 7)
}
