//! Tables of made-up results, and of a run.

use sojourn_frame::{Frame, Values, distribution_keys, distributions, flows, links, runs, series};
use sojourn_qdisc::{Field, Report, Value};
use sojourn_units::{Rate, Unit};
use sojourn_world::{
    Aggregate, Cost, Distribution, FlowResult, LinkResult, Point, RunResult, Series, WorldName,
};
use std::borrow::Cow;
use std::convert::Infallible;

/// The series of runs that are in memory.
fn series_of(results: &[RunResult], metric: Option<&str>) -> Frame {
    let whole = |number: usize| Ok::<_, Infallible>(Cow::Borrowed(&results[number]));
    let Ok(frame) = series(results, whole, metric);
    frame
}

fn run(params: &[(&str, &str)], seed: u64) -> RunResult {
    let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let rtt = Distribution {
        count: 4,
        mean: 50.0 + seed as f64,
        p50: 49.0,
        ..Distribution::default()
    };
    let flow = FlowResult {
        goodput: Rate::from_bps(1_000_000 * seed),
        rtt: rtt.clone(),
        induced_rtt: rtt,
        app: "bulk".into(),
        elastic: true,
        series: vec![Series {
            metric: "rtt".into(),
            unit: Unit::Ms,
            points: vec![
                Point { t: 0.1, value: 7.0 },
                Point {
                    t: 0.2,
                    value: f64::NAN,
                },
            ],
        }],
        ..FlowResult::default()
    };
    let link = LinkResult {
        offered_packets: 10,
        dropped_packets: 1,
        qdisc: Report {
            kind: "codel".into(),
            stats: vec![Field {
                name: "count".into(),
                value: Value::Int(3),
            }],
            ..Report::default()
        },
        ..LinkResult::default()
    };
    RunResult {
        world: WorldName::new("sim"),
        seed,
        params: params.iter().map(own).collect(),
        links: vec![("up".to_owned(), link.clone()), ("down".to_owned(), link)],
        flows: vec![("bulk".to_owned(), flow)],
        aggregate: Aggregate::default(),
        cost: Cost::default(),
        digest: 255,
        radio: None,
        program: None,
    }
}

fn results() -> [RunResult; 3] {
    let fast = [("dumbbell.rtt", "20ms"), ("dumbbell.down.rate", "12mbit")];
    let slow = [("dumbbell.rtt", "1.5s"), ("dumbbell.qdisc", "pie")];
    [run(&fast, 1), run(&fast, 2), run(&slow, 1)]
}

fn numbers(frame: &Frame, name: &str) -> Vec<Option<f64>> {
    let column = frame
        .column(name)
        .unwrap_or_else(|| panic!("no column {name}"));
    match &column.values {
        Values::Number(numbers) => {
            let some = |number: &f64| Some(*number).filter(|number| !number.is_nan());
            numbers.iter().map(some).collect()
        }
        Values::Whole(numbers) => numbers.iter().map(|number| Some(*number as f64)).collect(),
        Values::Seed(seeds) => seeds.iter().map(|seed| Some(*seed as f64)).collect(),
        other => panic!("{name} holds {other:?}"),
    }
}

fn texts(frame: &Frame, name: &str) -> Vec<Option<String>> {
    match &frame.column(name).expect("the column is there").values {
        Values::Text(words) => words.iter().map(|text| text.map(str::to_owned)).collect(),
        other => panic!("{name} holds {other:?}"),
    }
}

#[test]
fn parameters_are_numbers_in_the_unit_of_their_name() {
    let frame = runs(&results());
    assert_eq!(frame.len(), 3);
    assert_eq!(numbers(&frame, "cell"), [Some(0.0), Some(0.0), Some(1.0)]);
    assert_eq!(numbers(&frame, "seed"), [Some(1.0), Some(2.0), Some(1.0)]);
    let rtt = [Some(20.0), Some(20.0), Some(1500.0)];
    assert_eq!(numbers(&frame, "dumbbell.rtt_ms"), rtt);
    assert_eq!(frame.column("dumbbell.rtt_ms").expect("there").unit, "ms");
    let rate = [Some(12e6), Some(12e6), None];
    assert_eq!(numbers(&frame, "dumbbell.down.rate_bps"), rate);
    assert_eq!(
        texts(&frame, "dumbbell.qdisc"),
        [None, None, Some("pie".to_owned())]
    );
    let digest = Some("00000000000000ff".to_owned());
    assert_eq!(texts(&frame, "digest")[0], digest);
}

#[test]
fn a_distribution_has_a_column_for_each_statistic() {
    let frame = flows(&results());
    assert_eq!(frame.len(), 3);
    let mean = [Some(51.0), Some(52.0), Some(51.0)];
    assert_eq!(numbers(&frame, "rtt_ms_mean"), mean);
    assert_eq!(numbers(&frame, "rtt_ms_count"), [Some(4.0); 3]);
    // No datagram, so no delay; the column is there all the same.
    assert_eq!(numbers(&frame, "delay_ms_p95"), [None; 3]);
    assert_eq!(numbers(&frame, "delay_ms_count"), [Some(0.0); 3]);
    let goodput = [Some(1e6), Some(2e6), Some(1e6)];
    assert_eq!(numbers(&frame, "goodput_bps"), goodput);
    assert!(
        frame.column("app.ar_kbps").is_none(),
        "no app has measured it"
    );
}

/// Also where a figure is whole in one table and lacks a row in another.
#[test]
fn a_figure_has_one_type_in_every_table() {
    let results = results();
    for frame in [runs(&results), flows(&results), links(&results)] {
        let identity = ["cell", "seed", "events"];
        for column in &frame.columns {
            let is_figure = !identity.contains(&column.name.as_str());
            let is_number = matches!(column.values, Values::Number(_));
            let is_whole = matches!(column.values, Values::Whole(_) | Values::Seed(_));
            assert!(is_number || !(is_figure && is_whole), "{}", column.name);
        }
    }
}

#[test]
fn swept_texts_have_the_order_of_the_sweep_and_queues_their_options() {
    let queues = ["pie", "fq_codel target 10ms", "codel"];
    let results = queues.map(|queue| run(&[("dumbbell.qdisc", queue)], 1));
    let backwards: Vec<RunResult> = results.iter().rev().cloned().collect();
    for (results, order) in [(&results[..], [0, 1, 2]), (&backwards, [2, 1, 0])] {
        let frame = flows(results);
        let Values::Text(words) = &frame.column("dumbbell.qdisc").expect("it is there").values
        else {
            panic!("queues are texts")
        };
        assert!(words.is_ordered());
        let list: Vec<&str> = words.list().collect();
        assert_eq!(list, order.map(|place| queues[place]));
    }
    // Only one names its target; the others have their own defaults.
    let target = numbers(&flows(&results), "dumbbell.qdisc.target_ms");
    assert_eq!(target, [Some(15.0), Some(10.0), Some(5.0)]);
    assert!(flows(&results).column("dumbbell.qdisc.limit").is_none());
}

#[test]
fn each_link_is_a_row_with_its_queues_own_statistics() {
    let frame = links(&results());
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(texts(&frame, "link")[..2], [name("up"), name("down")]);
    assert_eq!(numbers(&frame, "drop_ratio"), [Some(0.1); 6]);
    assert_eq!(numbers(&frame, "qdisc_count"), [Some(3.0); 6]);
    assert_eq!(numbers(&frame, "seed")[2..4], [Some(2.0); 2]);
    assert!(frame.column("airtime").is_none(), "there is no radio");
}

#[test]
fn series_are_rows_with_their_time() {
    let frame = series_of(&results(), None);
    assert_eq!(frame.len(), 6);
    assert_eq!(numbers(&frame, "t_s")[..2], [Some(0.1), Some(0.2)]);
    assert_eq!(numbers(&frame, "value")[..2], [Some(7.0), None]);
    assert_eq!(numbers(&frame, "dumbbell.rtt_ms")[4], Some(1500.0));
    assert!(series_of(&results(), Some("cwnd")).is_empty());
}

#[test]
fn distributions_are_rows_with_their_share() {
    let mut results = results();
    let (_, flow) = results[1].flows.iter_mut().next().expect("it has a flow");
    flow.rtt.cdf = vec![(20.0, 0.5), (90.0, 1.0)];
    let whole = |number: usize| Ok::<_, Infallible>(Cow::Borrowed(&results[number]));
    let Ok(frame) = distributions(&results, whole, Some("rtt_ms"));
    assert_eq!(numbers(&frame, "share"), [Some(0.5), Some(1.0)]);
    assert_eq!(numbers(&frame, "value"), [Some(20.0), Some(90.0)]);
    let Ok(other) = distributions(&results, whole, Some("sojourn_ms"));
    assert!(other.is_empty());
    let keys = distribution_keys();
    assert!(keys.contains("rtt_ms") && keys.contains("sojourn_ms") && keys.contains("app.mos"));
    assert!(!keys.contains("goodput_bps"));
}

#[test]
fn no_results_are_tables_without_rows() {
    for frame in [runs(&[]), flows(&[]), links(&[]), series_of(&[], None)] {
        assert!(frame.is_empty());
        assert!(frame.column("seed").is_some());
    }
}
