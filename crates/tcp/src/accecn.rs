//! Accurate ECN: a receiver counts what arrives marked, and tells its peer the counts.
//! Source: RFC 9768 sections 3.1 (negotiation), 3.2.2 (the ACE field), 3.2.3 (the option), appendix
//! A.2 (wrapped counters).
//! The option follows the recommended simple scheme (section 3.2.3.3): it goes with each ACK whose
//! byte counters have changed, with the fields that ever have. Linux puts it on every segment.
//! As Linux, retransmissions are ECN-capable too; pure ACKs are not (RFC 9768 section 3.2.2.5.1).
//! Differs from appendix A.2.2: where the option says how many bytes were marked, the least count
//! of full segments that holds them is taken.
//! Not here: the test for continuous marks (section 3.2.2.3), which the RFC leaves open; caches of
//! paths that block AccECN.

mod count;
mod reflect;

pub(crate) use count::Counter;
pub(crate) use reflect::Reflector;

use crate::Codepoint;
use crate::config::Ecn;
use crate::segment::Flags;

/// Where both packet counters begin (section 3.2.1).
const FIRST_CEP: u64 = 5;
/// Where the byte counters begin, in order 0: ECT(0), CE, ECT(1).
const FIRST_BYTES: [u64; 3] = [1, 0, 1];
/// Values of ACE that ask for AccECN on a SYN, and for RFC 3168's ECN.
const SETUP: u8 = 0b111;
const CLASSIC_SETUP: u8 = 0b011;
/// What agrees to RFC 3168's ECN on a SYN-ACK.
const CLASSIC_ANSWER: u8 = 0b001;
/// What a broken server reflects.
const BROKEN: u8 = 0b111;
/// Reserved on a SYN-ACK: AccECN, and nothing has been changed on the way (section 3.1.3).
const RESERVED: u8 = 0b101;

/// The flags of a SYN.
pub(crate) const fn setup(wanted: Ecn) -> Flags {
    let flags = Flags::SYN;
    match wanted {
        Ecn::Off => flags,
        Ecn::Classic => flags.with_ace(CLASSIC_SETUP),
        Ecn::Accurate => flags.with_ace(SETUP),
    }
}

/// What a server that wants this much agrees to (table 2 and section 3.1.3).
pub(crate) const fn agreed_by_server(wanted: Ecn, syn: Flags) -> Ecn {
    match (wanted, syn.ace()) {
        (Ecn::Off, _) | (Ecn::Accurate, 0) => Ecn::Off,
        (Ecn::Accurate, CLASSIC_SETUP) => Ecn::Classic,
        (Ecn::Accurate, _) => Ecn::Accurate,
        // RFC 3168 does not know the third flag.
        (Ecn::Classic, ace) if ace & CLASSIC_SETUP == CLASSIC_SETUP => Ecn::Classic,
        (Ecn::Classic, _) => Ecn::Off,
    }
}

/// What the answer of a server means to a client that has asked for this (table 2).
pub(crate) const fn agreed_by_client(asked: Ecn, syn_ack: Flags) -> Ecn {
    match (asked, syn_ack.ace()) {
        (Ecn::Off, _) | (Ecn::Accurate, 0 | BROKEN) => Ecn::Off,
        (Ecn::Accurate, CLASSIC_ANSWER) => Ecn::Classic,
        (Ecn::Accurate, _) => Ecn::Accurate,
        (Ecn::Classic, ace) if ace & CLASSIC_SETUP == CLASSIC_ANSWER => Ecn::Classic,
        (Ecn::Classic, _) => Ecn::Off,
    }
}

/// The flags of a SYN-ACK that agrees; `syn`: the IP header's field of the latest SYN.
pub(crate) const fn answer(agreed: Ecn, syn: Codepoint) -> Flags {
    let flags = Flags::SYN.with(Flags::ACK);
    match agreed {
        Ecn::Off => flags,
        Ecn::Classic => flags.with_ace(CLASSIC_ANSWER),
        Ecn::Accurate => flags.with_ace(reflected(syn)),
    }
}

/// The handshake's encoding of the IP header's field (tables 2 and 3).
pub(crate) const fn reflected(codepoint: Codepoint) -> u8 {
    match codepoint {
        Codepoint::NotEct => 0b010,
        Codepoint::Ect1 => 0b011,
        Codepoint::Ect0 => 0b100,
        Codepoint::Ce => 0b110,
    }
}

/// What [`reflected`] has encoded; none for values that say nothing.
const fn unreflected(ace: u8) -> Option<Codepoint> {
    match ace {
        0b010 => Some(Codepoint::NotEct),
        0b011 => Some(Codepoint::Ect1),
        0b100 => Some(Codepoint::Ect0),
        0b110 => Some(Codepoint::Ce),
        _ => None,
    }
}

/// Whether this SYN belongs to another handshake than the one agreed on: then the connection must
/// be reset (section 3.1.5).
pub(crate) const fn contradicts(agreed: Ecn, syn: Flags) -> bool {
    match (agreed, syn.ace()) {
        (Ecn::Accurate, ace) => ace == CLASSIC_SETUP,
        (Ecn::Classic, ace) => ace == SETUP,
        (Ecn::Off, _) => false,
    }
}

#[cfg(test)]
mod tests;
