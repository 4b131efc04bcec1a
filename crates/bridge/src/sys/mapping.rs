//! Memory that is shared with the kernel, mapped as long as its owner lives.

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::io;
use std::os::fd::AsFd;
use std::ptr::{NonNull, null_mut};

/// A mapping of its own, readable and writable. It may move to another thread with its owner.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone, and to no thread.
unsafe impl Send for Mapping {}

// SAFETY: a reference hands out pointers alone; whoever follows one says why that is sound.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// `len` bytes of what a descriptor offers at `offset`, shared.
    pub(super) fn of(fd: impl AsFd, offset: u64, len: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap(null_mut(), len, access, flags, fd, offset) }?;
        Ok(Self::new(start.cast(), len))
    }

    /// `len` bytes of zeros.
    pub(super) fn zeros(len: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: as above.
        let start = unsafe { mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE) }?;
        Ok(Self::new(start.cast(), len))
    }

    fn new(start: *mut u8, len: usize) -> Self {
        let start = NonNull::new(start).expect("a mapping is not at zero");
        Self { start, len }
    }

    /// Its first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Its number of bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// What lies at `offset`; none when it does not lie inside, or is not aligned.
    pub(super) fn at<T>(&self, offset: u64, count: usize) -> Option<NonNull<T>> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(size_of::<T>().checked_mul(count)?)?;
        // SAFETY: both ends lie in the mapping.
        let found = (end <= self.len).then(|| unsafe { self.start.byte_add(offset) })?;
        Some(found.cast::<T>()).filter(|found| found.is_aligned())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the owner was the only one to point to it.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
    }
}
