//! Netlink's messages and their attributes, and a socket for them.
//!
//! Source: `netlink(7)`; `struct nlmsghdr`, `nlmsgerr` and `nlattr` of `linux/netlink.h`. What
//! belongs to one protocol stands where it is used: `links.rs`, `napi.rs`, `nat.rs`, and in
//! `live` `lab/netlink.rs` (veth pairs, addresses, routes), `lab/netfilter.rs`, `tc/counters.rs`.

pub use netlink_sys::{Socket, protocols};

use netlink_sys::SocketAddr;
use std::io;

/// Flags of a request.
pub(crate) const REQUEST: u16 = 1;
/// It is to be acknowledged.
pub const ACK: u16 = 4;
/// The answer goes to whoever asked too.
pub const ECHO: u16 = 8;
/// What is there is replaced.
pub const REPLACE: u16 = 0x100;
/// Nothing of the kind may be there.
pub const EXCL: u16 = 0x200;
/// All of them are asked for.
pub(crate) const DUMP: u16 = 0x300;
/// It is made where it is missing.
pub const CREATE: u16 = 0x400;
/// It goes behind those that are there.
pub const APPEND: u16 = 0x800;
/// Kinds of answers: an error, which is 0 in an acknowledgement; the end of several.
pub const ERROR: u16 = 2;
pub(crate) const DONE: u16 = 3;
/// In the kind of an attribute that consists of attributes.
pub const NESTED: u16 = 0x8000;

/// Length of the header of a message.
pub const HEADER: usize = 16;
/// Length of the header of an attribute.
const ATTRIBUTE: usize = 4;

/// A socket to the kernel, for the namespace of the calling thread.
///
/// # Errors
/// What the kernel refuses.
pub fn connect(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// A request of a kind: the protocol's own header, attributes. It has neither a sequence number nor
/// a sender's, since there is one request at a time.
pub fn message(kind: u16, flags: u16, header: &[u8], attributes: &[u8]) -> Vec<u8> {
    let len = HEADER + header.len() + attributes.len();
    let mut bytes = Vec::with_capacity(len);
    bytes.extend((len as u32).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend((REQUEST | flags).to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(header);
    bytes.extend(attributes);
    bytes
}

/// One attribute, filled up to a whole word.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = ATTRIBUTE + value.len();
    let mut bytes = Vec::with_capacity(len.next_multiple_of(4));
    bytes.extend((len as u16).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(len.next_multiple_of(4), 0);
    bytes
}

/// The same of a text, which ends with a zero.
pub fn text(kind: u16, value: &str) -> Vec<u8> {
    attribute(kind, &[value.as_bytes(), &[0]].concat())
}

/// The messages in what a socket received, by kind and without their headers, up to one that is not
/// whole.
pub fn messages(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = word(rest, 0)? as usize;
        let kind = short(rest.get(4..)?)?;
        let body = piece(&mut rest, len)?.get(HEADER..)?;
        Some((kind, body))
    })
}

/// The attributes by kind, up to one that is not whole.
pub fn attributes(mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let len = short(rest)?;
        let kind = short(rest.get(2..)?)? & !NESTED;
        let value = piece(&mut rest, len.into())?.get(ATTRIBUTE..)?;
        Some((kind, value))
    })
}

/// The value of the first attribute of a kind.
pub fn find(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    let found = attributes(bytes).find(|(kind, _)| *kind == wanted);
    found.map(|(_, value)| value)
}

/// What the body of an [`ERROR`] says: that the request was carried out, or why not.
///
/// # Errors
/// Why not.
pub fn outcome(body: &[u8]) -> io::Result<()> {
    match word(body, 0).map(u32::cast_signed) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
        None => Err(cut_off()),
    }
}

/// An answer is shorter than it says.
pub(crate) fn cut_off() -> io::Error {
    io::Error::other("netlink's answer is cut off")
}

/// Asks for all that there is of a kind, and reads the answers, without their headers.
pub(crate) fn list(socket: &Socket, kind: u16, header: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    socket.send(&message(kind, DUMP, header, &[]), 0)?;
    let mut list = Vec::new();
    loop {
        let (answers, _) = socket.recv_from_full()?;
        let mut is_cut_off = true;
        for (kind, body) in messages(&answers) {
            is_cut_off = false;
            match kind {
                DONE => return Ok(list),
                ERROR => return outcome(body).map(|()| list),
                _ => list.push(body.to_vec()),
            }
        }
        if is_cut_off {
            return Err(cut_off());
        }
    }
}

/// The number that `bytes` begin with.
pub fn short(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.first_chunk()?))
}

/// The word of this number, counted from zero.
pub fn word(bytes: &[u8], number: usize) -> Option<u32> {
    let bytes = bytes.get(4 * number..)?;
    Some(u32::from_ne_bytes(*bytes.first_chunk()?))
}

/// Takes the first of several pieces off `bytes`: those of its length, which is up to a multiple of
/// four with the next.
fn piece<'a>(bytes: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let piece = bytes.get(..len)?;
    *bytes = &bytes[len.next_multiple_of(4).min(bytes.len())..];
    Some(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from `linux/netlink.h`.
    #[test]
    fn messages_have_the_kernels_layout() {
        let attributes = [text(3, "ab"), attribute(4 | NESTED, &attribute(5, &[7]))].concat();
        let sent = message(16, CREATE, &[9, 9, 9, 9], &attributes);
        let [three, four, five] = [3, 4 | NESTED, 5].map(u16::to_ne_bytes);
        let [seven, twelve, one] = [7, 12, 5].map(u16::to_ne_bytes);
        let expected: [&[u8]; _] = [
            &40_u32.to_ne_bytes(),
            &16_u16.to_ne_bytes(),
            &0x401_u16.to_ne_bytes(),
            &[0; 8],
            &[9; 4],
            &[seven, three].concat(),
            b"ab\0\0",
            &[twelve, four].concat(),
            &[one, five].concat(),
            &[7, 0, 0, 0],
        ];
        assert_eq!(sent, expected.concat());
        let (kind, body) = messages(&sent).next().expect("it is whole");
        assert_eq!((kind, body[0]), (16, 9));
        assert_eq!(find(&body[4..], 3), Some(&b"ab\0"[..]));
        let inner = find(&body[4..], 4).expect("it is there");
        assert_eq!(find(inner, 5), Some(&[7_u8][..]));
        assert_eq!(find(inner, 6), None);
    }

    #[test]
    fn messages_follow_each_other_at_whole_words() {
        let both = [message(2, 0, &[0; 8], &[]), message(3, 0, &[1], &[])].concat();
        let kinds: Vec<_> = messages(&both).map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [2, 3]);
        let mut odd = message(5, 0, &[1], &[]);
        odd.resize(20, 0);
        odd.extend(message(6, 0, &[], &[]));
        let kinds: Vec<_> = messages(&odd).map(|(kind, _)| kind).collect();
        assert_eq!(kinds, [5, 6]);
    }

    #[test]
    fn an_answer_says_what_was_refused() {
        assert!(outcome(&0_i32.to_ne_bytes()).is_ok());
        let refused = outcome(&(-libc::EEXIST).to_ne_bytes()).expect_err("it is refused");
        assert_eq!(refused.raw_os_error(), Some(libc::EEXIST));
        outcome(&[0; 3]).expect_err("it is cut off");
    }

    #[test]
    fn nothing_in_an_answer_panics() {
        let all = [attribute(3, b"odd"), attribute(4, &7_u32.to_ne_bytes())].concat();
        assert_eq!(find(&all, 4).and_then(|value| word(value, 0)), Some(7));
        let answer = message(1, 0, &[], &all);
        for cut in 0..answer.len() {
            for part in [&answer[..cut], &answer[cut..]] {
                messages(part).count();
                attributes(part).count();
                let _ = outcome(part);
            }
        }
        assert_eq!(find(&[0; 8], 4), None);
        assert_eq!(messages(&[0; 32]).count(), 0);
        let _ = outcome(&i32::MIN.to_ne_bytes());
    }
}
