//! A TCP segment as the model carries it: 56 bytes, so that a simulated packet is a cache line.

use sojourn_units::Time;

/// The flags of the TCP header that the model uses (RFC 9293 section 3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset.
    pub const RST: Self = Self(0x04);
    /// Push: the last segment of a write.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement field is valid.
    pub const ACK: Self = Self(0x10);
    /// Accurate ECN (RFC 9768). It stands in the bit of URG, which the model does not use; see
    /// [`Flags::bits`].
    pub const AE: Self = Self(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// Whether all of `other`'s flags are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of an established connection: an ACK, and neither SYN nor RST.
    pub(crate) const fn is_established(self) -> bool {
        self.0 & (Self::ACK.0 | Self::SYN.0 | Self::RST.0) == Self::ACK.0
    }

    /// Neither the end of the stream nor an answer to marks.
    pub(crate) const fn is_plain(self) -> bool {
        self.0 & (Self::FIN.0 | Self::CWR.0) == 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// None of `others` set.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// The header's flags as they stand on the wire: AE is the lowest bit of the byte before.
    pub const fn bits(self) -> u16 {
        let ae = (self.0 & Self::AE.0) as u16;
        (self.0 & !Self::AE.0) as u16 | ae << 3
    }

    /// AE, CWR and ECE as a number of three bits (RFC 9768 section 3.2.2).
    pub const fn ace(self) -> u8 {
        (self.0 & Self::AE.0) >> 3 | self.0 >> 6
    }

    /// With AE, CWR and ECE from the lowest three bits of `ace`, and no others of these.
    #[must_use]
    pub const fn with_ace(self, ace: u8) -> Self {
        let others = self.0 & !(Self::AE.0 | Self::CWR.0 | Self::ECE.0);
        Self(others | (ace & 4) << 3 | (ace & 3) << 6)
    }
}

/// One SACK block: `start..end` has arrived (RFC 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: u32,
    /// The sequence number after the block.
    pub end: u32,
}

/// The AccECN option (RFC 9768 section 3.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption {
    /// Order 1 (kind 174): ECT(1), CE, ECT(0). Otherwise order 0 (kind 172): ECT(0), CE, ECT(1).
    pub ect1_first: bool,
    /// Number of fields, 0 to 3.
    pub count: u8,
    /// The fields in their order, 24 bits each.
    pub fields: [u32; 3],
}

impl AccEcnOption {
    /// Bits of a field.
    pub(crate) const MASK: u32 = (1 << 24) - 1;

    /// Bytes of the option with its padding.
    pub const fn len(count: u8) -> u16 {
        // Kind and length, three bytes a field, and padding to whole words.
        (2 + 3 * count as u16).next_multiple_of(4)
    }

    /// Its kind on the wire.
    pub const fn kind(&self) -> u8 {
        if self.ect1_first { 174 } else { 172 }
    }

    /// The fields that are there.
    pub fn fields(&self) -> &[u32] {
        &self.fields[..usize::from(self.count.min(3))]
    }
}

/// A segment without its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Timestamp option: when this was sent (RFC 7323, with the model's nanoseconds).
    pub ts: Time,
    /// Timestamp option: echo of the peer's `ts`; zero when there is none.
    pub ts_echo: Time,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// SACK blocks, of which [`Segment::sack_blocks`] gives the valid ones; the last may hold the
    /// AccECN option instead. Beside two or three of them it stands in place of the timestamps of a
    /// segment that has none ([`Segment::echo`]).
    pub sack: [SackBlock; 3],
    /// Receive window in bytes, scaling done.
    pub window: u32,
    /// Payload in bytes.
    pub payload: u16,
    /// Header flags.
    pub flags: Flags,
    /// Options of varying length: the number of valid SACK blocks, 0 to 3, in the lowest two bits.
    /// What stands above tells of the AccECN option, which [`Segment::accecn`] reads.
    pub sack_count: u8,
}

/// Of [`Segment::sack_count`]: the number of SACK blocks, that there is an AccECN option, its
/// order, and where its number of fields begins.
const BLOCKS: u8 = 0x03;
const ACCECN: u8 = 0x04;
const ECT1_FIRST: u8 = 0x08;
const FIELDS_AT: u8 = 4;
/// Where its number of fields ends: then, that the fields stand in place of the timestamps.
const FIELDS: u8 = 0x03;
const IN_STAMPS: u8 = 0x40;

impl Segment {
    /// The valid SACK blocks.
    pub fn sack_blocks(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_count & BLOCKS)]
    }

    /// The AccECN option, if the segment has one.
    pub fn accecn(&self) -> Option<AccEcnOption> {
        let word = self.sack_count;
        let [_, second, third] = self.sack;
        let fields = if word & IN_STAMPS == 0 {
            [third.start, third.end, second.end]
        } else {
            let [first, third] = [self.ts, self.ts_echo].map(Time::as_nanos);
            [(first >> 32) as u32, first as u32, third as u32]
        };
        (word & ACCECN != 0).then_some(AccEcnOption {
            ect1_first: word & ECT1_FIRST != 0,
            count: word >> FIELDS_AT & FIELDS,
            fields,
        })
    }

    /// The echo of a timestamp; zero when there is none.
    pub const fn echo(&self) -> Time {
        if self.sack_count & IN_STAMPS == 0 {
            self.ts_echo
        } else {
            Time::ZERO
        }
    }

    /// Whether it has timestamps. A SYN at time zero has none.
    fn has_stamps(&self) -> bool {
        self.ts != Time::ZERO || self.ts_echo != Time::ZERO
    }

    /// Most fields of an AccECN option that fit into the header beside so many SACK blocks; none if
    /// not even an empty one does. `stamps`: beside timestamps.
    pub(crate) const fn accecn_room(blocks: usize, stamps: bool) -> Option<u8> {
        match (blocks, stamps) {
            (0 | 1, _) | (_, false) => Some(3),
            (2, true) => Some(2),
            _ => None,
        }
    }

    /// The same beside the blocks and timestamps that are there.
    pub(crate) fn accecn_room_beside(&self, blocks: usize) -> Option<u8> {
        Self::accecn_room(blocks, self.has_stamps())
    }

    /// Puts the option in, which [`Segment::accecn_room`] must have allowed.
    pub(crate) fn set_accecn(&mut self, option: &AccEcnOption) {
        let blocks = self.sack_count & BLOCKS;
        let room = self.accecn_room_beside(blocks.into());
        debug_assert!(room.is_some_and(|most| option.count <= most));
        let order = if option.ect1_first { ECT1_FIRST } else { 0 };
        self.sack_count = blocks | ACCECN | order | option.count << FIELDS_AT;
        let [first, second, third] = option.fields;
        if blocks > 2 || (blocks == 2 && option.count > 2) {
            self.sack_count |= IN_STAMPS;
            self.ts = Time::from_nanos(u64::from(first) << 32 | u64::from(second));
            self.ts_echo = Time::from_nanos(third.into());
            return;
        }
        self.sack[2] = SackBlock {
            start: first,
            end: second,
        };
        if option.count > 2 {
            self.sack[1].end = third;
        }
    }

    /// Puts an AccECN option in; false if it does not fit beside the SACK blocks.
    pub fn with_accecn(&mut self, option: &AccEcnOption) -> bool {
        let room = self.accecn_room_beside(self.sack_blocks().len());
        let fits = room.is_some_and(|most| option.count <= most);
        if fits {
            self.set_accecn(option);
        }
        fits
    }

    /// Bytes of the options of varying length: SACK and AccECN.
    #[expect(clippy::inline_always, reason = "most segments have none")]
    #[inline(always)]
    pub fn varying_len(&self) -> u16 {
        match self.sack_count {
            0 => 0,
            _ => self.options_len(),
        }
    }

    #[inline(never)]
    fn options_len(&self) -> u16 {
        let blocks = self.sack_count & BLOCKS;
        let sack = crate::Config::sack_len(blocks);
        if self.sack_count == blocks {
            return sack;
        }
        sack + self
            .accecn()
            .map_or(0, |option| AccEcnOption::len(option.count))
    }
}

const _: () = assert!(size_of::<Segment>() == 56);
