//! `sojourn qdisc add`, `change`, `del` and `show` where the kernel has no module: each error says
//! what is wrong and what would be right. The module itself answers in `contrib/module/test`.

use super::{sojourn, text};
use std::process::Output;

/// Runs the program in a network namespace of its own, which has `lo` alone.
fn alone(words: &str) -> Output {
    let command = format!("exec '{}' {words}", env!("CARGO_BIN_EXE_sojourn"));
    std::process::Command::new("unshare")
        .args(["-n", "sh", "-c", &command])
        .output()
        .expect("unshare(1) is there")
}

fn says(output: &Output, status: i32, parts: &[&str]) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert!(parts.iter().all(|part| said.contains(part)), "{said}");
}

#[test]
fn a_wrong_string_or_name_is_refused_before_the_kernel_is_asked() {
    let output = sojourn(&["qdisc", "add", "lo", "tbf", "rate", "10mbit", "over", "pye"]);
    says(&output, 2, &["pye", "`pie`", "^"]);
    let output = sojourn(&["qdisc", "change", "lo", "fq_codel target 5"]);
    says(&output, 2, &["unit", "^"]);
    says(&sojourn(&["qdisc", "add", "lo"]), 2, &["DISCIPLINE"]);
    let output = sojourn(&["qdisc", "add", "lo", "--parent", "one", "pie"]);
    says(&output, 2, &["`one`", "1:10"]);
    for words in ["add eth7 pie", "change eth7 pie", "del eth7", "show eth7"] {
        says(&alone(&format!("qdisc {words}")), 2, &["`eth7`", "lo"]);
    }
}

#[test]
fn a_kernel_without_the_module_or_the_queue_is_told() {
    says(&alone("qdisc add lo pie"), 1, &["not loaded", "insmod"]);
    let missing = ["`lo` (root)", "no qdisc `sojourn`", "qdisc add lo"];
    says(&alone("qdisc change lo pie"), 2, &missing);
    says(&alone("qdisc del lo"), 2, &missing);
    says(&alone("qdisc del lo --parent 1:10"), 2, &["(parent 1:10)"]);
    for (form, nothing) in [("", ""), ("-j", "[]\n")] {
        let output = alone(&format!("qdisc show lo {form}"));
        assert_eq!(text(&output.stdout), nothing);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
}

/// Where another queue is, it stays.
#[test]
fn another_queue_is_named() {
    let program = env!("CARGO_BIN_EXE_sojourn");
    let script = format!(
        "tc qdisc add dev lo root pfifo limit 7 && '{program}' qdisc add lo pie; echo $? && \
         '{program}' qdisc del lo; echo $?; tc qdisc show dev lo"
    );
    let output = std::process::Command::new("unshare")
        .args(["-n", "sh", "-c", &script])
        .output()
        .expect("unshare(1) is there");
    let shown = text(&output.stdout);
    assert!(shown.starts_with("2\n2\n"), "{shown}");
    assert!(
        shown.contains("pfifo") && shown.contains("limit 7p"),
        "{shown}"
    );
    let said = text(&output.stderr);
    assert!(
        said.contains("`pfifo` already; `tc qdisc del dev lo"),
        "{said}"
    );
    assert!(said.contains("no qdisc `sojourn` but `pfifo`"), "{said}");
}
