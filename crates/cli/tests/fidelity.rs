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
        "sojourn: --cell steady/11mbit: no cell has such a name; there are 285, such as steady/"
    ));
    let dir = tempfile::tempdir().expect("a folder can be made");
    let file = dir.path().join("record.csv");
    std::fs::write(&file, "a,b\n1,2\n").expect("it can be written");
    let file = file.to_str().expect("it is text");
    let text = refused(&["--record", file]);
    let start =
        format!("sojourn: --record {file}: line 1: the columns are `a,b`, expected `phase,rate");
    assert!(text.starts_with(&start), "{text}");
    assert!(refused(&["--record", "/no/such/file"]).contains("No such file or directory"));
    assert!(
        refused(&["--world", "moon"]).contains("[possible values: sim, kernel, live, kernel-tc]")
    );
}
