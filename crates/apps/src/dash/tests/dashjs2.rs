//! dash.js 2.0.0's rules, traced by hand.

use super::watching::{even, viewing};
use crate::dash::Rule;
use crate::dash::dashjs2::Player;
use crate::dash::manifest::ChunkName;
use crate::tests::harness::{Notes, ms};
use crate::{App, Input, Message, Wish};
use std::vec;
use std::vec::Vec;

/// A player, and what it has asked for so far: the time in ms, the connection, the representation
/// and the number of the chunk.
struct Desk {
    player: Player,
    asked: Vec<(u64, u8, usize, usize)>,
    aborted: Vec<(u64, u8)>,
}

impl Desk {
    /// Rates of 500, 1000, 2000 and 4000 kbit/s: chunks of 125, 250, 500 and 1000 kB.
    fn new() -> Self {
        Self::of(&[500, 1000, 2000, 4000])
    }

    fn of(kbps: &[u32]) -> Self {
        let mut desk = Self {
            player: Player::new(viewing(even(kbps), Rule::DashJs2)),
            asked: Vec::new(),
            aborted: Vec::new(),
        };
        desk.tell(0, Input::Start);
        desk
    }

    fn tell(&mut self, at: u64, input: Input) {
        let mut port = Notes::default();
        self.player.handle(input, ms(at), &mut port);
        for (connection, wish) in port.wishes.connections {
            match wish {
                Wish::Message(message) => {
                    let chunk = ChunkName::of_tag(message.tag);
                    self.asked
                        .push((at, connection, chunk.representation, chunk.number));
                }
                Wish::Open => self.tell(at, Input::Open(connection)),
                Wish::Abort => self.aborted.push((at, connection)),
            }
        }
    }

    /// Bytes of what was asked for last arrive.
    fn some(&mut self, at: u64, bytes: u64) {
        self.tell(at, Input::Delivered(bytes));
    }

    /// What was asked for last is whole.
    fn whole(&mut self, at: u64) {
        let &(_, connection, representation, number) = self.asked.last().unwrap();
        let chunk = ChunkName {
            representation,
            number,
        };
        let message = Message::new(chunk.tag(), 100);
        let input = Input::Message {
            connection,
            message,
        };
        self.tell(at, input);
    }
}

const HEADER: usize = ChunkName::HEADER;

#[test]
fn a_chunk_is_asked_for_before_the_rules_choose() {
    let mut desk = Desk::new();
    // The highest rate below 1 Mbit/s, its header first.
    desk.whole(100);
    assert_eq!(desk.asked, [(0, 0, 0, HEADER), (100, 0, 0, 0)]);
    // First progress event at 250 ms: 1 Mbit in 0.4 s, 2.5 Mbit/s, nine tenths are 2.25.
    desk.some(200, 1000);
    desk.whole(650);
    assert_eq!(desk.asked[2], (650, 0, 0, 1));
    // 1 Mbit in 0.5 s; the mean is 2.25 Mbit/s, nine tenths are 2.025.
    desk.some(750, 1000);
    desk.whole(1300);
    assert_eq!(desk.asked[3], (1300, 0, 2, 2));
    // 4 Mbit in 0.5 s. The rate's header is asked for when the chunk is there, and what the chunk
    // has measured is forgotten: 8 Mbit/s would have made it the highest rate.
    desk.some(1400, 1000);
    desk.whole(1950);
    assert_eq!(desk.asked[4], (1950, 0, 2, HEADER));
    desk.whole(2000);
    assert_eq!(desk.asked[5], (2000, 0, 2, 3));
    // The same again: the mean of 2.5, 2 and 8 Mbit/s is 4.17, nine tenths are 3.75.
    desk.some(2100, 1000);
    desk.whole(2650);
    assert_eq!(desk.asked[6], (2650, 0, 2, 4));
    // And 8.16: the mean of 2, 8 and 8.16 is 6.05, nine tenths are 5.45, for the chunk after the
    // next. (The very same value once more would not have counted.)
    desk.some(2750, 1000);
    desk.whole(3290);
    assert_eq!(desk.asked[7], (3290, 0, 2, 5));
    desk.some(3400, 1000);
    desk.whole(3950);
    assert_eq!(desk.asked[8], (3950, 0, 3, 6));
}

#[test]
fn a_chunk_that_comes_at_once_counts_from_its_request() {
    let mut desk = Desk::new();
    desk.whole(100);
    // All of it within 50 ms of the first byte: 1 Mbit in 0.9 s, of which 1 Mbit/s is trusted, which
    // is not below the second rate's.
    desk.some(960, 1000);
    desk.whole(1000);
    desk.some(1960, 1000);
    desk.whole(2000);
    assert_eq!(desk.asked.last(), Some(&(2000, 0, 0, 2)));
}

#[test]
fn a_slow_chunk_is_given_up_once_and_its_choice_held_for_ten_seconds() {
    let mut desk = Desk::new();
    desk.whole(100);
    for at in [200, 750] {
        desk.some(at, 1000);
        desk.whole(at + 450);
    }
    assert_eq!(desk.asked[3], (1200, 0, 2, 2));
    // First progress event at 1350 ms; 0.45 s are too early, and so is an event too soon after one.
    desk.some(1300, 10_000);
    desk.some(1800, 20_000);
    desk.some(1840, 10_000);
    assert_eq!(desk.aborted, []);
    // 0.55 s: 50 kB less 250 bytes of the answer's head, 724 kbit/s; 4 Mbit would take 5.5 s, more
    // than 3. Nine tenths are 651 kbit/s, the lowest rate.
    desk.some(1900, 10_000);
    assert_eq!(desk.aborted, [(1900, 0)]);
    assert_eq!(desk.asked[4], (1900, 1, 0, 2));
    // Never twice, however slow; nor may the rules choose before 11.9 s.
    desk.some(2000, 1000);
    desk.some(4000, 1000);
    desk.some(8000, 1000);
    desk.whole(8050);
    assert_eq!(desk.aborted.len(), 1);
    for at in [8050, 9050, 10_050, 11_050] {
        assert_eq!(desk.asked.last().unwrap().0, at);
        assert_eq!(desk.asked.last().unwrap().2, 0);
        desk.some(at + 100, 1000);
        desk.whole(at + 1000);
    }
    // Chosen at 12.05 s, by 1 Mbit in 0.85 s three times: 1.06 Mbit/s are trusted. Asked for at the
    // next.
    desk.some(12_150, 1000);
    desk.whole(13_050);
    assert_eq!(desk.asked.last(), Some(&(13_050, 1, 1, 8)));
}

#[test]
fn a_full_buffer_is_looked_at_each_second() {
    let mut desk = Desk::of(&[500, 900_000]);
    desk.whole(100);
    // A chunk each 10 ms. The pre-fill is 4 s: it plays from the second chunk on, at 120 ms.
    let mut at = 100;
    while desk.asked.last().unwrap().0 == at {
        desk.some(at + 1, 1000);
        at += 10;
        desk.whole(at);
    }
    // Six chunks would fill the 12 s, but for what was played: a seventh was asked for.
    assert_eq!(desk.asked.len(), 1 + 7);
    let looks: Vec<u64> = vec![1170, 2170, 3170];
    for look in looks {
        desk.tell(look, Input::Timer);
    }
    // 14 s less what was played since 120 ms: below 12 s from 2.12 s on.
    assert_eq!(desk.asked.last().unwrap().0, 2170);
}
