//! A BPF program at the ingress of an interface by clsact (Linux 4.5), where there is no tcx
//! (Linux 6.6): what `tc filter replace dev DEVICE ingress bpf direct-action` does.
//!
//! Unlike a tcx link it does not go with the process that made it, so the program has to do nothing
//! any more by itself then. The next one takes the place of what a killed process has left. Others
//! may remove it, or the qdisc with it; then it can be put back.
//!
//! Source: `linux/pkt_sched.h`, `pkt_cls.h` and `rtnetlink.h`, whose names the numbers bear.

use crate::links::Links;
use crate::netlink::{CREATE, EXCL, REPLACE, attribute, find, text};
use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

const RTM_NEWQDISC: u16 = 36;
const RTM_DELQDISC: u16 = 37;
const RTM_NEWTFILTER: u16 = 44;
const RTM_DELTFILTER: u16 = 45;
const RTM_GETTFILTER: u16 = 46;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_NAME: u16 = 7;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_ID: u16 = 11;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
/// Length of `struct tcmsg`.
const HEADER: usize = 20;
/// `TC_H_CLSACT`, the handle of the qdisc that is made there, and `TC_H_MIN_INGRESS` and
/// `TC_H_MIN_EGRESS` of it.
const PARENT: u32 = 0xffff_fff1;
const HANDLE: u32 = 0xffff_0000;
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
/// Preference and handle of our filter: behind those that people number by hand.
const PREFERENCE: u32 = 29_546;
const OURS: u32 = 1;
/// What it is called (`tc filter show dev DEVICE ingress`).
const NAME: &str = "sojourn";

/// A program at an interface until this is dropped, or, when the process is killed, for longer.
pub(crate) struct Filter {
    links: Links,
    program: OwnedFd,
    interface: u32,
    /// The kernel's number of the program, by which the filter is told from another in its place.
    number: Option<Vec<u8>>,
    /// There was no clsact before.
    made: bool,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}

/// `struct tcmsg`.
fn header(interface: u32, handle: u32, parent: u32, info: u32) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&interface.to_ne_bytes());
    header[8..12].copy_from_slice(&handle.to_ne_bytes());
    header[12..16].copy_from_slice(&parent.to_ne_bytes());
    header[16..].copy_from_slice(&info.to_ne_bytes());
    header
}

/// The header of our filter.
fn ours(interface: u32) -> [u8; HEADER] {
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    let info = PREFERENCE << 16 | u32::from(protocol);
    header(interface, OURS, INGRESS, info)
}

impl Filter {
    /// Puts a program there, in the place of one that a killed process has left.
    ///
    /// # Errors
    /// What the kernel refuses: `ENOENT` or `EOPNOTSUPP` where it has neither.
    pub(crate) fn attach(program: OwnedFd, interface: u32) -> io::Result<Self> {
        let mut filter = Self {
            links: Links::open()?,
            program,
            interface,
            number: None,
            made: false,
        };
        filter.put()?;
        Ok(filter)
    }

    /// Puts the program there again if somebody has removed it; tells whether somebody had.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub(crate) fn put_back(&mut self) -> io::Result<bool> {
        let is_there = match number(&mut self.links, self.interface) {
            Ok(number) => number == self.number,
            // There is no such filter, or no such qdisc.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINVAL)) => {
                false
            }
            Err(error) => return Err(error),
        };
        if !is_there {
            self.put()?;
        }
        Ok(!is_there)
    }

    fn put(&mut self) -> io::Result<()> {
        let interface = self.interface;
        let qdisc = header(interface, HANDLE, PARENT, 0);
        let kind = text(TCA_KIND, "clsact");
        let made = self
            .links
            .change(RTM_NEWQDISC, CREATE | EXCL, &qdisc, &kind);
        self.made = match made {
            Ok(()) => true,
            // That, or SQM's `ingress`, which serves as well.
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => false,
            Err(error) => return Err(error),
        };
        let options = [
            attribute(TCA_BPF_FD, &self.program.as_raw_fd().to_ne_bytes()),
            text(TCA_BPF_NAME, NAME),
            attribute(TCA_BPF_FLAGS, &TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes()),
        ];
        let attributes = [
            text(TCA_KIND, "bpf"),
            attribute(TCA_OPTIONS, &options.concat()),
        ];
        self.links.change(
            RTM_NEWTFILTER,
            CREATE | REPLACE,
            &ours(interface),
            &attributes.concat(),
        )?;
        self.number = number(&mut self.links, interface)?;
        Ok(())
    }

    /// Whether filters of others are in the qdisc.
    fn is_shared(&self) -> io::Result<bool> {
        for parent in [INGRESS, EGRESS] {
            let of = header(self.interface, 0, parent, 0);
            if !self.links.list(RTM_GETTFILTER, &of)?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        // The interface may be gone.
        let _ = remove(&mut self.links, self.interface);
        if self.made && self.is_shared().is_ok_and(|is_shared| !is_shared) {
            let qdisc = header(self.interface, HANDLE, PARENT, 0);
            let kind = text(TCA_KIND, "clsact");
            let _ = self.links.change(RTM_DELQDISC, 0, &qdisc, &kind);
        }
    }
}

/// The kernel's number of the program in our filter's place; none below Linux 4.16, which does not
/// tell it.
fn number(links: &mut Links, interface: u32) -> io::Result<Option<Vec<u8>>> {
    let kind = text(TCA_KIND, "bpf");
    let filter = links.ask(RTM_GETTFILTER, &ours(interface), &kind)?;
    let attributes = filter.get(HEADER..).unwrap_or_default();
    let options = find(attributes, TCA_OPTIONS).unwrap_or_default();
    Ok(find(options, TCA_BPF_ID).map(<[u8]>::to_vec))
}

/// Removes the filter of a killed process, if there is one; tells whether there was.
pub(crate) fn remove_left(interface: u32) -> bool {
    Links::open().is_ok_and(|mut links| remove(&mut links, interface).is_ok())
}

fn remove(links: &mut Links, interface: u32) -> io::Result<()> {
    let kind = text(TCA_KIND, "bpf");
    links.change(RTM_DELTFILTER, 0, &ours(interface), &kind)
}
