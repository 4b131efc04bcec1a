//! The list is whole: every figure once, and what is filled is got back.

use super::{Aggregate, Content, Distribution, FlowResult, Kind, LinkResult, Part, Shape, figures};
use sojourn_tidy::generated;
use sojourn_units::Unit;
use std::collections::BTreeSet;
use std::fmt::Write as _;

#[test]
fn every_figure_stands_in_the_list_once() {
    let mut keys = BTreeSet::new();
    let mut metrics = BTreeSet::new();
    for figure in figures() {
        let of = (figure.kind, figure.shape == Shape::Series);
        assert!(keys.insert((of, figure.key)), "{}", figure.key);
        assert!(metrics.insert((of, figure.metric)), "{}", figure.metric);
        assert!(!figure.title.is_empty() && figure.meaning.ends_with('.'));
    }
}

/// Fills every place of a part and looks for it again.
fn filled<T: Part>() {
    for row in T::rows() {
        let mut part = T::default();
        let Some(slot) = row.slot(&mut part) else {
            assert_eq!(row.figure.shape, Shape::Scalar, "{}", row.figure.key);
            continue;
        };
        let spread = Distribution {
            count: 3,
            p50: 2.5,
            ..Distribution::default()
        };
        let content = match slot.content() {
            Content::Count(_) => Content::Count(7),
            Content::Number(_) => Content::Number(1.25),
            Content::Spread(_) => Content::Spread(&spread),
        };
        assert_eq!(
            slot.spread().is_some(),
            row.figure.shape == Shape::Distribution
        );
        slot.fill(content);
        assert_eq!(row.content(&part), Some(content), "{}", row.figure.key);
    }
}

#[test]
fn what_is_filled_is_got_back() {
    filled::<LinkResult>();
    filled::<FlowResult>();
    filled::<Aggregate>();
}

#[test]
fn what_follows_from_others_is_a_share_or_nothing() {
    let mut link = LinkResult::default();
    let row = LinkResult::rows()
        .find(|row| row.figure.key == "drop_ratio")
        .expect("links have it");
    assert!(row.value(&link, None).is_nan());
    (link.offered_packets, link.dropped_packets) = (4, 1);
    assert!((row.value(&link, None) - 0.25).abs() < 1e-12);
}

#[test]
fn the_guide_names_every_figure() {
    let mut text = String::new();
    for (title, kind, of_series) in [
        ("Of a link's queue", Kind::Link, false),
        ("Of a flow", Kind::Flow, false),
        ("Over all flows", Kind::Aggregate, false),
        ("Of a link's queue over time", Kind::Link, true),
        ("Of a flow over time", Kind::Flow, true),
    ] {
        let _ = writeln!(
            text,
            "### {title}\n\n| key | `metric` | unit | | meaning |\n| --- | --- | --- | --- | --- |"
        );
        let of = |figure: &super::Figure| {
            figure.kind == kind && (figure.shape == Shape::Series) == of_series
        };
        for figure in figures().filter(of) {
            let shape = match figure.shape {
                Shape::Distribution => "distribution",
                Shape::Scalar | Shape::Series => "",
            };
            let source = match figure.source {
                "" => String::new(),
                source => format!(" ({source})"),
            };
            let _ = writeln!(
                text,
                "| `{}` | `{}` | {} | {shape} | {}{source} |",
                figure.key,
                figure.metric,
                match figure.unit {
                    Unit::Share => "share of one",
                    unit => unit.word(),
                },
                figure.meaning
            );
        }
        text.push('\n');
    }
    generated::part("docs/results.md", "figures", &text);
}
