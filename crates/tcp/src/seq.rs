//! Wire sequence numbers are 32 bits and wrap; inside, everything is a 64-bit stream offset.
//!
//! Offset 0 is the SYN, data begins at 1, and the FIN takes the offset after the last byte
//! (RFC 9293 section 3.4).

/// The wire number of `offset` in a stream whose SYN has the number `isn`.
pub(crate) const fn wire(isn: u32, offset: u64) -> u32 {
    isn.wrapping_add(offset as u32)
}

/// The offset nearest to `near` that has the wire number `number`; zero when that would lie
/// before the SYN.
pub(crate) const fn offset(isn: u32, number: u32, near: u64) -> u64 {
    let distance = number
        .wrapping_sub(isn)
        .wrapping_sub(near as u32)
        .cast_signed();
    // No stream comes near the ends of 64 bits.
    let offset = near.cast_signed() + distance as i64;
    if offset < 0 {
        return 0;
    }
    offset.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_survive_the_wrap() {
        let isn = u32::MAX - 10;
        for at in [0_u64, 5, 11, 1 << 31, (1 << 32) - 1, 1 << 32, (7 << 32) + 3] {
            for delta in [-1_000_000_000_i64, -1, 0, 1, 2_000_000_000] {
                let Some(near) = at.checked_add_signed(delta) else {
                    continue;
                };
                assert_eq!(offset(isn, wire(isn, at), near), at, "{at} near {near}");
            }
        }
        assert_eq!(offset(0, u32::MAX, 0), 0, "before the SYN");
    }
}
