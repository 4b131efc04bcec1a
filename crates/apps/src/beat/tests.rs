use super::*;
use crate::tests::harness::{Notes, ms, run};

#[test]
fn it_sends_on_the_beat_and_keeps_its_phase() {
    let mut port = Notes::default();
    run(
        &mut Paced::new(100, Span::from_millis(8)),
        &mut port,
        ms(80),
    );
    assert_eq!(port.datagrams.len(), 10);
    assert!(
        port.datagrams
            .iter()
            .enumerate()
            .all(|(i, d)| d.sent == ms(8 * i as u64) && d.number == i as u32 && d.len == 100)
    );

    // Woken 3 ms late, the next beat is still on the grid.
    let mut paced = Paced::new(100, Span::from_millis(8));
    paced.handle(Input::Start, ms(0), &mut port);
    paced.handle(Input::Timer, ms(11), &mut port);
    assert_eq!(port.wishes.wake, Some(ms(16)));
    // Woken a second late, it does not send 125 messages at once.
    paced.handle(Input::Timer, ms(1016), &mut port);
    assert_eq!(port.wishes.wake, Some(ms(1016)));
}

#[test]
fn an_early_or_stray_timer_sends_nothing() {
    let mut port = Notes::default();
    let mut paced = Paced::new(100, Span::from_millis(8));
    paced.handle(Input::Start, ms(0), &mut port);
    paced.handle(Input::Timer, ms(7), &mut port);
    assert_eq!(port.datagrams.len(), 1);
}
