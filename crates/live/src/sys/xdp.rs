//! AF_XDP sockets (`linux/if_xdp.h`, the kernel's `Documentation/networking/af_xdp.rst`): memory
//! in chunks, and four rings through which they go to the kernel and come back.

use super::bpf::META;
use super::mapping::Mapping;
use crate::checksum;
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_options, xdp_statistics,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, XdpOptionsFlags, XdpRingOffset, XdpUmemReg, XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Room before a frame that the kernel leaves for programs.
const XDP_PACKET_HEADROOM: usize = 256;
/// Where a frame to be sent begins in its chunk, behind what is said of it.
const SEND_AT: usize = 64;
/// `struct xsk_tx_metadata`: flags, then what is asked for.
const TX_METADATA: usize = 24;
/// `XDP_UMEM_TX_METADATA_LEN`, Linux 6.11: memory has room for it.
const XDP_UMEM_TX_METADATA_LEN: u32 = 1 << 2;
const XDP_TXMD_FLAGS_CHECKSUM: u64 = 1 << 1;
/// In a descriptor: there is such metadata.
const XDP_TX_METADATA: u32 = 1 << 1;
/// `XDP_MAX_TX_SKB_BUDGET`, Linux 6.17: most frames that one system call sends.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// `struct xdp_desc`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Descriptor {
    address: u64,
    len: u32,
    options: u32,
}

/// A ring shared with the kernel, which has its other end.
struct Ring<T> {
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
    fn map(fd: &OwnedFd, page: u64, size: u32, offset: &XdpRingOffset) -> io::Result<Self> {
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

    fn needs_wakeup(&self) -> bool {
        Self::word(&self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// As the producer: whether there is room for one more.
    fn has_room(&mut self) -> bool {
        if self.ours.wrapping_sub(self.theirs) == self.size {
            self.theirs = Self::word(&self.consumer).load(Ordering::Acquire);
        }
        self.ours.wrapping_sub(self.theirs) != self.size
    }

    /// As the producer, where there is room: one more entry, to be seen with the next `produced`.
    fn put(&mut self, entry: T) {
        let place = (self.ours & (self.size - 1)) as usize;
        // SAFETY: masked, so inside; the kernel does not read it before `produced`.
        unsafe { self.entries.add(place).write(entry) };
        self.ours = self.ours.wrapping_add(1);
    }

    fn produced(&self) {
        Self::word(&self.producer).store(self.ours, Ordering::Release);
    }

    /// As the producer: entries that the kernel has not taken.
    fn waiting(&mut self) -> u32 {
        self.theirs = Self::word(&self.consumer).load(Ordering::Acquire);
        self.ours.wrapping_sub(self.theirs)
    }

    /// As the consumer: the next entry.
    fn take(&mut self) -> Option<T> {
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

    fn consumed(&self) {
        Self::word(&self.consumer).store(self.ours, Ordering::Release);
    }
}

/// How much memory a socket has: chunks of `chunk` bytes, 2048 or 4096, of which the kernel
/// receives into `receive`, and `send` are for sending; both powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) chunk: u32,
    pub(crate) receive: u32,
    pub(crate) send: u32,
}

impl Layout {
    /// The longest frame that is received into a chunk.
    pub(crate) const fn longest(self) -> u32 {
        self.chunk - XDP_PACKET_HEADROOM as u32
    }
}

/// A partial checksum: where its sum begins in the frame, and where it stands from there on.
pub(crate) type Partial = (u16, u16);

/// A socket with its memory and its rings.
pub(crate) struct XdpSocket {
    fd: OwnedFd,
    memory: Mapping,
    layout: Layout,
    fill: Ring<u64>,
    completion: Ring<u64>,
    rx: Ring<Descriptor>,
    tx: Ring<Descriptor>,
    /// Where chunks for sending begin that are not under way.
    free: Vec<u64>,
    /// Whether the kernel finishes checksums.
    finishes: bool,
    is_zero_copy: bool,
}

impl XdpSocket {
    /// A socket with its memory, not yet bound.
    pub(crate) fn open(layout: Layout) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)?;
        let Layout {
            chunk,
            receive,
            send,
        } = layout;
        let len = chunk as usize * (receive + send) as usize;
        let memory = Mapping::zeros(len)?;
        let register = |flags, tx_metadata_len| {
            let region = XdpUmemReg {
                addr: memory.start().as_ptr() as u64,
                len: len as u64,
                chunk_size: chunk,
                headroom: 0,
                flags: XdpUmemRegFlags::from_bits_retain(flags),
                tx_metadata_len,
            };
            set_xdp_umem_reg(&fd, region)
        };
        // An older kernel does not know what that is.
        let finishes = register(XDP_UMEM_TX_METADATA_LEN, TX_METADATA as u32).is_ok();
        if !finishes {
            register(0, 0)?;
        }
        set_xdp_umem_fill_ring_size(&fd, receive)?;
        set_xdp_umem_completion_ring_size(&fd, send)?;
        set_xdp_rx_ring_size(&fd, receive)?;
        set_xdp_tx_ring_size(&fd, send)?;
        // An older kernel sends fewer at once.
        let budget = send.to_ne_bytes();
        let _ = super::set_option(&fd, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget);
        let offsets = xdp_mmap_offsets(&fd)?;
        let rx = libc::XDP_PGOFF_RX_RING.cast_unsigned();
        let tx = libc::XDP_PGOFF_TX_RING.cast_unsigned();
        let mut opened = Self {
            fill: Ring::map(&fd, libc::XDP_UMEM_PGOFF_FILL_RING, receive, &offsets.fr)?,
            completion: Ring::map(&fd, libc::XDP_UMEM_PGOFF_COMPLETION_RING, send, &offsets.cr)?,
            rx: Ring::map(&fd, rx, receive, &offsets.rx)?,
            tx: Ring::map(&fd, tx, send, &offsets.tx)?,
            fd,
            memory,
            layout,
            free: (receive..receive + send)
                .map(|place| u64::from(place) * u64::from(chunk))
                .collect(),
            finishes,
            is_zero_copy: false,
        };
        for place in 0..receive {
            opened.fill.put(u64::from(place) * u64::from(chunk));
        }
        opened.fill.produced();
        Ok(opened)
    }

    /// Binds it to a queue of an interface, without copies where the driver can do that.
    pub(crate) fn bind(&mut self, interface: u32, queue: u32) -> io::Result<()> {
        let flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
        bind(&self.fd, &SocketAddrXdp::new(flags, interface, queue))?;
        let options = xdp_options(&self.fd)?;
        self.is_zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        // What a driver can finish is its own affair.
        self.finishes &= !self.is_zero_copy;
        Ok(())
    }

    /// Whether the interface reads and writes its memory without a copy.
    pub(crate) fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    /// The longest frame that it can send.
    pub(crate) fn longest(&self) -> u32 {
        self.layout.chunk - SEND_AT as u32
    }

    /// What becomes readable.
    pub(crate) fn fd(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    /// The bytes of a chunk that is ours, as far as they lie in memory.
    fn bytes(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let start = self.memory.at::<u8>(address, len)?;
        // SAFETY: it lies in the mapping, and chunks that are ours are not touched by the kernel.
        // `self` is borrowed as long as the slice lives, so there is no second one.
        Some(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), len) })
    }

    /// Shows up to `most` frames that have arrived, oldest first, with what the program has
    /// written before them, all zero if it could not. Returns how many there were.
    pub(crate) fn receive(
        &mut self,
        most: usize,
        mut each: impl FnMut([u8; META], &[u8]),
    ) -> usize {
        let mut count = 0;
        while count < most
            && let Some(Descriptor { address, len, .. }) = self.rx.take()
        {
            count += 1;
            let (before, len) = (address.saturating_sub(META as u64), len as usize);
            if let Some(bytes) = self.bytes(before, META + len)
                && let Some((meta, frame)) = bytes.split_first_chunk_mut::<META>()
            {
                each(std::mem::take(meta), frame);
            }
            let chunk = u64::from(self.layout.chunk);
            self.fill.put(address / chunk * chunk);
        }
        if count > 0 {
            self.rx.consumed();
            self.fill.produced();
            if self.fill.needs_wakeup() {
                // Whatever it says, there is nothing to be read here.
                let _ = recv(&self.fd, &mut [0_u8; 0][..], RecvFlags::DONTWAIT);
            }
        }
        count
    }

    /// Puts a frame in parts among those to be sent; tells whether there was room.
    pub(crate) fn put(&mut self, parts: [&[u8]; 3], partial: Option<Partial>) -> bool {
        if self.free.is_empty() {
            self.take_back();
        }
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if !self.tx.has_room() || SEND_AT + len > self.layout.chunk as usize {
            return false;
        }
        let Some(chunk) = self.free.pop() else {
            return false;
        };
        let finishes = self.finishes;
        let bytes = self.bytes(chunk, SEND_AT + len);
        let bytes = bytes.expect("chunks for sending lie in memory");
        let (before, frame) = bytes.split_at_mut(SEND_AT);
        let mut at = 0;
        for part in parts {
            frame[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        let left_over = partial.filter(|_| finishes);
        if let Some((start, offset)) = left_over {
            let metadata = &mut before[SEND_AT - TX_METADATA..];
            metadata[..8].copy_from_slice(&XDP_TXMD_FLAGS_CHECKSUM.to_ne_bytes());
            metadata[8..10].copy_from_slice(&start.to_ne_bytes());
            metadata[10..12].copy_from_slice(&offset.to_ne_bytes());
        } else if let Some(partial) = partial {
            checksum::finish(frame, partial);
        }
        self.tx.put(Descriptor {
            address: chunk + SEND_AT as u64,
            len: len as u32,
            options: left_over.map_or(0, |_| XDP_TX_METADATA),
        });
        true
    }

    /// Chunks whose frames have been sent.
    fn take_back(&mut self) {
        while let Some(address) = self.completion.take() {
            let chunk = u64::from(self.layout.chunk);
            self.free.push(address / chunk * chunk);
        }
        self.completion.consumed();
    }

    /// Has the kernel send what was put; tells whether it took everything.
    pub(crate) fn send(&mut self) -> io::Result<bool> {
        self.tx.produced();
        let mut before = u32::MAX;
        loop {
            let waiting = self.tx.waiting();
            if waiting == 0 {
                return Ok(true);
            }
            if !self.tx.needs_wakeup() || waiting == before {
                return Ok(false);
            }
            before = waiting;
            match send(&self.fd, &[], SendFlags::DONTWAIT) {
                Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::NOBUFS | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// What has happened to the socket without our doing, if anything has.
    pub(crate) fn error(&self) -> io::Result<()> {
        let failed = rustix::net::sockopt::socket_error(&self.fd)?;
        failed.map_err(Into::into)
    }

    /// Frames that it could not take because we were too slow or they were too long, and those
    /// that it refused to send.
    pub(crate) fn lost(&self) -> [u64; 2] {
        let Ok(counted) = xdp_statistics(self.fd.as_fd()) else {
            return [0; 2];
        };
        let full = counted.rx_ring_full.unwrap_or(0);
        [counted.rx_dropped + full, counted.tx_invalid_descs]
    }
}
