//! Packets of a script as bytes, and bytes as packets of a script.
//! Source: RFC 791, RFC 8200, RFC 9293; options: RFC 7323, RFC 2018, RFC 9768 (AccECN), RFC 7413
//! (Fast Open, and its experimental option by RFC 6994), RFC 2385 (MD5).

use sojourn_packetdrill::{Packet, TcpOption, flag};
use sojourn_units::Ecn;
use std::fmt::Write as _;
use std::net::IpAddr;

const TCP: u8 = 6;
/// Hops that a packet of the peer has left.
const TTL: u8 = 255;
/// Kinds of options.
const MSS: u8 = 2;
const SCALE: u8 = 3;
const SACK_OK: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;
const FAST_OPEN: u8 = 34;
const ACCECN_ECT0_FIRST: u8 = 172;
const ACCECN_ECT1_FIRST: u8 = 174;
const EXPERIMENT: u8 = 254;
/// Which experiment Fast Open was.
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];

/// Where a packet comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) from: IpAddr,
    pub(crate) to: IpAddr,
    pub(crate) from_port: u16,
    pub(crate) to_port: u16,
}

/// The bytes of a packet, with its checksums; none if an option has a value that is not known.
pub(crate) fn build(packet: &Packet, ends: Ends) -> Option<Vec<u8>> {
    let mut options = Vec::new();
    for option in packet.options.iter().flatten() {
        put(option, &mut options)?;
    }
    options.resize(options.len().next_multiple_of(4), 0);
    let words = u16::try_from(5 + options.len() / 4).ok()?;
    let mut tcp = Vec::with_capacity(20 + options.len() + packet.len as usize);
    tcp.extend(ends.from_port.to_be_bytes());
    tcp.extend(ends.to_port.to_be_bytes());
    tcp.extend(packet.seq.to_be_bytes());
    tcp.extend(packet.ack.unwrap_or(0).to_be_bytes());
    tcp.extend((words << 12 | packet.flags).to_be_bytes());
    let window = u16::try_from(packet.win.unwrap_or(0)).ok()?;
    tcp.extend(window.to_be_bytes());
    tcp.extend([0; 2]);
    let urgent = u16::try_from(packet.urgent.unwrap_or(0)).ok()?;
    tcp.extend(urgent.to_be_bytes());
    tcp.extend(options);
    tcp.resize(tcp.len() + packet.len as usize, 0);
    let sum = checksum(&[&pseudo(ends, tcp.len()), &tcp]);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = head(packet.ecn.unwrap_or(Ecn::NotEct), ends, tcp.len())?;
    bytes.extend(tcp);
    Some(bytes)
}

/// The IP header before so many bytes of TCP.
fn head(ecn: Ecn, ends: Ends, len: usize) -> Option<Vec<u8>> {
    let ecn = ecn as u8;
    match (ends.from, ends.to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let [high, low] = u16::try_from(20 + len).ok()?.to_be_bytes();
            let mut head = vec![0x45, ecn, high, low, 0, 0, 0, 0, TTL, TCP, 0, 0];
            head.extend(from.octets());
            head.extend(to.octets());
            let sum = checksum(&[&head]);
            head[10..12].copy_from_slice(&sum.to_be_bytes());
            Some(head)
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let [high, low] = u16::try_from(len).ok()?.to_be_bytes();
            let mut head = vec![0x60, ecn << 4, 0, 0, high, low, TCP, TTL];
            head.extend(from.octets());
            head.extend(to.octets());
            Some(head)
        }
        _ => None,
    }
}

/// What TCP's checksum covers beside the segment.
fn pseudo(ends: Ends, len: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for address in [ends.from, ends.to] {
        match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    bytes.extend((len as u32).to_be_bytes());
    bytes.extend([0, 0, 0, TCP]);
    bytes
}

/// RFC 1071, over parts of even length but for the last.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u64 = words
        .map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0)))
        .sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn put(option: &TcpOption, bytes: &mut Vec<u8>) -> Option<()> {
    match option {
        TcpOption::Nop => bytes.push(1),
        TcpOption::Mss(mss) => {
            bytes.extend([MSS, 4]);
            bytes.extend(mss.to_be_bytes());
        }
        TcpOption::SackOk => bytes.extend([SACK_OK, 2]),
        TcpOption::Scale(scale) => bytes.extend([SCALE, 3, *scale]),
        TcpOption::Timestamps(value, echo) => {
            bytes.extend([TIMESTAMPS, 10]);
            bytes.extend(value.to_be_bytes());
            bytes.extend(echo.to_be_bytes());
        }
        TcpOption::Sack(blocks) => {
            bytes.extend([SACK, u8::try_from(2 + 8 * blocks.len()).ok()?]);
            for (start, end) in blocks {
                bytes.extend(start.to_be_bytes());
                bytes.extend(end.to_be_bytes());
            }
        }
        TcpOption::AccEcn(ect1_first, fields) => {
            let kind = if *ect1_first {
                ACCECN_ECT1_FIRST
            } else {
                ACCECN_ECT0_FIRST
            };
            bytes.extend([kind, u8::try_from(2 + 3 * fields.len()).ok()?]);
            bytes.extend(
                fields
                    .iter()
                    .flat_map(|field| field.to_be_bytes()[1..].to_vec()),
            );
        }
        TcpOption::Other(word, value) => {
            let value = from_hex(value)?;
            let (kind, start): (u8, &[u8]) = match word.as_str() {
                "FO" => (FAST_OPEN, &[]),
                "FOEXP" => (EXPERIMENT, &FAST_OPEN_EXPERIMENT),
                "md5" => (MD5, &[]),
                "eol" | "EOL" => {
                    bytes.push(0);
                    return Some(());
                }
                _ => return None,
            };
            bytes.extend([kind, u8::try_from(2 + start.len() + value.len()).ok()?]);
            bytes.extend(start);
            bytes.extend(value);
        }
    }
    Some(())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2).map(|at| &text[at..at + 2]);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A packet that the kernel has sent, and its ends; none if it is not TCP's.
pub(crate) fn parse(bytes: &[u8]) -> Option<(Packet, Ends)> {
    let octets = |at: usize| bytes.get(at..at + 4)?.first_chunk::<4>().copied();
    let long = |at: usize| bytes.get(at..at + 16)?.first_chunk::<16>().copied();
    let (from, to, ecn, start, end): (IpAddr, IpAddr, u8, usize, usize) = match bytes.first()? >> 4
    {
        4 if bytes.get(9) == Some(&TCP) => {
            let start = usize::from(bytes[0] & 15) * 4;
            let end = u16::from_be_bytes([bytes[2], bytes[3]]).into();
            (octets(12)?.into(), octets(16)?.into(), bytes[1], start, end)
        }
        6 if bytes.get(6) == Some(&TCP) => {
            let end = 40 + usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
            let class = bytes[1] >> 4;
            (long(8)?.into(), long(24)?.into(), class, 40, end)
        }
        _ => return None,
    };
    let tcp = bytes.get(start..end)?;
    let short = |at: usize| Some(u16::from_be_bytes(*tcp.get(at..)?.first_chunk()?));
    let word = |at: usize| Some(u32::from_be_bytes(*tcp.get(at..)?.first_chunk()?));
    let about = short(12)?;
    let options = 4 * usize::from(about >> 12);
    let flags = about & 0x1ff;
    let ends = Ends {
        from,
        to,
        from_port: short(0)?,
        to_port: short(2)?,
    };
    let packet = Packet {
        ecn: Some(Ecn::from_bits(ecn)),
        flags,
        seq: word(4)?,
        len: u32::try_from(tcp.len().checked_sub(options)?).ok()?,
        ack: (flags & flag::ACK != 0).then_some(word(8)?),
        win: Some(short(14)?.into()),
        urgent: (flags & flag::URG != 0).then_some(short(18)?.into()),
        options: Some(take(tcp.get(20..options)?)?),
    };
    Some((packet, ends))
}

fn take(mut rest: &[u8]) -> Option<Vec<TcpOption>> {
    let mut options = Vec::new();
    while let Some(&kind) = rest.first() {
        if kind < 2 {
            options.push(match kind {
                1 => TcpOption::Nop,
                _ => TcpOption::Other("eol".to_owned(), String::new()),
            });
            rest = &rest[1..];
            continue;
        }
        let len = usize::from(*rest.get(1)?);
        let value = rest.get(2..len)?;
        let word = |at: usize| Some(u32::from_be_bytes(*value.get(at..)?.first_chunk()?));
        options.push(match kind {
            MSS => TcpOption::Mss(u16::from_be_bytes(*value.first_chunk()?)),
            SCALE => TcpOption::Scale(*value.first()?),
            SACK_OK => TcpOption::SackOk,
            TIMESTAMPS => TcpOption::Timestamps(word(0)?, word(4)?),
            SACK => {
                let starts = (0..value.len()).step_by(8);
                let blocks = starts.map(|at| Some((word(at)?, word(at + 4)?)));
                TcpOption::Sack(blocks.collect::<Option<_>>()?)
            }
            ACCECN_ECT0_FIRST | ACCECN_ECT1_FIRST => {
                let fields = value
                    .chunks_exact(3)
                    .map(|part| u32::from_be_bytes([0, part[0], part[1], part[2]]));
                TcpOption::AccEcn(kind == ACCECN_ECT1_FIRST, fields.collect())
            }
            FAST_OPEN => TcpOption::Other("FO".to_owned(), to_hex(value)),
            EXPERIMENT if value.starts_with(&FAST_OPEN_EXPERIMENT) => {
                TcpOption::Other("FOEXP".to_owned(), to_hex(&value[2..]))
            }
            MD5 => TcpOption::Other("md5".to_owned(), to_hex(value)),
            _ => TcpOption::Other(format!("kind {kind}"), to_hex(value)),
        });
        rest = &rest[len..];
    }
    Some(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    const ENDS: Ends = Ends {
        from: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        to: IpAddr::V4(Ipv4Addr::new(192, 168, 0, 1)),
        from_port: 40_000,
        to_port: 8080,
    };

    fn packet() -> Packet {
        Packet {
            ecn: Some(Ecn::Ect1),
            flags: flag::SYN | flag::ACK | flag::AE | flag::URG,
            seq: 0xffff_fffe,
            len: 3,
            ack: Some(7),
            win: Some(65_535),
            urgent: Some(2),
            options: Some(vec![
                TcpOption::Mss(1460),
                TcpOption::SackOk,
                TcpOption::Timestamps(1, 2),
                TcpOption::Nop,
                TcpOption::Scale(8),
                TcpOption::AccEcn(true, vec![1, 0x00ab_cdef]),
            ]),
        }
    }

    #[test]
    fn what_is_built_is_read() {
        let six = Ends {
            from: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1).into(),
            to: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2).into(),
            ..ENDS
        };
        let mut other = packet();
        other.flags = flag::ACK | flag::PSH;
        other.urgent = None;
        let hex = |word: &str, value: &str| TcpOption::Other(word.to_owned(), value.to_owned());
        other.options = Some(vec![
            TcpOption::Sack(vec![(1, 2), (0xffff_ffff, 5)]),
            hex("FO", "3021b9d889017eeb"),
            hex("FOEXP", "aabb"),
            TcpOption::AccEcn(false, vec![9]),
            TcpOption::Nop,
        ]);
        for packet in [packet(), other] {
            for ends in [ENDS, six] {
                let bytes = build(&packet, ends).unwrap();
                assert_eq!(parse(&bytes), Some((packet.clone(), ends)));
                // Cut off anywhere it is no packet.
                assert!((0..bytes.len()).all(|len| parse(&bytes[..len]).is_none()));
            }
        }
        let unknown = Packet {
            options: Some(vec![hex("FO", "TFO_COOKIE")]),
            ..packet()
        };
        assert_eq!(build(&unknown, ENDS), None);
    }

    /// Both headers of a SYN, their checksums computed by hand from RFC 791 and RFC 9293.
    #[test]
    fn checksums_are_those_of_the_rfcs() {
        let packet = Packet {
            flags: flag::SYN,
            win: Some(100),
            options: Some(Vec::new()),
            ..Packet::default()
        };
        let bytes = build(&packet, ENDS).unwrap();
        // 4500 + 0028 + ff06 + c000 + 0201 + c0a8 + 0001 = 2c6d8, folded c6da.
        assert_eq!(bytes[10..12], [0x39, 0x25]);
        // c000 + 0201 + c0a8 + 0001 + 0014 + 0006 (addresses, length, protocol), 9c40 + 1f90
        // (ports), 5002 + 0064 (flags, window) = 28efa, folded 8efc.
        assert_eq!(bytes[20 + 16..][..2], [0x71, 0x03]);
    }
}
