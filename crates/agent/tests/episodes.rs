//! Episodes of each role: what they show, and that copies and repetitions are exact.
#![expect(clippy::float_cmp, reason = "what is decided is shown as it is")]

use sojourn_agent::{Episode, Outcome, Role, Task, Unfit};
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::Sim;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, Taps, World as _, WorldError};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

const LINE: &str = r#"
format = "sojourn-scenario/1"
name = "line"
duration = "5s"
[dumbbell]
rtt = "40ms"
rate = "10mbit"
qdisc = "codel target 10ms"
[[flow]]
name = "bulk"
direction = "up"
app = "bulk"
[[flow]]
name = "probe"
direction = "up"
app = "ping"
"#;

fn cell(text: &str, seed: u64) -> Cell {
    let options = Options {
        seed: Some(seed),
        ..Options::default()
    };
    let read = Scenario::parse("line.toml", text, Path::new("."), &options);
    read.expect("a test's own scenario").cells.swap_remove(0)
}

fn control() -> Role {
    Role::Control {
        flow: "bulk".to_owned(),
    }
}

fn signal() -> Role {
    Role::Signal {
        link: "up".to_owned(),
        limit: 100,
    }
}

fn target() -> Role {
    Role::Target {
        link: "up".to_owned(),
    }
}

fn task(role: Role) -> Arc<Task> {
    Arc::new(Task::new(role, Span::from_millis(10)).expect("not too often"))
}

fn try_begin(role: Role, text: &str, seed: u64) -> Result<(Episode, [f32; 9]), WorldError> {
    let mut seen = [0.0; 9];
    let episode = Episode::new(&task(role), cell(text, seed), &mut seen)?;
    Ok((episode, seen))
}

fn begin(role: Role) -> (Episode, [f32; 9]) {
    try_begin(role, LINE, 1).expect("it can be run")
}

/// Decisions that differ from step to step.
fn decision(role: &Role, step: u32) -> Vec<f32> {
    let ranges = role.actions().iter();
    let at = (step * 37 % 101) as f32 / 100.0;
    ranges
        .map(|[low, high]| low + (high - low) * at * at)
        .collect()
}

/// All that is seen until the end, and the digest of the run.
fn play(mut episode: Episode, role: &Role, from: u32) -> (Vec<[f32; 9]>, Vec<Outcome>, u64) {
    let (mut seen, mut outcomes) = (Vec::new(), Vec::new());
    for step in from.. {
        let mut observation = [0.0; 9];
        let outcome = episode
            .step(&decision(role, step), &mut observation)
            .expect("a decision of its kind");
        seen.push(observation);
        outcomes.push(outcome);
        if outcome.over {
            break;
        }
    }
    let digest = episode.result().expect("it can be copied").digest;
    (seen, outcomes, digest)
}

#[test]
fn a_copy_goes_on_as_the_run_alone_would() {
    for role in [control(), signal(), target()] {
        let whole = play(begin(role.clone()).0, &role, 0);
        let (mut original, _) = begin(role.clone());
        for step in 0..150 {
            let taken = original.step(&decision(&role, step), &mut [0.0; 9]);
            taken.expect("a decision of its kind");
        }
        let copy = original.fork().expect("all of it can be copied");
        // Another way first: a copy of the copy must not change what it came from.
        let other = copy.fork().expect("all of it can be copied");
        let (_, _, other) = play(other, &role, 400);
        let copy = play(copy, &role, 150);
        let original = play(original, &role, 150);
        assert_eq!(copy.0, whole.0[150..], "{role:?}");
        assert_eq!(copy.1, whole.1[150..], "{role:?}");
        assert_eq!(copy.2, whole.2, "{role:?}");
        assert_eq!(original, copy, "{role:?}");
        assert_ne!(other, whole.2, "{role:?}: decisions count");
        let in_range = whole.1.iter().all(|it| (-2.0..=1.0).contains(&it.reward));
        assert!(in_range, "{role:?}");
    }
}

#[test]
fn to_watch_a_queue_changes_nothing() {
    let (mut episode, seen) = begin(target());
    assert_eq!(seen[0], 10.0);
    // 1 ms times the root of 100: what it is already.
    while !episode.step(&[0.5], &mut [0.0; 9]).expect("a number").over {}
    let cell = cell(LINE, 1);
    let goes_on = &mut |_| ControlFlow::Continue(());
    let plain = Sim
        .run(&cell, Taps::default(), goes_on)
        .expect("it can be run");
    let ours = episode.result().expect("it can be copied");
    assert_eq!(ours.digest, plain.digest);
    assert_eq!(format!("{:?}", ours.flows), format!("{:?}", plain.flows));
}

#[test]
fn a_window_is_what_was_decided() {
    let (mut episode, first) = begin(control());
    // The handshake takes 40 ms, the first ACK of data as long again.
    assert_eq!(episode.now(), Time::from_nanos(90_000_000));
    assert_eq!([first[0], first[1]], [10.0, 2.0]);
    // Ten segments at once leave in 1.2 ms each.
    assert!((40.0..53.0).contains(&first[4]), "{first:?}");
    let mut seen = [0.0; 9];
    let mut step = |action: [f32; 2]| {
        let outcome = episode.step(&action, &mut seen);
        (outcome.expect("numbers"), seen)
    };
    assert_eq!(step([1.0, 0.0]).1[..2], [20.0, 1.0]);
    assert_eq!(step([-1.0, -1.0]).1[..2], [10.0, 0.5]);
    assert_eq!(step([9.0, 9.0]).1[..2], [20.0, 2.0], "beyond the range");
    // 20 segments in 40 ms and their serialisation, without a queue: 20 x 1448 bytes in 41.2 ms
    // are 5.62 Mbit/s.
    let mut sum = 0.0;
    for _ in 0..100 {
        step([0.0, 1.0]);
    }
    for _ in 0..100 {
        let (outcome, seen) = step([0.0, 1.0]);
        sum += seen[6];
        assert!(seen[4] < 65.0, "{seen:?}");
        assert_eq!(seen[7], 0.0);
        assert!(outcome.reward < 0.9);
    }
    assert!((5.0..5.8).contains(&(sum / 100.0)), "{}", sum / 100.0);
}

#[test]
fn a_probability_is_the_square_of_what_was_decided() {
    let (mut episode, _) = begin(signal());
    let mut seen = [0.0; 9];
    for _ in 0..100 {
        episode.step(&[0.0], &mut seen).expect("a number");
        assert_eq!([seen[0], seen[7], seen[8]], [0.0; 3]);
    }
    assert!(seen[3] > 10.0 && seen[4] >= seen[3], "a queue: {seen:?}");
    let mut departed = 0.0;
    for _ in 0..50 {
        episode.step(&[0.0], &mut seen).expect("a number");
        departed += seen[6] / 50.0;
    }
    assert!((9.9..10.1).contains(&departed), "a full link: {departed}");
    episode.step(&[0.5], &mut seen).expect("a number");
    assert_eq!(seen[0], 0.25);
    for _ in 0..20 {
        episode.step(&[1.0], &mut seen).expect("a number");
    }
    assert_eq!([seen[0], seen[1]], [1.0, 0.0], "nothing gets in");
}

#[test]
fn what_is_ecn_capable_is_marked() {
    let ecn = LINE.replace("app = \"bulk\"", "app = \"bulk\"\ntcp = { ecn = true }");
    let (mut episode, mut seen) = try_begin(signal(), &ecn, 1).expect("it can be run");
    let (mut marked, mut dropped) = (0.0, 0.0);
    while !episode.step(&[0.2], &mut seen).expect("a number").over {
        marked += seen[8];
        dropped += seen[7];
    }
    // The probe's packets, which are not, are few.
    assert!(marked > 5.0 && dropped < marked, "{marked} {dropped}");
}

#[test]
fn a_target_is_set() {
    let (mut episode, _) = begin(target());
    let mut seen = [0.0; 9];
    for (action, target) in [(0.0, 1.0), (1.0, 100.0), (0.5, 10.0)] {
        episode.step(&[action], &mut seen).expect("a number");
        assert!((seen[0] - target).abs() < 1e-3, "{seen:?}");
    }
}

#[test]
fn an_episode_repeats_by_its_seed() {
    let loss = LINE.replace("rtt = ", "loss = \"1%\"\nrtt = ");
    let run = |seed| {
        let (episode, _) = try_begin(control(), &loss, seed).expect("it can be run");
        play(episode, &control(), 0)
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7).2, run(8).2);
}

#[test]
fn what_has_no_place_is_refused_with_the_reason() {
    let why = |role: Role, text: &str| match task(role).check(&cell(text, 1)) {
        Ok(()) => String::new(),
        Err(unfit) => unfit.to_string(),
    };
    let flow = |flow: &str| Role::Control {
        flow: flow.to_owned(),
    };
    let link = |link: &str| Role::Target {
        link: link.to_owned(),
    };
    assert_eq!(
        why(flow("blk"), LINE),
        "no flow is named `blk`; there are `bulk`, `probe`"
    );
    assert!(why(flow("probe"), LINE).contains("asks no congestion control"));
    assert_eq!(
        why(link("upp"), LINE),
        "no link is named `upp`; there are `up`, `down`"
    );
    let fifo = LINE.replace("codel target 10ms", "pfifo");
    assert!(why(link("up"), &fifo).contains("has no delay target to set"));
    let steered = LINE.replace("codel target 10ms", "steer util 95% over codel");
    assert!(why(link("up"), &steered).contains("has no delay target to set"));
    let endless = LINE.replace("10mbit", "unlimited");
    assert!(why(signal(), &endless).contains("no share of a rate"));
    let changed = format!("{LINE}\n[[change]]\nat = \"1s\"\nlink = \"up\"\nqdisc = \"pie\"\n");
    assert!(why(signal(), &changed).contains("replaces the queue of `up`"));
    assert_eq!(why(control(), &changed), "");
    let often = Task::new(signal(), Span::from_micros(99));
    assert!(matches!(often, Err(Unfit::TooOften(99_000))));
    let never = LINE.replace("app = \"bulk\"", "app = \"bulk\"\nstart = \"4990ms\"");
    let silent = try_begin(control(), &never, 1).expect_err("there is no ACK");
    assert!(silent.to_string().contains("had no ACK"), "{silent}");
    let (mut episode, _) = begin(signal());
    let nan = episode.step(&[f32::NAN], &mut [0.0; 9]);
    assert!(nan.is_err());
}
