//! Hosts that answer probes, as files name them: how and where.

use alloc::format;
use alloc::string::String;
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::str::FromStr;

/// A host that answers probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reflector {
    /// Its address.
    pub address: IpAddr,
    /// What it is asked by.
    pub how: How,
}

/// What a reflector is asked by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// ICMP echo (RFC 792, RFC 4443): a round trip.
    Echo,
    /// ICMP timestamp (RFC 792, type 13): both ways of their own, in milliseconds. IPv4 alone.
    Timestamp,
    /// UDP echo at this port (RFC 862): a round trip.
    Udp(u16),
}

impl fmt::Display for Reflector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            How::Echo => self.address.fmt(f),
            How::Timestamp => write!(f, "timestamp {}", self.address),
            How::Udp(port) => write!(f, "udp {}", SocketAddr::new(self.address, port)),
        }
    }
}

impl FromStr for Reflector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a reflector: an address that answers pings (`9.9.9.9`), ICMP \
                 timestamps (`timestamp 9.9.9.9`) or UDP echo (`udp 192.0.2.1:7`)"
            )
        };
        let (how, place) = text.split_once(' ').unwrap_or(("", text));
        match how {
            "" => Ok(Self {
                address: place.parse().map_err(|_| wrong())?,
                how: How::Echo,
            }),
            "timestamp" => match place.parse().map_err(|_| wrong())? {
                address @ IpAddr::V4(_) => Ok(Self {
                    address,
                    how: How::Timestamp,
                }),
                IpAddr::V6(_) => Err(format!(
                    "`{text}`: ICMPv6 has no timestamps; leave the word out for pings"
                )),
            },
            "udp" => {
                let place: SocketAddr = place.parse().map_err(|_| wrong())?;
                Ok(Self {
                    address: place.ip(),
                    how: How::Udp(place.port()),
                })
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString as _;

    #[test]
    fn reflectors_are_read_and_shown_alike() {
        for text in [
            "9.9.9.9",
            "2620:fe::fe",
            "timestamp 9.9.9.9",
            "udp 192.0.2.1:7",
            "udp [2001:db8::1]:7",
        ] {
            let read: Reflector = text.parse().expect(text);
            assert_eq!(read.to_string(), text);
        }
        for (text, part) in [
            ("", "`9.9.9.9`"),
            ("one.one.one.one", "`9.9.9.9`"),
            ("udp 192.0.2.1", "192.0.2.1:7"),
            ("timestamp 2620:fe::fe", "ICMPv6"),
            ("tcp 9.9.9.9", "timestamp"),
        ] {
            let said = text.parse::<Reflector>().expect_err(text);
            assert!(said.contains(part), "{said}");
        }
    }
}
