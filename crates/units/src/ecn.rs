//! The ECN field of the IP header. Source: RFC 3168 section 5, RFC 9331.

/// The two ECN bits of the IP header: what a queue may mark, and what a transport hears of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1): L4S in RFC 9331.
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// From the low two bits of the TOS or traffic class byte.
    pub const fn from_bits(tos: u8) -> Self {
        match tos & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether marking may replace dropping.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::Ecn;

    /// RFC 3168, figure 1: ECT and CE are bits 6 and 7 of the byte; the DSCP stands before them.
    #[test]
    fn codepoints_are_those_of_the_field() {
        let names = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        for (bits, name) in (0_u8..).zip(names) {
            assert_eq!(name as u8, bits);
            assert_eq!(Ecn::from_bits(bits), name);
            assert_eq!(Ecn::from_bits(0xb8 | bits), name);
            assert_eq!(name.is_capable(), bits != 0);
        }
    }
}
