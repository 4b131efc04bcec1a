//! What the calendar orders events by.

/// Time in the high half, but for its lowest bit, which says that it is a wire's; order of
/// scheduling, then source, in the low half. The order is unique, so the source never decides.
pub(super) type Key = u128;

/// Time, and whether it is a wire's.
#[inline]
pub(super) const fn high(key: Key) -> u64 {
    (key >> 64) as u64
}
