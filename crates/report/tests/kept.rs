//! Result folders of older programs (`results/`) load, report and lose nothing.

use serde_json::Value;
use sojourn_report::{PAGE, SUMMARY, merge, write};
use std::fs;
use std::path::{Path, PathBuf};

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/results")
        .join(name)
}

fn summary(dir: &Path) -> Value {
    let text = fs::read_to_string(dir.join(SUMMARY)).expect("a summary");
    serde_json::from_str(&text).expect("JSON")
}

/// Everything that stands in `old` stands in `new`; objects may have got further keys.
fn stands(old: &Value, new: &Value, place: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(_)) => {
            for (key, value) in old {
                stands(value, &new[key], &format!("{place}.{key}"));
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{place}");
            for (number, (old, new)) in old.iter().zip(new).enumerate() {
                stands(old, new, &format!("{place}.{number}"));
            }
        }
        _ => assert_eq!(old, new, "{place}"),
    }
}

#[test]
fn old_folders_load_and_report_without_loss() {
    for name in ["run", "live", "apps", "study"] {
        let found = merge(&[kept(name)]).expect(name);
        let again = tempfile::tempdir().expect("a folder");
        write(
            again.path(),
            &found.info,
            &found.whole().expect(name),
            &found.notes,
        )
        .expect(name);
        stands(&summary(&kept(name)), &summary(again.path()), name);
        // The table's part of the results: distributions' points and series.
        let twice = merge(&[again.path().to_owned()]).expect(name);
        assert_eq!(
            format!("{:?}", twice.whole()),
            format!("{:?}", found.whole())
        );
        let page = fs::read_to_string(again.path().join(PAGE)).expect("a page");
        assert!(page.contains(&found.info.name), "{name}");
    }
}

#[test]
fn old_tables_fill_what_summaries_leave_out() {
    let apps = merge(&[kept("apps")]).expect("apps").whole().expect("apps");
    let link = &apps[0].links[1].1;
    let names: Vec<&str> = link.series.iter().map(|series| &*series.metric).collect();
    assert_eq!(
        names,
        ["throughput", "backlog", "drops", "sojourn", "probability"]
    );
    assert_eq!(link.series[0].points.len(), 8);
    assert!(!link.sojourn.cdf.is_empty());
    let flow = |name: &str| {
        let mut flows = apps[0].flows.iter();
        &flows.find(|(known, _)| known == name).expect(name).1
    };
    assert_eq!(flow("dash").measured.len(), 7);
    assert!(flow("sensor").spp_rtt.count > 0 && !flow("sensor").spp_rtt.cdf.is_empty());
    assert_eq!(flow("sensor").app, "telemetry");
}

#[test]
fn old_simulated_and_live_folders_stand_side_by_side() {
    let both = merge(&[kept("run"), kept("live")]).expect("one scenario");
    assert_eq!(both.runs.len(), 6);
    assert_eq!(both.notes.len(), 0, "{:?}", both.notes);
}
