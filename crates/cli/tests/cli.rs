//! The program from outside: exit status, what stands on which output, what is written.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const GOOD: &str = r#"format = "sojourn-scenario/1"
name = "small"
duration = "2s"

[dumbbell]
rtt = "20ms"
rate = "2mbit"

[sweep]
dumbbell.qdisc = ["pfifo limit 20", "fq_codel"]

[[flow]]
name = "upload"
direction = "up"
app = "bulk"

[[flow]]
name = "probe"
direction = "up"
app = "ping"
"#;

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
    let list = sojourn(&["qdisc", "list"]);
    assert!(text(&list.stdout).contains("fq_codel"));
    let explained = sojourn(&["qdisc", "explain", "fq_codel"]);
    assert!(text(&explained.stdout).contains("target"));
    let version = sojourn(&["--version"]);
    assert!(text(&version.stdout).starts_with("sojourn 0."));
}
