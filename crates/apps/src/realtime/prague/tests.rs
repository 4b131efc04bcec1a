use super::*;
use proptest::prelude::*;

/// A sender of datagrams of 1000 bytes, up to 1 Gbit/s, whose window has so many segments and whose
/// round trip is 100 ms: its start is over.
fn sender(segments: f64) -> Prague {
    let rates = [Rate::from_bps(8_000), Rate::from_bps(1_000_000_000)];
    let mut sender = Prague::new(1000, rates);
    sender.srtt = Some(0.1);
    sender.window = segments * 1000.0;
    sender.is_starting = false;
    sender
}

fn ms(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// A round trip of 100 ms in which so many datagrams arrive one by one, the last ones marked.
fn round(sender: &mut Prague, number: u64, datagrams: u32, marked: u32) {
    for one in 0..datagrams {
        let mut heard = sender.heard;
        heard.highest = heard.received;
        heard.received += 1;
        heard.marked += u32::from(one >= datagrams - marked);
        let at = number * 100 + u64::from(one) * 100 / u64::from(datagrams);
        sender.heard(heard, 1000, ms(at), ms(at + 100));
    }
}

fn segments(sender: &Prague) -> f64 {
    sender.window / 1000.0
}

/// Computed by hand: the first mark halves; then alpha is 1, and after a round with one mark in ten
/// 1 - 0.9/16 = 0.94375.
#[test]
fn a_mark_costs_half_of_alpha() {
    let mut sender = sender(20.0);
    round(&mut sender, 0, 20, 1);
    // 19 unmarked ones added a segment's share each: sum of 1/w from 20 on.
    let grown = (0..19).fold(20.0, |w: f64, _| w + 1.0 / w);
    assert!(
        (segments(&sender) - grown / 2.0).abs() < 1e-9,
        "{}",
        segments(&sender)
    );
    assert_eq!(sender.alpha, Some(1.0));
    sender.updated = (ms(0), 0, 0);
    sender.round = ms(1000);
    round(&mut sender, 10, 10, 1);
    round(&mut sender, 11, 1, 0);
    // The answer that ends the round counts in the one that it ends.
    let share = [0.0, 0.1].map(|share| 1.0 + (share - 1.0) / 16.0);
    let alpha = sender.alpha.unwrap();
    assert!(
        (share[0] * 15.0 / 16.0 - 0.01..=share[1]).contains(&alpha),
        "{alpha}"
    );
}

/// Two marks of one round trip cost once.
#[test]
fn a_round_trip_costs_once() {
    let mut sender = sender(40.0);
    round(&mut sender, 0, 10, 9);
    let once = segments(&sender);
    assert!((once - 20.0).abs() < 0.2, "{once}");
    // Sent before the reduction was made.
    let mut heard = sender.heard;
    (heard.received, heard.highest, heard.marked) =
        (heard.received + 1, heard.highest + 1, heard.marked + 1);
    sender.heard(heard, 1000, ms(105), ms(205));
    assert!((segments(&sender) - once).abs() < 1e-9);
}

/// RFC 9002's threshold: the third later datagram shows the loss, and reordering by less is none.
#[test]
fn a_loss_costs_half_when_three_later_ones_have_come() {
    let mut sender = sender(40.0);
    let come = |sender: &mut Prague, highest, received| {
        let heard = Heard {
            highest,
            received,
            marked: 0,
        };
        sender.heard(heard, 0, ms(0), ms(100));
    };
    come(&mut sender, 9, 10);
    // 10 is missing, comes behind 12, and is none.
    come(&mut sender, 11, 11);
    come(&mut sender, 12, 12);
    come(&mut sender, 12, 13);
    assert!((segments(&sender) - 40.0).abs() < 1e-9);
    for (highest, received) in [(14, 14), (15, 15)] {
        come(&mut sender, highest, received);
        assert!((segments(&sender) - 40.0).abs() < 1e-9);
    }
    come(&mut sender, 16, 16);
    assert!((segments(&sender) - 20.0).abs() < 1e-9);
    // Another loss of that round trip costs nothing more.
    come(&mut sender, 20, 19);
    come(&mut sender, 22, 21);
    assert!((segments(&sender) - 20.0).abs() < 1e-9);
}

/// A mark and a loss of one round trip cost half together.
#[test]
fn a_mark_and_a_loss_cost_half_together() {
    let mut sender = sender(40.0);
    sender.alpha = Some(0.5);
    sender.mark(ms(0), ms(100));
    assert!((segments(&sender) - 30.0).abs() < 1e-9);
    sender.lose(ms(50), ms(150));
    assert!((segments(&sender) - 20.0).abs() < 1e-9);
}

#[test]
fn the_start_doubles_until_the_first_mark() {
    let rates = [Rate::from_bps(800_000), Rate::from_bps(8_000_000)];
    let mut sender = Prague::new(1000, rates);
    assert_eq!(sender.rate(), rates[0]);
    // Ten datagrams in a round trip of 100 ms at the lowest rate, then what the rate sends.
    for (number, datagrams) in [(0, 10), (1, 20), (2, 40)] {
        round(&mut sender, number, datagrams, 0);
        let twice = u64::from(datagrams) * 2 * 80_000;
        assert!(
            sender.rate().as_bps().abs_diff(twice) < 1000,
            "{:?}",
            sender.rate()
        );
    }
    round(&mut sender, 3, 80, 0);
    assert_eq!(sender.rate(), rates[1]);
    round(&mut sender, 4, 100, 1);
    assert!(sender.rate().as_bps().abs_diff(4_000_000) < 50_000);
}

/// Without answers the rate halves every 300 ms: 200 ms and a round trip.
#[test]
fn silence_halves() {
    let mut sender = sender(64.0);
    sender.answered = ms(0);
    for at in (0..=1000).step_by(20) {
        sender.looked(ms(at));
    }
    assert!((segments(&sender) - 8.0).abs() < 1e-9);
}

/// Below 25 ms a round trip adds as much in a second as one of 25 ms, but not before 500 rounds.
#[test]
fn short_round_trips_count_as_longer() {
    let grown = |rounds| {
        let mut sender = sender(10.0);
        sender.srtt = Some(0.005);
        sender.rounds = rounds;
        sender.grow(10_000.0);
        segments(&sender) - 10.0
    };
    assert!((grown(0) - 1.0).abs() < 1e-9);
    // (5/25)² of a segment in a round trip, of which there are five times as many.
    assert!((grown(PATIENCE) - 0.04).abs() < 1e-9);
}

/// The law of Prague in equilibrium: a steady share of marks p allows a window of about 2/p.
#[test]
fn a_steady_share_allows_two_over_it() {
    for marked in [1, 2, 4] {
        let mut sender = sender(30.0);
        let mut carried = 0.0;
        let mut mean = 0.0;
        let share = f64::from(marked) / 40.0;
        for number in 0..2000 {
            let datagrams = segments(&sender).max(1.0) as u32;
            carried += f64::from(datagrams) * share;
            let now = carried as u32;
            carried -= f64::from(now);
            round(&mut sender, number, datagrams, now.min(datagrams));
            mean += if number >= 1000 {
                segments(&sender) / 1000.0
            } else {
                0.0
            };
        }
        let law = 2.0 / share;
        assert!(
            (mean / law - 1.0).abs() < 0.35,
            "{marked}: {mean}, not {law}"
        );
    }
}

proptest! {
    /// Whatever is told, the rate stays within its bounds.
    #[test]
    fn the_rate_keeps_its_bounds(
        told in prop::collection::vec((any::<u16>(), any::<u16>(), any::<u16>(), 0_u64..400), 1..200),
    ) {
        let bounds = [Rate::from_bps(300_000), Rate::from_bps(5_000_000)];
        let mut sender = Prague::new(1200, bounds);
        let mut now = Time::ZERO;
        for (highest, received, marked, later) in told {
            let sent = now;
            now += Span::from_millis(later);
            let heard = Heard {
                highest: highest.into(),
                received: received.into(),
                marked: marked.into(),
            };
            sender.looked(now);
            sender.heard(heard, 1200, sent, now);
            let rate = sender.rate();
            prop_assert!(bounds[0] <= rate && rate <= bounds[1], "{rate:?}");
        }
    }
}
