//! The way round us: a kernel bridge over both interfaces that forwards when we do not.
//!
//! While we live, a BPF program of four instructions at the ingress of both interfaces (tcx,
//! Linux 6.6) drops every frame after packet sockets have seen it and before the kernel bridge
//! does. The programs are held by file descriptors of this process alone, so when it ends,
//! however it ends, the kernel removes them and the bridge forwards at once: no watchdog, no
//! script. The order of `__netif_receive_skb_core` (taps, tcx, bridge) makes it work; the tests
//! verify it on the running kernel.

use crate::clock::Clock;
use crate::interface::{Interface, has_ipv4_address};
use crate::lab::netlink::Netlink;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BridgeStpState, InfoBridge, InfoData, InfoKind, LinkAttribute, LinkInfo, LinkMessage,
};
use sojourn_units::Time;
use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bridges of this name are ours, also those that a killed process left behind.
const NAME: &str = "sojourn";
/// What is mapped of the map: at least a page, whatever its size.
const PAGE: usize = 4096;
/// Most bridges of ours in one namespace.
const MOST: u32 = 1000;

/// Commands, types and flags of `bpf(2)` (linux/bpf.h).
const BPF_MAP_CREATE: libc::c_long = 0;
const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_LINK_CREATE: libc::c_long = 28;
const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_PSEUDO_MAP_VALUE: u8 = 2;
const BPF_TCX_INGRESS: u32 = 46;

/// Verdicts of a tcx program: go on to the bridge, or drop.
const TCX_NEXT: u32 = u32::MAX;
const TCX_DROP: u32 = 2;

/// `struct bpf_insn`.
#[repr(C)]
#[derive(Default)]
struct Instruction {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A program that answers with the word at the start of the array map `map`.
fn program(map: &OwnedFd) -> [Instruction; 4] {
    [
        // r1 = address of the map's value (two slots)
        Instruction {
            code: 0x18,
            registers: BPF_PSEUDO_MAP_VALUE << 4 | 1,
            immediate: map.as_raw_fd(),
            ..Instruction::default()
        },
        Instruction::default(),
        // r0 = *(u32 *)r1
        Instruction {
            code: 0x61,
            registers: 0x10,
            ..Instruction::default()
        },
        // exit
        Instruction {
            code: 0x95,
            ..Instruction::default()
        },
    ]
}

/// `union bpf_attr`, as far as BPF_MAP_CREATE needs it.
#[repr(C)]
#[derive(Default)]
struct MapCreate {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    rest: [u32; 27],
}

/// `union bpf_attr`, as far as BPF_PROG_LOAD needs it.
#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    rest: [u64; 13],
}

/// `union bpf_attr`, as far as BPF_LINK_CREATE needs it.
#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program: u32,
    interface: u32,
    attach: u32,
    flags: u32,
    rest: [u64; 14],
}

/// `bpf(2)` with one of the structures above; the answer is a new descriptor.
fn bpf<T>(command: libc::c_long, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the structure is at least as long as the kernel reads for this command, and zero
    // beyond what it knows; pointers in it outlive the call.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made this descriptor, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// Programs at the ingress of both interfaces, which let frames pass to the kernel bridge or
/// not, and the word in shared memory that tells them. One store changes both at once.
#[derive(Debug)]
struct Gate {
    verdict: NonNull<AtomicU32>,
    _links: [OwnedFd; 2],
}

impl Gate {
    /// An open gate.
    fn new(interfaces: [&Interface; 2]) -> io::Result<Self> {
        let map = bpf(
            BPF_MAP_CREATE,
            &MapCreate {
                kind: BPF_MAP_TYPE_ARRAY,
                key_size: 4,
                value_size: 4,
                entries: 1,
                flags: BPF_F_MMAPABLE,
                ..MapCreate::default()
            },
        )?;
        // SAFETY: a new mapping at an address of the kernel's choice; a page is the least that
        // such a map has.
        let page = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        if page == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let verdict = NonNull::new(page.cast()).expect("a mapping is not at zero");
        let mut links = [
            Self::attach(&map, interfaces[0]),
            Self::attach(&map, interfaces[1]),
        ];
        if let Some(failed) = links.iter_mut().position(|link| link.is_err()) {
            let [left, right] = links;
            // SAFETY: the mapping made above, to which nothing points any more.
            unsafe { libc::munmap(page, PAGE) };
            return Err(if failed == 0 { left } else { right }.expect_err("it has failed"));
        }
        let gate = Self {
            verdict,
            _links: links.map(|link| link.expect("neither has failed")),
        };
        Ok(gate)
    }

    fn attach(map: &OwnedFd, interface: &Interface) -> io::Result<OwnedFd> {
        let program = program(map);
        let loaded = bpf(
            BPF_PROG_LOAD,
            &ProgramLoad {
                kind: BPF_PROG_TYPE_SCHED_CLS,
                instruction_count: program.len() as u32,
                instructions: program.as_ptr() as u64,
                license: c"Dual MIT/GPL".as_ptr() as u64,
                ..ProgramLoad::default()
            },
        )?;
        bpf(
            BPF_LINK_CREATE,
            &LinkCreate {
                program: loaded.as_raw_fd() as u32,
                interface: interface.index,
                attach: BPF_TCX_INGRESS,
                ..LinkCreate::default()
            },
        )
    }

    fn set(&self, verdict: u32) {
        // SAFETY: the mapping lives as long as `self`; the kernel reads it word by word.
        unsafe { self.verdict.as_ref() }.store(verdict, Ordering::SeqCst);
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; `self` was the only one to point to it. The
        // programs keep the map itself.
        unsafe { libc::munmap(self.verdict.as_ptr().cast(), PAGE) };
    }
}

/// The kernel bridge, kept out of the way.
#[derive(Debug)]
pub(crate) struct FailOpenBridge {
    gate: Gate,
    index: u32,
    name: String,
    /// Whether it goes with us on a clean stop.
    removable: bool,
    /// When it stopped forwarding, if it was there before us.
    forwarded_until: Time,
}

/// Why there can be no way round; a clause for the user.
type Refusal = String;

impl FailOpenBridge {
    /// Puts the kernel bridge in place, or adopts the one that holds both interfaces already.
    /// From here on frames reach packet sockets only.
    pub(crate) fn install(
        left: &Interface,
        right: &Interface,
        keep: bool,
        clock: Clock,
    ) -> Result<Self, Refusal> {
        for interface in [left, right] {
            if has_ipv4_address(&interface.name) {
                return Err(format!(
                    "`{}` has an IP address, which a kernel bridge over it would cut off",
                    interface.name
                ));
            }
        }
        let mut netlink = Netlink::open().map_err(|error| format!("netlink: {error}"))?;
        let masters = [left, right].map(|interface| master_of(&mut netlink, interface));
        let [left_master, right_master] = masters;
        let (left_master, right_master) = (left_master?, right_master?);
        let closed_gate = || {
            let gate = Gate::new([left, right]).map_err(|error| match error.raw_os_error() {
                Some(libc::EINVAL) => "this kernel has no tcx (Linux 6.6)".to_owned(),
                Some(libc::ENOSYS) => "this kernel has no bpf(2)".to_owned(),
                _ => format!("attach BPF programs: {error}"),
            })?;
            gate.set(TCX_DROP);
            // Afterwards: rather lose a frame than send it twice.
            let closed = clock.now();
            Ok::<_, Refusal>((gate, closed))
        };
        match (left_master, right_master) {
            (Some(master), Some(other)) if master == other => {
                let name = bridge_name(&mut netlink, master)?;
                let (gate, closed) = closed_gate()?;
                Ok(Self {
                    gate,
                    index: master,
                    removable: !keep && name.starts_with(NAME),
                    name,
                    forwarded_until: closed,
                })
            }
            (None, None) => {
                // First close, then build: nothing is ever forwarded twice.
                let (gate, _) = closed_gate()?;
                let (index, name) = create(&mut netlink)?;
                let bridge = Self {
                    gate,
                    index,
                    name,
                    removable: !keep,
                    forwarded_until: Time::ZERO,
                };
                let build = build(&mut netlink, &bridge, [left, right]);
                // What was made goes again when `bridge` is dropped.
                build.map_err(|error| {
                    remove(&mut netlink, index);
                    format!("build the bridge `{}`: {error}", bridge.name)
                })?;
                Ok(bridge)
            }
            _ => Err(format!(
                "`{}` and `{}` do not belong to the same bridge, but one of them belongs to some",
                left.name, right.name
            )),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Until when it forwarded frames that packet sockets have seen too; zero if it is new.
    pub(crate) fn forwarded_until(&self) -> Time {
        self.forwarded_until
    }

    /// Whether it will stay after a clean stop.
    pub(crate) fn stays(&self) -> bool {
        !self.removable
    }

    /// Lets the kernel bridge forward from now on.
    pub(crate) fn open_now(&self) {
        self.gate.set(TCX_NEXT);
    }

    /// Whatever happens now, the bridge stays: we do not end cleanly.
    pub(crate) fn leave_in_place(&mut self) {
        self.removable = false;
    }
}

impl Drop for FailOpenBridge {
    fn drop(&mut self) {
        // Unwinding is a crash: the link must survive it.
        if self.removable
            && !std::thread::panicking()
            && let Ok(mut netlink) = Netlink::open()
        {
            remove(&mut netlink, self.index);
        }
    }
}

fn get(netlink: &mut Netlink, index: u32) -> io::Result<LinkMessage> {
    let mut link = LinkMessage::default();
    link.header.index = index;
    match netlink.request(RouteNetlinkMessage::GetLink(link), NLM_F_REQUEST)? {
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link)) => Ok(link),
        _ => Err(io::Error::other("an unexpected netlink answer")),
    }
}

/// What the interface is enslaved to.
fn master_of(netlink: &mut Netlink, interface: &Interface) -> Result<Option<u32>, Refusal> {
    let link = get(netlink, interface.index)
        .map_err(|error| format!("ask about `{}`: {error}", interface.name))?;
    Ok(link
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::Controller(index) => Some(*index),
            _ => None,
        }))
}

/// The name of the master, which must be a bridge.
fn bridge_name(netlink: &mut Netlink, index: u32) -> Result<String, Refusal> {
    let link = get(netlink, index).map_err(|error| format!("ask about the bridge: {error}"))?;
    let mut name = String::new();
    let mut is_bridge = false;
    for attribute in link.attributes {
        match attribute {
            LinkAttribute::IfName(text) => name = text,
            LinkAttribute::LinkInfo(info) => {
                is_bridge |= info.contains(&LinkInfo::Kind(InfoKind::Bridge));
            }
            _ => {}
        }
    }
    if !is_bridge {
        return Err(format!(
            "both interfaces belong to `{name}`, which is no bridge"
        ));
    }
    Ok(name)
}

/// Makes a bridge that forwards at once, learns nothing from us and says nothing of its own.
fn create(netlink: &mut Netlink) -> Result<(u32, String), Refusal> {
    for number in 0..MOST {
        let name = format!("{NAME}{number}");
        let mut link = LinkMessage::default();
        link.attributes = vec![
            LinkAttribute::IfName(name.clone()),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Bridge),
                LinkInfo::Data(InfoData::Bridge(vec![
                    InfoBridge::ForwardDelay(0),
                    InfoBridge::StpState(BridgeStpState::Disabled),
                    InfoBridge::MulticastSnooping(false),
                ])),
            ]),
        ];
        let message = RouteNetlinkMessage::NewLink(link);
        match netlink.change(message, NLM_F_CREATE | NLM_F_EXCL) {
            Ok(()) => {
                // The bridge itself must not speak IPv6 on the link. Without this file there
                // is no IPv6.
                let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
                let index = Interface::index_of(&name)
                    .map_err(|error| format!("look up the bridge `{name}`: {error}"))?;
                return Ok((index, name));
            }
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                return Err("this kernel has no bridge device".to_owned());
            }
            Err(error) => return Err(format!("make a bridge device: {error}")),
        }
    }
    Err(format!("there are {MOST} bridges named {NAME} already"))
}

fn build(netlink: &mut Netlink, bridge: &FailOpenBridge, ports: [&Interface; 2]) -> io::Result<()> {
    for port in ports {
        let mut link = LinkMessage::default();
        link.header.index = port.index;
        link.attributes = vec![LinkAttribute::Controller(bridge.index)];
        netlink.change(RouteNetlinkMessage::SetLink(link), 0)?;
    }
    netlink.up(bridge.index)
}

fn remove(netlink: &mut Netlink, index: u32) {
    let mut link = LinkMessage::default();
    link.header.index = index;
    // It may be gone with its namespace.
    let _ = netlink.change(RouteNetlinkMessage::DelLink(link), 0);
}
