//! Studies: `study.toml` beside a scenario; and results that are none.

use super::case::{Case, GOOD, program};

/// A right study, for cases to change a line of.
const STUDY: &str = concat!(
    include_str!("../../../study/tests/common/study.toml"),
    r#"

[axes.aqm]
fifo."dumbbell.qdisc" = "pfifo limit 20"
fq."dumbbell.qdisc" = "fq_codel"

[define]
used = "link.utilisation"

[[claim]]
id = "T1"
setting = "A"
statement = "s"
published = "p"
check = ["for aqm: used > 10%"]
"#
);

/// `sojourn reproduce . --list` of a study; `says` goes on behind the file's name.
fn study(name: &str, text: impl Into<Vec<u8>>, says: &str) -> Case {
    let sweep = "[sweep]\ndumbbell.qdisc = [\"pfifo limit 20\", \"fq_codel\"]\n[dumbbell]";
    let scenario = GOOD
        .replace("qdisc = \"fq_codel\"\n", "")
        .replace("[dumbbell]", sweep);
    Case {
        name: name.to_owned(),
        files: vec![
            ("study.toml", text.into()),
            ("scenario.toml", scenario.into()),
        ],
        ..program(
            "reproduce . --claims T1 --quick",
            &format!("study.toml:{says}"),
        )
    }
}

/// [`STUDY`] with a text, which must be there, replaced.
fn changed(from: &str, to: &str, says: &str) -> Case {
    assert!(STUDY.contains(from), "{from}");
    let name: String = to.chars().take(60).collect();
    study(&name, STUDY.replacen(from, to, 1), says)
}

fn check(words: &str, says: &str) -> Case {
    changed("for aqm: used > 10%", words, says)
}

/// A study whose scenario is another file.
fn scenario(file: &str, says: &str) -> Case {
    let mut case = changed("\"scenario.toml\"", &format!("\"{file}\""), "");
    says.clone_into(&mut case.says);
    case
}

/// A study whose scenario is another text.
fn with_scenario(scenario: &str, says: &str) -> Case {
    let mut case = study(scenario, STUDY, "");
    case.files[1].1 = scenario.as_bytes().to_vec();
    says.clone_into(&mut case.says);
    case
}

/// A folder whose summary is another program's, and large.
fn results() -> Case {
    Case {
        name: "a long list as results".to_owned(),
        files: vec![(
            "summary.json",
            format!("[{}0]", "0,".repeat(20_000_000)).into(),
        )],
        ..program("report .", "summary.json is damaged: invalid type")
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let doubled: String = (1..40)
        .map(|n| format!("d{n} = \"d{} + d{}\"\n", n - 1, n - 1))
        .collect();
    let doubled = format!("used = \"link.utilisation\"\nd0 = \"1\"\n{doubled}");
    let axes: String = (0..4)
        .map(|n| {
            let value = |v| format!("v{v}.\"flow.upload.start\" = \"{v}ms\"\n");
            format!("[axes.a{n}]\n{}", (0..100).map(value).collect::<String>())
        })
        .collect();
    let values: String = (0..60_000).map(|n| format!("1,{n}\n")).collect();
    let reference =
        "[[reference]]\nname = \"r\"\nfile = \"r.csv\"\nsource = \"s\"\nunit = \"ms\"\n[define]";
    let mut recorded = changed("[define]", reference, "");
    recorded
        .files
        .push(("r.csv", format!("aqm,x\n{values}").into()));
    recorded.says = "r.csv:2:".into();
    vec![
        study(
            "a study without end",
            vec![b'#'; 2 << 20],
            " has more than 1048576 bytes",
        ),
        study("an empty study", "", "1:1: missing key `format`"),
        study("no text", [0xff; 10], " is not a text file"),
        study("deep arrays", format!("a = {}", "[".repeat(900_000)), "1:"),
        study(
            "deep keys",
            format!("{}a = 1\n", "a.".repeat(200_000)),
            "1:",
        ),
        study(
            "many keys",
            (0..80_000).map(|n| format!("k{n}=1\n")).collect::<String>(),
            "1:1: ",
        ),
        changed("sojourn-study/1", "sojourn-study/9", "1:10: format: "),
        changed("name = \"small\"\n", "", "1:1: missing key `name`"),
        changed(
            "title = \"Small\"",
            "title = 1",
            "3:9: title: expected a string",
        ),
        changed("\"small\"", "\"\"", "2:8: name: `` is not a name"),
        changed(
            "\"A\"",
            "\"a b\"",
            "7:8: setting[1].name: `a b` is not a name",
        ),
        changed(
            "\"up\"",
            "\"upp\"",
            "5:8: link: no scenario has a link `upp`",
        ),
        changed(
            "link = \"up\"",
            "link = \"up\"\nflow = \"voip-*\"",
            "6:8: flow: no scenario has a flow `voip-*`",
        ),
        check(
            "for aqm: used[link=dwon] > 1",
            "23:30: claim.T1.check: no scenario has a link `dwon`",
        ),
        check(
            "flow.rtt_ms.mean[flow=voip-1] > 1",
            "23:33: claim.T1.check: no scenario has a flow",
        ),
        changed("link =", "lnik =", "5:1: unknown key `lnik`"),
        changed(
            "[[setting]]",
            "[setting]",
            "6:1: setting: expected an array",
        ),
        scenario(
            "nowhere.toml",
            "study.toml:8:12: setting: ./nowhere.toml cannot be read: No such file",
        ),
        scenario(
            "/dev/zero",
            "study.toml:8:12: setting: /dev/zero has more than 1048576 bytes",
        ),
        scenario(
            "pipe",
            "study.toml:8:12: setting: ./pipe is a pipe that nobody writes to",
        ),
        scenario("study.toml", "study.toml:1:10: format: "),
        changed(
            "\"dumbbell.qdisc\"",
            "\"dumbbell.rtt\"",
            "23:10: claim.T1.check: no cell has aqm=fifo",
        ),
        changed(
            "setting = \"A\"",
            "setting = \"B\"",
            "20:11: claim.T1.setting: no setting is named `B`",
        ),
        changed(
            "id = \"T1\"",
            "id = 1",
            "19:6: claim[1].id: expected a string",
        ),
        changed("check = [", "check = [[", "23:"),
        changed(
            "\"link.utilisation\"",
            "\"link.utilisatoin\"",
            "16:9: define.used: ",
        ),
        changed("used = \"link.utilisation\"", &doubled, "26:"),
        check("for aqm: used > ", "23:"),
        check("for aqm: used >> 1", "23:"),
        check(
            "for nothing: used > 1",
            "23:15: claim.T1.check: no axis is named `nothing`",
        ),
        check("for aqm in {a}: used > 1", "23:"),
        check(
            &format!("used > {}1{}", "(".repeat(300_000), ")".repeat(300_000)),
            "23:",
        ),
        check(&format!("used > {}1", "1 + ".repeat(200_000)), "23:"),
        check(&format!("used > {}", "9".repeat(900_000)), "23:"),
        check(&"x".repeat(900_000), "23:"),
        check(
            &format!("used > {}used", "mean(aqm: ".repeat(60_000)),
            "23:",
        ),
        check("used > 1e999", "23:"),
        check("\\u0000", "23:"),
        study(
            "many combinations",
            STUDY
                .replace("[define]", &format!("{axes}[define]"))
                .replace("for aqm:", "for aqm, a0, a1, a2, a3:"),
            "",
        ),
        with_scenario("", "scenario.toml:1:1: missing key `format`"),
        with_scenario(
            &GOOD.replace("10s", "10"),
            "scenario.toml:3:12: duration: `10` needs a unit",
        ),
        recorded,
        results(),
    ]
}
