//! TCP and queues beside what the Linux kernel's made of the same cells
//! (`scenarios/grid/kernel.csv`, which says how it was made). How many agree stands in
//! docs/tcp-grid.md.

mod common;
use common::*;
use sojourn_apps::{Bulk, File};
use sojourn_qdisc::Spec;
use sojourn_tcp::{Algorithm, Config, Ecn};
use sojourn_tidy::{generated, root};
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Cell, LineRate, RunResult};
use std::fmt::Write as _;
use std::fs;

/// Runs of a cell, each with its own dice; the mean of them counts.
const SEEDS: u64 = 12;
/// How long queues wait for the first packet, and what counts from there: whole runs, and the part
/// of them that is start-up.
const BEFORE: u64 = 100;
const WHOLE: u64 = 30_000;
const START: u64 = 4_000;
const COLUMNS: [&str; 7] = [
    "goodput",
    "median",
    "p95",
    "drops",
    "retrans",
    "start_median",
    "start_p95",
];

/// A row of the table: what runs, the kernel's seven figures, and why ours differ.
struct KernelCell {
    text: String,
    phase: String,
    algorithm: Algorithm,
    rate: u64,
    rtt: u64,
    qdisc: String,
    flows: u64,
    ecn: bool,
    figures: [f64; 7],
    why: String,
}

fn parse(line: &str) -> KernelCell {
    let fields: Vec<&str> = line.splitn(15, ',').collect();
    let [phase, cc, rate, rtt, qdisc, flows, ecn, figures @ .., why] = &fields[..] else {
        panic!("fifteen fields: {line}");
    };
    let number = |text: &str| -> u64 { text.parse().expect(line) };
    let figures: Vec<f64> = figures.iter().map(|f| f.parse().expect(line)).collect();
    KernelCell {
        text: fields[..7].join(","),
        phase: (*phase).into(),
        algorithm: *(Algorithm::ALL.iter())
            .find(|algorithm| algorithm.name() == *cc)
            .expect(line),
        rate: number(rate),
        rtt: number(rtt),
        qdisc: (*qdisc).into(),
        flows: number(flows),
        ecn: *ecn == "ecn",
        figures: figures.try_into().expect(line),
        why: (*why).into(),
    }
}

impl KernelCell {
    fn spec(&self) -> Spec {
        let text = if self.qdisc.starts_with("cake") {
            self.qdisc.clone()
        } else {
            format!("htb rate {}mbit burst 1600 over {}", self.rate, self.qdisc)
        };
        text.parse().expect(&text)
    }

    fn cell(&self, millis: u64, seed: u64) -> Cell {
        let config = Config {
            algorithm: self.algorithm,
            ecn: if self.ecn { Ecn::Classic } else { Ecn::Off },
            ..Config::default()
        };
        let rtt = ms(self.rtt);
        let start = |millis| Time::ZERO + ms(BEFORE + millis);
        let mut probe = ping("ping", ms(20), rtt);
        probe.start = start(0);
        let mut flows = vec![probe];
        if self.phase == "files" {
            let mut files = tcp("tcp0", File { size: 1_000_000 }, rtt, config);
            files.start = start(0);
            files.every = Some(Span::from_secs(3));
            flows.push(files);
        } else {
            for index in 0..self.flows {
                let mut bulk = tcp(&format!("tcp{index}"), Bulk, rtt, config);
                bulk.start = start(100 * index);
                flows.push(bulk);
            }
        }
        let fast = LineRate::Fixed(Rate::from_bps(100_000_000_000));
        let link = |name| Hop {
            qdisc: self.spec(),
            ..hop(name, fast.clone())
        };
        let mut cell = dumbbell(link("up"), link("down"), ms(BEFORE + millis), flows);
        cell.warmup = ms(BEFORE);
        cell.link_header = 14;
        cell.seed = seed;
        cell.flow_series = false;
        cell
    }

    fn ours(&self) -> [f64; 7] {
        let mut sums = [0.0; 7];
        for seed in 1..=SEEDS {
            let whole = run(&self.cell(WHOLE, seed));
            let start = run(&self.cell(START, seed));
            let delay = |result: &RunResult| flow_of(result, "ping").induced_rtt.clone();
            let tcp = || whole.flows.iter().filter(|(name, _)| name != "ping");
            // Of the whole run, not since each flow's start.
            let goodput: f64 = tcp()
                .zip((0..).map(|index| 1.0 - 100.0 * f64::from(index) / WHOLE as f64))
                .map(|((_, flow), share)| flow.goodput.as_bps() as f64 * share)
                .sum();
            let retrans: u64 = tcp().map(|(_, flow)| flow.retransmitted_packets).sum();
            let figures = [
                goodput / 1e6,
                delay(&whole).p50,
                delay(&whole).p95,
                link(&whole, "up").dropped_packets as f64,
                retrans as f64,
                delay(&start).p50,
                delay(&start).p95,
            ];
            for (sum, figure) in sums.iter_mut().zip(figures) {
                *sum += figure / SEEDS as f64;
            }
        }
        sums
    }
}

/// Goodput within 1 %, delay within 5 % or 1 ms, packets within 15 % or 10.
fn agrees(column: usize, ours: f64, kernel: f64) -> bool {
    let allowed = match column {
        0 => 0.01 * kernel,
        3 | 4 => (0.15 * kernel).max(10.0),
        _ => (0.05 * kernel).max(1.0),
    };
    (ours - kernel).abs() <= allowed
}

/// A row has a reason where the two are known to differ. Every other must agree, and none has a
/// reason that is no longer needed.
#[test]
fn cells_agree_with_the_kernel() {
    let path = root().join("scenarios/grid/kernel.csv");
    let text = fs::read_to_string(path).expect("it stands in the repository");
    let rows: Vec<KernelCell> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(parse)
        .collect();
    let mut agreeing = [0; 7];
    let mut wrong = Vec::new();
    for row in &rows {
        let ours = row.ours();
        let mut differs = String::new();
        for (column, name) in COLUMNS.iter().enumerate() {
            let (our, kernel) = (ours[column], row.figures[column]);
            if agrees(column, our, kernel) {
                agreeing[column] += 1;
            } else {
                let _ = write!(differs, " {name} {our:.2} {kernel:.2}");
            }
        }
        if differs.is_empty() != row.why.is_empty() {
            let what = if differs.is_empty() {
                "a stale reason"
            } else {
                "differs, ours and the kernel's:"
            };
            wrong.push(format!("{}: {what}{differs}", row.text));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?} {agreeing:?}");
    // Of each figure in two thirds of the cells or more.
    let least = 2 * rows.len() / 3;
    assert!(agreeing.iter().all(|&count| count >= least), "{agreeing:?}");
    let counts = agreeing.map(|count| count.to_string()).join(" | ");
    let table = format!(
        "| of {} rows | goodput | median | p95 | drops | retransmissions | start-up, median | p95 |\n\
         |{}\n| agree | {counts} |",
        rows.len(),
        " --- |".repeat(8)
    );
    generated::part("docs/tcp-grid.md", "cells", &table);
}
