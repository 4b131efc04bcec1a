//! `sojourn fidelity`, in the simulator beside the recorded kernel.

use sojourn_fidelity::Grid;
use sojourn_tidy::generated;
use std::process::{Command, Output};

fn fidelity(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .arg("fidelity")
        .args(arguments)
        .output()
        .expect("the program has been built")
}

fn refused(arguments: &[&str]) -> String {
    let output = fidelity(arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The header and the simulator's lines of the table that these arguments print.
fn simulated(arguments: &[&str]) -> String {
    let output = fidelity(arguments);
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).expect("it is text");
    let is_ours = |line: &&str| line.starts_with("phase,") || line.contains(",sim,");
    table.split_inclusive('\n').filter(is_ours).collect()
}

/// What three seeds of each cell make in the simulator: any change of it is seen here.
#[test]
fn the_simulator_yields_what_is_recorded() {
    let table = simulated(&["--csv", "--seeds", "3"]);
    generated::file("scenarios/fidelity/sim.csv", &table);
}

/// Westwood+ reckons in ticks: Linux 6.1 retransmits 48.3 packets at 250 Hz, 35.7 at 1000 Hz.
#[test]
fn the_simulator_has_the_tick_that_is_asked_for() {
    let retransmissions = |hz: &str| {
        let cell = "steady/20mbit/20ms/cake/westwood/1";
        let table = simulated(&["--csv", "--seeds", "6", "--cell", cell, "--hz", hz]);
        let line = table.lines().nth(1).expect("the cell's").to_owned();
        // phase, rate, rtt, queue, cc, flows, world, seeds; then figures with intervals.
        let word = line
            .split(',')
            .nth(16)
            .expect("the fifth figure")
            .to_owned();
        word.parse::<f64>().expect("a number")
    };
    let (coarse, usual) = (retransmissions("250"), retransmissions("1000"));
    assert!((45.0..52.0).contains(&coarse), "{coarse}");
    assert!((34.0..38.0).contains(&usual), "{usual}");
    let said = refused(&["--kernel-version", "6.1"]);
    assert!(
        said.contains("--kernel-version needs --world kernel"),
        "{said}"
    );
}

/// The matrix has up to 400 seeds of a cell, which take minutes: some of its cells stand for all.
#[test]
fn the_recorded_matrix_is_what_the_simulator_yields() {
    const MATRIX: &str = "scenarios/fidelity/matrix.csv";
    let mut arguments = vec!["--csv", "--seeds", "recorded"];
    if std::env::var_os(generated::WRITE).is_some() {
        let output = fidelity(&arguments);
        assert!(output.status.success(), "{output:?}");
        let table = String::from_utf8(output.stdout).expect("it is text");
        return generated::file(MATRIX, &table);
    }
    let grid = Grid::new(1, false, &[]).expect("the built-in scenarios are right");
    let places = grid.places().into_iter().step_by(SAMPLED);
    let names: Vec<String> = places.map(|place| place.name()).collect();
    arguments.extend(names.iter().flat_map(|name| ["--cell", name]));
    let read = std::fs::read_to_string(sojourn_tidy::root().join(MATRIX));
    let recorded = read.expect("the repository has it");
    let lines: Vec<&str> = recorded.lines().collect();
    let table = simulated(&arguments);
    assert!(table.lines().count() > names.len(), "{table}");
    for line in table.lines() {
        assert!(lines.contains(&line), "{MATRIX} has no line `{line}`");
    }
}

/// One cell of so many is run with all its seeds: a number that shares no factor with the lengths of
/// the grid's axes.
const SAMPLED: usize = 41;

#[test]
fn a_page_and_a_table_are_written_for_the_cells_that_are_named() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let out = dir.path().join("new/out");
    let name = "steady/10mbit/50ms/codel/cubic/4";
    let output = fidelity(&["--cell", name, "--out", out.to_str().expect("it is text")]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("sim and kernel-tc (another TCP and queue code)"),
        "{text}"
    );
    let table = std::fs::read_to_string(out.join("fidelity.csv")).expect("it was written");
    let worlds: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split(',').nth(6))
        .collect();
    assert!(worlds.starts_with(&["world", "sim"]), "{table}");
    assert!(worlds.contains(&"kernel-tc"), "{table}");
    let page = std::fs::read_to_string(out.join("fidelity.html")).expect("it was written");
    assert!(
        page.contains("1</b> cells") && page.contains("sim and kernel-tc"),
        "{page}"
    );
}

/// The simulator alone gets seeds: Linux's figures stay as they are recorded.
#[test]
fn one_world_is_decided_against_the_table() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let cell = ["--cell", "both-ways/10mbit/50ms/pie/reno"];
    let output = fidelity(&[&cell[..], &["--csv", "--seeds", "3"]].concat());
    let before = String::from_utf8(output.stdout).expect("it is text");
    let (table, out) = (dir.path().join("before.csv"), dir.path().join("out"));
    std::fs::write(&table, &before).expect("it can be written");
    let [record, folder] = [&table, &out].map(|path| path.to_str().expect("it is text"));
    let arguments = ["--decide", "6", "--record", record, "--out", folder];
    let output = fidelity(&[&cell[..], &arguments].concat());
    assert!(output.status.success(), "{output:?}");
    let after = std::fs::read_to_string(out.join("fidelity.csv")).expect("it was written");
    let of = |text: &str, world: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.split(',').nth(6) == Some(world));
        line.expect("the world is there").to_owned()
    };
    let seeds = |text: &str| of(text, "sim").split(',').nth(7).map(str::to_owned);
    assert_eq!(seeds(&before).as_deref(), Some("3"), "{before}");
    assert_eq!(seeds(&after).as_deref(), Some("6"), "{after}");
    assert_eq!(of(&before, "kernel-tc"), of(&after, "kernel-tc"));
}

#[test]
fn what_is_wrong_is_said() {
    assert!(refused(&["--cell", "steady/11mbit"]).starts_with(
        "sojourn: --cell steady/11mbit: no cell has such a name; there are 607, such as"
    ));
    let text = refused(&["--seeds", "all"]);
    assert!(
        text.contains("--seeds: `all` is neither a whole number from 1 to 1000 nor `recorded`"),
        "{text}"
    );
    assert!(refused(&["--decide", "6"]).contains("--out"));
    assert!(refused(&["--budget", "6"]).contains("--decide"));
    let dir = tempfile::tempdir().expect("a folder can be made");
    let path = dir.path().join("record.csv");
    std::fs::write(&path, "a,b\n1,2\n").expect("it can be written");
    let file = path.to_str().expect("it is text");
    let text = refused(&["--record", file]);
    let start =
        format!("sojourn: --record {file}: line 1: the columns are `a,b`, expected `phase,rate");
    assert!(text.starts_with(&start), "{text}");
    let said = refused(&["--record", "/no/such/file"]);
    assert_eq!(
        said.matches("No such folder `/no` in /").count(),
        1,
        "{said}"
    );
    assert!(
        refused(&["--world", "moon"]).contains(
            "unknown value `moon`; available: sim, kernel, live, kernel-module, kernel-tc"
        )
    );
}

/// The cells of a table alone.
fn without_figures(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(",ns3,") {
        Some((cell, _)) => format!("{cell},ns3,3{}\n", ",".repeat(14)),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// Its own figures under another name are judged as its own.
#[test]
fn another_simulators_table_is_judged() {
    let dir = tempfile::tempdir().expect("a folder can be made");
    let judge = |text: &str| {
        let file = dir.path().join("other.csv");
        std::fs::write(&file, text).expect("it can be written");
        Command::new(env!("CARGO_BIN_EXE_sojourn"))
            .arg("judge")
            .arg(&file)
            .output()
            .expect("the program has been built")
    };
    let recorded = include_str!("../../../scenarios/fidelity/matrix.csv");
    let head = recorded.lines().next().expect("names of columns");
    let simulated = recorded.lines().filter(|line| line.contains(",sim,"));
    let other = simulated.map(|line| line.replace(",sim,", ",ns3,"));
    let text = format!("{head}\n{}\n", other.collect::<Vec<_>>().join("\n"));
    let output = judge(&text);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = said.lines();
    assert_eq!(
        lines.next(),
        Some("ns3 and kernel-tc (another TCP and queue code): cells equal/different/undecided")
    );
    // As the page of the recorded matrix has it.
    let page = std::fs::read_to_string(sojourn_tidy::root().join("docs/fidelity.md"))
        .expect("the repository has it");
    let counts = |row: Option<&str>| -> Vec<String> {
        let words = row.expect("there is one").split([' ', ',', '|']);
        words
            .filter(|word| word.contains('/'))
            .map(str::to_owned)
            .collect()
    };
    let said = counts(said.lines().find(|line| line.starts_with("all ")));
    assert_eq!(
        said,
        counts(page.lines().find(|line| line.starts_with("| all ")))
    );
    // What cannot be judged is said.
    for (text, why) in [
        (
            String::new(),
            "it is empty: its first line is to be `phase,rate,",
        ),
        (format!("{head}\n"), "it has no cell"),
        (without_figures(&text), "no cell has a figure"),
        (
            text.replace(",ns3,", ",sim,"),
            "the world `sim` is one of Sojourn's",
        ),
        (
            // Other phases in each line.
            text.trim_end().replace('\n', "\nanother-"),
            "none of its cells is recorded",
        ),
        (text.replacen("ns3,3,", "ns3,x,", 1), "line 2: seeds"),
    ] {
        let output = judge(&text);
        assert_eq!(output.status.code(), Some(2), "{why}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            said.contains("other.csv") && said.contains(why),
            "{why}: {said}"
        );
    }
}
