//! What many rows have.

use crate::params::Limit;
use crate::spec::{Part, Spec};
use crate::tc::opt::{Access, Amount, COUNT, Datum, Opt, Unit, opt, switch};

/// A limit in packets.
pub(super) const fn packet_limit(access: Access) -> Opt {
    let meaning = "largest number of packets in the queue";
    opt("limit", Unit::Packets, 1..=COUNT, access, meaning)
}

/// The limit of one queue under a policy.
pub(super) const LIMIT: Opt = packet_limit(Access {
    get: |spec| match Limit::of(spec)? {
        Limit::Packets(packets) | Limit::Bytes(packets) => packets.amount(),
    },
    set: set_limit,
});

/// Sets the limit of one queue, in the unit that was given.
pub(super) fn set_limit(spec: &mut Spec, amount: Amount) {
    if let Some(limit) = Limit::of_mut(spec) {
        *limit = match (amount, *limit) {
            (Amount::Packets(packets), _) => Limit::Packets(packets),
            (_, Limit::Packets(_)) => Limit::Packets(amount.number()),
            (_, Limit::Bytes(_)) => Limit::Bytes(amount.number()),
        };
    }
}

/// The switch of ECN.
pub(super) const fn ecn(off: Option<&'static str>, access: Access) -> Opt {
    let meaning = "mark ECN-capable packets instead of dropping them";
    switch("ecn", off, access, meaning)
}
