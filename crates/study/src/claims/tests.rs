//! The claim language: what it reads, what it refuses, and what it finds in made-up results.

use super::evaluate::{Cells, Evaluator, Missing};
use super::finding::Finding;
use super::parse::{check, quantity};
use super::{Axis, AxisValue, Expr, Set, Vocabulary};
use crate::study::Outcomes;
use sojourn_qdisc::{Field, Report, Spec, Value};
use sojourn_scenario::Outcome;
use sojourn_units::{Span, Unit};
use sojourn_world::{
    Aggregate, Cell, Cost, Distribution, Line, LineRate, LinkRecorder, Network, Point, RunResult,
    Series, Window,
};
use std::ops::Range;

fn axis(name: &str, values: &[&str]) -> Axis {
    Axis {
        name: name.into(),
        values: values
            .iter()
            .map(|value| AxisValue {
                name: (*value).into(),
                params: vec![(format!("field.{name}"), vec![(*value).into()])],
            })
            .collect(),
    }
}

fn words() -> Vocabulary {
    let mut words = Vocabulary {
        axes: vec![axis("aqm", &["codel", "red"]), axis("n", &["3", "6", "14"])],
        sets: vec![Set {
            name: "ends".into(),
            axis: 1,
            values: vec![0, 2],
        }],
        link: "up".into(),
        flow: "*".into(),
        links: vec!["up".into(), "down".into()],
        flows: vec!["voip-1".into(), "a".into(), "b".into()],
        ..Vocabulary::default()
    };
    let delay = quantity("link.sojourn_ms.mean", &words).expect("it is a figure");
    words.definitions.push(("delay".into(), delay));
    words
}

fn count(name: &'static str, number: i64) -> Field {
    Field {
        name: name.into(),
        value: Value::Int(number),
    }
}

/// What CAKE below a shaper says of itself.
fn shaped_cake() -> Report {
    Report {
        kind: "htb".into(),
        options: Vec::new(),
        stats: vec![count("drops", 3)],
        inner: Some(Box::new(Report {
            kind: "cake".into(),
            options: Vec::new(),
            stats: vec![
                count("drops", 4),
                count("max_adj_size", 1552),
                Field {
                    name: "tins".into(),
                    value: Value::Groups(vec![
                        vec![count("way_collisions", 2), count("ack_drops", 1)],
                        vec![count("way_collisions", 5), count("ack_drops", 0)],
                    ]),
                },
            ],
            inner: None,
        })),
    }
}

/// Two queues by three numbers of flows, three seeds each. CoDel's mean delays are 10, 20 and
/// 30 ms, RED's ten times as much; the seeds differ by −1, 0 and +5 ms.
fn results() -> (Vec<Cell>, Vec<Outcome>) {
    let mut network = Network::new(["client", "server"]);
    for (way, name) in [([0, 1], "up"), ([1, 0], "down")] {
        let line = Line::new(LineRate::Infinite);
        network.join(way, name, Spec::pfifo(10), line);
    }
    let (mut cells, mut outcomes) = (Vec::new(), Vec::new());
    for (aqm, factor) in [("codel", 10.0), ("red", 100.0)] {
        for (step, n) in ["3", "6", "14"].into_iter().enumerate() {
            for (seed, off) in [(1, -1.0), (2, 0.0), (3, 5.0)] {
                let cell = Cell {
                    params: vec![
                        ("field.aqm".into(), aqm.into()),
                        ("field.n".into(), n.into()),
                    ],
                    seed,
                    sample_every: Span::from_secs(1),
                    ..Cell::new("made-up", network.clone(), Vec::new(), Span::from_secs(1))
                };
                let mut link = LinkRecorder::new(Window::of(&cell), None).finish(shaped_cake());
                link.sojourn = Distribution {
                    count: 100,
                    mean: factor * (step + 1) as f64 + off,
                    max: 1000.0,
                    cdf: vec![(10.0, 0.25), (20.0, 0.75), (1000.0, 1.0)],
                    ..Distribution::default()
                };
                // Of the second of four intervals nothing is known.
                let values = [8.0, f64::NAN, 2.0, 4.0 + off];
                let points = values.iter().zip([0.5, 1.0, 1.5, 2.0]);
                link.series.push(Series {
                    metric: "target".into(),
                    unit: Unit::Ms,
                    points: points.map(|(&value, t)| Point { t, value }).collect(),
                });
                outcomes.push(Ok(RunResult {
                    world: sojourn_world::WorldName::new("sim"),
                    seed,
                    params: cell.params.clone(),
                    links: vec![("up".into(), link)],
                    flows: Vec::new(),
                    aggregate: Aggregate {
                        jain: Some(0.9),
                        goodput_bps: 1e6,
                    },
                    cost: Cost::default(),
                    digest: 0,
                    radio: None,
                    program: None,
                }));
                cells.push(cell);
            }
        }
    }
    (cells, outcomes)
}

/// What is found of each case of a check.
fn found(text: &str) -> Vec<Finding> {
    let words = words();
    let (cells, outcomes) = results();
    let outcomes = Outcomes::from_iter([outcomes]);
    let cells = Cells::new(&cells, &outcomes, 0);
    let check = check(text, &words).unwrap_or_else(|complaint| panic!("{text}: {complaint:?}"));
    let cases = Evaluator::new(&words, &cells)
        .check(&check)
        .into_iter()
        .map(|case| case.unwrap_or_else(|missing| panic!("{text}: {missing:?}")));
    cases.map(|case| case.finding).collect()
}

/// Whether a check holds: in how many of its cases.
fn held(text: &str) -> (usize, usize) {
    let cases = found(text);
    let held = cases.iter().filter(|finding| **finding == Finding::Holds);
    (held.count(), cases.len())
}

#[test]
fn an_order_is_decided_by_the_interval_of_the_difference() {
    use Finding::{Fails, Holds, Open};
    for (text, expected) in [
        // Each seed has 10 ms more.
        ("delay[codel, n=3] < delay[codel, n=6]", Holds),
        ("delay[codel, n=3] > delay[codel, n=6]", Fails),
        ("rising(n: delay[codel])", Holds),
        ("falling(n: delay[codel])", Fails),
        ("delay[codel, n=3] >= delay[codel, n=3]", Holds),
        ("delay[codel, n=3] > delay[codel, n=3]", Fails),
        // Ten times 9, 10 and 15 less 99, 100 and 105: −9, 0 and 45, 12 ± 72.
        ("delay[red, n=3] < 10 * delay[codel, n=3]", Open),
        ("delay[red, n=3] > 10 * delay[codel, n=3]", Open),
        // Of three the worst counts.
        ("1000 > delay[red, n=3] < 10 * delay[codel, n=3] < 1", Fails),
        // Twenty times: 81, 100, 195; 125 ± 151. Forty times 261, 300, 495; 352 ± 311.
        ("delay[red, n=3] < 20 * delay[codel, n=3]", Open),
        ("delay[red, n=3] < 40 * delay[codel, n=3]", Holds),
        // A number is compared with the median.
        ("delay[red, n=3] < 100.1", Holds),
        // No value fulfils no comparison.
        ("link.utilisation[red, n=3] < delay[codel, n=3]", Fails),
    ] {
        assert_eq!(found(text), [expected], "{text}");
    }
}

#[test]
fn comparisons_with_numbers_decide_by_the_median_over_seeds() {
    let (yes, no) = ((1, 1), (0, 1));
    for (text, expected) in [
        // The median of 9, 10 and 15 is 10, their mean is not.
        ("delay[codel, n=3] <= 10", yes),
        ("delay[codel, n=3] < 10", no),
        ("delay[codel, n=3] >= 10", yes),
        ("delay[codel, n=3] > 10", no),
        ("delay[codel, n=3] in 10 .. 12", yes),
        ("delay[codel, n=3] in 8.5 .. 9.9", no),
        ("delay[codel, n=3] ~ 11", yes),
        ("delay[codel, n=3] ~ 8.6", no),
        ("delay[codel, n=3] ~ 8.6 within 20%", yes),
        ("0 < delay[codel, n=3] < delay[red, n=3] < 1000", yes),
        ("0 < delay[codel, n=3] < delay[red, n=3] < 100", no),
        ("rising(n: delay[codel])", yes),
        ("falling(n: delay[codel])", no),
        ("falling(n: 0 - delay[codel])", yes),
        // 10, 20, 30: the first step doubles.
        ("falling(n: delay[codel], 100%)", yes),
        ("falling(n: delay[codel], 99%)", no),
        (
            "max(n: delay[codel]) - min(n: delay[codel]) ~ 20 within 0%",
            yes,
        ),
        ("mean(n in ends: delay[codel]) ~ 20 within 0%", yes),
        ("count(aqm, n: delay < 100) >= 3", yes),
        ("count(aqm, n: delay < 100) >= 4", no),
        ("2 * delay[codel, n=3] + 1 ~ 21 within 0%", yes),
        ("delay[red, n=3] / delay[codel, n=3] ~ 10 within 0%", yes),
        ("aggregate.jain[codel, n=6] ~ 90% within 0%", yes),
        // A quarter up to 10 ms, three quarters up to 20 ms.
        ("link.sojourn_ms.below(15)[codel, n=3] ~ 50% within 0%", yes),
        (
            "link.sojourn_ms.below(5000)[codel, n=3] ~ 100% within 0%",
            yes,
        ),
    ] {
        assert_eq!(held(text), expected, "{text}");
    }
}

#[test]
fn a_check_runs_over_its_axes() {
    assert_eq!(held("for n: delay[codel] < delay[red]"), (3, 3));
    assert_eq!(held("for aqm, n in {6, 14}: delay > 25"), (3, 4));
    assert_eq!(held("for n in ends: delay[codel] >= 30"), (1, 2));
    // What stands at the figure goes before what stands around it.
    assert_eq!(held("for n: delay[codel, n=3] <= 10"), (3, 3));
}

#[test]
fn a_queues_counts_are_its_own_its_tins_or_those_below_a_shaper() {
    // The shaper's own three drops, not the four below it.
    assert_eq!(held("link.qdisc.drops[codel, n=3] in 3 .. 3"), (1, 1));
    assert_eq!(
        held("link.qdisc.max_adj_size[codel, n=3] in 1552 .. 1552"),
        (1, 1)
    );
    assert_eq!(
        held("link.qdisc.way_collisions[codel, n=3] in 7 .. 7"),
        (1, 1)
    );
    assert_eq!(held("link.qdisc.new_flow_count[codel, n=3] >= 0"), (0, 1));
}

#[test]
fn a_series_is_read_between_two_times() {
    let (yes, no) = ((1, 1), (0, 1));
    for (reading, holds, expected) in [
        ("mean(0, 2)", "~ 4.667 within 0.1%", yes),
        // The interval that ends at 0.5 s is before that.
        ("mean(0.5, 2)", "~ 3 within 0%", yes),
        ("min(0, 2)", "~ 2 within 0%", yes),
        ("max(0.5, 2)", "~ 4 within 0%", yes),
        ("max(0, 0.5)", "~ 8 within 0%", yes),
        ("sd(0, 2)", "~ 3.215 within 0.1%", yes),
        ("p50(0, 2)", "~ 4 within 0%", yes),
        ("p25(0, 2)", "~ 3 within 0%", yes),
        ("p95(0, 2)", "~ 7.6 within 0.1%", yes),
        ("p5(1.5, 2)", "~ 4 within 0%", yes),
        ("first_below(4, 0, 2)", "~ 1.5 within 0%", yes),
        ("first_above(2, 0.5, 2)", "~ 2 within 0%", yes),
        // Neither what never comes nor an interval without a value is a value.
        ("first_below(2, 0, 2)", ">= 0", no),
        ("max(0.5, 1)", ">= 0", no),
        ("mean(2, 9)", ">= 0", no),
        ("p75(2, 9)", ">= 0", no),
        ("sd(1.5, 2)", ">= 0", no),
    ] {
        let text = format!("link.series.target.{reading}[codel, n=3] {holds}");
        assert_eq!(held(&text), expected, "{text}");
    }
    // No queue here shows its swing, and there are no flows.
    assert_eq!(held("link.series.swing.mean(0, 2)[codel, n=3] >= 0"), no);
    assert_eq!(held("flow.series.cwnd.mean(0, 2)[codel, n=3] >= 0"), no);
    let unit = |text: &str| match quantity(text, &words()) {
        Ok(Expr::Figure(reference)) => reference.figure.unit(),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(unit("link.series.target.max(0, 1)"), Unit::Ms);
    assert_eq!(
        unit("link.series.target.first_above(5, 0, 1)"),
        Unit::Seconds
    );
    assert_eq!(unit("flow.series.goodput.mean(0, 1)"), Unit::Bps);
}

#[test]
fn nothing_is_no_value() {
    assert_eq!(held("link.utilisation[codel, n=3] >= 0"), (0, 1));
    assert_eq!(held("link.utilisation[codel, n=3] <= 1"), (0, 1));
    assert_eq!(held("rising(n: link.utilisation[codel])"), (0, 1));
    assert_eq!(held("link.utilisation[codel, n=3] in 0 .. 1"), (0, 1));
}

#[test]
fn seeds_and_words_of_a_case() {
    let words = words();
    let (cells, outcomes) = results();
    let outcomes = Outcomes::from_iter([outcomes]);
    let cells = Cells::new(&cells, &outcomes, 0);
    let mut evaluator = Evaluator::new(&words, &cells);
    let mut case = |text: &str| {
        let check = check(text, &words).expect("it is right");
        let case = evaluator.check(&check).remove(0);
        case.expect("its cells exist")
    };
    let value = case("delay[codel, n=3] < 50");
    assert_eq!(value.seeds, [9.0, 10.0, 15.0]);
    assert_eq!(
        (value.text.as_str(), value.unit),
        ("10.0 ms < 50.0 ms", Unit::Ms)
    );
    assert!((value.margin - 0.8).abs() < 1e-12);
    let difference = case("delay[codel, n=3] < delay[red, n=3]");
    assert_eq!(difference.seeds, [-90.0, -90.0, -90.0], "paired by seed");
    let failed = case("delay[red, n=3] < delay[codel, n=3]");
    assert_eq!(failed.text, "100 ms not < 10.0 ms");
    assert!(failed.margin < 0.0);
}

#[test]
fn a_figure_must_mean_one_cell() {
    let words = words();
    let (cells, _) = results();
    let cells = Cells::planned(&cells);
    let message = |text: &str| {
        let check = check(text, &words).expect("its words are right");
        let case = Evaluator::new(&words, &cells).check(&check).remove(0);
        case.expect_err(text)
    };
    assert_eq!(
        message("delay[codel] < 1"),
        Missing::Unclear("aqm=codel is several cells; they differ in field.n".into())
    );
    let mut outside = words.clone();
    outside.axes[1].values[0].params[0].1 = vec!["4".into()];
    let check = check("delay[codel, n=3] < 1", &outside).expect("its words are right");
    let found = Evaluator::new(&outside, &cells).check(&check).remove(0);
    assert_eq!(
        found.expect_err("no such cell"),
        Missing::Cell("no cell has aqm=codel n=3".into())
    );
    // Another name for the same value.
    outside.axes[1].values[0].params[0].1.push("3".into());
    let found = Evaluator::new(&outside, &cells).check(&check).remove(0);
    assert!(found.is_ok(), "{found:?}");
}

#[test]
fn a_part_of_the_grid_decides_what_it_can() {
    let words = words();
    let (cells, outcomes) = results();
    // Without the cells of six flows.
    let pairs = cells.into_iter().zip(outcomes);
    let (cells, outcomes): (Vec<_>, Vec<_>) =
        pairs.filter(|(cell, _)| cell.params[1].1 != "6").unzip();
    let outcomes = Outcomes::from_iter([outcomes]);
    let cells = Cells::new(&cells, &outcomes, 0);
    let held = |text: &str| -> Vec<Option<bool>> {
        let check = check(text, &words).expect("its words are right");
        let cases = Evaluator::new(&words, &cells)
            .over_part()
            .check(&check)
            .into_iter();
        cases
            .map(|case| match case {
                Ok(case) => Some(case.finding == Finding::Holds),
                Err(Missing::Cell(_)) => None,
                Err(Missing::Unclear(message)) => panic!("{message}"),
            })
            .collect()
    };
    assert_eq!(
        held("for n: delay[codel] < delay[red]"),
        [Some(true), None, Some(true)]
    );
    assert_eq!(held("rising(n: delay[codel])"), [Some(true)]);
    assert_eq!(held("rising(n in {3, 6}: delay[codel])"), [None]);
    // The mean of a part is another figure, and so is a number of combinations.
    assert_eq!(held("mean(n: delay[codel]) > 0"), [None]);
    assert_eq!(held("count(n: delay[codel] > 0) > 0"), [None]);
}

/// Each text is refused: where, why, and what would be right.
fn refused(texts: &[(&str, Range<usize>, &str, &str)]) {
    let words = words();
    for (text, at, message, help) in texts {
        let complaint = check(text, &words).expect_err(text);
        assert_eq!(complaint.span, *at, "{text}: {complaint:?}");
        assert!(
            complaint.message.starts_with(message),
            "{text}: {complaint:?}"
        );
        let have = complaint.help.unwrap_or_default();
        assert!(have.contains(help), "{text}: {have}");
    }
}

#[test]
fn complaints_say_where_and_what_would_be_right() {
    refused(&[
        (
            "dela[codel] < 1",
            0..4,
            "unknown figure `dela`",
            "did you mean `delay`?",
        ),
        (
            "link.utilization[codel] < 1",
            0..16,
            "unknown figure `link.utilization`",
            "did you mean `link.utilisation`?",
        ),
        (
            "link.sojourn_ms.p57 < 1",
            0..19,
            "unknown statistic `p57`",
            "did you mean `p5`?",
        ),
        (
            "delay[codle] < 1",
            6..11,
            "no axis has a value `codle`",
            "did you mean `codel`?",
        ),
        (
            "delay[n=15] < 1",
            8..10,
            "axis `n` has no value `15`",
            "did you mean `14`?",
        ),
        (
            "for m: delay < 1",
            4..5,
            "no axis is named `m`",
            "available: aqm, n",
        ),
        (
            "for n in end: delay < 1",
            9..12,
            "`n` has no set named `end`",
            "did you mean `ends`?",
        ),
    ]);
}

#[test]
fn complaints_say_what_the_language_expects() {
    refused(&[
        ("delay[codel]", 12..12, "expected a comparison", ""),
        (
            "delay < ",
            8..8,
            "expected a number, a figure or `(`, found the end",
            "",
        ),
        (
            "delay < 5ms",
            8..11,
            "`5ms` is neither a number nor a name",
            "",
        ),
        ("delay < 5 5", 10..11, "expected the end, found `5`", ""),
        ("delay ? 5", 6..7, "`?` means nothing here", ""),
        ("rising(n delay)", 9..14, "expected `:`, found `delay`", ""),
        (
            "delay[flow=a, take=median] < 1",
            19..25,
            "`median` is not a way",
            "",
        ),
        (
            "link.sojourn_ms < 1",
            0..15,
            "`link.sojourn_ms` is a distribution",
            "",
        ),
        (
            "link.sojourn_ms.below < 1",
            0..21,
            "`below` needs a number",
            "",
        ),
    ]);
    let deep = format!("{}1{} < 2", "(".repeat(5000), ")".repeat(5000));
    let complaint = check(&deep, &words()).expect_err("too deep");
    assert_eq!(complaint.message, "nested too deeply");
}

#[test]
fn numbers_behind_a_figure_must_fit_it() {
    refused(&[
        (
            "link.sojourn_ms.mean(3) < 1",
            0..20,
            "`link.sojourn_ms.mean` takes no numbers",
            "`link.sojourn_ms.mean` alone",
        ),
        (
            "link.series.targe.mean(1, 2) < 1",
            0..22,
            "unknown series `targe`",
            "did you mean `target`?",
        ),
        (
            "flow.series.target.mean(1, 2) < 1",
            0..23,
            "unknown series `target`",
            "available: delay, goodput, throughput, rtt",
        ),
        (
            "link.series.target.meen(1, 2) < 1",
            0..23,
            "`meen` is nothing that is read off a series",
            "did you mean `mean`?",
        ),
        (
            "link.series.target.mean < 1",
            0..23,
            "`mean` needs two times",
            "target.mean(10, 20)",
        ),
        (
            "link.series.target.first_below(1, 2) < 1",
            0..30,
            "`first_below` needs a value and two times",
            "target.first_below(5, 10, 20)",
        ),
        (
            "link.series.target.mean(2, 1) < 1",
            0..23,
            "nothing lies between 2 s and 1 s",
            "",
        ),
    ]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ a-z0-9<>=~(){},:.%'*/+-]{0,60}") {
        let words = words();
        if let Err(complaint) = check(&text, &words) {
            proptest::prop_assert!(complaint.span.end <= text.len());
        }
    }
}
