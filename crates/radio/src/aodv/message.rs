//! The messages of AODV (RFC 3561 section 5), and how others carry them.

use sojourn_units::{Span, Time};

/// Most destinations in one RERR here; more make more messages.
pub(super) const LOST: usize = 5;

/// A node with a sequence number of it (RFC 3561 section 6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequenced {
    /// The node.
    pub node: u32,
    /// Its sequence number, the last known one; zero when none is known.
    pub number: u32,
}

/// A message of the routing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// RREQ: who knows a way?
    Request(Request),
    /// RREP: there is one here.
    Reply(Reply),
    /// RERR: these are out of reach from here.
    Error {
        /// The lost targets.
        lost: [Sequenced; LOST],
        /// How many of them.
        count: u8,
    },
}

/// What an RREQ says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the question, of its origin's own.
    pub id: u32,
    /// Who asks, and its sequence number.
    pub origin: Sequenced,
    /// Who is sought, and its last known sequence number; zero when there is none.
    pub target: Sequenced,
    /// Hops from the origin.
    pub hops: u8,
    /// Hops that it may still go.
    pub ttl: u8,
    /// When it was asked. ns-2's messages say so, in no byte.
    pub asked: Time,
}

/// What an RREP says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Who was sought, and its sequence number.
    pub target: Sequenced,
    /// Who has asked.
    pub origin: u32,
    /// Hops to the target.
    pub hops: u8,
    /// How long the route may be used.
    pub lifetime: Span,
    /// When the question was asked that it answers.
    pub asked: Time,
}

impl Message {
    /// As whole numbers, for those who carry them.
    pub fn words(&self) -> [u32; 12] {
        let mut words = [0; 12];
        let halves = |time: Time| [(time.as_nanos() >> 32) as u32, time.as_nanos() as u32];
        match *self {
            Self::Request(ask) => {
                let (origin, target) = (ask.origin, ask.target);
                (words[0], words[1]) = (0, ask.id);
                words[2..4].copy_from_slice(&[origin.node, origin.number]);
                words[4..6].copy_from_slice(&[target.node, target.number]);
                words[6] = u32::from(ask.hops) << 8 | u32::from(ask.ttl);
                words[7..9].copy_from_slice(&halves(ask.asked));
            }
            Self::Reply(reply) => {
                let micros = reply.lifetime.as_micros().min(u64::from(u32::MAX)) as u32;
                let (Sequenced { node, number }, hops) = (reply.target, u32::from(reply.hops));
                words[..6].copy_from_slice(&[1, node, number, reply.origin, hops, micros]);
                words[7..9].copy_from_slice(&halves(reply.asked));
            }
            Self::Error { lost, count } => {
                (words[0], words[1]) = (2, u32::from(count));
                for (pair, Sequenced { node, number }) in words[2..].chunks_exact_mut(2).zip(lost) {
                    pair.copy_from_slice(&[node, number]);
                }
            }
        }
        words
    }

    /// Whose question these words are, if they are one.
    #[inline]
    pub(super) const fn asked_by(words: &[u32; 12]) -> Option<u32> {
        if words[0] == 0 { Some(words[2]) } else { None }
    }

    /// Back from [`Message::words`].
    pub fn from_words(words: &[u32; 12]) -> Self {
        let asked = Time::from_nanos(u64::from(words[7]) << 32 | u64::from(words[8]));
        let sequenced = |at: usize| Sequenced {
            node: words[at],
            number: words[at + 1],
        };
        match words[0] {
            0 => Self::Request(Request {
                id: words[1],
                origin: sequenced(2),
                target: sequenced(4),
                hops: (words[6] >> 8) as u8,
                ttl: words[6] as u8,
                asked,
            }),
            1 => Self::Reply(Reply {
                target: sequenced(1),
                origin: words[3],
                hops: words[4] as u8,
                lifetime: Span::from_micros(words[5].into()),
                asked,
            }),
            _ => Self::Error {
                lost: core::array::from_fn(|place| sequenced(2 + 2 * place)),
                count: (words[1] as u8).min(LOST as u8),
            },
        }
    }

    /// Its bytes without IP and UDP headers, where questions and answers have so many
    /// (`AodvParams::bytes`).
    pub fn bytes(&self, [question, answer]: [u16; 2]) -> u16 {
        match self {
            Self::Request(_) => question,
            Self::Reply(_) => answer,
            Self::Error { count, .. } => 4 + 8 * u16::from(*count),
        }
    }
}

/// An RERR about these, at most [`LOST`].
pub(super) fn error(some: &[Sequenced]) -> Message {
    let mut lost = [Sequenced::default(); LOST];
    lost[..some.len()].copy_from_slice(some);
    Message::Error {
        lost,
        count: some.len() as u8,
    }
}
