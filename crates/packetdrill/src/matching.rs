//! Whether what a TCP has sent is what the script says.

use crate::script::{Packet, TcpOption, flag};
use crate::wire::Sent;
use std::collections::VecDeque;

/// Takes the next packet. Where the script has a longer one, segments that follow belong to it, as
/// packetdrill puts packets together: their flags are those of the first, with PSH and FIN of the
/// last. Linux gives PSH to what an interface takes as several segments at once, which our TCP
/// never does: there the script's PSH is taken for granted. `gathers`: whether the interface takes
/// several at once.
pub fn gather(sent: &mut VecDeque<Sent>, expected: &Packet, gathers: bool) -> Option<Sent> {
    let mut first = sent.pop_front()?;
    let ends = flag::PSH | flag::FIN;
    // With AccECN it is a bit of a counter.
    let cwr = if first.packet.flags & flag::AE == 0 {
        flag::CWR
    } else {
        0
    };
    let mut several = false;
    while gathers && first.packet.len > 0 && first.packet.len < expected.len {
        let Some(next) = sent.front() else { break };
        let end = first.packet.seq.wrapping_add(first.packet.len);
        // CWR stands in the first segment only.
        let joins = next.at == first.at
            && next.packet.seq == end
            && next.packet.len > 0
            && first.packet.flags & flag::FIN == 0
            && next.packet.flags & !ends == first.packet.flags & !(cwr | ends)
            && next.packet.ecn == first.packet.ecn
            && next.packet.ack == first.packet.ack
            && next.packet.options == first.packet.options;
        if !joins {
            break;
        }
        first.packet.len += next.packet.len;
        first.packet.flags &= !flag::PSH;
        first.packet.flags |= next.packet.flags & ends;
        several = true;
        sent.pop_front();
    }
    if several {
        first.packet.flags |= expected.flags & flag::PSH;
    }
    Some(first)
}

/// Whether the packet is another than the script says. `in_script`: what the script calls a
/// timestamp of ours; `ticks`: how far that may be off, if timestamps are compared.
pub fn differs(
    expected: &Packet,
    got: &Packet,
    in_script: impl Fn(u32) -> u32,
    ticks: Option<u32>,
) -> bool {
    let plain = expected.flags != got.flags
        || expected.seq != got.seq
        || expected.len != got.len
        || expected.ecn.is_some_and(|ecn| got.ecn != Some(ecn))
        || (expected.flags & flag::ACK != 0 && expected.ack != got.ack)
        || expected.win.is_some_and(|win| got.win != Some(win));
    if plain {
        return true;
    }
    let Some(options) = &expected.options else {
        return false;
    };
    let Some(sent) = &got.options else {
        return true;
    };
    options.len() != sent.len()
        || options.iter().zip(sent).any(|pair| match pair {
            (&TcpOption::Timestamps(value, echo), &TcpOption::Timestamps(live, live_echo)) => {
                let off = in_script(live).abs_diff(value);
                echo != live_echo || ticks.is_some_and(|most| off > most)
            }
            (expected, got) => expected != got,
        })
}
