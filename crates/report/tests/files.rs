//! The three files: written, read back, merged, refused.

mod common;

use common::{Shape, info, results};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value;
use sojourn_report::{
    ReportError, Runs, SUMMARY, Spool, TABLE, merge, pack, summary_json, unpack, write,
};
use sojourn_world::{Distribution, RunResult};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

/// The keys that the format promises, in this order, more may follow.
const LINK: [&str; 11] = [
    "offered_packets",
    "offered_bytes",
    "dequeued_packets",
    "dequeued_bytes",
    "dropped_packets",
    "marked_packets",
    "drop_ratio",
    "utilisation",
    "backlog_packets_mean",
    "sojourn_ms",
    "qdisc",
];
const FLOW: [&str; 7] = [
    "goodput_bps",
    "sent_packets",
    "retransmitted_packets",
    "retransmit_ratio",
    "rtt_ms",
    "induced_rtt_ms",
    "loss_ratio",
];
const QUANTILES: [&str; 7] = ["mean", "p25", "p50", "p75", "p95", "p99", "max"];
const COST: [&str; 5] = [
    "events",
    "bottleneck_packets",
    "cpu_s",
    "wall_s",
    "peak_rss_bytes",
];

#[test]
fn the_summary_has_the_promised_keys() {
    let results = results(&Shape::demo());
    let summary: Value = serde_json::from_str(&summary_json(&info(), &results)).unwrap();
    assert_eq!(
        keys(&summary)[..4],
        ["format", "scenario", "version", "cells"]
    );
    assert_eq!(summary["format"], "sojourn-summary/1");
    assert_eq!(summary["scenario"], "demo");
    assert_eq!(summary["cells"].as_array().unwrap().len(), 8);
    let cell = &summary["cells"][0];
    let parts = [
        "world",
        "seed",
        "params",
        "links",
        "flows",
        "aggregate",
        "cost",
    ];
    assert_eq!(keys(cell)[..7], parts);
    assert_eq!(cell["params"]["queue"], "pfifo limit 490");
    assert_eq!(keys(&cell["links"]), ["up", "down"]);
    assert_eq!(keys(&cell["links"]["up"])[..11], LINK);
    assert_eq!(keys(&cell["links"]["up"]["sojourn_ms"])[..7], QUANTILES);
    assert_eq!(cell["links"]["up"]["qdisc"]["kind"], "pfifo");
    assert_eq!(cell["links"]["up"]["qdisc"]["options"]["limit"], 10_240);
    assert_eq!(cell["links"]["up"]["qdisc"]["qlen"], 2);
    let probe = &cell["flows"]["probe"];
    assert_eq!(keys(probe)[..7], FLOW);
    assert_eq!(keys(&probe["rtt_ms"])[..7], QUANTILES);
    assert_eq!(keys(&probe["induced_rtt_ms"])[..7], QUANTILES);
    assert_eq!(keys(&cell["aggregate"]), ["jain", "goodput_bps"]);
    assert_eq!(keys(&cell["cost"]), COST);
    // Whole numbers stay whole.
    assert!(cell["links"]["up"]["offered_packets"].is_u64());
    assert!(probe["goodput_bps"].is_u64());
}

#[test]
fn what_has_no_value_is_null() {
    let mut results = results(&Shape::demo());
    let run = &mut results[0];
    run.aggregate.jain = None;
    run.links[0].1.utilisation = None;
    run.links[0].1.offered_packets = 0;
    run.links[0].1.backlog_packets_mean = f64::NAN;
    run.flows[0].1.sent_packets = 0;
    let summary: Value = serde_json::from_str(&summary_json(&info(), &results)).unwrap();
    let cell = &summary["cells"][0];
    assert!(cell["aggregate"]["jain"].is_null());
    for key in ["utilisation", "drop_ratio", "backlog_packets_mean"] {
        assert!(cell["links"]["up"][key].is_null(), "{key}");
    }
    assert!(cell["flows"]["bulk-up"]["retransmit_ratio"].is_null());
    assert!(cell["flows"]["bulk-up"]["loss_ratio"].is_null());
    // A constant-bit-rate flow has no round-trip samples.
    for key in QUANTILES {
        assert!(cell["flows"]["iot"]["rtt_ms"][key].is_null(), "{key}");
    }
    assert_eq!(cell["flows"]["iot"]["rtt_ms"]["count"], 0);
}

#[test]
fn seeds_give_an_interval() {
    let mut shape = Shape::demo();
    shape.seeds = 3;
    shape.points = 5;
    let mut results = results(&shape);
    for (run, median) in results.iter_mut().take(3).zip([1.0, 2.0, 3.0]) {
        run.flows[5].1.induced_rtt.p50 = median;
    }
    let summary: Value = serde_json::from_str(&summary_json(&info(), &results)).unwrap();
    let groups = summary["over_seeds"].as_array().unwrap();
    assert_eq!(groups.len(), 8);
    assert_eq!(groups[0]["world"], "sim");
    assert_eq!(groups[0]["seeds"], serde_json::json!([1, 2, 3]));
    let median = &groups[0]["flows"]["probe"]["induced_rtt_ms"]["p50"];
    assert_eq!((&median["n"], &median["mean"]), (&3.into(), &2.0.into()));
    // t(0.975, 2) · 1 / √3.
    assert!((median["ci95"].as_f64().unwrap() - 2.4842).abs() < 1e-4);
    assert!(groups[0]["flows"]["iot"]["rtt_ms"]["p50"].is_null());
}

/// Equality in which NaN equals itself.
fn same(a: &[RunResult], b: &[RunResult]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert_eq!(format!("{a:#?}"), format!("{b:#?}"));
    }
}

#[test]
fn what_is_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut results = results(&Shape::demo());
    results[0].seed = u64::MAX;
    results[1].flows[0].1.rtt = Distribution::default();
    write(dir.path(), &info(), &results, &[]).unwrap();
    let merged = merge(&[dir.path().to_owned()]).unwrap();
    assert_eq!(merged.info, info());
    assert!(merged.notes.is_empty());
    same(&merged.whole().unwrap(), &results);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
}

#[test]
fn the_same_results_give_the_same_bytes_even_when_rebuilt() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let results = results(&Shape::demo());
    write(dirs[0].path(), &info(), &results, &[]).unwrap();
    let merged = merge(&[dirs[0].path().to_owned()]).unwrap();
    write(
        dirs[1].path(),
        &merged.info,
        &merged.whole().unwrap(),
        &merged.notes,
    )
    .unwrap();
    for name in [SUMMARY, TABLE, sojourn_report::PAGE] {
        let [a, b] = [0, 1].map(|i| fs::read(dirs[i].path().join(name)).unwrap());
        assert!(a == b, "{name} differs");
    }
}

/// What a table knows of its row groups stays in memory.
#[test]
fn small_runs_share_a_row_group() {
    let dir = tempfile::tempdir().unwrap();
    let results = results(&Shape::demo());
    write(dir.path(), &info(), &results, &[]).unwrap();
    let table = File::open(dir.path().join(TABLE)).unwrap();
    let table = SerializedFileReader::new(table).unwrap();
    let groups = table.metadata().row_groups();
    let rows: Vec<i64> = groups.iter().map(RowGroupMetaData::num_rows).collect();
    assert!(rows.len() < results.len(), "{rows:?}");
    assert!(rows.iter().all(|rows| *rows <= 1 << 15), "{rows:?}");
}

#[test]
fn no_results_at_all_are_fine() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &info(), &[], &[]).unwrap();
    assert_eq!(
        merge(&[dir.path().to_owned()]).unwrap().whole().unwrap(),
        []
    );
}

#[test]
fn sim_and_live_folders_stand_side_by_side() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let all = results(&Shape::demo());
    let (sim, live) = all.split_at(4);
    write(dirs[0].path(), &info(), sim, &[]).unwrap();
    write(dirs[1].path(), &info(), live, &[]).unwrap();
    let merged = merge(&dirs.each_ref().map(|dir| dir.path().to_owned())).unwrap();
    same(&merged.whole().unwrap(), &all);
    assert!(merged.notes.is_empty());
    // The same folder twice changes nothing but says so.
    let twice = merge(&[0, 0].map(|i: usize| dirs[i].path().to_owned())).unwrap();
    same(&twice.whole().unwrap(), sim);
    assert!(twice.notes[0].contains("4 runs"), "{:?}", twice.notes);
}

#[test]
fn different_results_of_the_same_run_are_set_apart() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut all = results(&Shape::demo());
    write(dirs[0].path(), &info(), &all[..4], &[]).unwrap();
    all[0].flows[0].1.retransmitted_packets += 1;
    write(dirs[1].path(), &info(), &all[..4], &[]).unwrap();
    let paths = dirs.each_ref().map(|dir| dir.path().to_owned());
    let merged = merge(&paths).unwrap();
    assert_eq!(merged.runs.len(), 8);
    let folder = ("folder".to_owned(), paths[1].display().to_string());
    assert_eq!(merged.runs[4].figures.params.last(), Some(&folder));
    assert_eq!(merged.info.axes.last().unwrap().field, "folder");
}

#[test]
fn another_scenario_is_refused() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let all = results(&Shape::demo());
    write(dirs[0].path(), &info(), &all, &[]).unwrap();
    let mut other = info();
    other.name = "other".to_owned();
    write(dirs[1].path(), &other, &all, &[]).unwrap();
    let error = merge(&dirs.each_ref().map(|dir| dir.path().to_owned())).unwrap_err();
    assert!(matches!(error, ReportError::Mixed(_)));
    assert!(error.to_string().contains("`other`"), "{error}");
}

fn refusal(dir: &Path) -> String {
    merge(&[dir.to_owned()]).unwrap_err().to_string()
}

#[test]
fn damaged_files_are_refused_by_name_and_reason() {
    let dir = tempfile::tempdir().unwrap();
    let mut all = results(&Shape::demo());
    all.truncate(2);
    let fresh = || write(dir.path(), &info(), &all, &[]).unwrap();
    let [summary, table] = [SUMMARY, TABLE].map(|name| dir.path().join(name));

    fresh();
    fs::remove_file(&table).unwrap();
    assert!(refusal(dir.path()).contains("cannot read"));

    fresh();
    let bytes = fs::read(&table).unwrap();
    fs::write(&table, &bytes[..bytes.len() / 2]).unwrap();
    let reason = refusal(dir.path());
    assert!(reason.contains("results.parquet is damaged"), "{reason}");

    // The page that says which run a row is of.
    fresh();
    let mut bytes = fs::read(&table).unwrap();
    let at = bytes
        .windows(6)
        .position(|window| window == b"queue=")
        .expect("its texts stand as they are");
    for byte in &mut bytes[at..at + 6] {
        *byte ^= 0x55;
    }
    fs::write(&table, bytes).unwrap();
    let reason = refusal(dir.path());
    assert!(reason.contains("results.parquet is damaged"), "{reason}");

    fresh();
    let text = fs::read_to_string(&summary).unwrap();
    fs::write(&summary, &text[..text.len() - 9]).unwrap();
    let reason = refusal(dir.path());
    assert!(reason.contains("summary.json is damaged"), "{reason}");

    for (from, to, expected) in [
        (
            "\"sojourn-summary/1\"",
            "\"sojourn-summary/9\"",
            "its format",
        ),
        (
            "\"sent_packets\"",
            "\"sent_pakets\"",
            "`sent_packets` is missing in `cells.0.flows.",
        ),
        (
            "\"world\": \"sim\"",
            "\"world\": \"the moon\"",
            "world` is `the moon`, which is not a world",
        ),
        ("\"goodput_bps\": ", "\"goodput_bps\": 7", "another run"),
        (
            "\"seed\": 1",
            "\"seed\": 2",
            "results.parquet is damaged: it holds world sim seed 1",
        ),
    ] {
        fresh();
        assert!(text.contains(from), "{from}");
        fs::write(&summary, text.replacen(from, to, 1)).unwrap();
        let reason = refusal(dir.path());
        assert!(reason.contains(expected), "{from}: {reason}");
    }
}

#[test]
fn results_go_through_bytes_and_back() {
    let (info, results) = (info(), results(&Shape::demo()));
    let bytes = pack(&info, Runs::whole(&results)).expect("it is in memory");
    let (info_again, again) = unpack(&bytes).expect("it is whole");
    assert_eq!(info_again, info);
    assert_eq!(
        pack(&info_again, Runs::whole(&again)).ok(),
        Some(bytes.clone())
    );
    for length in [0, 7, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        assert!(
            unpack(&bytes[..length]).is_err(),
            "{length} of {}",
            bytes.len()
        );
    }
}

#[test]
fn many_runs_are_rows_of_tables() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut shape = Shape::demo();
    (shape.seeds, shape.points) = (126, 2);
    let mut many = results(&shape);
    assert_eq!(many.len(), 1008);
    // What few runs lack, or have besides.
    many[3].links.truncate(1);
    many[4].flows[0].1.rtt = Distribution::default();
    many[5].links[0].1.utilisation = None;
    many[6].links[0].1.qdisc.options.clear();
    many[7].program = Some("sojourn 9.9".to_owned());
    write(dirs[0].path(), &info(), &many, &[]).unwrap();
    let text = fs::read_to_string(dirs[0].path().join(SUMMARY)).unwrap();
    let few = summary_json(&info(), &many[..1000]);
    assert!(
        text.len() * 4 < few.len(),
        "{} of {}",
        text.len(),
        few.len()
    );
    let summary: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["format"], "sojourn-summary/2");
    let table = &summary["tables"][0];
    let place = |name: &str| {
        let columns = table["columns"].as_array().unwrap();
        columns
            .iter()
            .position(|column| column == name)
            .expect(name)
    };
    let row = &table["rows"][2];
    assert_eq!((&row[0], &row[place("seed")]), (&2.into(), &3.into()));
    assert_eq!(row[place("params.queue")], "pfifo limit 490");
    let few: Value = serde_json::from_str(&few).unwrap();
    let median = &few["cells"][2]["flows"]["probe"]["rtt_ms"]["p50"];
    assert_eq!(&row[place("flows.probe.rtt_ms.p50")], median);

    let merged = merge(&[dirs[0].path().to_owned()]).unwrap();
    assert_eq!(merged.info, info());
    let again = merged.whole().unwrap();
    same(&again[..16], &many[..16]);
    write(dirs[1].path(), &merged.info, &again, &[]).unwrap();
    for name in [SUMMARY, TABLE, sojourn_report::PAGE] {
        let [a, b] = [0, 1].map(|i| fs::read(dirs[i].path().join(name)).unwrap());
        assert!(a == b, "{name} differs");
    }

    let path = dirs[0].path().join(SUMMARY);
    for (from, to, expected) in [
        ("\n[1,", "\n[1,7,", "`tables.0.rows.1` should be a list of"),
        (
            "[1,\"sim\"",
            "[1,\"the moon\"",
            "`tables.0.rows.1.world` is `the moon`",
        ),
        (
            "\"paths\"",
            "\"pahts\"",
            "should have `paths` and `empty` before `rows`",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let reason = refusal(dirs[0].path());
        assert!(reason.contains("summary.json is damaged"), "{reason}");
        assert!(reason.contains(expected), "{from}: {reason}");
    }
}

#[test]
fn a_spool_gives_back_the_runs_that_are_whole() {
    let dir = tempfile::tempdir().unwrap();
    let runs = results(&Shape::demo());
    let info = Arc::new(info());
    let held = |place: usize, info: &_| {
        let slot = Spool::of(dir.path()).slot(2, info, &runs[0].world, place);
        slot.held()
    };
    let spool = Spool::of(dir.path());
    for (place, run) in runs[..3].iter().enumerate() {
        let slot = spool.slot(2, &info, &run.world, place);
        slot.keep(run.clone()).unwrap();
    }
    let folder = dir.path().join("unfinished");
    fs::write(folder.join("00007.run"), "something else").unwrap();
    for (place, run) in runs[..3].iter().enumerate() {
        let found = held(place, &info).expect("it was kept");
        assert!(found.figures.links[0].1.series[0].points.is_empty());
        same(
            &[found.whole().unwrap().into_owned()],
            std::slice::from_ref(run),
        );
    }
    assert!(held(3, &info).is_none());
    let mut other = (*info).clone();
    other.source = Some("another text".to_owned());
    assert!(held(0, &Arc::new(other)).is_none());
    // Killed while it wrote the last one.
    let file = folder.join("00000.run");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 7]).unwrap();
    assert!(held(1, &info).is_some() && held(2, &info).is_none());
    // Another process goes on in a file of its own.
    let slot = Spool::of(dir.path()).slot(2, &info, &runs[2].world, 2);
    slot.keep(runs[2].clone()).unwrap();
    assert!(held(2, &info).is_some() && folder.join("00001.run").exists());
}
