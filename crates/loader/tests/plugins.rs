//! Plug-ins in scenarios: the decisions are those of the same AQM without a border, and what is
//! wrong is told with its place.

use sojourn_loader::{Plugin, Plugins};
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
    format!(
        r#"format = "sojourn-scenario/1"
name = "own"
duration = "5s"

[dumbbell]
rtt = "40ms"
rate = "8mbit"

[sweep]
dumbbell.qdisc = {queues:?}

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
    let read = Plugins::scenario("own.toml", text, Path::new(""), &Options::default());
    let read = read.unwrap_or_else(|problems| panic!("{problems}"));
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
        "`rust:libfaulty.so` names no plug-in: write `rust:FILE.so:AQM NAME=VALUE ...`"
    );
    assert_eq!(
        wrong("rust:none.so:Same"),
        "none.so cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(
        wrong(&format!("rust:{file}:Sane")),
        format!("{file} has no AQM `Sane`; did you mean `Same`?")
    );
    for (options, why) in [
        ("target=20", "option `target`: `20`: "),
        (
            "goal=20ms",
            "there is no option `goal`; its options: `target`",
        ),
        (
            "target",
            "`target` is no option: write options as NAME=VALUE, like `n=5`",
        ),
        (
            "limit=0",
            "option `limit`: `0` is no number of packets, 1 or more",
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
