//! Addresses and prefixes.

use std::net::IpAddr;

/// The first bits of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix {
    /// Zero behind its first `len` bits.
    pub(super) address: IpAddr,
    pub(super) len: u8,
}

impl Prefix {
    /// Reads `100.64.0.1`, `100.64.0.0/24`, `2001:db8::/56`; and whether bits behind the prefix
    /// were set.
    pub(super) fn parse(text: &str) -> Option<(Self, bool)> {
        let (address, len) = match text.split_once('/') {
            Some((address, len)) => (address, Some(len)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().ok()?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let len = match len {
            Some(len) => len.trim().parse().ok().filter(|len| *len <= longest)?,
            None => longest,
        };
        let first = match address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
                IpAddr::V4((address.to_bits() & mask).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
                IpAddr::V6((address.to_bits() & mask).into())
            }
        };
        let prefix = Self {
            address: first,
            len,
        };
        Some((prefix, first != address))
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}
