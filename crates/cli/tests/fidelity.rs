//! `sojourn fidelity`, in the simulator beside the recorded kernel.

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

/// What the simulator makes of the grid stands in the table beside what the kernel made of it.
#[test]
fn the_recorded_matrix_is_what_the_simulator_yields() {
    let output = fidelity(&["--csv"]);
    assert!(output.status.success(), "{output:?}");
    let table = String::from_utf8(output.stdout).expect("it is text");
    generated::file("scenarios/fidelity/matrix.csv", &table);
}

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

#[test]
fn what_is_wrong_is_said() {
    assert!(refused(&["--cell", "steady/11mbit"]).starts_with(
        "sojourn: --cell steady/11mbit: no cell has such a name; there are 607, such as"
    ));
    let text = refused(&["--decide", "6", "--out", "/no/such/folder"]);
    assert!(
        text.contains(
            "--decide 6: figures are decided between worlds that are run; say --world sim,kernel-tc"
        ),
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
