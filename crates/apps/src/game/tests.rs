use super::*;
use crate::Datagram;
use crate::tests::harness::{Notes, Wire, ms};
use alloc::boxed::Box;
use sojourn_units::Rate;

#[test]
fn lag_is_a_round_trip_and_the_wait_for_the_server_s_beat() {
    let interval = Span::from_millis(20);
    let ends = (
        Box::new(Gamer::new(60, interval)) as Box<dyn App>,
        Box::new(GameServer::new(200, interval)) as Box<dyn App>,
    );
    // A command of 0 ms arrives at 15 ms, is in the picture of 20 ms, and is seen at 35 ms.
    let mut wire = Wire::new(ends, 1, Rate::from_bps(1), Span::from_millis(15));
    wire.run(ms(1000));
    let lags = wire.values(Metric::LagMs);
    assert_eq!(lags.len(), 49);
    assert!(lags.iter().all(|lag| (lag - 35.0).abs() < 1e-9), "{lags:?}");
    assert!(
        wire.values(Metric::JitterMs)
            .iter()
            .all(|&jitter| jitter == 0.0)
    );
}

#[test]
fn an_old_command_is_no_news() {
    let mut gamer = Gamer::new(60, Span::from_millis(20));
    let mut port = Notes::default();
    let picture = |number: u32, sent: u64| {
        Input::Datagram(Datagram {
            number,
            len: 200,
            sent: ms(sent),
            ..Datagram::default()
        })
    };
    // Three pictures, the first two of the same command; the third shows one that is newer.
    for (at, input) in [
        (35, picture(0, 0)),
        (55, picture(1, 0)),
        (75, picture(2, 20)),
    ] {
        gamer.handle(input, ms(at), &mut port);
    }
    let lags = port.observed.iter().filter(|(m, _)| *m == Metric::LagMs);
    assert!(lags.map(|(_, ms)| *ms).eq([35.0, 55.0]));
}
