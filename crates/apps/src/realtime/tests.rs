use super::*;
use crate::tests::harness::{Notes, Wire, ms, run};
use alloc::vec::Vec;

fn model() -> Realtime {
    Realtime {
        size: 1000,
        interval: Span::from_millis(20),
        min: Rate::from_bps(1_000_000),
        max: Rate::from_bps(4_000_000),
    }
}

/// At 1 Mbit/s a frame of 20 ms has 2500 bytes: three datagrams, a third of the time apart.
#[test]
fn a_frame_is_spread_over_its_time() {
    let mut port = Notes::default();
    run(&mut Encoder::new(model()), &mut port, ms(40));
    let sent: Vec<_> = port
        .datagrams
        .iter()
        .map(|one| (one.sent.as_nanos() / 1000, one.len, one.words))
        .collect();
    let expected = [
        (0, 834, [1, 0, 3]),
        (6_666, 833, [1, 1, 3]),
        (13_333, 833, [1, 2, 3]),
        (20_000, 834, [2, 0, 3]),
        (26_666, 833, [2, 1, 3]),
        (33_333, 833, [2, 2, 3]),
    ];
    assert_eq!(sent, expected);
}

/// A path without congestion: the rate rises to its highest, four times the first, and a frame takes
/// the time until its last datagram is sent and the path's delay.
#[test]
fn a_free_path_has_the_highest_rate() {
    let mut wire = Wire::new(
        model().build(dice()),
        1,
        Rate::from_bps(1),
        Span::from_millis(15),
    );
    wire.run(ms(5_000));
    let rates = wire.values(Metric::EncoderKbps);
    assert!((rates[0] - 1000.0).abs() < 1e-9 && (rates[249] - 4000.0).abs() < 1e-9);
    assert!(rates.is_sorted(), "{rates:?}");
    // 10 datagrams: the last one leaves at 18 ms.
    let frames = wire.values(Metric::FrameMs);
    assert!(
        (frames.last().unwrap() - 33.0).abs() < 0.001,
        "{:?}",
        frames.last()
    );
    assert!(wire.values(Metric::LostFrames).is_empty());
}

fn dice() -> Stream {
    Stream::named(1, "realtime")
}

fn shown(viewer: &mut Viewer, number: u32, words: [u32; 3], ecn: Ecn, at: u64) -> Notes {
    let mut port = Notes::default();
    let datagram = Datagram {
        number,
        len: 1000,
        sent: ms(at),
        words,
        ecn,
    };
    viewer.handle(Input::Datagram(datagram), ms(at + 30), &mut port);
    port
}

#[test]
fn the_viewer_answers_with_its_counts() {
    let mut viewer = Viewer::default();
    shown(&mut viewer, 0, [1, 0, 3], Ecn::Ect1, 0);
    shown(&mut viewer, 2, [1, 2, 3], Ecn::Ce, 13);
    // Late: the frame is complete, 43 ms after its first datagram was sent.
    let port = shown(&mut viewer, 1, [1, 1, 3], Ecn::Ce, 13);
    let answer = port.datagrams[0];
    assert_eq!(
        (answer.number, answer.sent, answer.words),
        (2, ms(13), [2, 3, 2])
    );
    assert_eq!(port.observed, [(Metric::FrameMs, 43.0)]);
}

/// Of frames 1 to 4 the second lacks a datagram and the third never comes. They are lost when frames
/// 10 and 11 take their places, and frame 40 finds 16 more that nobody saw: 12 to 32 less those that
/// have a place.
#[test]
fn frames_that_stay_incomplete_are_lost() {
    let mut viewer = Viewer::default();
    let mut number = 0;
    let mut lost = |frame: u32, of: u32| {
        let port = shown(
            &mut viewer,
            number,
            [frame, 0, of],
            Ecn::Ect1,
            number.into(),
        );
        number += 1;
        let lost = port
            .observed
            .iter()
            .filter(|(m, _)| *m == Metric::LostFrames);
        lost.map(|(_, count)| *count as u32).sum::<u32>()
    };
    for (frame, of) in [
        (1, 1),
        (2, 2),
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (9, 1),
    ] {
        assert_eq!(lost(frame, of), 0, "{frame}");
    }
    assert_eq!(lost(10, 1), 1);
    assert_eq!(lost(11, 1), 1);
    // 12 to 32 were never seen, 4 to 11 are complete.
    assert_eq!(lost(40, 1), 21);
}
