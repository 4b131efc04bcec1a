//! Memory that all AF_XDP sockets of a bridge share, in chunks: a frame stays in the one that it
//! was received into until it has been sent.

use super::META;
use crate::sys::mapping::Mapping;
use sojourn_memory::{LINE, fetch_line};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// Room before a frame that the kernel leaves for programs.
pub(super) const XDP_PACKET_HEADROOM: usize = 256;

/// The memory, and the size of a chunk: 2048 or 4096 bytes, as the kernel has it.
#[derive(Debug)]
pub(super) struct Memory {
    mapping: Mapping,
    chunk: u32,
}

impl Memory {
    /// So many chunks of so many bytes, all of them here.
    pub(super) fn new(chunk: u32, count: u32) -> io::Result<(Arc<Self>, Vec<Chunk>)> {
        let mapping = Mapping::zeros(chunk as usize * count as usize)?;
        let memory = Arc::new(Self { mapping, chunk });
        let chunks = (0..count)
            .map(|number| {
                let address = u64::from(number) * u64::from(chunk);
                let start = memory.at(address, chunk as usize);
                Chunk {
                    start: start.expect("all of them lie in memory"),
                    address,
                    memory: Arc::clone(&memory),
                }
            })
            .collect();
        Ok((memory, chunks))
    }

    /// Where it begins.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.mapping.start()
    }

    /// Its number of bytes.
    pub(super) fn len(&self) -> usize {
        self.mapping.len()
    }

    /// Bytes of a chunk.
    pub(super) fn chunk_len(&self) -> u32 {
        self.chunk
    }

    fn at(&self, address: u64, len: usize) -> Option<NonNull<u8>> {
        self.mapping.at(address, len)
    }

    /// The chunk with this address, which the kernel was lent and has given back.
    pub(super) fn returned(self: &Arc<Self>, address: u64) -> Option<Chunk> {
        let address = address - address % u64::from(self.chunk);
        let start = self.at(address, self.chunk as usize)?;
        // SAFETY: the count is the one that `lend` has left.
        let memory = unsafe { Arc::from_raw(Arc::as_ptr(self)) };
        Some(Chunk {
            start,
            address,
            memory,
        })
    }

    /// So many that the kernel was lent do not come back.
    pub(super) fn forget(self: &Arc<Self>, count: u32) {
        for _ in 0..count {
            // SAFETY: the count is one that `lend` has left.
            unsafe { Arc::decrement_strong_count(Arc::as_ptr(self)) };
        }
    }

    /// Has the processor fetch a frame of `len` bytes at this address, and what the program wrote
    /// before it.
    pub(super) fn fetch(&self, address: u64, len: u32) {
        let before = META as u64;
        let lines = (before + u64::from(len)).div_ceil(LINE as u64);
        for line in 0..lines {
            if let Some(place) = self.at((address + line * LINE as u64).saturating_sub(before), 1) {
                fetch_line(place.as_ptr());
            }
        }
    }
}

/// A chunk that nobody else has: not the kernel, and no other value of this type.
#[derive(Debug)]
pub(crate) struct Chunk {
    start: NonNull<u8>,
    /// The same, counted from the beginning of the memory.
    address: u64,
    memory: Arc<Memory>,
}

// SAFETY: its bytes are its own, and belong to no thread.
unsafe impl Send for Chunk {}

// SAFETY: a reference only reads them.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Its number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.memory.chunk as usize
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: it lies in the mapping, which lives as long as this, and nobody else has it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len()) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this is borrowed as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len()) }
    }

    /// Lends it to the kernel, with nothing before the place for a frame.
    pub(super) fn lend_empty(mut self) -> u64 {
        self.bytes_mut()[XDP_PACKET_HEADROOM - META..XDP_PACKET_HEADROOM].fill(0);
        self.lend()
    }

    /// Lends it to the kernel, with a frame from `start` on: the address of that.
    pub(super) fn lend_frame(self, start: usize) -> u64 {
        self.lend() + start as u64
    }

    /// The memory counts it as long as the kernel has it.
    fn lend(self) -> u64 {
        let address = self.address;
        std::mem::forget(self);
        address
    }
}
