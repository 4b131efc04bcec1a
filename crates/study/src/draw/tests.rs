use super::scale::{Scale, decades, even};
use super::{Chart, ChartKind, Dot, Line, Panel, Scaling, Stroke};

fn chart(kind: ChartKind) -> Chart {
    let dot = |x: f64, y: f64| Dot {
        x,
        y,
        x_range: (x, x),
        y_range: (y * 0.5, y * 2.0),
        inner: (y * 0.8, y * 1.2),
        text: format!("{y} <ms>"),
    };
    let line = |name: &str, stroke| Line {
        name: name.into(),
        colour: 1,
        stroke,
        points: vec![dot(0.0, 1.0), dot(1.0, 100.0)],
    };
    Chart {
        title: "a <b>\" onload=\"".into(),
        kind,
        x: Scaling {
            label: "n & m".into(),
            names: vec!["<i>".into(), "y".into()],
            log: false,
        },
        y: Scaling {
            label: "ms".into(),
            log: kind != ChartKind::Map,
            names: if kind == ChartKind::Map {
                vec!["0".into(), "1".into()]
            } else {
                Vec::new()
            },
        },
        panels: vec![Panel {
            title: "<script>".into(),
            lines: vec![
                line("x<y", Stroke::World(0)),
                line("ref", Stroke::Elsewhere),
            ],
        }],
    }
}

#[test]
fn ticks_are_round_and_cover_the_range() {
    assert_eq!(even(0.0, 70.0), [0.0, 20.0, 40.0, 60.0]);
    assert_eq!(even(0.0, 1.0), [0.0, 0.2, 0.4, 3.0 * 0.2, 0.8, 1.0]);
    assert_eq!(even(3.0, 3.0), [3.0]);
    assert_eq!(decades(0.9, 60.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
    assert_eq!(decades(1.0, 1e5), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
}

#[test]
fn a_logarithmic_scale_has_equal_steps_for_equal_factors() {
    let scale = Scale {
        from: (1.0, 10_000.0),
        to: (0.0, 400.0),
        log: true,
    };
    let at: Vec<f64> = [1.0, 10.0, 100.0, 1000.0].map(|v| scale.at(v)).into();
    for (have, want) in at.iter().zip([0.0, 100.0, 200.0, 300.0]) {
        assert!((have - want).abs() < 1e-9, "{at:?}");
    }
    // There is no logarithm of zero: it stands at the edge.
    assert!((scale.at(0.0) + 8.0).abs() < 1e-9);
}

#[test]
fn names_cannot_break_the_picture() {
    for kind in [
        ChartKind::Lines,
        ChartKind::Time,
        ChartKind::Distribution,
        ChartKind::Bars,
        ChartKind::Boxes,
        ChartKind::Scatter,
        ChartKind::Map,
    ] {
        let chart = chart(kind);
        let svg = chart.svg(0) + &chart.panels[0].lines[0].key(kind);
        for wrong in [
            "<b>",
            "<script>",
            "<i>",
            "<ms>",
            "x<y",
            "\" onload",
            "NaN",
            "inf",
        ] {
            assert!(!svg.contains(wrong), "{kind:?}: {wrong}: {svg}");
        }
        assert!(svg.contains("n &amp; m"), "{svg}");
    }
}

#[test]
fn every_kind_shows_its_marks() {
    let count = |kind: ChartKind, mark: &str| chart(kind).svg(0).matches(mark).count();
    assert_eq!(count(ChartKind::Lines, "<circle"), 4);
    assert_eq!(count(ChartKind::Lines, "<path"), 2);
    assert_eq!(count(ChartKind::Bars, "<rect"), 4);
    assert_eq!(count(ChartKind::Bars, "class=\"range\""), 4);
    assert_eq!(count(ChartKind::Boxes, "class=\"median\""), 2);
    assert_eq!(count(ChartKind::Boxes, "class=\"elsewhere\""), 2);
    assert_eq!(count(ChartKind::Scatter, "<path"), 0);
    assert_eq!(count(ChartKind::Map, "class=\"field\""), 4);
    // What has no name tells nothing.
    let mut only = chart(ChartKind::Time);
    for line in &mut only.panels[0].lines {
        line.name.clear();
    }
    assert_eq!(only.svg(0).matches("<title>").count(), 0);
    assert_eq!(only.rows(0)[1][0], "ours");
    // From 0.5 to 200 on a logarithmic axis: whiskers, boxes and medians in their order.
    let svg = chart(ChartKind::Boxes).svg(0);
    assert!(
        svg.contains("&lt;ms&gt;"),
        "a pointer is told the values: {svg}"
    );
}

#[test]
fn tiny_samples_do_not_stretch_a_logarithmic_axis() {
    let mut boxes = chart(ChartKind::Boxes);
    let dot = &mut boxes.panels[0].lines[0].points[0];
    dot.y_range.0 = 1e-7;
    // The highest whisker ends at 200, the lowest box begins at 0.8.
    let (low, high) = boxes.y_range();
    assert!((low * 1.2 - 0.02).abs() < 1e-9 && (high / 1.2 - 200.0).abs() < 1e-9);
    // A box is shown however deep it is.
    boxes.panels[0].lines[0].points[0].inner.0 = 1e-5;
    assert!((boxes.y_range().0 * 1.2 - 1e-5).abs() < 1e-12);
}

#[test]
fn one_strip_of_a_name_stands_in_the_legend() {
    let mut chart = chart(ChartKind::Time);
    chart.panels.push(chart.panels[0].clone());
    assert_eq!(chart.legend().len(), 2);
    assert!(chart.legend()[1].key(ChartKind::Time).contains("dasharray"));
    // What nobody has measured is not drawn, so that it has no name either.
    for panel in &mut chart.panels {
        panel.lines[0].points.clear();
    }
    assert_eq!(chart.legend().len(), 1);
    chart.kind = ChartKind::Map;
    assert!(chart.legend().is_empty());
}

#[test]
fn what_lies_outside_stays_clear_of_the_names() {
    let scale = Scale {
        from: (1.0, 1000.0),
        to: (164.0, 10.0),
        log: true,
    };
    // The tops of the letters below the axis are seven units from it.
    assert!(scale.at(1e-9) < 164.0 + 5.0);
    assert!(scale.at(1e9) > 10.0 - 5.0);
}

#[test]
fn nothing_is_a_picture_too() {
    for log in [false, true] {
        let mut empty = chart(ChartKind::Lines);
        empty.panels[0].lines.clear();
        empty.x = Scaling {
            log,
            ..Scaling::default()
        };
        empty.y.log = log;
        let svg = empty.svg(0);
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn a_panel_without_points_says_so() {
    let mut chart = chart(ChartKind::Lines);
    assert!(!chart.svg(0).contains("no data"));
    for line in &mut chart.panels[0].lines {
        line.points.clear();
    }
    assert!(chart.svg(0).contains(">no data</text>"));
}

#[test]
fn what_was_measured_elsewhere_is_a_mark_on_its_box() {
    let svg = chart(ChartKind::Boxes).svg(0);
    let after = |text: &str, from: &str| -> f64 {
        let rest = &text[text.find(from).expect(from) + from.len()..];
        let end = rest.find([' ', '"']).expect("it ends");
        rest[..end].parse().expect("a number")
    };
    let boxes: Vec<f64> = svg
        .split("<rect")
        .skip(1)
        .map(|rect| after(rect, " x=\"") + after(rect, " width=\"") / 2.0)
        .collect();
    let marks: Vec<f64> = svg
        .split("class=\"elsewhere\"")
        .skip(1)
        .map(|mark| after(mark, " d=\"M"))
        .collect();
    assert_eq!((boxes.len(), marks.len()), (2, 2), "{svg}");
    for (middle, mark) in boxes.iter().zip(&marks) {
        assert!((middle - mark).abs() < 0.2, "{svg}");
    }
}
