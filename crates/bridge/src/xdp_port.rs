//! An interface through AF_XDP: a program hands its frames over before the kernel makes anything
//! of them, and they come and go through rings in shared memory.
//!
//! There is a socket for each queue that the interface receives from; frames leave through the
//! first, so that they stay in order. All sockets of a bridge share their memory, so that a frame
//! leaves from where it was received, and only the kernel copies it, where a driver has no
//! zero-copy. What the kernel would do for a packet socket is done here: VLAN tags held beside a
//! frame are told by the program, as is the time of arrival; partial checksums are found by
//! [`checksum`]. Super-packets do not come: a driver makes none for a program, and veth's other end
//! cuts its own.

use crate::btf;
use crate::checksum;
use crate::clock::Clock;
use crate::forwarding::{BATCH, Frame, FramePort, Pool, PortCounters, VlanTag};
use crate::interface::{Interface, Offloads, addressed};
use crate::links::Links;
use crate::moderation::Moderation;
use crate::napi::Napis;
use crate::sys::{
    self, Chunk, Layout, META, Redirect, Request, SEND_AT, TAGGED, XdpSocket, XdpSockets,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use sojourn_units::Time;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

/// Frames of a queue that wait for us, and frames under way to the interface.
const RECEIVE: u32 = 2048;
const SEND: u32 = 512;
/// The first where the kernel copies frames: fewer, so that the memory that it writes to is in the
/// processor's cache still.
const RECEIVE_COPIES: u32 = 1024;
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

/// Opens both interfaces, whose frames go from one to the other and are in the pool of the one
/// that they come from: they come here from now on. With `needs_zero_copy` it is refused where the
/// kernel copies frames.
///
/// # Errors
/// Which interface refuses it, and why.
pub(crate) fn open(
    interfaces: [&Interface; 2],
    needs_zero_copy: bool,
    pools: &mut [Pool; 2],
) -> Result<[XdpPort; 2], String> {
    let longest = interfaces[0].mtu.max(interfaces[1].mtu);
    let by = |side: usize| move |why| format!("`{}`: {why}", interfaces[side].name);
    let queues = |side| queues(interfaces[side]).map_err(by(side));
    let queues = [queues(0)?, queues(1)?];
    let layout = layout(longest).map_err(by(0))?;
    let bound = bind(interfaces, queues, layout).or_else(|(side, why)| {
        // One has zero-copy, the other has not.
        let copies = Layout {
            copies: true,
            ..layout
        };
        if needs_zero_copy {
            return Err((side, why));
        }
        bind(interfaces, queues, copies)
    });
    let (sockets, mut chunks) = bound.map_err(|(side, why)| by(side)(why))?;
    for (side, sockets) in sockets.iter().enumerate() {
        if needs_zero_copy && !sockets.iter().all(XdpSocket::is_zero_copy) {
            return Err(by(side)(XdpRefusal::Copies));
        }
    }
    let [of_left, of_right] = &mut *pools;
    of_left.add_chunks(chunks.drain(..chunks_of(queues[0]) as usize));
    of_right.add_chunks(chunks);
    let [left, right] = sockets;
    let left = XdpPort::new(interfaces[0], left, of_left).map_err(by(0));
    let right = XdpPort::new(interfaces[1], right, of_right).map_err(by(1));
    match (left, right) {
        (Ok(left), Ok(right)) => Ok([left, right]),
        (Err(why), _) | (_, Err(why)) => {
            for pool in pools {
                pool.chunks().clear();
            }
            Err(why)
        }
    }
}

/// The queues that an interface receives from, if it can be had.
fn queues(interface: &Interface) -> Result<u32, XdpRefusal> {
    let name = &interface.name;
    let mut links = Links::open().map_err(failed("open a socket"))?;
    if addressed(&mut links, &[interface.index]).is_some() {
        return Err(XdpRefusal::Address);
    }
    if Offloads::on(name).is_ok_and(|on| on.rx_vlan) {
        return Err(XdpRefusal::Tags);
    }
    let asked = Request::about(name).map(|mut asked| asked.receive_queues());
    asked.map_err(failed("ask for its queues"))
}

/// For packets of up to `longest` bytes.
fn layout(longest: u32) -> Result<Layout, XdpRefusal> {
    let layouts = CHUNKS.map(|chunk| Layout {
        chunk,
        receive: RECEIVE,
        receive_copies: RECEIVE_COPIES,
        send: SEND,
        copies: false,
    });
    let fits = |layout: &Layout| longest + AROUND <= layout.longest();
    layouts.into_iter().find(fits).ok_or(XdpRefusal::Mtu {
        mtu: longest,
        most: layouts[1].longest() - AROUND,
    })
}

/// Chunks for the frames that come in by so many queues.
fn chunks_of(queues: u32) -> u32 {
    queues * RECEIVE + SEND
}

/// Sockets of both interfaces, and the chunks of their memory.
type Bound = ([Vec<XdpSocket>; 2], Vec<Chunk>);

/// A socket for each queue of both interfaces; or which of the two refuses it, and why.
fn bind(
    interfaces: [&Interface; 2],
    queues: [u32; 2],
    layout: Layout,
) -> Result<Bound, (usize, XdpRefusal)> {
    let chunks = queues.map(chunks_of).iter().sum();
    let refusal = |doing, side| move |error| (side, failed(doing)(error));
    let opened = XdpSockets::new(layout, chunks);
    let (mut sockets, chunks) = opened.map_err(refusal("make memory for AF_XDP", 0))?;
    let mut of_both = [Vec::new(), Vec::new()];
    for (side, of_side) in of_both.iter_mut().enumerate() {
        for queue in 0..queues[side] {
            let socket = sockets.open(interfaces[side].index, queue);
            of_side.push(socket.map_err(refusal("open an AF_XDP socket", side))?);
        }
    }
    Ok((of_both, chunks))
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
    /// From now on all frames of an interface come here, whose `sockets` these are. Chunks to
    /// receive into are the pool's.
    fn new(
        interface: &Interface,
        mut sockets: Vec<XdpSocket>,
        pool: &mut Pool,
    ) -> Result<Self, XdpRefusal> {
        let function = btf::kernel_function(TAG_FUNCTION)
            .ok()
            .flatten()
            .ok_or(XdpRefusal::Function)?;
        let fds: Vec<OwnedFd> = sockets
            .iter()
            .map(XdpSocket::fd)
            .collect::<io::Result<_>>()
            .map_err(failed("keep a socket"))?;
        for socket in &mut sockets {
            socket.fill(pool.chunks());
        }
        let promiscuous = promiscuous(interface.index).map_err(failed("make it promiscuous"))?;
        let napis = Napis::open()
            .ok()
            .filter(|napis| napis.of(interface.index).is_ok_and(|ids| ids.is_empty()));
        let redirect = Redirect::new(interface.index, &fds, function)
            .map_err(failed("attach an XDP program"))?;
        let moderation = napis.and_then(|napis| Moderation::of(napis, interface.index).ok());
        Ok(Self {
            moderation,
            redirect,
            sockets,
            fds,
            _promiscuous: promiscuous,
            name: interface.name.clone(),
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
    pub(crate) fn take_until(&self, time: Time, clock: Clock) {
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

    /// Puts as many of the first frames as there is room for among those to be sent. Tells how many
    /// are done with.
    fn put(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> usize {
        let before = frames.len();
        while self.sockets[0].has_room()
            && let Some(frame) = frames.pop_front()
        {
            if self.is_too_long(frame.size()) {
                self.counters.refused += 1;
                pool.give(frame);
                continue;
            }
            let (len, partial) = (frame.size() as usize, frame.partial_checksum());
            match pool.give_for_chunk(frame, SEND_AT) {
                Ok((chunk, start)) => {
                    self.sockets[0].put(chunk, start, len, partial);
                    self.counters.sent += 1;
                }
                Err(frame) => {
                    frames.push_front(frame);
                    break;
                }
            }
        }
        before - frames.len()
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
            let already = total;
            for _ in 0..socket.fetch(BATCH - total) {
                let Some(arrived) = socket.take() else {
                    break;
                };
                total += 1;
                let len = arrived.len as u64;
                let (at, tag) = read_meta(arrived.meta(), clock, now);
                let Some(mut frame) = Frame::placed(pool, arrived, tag, at) else {
                    counters.no_buffer += 1;
                    counters.no_buffer_bytes += len;
                    continue;
                };
                counters.received += 1;
                if let Some(partial) = checksum::partial(frame.parts()[0], frame.parsed()) {
                    frame.leave_checksum(partial);
                }
                into.push(frame);
            }
            if total > already {
                socket.taken();
                socket.fill(pool.chunks());
            }
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
        self.sockets[0].take_back(pool.chunks());
        while !frames.is_empty() {
            let done = self.put(pool, frames);
            let sent = self.sockets[0].send();
            self.sockets[0].take_back(pool.chunks());
            match sent {
                Ok(true) if done > 0 => {}
                // The driver is busy.
                Ok(_) => break,
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
