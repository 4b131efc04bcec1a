//! What people bring: outages, buffers in time and in BDP, words of others, and what is right and
//! not meant.

mod common;

use common::{GOOD, changed, parse};
use sojourn_scenario::{Options, Problems, Scenario};
use sojourn_units::{Rate, Time};
use sojourn_world::{Cell, LineRate};
use std::path::Path;

fn cells(text: &str, options: &Options) -> Vec<Cell> {
    match Scenario::parse("test.toml", text, Path::new(""), options) {
        Ok(scenario) => scenario.cells,
        Err(problems) => panic!("{problems}"),
    }
}

fn sets(sets: &[&str]) -> Options {
    Options {
        sets: sets.iter().map(|&set| set.to_owned()).collect(),
        ..Options::default()
    }
}

/// Message and help of the first problem.
fn first(problems: &Problems) -> String {
    let problem = problems.iter().next().expect("there is one");
    let help = problem.way_out().unwrap_or_default();
    format!("{}: {} | {help}", problem.field(), problem.message())
}

fn refused(text: &str, set: &[&str]) -> String {
    first(&parse(text, set).unwrap_err())
}

fn warned(text: &str, set: &[&str]) -> Vec<String> {
    let scenario = parse(text, set).unwrap_or_else(|problems| panic!("{problems}"));
    let warnings = scenario.warnings.iter();
    let line = |warning: &sojourn_scenario::Problem| {
        let help = warning.way_out().unwrap_or_default();
        format!("{}: {} | {help}", warning.field(), warning.message())
    };
    warnings.map(line).collect()
}

fn with_changes(changes: &str) -> String {
    GOOD.to_owned() + changes
}

#[test]
fn a_link_goes_down_and_comes_up_with_the_rate_it_had() {
    let text = with_changes(
        "[[change]]\nat = \"2s\"\nlink = \"down\"\nrate = \"5mbit\"\n\
         [[change]]\nat = \"6s\"\nlink = \"down\"\nrate = \"up\"\n\
         [[change]]\nat = \"4s\"\nlink = \"down\"\nrate = \"down\"\n\
         [[change]]\nat = \"7s\"\nlink = \"down\"\nrate = \"0bit\"\nloss = \"100%\"\n\
         [[change]]\nat = \"8s\"\nlink = \"down\"\nrate = \"up\"\n",
    );
    let cell = &cells(&text, &Options::default())[0];
    let fixed = |bps| Some(LineRate::Fixed(Rate::from_bps(bps)));
    let rates: Vec<_> = cell
        .changes
        .iter()
        .map(|change| (change.at.as_secs_f64() as u64, change.line.rate.clone()))
        .collect();
    assert_eq!(
        rates,
        [
            (2, fixed(5_000_000)),
            (4, fixed(0)),
            (6, fixed(5_000_000)),
            (7, fixed(0)),
            (8, fixed(5_000_000)),
        ]
    );
    assert_eq!(cell.changes[3].at, Time::from_nanos(7_000_000_000));
    assert_eq!(
        cell.changes[3]
            .line
            .loss
            .map(|loss| loss.to_string())
            .as_deref(),
        Some("100%")
    );
}

#[test]
fn a_link_that_is_not_down_does_not_come_up() {
    let text = with_changes("[[change]]\nat = \"2s\"\nlink = \"down\"\nrate = \"up\"\n");
    assert_eq!(
        refused(&text, &[]),
        "change[1].rate: the link is not down then | an earlier change says `rate = \"down\"`"
    );
}

/// By hand: 12 Mbit/s carry 150 000 bytes in 100 ms, 99.1 frames of 1514 bytes; over 40 ms a BDP of
/// 1 Mbit/s has 5000 bytes.
#[test]
fn buffers_in_time_and_bdp_are_those_of_their_links() {
    let queues = |set: &[&str]| -> Vec<String> {
        let cell = &cells(GOOD, &sets(set))[0];
        let interfaces = cell.network.interfaces.iter();
        interfaces.map(|it| it.qdisc.to_string()).collect()
    };
    assert_eq!(
        queues(&["dumbbell.qdisc=pfifo limit 100ms"]),
        ["pfifo limit 9", "pfifo limit 100"]
    );
    assert_eq!(
        queues(&["dumbbell.qdisc=bfifo limit 2bdp", "dumbbell.rtt=80ms"]),
        ["bfifo limit 20000b", "bfifo limit 240000b"]
    );
    assert_eq!(
        queues(&["dumbbell.qdisc=pfifo limit 1.5 ms", "framing=ip"]),
        ["pfifo limit 1", "pfifo limit 2"]
    );
    // A queue that comes later has the rate of that time.
    let text = with_changes(
        "[[change]]\nat = \"2s\"\nlink = \"up\"\nrate = \"4mbit\"\n\
         [[change]]\nat = \"3s\"\nlink = \"up\"\nqdisc = \"bfifo limit 1bdp\"\n",
    );
    let cell = &cells(&text, &Options::default())[0];
    let queue = cell.changes[1].qdisc.as_ref().map(ToString::to_string);
    assert_eq!(queue.as_deref(), Some("bfifo limit 20000b"));
}

#[test]
fn a_buffer_in_a_graph_goes_by_the_longest_round_trip_over_its_link() {
    let text = "format = \"sojourn-scenario/1\"\nname = \"g\"\nduration = \"1s\"\n\
        node = [{ name = \"a\" }, { name = \"b\" }]\n\
        [[link]]\nfrom = \"a\"\nto = \"b\"\nduplex = true\nrate = \"8mbit\"\ndelay = \"5ms\"\n\
        qdisc = \"bfifo limit 1bdp\"\n\
        [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\n\
        [[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\nrtt = \"30ms\"\napp = \"bulk\"\n";
    let cell = &cells(text, &Options::default())[0];
    for interface in &cell.network.interfaces {
        assert_eq!(interface.qdisc.to_string(), "bfifo limit 30000b");
    }
}

#[test]
fn buffers_that_follow_from_nothing_are_refused() {
    assert_eq!(
        refused(
            GOOD,
            &[
                "dumbbell.qdisc=pfifo limit 9ms",
                "dumbbell.up.rate=unlimited"
            ]
        ),
        "dumbbell.qdisc: `limit 9ms` needs a constant rate, and the link has none | give the link \
         a `rate`, or give packets (`limit 1000`)"
    );
    assert_eq!(
        refused(GOOD, &["dumbbell.qdisc=bfifo limit 2bdp", "dumbbell.rtt=0"]),
        "dumbbell.qdisc: `limit 2bdp` needs a base RTT, and there is none | give the scenario an \
         `rtt`, or write a time, or give bytes (`limit 64kb`)"
    );
}

#[test]
fn lists_need_no_quotes_on_the_command_line() {
    let options = |sweep: &str| Options {
        sweeps: vec![sweep.to_owned()],
        ..Options::default()
    };
    for sweep in [
        "dumbbell.rtt=[10ms,20ms]",
        "dumbbell.rtt=[ 10ms, 20ms ]",
        "dumbbell.rtt=[\"10ms\", \"20ms\"]",
    ] {
        let found = cells(GOOD, &options(sweep));
        let params: Vec<&str> = found.iter().map(|cell| &*cell.params[0].1).collect();
        assert_eq!(params, ["10ms", "20ms"], "{sweep}");
    }
    let found = cells(
        GOOD,
        &options("dumbbell.qdisc=[fq_codel target 5ms, pfifo]"),
    );
    assert_eq!(found[1].params[0].1, "pfifo");
}

#[test]
fn a_path_that_begins_in_the_middle_is_told_whole() {
    for (set, wanted) in [
        (
            "qdisc=fq_codel",
            "qdisc: `qdisc` is not a key of a scenario | write a whole path: `dumbbell.qdisc`, \
             `dumbbell.up.qdisc`, `dumbbell.down.qdisc`",
        ),
        (
            "rtt=5ms",
            "rtt: `rtt` is not a key of a scenario | write a whole path: `dumbbell.rtt`, \
             `flow.upload.rtt`, `flow.probe.rtt`",
        ),
        (
            "cc=bbr",
            "cc: `cc` is not a key of a scenario | write a whole path: `tcp.cc`, \
             `flow.upload.cc`, `flow.probe.cc`",
        ),
        (
            "upload.tcp.cc=bbr",
            "upload.tcp.cc: `upload` is not a key of a scenario | write the whole path: \
             `flow.upload.tcp.cc`",
        ),
    ] {
        assert_eq!(refused(GOOD, &[set]), wanted);
    }
    let swept = with_changes("[sweep]\nqdisc = [\"pfifo\", \"codel\"]\n");
    assert!(refused(&swept, &[]).starts_with("qdisc: `qdisc` is not a key"));
}

#[test]
fn other_files_and_words_are_known_by_what_they_are() {
    let study = "format = \"sojourn-study/1\"\nname = \"a\"\n";
    assert_eq!(
        refused(study, &[]),
        "format: this is a study, and not a scenario | `sojourn reproduce` runs it; `sojourn \
         check` shows its claims"
    );
    let bridge = "version = 1\n[[pair]]\nleft = \"a\"\nright = \"b\"\n";
    assert!(refused(bridge, &[]).contains("this is the file of a bridge"));
    assert_eq!(
        refused(GOOD, &["tcp.cc=bbr2"]),
        "tcp.cc: unknown value `bbr2` | version 2 became version 3, which is `bbr3`; version \
         1 is `bbr`"
    );
    assert!(refused(GOOD, &["tcp.cc=python:a.py:A"]).ends_with(
        "only the commands `run`, `check` and `evaluate` and the Python package load Python \
         congestion controls, in the simulator"
    ));
    assert!(refused(GOOD, &["tcp.cc=rust:liba.so:A"]).ends_with(
        "only the commands `run`, `check` and `evaluate` load congestion controls from libraries, \
         in the simulator"
    ));
    assert!(refused(GOOD, &["tcp.cc=cubik"]).ends_with("did you mean `cubic`?"));
    assert!(
        refused(GOOD, &["dumbbell.qdisc=netem delay 20ms"])
            .ends_with("write the link's own keys: delay = \"20ms\"")
    );
}

#[test]
fn rates_are_read_as_results_show_them() {
    let cell = &cells(GOOD, &sets(&["dumbbell.down.rate=20 Mbit/s"]))[0];
    let rate = cell.network.wire(1).unwrap().line.rate.fixed();
    assert_eq!(rate, Some(Rate::from_bps(20_000_000)));
    assert!(warned(GOOD, &["dumbbell.down.rate=20 Mbit/s"]).is_empty());
}

#[test]
fn what_is_right_and_not_meant_is_warned_of() {
    assert!(warned(GOOD, &[]).is_empty());
    for (set, wanted) in [
        (
            "dumbbell.down.rate=20Mbps",
            "dumbbell.down.rate: `20Mbps` is 160 Mbit/s: `bps` are bytes per second here, as in \
             tc | for bits write `20mbit`",
        ),
        (
            "dumbbell.down.qdisc=cake bandwidth 800kbps",
            "dumbbell.down.qdisc: `800kbps` is 6.40 Mbit/s: `bps` are bytes per second here, as \
             in tc | for bits write `800kbit`",
        ),
        (
            "dumbbell.down.qdisc=cake bandwidth 20mbit",
            "dumbbell.down.qdisc: the shaper of 20Mbit never shapes: the link sends at 12Mbit | a \
             shaper has a rate below its link's; without one the link itself holds packets back",
        ),
        (
            "dumbbell.down.qdisc=bfifo limit 1000",
            "dumbbell.down.qdisc: a limit of 1000b passes no full packet: each has 1514 bytes and \
             is dropped | for 1000 packets write `pfifo limit 1000`",
        ),
        (
            "dumbbell.down.qdisc=tbf rate 5mbit burst 1500 latency 50ms",
            "dumbbell.down.qdisc: a bucket of 1500b passes no full packet: each has 1514 bytes \
             and is dropped | at least 1514 bytes",
        ),
    ] {
        assert_eq!(warned(GOOD, &[set]), [wanted]);
    }
}

#[test]
fn queues_that_come_later_are_warned_of_too() {
    let text = with_changes(
        "[[change]]\nat = \"2s\"\nlink = \"down\"\nqdisc = \"cake bandwidth 20mbit\"\n",
    );
    let found = warned(&text, &[]);
    assert!(
        found[0].starts_with("change[1].qdisc: the shaper of 20Mbit never shapes"),
        "{found:?}"
    );
}

/// By hand: 2 740 682 bytes each 200 ms are 110 Mbit/s; twice the product of 1 Gbit/s and 200 ms is
/// 50 000 000 bytes, 47.7 MiB.
#[test]
fn a_flow_that_its_own_end_holds_is_warned_of() {
    let far = ["dumbbell.rate=1gbit", "dumbbell.rtt=200ms"];
    let text = changed("up = { rate = \"1mbit\" }", "rate = \"1gbit\"")
        .replace("down = { rate = \"12mbit\" }\n", "");
    assert_eq!(
        warned(&text, &far),
        [
            "flow.upload: a `send_buffer` of 2740682 bytes carries at most 110 Mbit/s over 200 ms, \
          and the link 1000 Mbit/s: the flow is limited by its own end, not by the queue | for \
          more, `tcp = { send_buffer = \"48mb\", receive_window_max = \"48mb\" }`"
        ]
    );
    let larger = [
        far[0],
        far[1],
        "tcp.send_buffer=48mb",
        "tcp.receive_window_max=48mb",
    ];
    assert!(warned(&text, &larger).is_empty());
    // Ten of them fill the link.
    let many = [far[0], far[1], "flow.upload.count=10"];
    assert!(warned(&text, &many).is_empty());
}

#[test]
fn a_warning_prints_with_its_place() {
    let text = changed("\"12mbit\"", "\"12mbps\"");
    let scenario = parse(&text, &[]).unwrap();
    let shown = scenario.warnings.to_string();
    assert!(
        shown.starts_with("test.toml:10:17: warning: dumbbell.down.rate: `12mbps` is 96.0 Mbit/s"),
        "{shown}"
    );
}
