//! An interface through AF_PACKET (`packet(7)`): batches of whole frames with their offloads.
//!
//! `PACKET_VNET_HDR` carries what the sender left to the hardware, so that super-packets and
//! partial checksums pass as they are; `PACKET_AUXDATA` carries the VLAN tag that the kernel
//! takes out; time stamps are those of the kernel.

use crate::bridge::{BATCH, Frame, FramePort, Pool, PortCounters};
use crate::bridge::{HEAD, TAIL, VlanTag, VnetHeader};
use crate::clock::Clock;
use crate::interface::Interface;
use sojourn_units::{Span, Time};
use std::collections::VecDeque;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;

/// Socket buffers: what arrives while we are not running (32 MiB of the kernel's accounting).
const SOCKET_BUFFER: libc::c_int = 32 << 20;
/// `PACKET_IGNORE_OUTGOING`, Linux 4.20 (`if_packet.h`).
const PACKET_IGNORE_OUTGOING: libc::c_int = 23;
/// `SO_RCVMARK`, Linux 5.19 (`asm-generic/socket.h`).
const SO_RCVMARK: libc::c_int = 75;
/// Parts of a message: offload header, first and second part of the frame.
const PARTS: usize = 3;
/// Room for the auxiliary data and the time stamp.
const CONTROL: usize = 128;
/// First batch size; doubled while batches come back full.
const SMALLEST_BATCH: usize = 8;

/// Control messages of one packet, aligned as `cmsghdr` wants it.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; CONTROL]);

/// A packet socket bound to one interface, both ways.
pub(crate) struct PacketSocket {
    fd: OwnedFd,
    index: u32,
    /// Frames and second parts that the next batch is received into.
    posted: Vec<Frame>,
    tails: Vec<Option<Box<[u8]>>>,
    vnet: Box<[VnetHeader; BATCH]>,
    control: Box<[Control; BATCH]>,
    batch: usize,
    counters: PortCounters,
}

/// What the control messages of a packet say.
#[derive(Clone, Copy, Default)]
struct Ancillary {
    /// CLOCK_REALTIME in nanoseconds.
    stamp: Option<u64>,
    /// The firewall's mark.
    mark: u32,
    tag: Option<VlanTag>,
}

impl PacketSocket {
    /// A socket with everything set but not bound: nothing arrives yet.
    pub(crate) fn open(pool: &mut Pool, qdisc_bypass: bool) -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers are passed.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just made this descriptor, and nobody else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut posted = Vec::with_capacity(BATCH);
        for _ in 0..BATCH {
            let frame = pool.take();
            posted.push(frame.ok_or_else(|| io::Error::other("the pool of frames is too small"))?);
        }
        let socket = Self {
            fd,
            index: 0,
            posted,
            tails: (0..BATCH).map(|_| Some(pool.take_tail())).collect(),
            vnet: Box::new([VnetHeader::default(); BATCH]),
            control: Box::new([Control([0; CONTROL]); BATCH]),
            batch: SMALLEST_BATCH,
            counters: PortCounters::default(),
        };
        let packet = libc::SOL_PACKET;
        socket.set(packet, libc::PACKET_VNET_HDR, &1)?;
        socket.set(packet, libc::PACKET_AUXDATA, &1)?;
        socket.set(packet, PACKET_IGNORE_OUTGOING, &1)?;
        socket.set(packet, libc::PACKET_QDISC_BYPASS, &i32::from(qdisc_bypass))?;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        // An older kernel tells no marks: then frames have none.
        let _ = socket.set(libc::SOL_SOCKET, SO_RCVMARK, &1);
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &SOCKET_BUFFER)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SOCKET_BUFFER)?;
        Ok(socket)
    }

    /// From now on frames arrive. The interface is promiscuous as long as the socket lives.
    pub(crate) fn bind(&mut self, interface: &Interface) -> io::Result<()> {
        self.index = interface.index;
        // SAFETY: plain old data for which all zeros is valid.
        let mut request: libc::packet_mreq = unsafe { zeroed() };
        request.mr_ifindex = interface.index.cast_signed();
        request.mr_type = libc::PACKET_MR_PROMISC as libc::c_ushort;
        self.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)?;
        // SAFETY: as above.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as libc::c_ushort;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = interface.index.cast_signed();
        // SAFETY: the address outlives the call, and its length is its own.
        let result = unsafe {
            libc::bind(
                self.fd.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        check(result).map(drop)
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        // SAFETY: the value outlives the call, and its length is its own.
        let result = unsafe {
            libc::setsockopt(
                self.fd.as_raw_fd(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        check(result).map(drop)
    }

    /// Fills the posted frames; returns how many, and their lengths with the offload header.
    fn receive_batch(&mut self) -> io::Result<(usize, [u32; BATCH])> {
        // SAFETY: plain old data for which all zeros is valid.
        let mut parts: [[libc::iovec; PARTS]; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        for slot in 0..self.batch {
            let tail = self.tails[slot]
                .as_mut()
                .expect("refilled after each batch");
            parts[slot] = [
                part((&raw mut self.vnet[slot]).cast(), size_of::<VnetHeader>()),
                part(self.posted[slot].buffer().as_mut_ptr(), HEAD),
                part(tail.as_mut_ptr(), TAIL),
            ];
            let header = &mut messages[slot].msg_hdr;
            header.msg_iov = parts[slot].as_mut_ptr();
            header.msg_iovlen = PARTS;
            header.msg_control = self.control[slot].0.as_mut_ptr().cast();
            header.msg_controllen = CONTROL;
        }
        // SAFETY: every pointer in the first `batch` messages leads to memory of the length
        // beside it, which lives in `self` or on this stack frame until the call returns.
        let count = unsafe {
            libc::recvmmsg(
                self.fd.as_raw_fd(),
                messages.as_mut_ptr(),
                self.batch as libc::c_uint,
                libc::MSG_DONTWAIT | libc::MSG_TRUNC,
                null_mut(),
            )
        };
        let count = check(count)? as usize;
        let mut lengths = [0; BATCH];
        for slot in 0..count {
            lengths[slot] = messages[slot].msg_len;
            let used = messages[slot].msg_hdr.msg_controllen.min(CONTROL);
            // What was not written this time must not be read as if it had been.
            self.control[slot].0[used..].fill(0);
        }
        Ok((count, lengths))
    }

    fn take_received(
        &mut self,
        slot: usize,
        len: u32,
        pool: &mut Pool,
        stamps: &Stamps,
    ) -> Option<Frame> {
        let len = (len as usize).saturating_sub(size_of::<VnetHeader>());
        if len > HEAD + TAIL {
            self.counters.unreadable += 1;
            return None;
        }
        let Some(fresh) = pool.take() else {
            self.counters.no_buffer += 1;
            return None;
        };
        self.counters.received += 1;
        let mut frame = std::mem::replace(&mut self.posted[slot], fresh);
        if len > HEAD {
            let tail = self.tails[slot].replace(pool.take_tail());
            frame.attach(tail.expect("refilled after each batch"));
        }
        let ancillary = read_control(&self.control[slot].0);
        let arrived = stamps.on_clock(ancillary.stamp);
        frame.filled(len, self.vnet[slot], ancillary.tag, arrived);
        frame.set_mark(ancillary.mark);
        Some(frame)
    }

    /// Sends as many of the first frames as fit into a batch; returns how many went.
    fn send_batch(&mut self, frames: &VecDeque<Frame>) -> io::Result<usize> {
        // SAFETY: plain old data for which all zeros is valid.
        let mut parts: [[libc::iovec; PARTS]; BATCH] = unsafe { zeroed() };
        // SAFETY: as above.
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let mut batch = 0;
        for (frame, (parts, message)) in frames.iter().zip(parts.iter_mut().zip(&mut messages)) {
            let (head, tail) = frame.parts();
            let vnet: *const VnetHeader = frame.vnet();
            // The kernel only reads through these pointers when sending.
            *parts = [
                part(vnet.cast_mut().cast(), size_of::<VnetHeader>()),
                part(head.as_ptr().cast_mut(), head.len()),
                part(tail.as_ptr().cast_mut(), tail.len()),
            ];
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = if tail.is_empty() { PARTS - 1 } else { PARTS };
            batch += 1;
        }
        // SAFETY: every pointer in the first `batch` messages leads to memory of the length
        // beside it, borrowed from `frames` or on this stack frame until the call returns.
        let count = unsafe {
            libc::sendmmsg(
                self.fd.as_raw_fd(),
                messages.as_mut_ptr(),
                batch,
                libc::MSG_DONTWAIT,
            )
        };
        check(count).map(|count| count as usize)
    }
}

/// Whether there still is an interface with this index.
fn is_there(index: u32) -> bool {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer is as long as the longest name.
    unsafe { !libc::if_indextoname(index, name.as_mut_ptr()).is_null() }
}

fn part(base: *mut u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: base.cast(),
        iov_len: len,
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Turns the kernel's stamps (CLOCK_REALTIME) into times on our clock. The clocks are compared
/// anew for every batch, so a step of the wall clock disturbs one batch at most.
struct Stamps {
    now: Time,
    lead: u64,
}

impl Stamps {
    fn new(clock: Clock) -> Self {
        let (lead, now) = clock.realtime_lead();
        Self { now, lead }
    }

    /// The time of a stamp; now if there is none, or if it is not from the last ten seconds.
    fn on_clock(&self, stamp: Option<u64>) -> Time {
        const BELIEVABLE: Span = Span::from_secs(10);
        let time = stamp.map_or(self.now, |stamp| {
            Time::from_nanos(stamp.saturating_sub(self.lead))
        });
        if time > self.now || self.now - time > BELIEVABLE {
            self.now
        } else {
            time
        }
    }
}

/// Reads the chain of control messages (`cmsg(3)`): length, level, kind, data, each aligned to
/// a word. `control` is zero after the last one.
fn read_control(control: &[u8; CONTROL]) -> Ancillary {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let word = |at: usize| {
        let bytes = control.get(at..at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
    };
    let half = |at: usize| {
        let bytes = control.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().expect("four bytes")))
    };
    let short = |at: usize| {
        let bytes = control.get(at..at + 2)?;
        Some(u16::from_ne_bytes(bytes.try_into().expect("two bytes")))
    };
    let mut found = Ancillary::default();
    let mut at = 0;
    while let (Some(len), Some(level), Some(kind)) = (word(at), half(at + 8), half(at + 12)) {
        let len = len as usize;
        if !(HEADER..=CONTROL).contains(&len) {
            break;
        }
        let data = at + HEADER;
        match (level.cast_signed(), kind.cast_signed()) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                if let (Some(secs), Some(nanos)) = (word(data), word(data + 8)) {
                    found.stamp = Some(secs.wrapping_mul(1_000_000_000).wrapping_add(nanos));
                }
            }
            (libc::SOL_SOCKET, libc::SO_MARK) => found.mark = half(data).unwrap_or(0),
            // `struct tpacket_auxdata`: four words (status, lengths), two offsets, the tag.
            (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                let status = half(data).unwrap_or(0);
                if let (Some(tci), Some(tpid)) = (short(data + 16), short(data + 18)) {
                    found.tag = tag_of(status, tci, tpid);
                }
            }
            _ => {}
        }
        at += len.next_multiple_of(8);
    }
    found
}

fn tag_of(status: u32, tci: u16, tpid: u16) -> Option<VlanTag> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => 0x8100,
        _ => tpid,
    };
    Some(VlanTag { protocol, tci })
}

impl FramePort for PacketSocket {
    fn receive(
        &mut self,
        pool: &mut Pool,
        clock: &Clock,
        into: &mut Vec<Frame>,
    ) -> io::Result<usize> {
        let mut total = 0;
        while total + self.batch <= BATCH {
            let (count, lengths) = match self.receive_batch() {
                Ok(batch) => batch,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN) => break,
                    Some(libc::EINTR) => continue,
                    // Down is not gone: it may come up again.
                    Some(libc::ENETDOWN) if is_there(self.index) => continue,
                    // A packet that the kernel cannot describe in an offload header.
                    Some(libc::EINVAL) => {
                        self.counters.unreadable += 1;
                        total += 1;
                        continue;
                    }
                    _ => return Err(error),
                },
            };
            let stamps = Stamps::new(*clock);
            for (slot, &len) in lengths.iter().enumerate().take(count) {
                into.extend(self.take_received(slot, len, pool, &stamps));
            }
            total += count;
            let full = count == self.batch;
            self.batch = if full {
                (self.batch * 2).min(BATCH)
            } else {
                SMALLEST_BATCH
            };
            if !full {
                break;
            }
            if total + self.batch > BATCH {
                return Ok(BATCH);
            }
        }
        Ok(total)
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> io::Result<()> {
        while !frames.is_empty() {
            let gone = match self.send_batch(frames) {
                Ok(sent) => {
                    self.counters.sent += sent as u64;
                    sent
                }
                Err(error) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::ENOBUFS) => return Ok(()),
                    Some(libc::EINTR) => 0,
                    _ => {
                        self.counters.refused += 1;
                        1
                    }
                },
            };
            for frame in frames.drain(..gone) {
                pool.give(frame);
            }
        }
        Ok(())
    }

    fn fd(&self) -> Option<RawFd> {
        Some(self.fd.as_raw_fd())
    }

    fn counters(&mut self) -> PortCounters {
        // SAFETY: plain old data for which all zeros is valid.
        let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes to `statistics`; both outlive the call.
        let result = unsafe {
            libc::getsockopt(
                self.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut len,
            )
        };
        if result == 0 {
            // The kernel sets its counters to zero with each reading.
            self.counters.missed += u64::from(statistics.tp_drops);
        }
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_messages_are_read_as_cmsg_3_lays_them_out() {
        let mut control = [0; CONTROL];
        let mut put =
            |at: usize, bytes: &[u8]| control[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &36_u64.to_ne_bytes());
        put(8, &libc::SOL_PACKET.to_ne_bytes());
        put(12, &libc::PACKET_AUXDATA.to_ne_bytes());
        let status = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        put(16, &status.to_ne_bytes());
        put(32, &0x2064_u16.to_ne_bytes());
        put(34, &0x88a8_u16.to_ne_bytes());
        put(40, &32_u64.to_ne_bytes());
        put(48, &libc::SOL_SOCKET.to_ne_bytes());
        put(52, &libc::SCM_TIMESTAMPNS.to_ne_bytes());
        put(56, &5_u64.to_ne_bytes());
        put(64, &7_u64.to_ne_bytes());
        put(72, &20_u64.to_ne_bytes());
        put(80, &libc::SOL_SOCKET.to_ne_bytes());
        put(84, &libc::SO_MARK.to_ne_bytes());
        put(88, &0x2f_u32.to_ne_bytes());
        let found = read_control(&control);
        assert_eq!(found.mark, 0x2f);
        assert_eq!(found.stamp, Some(5_000_000_007));
        let tag = VlanTag {
            protocol: 0x88a8,
            tci: 0x2064,
        };
        assert_eq!(found.tag, Some(tag));
        assert!(read_control(&[0; CONTROL]).stamp.is_none());
        assert!(read_control(&[255; CONTROL]).tag.is_none());
    }
}
