//! Right scenarios become the cells that they describe.

mod common;

use common::{GOOD, changed, parse};
use sojourn_apps::{Bulk, Cbr, Gaps, Ping};
use sojourn_scenario::{Gene, Options, Scenario, Space, Values};
use sojourn_tcp::{Algorithm, DelayedAck, Ecn, VegasConfig};
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Cell, Flow, LineChange, LineRate, Transport};
use std::path::{Path, PathBuf};

fn cells(text: &str, sets: &[&str]) -> Vec<Cell> {
    match parse(text, sets) {
        Ok(scenario) => scenario.cells,
        Err(problems) => panic!("{problems}"),
    }
}

fn values(cell: &Cell) -> Vec<&str> {
    cell.params
        .iter()
        .map(|(_, value)| value.as_str())
        .collect()
}

#[test]
fn the_good_scenario_means_what_it_says() {
    let [cell] = &cells(GOOD, &[])[..] else {
        panic!("one combination, one seed");
    };
    assert_eq!((cell.scenario.as_str(), cell.seed), ("test", 1));
    assert_eq!(cell.duration, Span::from_secs(10));
    assert_eq!(cell.warmup, Span::from_secs(2));
    assert_eq!(cell.sample_every, Span::from_millis(100));
    assert_eq!(cell.link_header, 14);
    let network = &cell.network;
    assert_eq!(network.node_names(), ["client", "server"]);
    assert_eq!(network.link_names(), ["up", "down"]);
    for (link, (way, bps)) in [([0, 1], 1_000_000), ([1, 0], 12_000_000)]
        .into_iter()
        .enumerate()
    {
        let (interface, wire) = (&network.interfaces[link], network.wire(link).unwrap());
        assert_eq!([interface.node, wire.to], way);
        assert_eq!(wire.line.rate, LineRate::Fixed(Rate::from_bps(bps)));
        assert_eq!(interface.qdisc, "fq_codel".parse().unwrap());
    }
    let [upload, probe] = &cell.flows[..] else {
        panic!("two flows");
    };
    assert_eq!((upload.from, upload.to), (0, 1));
    assert_eq!(upload.base_rtt, Span::from_millis(40));
    assert_eq!(upload.app, Bulk.into());
    assert!(
        matches!(upload.transport, Transport::Tcp(tcp) if tcp == sojourn_tcp::Config::default())
    );
    assert_eq!(probe.transport, Transport::Udp);
    let interval = Span::from_millis(20);
    assert_eq!(probe.app, Ping { size: 64, interval }.into());
}

#[test]
fn sweeps_multiply_in_the_order_of_the_file() {
    let sweep = "[sweep]\ndumbbell.qdisc = [\"pie\", \"codel\"]\n\"tcp.cc\" = [\"reno\", \"cubic\"]\n\
                 dumbbell.rtt = [\"20ms\", \"80ms\"]\n[dumbbell]";
    let text = changed("[dumbbell]", sweep).replace("warmup", "seeds = [7, 3]\nwarmup");
    let cells = cells(&text, &[]);
    assert_eq!(cells.len(), 16);
    let keys: Vec<_> = cells[0]
        .params
        .iter()
        .map(|(key, _)| key.as_str())
        .collect();
    assert_eq!(keys, ["dumbbell.qdisc", "tcp.cc", "dumbbell.rtt"]);
    assert_eq!(
        (values(&cells[0]), cells[0].seed),
        (vec!["pie", "reno", "20ms"], 7)
    );
    assert_eq!(
        (values(&cells[1]), cells[1].seed),
        (vec!["pie", "reno", "20ms"], 3)
    );
    assert_eq!(values(&cells[2]), ["pie", "reno", "80ms"]);
    assert_eq!(values(&cells[4]), ["pie", "cubic", "20ms"]);
    assert_eq!(values(&cells[15]), ["codel", "cubic", "80ms"]);
    let rtts: Vec<_> = cells.iter().map(|cell| cell.flows[0].base_rtt).collect();
    assert_eq!(rtts[..4], [20, 20, 80, 80].map(Span::from_millis));
    let Transport::Tcp(tcp) = cells[0].flows[0].transport else {
        panic!("tcp");
    };
    assert_eq!(tcp.algorithm, Algorithm::Reno);
}

#[test]
fn zipped_fields_change_together() {
    let zip = "[sweep]\ndumbbell.rtt = [\"20ms\", \"80ms\"]\n[[sweep.zip]]\n\
               dumbbell.up.rate = [\"1mbit\", \"2mbit\"]\ndumbbell.down.rate = [\"10mbit\", \"20mbit\"]\n[dumbbell]";
    let cells = cells(&changed("[dumbbell]", zip), &[]);
    let all: Vec<_> = cells.iter().map(values).collect();
    assert_eq!(
        all,
        [
            ["20ms", "1mbit", "10mbit"],
            ["20ms", "2mbit", "20mbit"],
            ["80ms", "1mbit", "10mbit"],
            ["80ms", "2mbit", "20mbit"],
        ]
    );
}

#[test]
fn a_set_field_is_swept_no_more() {
    let sweep = "[sweep]\ndumbbell.qdisc = [\"pie\", \"codel\"]\n[dumbbell]";
    let text = changed("[dumbbell]", sweep);
    let cells = cells(
        &text,
        &["dumbbell.qdisc=pfifo limit 9", "flow.upload.start=1s"],
    );
    let [cell] = &cells[..] else {
        panic!("one cell");
    };
    assert_eq!(values(cell), ["pfifo limit 9", "1s"]);
    assert_eq!(cell.flows[0].start, Time::ZERO + Span::from_secs(1));
    assert_eq!(parse(&text, &["dumbbell.qdisc=pie"]).unwrap().info.axes, []);
}

#[test]
fn arguments_may_be_toml_or_bare() {
    for set in [
        "dumbbell.rtt=80ms",
        "dumbbell.rtt=\"80ms\"",
        "dumbbell.rtt = '80ms'",
    ] {
        assert_eq!(
            cells(GOOD, &[set])[0].flows[0].base_rtt,
            Span::from_millis(80),
            "{set}"
        );
    }
    let cells = cells(
        GOOD,
        &["flow.probe.app={ kind = \"cbr\", size = 100, rate = \"80kbit\" }"],
    );
    let interval = Span::from_millis(10);
    assert_eq!(
        cells[0].flows[1].app,
        Cbr {
            size: 100,
            interval,
            gaps: Gaps::Even,
        }
        .into()
    );
}

#[test]
fn seeds_come_from_the_file_or_the_command_line() {
    let seeds = |seed, seeds| {
        let options = Options {
            seed,
            seeds,
            ..Options::default()
        };
        let text = changed("warmup", "seeds = 2\nwarmup");
        let scenario = Scenario::parse("test.toml", &text, Path::new(""), &options).unwrap();
        scenario
            .cells
            .iter()
            .map(|cell| cell.seed)
            .collect::<Vec<_>>()
    };
    assert_eq!(seeds(None, None), [1, 2]);
    assert_eq!(seeds(Some(9), None), [9]);
    assert_eq!(seeds(None, Some(3)), [1, 2, 3]);
    assert_eq!(seeds(Some(9), Some(3)), [9, 10, 11]);
}

#[test]
fn counted_flows_start_apart_and_depend_on_their_own_dice_only() {
    let text = changed(
        "app = \"bulk\"",
        "app = \"bulk\"\ncount = 3\nstart = \"1s\"\nstart_spread = \"1s\"",
    );
    let one = &cells(&text, &[])[0];
    let names: Vec<_> = one.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["upload-1", "upload-2", "upload-3", "probe"]);
    let starts = |cell: &Cell| cell.flows.iter().map(|flow| flow.start).collect::<Vec<_>>();
    let first = starts(one);
    let (from, to) = (Span::from_secs(1), Span::from_secs(2));
    assert!(
        first[..3]
            .iter()
            .all(|&s| s >= Time::ZERO + from && s < Time::ZERO + to)
    );
    assert!(first[0] != first[1] && first[1] != first[2]);
    assert_eq!(first[3], Time::ZERO);
    // A fourth upload changes nothing for the first three.
    let four = starts(&cells(&text, &["flow.upload.count=4"])[0]);
    assert_eq!(first[..3], four[..3]);
}

#[test]
fn a_flows_own_tcp_goes_before_the_common_one() {
    let text = changed(
        "[dumbbell]",
        "[tcp]\ncc = \"reno\"\nsack = false\n[dumbbell]",
    )
    .replace(
        "app = \"bulk\"",
        "app = \"bulk\"\ntcp = { cc = \"cubic\", delayed_ack = false }",
    );
    let Transport::Tcp(tcp) = cells(&text, &[])[0].flows[0].transport else {
        panic!("tcp");
    };
    assert_eq!(tcp.algorithm, Algorithm::Cubic);
    assert_eq!(tcp.delayed_ack, DelayedAck::Off);
    assert!(!tcp.sack && !tcp.rack);
}

#[test]
fn ecn_is_a_switch_or_a_word() {
    for (value, wanted) in [
        ("false", Ecn::Off),
        ("true", Ecn::Classic),
        ("\"accecn\"", Ecn::Accurate),
    ] {
        let text = changed("[dumbbell]", &format!("[tcp]\necn = {value}\n[dumbbell]"));
        let Transport::Tcp(tcp) = cells(&text, &[])[0].flows[0].transport else {
            panic!("tcp");
        };
        assert_eq!(tcp.wanted_ecn(), wanted);
    }
}

/// Every word for `cc`, and the recovery that it brings.
#[test]
fn recovery_variants_are_words_for_the_congestion_control() {
    for (word, name, sack, rack) in [
        ("newreno", "reno", false, false),
        ("sack", "reno", true, false),
        ("reno", "reno", true, true),
        ("vegas", "vegas", true, true),
        ("westwood", "westwood", true, true),
        ("cubic", "cubic", true, true),
        ("compound", "compound", true, true),
        ("dctcp", "dctcp", true, true),
        ("bbr", "bbr", true, true),
        ("bbr3", "bbr3", true, true),
        ("prague", "prague", true, true),
    ] {
        let keys = format!("[tcp]\ncc = \"{word}\"\ntick = \"10ms\"\nvegas = \"ns2\"\n[dumbbell]");
        let Transport::Tcp(tcp) = cells(&changed("[dumbbell]", &keys), &[])[0].flows[0].transport
        else {
            panic!("tcp");
        };
        assert_eq!(tcp.algorithm.name(), name);
        assert_eq!((tcp.sack, tcp.rack), (sack, rack), "{word}");
        assert_eq!(tcp.tick, Span::from_millis(10));
        assert_eq!(tcp.vegas, VegasConfig::NS2);
    }
}

/// Without the words timers are exact, and hosts have machines of their own.
#[test]
fn hosts_of_a_test_bed_have_ticks_and_one_machine() {
    let keys = "[tcp]\ntimer_tick = \"4ms\"\n[dumbbell]";
    let testbed = changed("[dumbbell]", keys).replacen("name =", "one_machine = true\nname =", 1);
    for (text, tick, one_machine) in [
        (testbed, Span::from_millis(4), true),
        (changed("[dumbbell]", "[dumbbell]"), Span::ZERO, false),
    ] {
        let cell = &cells(&text, &[])[0];
        let Transport::Tcp(tcp) = cell.flows[0].transport else {
            panic!("tcp");
        };
        assert_eq!((tcp.timer_tick, cell.one_machine), (tick, one_machine));
    }
}

#[test]
fn every_scenario_of_the_repository_is_right_and_its_cells_can_be_made_anew() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = Vec::new();
    let mut folders = vec![root.join("scenarios"), root.join("studies")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "toml")
                && path.file_name().is_some_and(|name| name != "study.toml")
            {
                files.push(path);
            }
        }
    }
    assert!(files.len() >= 12, "{files:?}");
    for file in files {
        if file.parent().is_some_and(|folder| folder.ends_with("hunt")) {
            assert_a_space(&file);
            continue;
        }
        let cells = match Scenario::load(&file, &Options::default()) {
            Ok(scenario) => scenario.cells,
            Err(problems) => panic!("{problems}"),
        };
        for cell in cells.iter().step_by(1 + cells.len() / 40) {
            let source = cell.source.as_deref().expect("a scenario has it");
            let anew = Scenario::cell(source, &cell.params, cell.seed);
            assert_eq!(anew.as_ref(), Ok(cell), "{}", file.display());
        }
    }
}

/// A scenario with intervals is right at their lower ends.
fn assert_a_space(file: &Path) {
    let space =
        Space::load(file, &Options::default(), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let lowest = space.dimensions().iter().map(|it| match &it.values {
        Values::Steps(_) => Gene::Step(0),
        Values::Interval(interval) => Gene::Value(interval.low()),
    });
    let scenario = space.scenario(&lowest.collect::<Vec<_>>(), &[1]);
    assert!(scenario.is_ok(), "{}", scenario.unwrap_err());
}

#[test]
fn flows_share_the_hosts_that_they_name() {
    let flow = |name: &str, direction: &str, hosts: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\ndirection = \"{direction}\"\napp = \"bulk\"\n{hosts}\n"
        )
    };
    let text = [
        GOOD.to_owned(),
        flow("a", "up", "src_host = \"A\"\ndst_host = \"A\""),
        flow("b", "up", "src_host = \"B\"\ndst_host = \"A\"\ncount = 2"),
        flow("c", "down", "src_host = \"C\"\ndst_host = \"B\""),
    ]
    .concat();
    let hosts = |sets: &[&str]| -> Vec<[u32; 2]> {
        let cell = cells(&text, sets).remove(0);
        cell.flows.iter().map(|flow| flow.hosts).collect()
    };
    // The two flows of GOOD name none; A at the server is not A at the client; `b` twice; `c`
    // leads from the server's third host to the client's B.
    assert_eq!(hosts(&[]), [[0, 0], [0, 0], [1, 1], [2, 1], [2, 1], [2, 2]]);
    let own = GOOD.replace("[dumbbell]", "[dumbbell]\naccess = \"1gbit\"");
    let cell = cells(&own, &[]).remove(0);
    let hosts: Vec<_> = cell.flows.iter().map(|flow| flow.hosts).collect();
    assert_eq!(hosts, [[0, 0], [1, 1]]);
}

/// The same flows in the same order, with the same names, times and hosts.
#[test]
fn a_group_stands_for_the_flows_of_its_count() {
    let text = changed(
        "app = \"bulk\"",
        "app = \"bulk\"\ncount = 3\nstart_spread = \"1s\"\nevery = \"4s\"\nstop = \"2s\"",
    )
    .replace("[dumbbell]", "[dumbbell]\naccess = \"1gbit\"");
    let each = cells(&text, &[]).remove(0);
    let group = cells(&text, &["flow.upload.grouped=true"]).remove(0);
    assert_eq!((each.flows.len(), group.flows.len()), (4, 2));
    assert_eq!(group.flows[0].name, "upload");
    assert_eq!(group.flows[0].members.len(), 3);
    let first = each.flows[..3].iter().map(|flow| flow.start).min();
    assert_eq!(Some(group.flows[0].start), first);
    let specs = |cell: &Cell| -> Vec<Flow> {
        let instances = cell.instances().into_iter();
        instances.map(|instance| instance.spec).collect()
    };
    assert_eq!(specs(&each), specs(&group));
}

#[test]
fn changes_are_in_the_order_of_time_and_flows_repeat() {
    let text = changed(
        "app = \"bulk\"",
        "app = \"bulk\"\nstart = \"1s\"\nstop = \"3s\"\nevery = \"4s\"\n\n[[change]]\nat = \"8s\"\n\
         link = \"down\"\nqdisc = \"pie\"\ndelay = \"40ms\"\nloss = \"2%\"\n\n[[change]]\nat = \"5s\"\nlink = \"up\"\nname = \"drop\"\nrate = \"2mbit\"",
    );
    let [cell] = &cells(&text, &["change.drop.rate=3mbit"])[..] else {
        panic!("one cell");
    };
    let second = |s: u64| Time::ZERO + Span::from_secs(s);
    let [first, last] = &cell.changes[..] else {
        panic!("two changes: {:?}", cell.changes);
    };
    assert_eq!((first.at, first.link, &first.qdisc), (second(5), 0, &None));
    let rate = LineRate::Fixed(Rate::from_bps(3_000_000));
    assert_eq!(first.line, LineChange::from(rate));
    assert_eq!((last.at, last.link), (second(8), 1));
    let longer = LineChange {
        delay: Some(Span::from_millis(40)),
        loss: Some(0.02.into()),
        ..LineChange::default()
    };
    assert_eq!(last.line, longer);
    let lines = cell.lines(1);
    assert_eq!((lines.len(), lines[0].rate == lines[1].rate), (2, true));
    assert_eq!(
        (lines[1].delay, lines[1].loss),
        (Span::from_millis(40), 0.02.into())
    );
    assert_eq!(last.qdisc, Some("pie".parse().unwrap()));
    let instances = cell.instances();
    let times: Vec<_> = (instances.iter())
        .map(|i| (i.flow, i.spec.name.as_str(), i.spec.start, i.spec.stop))
        .collect();
    let stop = |s| Some(second(s));
    assert_eq!(
        times,
        [
            (0, "upload", second(1), stop(3)),
            (0, "upload#2", second(5), stop(7)),
            (0, "upload#3", second(9), stop(11)),
            (1, "probe", second(0), None),
        ]
    );
}

/// 256 flows keep series, 257 do not; the scenario may say otherwise.
#[test]
fn series_of_many_flows_are_asked_for() {
    let text = "format = 'sojourn-scenario/1'\nname = 'many'\nduration = '1s'\n\
                [dumbbell]\nrtt = '10ms'\nrate = '1mbit'\n\
                [[flow]]\nname = 'f'\ndirection = 'up'\napp = 'bulk'\n";
    let keeps = |sets: &[&str]| cells(text, sets)[0].flow_series;
    assert!(keeps(&["flow.f.count=256"]));
    assert!(!keeps(&["flow.f.count=257"]));
    assert!(keeps(&["flow.f.count=257", "flow_series=true"]));
    assert!(!keeps(&["flow_series=false"]));
}

#[test]
fn an_axis_from_outside_stands_behind_those_of_the_file() {
    let text = changed(
        "warmup",
        "sweep.\"dumbbell.rtt\" = [\"20ms\", \"40ms\"]\nsweep.\"dumbbell.nat\" = [true]\nwarmup",
    );
    let cells = |sweeps: &[&str]| {
        let options = Options {
            sweeps: sweeps.iter().map(|sweep| (*sweep).to_owned()).collect(),
            ..Options::default()
        };
        let scenario = Scenario::parse("test.toml", &text, Path::new(""), &options);
        let cells = scenario.map(|scenario| scenario.cells.into_iter().map(|cell| cell.params));
        cells.map(Iterator::collect::<Vec<_>>)
    };
    let of = |rtt: &str, nat: &str, qdisc: &str| {
        let pairs = [
            ("dumbbell.rtt", rtt),
            ("dumbbell.nat", nat),
            ("dumbbell.qdisc", qdisc),
        ];
        pairs
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .to_vec()
    };
    let found = cells(&["dumbbell.qdisc=[\"codel\", \"pie\"]"]).expect("it is right");
    let expected = [
        of("20ms", "true", "codel"),
        of("20ms", "true", "pie"),
        of("40ms", "true", "codel"),
        of("40ms", "true", "pie"),
    ];
    assert_eq!(found, expected);
    let replaced = cells(&["dumbbell.rtt=[\"1ms\"]"]).expect("it is right");
    assert_eq!(replaced.len(), 1);
    let problems = cells(&["dumbbell.rtt=1ms"]).expect_err("that is no list");
    let place = problems
        .iter()
        .map(|problem| problems.place(problem))
        .next();
    assert_eq!(
        place.map(|place| (place.source, place.position)),
        Some(("--sweep", None))
    );
    assert!(
        problems
            .to_string()
            .contains("`dumbbell.rtt` needs a list of values")
    );
}

#[test]
fn parts_are_the_whole_cut_up() {
    let (name, text, base) = ("test.toml", GOOD, Path::new(""));
    let options = Options {
        seeds: Some(3),
        sweeps: vec!["dumbbell.rtt=[\"10ms\", \"20ms\", \"40ms\"]".to_owned()],
        ..Options::default()
    };
    let whole = Scenario::parse(name, text, base, &options).expect("it is right");
    let counts = Scenario::survey(name, text, base, &options).expect("it is right");
    assert_eq!((counts, whole.cells.len()), ((3, 3), 9));
    for (from, to) in [(0, 9), (0, 1), (2, 4), (3, 6), (8, 20), (9, 12), (20, 30)] {
        let part = Scenario::part(name, text, base, &options, from..to).expect("it is right");
        assert_eq!(
            part.cells,
            whole.cells[from.min(9)..to.min(9)],
            "{from} to {to}"
        );
        assert_eq!(part.info.axes, whole.info.axes);
    }
}

#[test]
fn a_survey_finds_what_is_wrong_in_any_combination() {
    let (name, base) = ("test.toml", Path::new(""));
    let options = Options {
        sweeps: vec!["dumbbell.rtt=[\"10ms\", \"20ms\", \"fast\"]".to_owned()],
        ..Options::default()
    };
    let problems = Scenario::survey(name, GOOD, base, &options).unwrap_err();
    assert!(problems.to_string().contains("fast"), "{problems}");
    // Many more than are read at a time.
    let values: Vec<String> = (1..=20).map(|ms| format!("\"{ms}ms\"")).collect();
    let options = Options {
        seeds: Some(10_000),
        sweeps: vec![format!("dumbbell.rtt=[{}]", values.join(", "))],
        ..Options::default()
    };
    let counts = Scenario::survey(name, GOOD, base, &options).expect("they are right");
    assert_eq!(counts, (20, 10_000));
    let part = Scenario::part(name, GOOD, base, &options, 150_000..150_003);
    assert_eq!(part.expect("it is right").cells.len(), 3);
    let problems = Scenario::part(name, GOOD, base, &options, 0..150_000).unwrap_err();
    assert!(
        problems
            .to_string()
            .contains("150000 runs are more than 100000 at a time")
    );
}
