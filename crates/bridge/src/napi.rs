//! NAPI instances of interfaces: what polls a driver's receive queues.
//!
//! Source: the generic netlink family `netdev` (the kernel's
//! `Documentation/netlink/specs/netdev.yaml`; what an instance may be told is from Linux 6.13), and
//! `Documentation/networking/napi.rst` for what it means.

use crate::netlink::{
    ACK, DONE, DUMP, ERROR, Socket, attribute, connect, find, message, messages, outcome,
    protocols::NETLINK_GENERIC, short, word,
};
use sojourn_units::Span;
use std::io;

/// The family that knows the numbers of others (`linux/genetlink.h`): its own number, the command,
/// and attributes for a family's number and name.
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// Of `linux/netdev.h`.
const FAMILY: &[u8] = b"netdev\0";
const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_CMD_NAPI_SET: u8 = 14;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_ID: u16 = 2;
const NETDEV_A_NAPI_DEFER_HARD_IRQS: u16 = 5;
const NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT: u16 = 6;
/// Length of generic netlink's own header.
const GENERIC: usize = 4;

/// A socket to those of the namespace that it was opened in.
pub(crate) struct Napis {
    socket: Socket,
    /// The family's number in this kernel.
    family: u16,
}

/// A command of a family, with attributes.
struct Asked {
    family: u16,
    flags: u16,
    command: u8,
    attributes: Vec<u8>,
}

impl Asked {
    fn new(family: u16, flags: u16, command: u8) -> Self {
        Self {
            family,
            flags,
            command,
            attributes: Vec::new(),
        }
    }

    fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.attributes.extend(attribute(kind, value));
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let header = [self.command, 1, 0, 0];
        message(self.family, self.flags, &header, &self.attributes)
    }
}

/// The value of an attribute of four bytes.
fn number(attributes: &[u8], kind: u16) -> Option<u32> {
    word(find(attributes, kind)?, 0)
}

impl Napis {
    pub(crate) fn open() -> io::Result<Self> {
        let socket = connect(NETLINK_GENERIC)?;
        let mut napis = Self { socket, family: 0 };
        let asked =
            Asked::new(GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY).with(CTRL_ATTR_FAMILY_NAME, FAMILY);
        let mut family = None;
        napis.ask(&asked, |answer| {
            family = find(answer, CTRL_ATTR_FAMILY_ID).and_then(short);
        })?;
        let unknown = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        napis.family = family.ok_or_else(unknown)?;
        Ok(napis)
    }

    /// The numbers of those of the interface with this index.
    pub(crate) fn of(&self, interface: u32) -> io::Result<Vec<u32>> {
        let asked = Asked::new(self.family, DUMP, NETDEV_CMD_NAPI_GET)
            .with(NETDEV_A_NAPI_IFINDEX, &interface.to_ne_bytes());
        let mut found = Vec::new();
        self.ask(&asked, |answer| {
            found.extend(number(answer, NETDEV_A_NAPI_ID));
        })?;
        Ok(found)
    }

    /// Has one hand over what arrives within `deferral` of its last poll all at once then; zero:
    /// each at once.
    pub(crate) fn defer(&self, napi: u32, deferral: Span) -> io::Result<()> {
        let polls = u32::from(!deferral.is_zero());
        let nanos = deferral.as_nanos();
        let asked = Asked::new(self.family, ACK, NETDEV_CMD_NAPI_SET)
            .with(NETDEV_A_NAPI_ID, &napi.to_ne_bytes())
            .with(NETDEV_A_NAPI_DEFER_HARD_IRQS, &polls.to_ne_bytes())
            .with(NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT, &nanos.to_ne_bytes());
        self.ask(&asked, |_| {})
    }

    /// Sends a request, and shows the attributes of each answer.
    fn ask(&self, asked: &Asked, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.socket.send(&asked.bytes(), 0)?;
        let goes_on = asked.flags & DUMP != 0;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            for (kind, body) in messages(&answer) {
                match kind {
                    ERROR => return outcome(body),
                    DONE => return Ok(()),
                    _ => each(body.get(GENERIC..).unwrap_or_default()),
                }
            }
            if !goes_on && asked.flags & ACK == 0 {
                return Ok(());
            }
        }
    }
}

/// A pair of veth devices in a namespace of its own, for tests.
#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::interface::{Interface, Offloads};
    use crate::sys::new_network_namespace;
    use std::process::Command;
    use std::thread;

    /// Does `work` with the NAPI instances of a veth device, and a socket to them. Passed over
    /// where there is no namespace to be had.
    pub(crate) fn with_instances(work: impl FnOnce(Napis, Vec<u32>) + Send + 'static) {
        let inside = move || {
            if new_network_namespace().is_err() {
                assert!(std::env::var_os("CI").is_none(), "this takes root");
                return;
            }
            for words in [
                "link add a0 type veth peer name a1",
                "link set a0 up",
                "link set a1 up",
            ] {
                let ran = Command::new("ip").args(words.split(' ')).status();
                assert!(ran.expect("iproute2 is there").success(), "ip {words}");
            }
            let (index, napis) = (Interface::index_of("a0"), Napis::open());
            let (index, napis) = (index.expect("it is there"), napis.expect("Linux 6.13"));
            assert!(napis.of(index).expect("they are told").is_empty());
            let gro = Offloads {
                gro: true,
                ..Offloads::default()
            };
            gro.turn_on("a0").expect("veth has it");
            let instances = napis.of(index).expect("they are told");
            assert_eq!(instances.len(), 1);
            work(napis, instances);
        };
        thread::spawn(inside).join().expect("it does not panic");
    }

    /// How long one lets frames wait, as the kernel tells it.
    pub(crate) fn deferral(napis: &Napis, napi: u32) -> Span {
        let mut told = None;
        let asked = Asked::new(napis.family, 0, NETDEV_CMD_NAPI_GET)
            .with(NETDEV_A_NAPI_ID, &napi.to_ne_bytes());
        let answered = napis.ask(&asked, |answer| {
            let polls = number(answer, NETDEV_A_NAPI_DEFER_HARD_IRQS);
            // A number of the kernel's `uint` has four bytes if it fits.
            let nanos = number(answer, NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT);
            told = polls.zip(nanos);
        });
        answered.expect("it is there");
        let (polls, nanos) = told.expect("both are told");
        assert_eq!(polls > 0, nanos > 0);
        Span::from_nanos(nanos.into())
    }

    #[test]
    fn an_instance_defers_what_it_is_told_to() {
        with_instances(|napis, instances| {
            for nanos in [200_000, 0] {
                let wanted = Span::from_nanos(nanos);
                napis.defer(instances[0], wanted).expect("it is there");
                assert_eq!(deferral(&napis, instances[0]), wanted);
            }
            let gone = napis
                .defer(u32::MAX, Span::ZERO)
                .expect_err("there is none");
            assert_eq!(gone.raw_os_error(), Some(libc::ENOENT));
        });
    }
}
