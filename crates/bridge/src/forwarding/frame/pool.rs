//! The memory that frames come from and return to.

use super::cut::Whole;
use super::{Bytes, Frame, HEAD, HEADROOM, Head, Inner, Own, Parsed, TAIL, VnetHeader};
use crate::sys::Chunk;
use sojourn_units::Time;
use std::sync::Arc;

/// Most frames that a port brings at once: for so many a pool has memory before they come.
pub const BATCH: usize = 64;

/// Bytes of a handle alone.
pub(super) const HANDLE: usize = size_of::<Inner>();
/// Bytes that a frame holds, beside its second part.
pub(super) const FRAME: usize = HANDLE + size_of::<Head>();
/// Smallest second part.
const LEAST_TAIL: usize = 4 * 1024;
/// Sizes of second parts: 4, 8, 16, 32 and 64 KiB.
const TAILS: usize = (TAIL / LEAST_TAIL).ilog2() as usize + 1;
/// Most places for what parts of super-packets share that are kept.
const WHOLES: usize = 256;
/// Bytes that a pool keeps for the next frames. What it gets back beyond that it gives back too.
pub(super) const SPARE: usize = 16 << 20;

/// Buffers, used again: in the usual run of things nothing is allocated per frame. A buffer fits
/// its frame, and all that is lent out is counted as what it takes.
#[derive(Debug)]
pub struct Pool {
    /// Handles without bytes.
    pub(super) spare: Vec<Frame>,
    #[expect(clippy::vec_box, reason = "frames take them over as they are")]
    pub(super) spare_heads: Vec<Box<Head>>,
    /// By size.
    pub(super) spare_tails: [Vec<Box<[u8]>>; TAILS],
    /// What parts of super-packets share, without bytes.
    spare_wholes: Vec<Arc<Whole>>,
    pub(super) spare_bytes: usize,
    /// Of AF_XDP's memory, for frames that are placed there.
    pub(super) chunks: Vec<Chunk>,
    out: usize,
    pub(super) bytes: usize,
    limit: usize,
    /// Bytes that have gone back to the allocator.
    freed: u64,
}

impl Pool {
    /// A pool that lends out up to `limit` frames of up to 2 KiB, or the memory of so many.
    pub fn new(limit: usize) -> Self {
        Self {
            spare: Vec::new(),
            spare_heads: Vec::new(),
            spare_wholes: Vec::new(),
            spare_tails: std::array::from_fn(|_| Vec::new()),
            spare_bytes: 0,
            chunks: Vec::new(),
            out: 0,
            bytes: 0,
            limit: limit.saturating_mul(FRAME),
            freed: 0,
        }
    }

    /// A pool that lends out up to `bytes`, and as much again as a port keeps ready to receive
    /// into: whole batches of the longest frames.
    pub(crate) fn of(bytes: u64) -> Self {
        let mut pool = Self::new(0);
        pool.set_limit(bytes);
        pool
    }

    /// Lends out so many bytes from now on, as [`Pool::of`] counts. What is lent out beyond that
    /// comes back in its own time.
    pub(crate) fn set_limit(&mut self, bytes: u64) {
        let ready = BATCH * (FRAME + TAIL);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.limit = bytes.saturating_add(ready);
    }

    /// An empty frame; none when all memory is lent out.
    pub(crate) fn take(&mut self) -> Option<Frame> {
        if !self.has_room(FRAME) {
            return None;
        }
        let mut frame = self.take_handle();
        self.bytes += size_of::<Head>();
        let spare = self.spare_heads.pop();
        if spare.is_some() {
            self.spare_bytes -= size_of::<Head>();
        }
        frame.0.bytes = Bytes::Own(Own {
            start: HEADROOM as u16,
            head: spare.unwrap_or_else(|| Box::new([0; HEADROOM + HEAD])),
            tail: None,
        });
        Some(frame)
    }

    /// A handle without bytes, for which there [is room](Self::has_room).
    pub(super) fn take_handle(&mut self) -> Frame {
        self.out += 1;
        self.bytes += HANDLE;
        if let Some(frame) = self.spare.pop() {
            self.spare_bytes -= HANDLE;
            return frame;
        }
        Frame(Box::new(Inner {
            parsed: Parsed::default(),
            arrived: Time::ZERO,
            size: 0,
            wire_len: 0,
            vnet: VnetHeader::default(),
            inside: None,
            mark: 0,
            class: 0,
            row: 0,
            hurries: false,
            circuit: 0,
            bytes: Bytes::Nowhere,
        }))
    }

    /// Whether so many bytes more can be lent out.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.saturating_add(bytes) <= self.limit
    }

    /// A place for what parts of a super-packet share.
    pub(super) fn take_whole(&mut self, whole: Whole) -> Arc<Whole> {
        let mut place = self.spare_wholes.pop().unwrap_or_default();
        match Arc::get_mut(&mut place) {
            Some(empty) => *empty = whole,
            None => place = Arc::new(whole),
        }
        place
    }

    /// A second part for this many bytes. There is always one: a frame has at most one, and the
    /// next frame is refused.
    pub(crate) fn take_tail(&mut self, len: usize) -> Box<[u8]> {
        let size = len.next_power_of_two().clamp(LEAST_TAIL, TAIL);
        self.bytes += size;
        let spare = self.spare_tails[Self::class(size)].pop();
        if spare.is_some() {
            self.spare_bytes -= size;
        }
        spare.unwrap_or_else(|| vec![0; size].into_boxed_slice())
    }

    fn class(size: usize) -> usize {
        (size / LEAST_TAIL).ilog2() as usize
    }

    /// Whether something of this size is to be kept for the next frame.
    fn keeps(&mut self, size: usize) -> bool {
        let keeps = self.spare_bytes + size <= SPARE;
        if keeps {
            self.spare_bytes += size;
        } else {
            self.freed += size as u64;
        }
        keeps
    }

    /// Takes a frame back, which came from this pool. With its last part a super-packet's memory
    /// comes back.
    pub fn give(&mut self, mut frame: Frame) {
        debug_assert!(self.out > 0, "more frames came back than were lent out");
        self.out -= 1;
        self.bytes -= HANDLE;
        match std::mem::replace(&mut frame.0.bytes, Bytes::Nowhere) {
            Bytes::Nowhere => {}
            Bytes::Own(own) => self.give_own(own),
            Bytes::Placed(placed) => {
                self.bytes -= placed.memory();
                self.chunks.push(placed.chunk);
            }
            Bytes::Part(part) => {
                let mut whole = part.into_whole();
                // Parts come back to one pool, one after the other, so that one is the last.
                if let Some(own) = Arc::get_mut(&mut whole).and_then(Whole::empty) {
                    self.give_own(own);
                    if self.spare_wholes.len() < WHOLES {
                        self.spare_wholes.push(whole);
                    }
                }
            }
        }
        if self.keeps(HANDLE) {
            self.spare.push(frame);
        }
    }

    fn give_own(&mut self, own: Own) {
        self.bytes -= own.memory();
        if let Some(tail) = own.tail
            && self.keeps(tail.len())
        {
            self.spare_tails[Self::class(tail.len())].push(tail);
        }
        if self.keeps(size_of::<Head>()) {
            self.spare_heads.push(own.head);
        }
    }

    /// Frames that are lent out.
    pub fn lent(&self) -> usize {
        self.out
    }

    /// Bytes that have gone back to the allocator since the pool was made.
    pub(crate) fn freed(&self) -> u64 {
        self.freed
    }

    /// Bytes that are lent out.
    pub(crate) fn lent_bytes(&self) -> u64 {
        self.bytes as u64
    }
}
