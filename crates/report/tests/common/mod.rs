//! Made-up results with the shape of real ones: two links, bulk, ping, cbr and file flows.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use sojourn_qdisc::{Field, Report, Value};
use sojourn_units::{Rate, Span, Unit};
use sojourn_world::{
    Aggregate, Amount, Axis, Cost, Distribution, FlowResult, Gathering, LinkResult, Measured,
    Metric, Point, RunResult, ScenarioInfo, Series, WorldName, jain,
};

/// What to make up.
pub struct Shape<'a> {
    pub worlds: &'a [&'static str],
    /// Parameters of each cell and the scale of its delays in milliseconds.
    pub cells: Vec<(Vec<(String, String)>, f64)>,
    pub seeds: u64,
    pub flows: Vec<(&'static str, &'static str)>,
    pub points: usize,
}

impl Shape<'_> {
    /// Four queues in two worlds with six flows.
    pub fn demo() -> Self {
        let queue = |text: &str| vec![("queue".to_owned(), text.to_owned())];
        Self {
            worlds: &["sim", "live"],
            cells: vec![
                (queue("pfifo limit 490"), 971.0),
                (queue("pie"), 42.0),
                (queue("fq_codel"), 2.2),
                (queue("fq_pie"), 2.8),
            ],
            seeds: 1,
            flows: vec![
                ("bulk-up", "bulk"),
                ("bulk-down", "bulk"),
                ("video-up", "cbr"),
                ("video-down", "cbr"),
                ("iot", "cbr"),
                ("probe", "ping"),
            ],
            points: 600,
        }
    }
}

pub fn info() -> ScenarioInfo {
    ScenarioInfo {
        name: "demo".to_owned(),
        title: "Home broadband, 12/1 Mbit/s".to_owned(),
        description: "One bulk upload and one download beside a video call and a small flow."
            .to_owned(),
        version: 1,
        axes: vec![Axis {
            field: "queue".to_owned(),
            values: ["pfifo limit 490", "pie", "fq_codel", "fq_pie"]
                .map(str::to_owned)
                .to_vec(),
        }],
        source: Some("name = \"demo\"\nversion = 1\n".to_owned()),
        shard: None,
    }
}

/// A generator of the kind of Knuth's MMIX, good enough for pictures.
pub struct Dice(u64);

impl Dice {
    pub fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

pub fn results(shape: &Shape<'_>) -> Vec<RunResult> {
    let mut all = Vec::new();
    for (w, world) in shape.worlds.iter().enumerate() {
        for (c, (params, scale)) in shape.cells.iter().enumerate() {
            for seed in 1..=shape.seeds {
                let mut dice = Dice(seed * 1009 + c as u64 * 31 + w as u64 * 7);
                let scale = scale * (1.0 + 0.06 * dice.next());
                all.push(run(shape, world, seed, params.clone(), scale, &mut dice));
            }
        }
    }
    all
}

fn run(
    shape: &Shape<'_>,
    world: &'static str,
    seed: u64,
    params: Vec<(String, String)>,
    scale: f64,
    dice: &mut Dice,
) -> RunResult {
    let kind = params
        .first()
        .map_or("fifo", |(_, spec)| match spec.split(' ').next() {
            Some("pie") => "pie",
            Some("fq_codel") => "fq_codel",
            Some("fq_pie") => "fq_pie",
            _ => "pfifo",
        });
    let links = [("up", 1e6), ("down", 12e6)]
        .map(|(name, rate)| (name.to_owned(), link(shape, kind, rate, scale, dice)));
    let flows: Vec<_> = shape
        .flows
        .iter()
        .map(|(name, app)| ((*name).to_owned(), flow(shape, app, scale, dice)))
        .collect();
    let goodputs = flows.iter().map(|(_, f)| f.goodput.as_bps() as f64);
    RunResult {
        world: WorldName::new(world),
        seed,
        params,
        links: links.into(),
        aggregate: Aggregate {
            jain: jain(
                flows
                    .iter()
                    .filter(|(_, f)| f.elastic)
                    .map(|(_, f)| f.goodput.as_bps() as f64),
            ),
            goodput_bps: goodputs.sum(),
        },
        flows,
        cost: Cost {
            events: 500_000,
            bottleneck_packets: 60_000,
            cpu_s: 0.031,
            wall_s: 0.033,
            peak_rss_bytes: 12_000_000,
        },
        digest: if world == "sim" {
            0x1234_5678_9abc_def0 ^ seed
        } else {
            0
        },
        radio: None,
        program: Some("0.1.0 (0123456789ab)".to_owned()),
    }
}

fn spread(scale: f64, floor: f64, dice: &mut Dice) -> Distribution {
    let mut samples: Vec<f64> = (0..2000)
        .map(|_| floor + scale * (0.4 + dice.next() + 0.6 * dice.next() * dice.next()))
        .collect();
    samples.sort_by(f64::total_cmp);
    let at = |q: f64| samples[(q * 1999.0) as usize];
    Distribution {
        count: 2000,
        mean: samples.iter().sum::<f64>() / 2000.0,
        min: samples[0],
        p5: at(0.05),
        p25: at(0.25),
        p50: at(0.5),
        p75: at(0.75),
        p95: at(0.95),
        p99: at(0.99),
        max: samples[1999],
        cdf: (0..200)
            .map(|i| (samples[i * 10 + 9], (i * 10 + 10) as f64 / 2000.0))
            .collect(),
    }
}

fn series(
    shape: &Shape<'_>,
    metric: &'static str,
    unit: Unit,
    mut value: impl FnMut(f64) -> f64,
) -> Series {
    let points = (1..=shape.points).map(|i| {
        let t = i as f64 * 0.1;
        Point { t, value: value(t) }
    });
    Series {
        metric: metric.into(),
        unit,
        points: points.collect(),
    }
}

fn saw(t: f64, period: f64) -> f64 {
    0.6 + 0.4 * (t / period).fract()
}

fn link(
    shape: &Shape<'_>,
    kind: &'static str,
    rate: f64,
    scale: f64,
    dice: &mut Dice,
) -> LinkResult {
    let period = 3.0 + scale.sqrt() / 4.0;
    let field = |name: &'static str, value| Field {
        name: name.into(),
        value,
    };
    let packets = (rate / 12_000.0 * shape.points as f64 / 10.0) as u64;
    let counted = packets.cast_signed();
    LinkResult {
        offered_packets: packets + packets / 50,
        offered_bytes: (packets + packets / 50) * 1514,
        dequeued_packets: packets,
        dequeued_bytes: packets * 1514,
        dropped_packets: packets / 50,
        utilisation: Some(0.93 + 0.06 * dice.next()),
        backlog_packets_mean: rate * scale / 1000.0 / 12_000.0,
        sojourn: spread(scale / (rate / 1e6).sqrt(), 0.0, dice),
        qdisc: Report {
            kind: kind.into(),
            options: vec![
                field("limit", Value::Int(10_240)),
                field("ecn", Value::Bool(true)),
            ],
            stats: vec![
                field("bytes", Value::Int(counted * 1514)),
                field("packets", Value::Int(counted)),
                field("drops", Value::Int(counted / 50)),
                field("overlimits", Value::Int(0)),
                field("requeues", Value::Int(0)),
                field("backlog", Value::Int(3028)),
                field("qlen", Value::Int(2)),
                field("prob", Value::Float(0.0125)),
            ],
            inner: None,
        },
        series: vec![
            series(shape, "throughput", Unit::Bps, |t| {
                rate * (0.97 + 0.03 * dice.next()) * (1.0 - libm::exp(-t))
            }),
            series(shape, "backlog", Unit::Packets, |t| {
                rate * scale / 12e6 * saw(t, period)
            }),
            series(shape, "drops", Unit::Packets, |t| {
                if (t / period).fract() > 0.93 {
                    3.0
                } else {
                    0.0
                }
            }),
            series(shape, "sojourn", Unit::Ms, |t| {
                scale / (rate / 1e6).sqrt() * saw(t, period)
            }),
        ],
        ..LinkResult::default()
    }
}

fn flow(shape: &Shape<'_>, app: &'static str, scale: f64, dice: &mut Dice) -> FlowResult {
    let elastic = app == "bulk" || app == "file";
    let rate = if elastic {
        4e6 * (0.5 + dice.next())
    } else {
        280e3
    };
    let rate = if app == "ping" { 5_120.0 } else { rate };
    let silent = app == "cbr";
    let empty = Distribution::default;
    let period = 3.0 + scale.sqrt() / 4.0 + dice.next();
    let mut list = vec![series(shape, "goodput", Unit::Bps, |t| {
        rate * saw(t, period) * (0.9 + 0.2 * dice.next())
    })];
    if !silent {
        list.push(series(shape, "rtt", Unit::Ms, |t| {
            if (t * 3.3).fract() > 0.955 {
                f64::NAN
            } else {
                40.0 + scale * (saw(t, period) + 0.3 * dice.next())
            }
        }));
    }
    if elastic {
        list.push(series(shape, "cwnd", Unit::Segments, |t| {
            30.0 * saw(t, period)
        }));
    }
    FlowResult {
        app: app.into(),
        elastic,
        goodput: Rate::from_bps_f64(rate * 0.85),
        sent_packets: (rate / 1500.0) as u64,
        retransmitted_packets: if elastic { 37 } else { 0 },
        rtt: if silent {
            empty()
        } else {
            spread(scale, 40.0, dice)
        },
        induced_rtt: if silent {
            empty()
        } else {
            spread(scale, 0.0, dice)
        },
        delay: if silent || app == "ping" {
            spread(scale / 2.0, 20.0, dice)
        } else {
            empty()
        },
        throughput: if elastic {
            spread(rate, 0.0, dice)
        } else {
            empty()
        },
        measured: reports(dice),
        loss_ratio: (!elastic).then(|| 0.004 * dice.next()),
        completed: (app == "file").then(|| Span::from_millis(1234)),
        started: 1,
        series: list,
        ..FlowResult::default()
    }
}

/// One of each way in which apps' own figures are gathered.
fn reports(dice: &mut Dice) -> Vec<Measured> {
    let first = |gathering| {
        Metric::ALL
            .into_iter()
            .find(|m| m.measure().gathering == gathering)
    };
    let sum = first(Gathering::Sum).map(|metric| (metric, Amount::Sum(3.0)));
    let sample =
        first(Gathering::Sample).map(|metric| (metric, Amount::Spread(spread(5.0, 1.0, dice))));
    let mut list: Vec<_> = [sum, sample].into_iter().flatten().collect();
    list.sort_by_key(|(metric, _)| Metric::ALL.into_iter().position(|m| m == *metric));
    list.into_iter()
        .map(|(metric, amount)| Measured { metric, amount })
        .collect()
}
