//! Round-trip times of what passes, from TCP's timestamps.
//!
//! A segment that goes out with a value is answered by the first one that echoes it (RFC 7323
//! section 3). The time between the two is that of the path beyond the one who looks, with the
//! receiver's delay of its acknowledgement.
//!
//! Sources: Nichols, pping; RFC 7323. Differs from pping: an acknowledgement without data is taken
//! while the other end sends data only, since the next data of an end that pauses echoes it
//! whenever they come; and the memory is a table of fixed size, in which a newer value may take an
//! older one's place.

use alloc::vec::Vec;
use sojourn_units::{Span, Time};

/// Values that wait for their echo, a power of two.
const WAITING: usize = 4096;
/// Flows whose data are remembered, a power of two.
const FLOWS: usize = 1024;
/// An end sends data as long as its last are not older.
const SENDING: Span = Span::from_millis(50);
/// Longer than this no round trip takes: what waits is forgotten.
const LONGEST: Span = Span::from_secs(10);

/// What is seen of a TCP segment with timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The connection, the same in both directions.
    pub flow: u64,
    /// Whose path it is: connections with the same far host may share one.
    pub source: u64,
    /// TSval.
    pub value: u32,
    /// TSecr.
    pub echo: u32,
    /// Whether it has data.
    pub payload: bool,
}

/// What waits for an echo. See the file.
#[derive(Clone, Debug)]
pub struct Passive {
    waiting: Vec<Option<Waiting>>,
    /// Flows with the time of their last data from beyond.
    data: Vec<Option<(u64, Time)>>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    flow: u64,
    value: u32,
    at: Time,
    /// Its echo has come. It stays, for segments with the same value that leave later.
    answered: bool,
}

/// Spreads bits (the finalizer of SplitMix64).
const fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn place(flow: u64, value: u32) -> usize {
    mixed(flow ^ mixed(value.into())) as usize % WAITING
}

impl Default for Passive {
    fn default() -> Self {
        Self {
            waiting: alloc::vec![None; WAITING],
            data: alloc::vec![None; FLOWS],
        }
    }
}

impl Passive {
    /// A segment goes out.
    pub fn departs(&mut self, seen: &Seen, now: Time) {
        if !seen.payload && !self.is_sending(seen.flow, now) {
            return;
        }
        let slot = &mut self.waiting[place(seen.flow, seen.value)];
        let known = slot.is_some_and(|waiting| {
            let same = (waiting.flow, waiting.value) == (seen.flow, seen.value);
            same && now - waiting.at < LONGEST
        });
        // The first of those with one value is the one that the echo stands for.
        if !known {
            *slot = Some(Waiting {
                flow: seen.flow,
                value: seen.value,
                at: now,
                answered: false,
            });
        }
    }

    /// A segment comes back; the round-trip time that it tells, if it tells one.
    pub fn returns(&mut self, seen: &Seen, now: Time) -> Option<Span> {
        if seen.payload {
            self.data[mixed(seen.flow) as usize % FLOWS] = Some((seen.flow, now));
        }
        let slot = &mut self.waiting[place(seen.flow, seen.echo)];
        let waiting = slot.as_mut()?;
        if waiting.answered || (waiting.flow, waiting.value) != (seen.flow, seen.echo) {
            return None;
        }
        waiting.answered = true;
        let round = now - waiting.at;
        (round < LONGEST).then_some(round)
    }

    fn is_sending(&self, flow: u64, now: Time) -> bool {
        let last = self.data[mixed(flow) as usize % FLOWS];
        last.is_some_and(|(of, at)| of == flow && now - at <= SENDING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn seen(value: u32, echo: u32, payload: bool) -> Seen {
        Seen {
            flow: 9,
            source: 9,
            value,
            echo,
            payload,
        }
    }

    #[test]
    fn a_round_trip_is_from_the_first_of_a_value_to_its_first_echo() {
        let mut passive = Passive::default();
        passive.departs(&seen(100, 0, true), at(0));
        passive.departs(&seen(100, 0, true), at(3));
        passive.departs(&seen(101, 0, true), at(4));
        assert_eq!(
            passive.returns(&seen(7, 100, false), at(40)),
            Some(Span::from_millis(40))
        );
        assert_eq!(passive.returns(&seen(7, 100, false), at(41)), None);
        assert_eq!(
            passive.returns(&seen(7, 101, false), at(44)),
            Some(Span::from_millis(40))
        );
        // What waited in the queue while others with its value were answered tells nothing.
        passive.departs(&seen(101, 0, true), at(45));
        assert_eq!(passive.returns(&seen(7, 101, false), at(46)), None);
        // Of another flow.
        passive.departs(&seen(102, 0, true), at(50));
        let other = Seen {
            flow: 8,
            ..seen(7, 102, false)
        };
        assert_eq!(passive.returns(&other, at(60)), None);
    }

    /// A push server's next message echoes the last acknowledgement, whenever it comes.
    #[test]
    fn acknowledgements_count_while_data_come() {
        let mut passive = Passive::default();
        assert_eq!(passive.returns(&seen(1, 0, true), at(0)), None);
        passive.departs(&seen(100, 1, false), at(1));
        assert_eq!(
            passive.returns(&seen(2, 100, true), at(31)),
            Some(Span::from_millis(30))
        );
        passive.departs(&seen(200, 2, false), at(82));
        assert_eq!(passive.returns(&seen(3, 200, true), at(4000)), None);
    }

    #[test]
    fn what_takes_ten_seconds_is_no_round_trip() {
        let mut passive = Passive::default();
        passive.departs(&seen(100, 0, true), at(0));
        assert_eq!(passive.returns(&seen(1, 100, false), at(10_000)), None);
        // The same value anew, as after a restart of the clock that makes it.
        passive.departs(&seen(100, 0, true), at(20_000));
        assert_eq!(
            passive.returns(&seen(1, 100, false), at(20_005)),
            Some(Span::from_millis(5))
        );
    }
}
