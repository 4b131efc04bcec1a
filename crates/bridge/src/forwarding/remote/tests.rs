use super::super::capture::{self, CapturePoint};
use super::super::lane::Lane;
use super::*;
use sojourn_units::Rate;
use std::thread;

fn of_workers(count: usize) -> (Remote, Vec<Inbox>) {
    let config = BridgeConfig::new("a", "b");
    let plans = |_| Side::BOTH.map(|side| Lane::new(side, &config, 1500).plan);
    pair(&config, (0..count).map(plans).collect()).unwrap()
}

fn both() -> (Remote, Inbox) {
    let (remote, mut inboxes) = of_workers(1);
    (remote, inboxes.remove(0))
}

fn at_bps(bps: u64) -> LineRate {
    LineRate::Fixed(Rate::from_bps(bps))
}

/// Has a bridge work at a rate while these workers serve and others are silent. Yields what it
/// says, and of each order that was carried out the worker and the rate that it had and has got.
fn set_while(
    remote: &Remote,
    rate: &LineRate,
    serving: &[(usize, &Inbox)],
) -> (Result<(), RemoteError>, Vec<(usize, LineRate)>) {
    let mut served = Vec::new();
    let told = thread::scope(|scope| {
        let asker = scope.spawn(|| remote.set_rate(Side::Up, rate.clone()));
        while !asker.is_finished() {
            for (number, inbox) in serving {
                inbox.serve(|order| {
                    let Order::Become(wanted) = order else {
                        panic!("{order:?}");
                    };
                    served.push((*number, wanted.config.up.line.rate.clone()));
                    Answer::Done(wanted)
                });
            }
            thread::yield_now();
        }
        asker.join().unwrap()
    });
    (told, served)
}

/// One of two workers is silent for a second: the change is not reported as done, and the same
/// request brings it to that worker.
#[test]
fn a_change_that_a_worker_has_not_made_is_asked_for_again() {
    for silent in [0, 1] {
        let (remote, inboxes) = of_workers(2);
        let all: Vec<_> = inboxes.iter().enumerate().collect();
        let slow = at_bps(1_000_000);
        let (told, served) = set_while(&remote, &slow, &[all[1 - silent]]);
        let behind = Behind(1 << silent);
        assert_eq!(told, Err(RemoteError::Partly(behind)));
        assert_eq!(behind.to_string(), format!("worker {}", silent + 1));
        assert_eq!(served, [(1 - silent, slow.clone())]);
        assert_eq!(remote.behind(), Some(behind));
        // It was taken back, and is not carried out later by itself.
        all[silent]
            .1
            .serve(|_| panic!("nobody waits for it any more"));

        let (told, served) = set_while(&remote, &slow, &all);
        assert_eq!((told, remote.behind()), (Ok(()), None));
        assert!(served.contains(&(silent, slow.clone())), "{served:?}");
    }
}

/// A change of the queue builds one for each worker that has another, whatever the rest have.
#[test]
fn a_worker_that_is_behind_gets_the_queue_that_it_lacks() {
    let (remote, inboxes) = of_workers(2);
    let spec: Spec = "fq_codel".parse().unwrap();
    for (serving, built) in [(0..1, vec![true]), (0..2, vec![false, true])] {
        let mut seen = vec![None; serving.len()];
        thread::scope(|scope| {
            let asker = scope.spawn(|| remote.change(Side::Up, spec.clone()));
            while !asker.is_finished() {
                for (inbox, seen) in inboxes[serving.clone()].iter().zip(&mut seen) {
                    inbox.serve(|order| {
                        let Order::Become(wanted) = order else {
                            panic!("{order:?}");
                        };
                        *seen = Some(wanted.built[0].is_some());
                        Answer::Done(wanted)
                    });
                }
                thread::yield_now();
            }
        });
        assert_eq!(seen.into_iter().flatten().collect::<Vec<_>>(), built);
    }
}

/// Where no worker has made it, nothing was changed, and nobody is behind.
#[test]
fn a_change_that_no_worker_has_made_is_none() {
    let (remote, _inboxes) = of_workers(2);
    let (told, _) = set_while(&remote, &at_bps(1_000_000), &[]);
    assert_eq!((told, remote.behind()), (Err(RemoteError::Hangs), None));
    assert_eq!(remote.config().up.line.rate, LineRate::Infinite);
}

/// A single worker that has begun and stands still is asked again too.
#[test]
fn a_change_that_was_begun_is_not_done() {
    let (remote, inbox) = both();
    let slow = at_bps(1_000_000);
    thread::scope(|scope| {
        let asker = scope.spawn(|| remote.set_rate(Side::Up, slow.clone()));
        while !asker.is_finished() {
            inbox.serve(|order| {
                let Order::Become(wanted) = order else {
                    panic!("{order:?}");
                };
                while !asker.is_finished() {
                    thread::yield_now();
                }
                Answer::Done(wanted)
            });
        }
        assert_eq!(asker.join().unwrap(), Err(RemoteError::Late));
    });
    assert_eq!(remote.behind(), Some(Behind(1)));
    let (told, served) = set_while(&remote, &slow, &[(0, &inbox)]);
    assert_eq!((told, remote.behind()), (Ok(()), None));
    assert_eq!(served, [(0, slow)]);
}

#[test]
fn an_order_is_carried_out_once_or_taken_back() {
    let (remote, inbox) = both();
    let slow = at_bps(1_000_000);
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
    let probe = || capture::probe(&[CapturePoint::Beyond(Side::Up)], 64).0;
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
