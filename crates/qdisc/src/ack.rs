//! Which acknowledgements a newer one makes superfluous.
//!
//! Source: "Piece of CAKE" section III-F; RFC 9293, RFC 2018 (SACK), RFC 2883 (DSACK), RFC 7323
//! (timestamps), RFC 2385 (MD5); compared with Linux `sch_cake.c`.
//!
//! An acknowledgement may go only when the newer one tells all that it tells: it is pure (no
//! payload, no flag but ACK and ECN's), its options are known (MD5, SACK, timestamps), its number
//! and timestamp are not newer, its SACK blocks are all within the newer one's, and it is no
//! duplicate ACK and no DSACK. Blocks that the newer one acknowledges by its number alone do not
//! count: Linux compares the options (`cake_tcph_sack_compare`), and so an ACK with blocks stays
//! when the hole is filled.
//!
//! ECE and CWR are also two of the three bits of AccECN's counter of marks, ACE (RFC 9768 section
//! 3.2.2), whose third is AE. The last acknowledgement of each count stays, so that no two that are
//! left differ by more than they did, and the sender sees each round of the counter. One with AE
//! or AccECN's option never goes.
//!
//! Differs from Linux, which does not see a DSACK above the acknowledgement number, nor that AE
//! alone has changed.

sojourn_units::words! {
    /// How eagerly acknowledgements are dropped, with tc's words.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AckFilter {
        /// Never.
        #[default]
        Off = "no-ack-filter",
        /// Only when two could go: then the older of them does.
        Normal = "ack-filter",
        /// Also one alone, right before the newer one and with the same ECN flags.
        Aggressive = "ack-filter-aggressive",
    }
}

/// What a filter asks of a TCP header with the ACK flag. All numbers in host order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFacts {
    /// Acknowledgement number.
    pub ack: u32,
    /// Timestamp option: value and echo.
    pub timestamp: Option<(u32, u32)>,
    /// SACK blocks, the first `sacks` of which are valid: first number, number after the last.
    pub sack: [(u32, u32); 4],
    /// Number of SACK blocks.
    pub sacks: u8,
    /// The flag byte.
    pub flags: u8,
    /// The AE flag, which stands before that byte.
    pub ae: bool,
    /// Whether there is payload.
    pub payload: bool,
    /// Whether there is an option other than MD5, SACK and timestamps, a malformed one, or a flag
    /// before the flag byte, as AE.
    pub other_options: bool,
}

const ACK: u8 = 0x10;
const SYN: u8 = 0x02;
const ECN: u8 = 0xc0;

/// Whether `a` is not after `b` in sequence space.
const fn is_up_to(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a)).cast_signed() >= 0
}

impl AckFacts {
    fn blocks(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sacks.min(4))]
    }

    /// Whether it may make older ones superfluous. It may carry data.
    pub const fn is_trigger(&self) -> bool {
        self.flags & (ACK | SYN) == ACK
    }

    /// ECE, CWR and AE: with AccECN its counter.
    pub const fn ecn_flags(&self) -> (u8, bool) {
        (self.flags & ECN, self.ae)
    }

    /// RFC 2883 section 4: the first block reports a duplicate, as it lies at or below the
    /// acknowledgement number, or within the second block.
    fn is_dsack(&self) -> bool {
        match *self.blocks() {
            [(start, _), ..] if is_up_to(start, self.ack) => true,
            [(start, end), (from, to), ..] => is_up_to(from, start) && is_up_to(end, to),
            _ => false,
        }
    }

    /// Whether each of this one's SACK blocks is within one of `newer`.
    fn sack_is_within(&self, newer: &Self) -> bool {
        self.blocks().iter().all(|&(start, end)| {
            let covers = |&(from, to): &_| is_up_to(from, start) && is_up_to(end, to);
            newer.blocks().iter().any(covers)
        })
    }

    /// Numbers selectively acknowledged.
    fn sacked(&self) -> u64 {
        let span = |&(start, end): &(u32, u32)| u64::from(end.wrapping_sub(start));
        self.blocks().iter().map(span).sum()
    }

    /// Whether this one, older in the queue, tells nothing that `newer` does not tell.
    ///
    /// ```
    /// use sojourn_qdisc::AckFacts;
    /// let old = AckFacts { ack: 1000, flags: 0x10, ..AckFacts::default() };
    /// let new = AckFacts { ack: 2000, ..old };
    /// assert!(old.is_superseded_by(&new));
    /// // Duplicate ACKs are how a sender without SACK finds a loss.
    /// assert!(!old.is_superseded_by(&old));
    /// ```
    pub fn is_superseded_by(&self, newer: &Self) -> bool {
        if self.flags & !ECN != ACK || self.payload || self.other_options {
            return false;
        }
        if !is_up_to(self.ack, newer.ack) || self.is_dsack() || !self.sack_is_within(newer) {
            return false;
        }
        if self.ack == newer.ack && newer.sacked() <= self.sacked() {
            return false;
        }
        match (self.timestamp, newer.timestamp) {
            (Some((value, echo)), Some((new_value, new_echo))) => {
                is_up_to(value, new_value) && is_up_to(echo, new_echo)
            }
            (Some(_), None) => false,
            (None, _) => true,
        }
    }
}

#[cfg(test)]
mod tests;
