//! A ring that is shared with the kernel, which has its other end.

use crate::sys::mapping::Mapping;
use rustix::net::xdp::XdpRingOffset;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Entries of one size, a power of two of them.
pub(super) struct Ring<T> {
    _memory: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    size: u32,
    /// Our index, and the kernel's as we last saw it.
    ours: u32,
    theirs: u32,
}

// SAFETY: the pointers lead into the ring's own mapping, which belongs to no thread.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// The kernel's ring of `size` entries, a power of two, at `page`.
    pub(super) fn map(
        fd: &OwnedFd,
        page: u64,
        size: u32,
        offset: &XdpRingOffset,
    ) -> io::Result<Self> {
        let len = offset.desc as usize + size as usize * size_of::<T>();
        let memory = Mapping::of(fd, page, len)?;
        let word = |at| memory.at(at, 1);
        let parts = word(offset.producer)
            .zip(word(offset.consumer))
            .zip(offset.flags.and_then(word))
            .zip(memory.at(offset.desc, size as usize));
        let Some((((producer, consumer), flags), entries)) = parts else {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        };
        Ok(Self {
            _memory: memory,
            producer,
            consumer,
            flags,
            entries,
            size,
            ours: 0,
            theirs: 0,
        })
    }

    /// A word of the ring.
    fn word(place: &NonNull<AtomicU32>) -> &AtomicU32 {
        // SAFETY: it lies in the mapping, which lives as long as the ring that `place` is of.
        unsafe { place.as_ref() }
    }

    pub(super) fn needs_wakeup(&self) -> bool {
        Self::word(&self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// Entries that we have put or taken so far, as the ring counts them.
    pub(super) fn ours(&self) -> u32 {
        self.ours
    }

    /// As the producer: whether there is room for one more.
    pub(super) fn has_room(&mut self) -> bool {
        if self.ours.wrapping_sub(self.theirs) == self.size {
            self.theirs = Self::word(&self.consumer).load(Ordering::Acquire);
        }
        self.ours.wrapping_sub(self.theirs) != self.size
    }

    /// As the producer, where there is room: one more entry, to be seen with the next `produced`.
    pub(super) fn put(&mut self, entry: T) {
        let place = (self.ours & (self.size - 1)) as usize;
        // SAFETY: masked, so inside; the kernel does not read it before `produced`.
        unsafe { self.entries.add(place).write(entry) };
        self.ours = self.ours.wrapping_add(1);
    }

    pub(super) fn produced(&self) {
        Self::word(&self.producer).store(self.ours, Ordering::Release);
    }

    /// As the producer: entries that the kernel has not taken.
    pub(super) fn waiting(&mut self) -> u32 {
        self.theirs = Self::word(&self.consumer).load(Ordering::Acquire);
        self.ours.wrapping_sub(self.theirs)
    }

    /// As the consumer: entries that the kernel has put and we have not taken.
    pub(super) fn ready(&mut self) -> u32 {
        self.theirs = Self::word(&self.producer).load(Ordering::Acquire);
        self.theirs.wrapping_sub(self.ours)
    }

    /// As the consumer: the one after so many more of those that are [ready](Self::ready).
    pub(super) fn peek(&self, after: u32) -> T {
        let place = (self.ours.wrapping_add(after) & (self.size - 1)) as usize;
        // SAFETY: masked, so inside; the kernel does not touch what is ready.
        unsafe { self.entries.add(place).read() }
    }

    /// As the consumer: the next entry.
    pub(super) fn take(&mut self) -> Option<T> {
        if self.ours == self.theirs {
            self.theirs = Self::word(&self.producer).load(Ordering::Acquire);
            if self.ours == self.theirs {
                return None;
            }
        }
        let place = (self.ours & (self.size - 1)) as usize;
        // SAFETY: masked, so inside; the kernel has written it and does not touch it again before
        // `consumed`.
        let entry = unsafe { self.entries.add(place).read() };
        self.ours = self.ours.wrapping_add(1);
        Some(entry)
    }

    pub(super) fn consumed(&self) {
        Self::word(&self.consumer).store(self.ours, Ordering::Release);
    }
}
