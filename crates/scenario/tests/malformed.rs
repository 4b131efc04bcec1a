//! What is wrong is refused with its place, its field, and what would be right.

mod common;

use common::{GOOD, changed, parse};
use sojourn_scenario::{Options, Problem, Problems, Scenario};
use std::path::Path;

/// The first line of each problem, and its help.
fn summary(problems: &Problems) -> Vec<String> {
    let text = problems.to_string();
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("test.toml") || line.starts_with("--set") {
            lines.push(line.to_owned());
        } else if let Some((_, help)) = line.split_once("= help: ") {
            let last = lines.last_mut().expect("a help follows a problem");
            *last += " | ";
            *last += help;
        }
    }
    lines
}

/// A change of the good scenario and the problems that it must give.
type Case = (&'static str, &'static str, &'static [&'static str]);

const CASES: &[Case] = &[
    // The file as a whole.
    (
        "format = \"sojourn-scenario/1\"\n",
        "",
        &[
            "test.toml:1:1: missing key `format` | the first line is `format = \"sojourn-scenario/1\"`",
        ],
    ),
    (
        "sojourn-scenario/1",
        "sojourn-scenario/2",
        &[
            "test.toml:1:10: format: `sojourn-scenario/2` is not a format that this version reads \
           | did you mean `sojourn-scenario/1`?",
        ],
    ),
    (
        "duration =",
        "hosts = \"linux-tso\"\nduration =",
        &["test.toml:3:9: hosts: unknown value `linux-tso` | did you mean `linux-gso`?"],
    ),
    // Unknown and missing keys.
    (
        "duration =",
        "durration =",
        &[
            "test.toml:1:1: missing key `duration`",
            "test.toml:3:1: unknown key `durration` | did you mean `duration`?",
        ],
    ),
    (
        "up = { rate = \"1mbit\" }",
        "up = { rate = \"1mbit\", qdisc = \"pie split-gso\" }",
        &[
            "test.toml:9:32: dumbbell.up.qdisc: `split-gso` and `no-split-gso` are for the queues \
           of a bridge | leave the word out; only cake has it here",
        ],
    ),
    (
        "rtt = \"40ms\"",
        "delya = \"40ms\"",
        &["test.toml:7:1: dumbbell: unknown key `delya` | did you mean `delay`?"],
    ),
    (
        "up = { rate = \"1mbit\" }\n",
        "",
        &["test.toml:6:2: dumbbell.up: missing key `rate` \
           | for example `rate = \"12mbit\"`, or `rate = \"unlimited\"`"],
    ),
    (
        "direction = \"up\"\napp = \"bulk\"",
        "app = \"bulk\"",
        &["test.toml:12:1: flow.upload: missing key `direction` \
           | `direction = \"up\"` is from client to server, \"down\" is back"],
    ),
    // Wrong units and types.
    (
        "duration = \"10s\"",
        "duration = 10",
        &["test.toml:3:12: duration: `10` needs a unit | write a string, for example \"40ms\""],
    ),
    (
        "duration = \"10s\"",
        "duration = \"10\"",
        &["test.toml:3:12: duration: `10` needs a unit | for example \"40ms\""],
    ),
    (
        "\"40ms\"",
        "\"40 parsecs\"",
        &[
            "test.toml:7:7: dumbbell.rtt: `40 parsecs` is not a time (a number with s, ms, us or ns, \
           for example `5ms`)",
        ],
    ),
    (
        "\"12mbit\"",
        "\"12ms\"",
        &[
            "test.toml:10:17: dumbbell.down.rate: `12ms` is not a rate (a number with bit, kbit, \
           mbit, gbit or tbit, for example `20mbit`)",
        ],
    ),
    (
        "\"12mbit\"",
        "\"0mbit\"",
        &[
            "test.toml:10:17: dumbbell.down.rate: must be above zero | an outage is a `[[change]]` \
           of the link with `rate = \"down\"`, and later one with `rate = \"up\"`",
        ],
    ),
    (
        "up = { rate = \"1mbit\" }",
        "up = \"1mbit\"",
        &["test.toml:9:6: dumbbell.up: expected a table, found a string"],
    ),
    (
        "rate = \"1mbit\"",
        "rate = \"1mbit\", loss = 1",
        &[
            "test.toml:9:31: dumbbell.up.loss: `1` is not a probability: 0% to 100%, or a fraction \
           below 1 | for 1 per cent write \"1%\"",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\ndscp = \"AF4\"",
        &[
            "test.toml:16:8: flow.upload.dscp: `AF4` is not the name of a DSCP | did you mean `AF41`?",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\necn = \"ect1\"",
        &[
            "test.toml:16:7: flow.upload.ecn: is of datagrams, and this flow runs over tcp: its \
           ECN is `tcp.ecn`",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\ndscp = 184",
        &[
            "test.toml:16:8: flow.upload.dscp: 184 is not a DSCP (0 to 63, or a name such as \
           \"EF\") | as a TOS byte that is DSCP 46",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nclass = 0",
        &["test.toml:16:9: flow.upload.class: 0 is not a class (1 to 65535)"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nclass = 65536",
        &["test.toml:16:9: flow.upload.class: 65536 is not a class (1 to 65535)"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nmark = -1",
        &["test.toml:16:8: flow.upload.mark: must not be negative"],
    ),
    (
        "rtt = \"40ms\"",
        "rtt = \"40ms\"\nnat = \"client\"",
        &["test.toml:8:7: dumbbell.nat: expected `true` or `false`, found a string"],
    ),
    // Queues.
    (
        "\"fq_codel\"",
        "\"fq_codel taregt 5ms\"",
        &[
            "test.toml:8:19: dumbbell.qdisc: `taregt` is not an option of fq_codel \
           | did you mean `target`?",
        ],
    ),
    // Apps and transports.
    (
        "app = \"bulk\"",
        "app = \"bluk\"",
        &["test.toml:15:7: flow.upload.app: unknown traffic model `bluk` | did you mean `bulk`?"],
    ),
    (
        "app = \"bulk\"",
        "app = \"file\"",
        &["test.toml:15:7: flow.upload.app: missing key `size`"],
    ),
    (
        "app = \"bulk\"",
        "app = { size = \"1mb\" }",
        &["test.toml:15:7: flow.upload.app: missing key `kind` \
           | one of: bulk, file, cbr, ping, onoff, telemetry, voip, video, game, realtime, dash, web, steps, outside"],
    ),
    (
        "app = \"bulk\"",
        "app = \"realtime\"\necn = \"ect0\"",
        &[
            "test.toml:16:7: flow.upload.ecn: of realtime is \"ect1\" (L4S), or left out: it follows \
           the share of marks, not as classic ECN asks",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = { kind = \"realtime\", min = \"2mbit\", max = \"1mbit\" }",
        &["test.toml:15:49: flow.upload.app.max: must not be below `min`, 2Mbit"],
    ),
    (
        "app = \"bulk\"",
        "app = { kind = \"realtime\", size = 63 }",
        &["test.toml:15:35: flow.upload.app.size: a datagram needs 64 bytes at least"],
    ),
    (
        "interval = \"20ms\"",
        "intervall = \"20ms\"",
        &["test.toml:20:24: flow.probe.app: unknown key `intervall` | did you mean `interval`?"],
    ),
    (
        "app = \"bulk\"",
        "app = { kind = \"cbr\", size = 100 }",
        &["test.toml:15:1: flow.upload.app: missing key `interval` (or `rate`)"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\ntransport = \"udp\"",
        &["test.toml:16:13: flow.upload.transport: this app runs over tcp only"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nstack = \"quin\"",
        &["test.toml:16:9: flow.upload.stack: unknown value `quin` | did you mean `quinn`?"],
    ),
    (
        "app = \"bulk\"",
        "app = { kind = \"file\", size = 5000 }\nstack = \"quinn\"",
        &["test.toml:15:1: flow.upload.app: `quinn` carries only the app `bulk`"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nstack = \"quinn\"\ntcp = { cc = \"reno\" }",
        &[
            "test.toml:17:1: flow.upload.tcp: `quinn` carries the flow and has its own transport: \
           leave `tcp` out",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nstack = \"quinn\"\necn = \"ect0\"",
        &[
            "test.toml:17:7: flow.upload.ecn: is set by the stack on each datagram: leave out \
           `ecn`",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\ntcp = { cc = \"vgas\" }",
        &["test.toml:16:14: flow.upload.tcp.cc: unknown value `vgas` \
           | did you mean `vegas`?"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\ntcp = { cc = \"newreno\", sack = true }",
        &[
            "test.toml:16:32: flow.upload.tcp.sack: `cc = \"newreno\"` means `sack = false`; \
             `reno` takes both",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\ntcp = { sack = false, rack = true }",
        &["test.toml:16:30: flow.upload.tcp.rack: loss detection by time needs `sack = true`"],
    ),
    // Names.
    (
        "name = \"probe\"",
        "name = \"upload\"",
        &["test.toml:18:8: flow: another flow has the name `upload` already"],
    ),
    (
        "name = \"probe\"",
        "name = \"p.r\"",
        &["test.toml:18:8: flow.p.r.name: `p.r` is not a name \
           | 1 to 64 of the characters a-z A-Z 0-9 - _"],
    ),
    (
        "direction = \"up\"\napp = \"bulk\"",
        "from = \"client\"\nto = \"sever\"\napp = \"bulk\"",
        &["test.toml:15:6: flow.upload.to: no node has the name `sever` | did you mean `server`?"],
    ),
    // Times that leave nothing.
    (
        "duration = \"10s\"",
        "duration = \"0s\"",
        &["test.toml:3:12: duration: must be above zero"],
    ),
    (
        "warmup = \"2s\"",
        "warmup = \"10s\"",
        &["test.toml:4:10: warmup: 10s leaves nothing of the duration of 10s to measure"],
    ),
    (
        "qdisc = \"fq_codel\"",
        "delay = \"30ms\"",
        &[
            "test.toml:7:7: dumbbell.rtt: 40ms is less than the links' own delays there and back, \
           60ms",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nstart = \"10s\"",
        &["test.toml:16:9: flow.upload.start: the run ends at 10s"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nstart = \"3s\"\nstop = \"3s\"",
        &[
            "test.toml:17:8: flow.upload.stop: 3s is not after the start, which may be as late as 3s",
        ],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nevery = 0",
        &["test.toml:16:9: flow.upload.every: must be above zero"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\nevery = \"1us\"",
        &["test.toml:16:9: flow.upload.every: makes 10000000 flows, more than 100000"],
    ),
    (
        "app = \"bulk\"",
        "app = \"bulk\"\ngrouped = true",
        &["test.toml:16:11: flow.upload.grouped: needs a `count`"],
    ),
    // Changes of links.
    (
        "[[flow]]",
        "[[change]]\nat = \"5s\"\nlink = \"dwon\"\nrate = \"1mbit\"\n[[flow]]",
        &["test.toml:14:8: change[1].link: no link has the name `dwon` | did you mean `down`?"],
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"10s\"\nlink = \"down\"\nrate = \"1mbit\"\n[[flow]]",
        &["test.toml:13:6: change[1].at: the run ends at 10s"],
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"5s\"\nlink = \"down\"\n[[flow]]",
        &[
            "test.toml:14:8: change[1].link: it changes nothing | give a `rate`, `delay`, \
           `jitter`, `reorder`, `loss`, `duplicate` or `qdisc`",
        ],
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"5s\"\nlink = \"down\"\nloss = \"gemodel 1% 2\"\nreorder = \"10%\"\n\
         duplicate = 3\n[[flow]]",
        &[
            "test.toml:15:8: change[1].loss: `2` has no place here; `gemodel` has `p`, `r`, `1-h` \
             and `1-k`, in this order",
            "test.toml:17:13: change[1].duplicate: `3` is not a probability: 0% to 100%, or a \
             fraction below 1 | for 3 per cent write \"3%\"",
        ],
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"5s\"\nlink = \"down\"\nreorder = \"10%\"\n[[flow]]",
        &[
            "test.toml:15:11: change[1].reorder: the link has no `delay` that a packet could pass by",
        ],
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"5s\"\nlink = \"down\"\ndelay = 40\nloss = \"101%\"\n[[flow]]",
        &[
            "test.toml:15:9: change[1].delay: `40` needs a unit | write a string, for example \
             \"40ms\"",
            "test.toml:16:8: change[1].loss: `101%` is not a probability: 0% to 100%, or a fraction \
             below 1",
        ],
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"5s\"\nlink = \"down\"\nqdisc = \"codle\"\n[[flow]]",
        &["test.toml:15:10: change[1].qdisc: unknown discipline `codle` | did you mean `codel`?"],
    ),
    // What has no effect, and what is there twice.
    (
        "up = { rate = \"1mbit\" }",
        "rate = \"5mbit\"\nup = { rate = \"1mbit\" }",
        &["test.toml:9:8: dumbbell.rate: has no effect: `up` and `down` have their own"],
    ),
    (
        "down = { rate = \"12mbit\" }",
        "down = { rate = \"12mbit\", trace = \"x\" }",
        &["test.toml:10:35: dumbbell.down.trace: a link has either a `rate` or a `trace`"],
    ),
    // Seeds and sweeps.
    (
        "warmup = \"2s\"",
        "seeds = [1, 2, 1]",
        &["test.toml:4:16: seeds: seed 1 is listed twice"],
    ),
    (
        "warmup = \"2s\"",
        "seeds = 0",
        &["test.toml:4:9: seeds: must be a number of seeds from 1 to 10000"],
    ),
    (
        "[dumbbell]",
        "[sweep]\ndumbbell.qdisc = []\n[dumbbell]",
        &["test.toml:7:18: sweep: `dumbbell.qdisc` has no values"],
    ),
    (
        "[dumbbell]",
        "[sweep]\n[dumbbell]",
        &["test.toml:6:2: sweep: nothing to vary \
           | for example: \"dumbbell.qdisc\" = [\"pfifo\", \"fq_codel\"]"],
    ),
    (
        "rtt = \"40ms\"",
        "rtt = [\"40ms\", \"80ms\"]",
        &[
            "test.toml:7:7: dumbbell.rtt: expected a string such as \"40ms\", found an array \
             | several are run one after the other by `\"dumbbell.rtt\" = [...]` in [sweep]",
        ],
    ),
    (
        "[dumbbell]",
        "[sweep]\ndumbbell.qdisc = \"pie\"\n[dumbbell]",
        &[
            "test.toml:7:18: sweep: `dumbbell.qdisc` needs a list of values, found a string \
           | \"dumbbell.qdisc\" = [\"pie\"]",
        ],
    ),
    (
        "[dumbbell]",
        "[sweep]\ndumbbell.qdisc = \"pie, fq_pie\"\n[dumbbell]",
        &[
            "test.toml:7:18: sweep: `dumbbell.qdisc` needs a list of values, found a string \
             | \"dumbbell.qdisc\" = [\"pie\", \"fq_pie\"]",
        ],
    ),
    (
        "[dumbbell]",
        "[sweep]\ndumbbell.qdisc = [\"pie\", \"pye\"]\n[dumbbell]",
        &["test.toml:7:27: dumbbell.qdisc: unknown discipline `pye` | did you mean `pie`?"],
    ),
    (
        "[dumbbell]",
        "[sweep]\nflow.uplod.rtt = [\"1ms\"]\n[dumbbell]",
        &["test.toml:7:12: flow.uplod.rtt: no flow is named `uplod`; did you mean `upload`?"],
    ),
    (
        "[dumbbell]",
        "[[sweep.zip]]\ndumbbell.qdisc = [\"pie\", \"codel\"]\ndumbbell.rtt = [\"1ms\"]\n[dumbbell]",
        &[
            "test.toml:8:10: sweep.zip: `dumbbell.rtt` has 1 values, but `dumbbell.qdisc` has 2; \
           zipped lists change together",
        ],
    ),
    (
        "[dumbbell]",
        "[sweep]\nseeds = [1, 2]\n[dumbbell]",
        &["test.toml:7:1: sweep: `seeds` cannot be swept \
           | `seeds` at the top already runs every combination so"],
    ),
];

#[test]
fn each_mistake_has_its_message() {
    let mut wrong = Vec::new();
    for (from, to, wanted) in CASES {
        let found = match parse(&changed(from, to), &[]) {
            Ok(_) => vec!["accepted".to_owned()],
            Err(problems) => summary(&problems),
        };
        if found != *wanted {
            wrong.push(format!("{to}\n  found:  {found:#?}\n  wanted: {wanted:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn all_mistakes_of_a_file_come_at_once() {
    let text = GOOD
        .replace("10s", "10 parsecs")
        .replace("12mbit", "12ms")
        .replace("kind = \"ping\"", "kind = \"pnig\"");
    let problems = parse(&text, &[]).unwrap_err();
    let fields: Vec<_> = problems.iter().map(Problem::field).collect();
    assert_eq!(fields, ["duration", "dumbbell.down.rate", "flow.probe.app"]);
}

#[test]
fn a_problem_shows_its_line_and_marks_the_place() {
    let text = changed("\"fq_codel\"", "\"fq_codel taregt 5ms\"");
    assert_eq!(
        parse(&text, &[]).unwrap_err().to_string(),
        "test.toml:8:19: dumbbell.qdisc: `taregt` is not an option of fq_codel\n  \
           |\n\
         8 | qdisc = \"fq_codel taregt 5ms\"\n  \
           |                   ^^^^^^\n  \
           = help: did you mean `target`?\n"
    );
}

#[test]
fn what_is_no_toml_and_what_is_empty() {
    let not_toml = summary(&parse("format = \n", &[]).unwrap_err());
    assert_eq!(not_toml.len(), 1);
    assert!(not_toml[0].starts_with("test.toml:1:"), "{not_toml:?}");
    assert!(not_toml[0].contains("not TOML"), "{not_toml:?}");
    let empty = summary(&parse("", &[]).unwrap_err());
    assert_eq!(
        empty,
        [
            "test.toml:1:1: missing key `format` | the first line is `format = \"sojourn-scenario/1\"`"
        ]
    );
}

#[test]
fn arguments_are_checked_like_the_file() {
    for (set, wanted) in [
        (
            "dumbbell.rtt",
            "--set: `dumbbell.rtt` has no `=` | KEY=VALUE, for example dumbbell.down.rate=20mbit",
        ),
        (
            "dumbell.rtt=1ms",
            "--set: dumbell.rtt: `dumbell` is not a key of a scenario | did you mean `dumbbell`?",
        ),
        (
            "dumbbell.qdisc=pye",
            "--set: dumbbell.qdisc: unknown discipline `pye` | did you mean `pie`?",
        ),
        (
            "duration=5",
            "--set: duration: `5` needs a unit | write a string, for example \"40ms\"",
        ),
        (
            "flow.uplaod.rtt=5ms",
            "--set: flow.uplaod.rtt: no flow is named `uplaod`; did you mean `upload`?",
        ),
        (
            "duration.x=1",
            "--set: duration.x: `duration` is a string in this scenario and has no field `x`",
        ),
        ("sweep.duration=1", "--set: sweep.duration: cannot be set"),
    ] {
        let found = match parse(GOOD, &[set]) {
            Ok(_) => vec!["accepted".to_owned()],
            Err(problems) => summary(&problems),
        };
        assert_eq!(found, [wanted], "{set}");
    }
}

#[test]
fn arguments_are_marked_where_they_are_wrong() {
    let shown = |options: &Options| {
        let read = Scenario::parse("test.toml", GOOD, Path::new(""), options);
        read.expect_err("it is wrong").to_string()
    };
    for (given, marks) in [
        ("dumbell.rtt=1ms", "^^^^^^^^^^^"),
        ("dumbbell.rtd=1ms", "^^^^^^^^^^^^"),
        (" flow.uplaod.rtt = 5ms", " ^^^^^^^^^^^^^^^"),
        ("sweep.duration=1", "^^^^^^^^^^^^^^"),
        ("dumbbell.qdisc=pye", "               ^^^"),
    ] {
        let set = Options {
            sets: vec![given.to_owned()],
            ..Options::default()
        };
        let said = shown(&set);
        let wanted = format!("  |\n1 | {given}\n  | {marks}\n");
        assert!(said.contains(&wanted), "{said}\n{wanted}");
    }
    let sweep = Options {
        sweeps: vec!["dumbell.rtt=[1ms, 2ms]".to_owned()],
        ..Options::default()
    };
    let said = shown(&sweep);
    assert!(
        said.contains("1 | dumbell.rtt=[1ms, 2ms]\n  | ^^^^^^^^^^^\n"),
        "{said}"
    );
}

#[test]
fn hosts_are_named_only_where_there_are_several() {
    let named = changed(
        "direction = \"up\"\napp = \"bulk\"",
        "direction = \"up\"\nsrc_host = \"A\"\napp = \"bulk\"",
    );
    let access = named.replace("[dumbbell]", "[dumbbell]\naccess = \"1gbit\"");
    assert_eq!(
        summary(&parse(&access, &[]).unwrap_err()),
        [
            "test.toml:16:12: flow.upload.src_host: with `access` every flow has hosts of its own \
          | leave out either"
        ]
    );
    let graph = "format = \"sojourn-scenario/1\"\nname = \"g\"\nduration = \"1s\"\n\
        node = [{ name = \"a\" }, { name = \"b\" }]\n\
        [[link]]\nfrom = \"a\"\nto = \"b\"\nduplex = true\nrate = \"1mbit\"\n\
        [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\napp = \"bulk\"\ndst_host = \"B\"\n";
    assert_eq!(
        summary(&parse(graph, &[]).unwrap_err()),
        [
            "test.toml:15:12: flow.f.dst_host: only a dumbbell has hosts on its sides \
          | give each host a `[[node]]` of its own"
        ]
    );
}
