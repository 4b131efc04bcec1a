//! Numbers of the format, for writing and reading.

/// Block types.
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
/// The packet block of before 2004.
pub(crate) const OLD_PACKET: u32 = 2;
pub(crate) const SIMPLE_PACKET: u32 = 3;
pub(crate) const STATISTICS: u32 = 5;
pub(crate) const ENHANCED_PACKET: u32 = 6;

/// First word of a section: tells the byte order.
pub(crate) const BYTE_ORDER: u32 = 0x1a2b_3c4d;

/// Options, each within its own block.
pub(crate) mod option {
    pub(crate) const END: u16 = 0;
    pub(crate) const COMMENT: u16 = 1;
    /// Section: the program that wrote it.
    pub(crate) const APPLICATION: u16 = 4;
    pub(crate) const IF_NAME: u16 = 2;
    pub(crate) const IF_DESCRIPTION: u16 = 3;
    /// A power of ten, or with the highest bit set of two.
    pub(crate) const IF_RESOLUTION: u16 = 9;
    /// Seconds to be added to every time stamp.
    pub(crate) const IF_OFFSET: u16 = 14;
    /// Enhanced packet: direction in the lowest two bits.
    pub(crate) const FLAGS: u16 = 2;
    /// Statistics: packets received, and lost by the capture itself.
    pub(crate) const RECEIVED: u16 = 4;
    pub(crate) const OS_DROPPED: u16 = 7;
}

/// Bytes up to the next multiple of four.
pub(crate) const fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}
