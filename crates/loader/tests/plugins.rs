//! Plug-ins in scenarios: the decisions are those of the same AQM without a border, and what is
//! wrong is told with its place.

use sojourn_loader::{Plugin, Plugins, Sort};
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::Sim;
use sojourn_world::{Cell, RunResult, Taps, World};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Where `faulty` is, which cargo builds beside the tests: in the folder of examples.
fn built() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let target = program.ancestors().nth(2).expect("target/debug/deps/NAME");
    let library = target.join("examples/libfaulty.so");
    assert!(
        library.exists(),
        "cargo build -p sojourn-loader --example faulty"
    );
    library
}

fn scenario(queues: &[&str]) -> String {
    swept("dumbbell.qdisc", queues)
}

fn swept(field: &str, values: &[&str]) -> String {
    format!(
        r#"format = "sojourn-scenario/1"
name = "own"
duration = "5s"

[dumbbell]
rtt = "40ms"
rate = "8mbit"

[sweep]
{field} = {values:?}

[[flow]]
name = "download"
direction = "down"
app = "bulk"
count = 3
tcp.ecn = true
"#
    )
}

fn read(text: &str) -> (Scenario, Plugins) {
    let read = Plugins::scenario("own.toml", text, Path::new(""), &Options::default())
        .unwrap_or_else(|problems| panic!("{problems}"));
    read.expect("it names a plug-in")
}

fn run(world: &dyn World, cell: &Cell) -> RunResult {
    let run = world.run(cell, Taps::default(), &mut |_| ControlFlow::Continue(()));
    run.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn behind_the_border_the_same_aqm_decides_the_same() {
    let file = built().display().to_string();
    let own = [
        format!("rust:{file}:Same"),
        format!("rust:{file}:Same target=20ms limit=60"),
    ];
    let queues = [
        "codel",
        &own[0],
        "codel target 20ms limit 60",
        &own[1],
        "pfifo limit 60",
    ];
    let (scenario, plugins) = read(&scenario(&queues));
    let values: Vec<&str> = { scenario.info.axes[0].values.iter() }
        .map(String::as_str)
        .collect();
    assert_eq!(values, queues, "names are put back");
    assert!(
        scenario
            .info
            .source
            .is_some_and(|text| text.contains(&own[1]))
    );
    let results: Vec<RunResult> = { scenario.cells.iter() }
        .map(|cell| run(&plugins, cell))
        .collect();
    let flows = |number: usize| format!("{:?}", results[number].flows);
    assert_eq!(flows(0), flows(1));
    assert_eq!(flows(2), flows(3));
    assert_ne!(flows(0), flows(2), "options arrive");
    assert_eq!(run(&plugins, &scenario.cells[1]).digest, results[1].digest);
    let plain = run(&Sim, &scenario.cells[4]);
    assert_eq!(plain.digest, results[4].digest, "others are as in `sim`");
}

#[test]
fn behind_the_border_the_same_control_decides_the_same() {
    let file = built().display().to_string();
    for (control, same) in [
        ("cubic", "SameCubic"),
        ("vegas", "SameVegas"),
        ("westwood", "SameWestwood"),
        ("bbr", "SameBbr"),
    ] {
        let own = format!("rust:{file}:{same}");
        let few = format!("{own} window=2");
        // A scenario may name one that a plug-in could stand behind.
        let values = [control, &own, &few, "lp"];
        let (scenario, plugins) = read(&swept("tcp.cc", &values));
        let axis: Vec<&str> = { scenario.info.axes[0].values.iter() }
            .map(String::as_str)
            .collect();
        assert_eq!(axis, values, "names are put back");
        let flows = |cell: usize| format!("{:?}", run(&plugins, &scenario.cells[cell]).flows);
        assert_eq!(flows(0), flows(1), "{control}");
        assert_ne!(flows(0), flows(2), "options arrive");
        let refused = plugins.run(&scenario.cells[3], Taps::default(), &mut |_| {
            ControlFlow::Continue(())
        });
        let said = refused.expect_err("only Linux has it").to_string();
        assert!(said.contains("no congestion control lp"), "{said}");
    }
}

#[test]
fn marks_reach_a_control() {
    let own = format!("rust:{}:SameCubic", built().display());
    let text = swept("tcp.cc", &["cubic", &own]);
    for ecn in ["true", "\"accecn\""] {
        let text = text
            .replace("tcp.ecn = true", &format!("tcp.ecn = {ecn}"))
            .replace("rate = ", "qdisc = \"codel ecn\"\nrate = ");
        let (scenario, plugins) = read(&text);
        let results = [0, 1].map(|cell| run(&plugins, &scenario.cells[cell]));
        assert!(
            results[0]
                .links
                .iter()
                .any(|(_, link)| link.marked_packets > 0)
        );
        let flows = results.map(|result| format!("{:?}", result.flows));
        assert_eq!(flows[0], flows[1], "{ecn}");
    }
}

#[test]
fn a_control_that_fails_ends_the_run() {
    for (options, why) in [
        ("at=50", "panicked: ACK 50 is one too many"),
        (
            "at=50 panics=false",
            "its window is 0: say 1 segment or more",
        ),
    ] {
        let name = format!("rust:{}:Fails {options}", built().display());
        let (scenario, plugins) = read(&swept("tcp.cc", &[&name]));
        let run = plugins.run(&scenario.cells[0], Taps::default(), &mut |_| {
            ControlFlow::Continue(())
        });
        let error = run.expect_err("it fails").to_string();
        assert_eq!(error, format!("plug-in Fails: {why}"));
    }
}

#[test]
fn ns_2s_senders_ask_no_control() {
    let name = format!("rust:{}:SameCubic", built().display());
    let text = format!("{}tcp.agent = \"ns2\"\n", swept("tcp.cc", &[&name]))
        .replace("tcp.ecn = true\n", "");
    let read = Plugins::scenario("own.toml", &text, Path::new(""), &Options::default());
    let said = read
        .map(|_| ())
        .expect_err("it would not be asked")
        .to_string();
    let refusal = format!("flow.download.tcp.agent: ns-2's senders have no {name}");
    assert!(said.contains(&refusal), "{said}");
}

#[test]
fn what_is_wrong_beside_a_plug_in_is_shown_as_it_was_written() {
    let name = format!("rust:{}:SameCubic", built().display());
    let text =
        format!("format = \"sojourn-scenario/1\"\ntcp = {{ cc = \"{name}\", mss = true }}\n");
    let read = Plugins::scenario("own.toml", &text, Path::new(""), &Options::default());
    let said = read.map(|_| ()).expect_err("no size").to_string();
    let line = text.lines().nth(1).expect("two lines");
    let column = line.rfind("true").expect("a size") + 1;
    assert!(
        said.contains(&format!("own.toml:2:{column}: tcp.mss: ")),
        "{said}"
    );
    assert!(said.contains(":SameCubic\", mss = true }"), "{said}");
}

#[test]
fn each_sort_has_its_place() {
    let file = built().display().to_string();
    let (aqm, control) = (format!("rust:{file}:Same"), format!("rust:{file}:SameBbr"));
    let wrong = |text: &str| {
        let read = Plugins::scenario("own.toml", text, Path::new(""), &Options::default());
        read.map(|_| ()).expect_err("a wrong place").to_string()
    };
    let said = wrong(&scenario(&["codel", &control]));
    let place = "own.toml:10:29: dumbbell.qdisc: `SameBbr` is a congestion control, and an AQM \
                 belongs here";
    assert!(said.starts_with(place), "{said}");
    let said = wrong(&scenario(&["codel"]).replace(
        "tcp.ecn = true",
        &format!("tcp = {{ ecn = true, cc = \"{aqm}\" }}"),
    ));
    assert!(
        said.contains(": cc: `Same` is an AQM, and a congestion control belongs here"),
        "{said}"
    );
    let one = Plugins::one(&control, Sort::Aqm).map(|_| ());
    let said = one.expect_err("a queue is wanted").to_string();
    assert!(
        said.starts_with("`SameBbr` is a congestion control"),
        "{said}"
    );
}

#[test]
fn as_many_controls_stand_as_there_are_stand_ins() {
    let named = |count: u32| {
        let one = |window| format!("rust:{}:SameCubic window={window}", built().display());
        let names: Vec<String> = (1..=count).map(one).collect();
        let values: Vec<&str> = names.iter().map(String::as_str).collect();
        swept("tcp.cc", &values)
    };
    assert_eq!(read(&named(11)).0.cells.len(), 11);
    let read = Plugins::scenario("own.toml", &named(12), Path::new(""), &Options::default());
    let said = read.map(|_| ()).expect_err("one too many").to_string();
    assert!(
        said.contains("at most 11 congestion controls of plug-ins at once"),
        "{said}"
    );
}

#[test]
fn a_panic_ends_the_run_with_its_words() {
    let name = format!("rust:{}:Panics at=50", built().display());
    let (scenario, plugins) = read(&scenario(&[&name]));
    let run = plugins.run(&scenario.cells[0], Taps::default(), &mut |_| {
        ControlFlow::Continue(())
    });
    let error = run.expect_err("it panics").to_string();
    assert_eq!(
        error,
        "plug-in Panics: panicked: arrival 50 is one too many"
    );
}

#[test]
fn wrong_names_are_told() {
    let file = built().display().to_string();
    let wrong = |name: &str| {
        Plugin::load(name, Path::new(""))
            .expect_err(name)
            .to_string()
    };
    assert_eq!(
        wrong("rust:libfaulty.so"),
        "`rust:libfaulty.so` names no plug-in: write `rust:FILE.so:TYPE NAME=VALUE ...`"
    );
    assert_eq!(
        wrong("rust:none.so:Same"),
        format!(
            "none.so cannot be read: No such file in {}",
            std::env::current_dir()
                .expect("a working directory")
                .display()
        )
    );
    assert_eq!(
        wrong(&format!("rust:{file}:Sane")),
        format!("{file} has no AQM and no congestion control `Sane`; did you mean `Same`?")
    );
    for (options, why) in [
        ("target=20", "option `target`: `20`: "),
        (
            "goal=20ms",
            "there is no option `goal`; its options: `target`",
        ),
        (
            "target",
            "`target` is not an option: write options as NAME=VALUE, like `n=5`",
        ),
        (
            "limit=0",
            "option `limit`: `0` is not a number of packets; write 1 or more",
        ),
    ] {
        let said = wrong(&format!("rust:{file}:Same {options}"));
        assert!(said.starts_with(&format!("Same: {why}")), "{said}");
    }
    assert_eq!(
        wrong(&format!("rust:{file}:Panics at=0")),
        "Panics: panicked: at the first there is nothing to see"
    );
}

#[test]
fn other_files_are_no_plug_ins() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = dir.path().join("text.so");
    std::fs::write(&text, "no library").expect("it can be written");
    let name = format!("rust:{}:Same", text.display());
    let said = Plugin::load(&name, Path::new(""))
        .expect_err("a text")
        .to_string();
    assert!(said.contains("text.so cannot be loaded: "), "{said}");
}

#[test]
fn an_error_in_a_scenario_has_its_place() {
    let text = scenario(&["codel", "rust:none.so:Same"]);
    let read = Plugins::scenario("own.toml", &text, Path::new("/"), &Options::default());
    let said = read.map(|_| ()).expect_err("no such file").to_string();
    assert!(
        said.starts_with("own.toml:10:29: dumbbell.qdisc: none.so cannot be read: "),
        "{said}"
    );
    let remark = format!("# \"rust:none.so:Same\"\n{}", scenario(&["codel"]));
    let read = Plugins::scenario("own.toml", &remark, Path::new(""), &Options::default());
    assert!(read.is_ok_and(|read| read.is_none()));
    let options = Options {
        sweeps: vec!["dumbbell.qdisc=[codel, rust:none.so:Same]".to_owned()],
        ..Options::default()
    };
    let read = Plugins::scenario("own.toml", &remark, Path::new(""), &options);
    let said = read.map(|_| ()).expect_err("no such file").to_string();
    assert!(
        said.contains("--sweep: dumbbell.qdisc: none.so cannot be read"),
        "{said}"
    );
}
