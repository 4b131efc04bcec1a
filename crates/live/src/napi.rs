//! NAPI instances of interfaces: what polls a driver's receive queues.
//!
//! Source: the generic netlink family `netdev` (the kernel's
//! `Documentation/netlink/specs/netdev.yaml`; what an instance may be told is from Linux 6.13), and
//! `Documentation/networking/napi.rst` for what it means.

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use sojourn_units::Span;
use std::io;

/// Of `linux/netlink.h`.
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
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
/// Lengths of the header of a message, of generic netlink's own, and of an attribute's.
const MESSAGE: usize = 16;
const GENERIC: usize = 4;
const ATTRIBUTE: usize = 4;

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
            flags: NLM_F_REQUEST | flags,
            command,
            attributes: Vec::new(),
        }
    }

    fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let len = (ATTRIBUTE + value.len()) as u16;
        self.attributes.extend(len.to_ne_bytes());
        self.attributes.extend(kind.to_ne_bytes());
        self.attributes.extend(value);
        self.attributes
            .resize(self.attributes.len().next_multiple_of(4), 0);
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let len = (MESSAGE + GENERIC + self.attributes.len()) as u32;
        let mut bytes = Vec::from(len.to_ne_bytes());
        bytes.extend(self.family.to_ne_bytes());
        bytes.extend(self.flags.to_ne_bytes());
        // Neither a sequence number nor the sender's: there is one request at a time.
        bytes.extend([0; 8]);
        bytes.extend([self.command, 1, 0, 0]);
        bytes.extend(&self.attributes);
        bytes
    }
}

/// The number that `bytes` begin with.
fn short(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.first_chunk()?))
}

/// The same of four bytes.
fn word(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.first_chunk()?))
}

/// Takes the first of several pieces off `bytes`: those of its length, which is up to a multiple of
/// four with the next.
fn piece<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let piece = bytes.get(..len)?;
    *bytes = &bytes[len.next_multiple_of(4).min(bytes.len())..];
    Some(piece)
}

/// The value of the first attribute of a kind.
fn attribute(mut bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some(len) = short(bytes) {
        let kind = short(bytes.get(2..)?)?;
        let one = piece(&mut bytes, len.into())?;
        let value = one.get(ATTRIBUTE..)?;
        if kind == wanted {
            return Some(value);
        }
    }
    None
}

impl Napis {
    pub(crate) fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        let mut napis = Self { socket, family: 0 };
        let asked = Asked::new(GENL_ID_CTRL, 0, CTRL_CMD_GETFAMILY);
        let asked = asked.with(CTRL_ATTR_FAMILY_NAME, FAMILY);
        let mut family = None;
        napis.ask(&asked, |answer| {
            family = attribute(answer, CTRL_ATTR_FAMILY_ID).and_then(short);
        })?;
        let unknown = || io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        napis.family = family.ok_or_else(unknown)?;
        Ok(napis)
    }

    /// The numbers of those of the interface with this index.
    pub(crate) fn of(&self, interface: u32) -> io::Result<Vec<u32>> {
        let asked = Asked::new(self.family, NLM_F_DUMP, NETDEV_CMD_NAPI_GET);
        let asked = asked.with(NETDEV_A_NAPI_IFINDEX, &interface.to_ne_bytes());
        let mut found = Vec::new();
        self.ask(&asked, |answer| {
            found.extend(attribute(answer, NETDEV_A_NAPI_ID).and_then(word));
        })?;
        Ok(found)
    }

    /// Has one hand over what arrives within `deferral` of its last poll all at once then; zero:
    /// each at once.
    pub(crate) fn defer(&self, napi: u32, deferral: Span) -> io::Result<()> {
        let polls = u32::from(!deferral.is_zero());
        let nanos = deferral.as_nanos();
        let asked = Asked::new(self.family, NLM_F_ACK, NETDEV_CMD_NAPI_SET)
            .with(NETDEV_A_NAPI_ID, &napi.to_ne_bytes())
            .with(NETDEV_A_NAPI_DEFER_HARD_IRQS, &polls.to_ne_bytes())
            .with(NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT, &nanos.to_ne_bytes());
        self.ask(&asked, |_| {})
    }

    /// Sends a request, and shows the attributes of each answer.
    fn ask(&self, asked: &Asked, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        self.socket.send(&asked.bytes(), 0)?;
        let goes_on = asked.flags & NLM_F_DUMP != 0;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            let mut answer = &answer[..];
            while let Some(len) = word(answer) {
                let whole = (len as usize).max(MESSAGE);
                let Some(message) = piece(&mut answer, whole) else {
                    break;
                };
                let kind = message.get(4..).and_then(short);
                let rest = message.get(MESSAGE..).unwrap_or_default();
                match kind {
                    Some(NLMSG_ERROR) => {
                        return match word(rest).map(u32::cast_signed) {
                            Some(code @ ..0) => Err(io::Error::from_raw_os_error(-code)),
                            _ => Ok(()),
                        };
                    }
                    Some(NLMSG_DONE) => return Ok(()),
                    _ => each(rest.get(GENERIC..).unwrap_or_default()),
                }
            }
            if !goes_on && asked.flags & NLM_F_ACK == 0 {
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
        let asked = Asked::new(napis.family, 0, NETDEV_CMD_NAPI_GET);
        let mut told = None;
        let asked = asked.with(NETDEV_A_NAPI_ID, &napi.to_ne_bytes());
        let answered = napis.ask(&asked, |answer| {
            let polls = attribute(answer, NETDEV_A_NAPI_DEFER_HARD_IRQS).and_then(word);
            // A number of the kernel's `uint` has four bytes if it fits.
            let nanos = attribute(answer, NETDEV_A_NAPI_GRO_FLUSH_TIMEOUT).and_then(word);
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

    #[test]
    fn nothing_in_an_answer_panics() {
        let asked = Asked::new(20, 0, 1)
            .with(3, b"odd")
            .with(4, &7_u32.to_ne_bytes());
        let attributes = &asked.bytes()[MESSAGE + GENERIC..];
        assert_eq!(attribute(attributes, 4).and_then(word), Some(7));
        assert_eq!(attribute(attributes, 5), None);
        for cut in 0..attributes.len() {
            attribute(&attributes[..cut], 4);
            attribute(&attributes[cut..], 4);
        }
        assert_eq!(attribute(&[0; 8], 4), None);
    }
}
