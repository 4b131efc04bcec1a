//! Study files: what is built in reads, and mistakes are reported with file and line.

use sojourn_study::{Options, Published, Study};
use std::path::Path;

const SCENARIO: &str = r#"
format = "sojourn-scenario/1"
name = "small"
duration = "2s"
[dumbbell]
rtt = "20ms"
rate = "5mbit"
[sweep]
dumbbell.up.qdisc = ["codel", "pfifo limit 100"]
[[flow]]
name = "one"
direction = "up"
app = "bulk"
"#;

fn parse(text: &str) -> Result<Published, String> {
    let scenario = |file: &str| Study::parse(file, SCENARIO, Path::new(""), &Options::default());
    Published::parse("study.toml", text, &scenario).map_err(|problems| problems.to_string())
}

fn study(claim: &str) -> String {
    format!(
        r#"format = "sojourn-study/1"
name = "small"
title = "Small"
source = "nowhere"
link = "up"
[[setting]]
name = "A"
scenario = "a.toml"
[axes.aqm]
codel."dumbbell.up.qdisc" = "codel"
fifo."dumbbell.up.qdisc" = "pfifo limit 100"
[[claim]]
{claim}
"#
    )
}

#[test]
fn what_is_built_in_reads() {
    let study = Published::load("codel-red", &Options::default()).expect("it is built in");
    let ids: Vec<&str> = study.claims.iter().map(|claim| claim.id.as_str()).collect();
    let expected: Vec<String> = (1..=12).map(|n| format!("R{n}")).collect();
    assert_eq!(ids, expected);
    assert_eq!(study.settings.len(), 3);
    // Twelve cells at least in each setting, with five seeds.
    for setting in &study.settings {
        assert!(setting.study.cells.len() >= 60, "{}", setting.name);
    }
    assert_eq!(study.select(&["R4".into(), "R1".into()]), Ok(vec![0, 3]));
    let error = study.select(&["R41".into()]).expect_err("no such claim");
    assert!(
        error.contains("has no claim `R41`") && error.contains("did you mean"),
        "{error}"
    );
    let missing = Published::load("codel-rad", &Options::default()).expect_err("no such study");
    assert!(
        missing.to_string().contains("did you mean `codel-red`?"),
        "{missing}"
    );
}

#[test]
fn mistakes_in_claims_have_a_line() {
    let head = "id = \"X1\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n";
    for (claim, place, message) in [
        (
            "check = [\"link.sojourn_ms.mean[codle] < 5\"]",
            "study.toml:17:32: claim.X1.check: ",
            "did you mean `codel`?",
        ),
        (
            "check = [\"link.sojourn_ms.mean < 5\"]",
            "study.toml:17:10: claim.X1.check: ",
            "nothing is said of the cell; they differ in dumbbell.up.qdisc (in setting A)",
        ),
        ("check = []", "study.toml:", "a claim needs a check"),
        ("chek = []", "study.toml:17:1: ", "did you mean `check`?"),
        (
            "check = [{ hold = \"1 < 2\" }]",
            "study.toml:17:12: ",
            "did you mean `holds`?",
        ),
    ] {
        let text = study(&format!("{head}{claim}"));
        let error = parse(&text).expect_err(claim);
        assert!(
            error.contains(place) && error.contains(message),
            "{claim}\n{error}"
        );
    }
    let twice = format!("{head}check = [\"1 < 2\"]\n[[claim]]\n{head}check = [\"1 < 2\"]");
    let error = parse(&study(&twice)).expect_err("the same id");
    assert!(error.contains("another claim has the id `X1`"), "{error}");
    let setting = study(&format!("{head}check = [\"1 < 2\"]").replace("\"A\"", "\"B\""));
    let error = parse(&setting).expect_err("no such setting");
    assert!(
        error.contains("study.toml:14:11: claim.X1.setting: no setting"),
        "{error}"
    );
}

#[test]
fn claims_are_judged() {
    let head = "setting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n";
    let claims = [
        ("holds", "check = [\"1 < 2\"]"),
        ("fails", "check = [\"2 < 1\"]"),
        ("known", "check = [\"2 < 1\"]\ndeviation = \"because\""),
        ("cured", "check = [\"1 < 2\"]\ndeviation = \"because\""),
        (
            "half",
            "check = [\"2 < 1\", { holds = \"3 < 1\", deviation = \"why\" }]",
        ),
    ];
    let list: Vec<String> = claims
        .iter()
        .map(|(id, rest)| format!("id = \"{id}\"\n{head}{rest}"))
        .collect();
    let study = parse(&study(&list.join("\n[[claim]]\n"))).expect("it is right");
    let judged = study.judge(&[0, 1, 2, 3, 4], &[Vec::new()]);
    let status: Vec<&str> = judged.iter().map(|claim| claim.status.name()).collect();
    assert_eq!(status, ["pass", "fail", "deviation", "pass", "fail"]);
    assert_eq!(judged[2].reason, "because");
    assert!(
        judged[3].reason.contains("but it holds"),
        "{}",
        judged[3].reason
    );
    assert_eq!(judged[4].checks[0].status.name(), "fail");
    assert_eq!(judged[4].checks[1].status.name(), "deviation");
}
