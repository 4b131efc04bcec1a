//! AF_XDP sockets (`linux/if_xdp.h`, the kernel's `Documentation/networking/af_xdp.rst`): memory
//! in chunks, and four rings through which they go to the kernel and come back.

use super::bpf::META;
use crate::checksum;
use chunk::{Memory, XDP_PACKET_HEADROOM};
use ring::Ring;
use rustix::io::Errno;
use rustix::net::sockopt::{
    set_xdp_rx_ring_size, set_xdp_tx_ring_size, set_xdp_umem_completion_ring_size,
    set_xdp_umem_fill_ring_size, set_xdp_umem_reg, xdp_mmap_offsets, xdp_options, xdp_statistics,
};
use rustix::net::xdp::{
    SocketAddrXdp, SocketAddrXdpFlags, SocketAddrXdpWithSharedUmem, XdpOptionsFlags, XdpUmemReg,
    XdpUmemRegFlags,
};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Where a frame to be sent may begin in its chunk, behind what is said of it.
pub(crate) const SEND_AT: usize = 64;
/// `struct xsk_tx_metadata`: flags, then what is asked for.
const TX_METADATA: usize = 24;
/// `XDP_UMEM_TX_METADATA_LEN`, Linux 6.11: memory has room for it.
const XDP_UMEM_TX_METADATA_LEN: u32 = 1 << 2;
const XDP_TXMD_FLAGS_CHECKSUM: u64 = 1 << 1;
/// In a descriptor: there is such metadata.
const XDP_TX_METADATA: u32 = 1 << 1;
/// `XDP_MAX_TX_SKB_BUDGET`, Linux 6.17: most frames that one system call sends.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// How long the kernel may take to let go of a queue: milliseconds, and more than a second on a
/// machine whose processors have much else to do.
const MOST_OF_A_RELEASE: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// Bytes of a frame that have its headers, as a rule.
const HEADERS: u32 = 128;

/// `struct xdp_desc`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Descriptor {
    address: u64,
    len: u32,
    options: u32,
}

/// A checksum of which the stack has left the rest to the card: what stands in its place is the
/// pseudo-header's sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partial {
    /// Where in the frame the bytes begin that it covers.
    pub(crate) start: u16,
    /// Where it stands from there on.
    pub(crate) offset: u16,
}

/// What the sockets of a bridge have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes of a chunk, 2048 or 4096.
    pub(crate) chunk: u32,
    /// Chunks that the kernel receives into, for each socket, and frames under way to be sent; both
    /// powers of two.
    pub(crate) receive: u32,
    pub(crate) send: u32,
    /// Of those that it receives into, so many are lent where it copies.
    pub(crate) receive_copies: u32,
    /// Whether drivers are not to be asked for zero-copy.
    pub(crate) copies: bool,
}

impl Layout {
    /// The longest frame that is received into a chunk.
    pub(crate) const fn longest(self) -> u32 {
        self.chunk - XDP_PACKET_HEADROOM as u32
    }
}

/// A frame that has arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub(crate) chunk: Chunk,
    /// Where it begins in the chunk, and its bytes.
    pub(crate) start: usize,
    pub(crate) len: usize,
}

impl Arrived {
    /// What the program has written before it, all zero if it could not.
    pub(crate) fn meta(&self) -> [u8; META] {
        let before = self.chunk.bytes().get(..self.start);
        before
            .and_then(<[u8]>::last_chunk)
            .copied()
            .unwrap_or_default()
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        let bytes = self.chunk.bytes().get(self.start..self.start + self.len);
        bytes.unwrap_or_default()
    }
}

/// The sockets of a bridge, on one memory.
pub(crate) struct XdpSockets {
    layout: Layout,
    memory: Arc<Memory>,
    /// The one that the memory was registered with, bound before any other.
    first: Option<OwnedFd>,
    /// Whether the kernel finishes checksums of what is sent from a copy.
    finishes: bool,
}

impl XdpSockets {
    /// None so far, with `chunks` of memory, which nobody has yet.
    pub(crate) fn new(layout: Layout, chunks: u32) -> io::Result<(Self, Vec<Chunk>)> {
        let (memory, chunks) = Memory::new(layout.chunk, chunks)?;
        let sockets = Self {
            layout,
            memory,
            first: None,
            finishes: false,
        };
        Ok((sockets, chunks))
    }

    /// Registers the memory.
    fn register(&mut self, fd: &OwnedFd) -> io::Result<()> {
        let memory = &self.memory;
        let register = |flags, tx_metadata_len| {
            let region = XdpUmemReg {
                addr: memory.start().as_ptr() as u64,
                len: memory.len() as u64,
                chunk_size: self.layout.chunk,
                headroom: 0,
                flags: XdpUmemRegFlags::from_bits_retain(flags),
                tx_metadata_len,
            };
            set_xdp_umem_reg(fd, region)
        };
        // An older kernel does not know what that is.
        self.finishes = register(XDP_UMEM_TX_METADATA_LEN, TX_METADATA as u32).is_ok();
        if !self.finishes {
            register(0, 0)?;
        }
        Ok(())
    }

    /// One more, at a queue of an interface. The first decides whether all are without copies.
    pub(crate) fn open(&mut self, interface: u32, queue: u32) -> io::Result<XdpSocket> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(AddressFamily::XDP, SocketType::RAW, flags, None)?;
        if self.first.is_none() {
            self.register(&fd)?;
        }
        let Layout { receive, send, .. } = self.layout;
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
        let mut socket = XdpSocket {
            fill: Ring::map(&fd, libc::XDP_UMEM_PGOFF_FILL_RING, receive, &offsets.fr)?,
            completion: Ring::map(&fd, libc::XDP_UMEM_PGOFF_COMPLETION_RING, send, &offsets.cr)?,
            rx: Ring::map(&fd, rx, receive, &offsets.rx)?,
            tx: Ring::map(&fd, tx, send, &offsets.tx)?,
            memory: Arc::clone(&self.memory),
            lent: 0,
            most_to_receive: receive,
            finishes: false,
            is_zero_copy: false,
            fd,
        };
        self.bind(&socket.fd, interface, queue)?;
        let options = xdp_options(&socket.fd)?;
        socket.is_zero_copy = options.contains(XdpOptionsFlags::XDP_OPTIONS_ZEROCOPY);
        if !socket.is_zero_copy {
            socket.most_to_receive = self.layout.receive_copies;
        }
        // What a driver can finish is its own affair.
        socket.finishes = self.finishes && !socket.is_zero_copy;
        Ok(socket)
    }

    /// Binds one. Flags are those of the first.
    fn bind(&mut self, fd: &OwnedFd, interface: u32, queue: u32) -> io::Result<()> {
        if let Some(first) = &self.first {
            let flags = SocketAddrXdpFlags::XDP_SHARED_UMEM;
            let address = SocketAddrXdpWithSharedUmem {
                addr: SocketAddrXdp::new(flags, interface, queue),
                shared_umem_fd: first.as_fd(),
            };
            return when_free(|| bind(fd, &address));
        }
        let mut flags = SocketAddrXdpFlags::XDP_USE_NEED_WAKEUP;
        flags.set(SocketAddrXdpFlags::XDP_COPY, self.layout.copies);
        let address = SocketAddrXdp::new(flags, interface, queue);
        when_free(|| bind(fd, &address))?;
        self.first = Some(fd.try_clone()?);
        Ok(())
    }
}

/// Binds to a queue. The kernel lets go of a queue some time after the end of the socket that had
/// it (`xp_put_pool` leaves that to a worker thread): a bridge that starts after another waits.
fn when_free(mut bind: impl FnMut() -> Result<(), Errno>) -> io::Result<()> {
    let until = Instant::now() + MOST_OF_A_RELEASE;
    loop {
        match bind() {
            Err(Errno::BUSY) if Instant::now() < until => thread::sleep(BETWEEN_TRIES),
            bound => return Ok(bound?),
        }
    }
}

/// A socket with its rings.
pub(crate) struct XdpSocket {
    fd: OwnedFd,
    memory: Arc<Memory>,
    fill: Ring<u64>,
    completion: Ring<u64>,
    rx: Ring<Descriptor>,
    tx: Ring<Descriptor>,
    /// Chunks that the kernel has, and the most of them that it is lent to receive into.
    lent: u32,
    most_to_receive: u32,
    /// Whether the kernel finishes checksums.
    finishes: bool,
    is_zero_copy: bool,
}

impl Drop for XdpSocket {
    fn drop(&mut self) {
        self.memory.forget(self.lent);
    }
}

impl XdpSocket {
    /// Whether the interface reads and writes its memory without a copy.
    pub(crate) fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    /// The longest frame that it can send.
    pub(crate) fn longest(&self) -> u32 {
        self.memory.chunk_len() - SEND_AT as u32
    }

    /// What becomes readable.
    pub(crate) fn fd(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    /// Chunks that the kernel was lent to receive into and that have not come back with a frame.
    fn to_receive(&self) -> u32 {
        self.fill.ours().wrapping_sub(self.rx.ours())
    }

    /// Has the kernel receive into as many of these chunks as it has room for and may have.
    pub(crate) fn fill(&mut self, chunks: &mut Vec<Chunk>) {
        while self.to_receive() < self.most_to_receive
            && self.fill.has_room()
            && let Some(chunk) = chunks.pop()
        {
            self.fill.put(chunk.lend_empty());
            self.lent += 1;
        }
        self.fill.produced();
        if self.fill.needs_wakeup() {
            // Whatever it says, there is nothing to be read here.
            let _ = recv(&self.fd, &mut [0_u8; 0][..], RecvFlags::DONTWAIT);
        }
    }

    /// Has the processor fetch up to `most` frames that have arrived, to be [taken](Self::take):
    /// whole where the kernel has copied them, on another core as a rule, and will copy them again
    /// when they are sent; else their headers. Yields how many.
    pub(crate) fn fetch(&mut self, most: usize) -> usize {
        let waiting = self.rx.ready().min(most as u32);
        for place in 0..waiting {
            let Descriptor { address, len, .. } = self.rx.peek(place);
            let len = if self.is_zero_copy {
                HEADERS.min(len)
            } else {
                len
            };
            self.memory.fetch(address, len);
        }
        waiting as usize
    }

    /// The next frame that has arrived.
    pub(crate) fn take(&mut self) -> Option<Arrived> {
        let Descriptor { address, len, .. } = self.rx.take()?;
        let chunk = self.memory.returned(address)?;
        self.lent -= 1;
        Some(Arrived {
            start: (address % chunk.len() as u64) as usize,
            len: len as usize,
            chunk,
        })
    }

    /// Says that what was taken was taken.
    pub(crate) fn taken(&self) {
        self.rx.consumed();
    }

    /// Whether there is room for one more frame among those to be sent.
    pub(crate) fn has_room(&mut self) -> bool {
        self.tx.has_room()
    }

    /// Puts the `len` bytes from `at` on among those to be sent, where there is room. `at` is
    /// at least [`SEND_AT`].
    pub(crate) fn put(
        &mut self,
        mut chunk: Chunk,
        at: usize,
        len: usize,
        partial: Option<Partial>,
    ) {
        let (before, frame) = chunk.bytes_mut().split_at_mut(at);
        let left_over = partial.filter(|_| self.finishes);
        if let Some(Partial { start, offset }) = left_over {
            let metadata = &mut before[at - TX_METADATA..];
            metadata[..8].copy_from_slice(&XDP_TXMD_FLAGS_CHECKSUM.to_ne_bytes());
            metadata[8..10].copy_from_slice(&start.to_ne_bytes());
            metadata[10..12].copy_from_slice(&offset.to_ne_bytes());
        } else if let Some(partial) = partial {
            checksum::finish(&mut frame[..len], partial);
        }
        self.tx.put(Descriptor {
            address: chunk.lend_frame(at),
            len: len as u32,
            options: left_over.map_or(0, |_| XDP_TX_METADATA),
        });
        self.lent += 1;
    }

    /// Takes chunks back whose frames have been sent.
    pub(crate) fn take_back(&mut self, into: &mut Vec<Chunk>) {
        while let Some(address) = self.completion.take() {
            let chunk = self.memory.returned(address);
            self.lent -= chunk.iter().len() as u32;
            into.extend(chunk);
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

mod chunk;
mod ring;

pub(crate) use chunk::Chunk;
