//! What a live datagram carries: its number, when the app sent it first, when this copy was sent,
//! and an app's words. Both hosts read CLOCK_MONOTONIC, so one-way delays are exact.

use sojourn_apps::Datagram;
use sojourn_units::{Ecn, Time};

/// Bytes of number and time: what a one-way datagram needs.
pub(super) const ONE_WAY: u16 = 12;
/// With the time of this copy: what an echo needs beside the time of its request.
pub(super) const ECHOED: u16 = 20;
/// Largest payload that is not fragmented: fragments have no ports, so nothing on the way could
/// tell their flow.
pub(super) const LARGEST: u16 = crate::lab::MTU as u16 - 28;

/// Writes a datagram that leaves at `now` into `buffer`; returns its payload.
pub(super) fn encode(datagram: Datagram, now: Time, buffer: &mut [u8]) -> &[u8] {
    buffer[..4].copy_from_slice(&datagram.number.to_be_bytes());
    buffer[4..12].copy_from_slice(&datagram.sent.as_nanos().to_be_bytes());
    if datagram.len >= ECHOED {
        buffer[12..20].copy_from_slice(&now.as_nanos().to_be_bytes());
    }
    if datagram.len >= Datagram::WITH_WORDS {
        for (place, word) in buffer[20..32].chunks_exact_mut(4).zip(datagram.words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
    }
    &buffer[..usize::from(datagram.len)]
}

/// The reverse, of one that came with this ECN field: the datagram, and when this copy was sent.
/// None when it is not ours.
pub(super) fn decode(payload: &[u8], ecn: Ecn) -> Option<(Datagram, Time)> {
    let (number, rest) = payload.split_first_chunk::<4>()?;
    let (sent, rest) = rest.split_first_chunk::<8>()?;
    let sent = Time::from_nanos(u64::from_be_bytes(*sent));
    let copy = rest.first_chunk::<8>();
    let mut words = [0; 3];
    if let Some(told) = rest.get(8..20) {
        for (word, bytes) in words.iter_mut().zip(told.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
    }
    let datagram = Datagram {
        number: u32::from_be_bytes(*number),
        len: u16::try_from(payload.len()).ok()?,
        sent,
        words,
        ecn,
    };
    let copied = copy.map_or(sent, |nanos| Time::from_nanos(u64::from_be_bytes(*nanos)));
    Some((datagram, copied))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_comes_back_as_it_was() {
        let mut buffer = [0; 100];
        let (sent, now) = (Time::from_nanos(7), Time::from_nanos(9));
        let told = [1, 1 << 31, 3];
        for (len, copy, words) in [
            (ECHOED, now, [0; 3]),
            (31, now, [0; 3]),
            (Datagram::WITH_WORDS, now, told),
            (100, now, told),
            (ONE_WAY, sent, [0; 3]),
            (19, sent, [0; 3]),
        ] {
            let datagram = Datagram {
                number: 3,
                len,
                sent,
                words,
                ecn: Ecn::Ce,
            };
            let payload = encode(datagram, now, &mut buffer);
            assert_eq!(decode(payload, Ecn::Ce), Some((datagram, copy)));
        }
        assert_eq!(decode(&[0; 11], Ecn::NotEct), None);
    }
}
