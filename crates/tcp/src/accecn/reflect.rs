//! The receiving half: counts what arrives, and tells the peer.

use super::{FIRST_BYTES, FIRST_CEP, reflected};
use crate::Codepoint;
use crate::config::AccEcnRule;
use crate::segment::{AccEcnOption, Segment};

/// Room that data leaves for the longest option.
const LONGEST: u16 = AccEcnOption::len(3);
/// Marks since the last ACK that make a receiver acknowledge at once (section 3.2.2.5.1): with
/// unacknowledged data, and without.
const PROMPT: u32 = 2;
const PROMPT_OF_ACKS: u32 = 3;
/// Linux `TCP_ACCECN_ACE_MAX_DELTA`.
const PROMPT_OF_LINUX: u32 = 6;

/// Indices of the byte counters, in order 0.
const ECT0: usize = 0;
const CE: usize = 1;
const ECT1: usize = 2;

/// The receiver of AccECN (its counters r.cep, r.e0b, r.ceb and r.e1b).
#[derive(Clone, Debug)]
pub(crate) struct Reflector {
    cep: u64,
    bytes: [u64; 3],
    /// The byte counters as the last options told them.
    told: [u64; 3],
    /// Marks since the last ACK.
    untold: u32,
    was_ce: bool,
    /// ECT(1) came after ECT(0).
    ect1_last: bool,
    /// What the IP header of the peer's SYN or SYN-ACK said.
    handshake: Codepoint,
    /// The next pure ACK tells that.
    tells_handshake: bool,
    /// An option goes with the next pure ACK, and with the next data, whether or not it has news:
    /// whether the path lets it through must be known (section 3.2.3.2.1).
    tries: [bool; 2],
    pub(crate) rule: AccEcnRule,
    /// The peer has sent an option: Linux sends one only then.
    peer_sends: bool,
    /// The fields that have changed since the last option end here (Linux `accecn_minlen`).
    needed: u8,
    /// What arrived last (Linux `prev_ecnfield`).
    last: Codepoint,
    /// The last option went with a report of a duplicate that begins here (Linux
    /// `accecn_opt_sent_w_dsack`), or was it lost?
    reported: Option<u32>,
    gave_up: bool,
}

impl Reflector {
    /// The peer's SYN or SYN-ACK had this in its IP header.
    pub(crate) fn new(handshake: Codepoint, is_client: bool, rule: AccEcnRule) -> Self {
        let mut reflector = Self {
            cep: FIRST_CEP,
            bytes: FIRST_BYTES,
            told: FIRST_BYTES,
            untold: 0,
            was_ce: false,
            ect1_last: false,
            handshake,
            tells_handshake: false,
            tries: [is_client; 2],
            rule,
            peer_sends: false,
            needed: 0,
            last: handshake,
            reported: None,
            gave_up: false,
        };
        if is_client {
            reflector.note_syn_ack(handshake);
        }
        reflector
    }

    /// A SYN-ACK has come, perhaps once more. Of those that are marked one counts.
    pub(crate) fn note_syn_ack(&mut self, codepoint: Codepoint) {
        self.handshake = codepoint;
        self.tells_handshake = true;
        if codepoint == Codepoint::Ce && self.cep == FIRST_CEP {
            self.cep += 1;
        }
    }

    /// Another SYN has come.
    pub(crate) fn note_syn(&mut self, codepoint: Codepoint) {
        self.handshake = codepoint;
    }

    /// The peer has sent an option.
    pub(crate) fn note_option(&mut self) {
        self.peer_sends = true;
    }

    /// What the latest SYN or SYN-ACK had in its IP header.
    pub(crate) fn handshake(&self) -> Codepoint {
        self.handshake
    }

    /// Marked packets that have come, the handshake's included.
    pub(crate) fn marked(&self) -> u64 {
        self.cep - FIRST_CEP
    }

    /// Bytes that have come with ECT(0), CE and ECT(1).
    pub(crate) fn bytes(&self) -> [u64; 3] {
        let [ect0, ce, ect1] = self.bytes;
        let [from0, from_ce, from1] = FIRST_BYTES;
        [ect0 - from0, ce - from_ce, ect1 - from1]
    }

    /// Counts a packet. Returns whether it must be acknowledged at once. `unacknowledged`: there is
    /// data that no ACK has covered.
    pub(crate) fn note(
        &mut self,
        codepoint: Codepoint,
        payload: u16,
        unacknowledged: bool,
    ) -> bool {
        let is_ce = codepoint == Codepoint::Ce;
        let changed = is_ce && !self.was_ce && payload > 0;
        self.was_ce = is_ce;
        self.cep += u64::from(is_ce);
        self.untold += u32::from(is_ce);
        let counter = match codepoint {
            Codepoint::NotEct => None,
            Codepoint::Ect0 => Some(ECT0),
            Codepoint::Ce => Some(CE),
            Codepoint::Ect1 => Some(ECT1),
        };
        if let Some(counter) = counter
            && payload > 0
        {
            self.bytes[counter] += u64::from(payload);
            if counter != CE {
                self.ect1_last = counter == ECT1;
            }
        }
        if self.rule != AccEcnRule::Rfc9768 {
            return self.note_as_linux(codepoint, payload);
        }
        let prompt = if unacknowledged {
            PROMPT
        } else {
            PROMPT_OF_ACKS
        };
        changed || (is_ce && self.untold >= prompt)
    }

    /// Linux `tcp_ecn_received_counters`: acknowledges data at once whose mark is another than that
    /// of the packet before, and much that is marked.
    fn note_as_linux(&mut self, codepoint: Codepoint, payload: u16) -> bool {
        let changed = core::mem::replace(&mut self.last, codepoint) != codepoint;
        if payload == 0 {
            return false;
        }
        let field = match codepoint {
            Codepoint::NotEct => 0,
            Codepoint::Ect1 => 1,
            Codepoint::Ce => 2,
            Codepoint::Ect0 => 3,
        };
        self.needed = self.needed.max(field);
        changed || self.untold >= PROMPT_OF_LINUX
    }

    /// Whether each segment takes an option (Linux `tcp_established_options`).
    fn always(&self) -> bool {
        self.rule == AccEcnRule::Linux && self.peer_sends && !self.gave_up
    }

    /// Writes the option of Linux, which it puts on every segment (`tcp_options_fit_accecn`): as
    /// many fields as fit, but none if those that have changed do not.
    fn encode_as_linux(&mut self, segment: &mut Segment, fits: bool) {
        let [first, ..] = *segment.sack_blocks() else {
            self.reported = None;
            return self.put_as_linux(segment, fits);
        };
        let before = first.start.wrapping_sub(segment.ack).cast_signed() < 0;
        let report = before.then_some(first.start);
        // What an option went with has come again: the path loses segments with options.
        self.gave_up |= report.is_some() && report == self.reported;
        self.reported = report.filter(|_| self.always());
        self.put_as_linux(segment, fits);
    }

    fn put_as_linux(&mut self, segment: &mut Segment, fits: bool) {
        if !fits || !self.always() {
            return;
        }
        let blocks = segment.sack_blocks().len();
        let mut kept = blocks;
        let mut room = segment.accecn_room_beside(kept);
        if room.is_none() && self.needed > 0 {
            kept -= 1;
            room = segment.accecn_room_beside(kept);
        }
        let Some(count) = room.filter(|&count| count >= self.needed) else {
            return;
        };
        segment.sack_count = kept as u8;
        let [ect0, ce, ect1] = self.bytes;
        segment.set_accecn(&AccEcnOption {
            ect1_first: true,
            count,
            fields: [ect1, ce, ect0].map(|bytes| bytes as u32 & AccEcnOption::MASK),
        });
        self.needed = 0;
    }

    /// Bytes that the next segment of data must leave free for the option.
    pub(crate) fn reserve(&self) -> u16 {
        if self.rule != AccEcnRule::Rfc9768 {
            return if self.always() { LONGEST } else { 0 };
        }
        if self.tries[1] || self.bytes != self.told {
            LONGEST
        } else {
            0
        }
    }

    /// Writes the ACE field, and the option if it is due: `is_pure` without data, `fits` if there
    /// is room for it.
    pub(crate) fn encode(&mut self, segment: &mut Segment, is_pure: bool, fits: bool) {
        let blocks = segment.sack_blocks().len();
        let ace = if self.tells_handshake && is_pure && blocks == 0 {
            self.tells_handshake = false;
            reflected(self.handshake)
        } else {
            self.cep as u8 & 7
        };
        segment.flags = segment.flags.with_ace(ace);
        self.untold = 0;
        if self.rule != AccEcnRule::Rfc9768 {
            return self.encode_as_linux(segment, fits);
        }
        let tries = core::mem::take(&mut self.tries[usize::from(!is_pure)]);
        if !fits || !(tries || self.bytes != self.told) {
            return;
        }
        // Loss is more important than marks: two blocks, but not three, go before the option.
        if blocks > 2 {
            segment.sack_count = 2;
        }
        match self.option(blocks.min(2), tries) {
            Some(option) => {
                segment.set_accecn(&option);
                self.note_told(&option);
            }
            None => segment.sack_count = blocks as u8,
        }
    }

    /// The option beside so many SACK blocks; none if what has changed does not fit. `all`: with
    /// fields that have never changed.
    fn option(&self, blocks: usize, all: bool) -> Option<AccEcnOption> {
        let most = Segment::accecn_room(blocks, true)?;
        let order = |ect1_first: bool| {
            let [ect0, ce, ect1] = [ECT0, CE, ECT1];
            if ect1_first {
                [ect1, ce, ect0]
            } else {
                [ect0, ce, ect1]
            }
        };
        // What has been counted last is most likely to change.
        [self.ect1_last, !self.ect1_last]
            .into_iter()
            .find_map(|ect1_first| {
                let order = order(ect1_first);
                let past = |keep: &dyn Fn(usize) -> bool| {
                    let last = order.iter().rposition(|&counter| keep(counter));
                    last.map_or(0, |last| last as u8 + 1)
                };
                let needed = past(&|counter| self.bytes[counter] != self.told[counter]);
                let wanted = past(&|counter| all || self.bytes[counter] != FIRST_BYTES[counter]);
                (needed <= most).then(|| AccEcnOption {
                    ect1_first,
                    count: wanted.min(most),
                    fields: order.map(|counter| self.bytes[counter] as u32 & AccEcnOption::MASK),
                })
            })
    }

    /// The option of a SYN-ACK: where the counters begin.
    pub(crate) fn first_option(rule: AccEcnRule) -> Option<AccEcnOption> {
        let [first, second, third] = FIRST_BYTES.map(|bytes| bytes as u32);
        (rule != AccEcnRule::LinuxWithoutOption).then_some(AccEcnOption {
            ect1_first: rule == AccEcnRule::Linux,
            count: 3,
            fields: [first, second, third],
        })
    }

    fn note_told(&mut self, option: &AccEcnOption) {
        let order = if option.ect1_first {
            [ECT1, CE, ECT0]
        } else {
            [ECT0, CE, ECT1]
        };
        for &counter in &order[..usize::from(option.count)] {
            self.told[counter] = self.bytes[counter];
        }
    }
}
