//! The way round us: a kernel bridge over both interfaces that forwards when we do not.
//!
//! While we live, a small BPF program at the ingress of both interfaces (by tcx, below Linux 6.6 by
//! clsact) drops every frame that our packet sockets have taken, before the kernel bridge sees it.
//! They take frames up to a time only, which the forwarding thread moves on, so that the bridge
//! forwards when that thread stands still; and when the process ends, however it ends, there is no
//! socket any more: no second process, no script. The order of `__netif_receive_skb_core` (taps,
//! tcx, bridge) makes it work; the tests verify it on the running kernel. Why no frame goes both
//! ways is in `sys/bpf/gate.rs`.

use crate::claim::{Claim, OwnBridge};
use crate::clock::Clock;
use crate::forwarding::random_word;
use crate::interface::{Interface, addressed};
use crate::links::Links;
use crate::namespace::Namespace;
use crate::port::Port;
use crate::sys::{Gate, Held, Hook, wait_for_packets};
use sojourn_units::Time;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod error;
mod filters;
mod monitor;
mod voice;

pub use error::FailOpenError;
use error::{MOST, NAME};
pub(crate) use filters::in_the_way;
pub use monitor::FailOpenState;
pub(crate) use monitor::{Monitor, Watched, mtus_differ};

/// The kernel bridge, kept out of the way.
#[derive(Debug)]
pub(crate) struct FailOpenBridge {
    gate: Gate,
    /// Shared with the monitor, which makes another one when this one is gone. Never locked by a
    /// thread that forwards.
    place: Arc<Mutex<KernelBridge>>,
    /// It forwards until [`Self::take_over`]: what our sockets have got before it has forwarded.
    pub(crate) forwards: bool,
}

/// The kernel bridge that there is.
#[derive(Debug)]
pub(crate) struct KernelBridge {
    name: String,
    index: u32,
    /// What it is known by, if it is ours.
    own: Option<OwnBridge>,
    /// Whether one of ours stays after a clean stop.
    keep: bool,
    /// Whether it goes with us on a clean stop.
    removable: bool,
}

/// What is shared, whatever became of those who had it.
fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FailOpenBridge {
    /// Puts the kernel bridge in place, or adopts the one that holds both interfaces already.
    /// A new one gets no frame: they all come to `ports`.
    pub(crate) fn install(
        left: &Interface,
        right: &Interface,
        keep: bool,
        hook: Hook,
        claims: &mut [Claim],
        ports: &mut [[Port; 2]],
    ) -> Result<Self, FailOpenError> {
        let mut netlink = Links::open().map_err(FailOpenError::of("netlink"))?;
        if let Some(name) = addressed(&mut netlink, &[left.index, right.index]) {
            return Err(FailOpenError::Address(name));
        }
        let left_over = claims
            .iter()
            .find_map(Claim::left_bridge)
            .cloned()
            .filter(|own| is_own(&mut netlink, own));
        let mut masters = masters(&mut netlink, left, right)?;
        if let Some(own) = &left_over
            && masters != (Some(own.index), Some(own.index))
        {
            // Half of it is gone: it forwards nothing.
            remove(&mut netlink, own.index);
            masters = self::masters(&mut netlink, left, right)?;
        }
        match masters {
            (Some(master), Some(other)) if master == other => {
                let name = bridge_name(&mut netlink, master)?;
                if let Some(name) = addressed(&mut netlink, &[master]) {
                    return Err(FailOpenError::Address(name));
                }
                let own = left_over.filter(|own| own.index == master);
                remember(claims, own.as_ref())?;
                let gate = gate([left, right], hook, ports, 0)?;
                if let Some(own) = &own {
                    let settled = settle(&mut netlink, own, [left, right]);
                    settled.map_err(FailOpenError::of(format!("set up the bridge `{name}`")))?;
                }
                let place = KernelBridge {
                    index: master,
                    keep,
                    removable: !keep && own.is_some(),
                    own,
                    name,
                };
                Ok(Self {
                    gate,
                    place: Arc::new(Mutex::new(place)),
                    forwards: true,
                })
            }
            (None, None) => {
                // First take all, then build: nothing is ever forwarded twice.
                let gate = gate([left, right], hook, ports, u64::MAX)?;
                let place = make(&mut netlink, [left, right], keep, claims)?;
                Ok(Self {
                    gate,
                    place: Arc::new(Mutex::new(place)),
                    forwards: false,
                })
            }
            _ => Err(FailOpenError::TwoMasters(
                left.name.clone(),
                right.name.clone(),
            )),
        }
    }

    /// Whether it will stay after a clean stop.
    pub(crate) fn stays(&self) -> bool {
        !locked(&self.place).removable
    }

    /// What it is called now.
    pub(crate) fn name(&self) -> String {
        locked(&self.place).name.clone()
    }

    /// Its index now.
    pub(crate) fn index(&self) -> u32 {
        locked(&self.place).index
    }

    /// For the monitor.
    pub(crate) fn place(&self) -> Arc<Mutex<KernelBridge>> {
        Arc::clone(&self.place)
    }

    /// For the monitor.
    pub(crate) fn gate(&self) -> Arc<Mutex<Held>> {
        self.gate.held()
    }

    /// Takes all frames from now on.
    pub(crate) fn take_over(&mut self) {
        self.forwards = false;
        self.gate.take_until(u64::MAX);
    }

    /// Lets the kernel bridge forward from now on.
    pub(crate) fn open_now(&self) {
        self.gate.take_until(0);
    }

    /// Takes frames that come up to `time` on `clock`, and lets it forward what comes later.
    pub(crate) fn take_until(&self, time: Time, clock: Clock) {
        self.gate.take_until(clock.monotonic(time));
    }

    /// Whatever happens now, the bridge stays: we do not end cleanly.
    pub(crate) fn leave_in_place(&mut self) {
        locked(&self.place).removable = false;
    }

    /// Takes it away, unless it is not ours or is to stay; tells whether it did.
    pub(crate) fn remove(&mut self) -> bool {
        // Unwinding is a crash: the link must survive it.
        let mut place = locked(&self.place);
        if !place.removable || std::thread::panicking() {
            return false;
        }
        place.removable = false;
        place.own.as_ref().is_some_and(remove_own)
    }
}

impl Drop for FailOpenBridge {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Makes a bridge of ours over both interfaces.
fn make(
    netlink: &mut Links,
    ports: [&Interface; 2],
    keep: bool,
    claims: &mut [Claim],
) -> Result<KernelBridge, FailOpenError> {
    let (name, own) = create(netlink)?;
    let index = own.index;
    let made = remember(claims, Some(&own)).and_then(|()| {
        let built = build(netlink, &own, ports);
        built.map_err(FailOpenError::of(format!("build the bridge `{name}`")))
    });
    if let Err(error) = made {
        remove(netlink, index);
        return Err(error);
    }
    Ok(KernelBridge {
        name,
        index,
        own: Some(own),
        keep,
        removable: !keep,
    })
}

/// Removes a bridge of ours, if it still is; tells whether it did.
pub(crate) fn remove_own(own: &OwnBridge) -> bool {
    let Ok(mut netlink) = Links::open() else {
        return false;
    };
    let is_own = is_own(&mut netlink, own);
    if is_own {
        remove(&mut netlink, own.index);
    }
    is_own
}

/// Whether there is a bridge of this index and alias.
fn is_own(netlink: &mut Links, own: &OwnBridge) -> bool {
    let link = netlink.link(own.index);
    link.is_ok_and(|link| link.alias() == Some(&own.alias))
}

/// Index and name of the bridge to which both interfaces belong, if there is one.
pub(crate) fn common_master(left: &Interface, right: &Interface) -> Option<(u32, String)> {
    let mut netlink = Links::open().ok()?;
    match masters(&mut netlink, left, right).ok()? {
        (Some(master), Some(other)) if master == other => {
            Some((master, bridge_name(&mut netlink, master).ok()?))
        }
        _ => None,
    }
}

fn masters(
    netlink: &mut Links,
    left: &Interface,
    right: &Interface,
) -> Result<(Option<u32>, Option<u32>), FailOpenError> {
    Ok((master_of(netlink, left)?, master_of(netlink, right)?))
}

/// Why there can be no gate.
fn no_gate(error: io::Error) -> FailOpenError {
    match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOENT | libc::EOPNOTSUPP) => FailOpenError::Kernel(
            "tcx (Linux 6.6), and no clsact qdisc with BPF filters (CONFIG_NET_SCH_INGRESS, \
                 CONFIG_NET_CLS_BPF)",
        ),
        Some(libc::ENOSYS) => FailOpenError::Kernel("bpf(2)"),
        Some(libc::EPERM) => FailOpenError::Unknown,
        _ => FailOpenError::of("attach BPF programs")(error),
    }
}

/// Whether this kernel has what a way round takes, for the user who asks; yields a remark, if there
/// is one. A program that lets all pass is at the loopback interface for a moment, and a bridge in
/// a namespace of its own.
///
/// # Errors
/// What it lacks, or that it does not say.
pub fn kernel_can_fail_open() -> Result<Option<&'static str>, FailOpenError> {
    kernel_can(Hook::Newest)
}

fn kernel_can(hook: Hook) -> Result<Option<&'static str>, FailOpenError> {
    /// The loopback interface of any namespace.
    const LOOPBACK: u32 = 1;
    let gate = Gate::new([LOOPBACK; 2], hook).map_err(no_gate)?;
    gate.filter().map_err(no_gate)?;
    if let Ok(apart) = Namespace::new() {
        let made = apart.run(|| Links::open()?.bridge(NAME));
        made.map_err(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP) => FailOpenError::Kernel("bridge device"),
            _ => FailOpenError::of("make a bridge device")(error),
        })?;
    }
    // Whoever may not make a namespace learns of bridges at the start.
    let is_by_tcx = locked(&gate.held()).is_by_tcx();
    Ok((!is_by_tcx).then_some("without tcx (Linux 6.6), by a clsact filter"))
}

/// What would take over from a bridge over these interfaces, in words; nothing is touched there.
///
/// # Errors
/// Why nothing would.
pub(crate) fn foresee(ports: [&Interface; 2], hook: Hook) -> Result<String, FailOpenError> {
    let [left, right] = ports;
    let mut netlink = Links::open().map_err(FailOpenError::of("netlink"))?;
    if let Some(name) = addressed(&mut netlink, &ports.map(|port| port.index)) {
        return Err(FailOpenError::Address(name));
    }
    let mut bridge = None;
    let who = match masters(&mut netlink, left, right)? {
        (None, None) => "a kernel bridge".to_owned(),
        (Some(master), Some(other)) if master == other => {
            let name = bridge_name(&mut netlink, master)?;
            if let Some(name) = addressed(&mut netlink, &[master]) {
                return Err(FailOpenError::Address(name));
            }
            bridge = Some(master);
            format!("kernel bridge `{name}`")
        }
        _ => {
            let [left, right] = ports.map(|port| port.name.clone());
            return Err(FailOpenError::TwoMasters(left, right));
        }
    };
    let remark = kernel_can(hook)?;
    match (in_the_way(ports, bridge), remark) {
        (Some(why), _) => Err(FailOpenError::Filtered(why)),
        (None, Some(remark)) => Ok(format!("{who} takes over ({remark})")),
        (None, None) => Ok(format!("{who} takes over")),
    }
}

/// A gate, and ports that take frames up to this time of CLOCK_MONOTONIC.
fn gate(
    interfaces: [&Interface; 2],
    hook: Hook,
    ports: &mut [[Port; 2]],
    until: u64,
) -> Result<Gate, FailOpenError> {
    let gate = Gate::new(interfaces.map(|interface| interface.index), hook).map_err(no_gate)?;
    gate.take_until(until);
    for port in ports.as_flattened_mut() {
        port.obey(&gate).map_err(no_gate)?;
    }
    // Some may have come to a socket before its filter, or before the gate.
    wait_for_packets();
    Ok(gate)
}

/// Has the claims remember a bridge of ours.
fn remember(claims: &mut [Claim], own: Option<&OwnBridge>) -> Result<(), FailOpenError> {
    let mut claims = claims.iter_mut();
    let remembered = claims.try_for_each(|claim| claim.remember_bridge(own.cloned()));
    remembered.map_err(FailOpenError::of("remember the bridge"))
}

/// What the interface is enslaved to.
fn master_of(netlink: &mut Links, interface: &Interface) -> Result<Option<u32>, FailOpenError> {
    let link = netlink
        .link(interface.index)
        .map_err(FailOpenError::of(format!("ask about `{}`", interface.name)))?;
    Ok(link.master())
}

/// The name of the master, which must be a bridge.
fn bridge_name(netlink: &mut Links, index: u32) -> Result<String, FailOpenError> {
    let link = netlink
        .link(index)
        .map_err(FailOpenError::of("ask about the bridge"))?;
    let name = link.name().unwrap_or_default().to_owned();
    if !link.is_bridge() {
        return Err(FailOpenError::OtherMaster(name));
    }
    Ok(name)
}

/// Makes a bridge that forwards at once, learns nothing from us and says nothing of its own. It
/// bears a word that no other has.
fn create(netlink: &mut Links) -> Result<(String, OwnBridge), FailOpenError> {
    for number in 0..MOST {
        let name = format!("{NAME}{number}");
        match netlink.bridge(&name) {
            Ok(()) => {
                let _ = silence(&name);
                let index = Interface::index_of(&name)
                    .map_err(FailOpenError::of(format!("look up the bridge `{name}`")))?;
                let alias = format!("sojourn {:016x}", random_word());
                if let Err(error) = netlink.set_alias(index, &alias) {
                    remove(netlink, index);
                    return Err(FailOpenError::of("give the bridge an alias")(error));
                }
                return Ok((name, OwnBridge { index, alias }));
            }
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
                return Err(FailOpenError::Kernel("bridge device"));
            }
            Err(error) => return Err(FailOpenError::of("make a bridge device")(error)),
        }
    }
    Err(FailOpenError::TooMany)
}

/// Where the kernel is told whether an interface has IPv6; no such file where there is none.
fn ipv6_off(name: &str) -> PathBuf {
    Path::new("/proc/sys/net/ipv6/conf")
        .join(name)
        .join("disable_ipv6")
}

/// Has a bridge itself not speak IPv6 on the link.
fn silence(name: &str) -> io::Result<()> {
    fs::write(ipv6_off(name), "1")
}

/// Whether a bridge itself speaks IPv6 on the link.
fn speaks(name: &str) -> bool {
    fs::read_to_string(ipv6_off(name)).is_ok_and(|text| text.trim() == "0")
}

fn build(netlink: &mut Links, own: &OwnBridge, ports: [&Interface; 2]) -> io::Result<()> {
    for port in ports {
        netlink.set_master(port.index, own.index)?;
    }
    settle(netlink, own, ports)
}

/// Has a bridge of ours and its ports be as they are to be.
fn settle(netlink: &mut Links, own: &OwnBridge, ports: [&Interface; 2]) -> io::Result<()> {
    let bridge = own.index;
    let link = netlink.link(bridge)?;
    if link.alias() != Some(&own.alias) {
        netlink.set_alias(bridge, &own.alias)?;
    }
    if !link.is_plain_bridge() {
        netlink.make_plain(bridge)?;
    }
    if let Some(name) = link.name().filter(|name| speaks(name)) {
        silence(name)?;
    }
    for entry in netlink.entries(bridge)? {
        netlink.remove_entry(&entry)?;
    }
    netlink.up(bridge)?;
    for port in ports {
        netlink.set_port(port.index, false)?;
        // Without a carrier it is disabled, and forwards once it has one.
        if !netlink.link(port.index)?.forwards() {
            let _ = netlink.set_port(port.index, true);
        }
    }
    Ok(())
}

fn remove(netlink: &mut Links, index: u32) {
    // It may be gone with its namespace.
    let _ = netlink.delete(index);
}

#[cfg(test)]
mod tests;
