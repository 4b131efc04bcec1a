//! The program from outside: exit status, what stands on which output, what is written.

#[path = "cli/bridges.rs"]
mod bridges;
#[path = "cli/module.rs"]
mod module;

use sojourn_tidy::generated;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const GOOD: &str = include_str!("common/small.toml");

fn sojourn(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(arguments)
        .output()
        .expect("the program has been built")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is text")
}

/// A folder of the test's own with `scenario.toml` in it.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(scenario: &str) -> Self {
        let dir = tempfile::tempdir().expect("there is a folder for temporary files");
        std::fs::write(dir.path().join("scenario.toml"), scenario).expect("it can be written");
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        path.to_str().expect("temporary names are plain").to_owned()
    }

    fn scenario(&self) -> String {
        self.path("scenario.toml")
    }
}

#[test]
fn a_right_scenario_is_shown() {
    let folder = Folder::new(GOOD);
    let output = sojourn(&["check", &folder.scenario()]);
    assert_eq!(output.status.code(), Some(0));
    let shown = text(&output.stdout);
    assert!(shown.contains("2 cells, 2 flows"), "{shown}");
    assert!(shown.contains("pfifo limit 20"), "{shown}");
    assert!(output.stderr.is_empty());
}

#[test]
fn a_wrong_scenario_is_refused_and_nothing_is_written() {
    let folder = Folder::new(&GOOD.replace("2mbit", "2 parsecs"));
    let out = folder.path("out");
    for command in [
        vec!["check", &folder.scenario()],
        vec!["run", &folder.scenario(), "--out", &out],
        vec!["run", &folder.scenario(), "--json"],
    ] {
        let output = sojourn(&command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(output.stdout.is_empty(), "{command:?}");
        let message = text(&output.stderr);
        assert!(
            message.contains("scenario.toml:7:8: dumbbell.rate: `2 parsecs`"),
            "{message}"
        );
    }
    assert!(!Path::new(&out).exists());
}

#[test]
fn wrong_arguments_are_wrong_input() {
    let folder = Folder::new(GOOD);
    let file = folder.scenario();
    for command in [
        vec!["run"],
        vec!["run", &file, "--set", "dumbbell.qdisc=pye"],
        vec!["run", &file, "--jobs", "0"],
        vec!["run", &file, "--seeds", "0"],
        vec!["run", &file, "--out", &file],
        vec!["check", "/nonexistent/scenario.toml"],
        vec!["check", &file, "--cell", "3"],
        vec!["qdisc", "explain", "fq_cobel"],
        vec!["report", "/nonexistent"],
        vec!["reprot"],
        vec!["run", &file, "--set", "dumbbell.qdisc=fq_codel target 5"],
        vec!["bridge", "a1", "b1", "--up-rate", "20"],
        vec!["bridge", "a1", "b1", "--down-rate", "0"],
        vec!["bridge", "a1", "b1", "--up-delay", "5"],
        vec!["bridge", "a1", "b1", "--up", "fq_codel target 5"],
    ] {
        let output = sojourn(&command);
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        assert!(output.stdout.is_empty(), "{command:?}");
        assert!(!output.stderr.is_empty(), "{command:?}");
    }
}

#[test]
fn json_is_alone_on_standard_output() {
    let folder = Folder::new(GOOD);
    let output = sojourn(&["run", &folder.scenario(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(output.stderr.is_empty(), "no bar without a terminal");
    let summary: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document and nothing else");
    assert_eq!(summary["format"], "sojourn-summary/1");
    assert_eq!(summary["cells"].as_array().map(Vec::len), Some(2));
}

/// A queue that is a pair has a row for each, and figures that no other queue has.
#[test]
fn the_queues_of_a_pair_are_shown_apart() {
    let scenario = sojourn_tidy::root().join("scenarios/basics/l4s.toml");
    let folder = Folder::new(&std::fs::read_to_string(scenario).expect("it is in the repository"));
    let run = |queue: &str, more: &[&str]| {
        let set = format!("dumbbell.up.qdisc={queue}");
        let file = folder.scenario();
        let short = ["--set", "duration=5s", "--set", "warmup=1s", "--set", &set];
        let output = sojourn(&[&["run", &file], &short[..], more].concat());
        text(&output.stdout).to_owned()
    };
    let shown = run("dualpi2", &[]);
    for row in ["up    L ", "up    C "] {
        assert!(shown.lines().any(|line| line.starts_with(row)), "{shown}");
    }
    assert!(!run("fq_codel", &[]).contains("up    L "));
    for (queue, has) in [("dualpi2", true), ("fq_codel", false)] {
        let summary: serde_json::Value =
            serde_json::from_str(&run(queue, &["--json"])).expect("JSON");
        for key in ["l_sojourn_ms", "c_dropped_packets", "base_probability"] {
            let links = &summary["cells"][0]["links"];
            assert_eq!(links["up"].get(key).is_some(), has, "{queue} {key}");
            assert_eq!(links["down"].get(key), None, "{key}");
        }
    }
}

#[test]
fn results_do_not_depend_on_the_jobs() {
    let folder = Folder::new(GOOD);
    let summary = |jobs: &str| {
        let file = folder.scenario();
        let output = sojourn(&["run", &file, "--seeds", "3", "--jobs", jobs, "--json"]);
        let mut summary: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a summary");
        // What a run cost depends on the machine.
        for cell in summary["cells"].as_array_mut().expect("a list of cells") {
            cell["cost"] = serde_json::Value::Null;
        }
        summary
    };
    assert_eq!(summary("1"), summary("4"));
}

#[test]
fn a_folder_receives_the_three_files_and_reports_can_be_merged() {
    let folder = Folder::new(GOOD);
    let (one, two, both) = (folder.path("one"), folder.path("two"), folder.path("both"));
    for (out, seed) in [(&one, "1"), (&two, "2")] {
        let output = sojourn(&["run", &folder.scenario(), "--seed", seed, "--out", out]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let mut names: Vec<_> = std::fs::read_dir(out)
            .expect("the folder is there")
            .map(|entry| {
                entry
                    .expect("readable")
                    .file_name()
                    .into_string()
                    .expect("plain")
            })
            .collect();
        names.sort();
        assert_eq!(names, ["report.html", "results.parquet", "summary.json"]);
    }
    let output = sojourn(&["report", &one, &two]);
    assert_eq!(output.status.code(), Some(2), "several folders need --out");
    let output = sojourn(&["report", &one, &two, "--out", &both]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(Path::new(&both).join("report.html").exists());
}

/// Runs of a folder of results.
fn runs(dir: &str) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(Path::new(dir).join("summary.json"));
    let summary: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    summary["cells"].as_array().unwrap().clone()
}

/// Runs of a folder but for what they cost.
fn told(dir: &str) -> Vec<serde_json::Value> {
    let mut runs = runs(dir);
    for run in &mut runs {
        run["cost"] = serde_json::Value::Null;
    }
    runs
}

/// `sojourn run` with three seeds.
fn run_three(file: &str, more: &[&str]) {
    let output = sojourn(&[&["run", file, "--seeds", "3"], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn shards_make_the_whole() {
    let folder = Folder::new(GOOD);
    let (file, out) = (folder.path("scenario.toml"), |name: &str| folder.path(name));
    run_three(&file, &["--out", &out("whole")]);
    run_three(&file, &["--out", &out("a"), "--shard", "1/2"]);
    run_three(&file, &["--out", &out("b"), "--shard", "2/2"]);
    assert_eq!((runs(&out("whole")).len(), runs(&out("a")).len()), (6, 3));
    let merge = |names: &[&str]| {
        let folders: Vec<String> = names.iter().map(|name| out(name)).collect();
        let into = out("both");
        let mut arguments = vec!["merge", "--out", &into];
        arguments.extend(folders.iter().map(String::as_str));
        sojourn(&arguments)
    };
    for (names, said) in [
        (
            &["b"][..],
            "missing: shard 1/2 (`sojourn run FILE --shard 1/2",
        ),
        (&["a", "b", "a"], "both hold shard 1/2"),
        (&["a", "whole"], "whole holds no shard"),
    ] {
        let refused = merge(names);
        assert_eq!(refused.status.code(), Some(2));
        let told = text(&refused.stderr);
        assert!(told.contains(said), "{told}");
    }
    assert!(!Path::new(&out("both")).exists());
    let merged = merge(&["b", "a"]);
    assert!(merged.status.success(), "{}", text(&merged.stderr));
    assert_eq!(told(&out("both")), told(&out("whole")));
    let table = |name: &str| std::fs::read(Path::new(&out(name)).join("results.parquet")).unwrap();
    assert!(table("both") == table("whole"), "the same bytes");
    // Another division has another first shard.
    run_three(&file, &["--out", &out("c"), "--shard", "1/3"]);
    let refused = merge(&["c", "b"]);
    let said = text(&refused.stderr);
    assert!(said.contains("one of 2 shards of 6 runs"), "{said}");
}

#[test]
fn what_is_there_is_not_run_again() {
    let folder = Folder::new(GOOD);
    let (file, out) = (folder.path("scenario.toml"), |name: &str| folder.path(name));
    run_three(&file, &["--out", &out("whole")]);
    run_three(&file, &["--out", &out("a"), "--shard", "1/2"]);
    // Half is there; what it cost stays as it was.
    let cost = || -> Vec<String> {
        let runs = runs(&out("a"));
        let cost = runs.iter().map(|run| run["cost"]["wall_s"].to_string());
        cost.collect()
    };
    let before = cost();
    run_three(&file, &["--out", &out("a"), "--resume"]);
    assert_eq!(told(&out("a")), told(&out("whole")));
    assert!(before.iter().all(|wall| cost().contains(wall)));
    let other = Folder::new(&GOOD.replace("2mbit", "3mbit"));
    let elsewhere = other.path("scenario.toml");
    let refused = sojourn(&["run", &elsewhere, "--out", &out("a"), "--resume"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("results of another scenario"));
}

#[test]
fn runs_become_data_files_of_flents() {
    let folder = Folder::new(GOOD);
    let (file, out) = (folder.path("scenario.toml"), folder.path("out"));
    assert!(sojourn(&["run", &file, "--out", &out]).status.success());
    let flent = folder.path("flent");
    let exported = sojourn(&["export", "--flent", &out, "--out", &flent]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let names = ["pfifo_limit_20", "fq_codel"].map(|queue| {
        format!("{flent}/tcp_nup-2000-01-01T000000.000000.{queue}_seed_1_sim.flent.gz")
    });
    let paths: Vec<&str> = text(&exported.stdout).lines().collect();
    assert_eq!(paths, names);
    for path in paths {
        let bytes = std::fs::read(path).expect("it was written");
        assert_eq!(bytes[..2], [0x1f, 0x8b], "gzip's magic number");
    }
    assert_eq!(
        sojourn(&["export", &out, "--out", &flent]).status.code(),
        Some(2)
    );
    let nowhere = folder.path("nowhere");
    assert_eq!(
        sojourn(&["export", "--flent", &nowhere, "--out", &flent])
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let folder = Folder::new(GOOD);
    let file = folder.scenario();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(["check", &file, "--seeds", "2000"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program has been built");
    drop(child.stdout.take());
    let mut message = String::new();
    let mut stderr = child.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut message).expect("text");
    assert!(child.wait().expect("it ends").success(), "{message}");
    assert_eq!(message, "");
}

#[test]
fn the_schema_and_the_disciplines_are_printed() {
    let schema = sojourn(&["check", "--schema"]);
    assert_eq!(schema.status.code(), Some(0));
    let schema: serde_json::Value = serde_json::from_slice(&schema.stdout).expect("JSON");
    assert!(schema["properties"]["dumbbell"].is_object());
    // Of studies only the program knows the worlds that a file may name.
    let study = sojourn(&["check", "--schema=study"]);
    generated::file("docs/study.schema.json", text(&study.stdout));
    let list = sojourn(&["qdisc", "list"]);
    assert!(text(&list.stdout).contains("fq_codel"));
    let explained = sojourn(&["qdisc", "explain", "fq_codel"]);
    assert!(text(&explained.stdout).contains("target"));
    let version = sojourn(&["--version"]);
    assert!(text(&version.stdout).starts_with("sojourn 0."));
}

/// A study of its own folder, with these claims.
fn study(folder: &Folder, claims: &str) -> String {
    let head = include_str!("../../study/tests/common/study.toml");
    let text = format!(
        "{head}[axes.aqm]\nfifo.\"dumbbell.qdisc\" = \"pfifo limit 20\"\n\
         fq.\"dumbbell.qdisc\" = \"fq_codel\"\n{claims}"
    );
    std::fs::write(folder.0.path().join("study.toml"), text).expect("the folder is ours");
    folder.0.path().display().to_string()
}

fn one_claim(id: &str, check: &str) -> String {
    format!(
        "[[claim]]\nid = \"{id}\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\n\
         check = [{check}]\n"
    )
}

#[test]
fn a_study_is_checked_with_file_line_and_field() {
    let folder = Folder::new(GOOD);
    let name = study(
        &folder,
        &one_claim("T1", "\"for aqm: link.utilisation > 10%\""),
    );
    let file = format!("{name}/study.toml");
    let output = sojourn(&["check", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.contains("small: Small") && shown.contains("T1"),
        "{shown}"
    );
    let output = sojourn(&["check", &file, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["claims"][0]["id"], "T1");

    let right = one_claim("T1", "\"for aqm: link.utilisation > 10%\"");
    let slip = right.replace("utilisation", "utilisaton");
    for (claims, place, message) in [
        (
            right.clone() + "chek = 1\n",
            ":18:1: claim.T1: ",
            "did you mean `check`?",
        ),
        (
            slip,
            ":17:20: claim.T1.check: ",
            "did you mean `link.utilisation`?",
        ),
        (
            right.replace("= \"A\"", "= \"B\""),
            ":14:11: claim.T1.setting: ",
            "available: A",
        ),
    ] {
        study(&folder, &claims);
        let output = sojourn(&["check", &file]);
        assert_eq!(output.status.code(), Some(2));
        let shown = text(&output.stderr);
        assert!(shown.contains(&format!("{file}{place}")), "{shown}");
        assert!(shown.contains(message), "{shown}");
    }

    std::fs::remove_file(folder.0.path().join("scenario.toml")).expect("it is ours");
    let output = sojourn(&["check", &file, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let problem = &json["problems"][0];
    assert_eq!(problem["line"], 8, "{json}");
    assert_eq!(problem["field"], "setting");
}

#[test]
fn reproduce_answers_by_its_exit_status_and_in_json() {
    let folder = Folder::new(GOOD);
    let holds = one_claim("T1", "\"for aqm: link.utilisation > 10%\"");
    let known = one_claim(
        "T2",
        "{ holds = \"link.utilisation[fq] > 2\", deviation = { verdict = \"reference\", why = \
         \"No link carries so much.\", within = \"link.utilisation[fq] < 1.1\", reference = \
         \"ns-3 says so.\" } }",
    );
    let name = study(&folder, &(holds.clone() + &known));
    let output = sojourn(&["reproduce", &name, "--quick", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: serde_json::Value =
        serde_json::from_str(text(&output.stdout)).expect("nothing but JSON");
    assert_eq!(json["format"], "sojourn-claims/2");
    assert_eq!(json["claims"][0]["status"], "published");
    assert_eq!(json["claims"][0]["interval"], serde_json::Value::Null);
    assert_eq!(json["claims"][0]["worlds"][0]["world"], "sim");
    assert_eq!(json["claims"][1]["status"], "reference");
    let reason = "No link carries so much. ns-3 says so.";
    assert_eq!(json["claims"][1]["reason"], reason);
    assert_eq!(json["headline"][0]["reference"], 1);
    assert_eq!(json["headline"][0]["worse"], 0);
    assert_eq!(json["cost"]["runs"], 2);

    let name = study(
        &folder,
        &(holds + &one_claim("T2", "\"link.utilisation[fq] > 2\"")),
    );
    let failing = sojourn(&["reproduce", &name]);
    assert_eq!(failing.status.code(), Some(1));
    assert!(text(&failing.stdout).contains("1 as published, "));
    let chosen = sojourn(&["reproduce", &name, "--claims", "T1"]);
    assert_eq!(chosen.status.code(), Some(0));
    let live = sojourn(&["reproduce", &name, "--world", "both"]);
    assert_eq!(live.status.code(), Some(2));
    assert!(text(&live.stderr).contains("no setting names a `live` scenario"));
    let unknown = sojourn(&["reproduce", &name, "--claims", "T9"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(unknown.stdout.is_empty());

    let name = study(&folder, &one_claim("T1", "\"link.utilisation[fqq] > 0\""));
    let wrong = sojourn(&["reproduce", &name, "--json"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(wrong.stdout.is_empty());
    assert!(
        text(&wrong.stderr).contains("study.toml:17:28"),
        "{}",
        text(&wrong.stderr)
    );
}

#[test]
fn reproduce_writes_what_it_found() {
    let folder = Folder::new(GOOD);
    let chart = "[[chart]]\ntitle = \"Distribution\"\nsetting = \"A\"\nkind = \"distribution\"\n\
                 lines = \"aqm\"\nlabel = \"share\"\n[[table]]\ntitle = \"Used\"\nsetting = \"A\"\n\
                 rows = \"aqm\"\ncolumns = \"aqm\"\nvalue = \"link.utilisation\"\n";
    let claim = one_claim("T1", "\"for aqm: link.utilisation > 10%\"");
    let name = study(&folder, &(claim + chart));
    let out = folder.0.path().join("out");
    let output = sojourn(&[
        "reproduce",
        &name,
        "--quick",
        "--out",
        &out.display().to_string(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let read = |file: &str| std::fs::read_to_string(out.join(file)).expect(file);
    let page = read("report.html");
    assert!(page.contains("<svg") && page.contains("T1") && page.contains("Used"));
    assert!(read("claims.json").contains("sojourn-claims/2"));
    assert!(
        read("summary.json").contains("\"setting\": \"A\"")
            || read("summary.json").contains("\"setting\":\"A\"")
    );
    assert!(out.join("results.parquet").is_file());

    // The folder alone is enough to make the same files again.
    let files = [
        "report.html",
        "claims.json",
        "summary.json",
        "results.parquet",
    ];
    let bytes = |folder: &Path| {
        let read = |file: &str| std::fs::read(folder.join(file)).expect(file);
        files.map(read)
    };
    let again = folder.0.path().join("again");
    let (from, to) = (out.display().to_string(), again.display().to_string());
    let output = sojourn(&["report", &from, "--out", &to]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for ((one, other), file) in bytes(&out).iter().zip(bytes(&again)).zip(files) {
        assert!(*one == other, "{file} is another");
    }
    // The same results twice are the same results.
    let output = sojourn(&["report", &from, &to, "--out", &to]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(bytes(&out)[0] == bytes(&again)[0]);
    std::fs::remove_file(again.join("study/scenario.toml")).expect("it was kept");
    let output = sojourn(&["report", &to]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    assert!(
        text(&output.stderr).contains("study/scenario.toml"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn the_built_in_study_is_listed_and_runs() {
    let list = sojourn(&["reproduce", "--list"]);
    assert_eq!(list.status.code(), Some(0));
    assert!(text(&list.stdout).contains("codel-red"));
    let output = sojourn(&[
        "reproduce",
        "codel-red",
        "--quick",
        "--claims",
        "R1",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let again = [
        "reproduce",
        "codel-red",
        "--quick",
        "--claims",
        "R1",
        "--json",
        "--jobs",
        "1",
    ];
    let claims = |output: &Output| {
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        json["claims"].clone()
    };
    assert_eq!(
        claims(&output),
        claims(&sojourn(&again)),
        "on any number of threads"
    );
}

/// The cells of the reference runs, medians over their seeds: what stays within a tenth of Linux's figures
/// for queues that keep their latency low, and the arithmetic of CAKE's shaper.
#[test]
fn cake_stays_near_linux() {
    let claims = "C1,C5,C8,C9,C10b,C11,L1,L1m,L2,L3,L4,L5";
    let output = sojourn(&["reproduce", "cake", "--claims", claims, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let judged = json["claims"].as_array().map(Vec::len);
    assert_eq!(judged, Some(claims.split(',').count()), "{json}");
}
