//! Constants of AODV, and whose rules hold.

use crate::profile::Rules;
use sojourn_units::Span;

/// Constants of AODV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AodvParams {
    /// Whose rules hold. ns-2's differ from RFC 3561 so: a question waits for its answer as long as
    /// the last answers took, and is repeated with the next packet or half second; age is noticed
    /// at half seconds; only packets of flows show that a link is broken, and then all packets
    /// that wait for that neighbour are lost; a relay nearer to the target asks itself.
    pub rules: Rules,
    /// A route that carried no packet for so long is used no more.
    pub active: Span,
    /// Lifetime that a target gives to routes to itself.
    pub mine: Span,
    /// Lifetime of the route back to whoever asks.
    pub reverse: Span,
    /// Hops that the first question for an unknown target goes, what each further one goes beyond
    /// the last, or beyond the hops of a route that is no more, and from where on they go
    /// everywhere.
    pub ring: [u8; 3],
    /// Most hops in the network.
    pub diameter: u8,
    /// Most hops of a packet, 1 to 64: routes that are being mended can lead in a circle.
    pub time_to_live: u8,
    /// Time for one hop, from which follows how long an answer is waited for.
    pub traversal: Span,
    /// Further questions that go everywhere before it is given up.
    pub retries: u32,
    /// Silence after that.
    pub silence: Span,
    /// Questions that are passed on wait a random time below this; by the RFC's rules a node's own
    /// do too.
    pub jitter: Span,
    /// Packets that wait at their source for a route, at most.
    pub buffer: usize,
    /// So long at most.
    pub patience: Span,
    /// Time between packets that leave that buffer.
    pub pace: Span,
    /// Between hello messages of a node on a route; None: there are none.
    pub hello: Option<Span>,
    /// Bytes of an RREQ and of an RREP, without IP and UDP headers.
    pub bytes: [u16; 2],
}

impl AodvParams {
    /// Those of ns-2.35.
    pub const NS2: Self = Self {
        rules: Rules::Ns2,
        active: Span::from_secs(10),
        mine: Span::from_secs(10),
        reverse: Span::from_secs(6),
        ring: [30, 2, 7],
        diameter: 30,
        time_to_live: 30,
        traversal: Span::from_millis(30),
        retries: 3,
        silence: Span::from_secs(10),
        jitter: Span::from_millis(10),
        buffer: 64,
        patience: Span::from_secs(30),
        pace: Span::from_millis(10),
        hello: None,
        bytes: [28, 24],
    };

    /// Those of RFC 3561 section 10; what it leaves open (jitter, buffer) is ns-2's, and a packet's
    /// time to live IP's usual one (RFC 1700).
    pub const RFC: Self = Self {
        rules: Rules::Standard,
        active: Span::from_secs(3),
        mine: Span::from_secs(6),
        reverse: Span::from_millis(5600),
        ring: [1, 2, 7],
        diameter: 35,
        time_to_live: 64,
        traversal: Span::from_millis(40),
        retries: 2,
        silence: Span::ZERO,
        pace: Span::ZERO,
        bytes: [24, 20],
        ..Self::NS2
    };
}
