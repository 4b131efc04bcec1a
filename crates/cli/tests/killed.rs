//! `sojourn run --out` and `sojourn reproduce --out` killed in the middle: finished runs stay,
//! `--resume` goes on, and the folder is that of a run nobody disturbed. And what they hold in
//! memory.

mod common;

use common::{SMALL, good, run};
use serde_json::Value;
use sojourn_report::Spool;
use sojourn_world::{ScenarioInfo, WorldName};
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Flows that begin at different times, so that seeds differ.
fn scenario() -> String {
    SMALL.replace("\"bulk\"", "\"bulk\"\nstart_spread = \"500ms\"")
}

/// Two settings whose cells have the same parameters, with claims, charts and a table of figures, of
/// series and of distributions.
const STUDY: &str = concat!(
    include_str!("../../study/tests/common/study.toml"),
    r#"[[setting]]
name = "far"
scenario = "far.toml"
[axes.aqm]
fifo."dumbbell.qdisc" = "pfifo limit 20"
fq."dumbbell.qdisc" = "fq_codel"
[[claim]]
id = "N1"
setting = "A"
statement = "s"
published = "p"
check = [
    "for aqm: link.sojourn_ms.below(500) > 1%",
    "link.series.throughput.mean(1, 2)[fq] in 1000000 .. 3000000",
]
[[claim]]
id = "F1"
setting = "far"
statement = "s"
published = "p"
check = ["for aqm: link.utilisation > 10%"]
[[chart]]
title = "Distribution"
setting = "A"
kind = "distribution"
lines = "aqm"
label = "share"
[[chart]]
title = "Distribution of the round trips"
setting = "far"
kind = "distribution"
of = "flow.rtt_ms[flow=probe]"
lines = "aqm"
label = "share"
[[chart]]
title = "Backlog"
setting = "far"
kind = "time"
label = "packets"
lines = "aqm"
series = "backlog"
of = "up"
[[table]]
title = "Used"
setting = "far"
rows = "aqm"
columns = "aqm"
value = "link.utilisation"
"#
);

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("there is a folder for temporary files");
    fs::write(dir.path().join("small.toml"), scenario()).expect("it can be written");
    dir
}

/// A scenario whose runs are kept: its number in the folder, and its file.
#[derive(Clone, Copy)]
struct Source<'a>(usize, &'a str);

const SCENARIO: Source<'_> = Source(0, "small.toml");
/// The study's second setting.
const FAR: Source<'_> = Source(1, "far.toml");

/// What the runs took that are kept in a folder without results.
fn kept(out: &Path, Source(number, file): Source<'_>) -> Vec<Times> {
    let dir = out.parent().expect("it is in a folder");
    let info = Arc::new(ScenarioInfo {
        source: fs::read_to_string(dir.join(file)).ok(),
        ..ScenarioInfo::default()
    });
    let (spool, world) = (Spool::of(out), WorldName::new("sim"));
    let runs = (0..40).filter_map(|place| spool.slot(number, &info, &world, place).held());
    let costs = runs.map(|run| (run.figures.cost.wall_s, run.figures.cost.cpu_s));
    costs.collect()
}

/// What a run took on the clock and on the processor, by which it is known: one of them alone is
/// now and then that of another run, where a run takes less than a millisecond.
type Times = (f64, f64);

/// Bytes to which a file of kept runs may grow before the kernel kills whoever writes it: some
/// eight runs, and a part of one.
const MOST: u64 = 100 << 10;

/// Begins a run that is killed when it has kept some: by the kernel, so that how many these are does
/// not depend on how fast anything is. What those took.
fn kill(words: &str, dir: &Path, out: &str, source: Source<'_>) -> Vec<Times> {
    let out = dir.join(out);
    // In units of 512 bytes (POSIX, "ulimit").
    let limited = format!("ulimit -c 0; ulimit -f {}; exec \"$0\" \"$@\"", MOST / 512);
    let killed = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_sojourn")])
        .args(words.split(' '))
        .current_dir(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("a shell is there");
    assert_eq!(killed.signal(), Some(libc::SIGXFSZ), "{killed}");
    assert!(!out.join("summary.json").exists());
    let kept = kept(&out, source);
    assert!(kept.len() >= 4, "{} runs in {MOST} bytes", kept.len());
    kept
}

fn summary(out: &Path) -> Value {
    let text = fs::read_to_string(out.join("summary.json")).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

/// What each run cost, by a key.
fn costs(out: &Path, key: &str) -> Vec<f64> {
    let summary = summary(out);
    let cells = summary["cells"].as_array().expect("cells").iter();
    let costs = cells.map(|cell| cell["cost"][key].as_f64().expect("a number"));
    costs.collect()
}

fn times(out: &Path) -> Vec<Times> {
    let (wall, cpu) = (costs(out, "wall_s"), costs(out, "cpu_s"));
    wall.into_iter().zip(cpu).collect()
}

/// The folders hold the same, but for what the runs cost.
fn assert_same(a: &Path, b: &Path) {
    assert_same_results(a, b);
    let files = |dir: &Path| fs::read_dir(dir).expect("a folder").count();
    assert_eq!((files(a), files(b)), (3, 3));
}

/// Of two folders of studies.
fn assert_same_study(a: &Path, b: &Path) {
    assert_same_results(a, b);
    let claims = |dir: &Path| {
        let text = fs::read_to_string(dir.join("claims.json")).expect("claims");
        let mut claims: Value = serde_json::from_str(&text).expect("JSON");
        let cost = claims["cost"].take();
        (claims, cost["runs"].clone(), cost["events"].clone())
    };
    assert_eq!(claims(a), claims(b));
    assert!(!a.join("unfinished").exists() && !b.join("unfinished").exists());
}

fn assert_same_results(a: &Path, b: &Path) {
    for name in ["results.parquet", "report.html"] {
        let bytes = |dir: &Path| fs::read(dir.join(name)).expect(name);
        assert!(bytes(a) == bytes(b), "{name} is not the same");
    }
    let without_cost = |dir: &Path| {
        let mut summary = summary(dir);
        for cell in summary["cells"].as_array_mut().expect("cells") {
            cell["cost"] = Value::Null;
        }
        summary
    };
    assert_eq!(without_cost(a), without_cost(b));
}

/// The end of the last whole run in a file of what was kept in `out` is missing: that run alone is
/// made again.
fn goes_on_without_one(words: &str, dir: &Path, before: &[Times], source: Source<'_>) {
    let out = dir.join("out");
    let files = fs::read_dir(out.join("unfinished"))
        .expect("a folder")
        .map(|file| file.expect("an entry").path());
    let (bytes, file) = files
        .map(|file| (fs::read(&file).expect("it can be read"), file))
        .find(|(bytes, _)| bytes.len() as u64 == MOST)
        .expect("one was full");
    let cut = |length: usize| fs::write(&file, &bytes[..length]).expect("it can be written");
    // The fewest bytes in which all are whole.
    let (mut less, mut enough) = (0, bytes.len());
    while enough - less > 1 {
        let length = usize::midpoint(less, enough);
        cut(length);
        if kept(&out, source).len() == before.len() {
            enough = length;
        } else {
            less = length;
        }
    }
    cut(enough - 7);
    good(&format!("{words} --resume"), dir);
    let after = times(&out);
    let same = before.iter().filter(|run| after.contains(run)).count();
    assert_eq!(same, before.len() - 1);
}

#[test]
fn what_a_killed_run_has_finished_is_kept() {
    let folder = folder();
    let dir = folder.path();
    good("run small.toml --quiet --seeds 40 --out whole", dir);
    let words = "run small.toml --quiet --seeds 40 --jobs 2 --out out";
    let before = kill(words, dir, "out", SCENARIO);
    goes_on_without_one(words, dir, &before, SCENARIO);
    assert_same(&dir.join("whole"), &dir.join("out"));
    // Without --resume it begins anew.
    let anew = words.replace("out out", "out again");
    let before = kill(&anew, dir, "again", SCENARIO);
    good(&anew, dir);
    let after = times(&dir.join("again"));
    assert!(!before.iter().any(|run| after.contains(run)));
    assert_same(&dir.join("whole"), &dir.join("again"));
}

#[test]
fn a_killed_shard_goes_on() {
    let folder = folder();
    let dir = folder.path();
    good("run small.toml --quiet --seeds 40 --out whole", dir);
    good("run small.toml --quiet --seeds 40 --shard 2/2 --out b", dir);
    let words = "run small.toml --quiet --seeds 40 --jobs 1 --shard 1/2 --out a";
    let before = kill(words, dir, "a", SCENARIO);
    good(&format!("{words} --resume"), dir);
    let after = times(&dir.join("a"));
    assert!(before.iter().all(|run| after.contains(run)));
    good("merge a b --out both", dir);
    assert_same(&dir.join("whole"), &dir.join("both"));
}

/// The folder with the study beside its scenarios.
fn study() -> tempfile::TempDir {
    let dir = folder();
    fs::write(dir.path().join("scenario.toml"), scenario()).expect("it can be written");
    let far = scenario().replace("20ms", "60ms");
    fs::write(dir.path().join("far.toml"), far).expect("it can be written");
    fs::write(dir.path().join("study.toml"), STUDY).expect("it can be written");
    dir
}

#[test]
fn a_killed_study_goes_on() {
    let folder = study();
    let dir = folder.path();
    good("reproduce . --quiet --seeds 20 --out whole", dir);
    let words = "reproduce . --quiet --seeds 20 --jobs 2 --out out";
    // Of the second setting alone: what is kept is known by its setting.
    let before = kill(&format!("{words} --claims F1"), dir, "out", FAR);
    goes_on_without_one(words, dir, &before, FAR);
    assert_same_study(&dir.join("whole"), &dir.join("out"));
    // Without --resume it begins anew.
    good(words, dir);
    let anew = times(&dir.join("out"));
    assert!(!before.iter().any(|run| anew.contains(run)));
}

#[test]
fn a_finished_study_is_run_on() {
    let folder = study();
    let dir = folder.path();
    good("reproduce . --quiet --seeds 3 --claims F1 --out out", dir);
    let before = times(&dir.join("out"));
    good("reproduce . --quiet --seeds 5 --out out --resume", dir);
    let after = times(&dir.join("out"));
    assert_eq!((before.len(), after.len()), (6, 20));
    assert!(before.iter().all(|run| after.contains(run)));
    good("reproduce . --quiet --seeds 5 --out whole", dir);
    assert_same_study(&dir.join("whole"), &dir.join("out"));
    // A setting with another scenario is run again, the other one is not.
    let far = scenario().replace("20ms", "61ms");
    fs::write(dir.join("far.toml"), far).expect("it can be written");
    good("reproduce . --quiet --seeds 5 --out out --resume", dir);
    let now = times(&dir.join("out"));
    let same = now.iter().filter(|run| after.contains(run)).count();
    assert_eq!(same, 10);
    good("run small.toml --quiet --out scenario", dir);
    let words = "reproduce . --quiet --out scenario --overwrite --resume";
    let output = run(words, dir);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("holds no results of study `small`"), "{told}");
}

#[test]
fn memory_does_not_grow_with_series() {
    let dir = folder();
    good(
        "run small.toml --quiet --seeds 200 --jobs 1 --out out",
        dir.path(),
    );
    assert_small_growth(&costs(&dir.path().join("out"), "peak_rss_bytes"));
}

#[test]
fn memory_of_a_study_does_not_grow_with_series() {
    let dir = study();
    good(
        "reproduce . --quiet --seeds 100 --jobs 1 --out out",
        dir.path(),
    );
    assert_small_growth(&costs(&dir.path().join("out"), "peak_rss_bytes"));
}

/// Of 400 runs one after the other, each with a series and a distribution of more than 60 kB.
fn assert_small_growth(peaks: &[f64]) {
    let growth = (peaks[399] - peaks[99]) / 300.0;
    assert!(growth < 30e3, "{growth} bytes a run");
}
