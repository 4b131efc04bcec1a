//! Study files: what is built in reads, and mistakes are reported with file and line.

#[path = "study/another.rs"]
mod another;
#[path = "study/called.rs"]
mod called;
#[path = "study/marks.rs"]
mod marks;
#[path = "study/pictures.rs"]
mod pictures;
#[path = "study/verdicts.rs"]
mod verdicts;

use sojourn_scenario::{Options, Problems};
use sojourn_study::{
    Extent, Files, Outcomes, Reproduced, Status, Stroke, Study, Unreadable, reproduction,
};
use sojourn_world::{Aggregate, ByWorld, Cost, RunResult, WorldName};
use std::path::PathBuf;

const SIM: WorldName = WorldName::new("sim");
const LIVE: WorldName = WorldName::new("live");

fn load(name: &str) -> Result<Study, Problems> {
    Study::load(name, &Options::default(), &[SIM, LIVE])
}

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

/// A folder in memory: file names and texts.
struct Folder<'a>(&'a [(&'a str, &'a str)]);

impl Files for Folder<'_> {
    fn shown(&self, file: &str) -> String {
        file.to_owned()
    }

    fn base(&self) -> PathBuf {
        PathBuf::new()
    }

    fn read(&self, file: &str) -> Result<String, Unreadable> {
        let found = self.0.iter().find(|(name, _)| *name == file);
        found
            .map(|(_, text)| (*text).to_owned())
            .ok_or(Unreadable::Missing("is not there"))
    }
}

fn read(files: &[(&str, &str)]) -> Result<Study, String> {
    Study::read(&Folder(files), &Options::default(), &[SIM, LIVE])
        .map_err(|problems| problems.to_string())
}

fn parse(text: &str) -> Result<Study, String> {
    read(&[("study.toml", text), ("a.toml", SCENARIO)])
}

/// The beginning of a small study, up to the scenario of its setting.
const HEAD: &str = include_str!("common/study.toml");

fn study(claim: &str) -> String {
    let head = HEAD.replace("scenario.toml", "a.toml");
    format!(
        r#"{head}[axes.aqm]
codel."dumbbell.up.qdisc" = "codel"
fifo."dumbbell.up.qdisc" = "pfifo limit 100"
[[claim]]
{claim}
"#
    )
}

#[test]
fn what_is_built_in_reads() {
    let study = load("codel-red").expect("it is built in");
    let ids: Vec<&str> = study.claims.iter().map(|claim| claim.id.as_str()).collect();
    let expected: Vec<String> = (1..=12).map(|n| format!("R{n}")).collect();
    assert_eq!(ids[..12], expected);
    assert_eq!(study.settings.len(), 10);
    // Five cells at least in each setting, with five seeds.
    for setting in &study.settings {
        assert!(setting.scenario().cells.len() >= 25, "{}", setting.name);
    }
    assert_eq!(study.select(&["R4".into(), "R1".into()]), Ok(vec![0, 3]));
    let error = study
        .select(&["R41".into()])
        .expect_err("no such claim")
        .to_string();
    assert!(
        error.contains("has no claim `R41`") && error.contains("did you mean"),
        "{error}"
    );
    let missing = load("codel-rad").expect_err("no such study");
    assert!(
        missing.to_string().contains("did you mean `codel-red`?"),
        "{missing}"
    );
}

#[test]
fn no_file_of_a_study_that_is_built_in_is_missing() {
    for name in ["home-broadband", "steering"] {
        let study = load(name);
        assert!(study.is_ok(), "{name}: {:?}", study.err());
    }
}

#[test]
fn the_study_of_cake_reads_with_its_references() {
    // Reading checks every figure, axis and value that claims, charts and tables name.
    let study = load("cake").expect("it is built in");
    let ids: Vec<&str> = study.claims.iter().map(|claim| claim.id.as_str()).collect();
    let published = ids.iter().filter(|id| id.starts_with('C')).count();
    assert_eq!((published, ids.len()), (17, 23), "{ids:?}");
    assert_eq!(study.settings.len(), 13);
    let live = study
        .settings
        .iter()
        .filter(|setting| setting.scenarios.len() == 2);
    assert_eq!(live.count(), 7);
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

/// A live scenario that sweeps `queues`.
fn live(queues: &str) -> String {
    let sim = r#"["codel", "pfifo limit 100"]"#;
    assert!(SCENARIO.contains(sim));
    SCENARIO.replace(sim, queues)
}

fn both(claim: &str, live: &str) -> Result<Study, String> {
    let text = study(claim).replace(
        "scenario = \"a.toml\"",
        "scenario = \"a.toml\"\nlive = \"live.toml\"",
    );
    read(&[
        ("study.toml", &text),
        ("a.toml", SCENARIO),
        ("live.toml", live),
    ])
}

#[test]
fn a_claim_is_not_judged_where_the_world_has_no_cell() {
    let claim = |id: &str, check: &str| {
        format!(
            "id = \"{id}\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n\
             check = [{check}]"
        )
    };
    let claims = [
        claim("none", "\"link.utilisation[fifo] > 0\""),
        claim("part", "\"for aqm: link.utilisation < 0\""),
        claim(
            "known",
            "{ holds = \"link.utilisation[codel] < 0\", deviation = { verdict = \"open\", world = \"live\", \
             why = \"It is so.\", within = \"1 < 2\" } }",
        ),
    ];
    let claims = claims.join("\n[[claim]]\n");
    let study = both(&claims, &live(r#"["codel"]"#)).expect("it is right");
    assert_eq!(study.testable(&[0, 1, 2], &LIVE), [1, 2]);
    assert_eq!(study.testable(&[0, 1, 2], &SIM), [0, 1, 2]);
    let status = |world: &WorldName| {
        let judged = study.judge(&[0, 1, 2], world, &Outcomes::default());
        judged
            .into_iter()
            .map(|j| (j.status, j.reason))
            .collect::<Vec<_>>()
    };
    let live = status(&LIVE);
    assert_eq!(live[0].0, Status::NotJudged);
    let none = &live[0].1;
    assert!(none.contains("has none of its cells"), "{none}");
    // No result is no value, and no value fulfils nothing.
    assert_eq!(live[1].0, Status::Model);
    assert!(
        live[1].1.contains("1 of 2 comparisons not run"),
        "{}",
        live[1].1
    );
    let alone = "It is so. No independent reference has measured it.";
    assert_eq!(live[2], (Status::Open, alone.into()));
    let sim: Vec<Status> = status(&SIM).into_iter().map(|s| s.0).collect();
    assert_eq!(
        sim,
        [Status::Model; 3],
        "a deviation of one world is none of the other"
    );
}

#[test]
fn a_live_scenario_must_fit() {
    let claim = "id = \"X\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n\
                 check = [\"link.utilisation[fifo] > 0\"]";
    let error = both(claim, &live(r#"["codel ecn"]"#)).expect_err("a slip of the pen");
    assert!(
        error.contains("study.toml:9:8: setting: its sweep gives"),
        "{error}"
    );
    assert!(
        error.contains("available: codel, pfifo limit 100"),
        "{error}"
    );
    let error = both(claim, &live(r#"["codel"]"#)).expect_err("no claim is about it");
    assert!(
        error.contains("no claim of A finds a cell in it"),
        "{error}"
    );
    // An axis may name the same thing in two ways.
    let claim = claim.replace("[fifo]", "[codel]");
    let text = study(&claim)
        .replace("= \"codel\"", "= [\"codel\", \"codel ecn\"]")
        .replace("\"a.toml\"", "\"a.toml\"\nlive = \"live.toml\"");
    let live = live(r#"["codel ecn"]"#);
    let files = [
        ("study.toml", &text[..]),
        ("a.toml", SCENARIO),
        ("live.toml", &live),
    ];
    let study = read(&files).expect("the axis says so");
    assert_eq!(study.testable(&[0], &LIVE), [0]);
}

const CLAIM: &str = "id = \"X\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n";

/// What takes long is run when it is asked for, by the claim's id or with all the rest.
#[test]
fn an_extent_leaves_settings_out() {
    let more = |setting: &str, key: &str| {
        format!(
            "[[setting]]\nname = \"{setting}\"\nscenario = \"a.toml\"\n{key} = true\n[[claim]]\n{}\
             check = [\"1 < 2\"]\n",
            CLAIM
                .replace("\"A\"", &format!("\"{setting}\""))
                .replace("\"X", &format!("\"{setting}"))
        )
    };
    let first = study(&format!("{CLAIM}check = [\"1 < 2\"]\n"));
    let text = first + &more("B", "slow") + &more("C", "on_request");
    let study = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    let run = |ids: &[&str], extent| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let choice = study.choose(&ids, extent).expect("they are there");
        let cells = study.runs(&choice, &SIM).cells.len();
        (cells / 2, choice.claims, choice.left_out)
    };
    let names = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(run(&[], Extent::Quick), (1, vec![0], names(&["B", "C"])));
    assert_eq!(run(&[], Extent::Usual), (2, vec![0, 1], names(&["C"])));
    assert_eq!(run(&[], Extent::All), (3, vec![0, 1, 2], vec![]));
    assert_eq!(run(&["C"], Extent::Quick), (1, vec![2], vec![]));
}

/// A study with reference values from `csv`, and `more` at its end.
fn measured(check: &str, csv: &str, unit: &str, more: &str) -> Result<Study, String> {
    let reference = format!(
        "[[reference]]\nname = \"kernel\"\nfile = \"k.csv\"\nsource = \"Linux 6.1\"\nunit = {unit}\n"
    );
    let claim = format!("{CLAIM}check = [\"{check}\"]\n{more}");
    let text = study(&claim).replace("[[claim]]", &format!("{reference}[[claim]]"));
    read(&[("study.toml", &text), ("a.toml", SCENARIO), ("k.csv", csv)])
}

const TABLE: &str = "{ delay = \"ms\", used = \"%\" }";

#[test]
fn values_measured_elsewhere_are_quantities() {
    // Two repetitions, a remark, and a value that is missing.
    let csv = "# made by hand\naqm,seed,delay,used\ncodel,1,5,90\ncodel,2,7,\nfifo,1,100,99.5\n";
    let judge = |check: &str| {
        let study = measured(check, csv, TABLE, "").unwrap_or_else(|e| panic!("{check}: {e}"));
        study.judge(&[0], &SIM, &Outcomes::default()).remove(0)
    };
    for (check, ours) in [
        (
            "ref.kernel.delay[codel] ~ 6 within 0%",
            "6.00 ms in 6.00 ms ± 0 %",
        ),
        (
            "for aqm: ref.kernel.delay > 5.9",
            "2 of 2 (closest: aqm=codel: 6.00 ms > 5.90 ms)",
        ),
        ("ref.kernel.used[codel] >= 90%", "90.0 % ≥ 90.0 %"),
        ("max(aqm: ref.kernel.used) > 99%", "99.5 % > 99.0 %"),
        ("rising(aqm: ref.kernel.delay)", "6.00 ms, 100 ms"),
    ] {
        let judged = judge(check);
        assert_eq!(
            (judged.status, judged.ours.as_str()),
            (Status::Published, ours),
            "{check}"
        );
        assert!(judged.seeds.is_empty(), "repetitions are none of our seeds");
    }
    let alone = measured(
        "ref.kernel[fifo] > 99",
        "aqm,value\nfifo,100\n",
        "\"ms\"",
        "",
    );
    let study = alone.expect("one quantity needs no name");
    assert_eq!(study.references()[0].source, "Linux 6.1");
    let files: Vec<&str> = study.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(files, ["study.toml", "a.toml", "k.csv"]);
}

fn refused_values(check: &str, csv: &str, unit: &str, place: &str, message: &str) {
    let error = measured(check, csv, unit, "").expect_err(message);
    assert!(
        error.contains(place) && error.contains(message),
        "{message}\n{error}"
    );
}

#[test]
fn mistakes_in_reference_values_have_a_line() {
    let check = "for aqm: ref.kernel.delay > 1";
    for (check, csv, unit, place, message) in [
        (
            check,
            "aqm,delay,used\ncodle,5,90\n",
            TABLE,
            "k.csv:2:1: ",
            "did you mean `codel`?",
        ),
        (
            check,
            "aqm,delay,used\ncodel,5ms,90\n",
            TABLE,
            "k.csv:2:7: ",
            "`5ms` is not a number",
        ),
        (
            check,
            "aqm,delay,used\ncodel,5\n",
            TABLE,
            "k.csv:2:1: ",
            "2 fields, but the first line names 3",
        ),
        (
            check,
            "aqmm,delay,used\ncodel,5,90\n",
            TABLE,
            "k.csv:1:1: ",
            "did you mean `aqm`?",
        ),
        (check, "", TABLE, "k.csv:1:1: ", "is empty"),
    ] {
        refused_values(check, csv, unit, place, message);
    }
}

#[test]
fn reference_values_that_claims_cannot_use_have_a_line() {
    let good = "aqm,delay,used\ncodel,5,90\nfifo,100,99\n";
    let check = "for aqm: ref.kernel.delay > 1";
    for (check, csv, unit, place, message) in [
        (
            check,
            "aqm,delay\ncodel,5\nfifo,9\n",
            TABLE,
            "study.toml:16:",
            "has no column `used`",
        ),
        (
            check,
            good,
            "{ delay = \"sm\", used = \"%\" }",
            "study.toml:16:",
            "did you mean `ms`?",
        ),
        (
            check,
            "aqm,delay,used\ncodel,5,90\n",
            TABLE,
            "study.toml:22:",
            "k.csv has no value of `ref.kernel.delay` for aqm=fifo (in setting A)",
        ),
        (
            "ref.kernel.delay > 1",
            good,
            TABLE,
            "study.toml:22:",
            "k.csv: nothing is said of the row; they differ in aqm",
        ),
        (
            "ref.kernel.dely[codel] > 1",
            good,
            TABLE,
            "study.toml:22:11: ",
            "did you mean `ref.kernel.delay`?",
        ),
    ] {
        refused_values(check, csv, unit, place, message);
    }
    let error = read(&[
        (
            "study.toml",
            &study("").replace(
                "[[claim]]",
                "[[reference]]\nname = \"k\"\nfile = \"none.csv\"\nsource = \"s\"\nunit = \"ms\"",
            ),
        ),
        ("a.toml", SCENARIO),
    ])
    .expect_err("no such file");
    assert!(
        error.contains("study.toml:14:8: reference[1].file: none.csv is not there"),
        "{error}"
    );
}

#[test]
fn a_further_world_is_a_key_of_its_own() {
    const KERNEL: WorldName = WorldName::new("kernel");
    let claim = format!(
        "{CLAIM}check = [{{ holds = \"link.utilisation[codel] < 0\", deviation = {{ verdict = \"open\", \
         world = \"kernel\", why = \"It is so.\", within = \"1 < 2\" }} }}]"
    );
    let text = study(&claim).replace("\"a.toml\"", "\"a.toml\"\nkernel = \"k.toml\"");
    let scenario = live(r#"["codel"]"#);
    let files = [
        ("study.toml", &text[..]),
        ("a.toml", SCENARIO),
        ("k.toml", &scenario),
    ];
    let error = read(&files).expect_err("nobody said that there is such a world");
    assert!(error.contains("unknown key `kernel`"), "{error}");
    let worlds = [SIM, LIVE, KERNEL];
    let study = Study::read(&Folder(&files), &Options::default(), &worlds).expect("it is right");
    assert!(study.settings[0].scenarios.get(&LIVE).is_none());
    assert_eq!(study.testable(&[0], &KERNEL), [0]);
    let found: ByWorld<Outcomes> = [SIM, KERNEL]
        .map(|world| (world, Outcomes::default()))
        .into_iter()
        .collect();
    let found = Reproduced::new(&study, &[0], found, Vec::new(), None).unwrap();
    assert_eq!(found.count(&SIM, Status::Model), 1);
    assert_eq!(found.count(&KERNEL, Status::Open), 1);
    let decisive = found.claims[0].decisive();
    assert_eq!(decisive.status, Status::Model, "the worst world decides");
}

#[test]
fn what_a_folder_says_of_itself_is_read_back() {
    let study = parse(&study(&format!("{CLAIM}check = [\"1 < 2\"]"))).expect("it is right");
    let found: ByWorld<Outcomes> = [(SIM, Outcomes::default())].into_iter().collect();
    let cost = vec![("runs".to_owned(), 3.0), ("wall_s".to_owned(), 0.1)];
    let notes = Some(vec!["a run failed".to_owned()]);
    let found = Reproduced::new(&study, &[0], found, cost.clone(), notes).unwrap();
    let dir = tempfile::tempdir().unwrap();
    found.write(dir.path()).unwrap();
    let told = reproduction(dir.path()).unwrap().expect("a study's folder");
    assert_eq!((told.study.as_str(), told.cost), ("small", cost));
    assert_eq!(
        (told.claims, told.notes),
        (vec!["X".to_owned()], found.failures)
    );
    for file in [
        "study/study.toml",
        "study/a.toml",
        "report.html",
        "results.parquet",
    ] {
        assert!(dir.path().join(file).is_file(), "{file}");
    }
}
