//! Data files as Flent writes them: names of tests and series, and their values.

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use sojourn_apps::{Bulk, Ping};
use sojourn_flent::{Test, Unfit, data_file};
use sojourn_qdisc::Spec;
use sojourn_units::{Rate, Span, Time, Unit};
use sojourn_world::{
    Aggregate, Cell, Cost, Flow, FlowResult, Line, LineRate, Network, Point, RunResult, Series,
    Transport, WorldName,
};
use std::io::Read as _;

/// Streams with their direction and DSCP, and so many probes.
fn cell(streams: &[(bool, u8)], pings: &[(&str, u8)]) -> Cell {
    let mut network = Network::new(["client", "server"]);
    let line = Line::new(LineRate::Fixed(Rate::from_bps(10_000_000)));
    network.join([0, 1], "up", Spec::pfifo(1000), line.clone());
    network.join([1, 0], "down", Spec::pfifo(1000), line);
    let stream = |(number, (is_up, dscp)): (usize, &(bool, u8))| {
        let name = format!("stream-{number}");
        let tcp = Transport::Tcp(sojourn_tcp::Config::default());
        Flow {
            from: usize::from(!is_up),
            to: usize::from(*is_up),
            dscp: *dscp,
            start: Time::from_nanos(200_000_000),
            ..Flow::new(&name, tcp, Bulk)
        }
    };
    let ping = |(name, dscp): &(&str, u8)| Flow {
        dscp: *dscp,
        ..Flow::new(name, Transport::Udp, Ping::default())
    };
    let streams = streams.iter().enumerate().map(stream);
    let flows = streams.chain(pings.iter().map(ping)).collect();
    Cell::new("test", network, flows, Span::from_secs(1))
}

/// Each stream carries its number, from 1, in Mbit/s; probes take 20 ms, the second point lacks.
fn run(cell: &Cell) -> RunResult {
    let points = |values: [f64; 3]| {
        let times = [0.2, 0.4, 0.6].into_iter().zip(values);
        times.map(|(t, value)| Point { t, value }).collect()
    };
    let flow = |(number, flow): (usize, &Flow)| {
        let is_ping = matches!(flow.transport, Transport::Udp);
        let one = |metric: &'static str, unit, values| Series {
            metric: metric.into(),
            unit,
            points: points(values),
        };
        let megabit = 1e6 * (number + 1) as f64;
        let series = if is_ping {
            vec![one("rtt", Unit::Ms, [20.0, f64::NAN, 22.0])]
        } else {
            vec![
                one("goodput", Unit::Bps, [0.0, megabit, megabit]),
                one("cwnd", Unit::Segments, [f64::NAN, 10.0, 11.0]),
            ]
        };
        let result = FlowResult {
            series,
            ..FlowResult::default()
        };
        (flow.name.clone(), result)
    };
    RunResult {
        world: WorldName::new("sim"),
        seed: 7,
        params: vec![(
            "dumbbell.qdisc".to_owned(),
            "fq_codel target 5ms".to_owned(),
        )],
        links: Vec::new(),
        flows: cell.flows.iter().enumerate().map(flow).collect(),
        aggregate: Aggregate::default(),
        cost: Cost::default(),
        digest: 0,
        radio: None,
        program: None,
    }
}

fn read(cell: &Cell) -> (String, Value) {
    let (name, bytes) = data_file(&run(cell), cell).expect("a test fits");
    let mut text = String::new();
    let read = GzDecoder::new(&bytes[..]).read_to_string(&mut text);
    read.expect("it is gzip's");
    (name, serde_json::from_str(&text).expect("it is JSON"))
}

const CLASSES: [u8; 4] = [0, 8, 40, 46];

fn both(dscps: [u8; 4]) -> Vec<(bool, u8)> {
    let up = dscps.into_iter().map(|dscp| (true, dscp));
    up.chain(dscps.map(|dscp| (false, dscp))).collect()
}

#[test]
fn a_cell_is_the_test_that_has_its_flows() {
    for (streams, pings, test) in [
        (both(CLASSES), 1, Some(Test::Rrul)),
        (both([0; 4]), 1, Some(Test::RrulBe)),
        (vec![(true, 0), (false, 0)], 0, Some(Test::RrulBeNflows)),
        (vec![(true, 0); 12], 1, Some(Test::TcpNup)),
        (vec![(false, 8)], 1, Some(Test::TcpNdown)),
        (vec![], 1, Some(Test::Ping)),
        (vec![], 0, None),
    ] {
        let pings = vec![("ping", 0); pings];
        assert_eq!(Test::of(&cell(&streams, &pings)), test, "{streams:?}");
    }
}

#[test]
fn uploads_have_numbers_and_totals() {
    let (name, file) = read(&cell(&[(true, 0), (true, 0)], &[("ping", 0)]));
    assert_eq!(
        name,
        "tcp_nup-2000-01-01T000000.000000.fq_codel_target_5ms_seed_7_sim.flent.gz"
    );
    assert_eq!(file["version"], 4);
    assert_eq!(file["x_values"], json!([0.2, 0.4, 0.6]));
    let results = file["results"].as_object().expect("an object");
    for (series, values) in [
        ("TCP upload::1", json!([null, 1.0, 1.0])),
        ("TCP upload::2", json!([null, 2.0, 2.0])),
        ("TCP upload avg", json!([null, 1.5, 1.5])),
        ("TCP upload sum", json!([null, 3.0, 3.0])),
        // (1 + 2)² / (2 · (1 + 4))
        ("TCP upload fairness", json!([null, 0.9, 0.9])),
        ("Ping (ms) ICMP", json!([20.0, 21.0, 22.0])),
    ] {
        assert_eq!(results[series], values, "{series}");
    }
    assert_eq!(results.len(), 6);
    let raw = &file["raw_values"]["TCP upload::1"];
    let first = json!({ "t": 946_684_800.4, "val": 1.0, "tcp_cwnd": 10.0 });
    assert_eq!(raw[0], first);
    let meta = &file["metadata"];
    assert_eq!(meta["NAME"], "tcp_nup");
    assert_eq!(meta["TEST_PARAMETERS"]["upload_streams"], "2");
    assert_eq!(meta["SERIES_META"]["Ping (ms) ICMP"]["MEAN_VALUE"], 21.0);
}

#[test]
fn rrul_has_the_names_of_its_classes() {
    let pings = [
        ("ping-udp-be", 0),
        ("ping-udp-bk", 8),
        ("ping-udp-ef", 46),
        ("ping-icmp", 0),
    ];
    let (_, file) = read(&cell(&both(CLASSES), &pings));
    let names: Vec<&String> = file["results"]
        .as_object()
        .expect("an object")
        .keys()
        .collect();
    let expected = [
        "TCP upload BE",
        "TCP upload BK",
        "TCP upload CS5",
        "TCP upload EF",
        "TCP download BE",
        "TCP download BK",
        "TCP download CS5",
        "TCP download EF",
        "Ping (ms) UDP BE",
        "Ping (ms) UDP BK",
        "Ping (ms) UDP EF",
        "Ping (ms) ICMP",
        "TCP upload avg",
        "TCP upload sum",
        "TCP download avg",
        "TCP download sum",
        "TCP totals",
        "Ping (ms) avg",
    ];
    assert_eq!(names, expected);
    assert_eq!(file["results"]["TCP totals"], json!([null, 36.0, 36.0]));
}

#[test]
fn the_same_run_is_the_same_file() {
    let cell = cell(&[(false, 0)], &[]);
    assert_eq!(data_file(&run(&cell), &cell), data_file(&run(&cell), &cell));
}

#[test]
fn what_flent_cannot_show_is_refused() {
    let silent = cell(&[], &[]);
    assert_eq!(data_file(&run(&silent), &silent), Err(Unfit::NoTest));
    let cell = cell(&[(true, 0)], &[]);
    let mut run = run(&cell);
    run.flows[0].1.series.clear();
    assert_eq!(data_file(&run, &cell), Err(Unfit::NoSeries));
}
