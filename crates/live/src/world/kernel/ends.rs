//! The transmitter of a link beside the kernel's own queues: two ends in the guest's kernel, and
//! how they are told what they send at, a rate or the opportunities of a trace.
//!
//! The kernel's recipe adds them (`sch_link.c`, where the attributes of the messages stand too). tc
//! makes them without parameters, and cannot be told any.
//!
//! Linux has a rate too, HTB's. It takes a packet late by as much as its timer is late, and loses
//! that time; a burst that makes up for it takes each packet of a busy period as much too early.
//! Flows that share a link come back in step with it, so that a packet often arrives within a
//! microsecond of the time when the link takes the next one: that burst decides which is first.

use std::io;

use sojourn_units::Rate;
use sojourn_world::{Cell, Line, LineRate, RateTrace};

use super::Guests;
use crate::tc::{LINK, RTM_NEWQDISC, tcmsg};
use sojourn_bridge::Interface;
use sojourn_bridge::netlink::{
    ACK, attribute, connect, message, messages, outcome, protocols::NETLINK_ROUTE,
};

/// Opportunities that one message tells.
const PIECE: usize = 4096;

/// The opportunity of a link that is down, in milliseconds: 49 days away, and the last one that a
/// message has a number for.
const NEVER: u32 = u32::MAX;

/// Whether a link has the two ends, for all of a run: in a guest, if it has a rate at any time.
/// Elsewhere the kernel lacks them, and a link that needs them is refused by tc.
pub(super) fn are_of(guests: &Guests, cell: &Cell, link: Option<usize>) -> bool {
    let lines = link.map_or_else(Vec::new, |link| cell.lines(link));
    let needs_ends = |line: &Line| match line.rate {
        LineRate::Trace(_) => true,
        LineRate::Fixed(rate) => guests.repeats || rate == Rate::ZERO,
        LineRate::Infinite => false,
    };
    lines.iter().any(needs_ends)
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
    let socket = connect(NETLINK_ROUTE)?;
    for options in told(rate, zero) {
        socket.send(&request(index, &options), 0)?;
        let (answer, _) = socket.recv_from_full()?;
        refusal(&answer)?;
    }
    Ok(())
}

/// The attributes of each message.
fn told(rate: &LineRate, zero: u64) -> Vec<Vec<u8>> {
    const COUNT: u16 = 1;
    const TIMES: u16 = 2;
    const RATE: u16 = 3;
    const ZERO: u16 = 4;
    let mut told = Vec::new();
    if rate.is_stopped() {
        told.push(attribute(COUNT, &1_u32.to_ne_bytes()));
        told.push(attribute(TIMES, &NEVER.to_ne_bytes()));
    }
    if let LineRate::Trace(trace) = rate {
        let count = trace.opportunities_ms.len() as u32;
        told.push(attribute(COUNT, &count.to_ne_bytes()));
        for piece in trace.opportunities_ms.chunks(PIECE) {
            let times: Vec<u8> = piece
                .iter()
                .flat_map(|&ms| (ms as u32).to_ne_bytes())
                .collect();
            told.push(attribute(TIMES, &times));
        }
    }
    let bps = rate.fixed().map_or(0, Rate::as_bps);
    let last = [
        attribute(RATE, &bps.to_ne_bytes()),
        attribute(ZERO, &zero.to_ne_bytes()),
    ];
    told.push(last.concat());
    told
}

/// A change of the queue [`LINK`].
fn request(index: u32, options: &[u8]) -> Vec<u8> {
    const OPTIONS: u16 = 2;
    message(
        RTM_NEWQDISC,
        ACK,
        &tcmsg(index, LINK),
        &attribute(OPTIONS, options),
    )
}

/// What an answer refuses.
fn refusal(answer: &[u8]) -> io::Result<()> {
    let (_, body) = messages(answer).next().unwrap_or_default();
    outcome(body).map_err(|error| {
        let what = format!("the guest's kernel refuses the trace of a link: {error}");
        io::Error::new(error.kind(), what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_bridge::netlink::ERROR;
    use std::sync::Arc;

    #[test]
    fn a_trace_comes_in_pieces_and_holds_with_the_last_message() {
        let times: Vec<u64> = (1..=PIECE as u64 + 2).collect();
        let trace = LineRate::Trace(Arc::new(RateTrace {
            opportunities_ms: times,
        }));
        let told = told(&trace, 7);
        assert_eq!(told.len(), 4);
        assert_eq!(told[0], [[8, 0, 1, 0], 4098_u32.to_ne_bytes()].concat());
        assert_eq!(told[1].len(), 4 + 4 * PIECE);
        assert_eq!(
            told[2][..8],
            [[12, 0, 2, 0], 4097_u32.to_ne_bytes()].concat()
        );
        assert_eq!(told[3].len(), 24);
        assert_eq!(told[3][16..], 7_u64.to_ne_bytes());
        let fixed = LineRate::Fixed(Rate::from_bps(9));
        assert_eq!(super::told(&fixed, 7)[0][4..12], 9_u64.to_ne_bytes());
        // Down: one opportunity that never comes.
        let down = super::told(&LineRate::Fixed(Rate::ZERO), 7);
        assert_eq!(down.len(), 3);
        assert_eq!(down[1][4..], u32::MAX.to_ne_bytes());
        assert_eq!(down[2][4..12], 0_u64.to_ne_bytes());
        let request = request(3, &told[3]);
        assert_eq!(request.len(), 36 + 4 + 24);
        assert_eq!(request[..4], 64_u32.to_ne_bytes());
    }

    #[test]
    fn a_refusal_says_what_the_kernel_says() {
        let answer = |code: i32| message(ERROR, 0, &code.to_ne_bytes(), &[0; 16]);
        assert!(refusal(&answer(0)).is_ok());
        let error = refusal(&answer(-22)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("trace of a link: Invalid argument")
        );
        assert!(refusal(&answer(0)[..10]).is_err());
    }
}
