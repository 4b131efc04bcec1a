//! What an ACK filter asks of a TCP header.

use crate::parsed::{Parsed, be32};
use crate::protocol;
use sojourn_qdisc::AckFacts;

/// The facts of a TCP segment with the ACK flag; None for every other packet, and when the
/// header is not whole. `parsed` must be of the same frame, whose length on the link is `len`.
///
/// Sources: RFC 9293 section 3.1, RFC 2018 section 3 (SACK), RFC 7323 section 3 (timestamps), RFC
/// 2385 (MD5).
pub fn ack_facts(frame: &[u8], parsed: &Parsed) -> Option<AckFacts> {
    const ACK: u8 = 0x10;
    const AE: u8 = 0x01;
    if parsed.flow.protocol != protocol::TCP || parsed.header_len == 0 || parsed.fragment {
        return None;
    }
    let start = usize::from(parsed.transport_offset);
    let header = frame.get(start..parsed.header_len.into())?;
    if header.len() < 20 || header[13] & ACK == 0 {
        return None;
    }
    let mut facts = AckFacts {
        ack: be32(header, 8)?,
        flags: header[13],
        ae: header[12] & AE != 0,
        payload: parsed.has_payload(frame),
        // Reserved bits and AccECN's: whatever they say must not be lost.
        other_options: header[12] & 0x0f != 0,
        ..AckFacts::default()
    };
    facts.other_options |= !read_options(&header[20..], &mut facts);
    Some(facts)
}

/// Reads the options; false when there is one that is malformed or not known.
fn read_options(mut rest: &[u8], facts: &mut AckFacts) -> bool {
    const END: u8 = 0;
    const NOP: u8 = 1;
    const SACK: u8 = 5;
    const TIMESTAMPS: u8 = 8;
    const MD5: u8 = 19;
    while let Some(&kind) = rest.first() {
        match kind {
            END => return true,
            NOP => {
                rest = &rest[1..];
                continue;
            }
            _ => {}
        }
        let len = rest.get(1).map_or(0, |&len| usize::from(len));
        let Some(option) = rest.get(..len).filter(|option| option.len() >= 2) else {
            return false;
        };
        match (kind, len) {
            (MD5, 18) => {}
            (TIMESTAMPS, 10) => facts.timestamp = be32(option, 2).zip(be32(option, 6)),
            (SACK, 10 | 18 | 26 | 34) => {
                for at in (2..len).step_by(8) {
                    let block = be32(option, at).zip(be32(option, at + 4));
                    if let (Some(block), Some(to)) =
                        (block, facts.sack.get_mut(usize::from(facts.sacks)))
                    {
                        *to = block;
                        facts.sacks += 1;
                    }
                }
            }
            _ => return false,
        }
        rest = &rest[len..];
    }
    true
}
