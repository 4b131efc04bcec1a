//! Looks after the way round while the bridge runs: masters, the kernel bridge and its ports, the
//! gate before it, addresses, netfilter.
//!
//! A thread of its own, off the path of frames. rtnetlink wakes it up; what tells no news (sysctls,
//! chains, links of tcx) it looks at by itself. A kernel bridge of ours that is gone, down or not
//! as it was made is mended, and so is a gate that is gone; a user's bridge is left alone and told
//! of.

use super::filters::in_the_way;
use super::voice::Voice;
use super::{KernelBridge, bridge_name, build, locked, make, remember, remove, settle, speaks};
use crate::claim::{Claim, OwnBridge};
use crate::interface::{Interface, addressed};
use crate::links::{Link, Links};
use crate::netlink::{Socket, connect, protocols::NETLINK_ROUTE};
use crate::sys::Held;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use std::fmt::Write as _;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// News of links, of qdiscs and filters, of IPv4 addresses, of IPv6 addresses (`RTNLGRP_*`).
const GROUPS: [u32; 4] = [1, 4, 5, 9];
/// After news: what belongs together comes together.
const SETTLES: Duration = Duration::from_millis(30);
/// Most looks until two agree.
const FINDS: usize = 5;
/// Most attempts to mend something before it is told as broken.
const TRIES: usize = 3;
/// After something was mended: others that undo it are not raced with.
const RESTS: Duration = Duration::from_millis(300);
/// Without news.
const LOOKS: Duration = Duration::from_millis(900);
/// Netfilter, which tells no news, is asked at each look, but not again within this time.
const FILTERS_REST: Duration = Duration::from_millis(500);

/// What happens to a link when its bridge dies, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FailOpenState {
    /// Whether the kernel bridge would take over.
    pub ready: bool,
    /// Whether nothing is wrong: it is ready, or was not wanted.
    pub well: bool,
    /// As a sentence for the user.
    pub text: String,
    /// How often something was mended while the bridge ran.
    pub repairs: u64,
}

/// What there is to look after.
pub(crate) struct Watched {
    pub(crate) ports: [Interface; 2],
    /// The kernel bridge; none where there is no way round.
    pub(crate) place: Option<Arc<Mutex<KernelBridge>>>,
    /// What keeps our frames from it; there is one where there is a kernel bridge.
    pub(crate) gate: Option<Arc<Mutex<Held>>>,
    /// What was said when the bridge was opened.
    pub(crate) state: FailOpenState,
    /// Remember a kernel bridge of ours.
    pub(crate) claims: Arc<Mutex<Vec<Claim>>>,
}

/// The thread; dropping this ends it.
#[derive(Debug)]
pub(crate) struct Monitor {
    bell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Looks after it from now on, in the calling thread's network namespace. `tell` gets every
    /// state that differs from the one before, and what there is to say, if it was not said just
    /// before: what it is, what has been mended, or that the MTUs differ.
    pub(crate) fn start(
        watched: Watched,
        tell: impl Fn(&FailOpenState, Option<String>) + Send + 'static,
    ) -> io::Result<Self> {
        let news = connect(NETLINK_ROUTE)?;
        for group in GROUPS {
            news.add_membership(group)?;
        }
        news.set_non_blocking(true)?;
        let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
        let looker = Looker {
            links: Links::open()?,
            watched,
            filters: None,
            mtus: None,
        };
        let rings = Arc::clone(&bell);
        let thread = thread::Builder::new()
            .name("fail open".into())
            .spawn(move || looker.run(&news, &rings, tell))?;
        Ok(Self {
            bell,
            thread: Some(thread),
        })
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // It has never been rung before.
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // If it panicked, there is nothing to do about it here.
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct Looker {
    links: Links,
    watched: Watched,
    /// What netfilter said last.
    filters: Option<String>,
    /// What was said of MTUs last.
    mtus: Option<String>,
}

/// How things are; nothing has been changed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    fault: Option<Fault>,
    /// An interface with an IP address.
    addressed: Option<String>,
    /// Another port of a bridge of ours.
    third: Option<String>,
    /// That the MTUs differ, as a sentence.
    mtus: Option<String>,
}

/// What is wrong with the kernel bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fault {
    /// It is not ours to mend.
    Told(String),
    /// Both interfaces have been put into the bridge with this index.
    Taken(u32),
    /// The bridge is gone, or a user's has lost both interfaces; as a sentence.
    Lost(String),
    /// Interfaces have left a bridge of ours; as a sentence.
    Left(String),
    /// A bridge of ours is down or not as it was made; as a sentence.
    Wrong(String),
}

impl Found {
    /// Whether there is something to mend.
    fn is_mendable(&self) -> bool {
        !matches!(self.fault, None | Some(Fault::Told(_)))
    }
}

/// What `find` yields twice in a row, with a `pause` between, or at once what is known already. A
/// change by somebody else may come in parts, and between two questions: half of it does not stay.
/// Where something changes all the time, the last of [`FINDS`] counts. None once a pause says so.
fn agreed<T: PartialEq>(
    mut find: impl FnMut() -> T,
    is_known: impl Fn(&T) -> bool,
    pause: impl Fn() -> bool,
) -> Option<T> {
    let mut found = find();
    for _ in 1..FINDS {
        if is_known(&found) {
            break;
        }
        if !pause() {
            return None;
        }
        let again = find();
        if again == found {
            break;
        }
        found = again;
    }
    Some(found)
}

impl Looker {
    fn run(mut self, news: &Socket, bell: &OwnedFd, tell: impl Fn(&FailOpenState, Option<String>)) {
        let mut asked: Option<Instant> = None;
        let mut voice = Voice::default();
        let mut known = None;
        loop {
            if asked.is_none_or(|at| at.elapsed() >= FILTERS_REST) {
                asked = Some(Instant::now());
                let bridge = self.watched.place.as_ref().map(|place| locked(place).index);
                let ports = self.watched.ports.each_ref();
                self.filters = bridge.and_then(|bridge| in_the_way(ports, Some(bridge)));
            }
            let Some((found, mut state, mended)) = self.look(known.as_ref(), bell) else {
                return;
            };
            let has_mended = mended.is_some();
            state.repairs = self.watched.state.repairs;
            let is_same = state == self.watched.state;
            state.repairs += u64::from(has_mended);
            let now = Instant::now();
            let text = voice.of_state(&state.text, is_same, mended, now);
            if !is_same || has_mended || text.is_some() {
                tell(&state, text);
            }
            self.watched.state = state;
            if found.mtus != self.mtus {
                self.mtus.clone_from(&found.mtus);
                if let Some(text) = found.mtus.clone().and_then(|text| voice.of(text, now)) {
                    tell(&self.watched.state, Some(text));
                }
            }
            known = Some(found);
            if has_mended && waits(bell, None, RESTS) == Woken::ByBell {
                return;
            }
            match waits(bell, Some(news), LOOKS) {
                Woken::ByBell => return,
                Woken::ByNews => {
                    if waits(bell, None, SETTLES) == Woken::ByBell {
                        return;
                    }
                    // A buffer that ran over is news too.
                    while !matches!(news.recv_from_full(), Err(error) if is_empty(&error)) {}
                }
                Woken::Not => {}
            }
        }
    }

    /// How things are, and what has been mended; none once the bell rings.
    fn look(
        &mut self,
        known: Option<&Found>,
        bell: &OwnedFd,
    ) -> Option<(Found, FailOpenState, Option<String>)> {
        // First the gate: without it every frame passes twice.
        let gate = self.mend_gate();
        let is_known = |found: &Found| !found.is_mendable() && Some(found) == known;
        let pause = || waits(bell, None, SETTLES) != Woken::ByBell;
        let mut tries = 1;
        let (found, mended) = loop {
            let found = agreed(|| self.find(), is_known, pause)?;
            match self.mend(found.fault.as_ref()) {
                // It has changed meanwhile.
                Err(_) if found.is_mendable() && tries < TRIES => tries += 1,
                mended => break (found, mended),
            }
        };
        let Some(place) = &self.watched.place else {
            let state = self.without(&found);
            return Some((found, state, None));
        };
        let mended = match mended {
            Ok(mended) => mended,
            Err(why) => {
                let state = FailOpenState::not_ready(&why);
                return Some((found, state, gate.unwrap_or_default()));
            }
        };
        let (addressed, filters) = (found.addressed.as_deref(), self.filters.as_deref());
        let mut state = FailOpenState::of(&locked(place).name, addressed, filters);
        if let Some(third) = &found.third {
            let _ = write!(
                state.text,
                ", but `{third}` is in it too and exchanges frames with both interfaces; `ip link \
                 set {third} nomaster` ends that"
            );
            state.well = false;
        }
        let gate = gate.unwrap_or_else(|why| {
            let _ = write!(state.text, ", but every frame passes twice: {why}");
            state.well = false;
            None
        });
        let mended: Vec<_> = gate.into_iter().chain(mended).collect();
        let mended = (!mended.is_empty()).then(|| mended.join("; "));
        Some((found, state, mended))
    }

    /// Puts programs of the gate back that somebody has removed, and says which.
    fn mend_gate(&self) -> Result<Option<String>, String> {
        let Some(gate) = &self.watched.gate else {
            return Ok(None);
        };
        let put_back = locked(gate)
            .put_back()
            .map_err(|error| format!("put the BPF program at an interface back: {error}"))?;
        let ports = self.watched.ports.iter().zip(put_back);
        let lost: Vec<_> = ports
            .filter(|(_, was_gone)| *was_gone)
            .map(|(port, _)| format!("`{}`", port.name))
            .collect();
        Ok((!lost.is_empty()).then(|| {
            format!(
                "{} has lost the BPF program that keeps frames from the kernel bridge; put it back",
                lost.join(" and ")
            )
        }))
    }

    /// How things are now. Interfaces and bridges are called by the names that they have now.
    fn find(&mut self) -> Found {
        let mtus = self.mtus();
        let Some(place) = self.watched.place.clone() else {
            return Found {
                fault: self.another_bridge().map(Fault::Told),
                addressed: None,
                third: None,
                mtus,
            };
        };
        let mut place = locked(&place);
        let fault = self.fault(&mut place);
        let [left, right] = self.watched.ports.each_ref().map(|port| port.index);
        Found {
            fault,
            addressed: addressed(&mut self.links, &[left, right, place.index]),
            third: place.own.as_ref().and_then(|own| self.third(own)),
            mtus,
        }
    }

    /// The name of a port of our bridge that is none of our interfaces.
    fn third(&self, own: &OwnBridge) -> Option<String> {
        let ports = self.links.ports(own.index).ok()?;
        let is_ours = |index| self.watched.ports.iter().any(|port| port.index == index);
        let (_, third) = ports.into_iter().find(|(index, _)| !is_ours(*index))?;
        third.name().map(str::to_owned)
    }

    /// Whether the interfaces have different MTUs now.
    fn mtus(&mut self) -> Option<String> {
        let [left, right] = &self.watched.ports;
        let mut mtu = |port: &Interface| self.links.link(port.index).ok()?.mtu();
        let mtus = [mtu(left)?, mtu(right)?];
        mtus_differ([&left.name, &right.name], mtus)
    }

    /// Without a way round another bridge between the interfaces forwards every frame once more.
    fn another_bridge(&mut self) -> Option<String> {
        let [left, right] = &self.watched.ports;
        let master = |links: &mut Links, port: &Interface| links.link(port.index).ok()?.master();
        let both = [left, right].map(|port| master(&mut self.links, port));
        let [Some(one), Some(other)] = both else {
            return None;
        };
        (one == other).then(|| {
            let name = bridge_name(&mut self.links, one).unwrap_or_default();
            format!(
                "every frame passes twice: `{name}` has both interfaces too; `ip link set {} \
                 nomaster` ends that",
                left.name
            )
        })
    }

    /// The state where there is no way round.
    fn without(&self, found: &Found) -> FailOpenState {
        let mut state = self.watched.state.clone();
        let said = state.text.find("; every frame").unwrap_or(state.text.len());
        state.text.truncate(said);
        state.well = state.text.starts_with(OFF);
        if let Some(Fault::Told(what)) = &found.fault {
            state.well = false;
            let _ = write!(state.text, "; {what}");
        }
        state
    }

    /// What is wrong with the kernel bridge.
    fn fault(&mut self, place: &mut KernelBridge) -> Option<Fault> {
        let links = &mut self.links;
        let mut masters = [None; 2];
        for (master, port) in masters.iter_mut().zip(&mut self.watched.ports) {
            let Ok(link) = links.link(port.index) else {
                return Some(Fault::Told(format!("`{}` is gone", port.name)));
            };
            *master = link.master();
            // Somebody may have given it another one.
            link.name().unwrap_or_default().clone_into(&mut port.name);
        }
        let ports = self.watched.ports.each_ref();
        let bridge = links
            .link(place.index)
            .ok()
            .filter(|link| match &place.own {
                // Somebody may have given it another alias.
                Some(own) => {
                    link.alias() == Some(&own.alias)
                        || link.is_bridge() && link.name() == Some(&place.name)
                }
                None => link.is_bridge(),
            });
        let is_there = bridge.is_some();
        if let Some(name) = bridge.as_ref().and_then(Link::name) {
            name.clone_into(&mut place.name);
        }
        match masters {
            [Some(one), Some(other)] if one == other => {
                if one != place.index {
                    return Some(Fault::Taken(one));
                }
                let own = place.own.as_ref();
                match wrong(links, one, ports, own) {
                    Ok(wrong) => wrong.map(if own.is_some() {
                        Fault::Wrong
                    } else {
                        Fault::Told
                    }),
                    Err(why) => Some(Fault::Told(why)),
                }
            }
            [None, None] if !is_there || place.own.is_none() => {
                let why = match place.own {
                    Some(_) => "is gone",
                    None => "has lost both interfaces",
                };
                Some(Fault::Lost(format!("`{}` {why}", place.name)))
            }
            masters => Some(self.astray(place, masters)),
        }
    }

    /// What is wrong where an interface belongs to another bridge, or to none.
    fn astray(&mut self, place: &KernelBridge, masters: [Option<u32>; 2]) -> Fault {
        let ports = self.watched.ports.each_ref();
        let strange = |it: &Option<u32>| it.is_some_and(|it| it != place.index);
        if let Some(at) = masters.iter().position(strange) {
            let name = bridge_name(&mut self.links, masters[at].unwrap_or_default());
            return Fault::Told(name.map_or_else(
                |error| error.to_string(),
                |name| {
                    let [this, other] = [&ports[at].name, &ports[1 - at].name];
                    format!("`{this}` belongs to `{name}`, `{other}` does not")
                },
            ));
        }
        let without = ports.iter().zip(masters).filter(|(_, it)| it.is_none());
        let names: Vec<_> = without.map(|(it, _)| format!("`{}`", it.name)).collect();
        let have = if names.len() == 1 { "has" } else { "have" };
        let what = format!("{} {have} left `{}`", names.join(" and "), place.name);
        match place.own {
            Some(_) => Fault::Left(what),
            None => Fault::Told(what),
        }
    }

    /// Mends what is ours, and says what was wrong.
    fn mend(&mut self, fault: Option<&Fault>) -> Result<Option<String>, String> {
        let (Some(fault), Some(place)) = (fault, self.watched.place.clone()) else {
            return Ok(None);
        };
        let mut place = locked(&place);
        let ports = self.watched.ports.each_ref();
        let links = &mut self.links;
        let mended = match fault {
            Fault::Told(why) => return Err(why.clone()),
            Fault::Taken(index) => self.adopt(&mut place, *index)?,
            Fault::Lost(what) => {
                let mut claims = locked(&self.watched.claims);
                let made = make(links, ports, place.keep, &mut claims);
                *place = made.map_err(|error| format!("{what}: {error}"))?;
                format!("{what}; made `{}` anew", place.name)
            }
            Fault::Left(what) => {
                let own = place.own.as_ref().ok_or(what)?;
                let built = build(links, own, ports);
                built.map_err(|error| format!("{what}: {error}"))?;
                format!("{what}; put it back")
            }
            Fault::Wrong(what) => {
                let own = place.own.as_ref().ok_or(what)?;
                let settled = settle(links, own, ports);
                settled.map_err(|error| format!("{what}: {error}"))?;
                if let Some(wrong) = wrong(links, own.index, ports, Some(own))? {
                    return Err(wrong);
                }
                format!("{what}; set up `{}` again", place.name)
            }
        };
        Ok(Some(mended))
    }

    /// Somebody has put both interfaces into another bridge: that is the way round now.
    fn adopt(&mut self, place: &mut KernelBridge, index: u32) -> Result<String, String> {
        let name = bridge_name(&mut self.links, index).map_err(|error| error.to_string())?;
        if let Some(own) = place.own.take() {
            remove(&mut self.links, own.index);
            let forgotten = remember(&mut locked(&self.watched.claims), None);
            forgotten.map_err(|error| error.to_string())?;
        }
        let old = std::mem::replace(&mut place.name, name);
        (place.index, place.removable) = (index, false);
        Ok(format!(
            "`{old}` has lost both interfaces to `{}`",
            place.name
        ))
    }
}

/// What is wrong with a bridge and its ports; of our `own` also what makes it learn, drop or keep
/// apart.
fn wrong(
    links: &mut Links,
    index: u32,
    ports: [&Interface; 2],
    own: Option<&OwnBridge>,
) -> Result<Option<String>, String> {
    let of = |links: &mut Links, index| -> Result<Link, String> {
        links.link(index).map_err(|error| error.to_string())
    };
    let bridge = of(links, index)?;
    let name = bridge.name().unwrap_or_default();
    if !bridge.is_up() {
        return Ok(Some(format!("`{name}` is down")));
    }
    if own.is_some_and(|own| bridge.alias() != Some(&own.alias)) {
        let what = "has another alias, so that a later start would not know it";
        return Ok(Some(format!("`{name}` {what}")));
    }
    let ours = own.is_some();
    if ours && !bridge.is_plain_bridge() {
        let what = "has a spanning tree, VLANs, snooping or netfilter of its own";
        return Ok(Some(format!("`{name}` {what}")));
    }
    if ours && speaks(name) {
        return Ok(Some(format!("`{name}` speaks IPv6 itself")));
    }
    if ours {
        let entries = links.entries(index);
        if !entries.map_err(|error| error.to_string())?.is_empty() {
            let what = "has an address in its table, whose frames it does not pass on to the other";
            return Ok(Some(format!("`{name}` {what} side")));
        }
    }
    for port in ports {
        let link = of(links, port.index)?;
        if ours && !link.is_plain_port() {
            let what = format!(
                "`{}` learns, or does not pass all on, in `{name}`",
                port.name
            );
            return Ok(Some(what));
        }
        // Without a carrier none does.
        if link.is_operational() && !link.forwards() {
            return Ok(Some(format!(
                "`{}` does not forward in `{name}`",
                port.name
            )));
        }
    }
    Ok(None)
}

/// What is lost between interfaces with these MTUs.
pub(crate) fn mtus_differ(names: [&str; 2], mtus: [u32; 2]) -> Option<String> {
    let small = usize::from(mtus[1] < mtus[0]);
    let (most, larger) = (mtus[small], mtus[1 - small]);
    (most != larger).then(|| {
        format!(
            "`{}` has an MTU of {larger} bytes and `{}` one of {most}: what is larger than {most} \
             bytes is lost there (`refused` in the statistics); give both the same \
             (`ip link set {} mtu {most}`)",
            names[1 - small],
            names[small],
            names[1 - small]
        )
    })
}

/// What is said where no way round is wanted.
const OFF: &str = "fail open: off, the link goes down with this process";

impl FailOpenState {
    /// None is wanted.
    pub(crate) fn off() -> Self {
        Self {
            ready: false,
            well: true,
            text: OFF.into(),
            repairs: 0,
        }
    }

    /// There can be none.
    pub(crate) fn impossible(why: &str) -> Self {
        let text = "fail open: not possible, the link goes down with this process: ";
        Self {
            ready: false,
            well: false,
            text: format!("{text}{why}"),
            repairs: 0,
        }
    }

    /// There is one that does not work now.
    fn not_ready(why: &str) -> Self {
        Self {
            ready: false,
            well: false,
            text: format!("fail open: not ready, the link would go down with this process: {why}"),
            repairs: 0,
        }
    }

    /// There is one, with an address on this interface or chains in its way.
    pub(crate) fn of(bridge: &str, addressed: Option<&str>, filters: Option<&str>) -> Self {
        let mut text = format!("fail open: kernel bridge `{bridge}` takes over");
        if let Some(name) = addressed {
            let _ = write!(
                text,
                ", but `{name}` has an IP address, at which nobody reaches this host while the \
                 bridge runs"
            );
        }
        if let Some(why) = filters {
            let _ = write!(text, ", but {why}");
        }
        Self {
            ready: filters.is_none(),
            well: addressed.is_none() && filters.is_none(),
            text,
            repairs: 0,
        }
    }
}

/// What has ended a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Woken {
    ByBell,
    ByNews,
    Not,
}

fn waits(bell: &OwnedFd, news: Option<&Socket>, patience: Duration) -> Woken {
    let mut polled = vec![PollFd::new(bell, PollFlags::IN)];
    polled.extend(news.map(|news| PollFd::from_borrowed_fd(news.as_fd(), PollFlags::IN)));
    let timeout = Timespec {
        tv_sec: 0,
        tv_nsec: i64::from(patience.subsec_nanos()),
    };
    // A signal is no news.
    let _ = poll(&mut polled, Some(&timeout));
    let woken = |at: usize| polled.get(at).is_some_and(|it| !it.revents().is_empty());
    match (woken(0), woken(1)) {
        (true, _) => Woken::ByBell,
        (_, true) => Woken::ByNews,
        _ => Woken::Not,
    }
}

fn is_empty(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// What counts of these, in the order in which they are found, and after how many looks.
    fn counts(findings: &[&'static str], known: &str) -> (Option<&'static str>, usize) {
        let looks = Cell::new(0);
        let find = || {
            looks.set(looks.get() + 1);
            findings[looks.get() - 1]
        };
        // The bell rings after the last of them.
        let pause = || looks.get() < findings.len();
        let found = agreed(find, |found| *found == known, pause);
        (found, looks.get())
    }

    /// A look may fall between the parts of one change; what holds is mended and told.
    #[test]
    fn half_of_a_change_does_not_count() {
        let cases: [(&[_], _, _); 7] = [
            (&["well"], Some("well"), 1),
            (&["down", "down"], Some("down"), 2),
            (&["no port", "down", "down"], Some("down"), 3),
            (&["no port", "well"], Some("well"), 2),
            (&["no port", "no port", "down"], Some("no port"), 2),
            // Something changes all the time.
            (&["1", "2", "3", "4", "5", "6"], Some("5"), FINDS),
            (&["down"], None, 1),
        ];
        for (findings, found, looks) in cases {
            assert_eq!(counts(findings, "well"), (found, looks), "{findings:?}");
        }
    }
}
