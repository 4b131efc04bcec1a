//! An interface through AF_PACKET (`packet(7)`): batches of whole frames with their offloads.
//!
//! `PACKET_VNET_HDR` carries what the sender left to the hardware, so that super-packets and
//! partial checksums pass as they are; `PACKET_AUXDATA` carries the VLAN tag that the kernel
//! takes out; time stamps are those of the kernel.

use crate::alarm::{Alarm, PACKET_IGNORE_OUTGOING};
use crate::clock::Clock;
use crate::forwarding::{BATCH, Frame, FramePort, Pool, PortCounters};
use crate::forwarding::{HEAD, TAIL, VlanTag, VnetHeader};
use crate::interface::Interface;
use crate::sys::{self, ControlBuffer, Gate, Taking};
use rustix::net::netdevice::index_to_name_inlined;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket, socket_with};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::size_of;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What arrives while we are not running (64 MiB of the kernel's accounting).
const RECEIVE_BUFFER: libc::c_int = 32 << 20;
/// What waits in an interface that is slower than we are (4 MiB of the kernel's accounting).
const SEND_BUFFER: libc::c_int = 2 << 20;
/// `SO_RCVMARK`, Linux 5.19 (`asm-generic/socket.h`).
const SO_RCVMARK: libc::c_int = 75;
/// `PACKET_FANOUT_HASH` and flags of a group (`if_packet.h`).
const FANOUT_HASH: u32 = 0;
const FANOUT_UNIQUEID: u32 = 0x2000;
const FANOUT_IGNORE_OUTGOING: u32 = 0x4000;
/// Parts of a message: offload header, and the frame's.
const PARTS: usize = 4;
/// Smallest batch size; doubled while batches come back full.
const SMALLEST_BATCH: usize = 8;

/// A packet socket bound to one interface, both ways.
pub struct PacketSocket {
    fd: OwnedFd,
    /// Tells of frames that are in a hurry, if that is wanted.
    alarm: Option<Alarm>,
    /// Decides which frames it takes, where a kernel bridge has the others.
    taking: Option<Taking>,
    index: u32,
    /// Frames and second parts that the next batch is received into.
    posted: Vec<Frame>,
    tails: Vec<Option<Box<[u8]>>>,
    vnet: Box<[[u8; VnetHeader::LEN]; BATCH]>,
    control: Box<[ControlBuffer; BATCH]>,
    batch: usize,
    /// The interface went down, and no frame has come since: it may have been on its way out.
    is_down: bool,
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
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn open(pool: &mut Pool, qdisc_bypass: bool) -> io::Result<Self> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
        let posted = (0..BATCH)
            .map(|_| pool.take())
            .collect::<Option<_>>()
            .ok_or_else(|| io::Error::other("the pool of frames is too small"))?;
        let socket = Self {
            fd,
            alarm: None,
            taking: None,
            index: 0,
            posted,
            tails: (0..BATCH).map(|_| Some(pool.take_tail(TAIL))).collect(),
            vnet: Box::new([[0; VnetHeader::LEN]; BATCH]),
            control: Box::new([ControlBuffer([0; ControlBuffer::LEN]); BATCH]),
            batch: SMALLEST_BATCH,
            is_down: false,
            counters: PortCounters::default(),
        };
        let packet = libc::SOL_PACKET;
        socket.set(packet, libc::PACKET_VNET_HDR, 1)?;
        socket.set(packet, libc::PACKET_AUXDATA, 1)?;
        socket.set(packet, PACKET_IGNORE_OUTGOING, 1)?;
        socket.set(packet, libc::PACKET_QDISC_BYPASS, i32::from(qdisc_bypass))?;
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
        // An older kernel tells no marks: then frames have none.
        let _ = socket.set(libc::SOL_SOCKET, SO_RCVMARK, 1);
        socket.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, RECEIVE_BUFFER)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER)?;
        Ok(socket)
    }

    /// Has an alarm tell of frames that are in a hurry, which was opened before this socket.
    pub(crate) fn set_alarm(&mut self, alarm: Option<Alarm>) {
        self.alarm = alarm;
    }

    /// Takes from now on what `gate` says, and no other frame.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub(crate) fn obey(&mut self, gate: &Gate) -> io::Result<()> {
        let taking = gate.filter()?;
        taking.attach(&self.fd)?;
        self.taking = Some(taking);
        Ok(())
    }

    /// From now on frames arrive. The interface is promiscuous as long as the socket lives.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn bind(&mut self, interface: &Interface) -> io::Result<()> {
        self.index = interface.index;
        if let Some(alarm) = &self.alarm {
            alarm.bind(interface)?;
        }
        sys::make_promiscuous(&self.fd, interface.index)?;
        sys::bind_to_interface(&self.fd, interface.index)
    }

    /// Shares the interface's frames with the sockets of its group, by a hash of each flow that is
    /// the same for both directions (`PACKET_FANOUT_HASH`); fragments and frames that are not IP
    /// have none of ports, so that they stay in order. None makes a group. Sockets that join in
    /// the same order on two interfaces get the same flows of both.
    ///
    /// What has arrived before is dropped: all have got it.
    ///
    /// # Errors
    /// When the kernel refuses it: `PACKET_FANOUT_FLAG_IGNORE_OUTGOING` is from Linux 6.2.
    pub(crate) fn join(
        &mut self,
        group: &mut Option<u16>,
        pool: &mut Pool,
        clock: &Clock,
    ) -> io::Result<()> {
        let unique = if group.is_none() { FANOUT_UNIQUEID } else { 0 };
        let flags = FANOUT_HASH | FANOUT_IGNORE_OUTGOING | unique;
        let value = u32::from(group.unwrap_or(0)) | flags << 16;
        self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, value.cast_signed())?;
        let is_first = group.is_none();
        if is_first {
            let mut told = [0; 4];
            sys::option(&self.fd, libc::SOL_PACKET, libc::PACKET_FANOUT, &mut told)?;
            *group = Some(u32::from_ne_bytes(told) as u16);
            return Ok(());
        }
        let mut early = Vec::with_capacity(BATCH);
        while self.receive(pool, clock, &mut early)? > 0 {
            early.drain(..).for_each(|frame| pool.give(frame));
        }
        Ok(())
    }

    fn set(&self, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
        sys::set_option(&self.fd, level, option, &value.to_ne_bytes())
    }

    /// Fills the posted frames; returns how many, and their lengths with the offload header.
    fn receive_batch(&mut self) -> io::Result<(usize, [u32; BATCH])> {
        if self.batch <= SMALLEST_BATCH {
            return self.receive_few::<SMALLEST_BATCH>();
        }
        self.receive_few::<BATCH>()
    }

    /// The same for up to `MOST`: what a call needs is made anew each time.
    fn receive_few<const MOST: usize>(&mut self) -> io::Result<(usize, [u32; BATCH])> {
        let mut slots = self
            .vnet
            .iter_mut()
            .zip(&mut self.posted)
            .zip(&mut self.tails);
        let mut parts: [_; MOST] = std::array::from_fn(|_| {
            let ((vnet, frame), tail) = slots.next().expect("there are as many of each");
            let tail = tail.as_mut().expect("refilled after each batch");
            [
                IoSliceMut::new(vnet),
                IoSliceMut::new(frame.buffer()),
                IoSliceMut::new(tail),
            ]
        });
        let mut lengths = [0; BATCH];
        let parts = &mut parts[..self.batch];
        let count = sys::receive::<MOST, _>(&self.fd, parts, &mut *self.control, &mut lengths)?;
        Ok((count, lengths))
    }

    fn take_received(
        &mut self,
        slot: usize,
        len: u32,
        pool: &mut Pool,
        stamps: &Stamps,
    ) -> Option<Frame> {
        let len = (len as usize).saturating_sub(VnetHeader::LEN);
        if len > HEAD + TAIL {
            self.counters.unreadable += 1;
            return None;
        }
        let Some(fresh) = pool.take() else {
            self.counters.no_buffer += 1;
            self.counters.no_buffer_bytes += len as u64;
            return None;
        };
        self.counters.received += 1;
        let mut frame = std::mem::replace(&mut self.posted[slot], fresh);
        if len > HEAD {
            frame.attach(self.take_tail(slot, len - HEAD, pool));
        }
        let ancillary = read_control(&self.control[slot].0);
        let arrived = stamps.on_clock(ancillary.stamp);
        let vnet = VnetHeader::from_bytes(self.vnet[slot]);
        frame.filled(len, vnet, ancillary.tag, arrived);
        frame.set_mark(ancillary.mark);
        Some(frame)
    }

    /// The second part that was received into, or a smaller one with its bytes: what a frame
    /// holds is less than twice what it needs.
    fn take_tail(&mut self, slot: usize, len: usize, pool: &mut Pool) -> Box<[u8]> {
        let posted = &mut self.tails[slot];
        if let Some(posted) = posted.as_ref().filter(|_| len <= TAIL / 2) {
            let mut fitting = pool.take_tail(len);
            fitting[..len].copy_from_slice(&posted[..len]);
            return fitting;
        }
        let tail = posted.replace(pool.take_tail(TAIL));
        tail.expect("refilled after each batch")
    }

    /// Sends as many of the first frames as fit into a batch; returns how many went.
    fn send_batch(&mut self, frames: &VecDeque<Frame>) -> io::Result<usize> {
        if frames.len() <= SMALLEST_BATCH {
            return self.send_few::<SMALLEST_BATCH>(frames);
        }
        self.send_few::<BATCH>(frames)
    }

    /// The same for up to `MOST`.
    fn send_few<const MOST: usize>(&mut self, frames: &VecDeque<Frame>) -> io::Result<usize> {
        let mut headers = [[0; VnetHeader::LEN]; MOST];
        for (header, frame) in headers.iter_mut().zip(frames) {
            *header = frame.vnet().to_bytes();
        }
        let batch = frames.len().min(MOST);
        let mut slots = headers.iter().zip(frames);
        let parts: [_; MOST] = std::array::from_fn(|_| match slots.next() {
            None => [IoSlice::new(&[]); PARTS],
            Some((header, frame)) => {
                let [first, second, third] = frame.parts();
                [header, first, second, third].map(IoSlice::new)
            }
        });
        sys::send::<MOST, PARTS>(&self.fd, &parts[..batch])
    }
}

/// Whether there still is an interface with this index.
fn is_there(index: u32) -> bool {
    socket(AddressFamily::INET, SocketType::DGRAM, None)
        .is_ok_and(|asked| index_to_name_inlined(asked, index).is_ok())
}

/// Turns the kernel's stamps (CLOCK_REALTIME) into times on our clock. The clocks are compared
/// anew for every batch, so a step of the wall clock disturbs one batch at most. In virtual time
/// they are compared once.
struct Stamps {
    now: Option<Time>,
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
        let time = stamp.map(|stamp| Time::from_nanos(stamp.saturating_sub(self.lead)));
        match (time, self.now) {
            (Some(time), None) => time,
            (Some(time), Some(now)) if time <= now && now - time <= BELIEVABLE => time,
            (_, now) => now.unwrap_or_default(),
        }
    }
}

/// Reads the chain of control messages (`cmsg(3)`): length, level, kind, data, each aligned to
/// a word. `control` is zero after the last one.
fn read_control(control: &[u8; ControlBuffer::LEN]) -> Ancillary {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    let word = |at: usize| Some(u64::from_ne_bytes(*control.get(at..)?.first_chunk()?));
    let half = |at: usize| Some(u32::from_ne_bytes(*control.get(at..)?.first_chunk()?));
    let short = |at: usize| Some(u16::from_ne_bytes(*control.get(at..)?.first_chunk()?));
    let mut found = Ancillary::default();
    let mut at = 0;
    while let (Some(len), Some(level), Some(kind)) = (word(at), half(at + 8), half(at + 12)) {
        let len = len as usize;
        if !(HEADER..=ControlBuffer::LEN).contains(&len) {
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

/// The batch to begin with where so many frames came the last time, in the end with this batch: one
/// call that is not filled says that there are no more. Where fewer come from then on it halves
/// step by step, since a call with a large batch costs more than one with a small batch.
fn batch_after(total: usize, batch: usize) -> usize {
    let needed = (total + 1).next_power_of_two();
    needed.max(batch / 2).clamp(SMALLEST_BATCH, BATCH)
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
                    // The kernel tells of its end only if that was not its going down.
                    Some(libc::EAGAIN) if self.is_down && !is_there(self.index) => {
                        return Err(io::Error::from_raw_os_error(libc::ENETDOWN));
                    }
                    Some(libc::EAGAIN) => break,
                    Some(libc::EINTR) => continue,
                    // Down is not gone: it may come up again.
                    Some(libc::ENETDOWN) if is_there(self.index) => {
                        self.is_down = true;
                        continue;
                    }
                    // A packet that the kernel cannot describe in an offload header.
                    Some(libc::EINVAL) => {
                        self.counters.unreadable += 1;
                        total += 1;
                        continue;
                    }
                    _ => return Err(error),
                },
            };
            self.is_down = false;
            let stamps = Stamps::new(*clock);
            for (slot, &len) in lengths.iter().enumerate().take(count) {
                into.extend(self.take_received(slot, len, pool, &stamps));
            }
            total += count;
            if count < self.batch {
                self.batch = batch_after(total, self.batch);
                break;
            }
            self.batch = (self.batch * 2).min(BATCH);
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

    fn fds(&self) -> &[OwnedFd] {
        std::slice::from_ref(&self.fd)
    }

    fn joins(&self) -> bool {
        true
    }

    fn alarm(&self) -> Option<BorrowedFd<'_>> {
        self.alarm.as_ref().map(AsFd::as_fd)
    }

    fn clear_alarm(&self) {
        if let Some(alarm) = &self.alarm {
            alarm.clear();
        }
    }

    fn counters(&mut self) -> PortCounters {
        // `struct tpacket_stats`: packets and drops, both zero after each reading.
        let mut statistics = [0; 8];
        let wanted = libc::PACKET_STATISTICS;
        if sys::option(&self.fd, libc::SOL_PACKET, wanted, &mut statistics).is_ok() {
            let [_, _, _, _, drops @ ..] = statistics;
            self.counters.missed += u64::from(u32::from_ne_bytes(drops));
        }
        self.counters.by_kernel = self.taking.as_ref().map_or(0, Taking::passed);
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls in each of several turns, in which so many frames come.
    fn calls(turns: &[usize]) -> Vec<usize> {
        let mut batch = SMALLEST_BATCH;
        let of_turn = |came: &usize| {
            let (mut total, mut calls) = (0, 0);
            loop {
                calls += 1;
                let count = batch.min(came - total);
                total += count;
                if count < batch {
                    batch = batch_after(total, batch);
                    return calls;
                }
                batch = (batch * 2).min(BATCH);
            }
        };
        turns.iter().map(of_turn).collect()
    }

    #[test]
    fn as_many_frames_as_before_take_one_call() {
        assert_eq!(calls(&[1, 7, 8, 8, 9, 8, 9]), [1, 1, 2, 1, 1, 1, 1]);
        assert_eq!(calls(&[40, 40, 40]), [3, 1, 1]);
        // It is forgotten by halves.
        assert_eq!(calls(&[20, 0, 0, 0, 12]), [2, 1, 1, 1, 2]);
        assert_eq!(batch_after(63, 64), 64);
        assert_eq!(batch_after(0, 64), 32);
        assert_eq!(batch_after(0, 8), SMALLEST_BATCH);
    }

    #[test]
    fn control_messages_are_read_as_cmsg_3_lays_them_out() {
        let mut control = [0; ControlBuffer::LEN];
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
        let tag = found.tag.expect("there is one");
        assert_eq!((tag.protocol, tag.tci), (0x88a8, 0x2064));
        assert!(read_control(&[0; ControlBuffer::LEN]).stamp.is_none());
        assert!(read_control(&[255; ControlBuffer::LEN]).tag.is_none());
    }
}
