//! Probes and their answers as bytes.
//!
//! Source: RFC 792 (echo, timestamp), RFC 4443 section 4 (echo), RFC 862 (UDP echo). The kernel
//! fills ICMPv6's checksum in and takes IPv6's header off; of IPv4 it does neither.

use sojourn_autorate::{How, Probe, Reflector};
use sojourn_units::Span;

/// Milliseconds of a day.
pub(super) const DAY: u32 = 86_400_000;
/// In a time that is not milliseconds since midnight UTC (RFC 792).
const NOT_STANDARD: u32 = 1 << 31;
/// A reflector that takes longer between its two times has no clock of milliseconds.
const TURNED_ROUND: u32 = 1000;

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) sequence: u16,
    /// When it was asked by the asker's clock, and got that and answered by the reflector's.
    pub(super) times: Option<[u32; 3]>,
}

/// Type of an ICMP request and of its answer.
fn types(reflector: &Reflector) -> [u8; 2] {
    match (reflector.how, reflector.address.is_ipv6()) {
        (How::Timestamp, _) => [13, 14],
        (_, false) => [8, 0],
        (_, true) => [128, 129],
    }
}

/// What names a probe beside its sequence number: ours, and whose.
fn payload(token: u64, number: usize) -> [u8; 12] {
    let mut payload = [0; 12];
    payload[..8].copy_from_slice(&token.to_be_bytes());
    payload[8..].copy_from_slice(&(number as u32).to_be_bytes());
    payload
}

/// A probe, with the time of day.
pub(super) fn request(reflector: &Reflector, token: u64, probe: Probe, time: u32) -> Vec<u8> {
    let own = payload(token, probe.reflector);
    if let How::Udp(_) = reflector.how {
        return [&probe.sequence.to_be_bytes()[..], &own].concat();
    }
    let mut bytes = vec![types(reflector)[0], 0, 0, 0];
    bytes.extend(&token.to_be_bytes()[..2]);
    bytes.extend(probe.sequence.to_be_bytes());
    if reflector.how == How::Timestamp {
        bytes.extend(time.to_be_bytes());
        bytes.extend([0; 8]);
    } else {
        bytes.extend(own);
    }
    if !reflector.address.is_ipv6() {
        let sum = checksum(&bytes).to_be_bytes();
        bytes[2..4].copy_from_slice(&sum);
    }
    bytes
}

/// Of an even number of bytes (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks_exact(2)
        .map(|two| u16::from_be_bytes([two[0], two[1]]));
    let sum: u32 = words.map(u32::from).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !(folded as u16).wrapping_add((folded >> 16) as u16)
}

/// What a packet from a reflector answers, if it answers a probe of ours.
pub(super) fn answer(
    reflector: &Reflector,
    token: u64,
    number: usize,
    bytes: &[u8],
) -> Option<Answer> {
    let own = payload(token, number);
    let sequence = |bytes: &[u8]| Some(u16::from_be_bytes(*bytes.first_chunk()?));
    if let How::Udp(_) = reflector.how {
        let is_ours = bytes.get(2..) == Some(&own);
        return is_ours.then_some(Answer {
            sequence: sequence(bytes)?,
            times: None,
        });
    }
    let icmp = if reflector.address.is_ipv6() {
        bytes
    } else {
        bytes.get(usize::from(bytes.first()? & 15) * 4..)?
    };
    let is_ours = *icmp.first()? == types(reflector)[1] && icmp.get(4..6)? == &own[..2];
    let rest = icmp.get(8..)?;
    let times = match reflector.how {
        How::Timestamp => {
            let time = |at: usize| Some(u32::from_be_bytes(*rest.get(at..)?.first_chunk()?));
            Some([time(0)?, time(4)?, time(8)?])
        }
        _ if rest == own => None,
        _ => return None,
    };
    is_ours.then_some(Answer {
        sequence: sequence(icmp.get(6..)?)?,
        times,
    })
}

/// How long both ways took, each by the difference of two clocks, by the time of day of the
/// arrival; none where the reflector's clock is no such one.
pub(super) fn ways([asked, got, answered]: [u32; 3], arrived: u32) -> Option<[u32; 2]> {
    let is_standard = got & NOT_STANDARD == 0 && answered & NOT_STANDARD == 0;
    let held = since(answered, got);
    (is_standard && held <= TURNED_ROUND).then(|| [since(got, asked), since(arrived, answered)])
}

/// Of two times of day.
fn since(later: u32, earlier: u32) -> u32 {
    (later % DAY + DAY - earlier % DAY) % DAY
}

/// A difference of clocks as a delay that can be compared with those of the same two clocks: half a
/// day where it is the first.
pub(super) fn seen_from(first: u32, now: u32) -> Span {
    Span::from_millis(since(now + DAY / 2, first).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBE: Probe = Probe {
        reflector: 2,
        sequence: 0x0102,
    };
    const TOKEN: u64 = 0xabcd_0000_0000_0001;

    fn reflector(text: &str) -> Reflector {
        text.parse().expect("it is right")
    }

    /// By hand: type, code, checksum, identifier, sequence, payload. The words 0800, abcd, 0102,
    /// abcd, 0001 and 0002 sum to 16 09f with the carry folded in: 60a0, its complement 9f5f.
    #[test]
    fn requests_are_as_the_rfcs_have_them() {
        let own = [0xab, 0xcd, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2];
        let echo = request(&reflector("192.0.2.1"), TOKEN, PROBE, 5);
        assert_eq!(
            echo,
            [&[8, 0, 0x9f, 0x5f, 0xab, 0xcd, 1, 2][..], &own].concat()
        );
        let six = request(&reflector("2001:db8::1"), TOKEN, PROBE, 5);
        assert_eq!(six, [&[128, 0, 0, 0, 0xab, 0xcd, 1, 2][..], &own].concat());
        let udp = request(&reflector("udp 192.0.2.1:7"), TOKEN, PROBE, 5);
        assert_eq!(udp, [&[1, 2][..], &own].concat());
        // 0d00, abcd, 0102 and 0005 sum to b9d4, its complement 462b.
        let times = request(&reflector("timestamp 192.0.2.1"), TOKEN, PROBE, 5);
        let rest = [0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(
            times,
            [&[13, 0, 0x46, 0x2b, 0xab, 0xcd, 1, 2][..], &rest].concat()
        );
    }

    #[test]
    fn answers_are_told_from_what_others_send() {
        let header = [&[0x45][..], &[0; 19]].concat();
        for (text, kind) in [
            ("192.0.2.1", 0),
            ("2001:db8::1", 129),
            ("udp 192.0.2.1:7", 0),
        ] {
            let reflector = reflector(text);
            let mut bytes = request(&reflector, TOKEN, PROBE, 5);
            if reflector.how == How::Echo {
                bytes[0] = kind;
                if !reflector.address.is_ipv6() {
                    bytes = [&header[..], &bytes].concat();
                }
            }
            let read = answer(&reflector, TOKEN, 2, &bytes).expect(text);
            assert_eq!((read.sequence, read.times), (0x0102, None));
            assert_eq!(answer(&reflector, TOKEN, 3, &bytes), None, "another's");
            assert_eq!(answer(&reflector, TOKEN ^ 1, 2, &bytes), None, "not ours");
            for cut in 0..bytes.len() {
                assert_eq!(answer(&reflector, TOKEN, 2, &bytes[..cut]), None);
            }
        }
        // A request that comes back to us on the loopback is no answer.
        let own = request(&reflector("192.0.2.1"), TOKEN, PROBE, 5);
        let own = [&header[..], &own].concat();
        assert_eq!(answer(&reflector("192.0.2.1"), TOKEN, 2, &own), None);
    }

    #[test]
    fn timestamps_tell_both_ways() {
        let reflector = reflector("timestamp 192.0.2.1");
        let mut bytes = [&[0x45][..], &[0; 19], &[14, 0, 0, 0, 0xab, 0xcd, 1, 2]].concat();
        bytes.extend(
            [5_u32, 1000, 1001]
                .iter()
                .flat_map(|time| time.to_be_bytes()),
        );
        let read = answer(&reflector, TOKEN, 2, &bytes).expect("it is ours");
        assert_eq!(read.times, Some([5, 1000, 1001]));
        // The reflector's clock is 980 ms ahead: 15 ms there, 20 back.
        assert_eq!(ways([5, 1000, 1001], 41), Some([995, DAY - 960]));
        assert_eq!(ways([5, 0x8000_03e8, 1001], 41), None);
        assert_eq!(ways([5, 1000, 3000], 41), None);
        // Across midnight, and with a clock that is behind.
        assert_eq!(ways([DAY - 5, 3, 3], 10), Some([8, 7]));
        let half = u64::from(DAY / 2);
        assert_eq!(seen_from(8, 8), Span::from_millis(half));
        assert_eq!(seen_from(8, 38), Span::from_millis(half + 30));
        assert_eq!(seen_from(DAY - 1, 4), Span::from_millis(half + 5));
        assert_eq!(seen_from(4, DAY - 1), Span::from_millis(half - 5));
    }
}
