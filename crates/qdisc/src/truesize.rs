//! What a packet takes of a host's memory, as Linux counts it (`skb->truesize`): the unit of
//! `memory_limit` and `memlimit`.
//! Source: Linux 6.1, `__alloc_skb`, `SKB_TRUESIZE`, `sk_page_frag_refill`; sizes of a 64-bit
//! machine.
//!
//! Not here: what a driver's receive buffers add to packets that come from a card. Those sizes are
//! the card's, not the protocol's.

/// `sk_buff`, aligned to a cache line.
const SK_BUFF: u32 = 256;
/// `skb_shared_info`, behind the bytes of a packet.
const SHARED_INFO: u32 = 320;
/// Room before a packet for a link's header (`LL_RESERVED_SPACE` of Ethernet), and what
/// `__ip_append_data` asks for in addition, less the Ethernet header that a length includes.
const SPARE: u32 = 16 + 15 - 14;
/// Lines of the processor's cache, to which a packet's bytes are rounded up.
const LINE: u32 = 64;
/// What a segment of TCP takes beside its payload, which lies in pages of its own: `sk_buff` and
/// the smallest piece that holds `MAX_TCP_HEADER` and [`SHARED_INFO`].
const TCP_OVERHEAD: u32 = SK_BUFF + 512;

/// Bytes of memory of a packet of `len` bytes with its Ethernet header, in one piece: datagrams.
/// Pieces are powers of two (`kmalloc`).
///
/// ```
/// use sojourn_qdisc::truesize;
/// assert_eq!([100, 314, 1514].map(truesize::of_datagram), [768, 1280, 2304]);
/// ```
pub const fn of_datagram(len: u32) -> u32 {
    let bytes = len
        .saturating_add(SPARE)
        .div_ceil(LINE)
        .saturating_mul(LINE);
    match bytes
        .saturating_add(SHARED_INFO)
        .checked_next_power_of_two()
    {
        Some(piece) => piece.saturating_add(SK_BUFF),
        None => u32::MAX,
    }
}

/// Bytes of memory of a TCP segment, or of several in one super-packet, with `payload` bytes.
///
/// ```
/// use sojourn_qdisc::truesize;
/// assert_eq!([0, 1448].map(truesize::of_segment), [768, 2216]);
/// ```
pub const fn of_segment(payload: u32) -> u32 {
    payload.saturating_add(TCP_OVERHEAD)
}
