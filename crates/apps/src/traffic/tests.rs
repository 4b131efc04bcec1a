//! Each model against hand-counted sequences, on a port that writes down what it is asked.

use super::*;
use crate::Spec;
use crate::harness::{Notes, ms};

/// Wakes the app whenever it asks, until `end`.
fn run(app: &mut dyn App, port: &mut Notes, end: Time) {
    app.handle(Input::Start, Time::ZERO, port);
    while let Some(at) = port.wake.take().filter(|&at| at < end) {
        app.handle(Input::Timer, at, port);
    }
}

#[test]
fn cbr_sends_on_the_beat_and_keeps_its_phase() {
    let mut port = Notes::default();
    run(&mut Cbr::new(100, Span::from_millis(8)), &mut port, ms(80));
    assert_eq!(port.datagrams.len(), 10);
    assert!(
        port.datagrams
            .iter()
            .enumerate()
            .all(|(i, d)| d.sent == ms(8 * i as u64) && d.number == i as u32 && d.len == 100)
    );

    // Woken 3 ms late, the next beat is still on the grid.
    let mut cbr = Cbr::new(100, Span::from_millis(8));
    cbr.handle(Input::Start, ms(0), &mut port);
    cbr.handle(Input::Timer, ms(11), &mut port);
    assert_eq!(port.wake, Some(ms(16)));
    // Woken a second late, it does not send 125 messages at once.
    cbr.handle(Input::Timer, ms(1016), &mut port);
    assert_eq!(port.wake, Some(ms(1016)));
}

#[test]
fn an_early_or_stray_timer_sends_nothing() {
    let mut port = Notes::default();
    let mut cbr = Cbr::new(100, Span::from_millis(8));
    cbr.handle(Input::Start, ms(0), &mut port);
    cbr.handle(Input::Timer, ms(7), &mut port);
    assert_eq!(port.datagrams.len(), 1);
}

#[test]
fn a_file_is_written_once_and_closed() {
    let mut port = Notes {
        room: 700,
        ..Notes::default()
    };
    let mut file = File::new(1000);
    file.handle(Input::Start, ms(0), &mut port);
    assert!(port.written == 700 && !port.closed);
    port.room = 700;
    file.handle(Input::Writable, ms(1), &mut port);
    assert!(port.written == 1000 && port.closed);
}

#[test]
fn ping_measures_what_echo_returns() {
    let (mut near, mut far) = (Notes::default(), Notes::default());
    let mut ping = Ping::new(64, Span::from_millis(20));
    ping.handle(Input::Start, ms(0), &mut near);
    Echo.handle(Input::Datagram(near.datagrams[0]), ms(25), &mut far);
    ping.handle(Input::Datagram(far.datagrams[0]), ms(51), &mut near);
    assert_eq!(near.rtts, [Span::from_millis(51)]);
}

#[test]
fn onoff_has_the_rate_its_times_imply() {
    let spec = Spec::OnOff {
        size: 125,
        rate: Rate::from_bps(1_000_000),
        on: Span::from_millis(100),
        off: Span::from_millis(300),
    };
    let mut port = Notes::default();
    run(
        &mut *spec.build(Stream::named(3, "app")).0,
        &mut port,
        ms(400_000),
    );
    // 1000 datagrams a second, a quarter of the time; the last one of a burst is whole.
    let rate = port.datagrams.len() as f64 / 400.0;
    assert!((rate - 250.0).abs() < 12.0, "{rate}");
}

#[test]
fn bulk_writes_for_ever() {
    let mut port = Notes::default();
    Bulk.handle(Input::Start, ms(0), &mut port);
    assert!(port.forever);
}
