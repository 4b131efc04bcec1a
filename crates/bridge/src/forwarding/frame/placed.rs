//! Frames that stay in the memory of AF_XDP sockets, where they were received.

use super::pool::HANDLE;
use super::{Bytes, Frame, Placed, Pool, VlanTag, VnetHeader};
use crate::sys::{Arrived, Chunk};
use sojourn_units::Time;

/// Chunks that are kept for frames whose bytes are elsewhere: those need one to be sent.
const KEPT: usize = 128;

impl Frame {
    /// The frame that has arrived, where it lies as long as chunks are left for what comes after
    /// it, and else as [`Frame::received`]. None without memory for it.
    pub(crate) fn placed(
        pool: &mut Pool,
        arrived: Arrived,
        tag: Option<VlanTag>,
        at: Time,
    ) -> Option<Self> {
        if pool.chunks.len() <= KEPT || !pool.has_room(HANDLE + arrived.chunk.len()) {
            let frame = Self::received(pool, arrived.bytes(), tag, at);
            pool.chunks.push(arrived.chunk);
            return frame;
        }
        let Arrived { chunk, start, len } = arrived;
        let placed = Placed { chunk, start };
        let mut frame = pool.take_handle();
        pool.bytes += placed.memory();
        frame.0.bytes = Bytes::Placed(placed);
        frame.filled(len, VnetHeader::default(), tag, at);
        Some(frame)
    }
}

impl Pool {
    /// Takes chunks over, which it has for frames from now on.
    pub(crate) fn add_chunks(&mut self, chunks: impl IntoIterator<Item = Chunk>) {
        self.chunks.extend(chunks);
    }

    /// The chunks that nobody has.
    pub(crate) fn chunks(&mut self) -> &mut Vec<Chunk> {
        &mut self.chunks
    }

    /// Takes a frame back, but for the chunk with its bytes, and tells where they begin there: the
    /// one that it lies in, else one that they are copied to from `start` on.
    ///
    /// # Errors
    /// The frame, when there is no chunk, or it does not fit into one.
    pub(crate) fn give_for_chunk(
        &mut self,
        mut frame: Frame,
        start: usize,
    ) -> Result<(Chunk, usize), Frame> {
        if let Bytes::Placed(_) = &frame.0.bytes
            && let Bytes::Placed(placed) = std::mem::replace(&mut frame.0.bytes, Bytes::Nowhere)
        {
            self.bytes -= placed.memory();
            self.give(frame);
            return Ok((placed.chunk, placed.start));
        }
        let Some(mut chunk) = self.chunks.pop() else {
            return Err(frame);
        };
        if start + frame.size() as usize > chunk.len() {
            self.chunks.push(chunk);
            return Err(frame);
        }
        frame.copy_front(&mut chunk.bytes_mut()[start..]);
        self.give(frame);
        Ok((chunk, start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{Layout, META, SEND_AT, XdpSockets};

    /// A pool with so many chunks.
    fn pool(chunk: u32, count: usize) -> Pool {
        let layout = Layout {
            chunk,
            receive: 64,
            receive_copies: 64,
            send: 64,
            copies: true,
        };
        let (_, chunks) = XdpSockets::new(layout, count as u32).expect("there is memory");
        let mut pool = Pool::new(1000);
        pool.add_chunks(chunks);
        pool
    }

    /// These bytes in a chunk of the pool, where the kernel puts them.
    fn arrived(pool: &mut Pool, bytes: &[u8]) -> Arrived {
        let (mut chunk, start) = (pool.chunks().pop().expect("there is one"), 256);
        chunk.bytes_mut()[start - META..start].fill(0xff);
        chunk.bytes_mut()[start..start + bytes.len()].copy_from_slice(bytes);
        Arrived {
            chunk,
            start,
            len: bytes.len(),
        }
    }

    fn pattern(len: usize) -> Vec<u8> {
        (0..len).map(|at| (at % 251) as u8).collect()
    }

    #[test]
    fn a_frame_leaves_from_where_it_was_received() {
        let mut pool = pool(2048, KEPT + 2);
        let bytes = pattern(1514);
        let arrived = arrived(&mut pool, &bytes);
        let place = arrived.chunk.bytes().as_ptr();
        let tag = VlanTag {
            protocol: 0x8100,
            tci: 7,
        };
        let frame = Frame::placed(&mut pool, arrived, Some(tag), Time::ZERO).unwrap();
        let tagged = [&bytes[..12], &[0x81, 0, 0, 7], &bytes[12..]].concat();
        assert_eq!(frame.parts(), [&tagged[..], &[], &[]]);
        assert_eq!(frame.held(), HANDLE + 2048);
        assert_eq!(pool.lent_bytes() as usize, HANDLE + 2048);
        let (chunk, start) = pool.give_for_chunk(frame, SEND_AT).unwrap();
        assert_eq!((chunk.bytes().as_ptr(), start), (place, 252));
        assert_eq!(chunk.bytes()[start..][..tagged.len()], tagged);
        assert_eq!((pool.lent(), pool.lent_bytes()), (0, 0));
    }

    #[test]
    fn chunks_are_kept_for_what_comes_after() {
        const PLACED: usize = 3;
        let mut pool = pool(2048, KEPT + PLACED + 1);
        let bytes = pattern(1514);
        let frames: Vec<_> = (0..10)
            .map(|_| {
                let arrived = arrived(&mut pool, &bytes);
                Frame::placed(&mut pool, arrived, None, Time::ZERO).unwrap()
            })
            .collect();
        let placed = frames
            .iter()
            .filter(|frame| matches!(frame.0.bytes, Bytes::Placed(_)));
        assert_eq!(placed.count(), PLACED);
        assert_eq!(pool.chunks().len(), KEPT + 1);
        assert!(frames.iter().all(|frame| frame.parts().concat() == bytes));
        // Those that were copied are copied once more to leave.
        let last = frames.into_iter().next_back().unwrap();
        let (chunk, start) = pool.give_for_chunk(last, SEND_AT).unwrap();
        assert_eq!(chunk.bytes()[start..][..bytes.len()], bytes);
        assert_eq!((start, pool.chunks().len()), (SEND_AT, KEPT));
    }

    #[test]
    fn a_frame_goes_back_when_there_is_no_chunk_for_it_or_none_long_enough() {
        let mut pool = pool(2048, 1);
        let held = pool.chunks().pop().expect("there is one");
        let goes_back = |pool: &mut Pool, len| {
            let bytes = pattern(len);
            let frame = Frame::from_bytes(pool, &bytes, Time::ZERO).unwrap();
            let frame = pool.give_for_chunk(frame, SEND_AT).unwrap_err();
            assert_eq!(frame.parts().concat(), bytes);
            pool.give(frame);
        };
        goes_back(&mut pool, 100);
        pool.chunks().push(held);
        goes_back(&mut pool, 2048);
        assert_eq!((pool.lent(), pool.chunks().len()), (0, 1));
    }

    #[test]
    fn a_copy_is_in_memory_of_its_own() {
        let mut pool = pool(4096, KEPT + 2);
        for len in [60, 2048, 2049, 3800] {
            let bytes = pattern(len);
            let arrived = arrived(&mut pool, &bytes);
            let frame = Frame::placed(&mut pool, arrived, None, Time::ZERO).unwrap();
            let copy = frame.copied(&mut pool).unwrap();
            pool.give(frame);
            assert_eq!(pool.chunks().len(), KEPT + 2);
            assert_eq!(copy.parts().concat(), bytes);
            pool.give(copy);
            assert_eq!((pool.lent(), pool.lent_bytes()), (0, 0));
        }
    }
}
