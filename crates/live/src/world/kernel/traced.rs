//! Links that send at the opportunities of a trace, beside the kernel's own queues: how their two
//! ends in the guest's kernel are told what they send at.
//!
//! Linux has no such link: the kernel's recipe adds it (`sch_link.c`, where the attributes of the
//! messages stand too). tc makes it without parameters, and cannot be told any.

use std::io;

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use sojourn_world::{Cell, Line, LineRate, RateTrace};

use crate::interface::Interface;
use crate::tc::LINK;

/// Opportunities that one message tells.
const PIECE: usize = 4096;

/// Whether a link sends at a trace at any time of a run: it has those two ends for all of it.
pub(super) fn is_traced(cell: &Cell, link: Option<usize>) -> bool {
    let lines = link.map_or_else(Vec::new, |link| cell.lines(link));
    let is_trace = |line: &Line| matches!(line.rate, LineRate::Trace(_));
    lines.iter().any(is_trace)
}

/// Whether the guest's kernel has numbers for a trace's times.
pub(super) fn is_too_long(trace: &RateTrace) -> bool {
    let last = trace.opportunities_ms.last();
    last.is_some_and(|&ms| u32::try_from(ms).is_err())
}

/// Tells an end of a link, at a device of the calling thread's namespace, how it sends from now on.
/// Opportunities count from `zero`, in nanoseconds on `CLOCK_MONOTONIC`.
pub(super) fn tell(device: &str, rate: &LineRate, zero: u64) -> io::Result<()> {
    let index = Interface::index_of(device)?;
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    for message in messages(rate, zero) {
        socket.send(&request(index, &message), 0)?;
        let (answer, _) = socket.recv_from_full()?;
        refusal(&answer)?;
    }
    Ok(())
}

/// The attributes of each message.
fn messages(rate: &LineRate, zero: u64) -> Vec<Vec<u8>> {
    const COUNT: u16 = 1;
    const TIMES: u16 = 2;
    const RATE: u16 = 3;
    const ZERO: u16 = 4;
    let mut messages = Vec::new();
    if let LineRate::Trace(trace) = rate {
        let count = trace.opportunities_ms.len() as u32;
        messages.push(attribute(COUNT, &count.to_ne_bytes()));
        for piece in trace.opportunities_ms.chunks(PIECE) {
            let times: Vec<u8> = piece
                .iter()
                .flat_map(|&ms| (ms as u32).to_ne_bytes())
                .collect();
            messages.push(attribute(TIMES, &times));
        }
    }
    let bps = rate.fixed().map_or(0, sojourn_units::Rate::as_bps);
    let last = [
        attribute(RATE, &bps.to_ne_bytes()),
        attribute(ZERO, &zero.to_ne_bytes()),
    ];
    messages.push(last.concat());
    messages
}

/// `struct nlattr` and its value, to whole words.
fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = (4 + value.len()) as u16;
    let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A change of the queue [`LINK`]: `struct nlmsghdr`, `struct tcmsg`, options.
fn request(index: u32, options: &[u8]) -> Vec<u8> {
    const NEW: u16 = 36; // RTM_NEWQDISC
    const REQUEST_ACK: u16 = 1 | 4;
    const OPTIONS: u16 = 2;
    let options = attribute(OPTIONS, options);
    let len = 36 + options.len() as u32;
    let mut message = Vec::with_capacity(len as usize);
    message.extend(len.to_ne_bytes());
    message.extend(NEW.to_ne_bytes());
    message.extend(REQUEST_ACK.to_ne_bytes());
    message.extend([0; 12]);
    message.extend(index.to_ne_bytes());
    message.extend((u32::from(LINK) << 16).to_ne_bytes());
    message.extend([0; 8]);
    message.extend(options);
    message
}

/// What an answer (`struct nlmsgerr`) refuses.
fn refusal(answer: &[u8]) -> io::Result<()> {
    let code = answer.get(16..20).and_then(|code| code.try_into().ok());
    match code.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(code) => {
            let error = io::Error::from_raw_os_error(-code);
            let what = format!("the guest's kernel refuses the trace of a link: {error}");
            Err(io::Error::new(error.kind(), what))
        }
        None => Err(io::Error::other("netlink's answer is cut off")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_trace_comes_in_pieces_and_holds_with_the_last_message() {
        let times: Vec<u64> = (1..=PIECE as u64 + 2).collect();
        let trace = LineRate::Trace(Arc::new(RateTrace {
            opportunities_ms: times,
        }));
        let told = messages(&trace, 7);
        assert_eq!(told.len(), 4);
        assert_eq!(told[0], [[8, 0, 1, 0], 4098_u32.to_ne_bytes()].concat());
        assert_eq!(told[1].len(), 4 + 4 * PIECE);
        assert_eq!(
            told[2][..8],
            [[12, 0, 2, 0], 4097_u32.to_ne_bytes()].concat()
        );
        assert_eq!(told[3].len(), 24);
        assert_eq!(told[3][16..], 7_u64.to_ne_bytes());
        let fixed = LineRate::Fixed(sojourn_units::Rate::from_bps(9));
        assert_eq!(messages(&fixed, 7)[0][4..12], 9_u64.to_ne_bytes());
        let request = request(3, &told[3]);
        assert_eq!(request.len(), 36 + 4 + 24);
        assert_eq!(request[..4], 64_u32.to_ne_bytes());
    }

    #[test]
    fn a_refusal_says_what_the_kernel_says() {
        let mut answer = vec![0; 36];
        assert!(refusal(&answer).is_ok());
        answer[16..20].copy_from_slice(&(-22_i32).to_ne_bytes());
        let error = refusal(&answer).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("trace of a link: Invalid argument")
        );
        assert!(refusal(&answer[..10]).is_err());
    }
}
