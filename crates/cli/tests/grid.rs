//! One TCP over the grid of `scenarios/grid/tcp.toml`, beside what the kernel's made of it in the
//! live world (`scenarios/grid/linux.csv`, which says on what machine). Only the simulator runs here.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Points of the link's use.
const USED: f64 = 5.0;
/// Share of the mean time in the queue, or so many ms where that is more.
const DELAY: f64 = 0.15;
const DELAY_MS: f64 = 3.0;

fn grid(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios/grid")
        .join(file)
}

/// What the program says of a scenario, run with these options.
fn summary(file: &str, options: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_sojourn"))
        .args(["run", "--json"])
        .args(options)
        .arg(grid(file))
        .output()
        .expect("the program has been built");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// Use in % and mean time in the queue in ms of every cell, under its parameters.
fn simulated() -> Vec<([String; 4], f64, f64)> {
    let summary = summary("tcp.toml", &[]);
    let cells = summary["cells"].as_array().expect("a list");
    let number = |value: &Value| value.as_f64().expect("a number");
    cells
        .iter()
        .map(|cell| {
            let keys = [
                "flow.bulk.tcp.cc",
                "dumbbell.rate",
                "dumbbell.rtt",
                "dumbbell.qdisc",
            ];
            let key = keys.map(|key| cell["params"][key].as_str().expect("a text").to_owned());
            let up = &cell["links"]["up"];
            let used = 100.0 * number(&up["utilisation"]);
            (key, used, number(&up["sojourn_ms"]["mean"]))
        })
        .collect()
}

/// A row has a reason where the two are known to differ. Every other must agree, and none has a
/// reason that is no longer needed.
#[test]
fn the_grid_agrees_with_the_kernel() {
    let cells = simulated();
    let measured = fs::read_to_string(grid("linux.csv")).expect("it stands beside the scenario");
    let mut rows = measured.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(rows.next(), Some("cc,rate,rtt,buffer,used,delay_ms,why"));
    let mut known = 0;
    let mut seen = 0;
    let mut wrong = Vec::new();
    for row in rows {
        let fields: Vec<&str> = row.splitn(7, ',').collect();
        let [cc, rate, rtt, buffer, used, delay, why] = fields[..] else {
            panic!("seven fields: {row}");
        };
        let number = |text: &str| -> f64 { text.parse().expect(row) };
        let (used, delay) = (number(used), number(delay));
        let key = [cc, rate, rtt, &format!("pfifo limit {buffer}")].map(str::to_owned);
        let found = cells.iter().find(|(cell, ..)| *cell == key);
        let &(_, ours, waited) = found.expect(row);
        let agrees =
            (ours - used).abs() <= USED && (waited - delay).abs() <= (DELAY * delay).max(DELAY_MS);
        seen += 1;
        known += usize::from(!why.is_empty());
        if agrees != why.is_empty() {
            let what = if agrees { "a stale reason" } else { "differs" };
            wrong.push(format!("{what}: {row}: ours {ours:.1} {waited:.1}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(seen, cells.len(), "a row for every cell");
    assert!(10 * known <= seen, "{known} reasons for {seen} rows");
}

/// Allowed difference of goodput, delay's median and 95th percentile, drops and retransmissions: a
/// share, or so much where that is more.
const BOUNDS: [(f64, f64); 5] = [
    (0.01, 0.0),
    (0.05, 1.0),
    (0.05, 1.0),
    (0.15, 10.0),
    (0.15, 10.0),
];
/// Of 35 cells so many agree in each figure at least; what is missing is said in docs/tcp-grid.md, or
/// chance of so few seeds.
const AGREE: [usize; 5] = [32, 31, 32, 32, 32];

/// The figures of a run: of all uploads, the ping and the link up.
fn figures(cell: &Value) -> [f64; 5] {
    let number = |value: &Value| value.as_f64().expect("a number");
    let flows = cell["flows"].as_object().expect("flows by name");
    let uploads = || flows.iter().filter(|(name, _)| name.starts_with("bulk"));
    let sum = |key: &str| uploads().map(|(_, flow)| number(&flow[key])).sum::<f64>();
    let delay = &flows["probe"]["induced_rtt_ms"];
    [
        sum("goodput_bps") / 1e6,
        number(&delay["p50"]),
        number(&delay["p95"]),
        number(&cell["links"]["up"]["dropped_packets"]),
        sum("retransmitted_packets"),
    ]
}

/// Flows that start at random: means over seeds beside the kernel's (`scenarios/grid/starts.csv`).
#[test]
fn flows_started_apart_agree_with_the_kernel() {
    const SEEDS: usize = 6;
    let summary = summary("starts.toml", &["--seeds", &SEEDS.to_string()]);
    let cells = summary["cells"].as_array().expect("a list");
    let measured = fs::read_to_string(grid("starts.csv")).expect("it stands beside the scenario");
    let rows = measured.lines().filter(|line| !line.starts_with('#'));
    let mut agree = [0; 5];
    let mut seen = 0;
    for row in rows.skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let keys = [
            "tcp.cc",
            "flow.bulk.count",
            "dumbbell.rate",
            "dumbbell.rtt",
            "dumbbell.qdisc",
        ];
        let runs: Vec<_> = (cells.iter())
            .filter(|cell| {
                let mut pairs = keys.iter().zip(&fields);
                pairs.all(|(key, field)| cell["params"][key].as_str() == Some(field))
            })
            .map(figures)
            .collect();
        assert_eq!(runs.len(), SEEDS, "{row}");
        seen += 1;
        for (figure, (share, least)) in BOUNDS.into_iter().enumerate() {
            let ours = runs.iter().map(|run| run[figure]).sum::<f64>() / SEEDS as f64;
            let kernel: f64 = fields[6 + 2 * figure].parse().expect(row);
            agree[figure] += usize::from((ours - kernel).abs() <= (share * kernel).max(least));
        }
    }
    assert_eq!(seen * SEEDS, cells.len(), "a row for every cell");
    let enough = agree
        .iter()
        .zip(AGREE)
        .all(|(&count, least)| count >= least);
    assert!(enough, "{agree:?} of {seen}");
}
