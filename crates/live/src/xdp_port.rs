//! An interface through AF_XDP: a program hands its frames over before the kernel makes anything
//! of them, and they come and go through rings in shared memory.
//!
//! There is a socket for each queue that the interface receives from; frames leave through the
//! first, so that they stay in order. What the kernel would do for a packet socket is done here:
//! VLAN tags held beside a frame are told by the program, as is the time of arrival; partial
//! checksums are found by [`checksum`]. Super-packets do not come: a driver makes none for a
//! program, and veth's other end cuts its own.

use crate::bridge::{BATCH, Frame, FramePort, Pool, PortCounters, VlanTag};
use crate::btf;
use crate::checksum;
use crate::clock::Clock;
use crate::interface::{Interface, Offloads, has_address};
use crate::moderation::Moderation;
use crate::napi::Napis;
use crate::sys::{self, Layout, META, Redirect, Request, TAGGED, XdpSocket};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use sojourn_units::Time;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

/// Frames of a queue that wait for us, and frames under way to the interface.
const RECEIVE: u32 = 2048;
const SEND: u32 = 512;
/// The two sizes of a chunk that the kernel has.
const CHUNKS: [u32; 2] = [2048, 4096];
/// Beside the packet: the Ethernet header, and two VLAN tags.
const AROUND: u32 = 14 + 8;
/// Looks in vain after which the socket is asked whether it still has its interface.
const IN_VAIN: u32 = 8;

/// The function of the kernel that knows a frame's VLAN tag (Linux 6.8).
const TAG_FUNCTION: &str = "bpf_xdp_metadata_rx_vlan_tag";

/// Why an interface cannot be had through AF_XDP.
#[derive(Debug, thiserror::Error)]
pub(crate) enum XdpRefusal {
    /// The host's own traffic would not reach it any more.
    #[error("it has an IP address, which would be cut off")]
    Address,
    /// Frames do not fit into a chunk.
    #[error("its MTU of {mtu} bytes is above {most}")]
    Mtu { mtu: u32, most: u32 },
    /// Tags that the hardware takes out of a frame are not told.
    #[error("it takes VLAN tags out of frames (rxvlan), and offloads are to stay as they are")]
    Tags,
    /// The kernel is too old, or built without BTF.
    #[error("this kernel has no {TAG_FUNCTION} (Linux 6.8, with BTF)")]
    Function,
    /// The driver copies each frame.
    #[error("its driver has no zero-copy")]
    Copies,
    /// The kernel refused something.
    #[error("{doing}: {error}")]
    Failed {
        /// What we wanted to do.
        doing: &'static str,
        /// Its answer.
        #[source]
        error: io::Error,
    },
}

/// For `map_err`: an error while `doing` something.
fn failed(doing: &'static str) -> impl FnOnce(io::Error) -> XdpRefusal {
    move |error| XdpRefusal::Failed { doing, error }
}

/// An interface whose frames all come here, until this is dropped or the process ends.
pub(crate) struct XdpPort {
    /// Of instances that are there as long as the program is.
    moderation: Option<Moderation>,
    /// Before the sockets, so that none is missing while frames are handed over.
    redirect: Redirect,
    sockets: Vec<XdpSocket>,
    fds: Vec<OwnedFd>,
    /// The interface is promiscuous as long as it lives.
    _promiscuous: OwnedFd,
    name: String,
    /// The longest frame that the interface sends, as far as we know.
    longest: u32,
    /// The socket that is looked at first, another one each time so that none starves.
    first: usize,
    in_vain: u32,
    counters: PortCounters,
}

impl XdpPort {
    /// From now on all frames of the interface come here. `longest` is the longest packet of this
    /// interface and of the one that its frames go to. With `needs_zero_copy` it is refused where
    /// the kernel copies frames.
    pub(crate) fn open(
        interface: &Interface,
        longest: u32,
        needs_zero_copy: bool,
    ) -> Result<Self, XdpRefusal> {
        let name = &interface.name;
        if has_address(name) {
            return Err(XdpRefusal::Address);
        }
        if Offloads::on(name).is_ok_and(|on| on.rx_vlan) {
            return Err(XdpRefusal::Tags);
        }
        let layouts = CHUNKS.map(|chunk| Layout {
            chunk,
            receive: RECEIVE,
            send: SEND,
        });
        let fits = |layout: &Layout| longest + AROUND <= layout.longest();
        let Some(layout) = layouts.into_iter().find(fits) else {
            let most = layouts[1].longest() - AROUND;
            return Err(XdpRefusal::Mtu { mtu: longest, most });
        };
        let function = btf::kernel_function(TAG_FUNCTION).ok().flatten();
        let function = function.ok_or(XdpRefusal::Function)?;
        let asked = Request::about(name).map(|mut asked| asked.receive_queues());
        let queues = asked.map_err(failed("ask for its queues"))?;
        let (mut sockets, mut fds) = (Vec::new(), Vec::new());
        for queue in 0..queues {
            let opened = XdpSocket::open(layout);
            let mut socket = opened.map_err(failed("open an AF_XDP socket"))?;
            let bound = socket.bind(interface.index, queue);
            bound.map_err(failed("bind an AF_XDP socket"))?;
            if needs_zero_copy && !socket.is_zero_copy() {
                return Err(XdpRefusal::Copies);
            }
            fds.push(socket.fd().map_err(failed("keep an AF_XDP socket"))?);
            sockets.push(socket);
        }
        let promiscuous = promiscuous(interface.index).map_err(failed("make it promiscuous"))?;
        let napis = Napis::open().ok();
        let napis = napis.filter(|napis| napis.of(interface.index).is_ok_and(|ids| ids.is_empty()));
        let redirect = Redirect::new(interface.index, &fds, function);
        let redirect = redirect.map_err(failed("attach an XDP program"))?;
        let moderation = napis.and_then(|napis| Moderation::of(napis, interface.index).ok());
        Ok(Self {
            moderation,
            redirect,
            sockets,
            fds,
            _promiscuous: promiscuous,
            name: name.clone(),
            longest: interface.mtu + AROUND,
            first: 0,
            in_vain: 0,
            counters: PortCounters::default(),
        })
    }

    /// Whether no frame is copied by the kernel.
    pub(crate) fn is_zero_copy(&self) -> bool {
        self.sockets.iter().all(XdpSocket::is_zero_copy)
    }

    /// Hands frames over that come up to this time, and lets later ones pass to the kernel.
    pub(crate) fn hold_until(&self, time: Time, clock: Clock) {
        self.redirect.until(clock.monotonic(time));
    }

    /// After many looks in vain: whether the interface still is.
    fn look_after_it(&mut self) -> io::Result<()> {
        self.in_vain += 1;
        if self.in_vain < IN_VAIN {
            return Ok(());
        }
        self.in_vain = 0;
        self.sockets.iter().try_for_each(XdpSocket::error)
    }

    /// Puts as many of the first frames as there is room for among those to be sent.
    fn put(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) {
        while let Some(frame) = frames.front() {
            if self.is_too_long(frame.size()) {
                self.counters.refused += 1;
            } else if self.sockets[0].put(frame.parts(), frame.partial_checksum()) {
                self.counters.sent += 1;
            } else {
                return;
            }
            if let Some(frame) = frames.pop_front() {
                pool.give(frame);
            }
        }
    }

    /// Whether a frame is longer than the interface sends. Its MTU may have grown.
    fn is_too_long(&mut self, len: u32) -> bool {
        if len > self.longest
            && let Ok(mtu) = Request::about(&self.name).and_then(|mut asked| asked.mtu())
        {
            self.longest = mtu + AROUND;
        }
        len > self.longest.min(self.sockets[0].longest())
    }
}

/// A packet socket to which nothing comes, and which makes the interface promiscuous.
fn promiscuous(index: u32) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?;
    sys::make_promiscuous(&socket, index)?;
    Ok(socket)
}

/// What the program wrote before a frame, as [`Frame::filled`] wants it.
fn read_meta(meta: [u8; META], clock: &Clock, now: Time) -> (Time, Option<VlanTag>) {
    let [stamp, tag] = [0, 8].map(|at| {
        let word = meta[at..].first_chunk().expect("two words");
        u64::from_ne_bytes(*word)
    });
    let arrived = match stamp {
        0 => now,
        stamp => clock.at_monotonic(stamp).min(now),
    };
    let tag = (tag & TAGGED != 0).then_some(VlanTag {
        protocol: u16::from_be((tag >> 16) as u16),
        tci: tag as u16,
    });
    (arrived, tag)
}

impl FramePort for XdpPort {
    fn receive(
        &mut self,
        pool: &mut Pool,
        clock: &Clock,
        into: &mut Vec<Frame>,
    ) -> io::Result<usize> {
        let (mut total, before) = (0, into.len());
        let now = clock.now();
        let counters = &mut self.counters;
        self.first = (self.first + 1) % self.sockets.len();
        let (later, sooner) = self.sockets.split_at_mut(self.first);
        for socket in sooner.iter_mut().chain(later) {
            total += socket.receive(BATCH - total, |meta, bytes| {
                let (arrived, tag) = read_meta(meta, clock, now);
                let Some(mut frame) = Frame::received(pool, bytes, tag, arrived) else {
                    counters.no_buffer += 1;
                    counters.no_buffer_bytes += bytes.len() as u64;
                    return;
                };
                counters.received += 1;
                if let Some(partial) = checksum::partial(frame.parts()[0], frame.parsed()) {
                    frame.leave_checksum(partial);
                }
                into.push(frame);
            });
        }
        if self.sockets.len() > 1 {
            into[before..].sort_by_key(Frame::arrived);
        }
        if total == 0 {
            self.look_after_it()?;
        } else {
            self.in_vain = 0;
        }
        Ok(total)
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> io::Result<()> {
        while !frames.is_empty() {
            self.put(pool, frames);
            match self.sockets[0].send() {
                Ok(true) => {}
                // The driver is busy.
                Ok(false) => break,
                // The interface is down; what is in the ring leaves when it is up again.
                Err(_) => {
                    self.counters.refused += frames.len() as u64;
                    frames.drain(..).for_each(|frame| pool.give(frame));
                }
            }
        }
        Ok(())
    }

    fn fds(&self) -> &[OwnedFd] {
        &self.fds
    }

    fn counters(&mut self) -> PortCounters {
        let lost = self.sockets.iter().map(XdpSocket::lost);
        let [missed, refused] = lost.fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
        PortCounters {
            missed,
            refused: self.counters.refused + refused,
            sent: self.counters.sent.saturating_sub(refused),
            by_kernel: self.redirect.passed(),
            ..self.counters
        }
    }

    fn is_alone(&self) -> bool {
        true
    }

    fn gathers(&self) -> bool {
        self.moderation.as_ref().is_some_and(Moderation::is_on)
    }

    fn moderate(&mut self, is_on: bool) {
        if let Some(moderation) = &self.moderation {
            moderation.set(is_on);
        }
    }
}
