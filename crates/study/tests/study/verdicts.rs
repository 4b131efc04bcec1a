//! The verdicts of claims, by their checks and marks.

use super::{SIM, parse, study};
use sojourn_study::{Outcomes, Status};

#[test]
fn claims_are_judged() {
    let head = "setting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n";
    let claims = [
        ("holds", "check = [\"1 < 2\"]"),
        ("fails", "check = [\"2 < 1\"]"),
        (
            "known",
            "check = [{ holds = \"2 < 1\", deviation = { verdict = \"reference\", why = \"It is so.\", \
             within = \"2 < 3\", reference = \"ns-2 has it.\" } }]",
        ),
        (
            "cured",
            "check = [{ holds = \"1 < 2\", deviation = { verdict = \"open\", why = \"It is so.\", within = \"2 < 3\" } }]",
        ),
        (
            "half",
            "check = [\"2 < 1\", { holds = \"3 < 1\", deviation = { verdict = \"open\", why = \"It is so.\", within = \"3 < 4\" } }]",
        ),
        (
            "beyond",
            "check = [{ holds = \"2 < 1\", deviation = { verdict = \"open\", why = \"It is so.\", within = \"2 < 1.5\" } }]",
        ),
        (
            "elsewhere",
            "check = [{ holds = \"2 < 1\", deviation = { verdict = \"model\", world = \"live\", why = \"It is so.\", within = \"2 < 3\" } }]",
        ),
        (
            "unbounded",
            "check = [{ holds = \"2 < 1\", deviation = { verdict = \"open\", why = \"It is so.\" } }]",
        ),
    ];
    let list: Vec<String> = claims
        .iter()
        .map(|(id, rest)| format!("id = \"{id}\"\n{head}{rest}"))
        .collect();
    let study = parse(&study(&list.join("\n[[claim]]\n"))).expect("it is right");
    let judged = study.judge(&[0, 1, 2, 3, 4, 5, 6, 7], &SIM, &Outcomes::default());
    let status: Vec<(&str, bool)> = judged
        .iter()
        .map(|claim| (claim.status.word(), claim.is_worse))
        .collect();
    let expected = [
        ("published", false),
        ("model", true),
        ("reference", false),
        ("published", false),
        ("model", true),
        ("model", true),
        ("model", true),
        ("open", false),
    ];
    assert_eq!(status, expected);
    assert_eq!(judged[2].reason, "It is so. ns-2 has it.");
    let beyond = &judged[5].reason;
    assert!(
        beyond.contains("Outside of the mark's bound, 2 < 1.5"),
        "{beyond}"
    );
    assert!(
        judged[3].reason.contains("but it holds"),
        "{}",
        judged[3].reason
    );
    assert_eq!(judged[4].checks[0].status, Status::Model);
    assert_eq!(judged[4].checks[1].status, Status::Open);
}

#[test]
fn what_a_claim_lacks_is_said() {
    for (claim, reason) in [
        (
            "seeds = 2\ncheck = [\"2 < 1\"]",
            "It needs 2 seeds, there is one.",
        ),
        (
            "check = [\"link.utilisation[codel] < link.utilisation[fifo]\"]",
            "It needs 3 seeds, there is one.",
        ),
        (
            "world = \"live\"\ncheck = [\"2 < 1\"]",
            "It is not judged in the sim world.",
        ),
    ] {
        let head = "id = \"X\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n";
        let study = parse(&study(&format!("{head}{claim}"))).expect("it is right");
        let judged = study.judge(&[0], &SIM, &Outcomes::default()).remove(0);
        assert_eq!((judged.status, judged.is_worse), (Status::NotJudged, false));
        assert_eq!(judged.reason, reason);
    }
}
