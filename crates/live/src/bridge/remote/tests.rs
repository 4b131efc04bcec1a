use super::super::capture;
use super::super::lane::Lane;
use super::*;
use sojourn_units::Rate;
use sojourn_world::TapPoint;

fn both() -> (Remote, Inbox) {
    let config = BridgeConfig::new("a", "b");
    let plans = Side::BOTH.map(|side| Lane::new(side, &config, 1500).plan);
    let (remote, mut inboxes) = pair(&config, vec![plans]).unwrap();
    (remote, inboxes.remove(0))
}

#[test]
fn an_order_is_carried_out_once_or_taken_back() {
    let (remote, inbox) = both();
    let slow = LineRate::Fixed(Rate::from_bps(1_000_000));
    let tell = || remote.set_rate(Side::Up, slow.clone());
    // Nobody serves: the order is taken back, and is not carried out later.
    assert_eq!(tell(), Err(RemoteError::Hangs));
    inbox.serve(|_| panic!("nobody waits for it any more"));
    assert_eq!(remote.config().up.line.rate, LineRate::Infinite);
    thread::scope(|scope| {
        let asker = scope.spawn(tell);
        while !asker.is_finished() {
            inbox.serve(|order| {
                let Order::Become(wanted) = order else {
                    panic!("{order:?}");
                };
                assert_eq!(wanted.config.up.line.rate, slow);
                Answer::Done(wanted)
            });
        }
        assert_eq!(asker.join().unwrap(), Ok(()));
    });
    assert_eq!(remote.config().up.line.rate, slow);
    drop(inbox);
    assert_eq!(tell(), Err(RemoteError::Ended));
}

#[test]
fn so_many_may_look_on_and_whoever_goes_makes_room() {
    let (remote, inbox) = both();
    let probe = || capture::probe(&[TapPoint::Node(0)], 64).0;
    let mut showing = Vec::new();
    for number in 1..=PROBES {
        let (guard, all) = remote.show_first(probe()).unwrap();
        assert_eq!(all.len(), number);
        showing.push(guard);
    }
    assert_eq!(remote.show(probe()).unwrap_err(), RemoteError::Crowded);
    let mut shown = Vec::new();
    thread::scope(|scope| {
        let gone = scope.spawn(|| drop(showing.pop()));
        while !gone.is_finished() {
            inbox.serve(|order| {
                let Order::Show(probes) = order else {
                    panic!("{order:?}");
                };
                Answer::Shown(std::mem::replace(&mut shown, probes))
            });
        }
    });
    assert_eq!(shown.len(), PROBES - 1);
    // Nobody serves any more, and yet there is room.
    drop(inbox);
    assert!(remote.has_ended());
    drop(showing.pop());
    assert_eq!(remote.show(probe()).unwrap_err(), RemoteError::Ended);
}

#[test]
fn the_bell_rings_until_it_is_heard() {
    let (remote, inbox) = both();
    remote.wake();
    remote.wake();
    inbox.heard();
    assert!(
        rustix::io::read(inbox.bell(), &mut [0; 8]).is_err(),
        "silent"
    );
}
