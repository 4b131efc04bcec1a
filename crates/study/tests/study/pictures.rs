//! Charts and tables: their mistakes, and values measured elsewhere in them.

use super::*;

#[test]
fn mistakes_in_pictures_have_a_line() {
    let csv = "aqm,delay,used\ncodel,5,90\nfifo,100,99\n";
    let chart =
        |rest: &str| format!("[[chart]]\ntitle = \"t\"\nsetting = \"A\"\nlabel = \"\"\n{rest}\n");
    let table = |rest: &str| {
        format!("[[table]]\ntitle = \"t\"\nsetting = \"A\"\nkind = \"difference\"\n{rest}\n")
    };
    let delay = "value = \"link.sojourn_ms.mean\"\nreference = \"ref.kernel.delay\"";
    for (more, message) in [
        (
            chart("kind = \"bar\""),
            "chart[1].kind: unknown kind of chart `bar`",
        ),
        (
            chart("kind = \"bars\"\nx = \"aqm\"\ny = \"link.utilisation\"\nlog = \"z\""),
            "unknown axis of a chart `z`",
        ),
        (
            chart("kind = \"bars\"\nx = \"aqm\"\ny = \"link.utilisation\"\nseries = \"s\""),
            "unknown key `series`",
        ),
        (
            chart("kind = \"box\"\nx = \"aqm\"\nof = \"link.sojorn_ms\""),
            "unknown figure",
        ),
        (
            chart("kind = \"scatter\"\nx = \"link.utilisation\"\ny = \"link.utilisation\""),
            "chart[1].x: nothing is said of the cell",
        ),
        (
            chart("kind = \"bars\"\nx = \"aqm\"\ny = {}"),
            "chart[1].y: a quantity is missing",
        ),
        (
            chart(
                "kind = \"bars\"\nx = \"aqm\"\ny = { one = \"link.utilisation\" }\n\
                 reference = { two = \"ref.kernel.used\" }",
            ),
            "chart[1].reference: `y` has no quantity `two`",
        ),
        (
            chart("kind = \"map\"\nx = \"aqm\"\ny = \"aqm\""),
            "missing key `value`",
        ),
        (
            table(&format!(
                "rows = \"aqm\"\n{delay}\nwhy = {{ codle = \"x\" }}"
            )),
            "no row of the table is `codle`",
        ),
        (
            table(&format!("rows = \"aqm\"\n{delay}\nabove = \"ten\"")),
            "`ten` is not a share",
        ),
        (
            table(
                "rows = \"aqm\"\nvalue = \"ref.kernel.delay[codel]\"\nreference = \"link.utilisation[aqm=fifo, flow=one]\"\nkid = 1",
            ),
            "unknown key `kid`",
        ),
    ] {
        let error = measured("1 < 2", csv, TABLE, &more).expect_err(message);
        assert!(
            error.contains("study.toml:") && error.contains(message),
            "{message}\n{error}"
        );
    }
}

#[test]
fn a_chart_over_time_without_data_has_a_line() {
    let csv = "aqm,delay,used\ncodel,5,90\nfifo,100,99\n";
    let chart = |series: &str| {
        format!(
            "[[chart]]\ntitle = \"t\"\nsetting = \"A\"\nlabel = \"\"\nkind = \"time\"\n\
             lines = \"aqm\"\nseries = {series}\nof = \"one\"\n"
        )
    };
    for (series, message) in [
        ("\"cwdn\"", "did you mean `cwnd`?"),
        (
            "[\"rtt\", \"delay\"]",
            "nothing that `one` fits has a series `delay`",
        ),
        ("\"backlog\"", "`backlog` is a series of links"),
        ("[]", "a list without a series"),
    ] {
        let error = measured("1 < 2", csv, TABLE, &chart(series)).expect_err(message);
        assert!(
            error.contains("chart[1].series") && error.contains(message),
            "{message}\n{error}"
        );
    }
    for (key, message) in [
        (
            "between = \"320 .. 180\"",
            "`320 .. 180` is not a span of time",
        ),
        ("between = \"180\"", "`180` is not a span of time"),
        ("scale = \"1 +\"", "chart[1].scale"),
    ] {
        let error = measured("1 < 2", csv, TABLE, &(chart("\"rtt\"") + key)).expect_err(message);
        assert!(error.contains(message), "{message}\n{error}");
    }
    let right = chart("[\"rtt\", \"cwnd\"]") + "between = \"1 .. 2\"\nscale = \"100 / 3\"\n";
    assert!(measured("1 < 2", csv, TABLE, &right).is_ok());
}

#[test]
fn a_chart_of_a_series_that_no_flow_has_is_refused() {
    let csv = "aqm,delay,used\ncodel,5,90\nfifo,100,99\n";
    let chart = |y: &str| {
        format!(
            "[[chart]]\ntitle = \"t\"\nsetting = \"A\"\nlabel = \"\"\nkind = \"bars\"\n\
             x = \"aqm\"\ny = \"{y}\"\n"
        )
    };
    for y in [
        "flow.series.delay.mean(0, 1)",
        "100 * flow.series.delay.mean(0, 1)[flow=one]",
    ] {
        let error = measured("1 < 2", csv, TABLE, &chart(y)).expect_err(y);
        assert!(
            error.contains("chart[1].y: the chart would have no data"),
            "{error}"
        );
    }
    assert!(measured("1 < 2", csv, TABLE, &chart("flow.series.rtt.mean(0, 1)")).is_ok());
}

#[test]
fn references_stand_in_charts_and_tables_without_a_run() {
    let csv = "aqm,delay,used\ncodel,5,90\ncodel,7,91\nfifo,100,99\n";
    let more = "[[chart]]\ntitle = \"t\"\nsetting = \"A\"\nkind = \"bars\"\nx = \"aqm\"\n\
                y = \"link.sojourn_ms.mean\"\nreference = \"ref.kernel.delay\"\nlabel = \"ms\"\n\
                log = \"y\"\n[[table]]\ntitle = \"d\"\nkind = \"difference\"\nsetting = \"A\"\n\
                rows = \"aqm\"\nvalue = \"2 * ref.kernel.delay\"\nreference = \"ref.kernel.delay\"\n\
                why = { fifo = \"twice by design\" }\n[[chart]]\ntitle = \"u\"\nsetting = \"A\"\n\
                kind = \"bars\"\nlabel = \"\"\nx = \"aqm\"\ny = { wait = \"link.sojourn_ms.mean\", \
                use = \"link.utilisation\" }\nreference = { use = \"ref.kernel.used\" }\n";
    let study = measured("1 < 2", csv, TABLE, more).expect("it is right");
    let nothing = RunResult {
        world: SIM,
        seed: 1,
        params: Vec::new(),
        links: Vec::new(),
        flows: Vec::new(),
        aggregate: Aggregate::default(),
        cost: Cost::default(),
        digest: 0,
        radio: None,
        program: None,
    };
    let outcomes = Outcomes::from_iter([vec![Ok(nothing.clone()), Ok(nothing)]]);
    let found: ByWorld<Outcomes> = [(SIM, outcomes)].into_iter().collect();
    let mut charts = study.charts(&found);
    // Several quantities stand side by side, each with its reference in its colour.
    let several = &charts.pop().expect("two charts").panels[0].lines;
    let lines = several
        .iter()
        .map(|line| (&line.name[..], line.colour, line.stroke));
    let wanted = [
        ("wait", 0, Stroke::World(0)),
        ("use", 1, Stroke::World(0)),
        ("use, reference", 1, Stroke::Elsewhere),
    ];
    assert!(lines.eq(wanted), "{several:?}");
    let chart = charts.remove(0);
    assert_eq!(chart.x.names, ["codel", "fifo"]);
    assert!(chart.y.log && !chart.x.log);
    let [ours, kernel] = &chart.panels[0].lines[..] else {
        panic!("ours and the reference: {chart:?}");
    };
    assert_eq!((ours.stroke, ours.points.len()), (Stroke::World(0), 0));
    assert_eq!(kernel.stroke, Stroke::Elsewhere);
    let codel = &kernel.points[0];
    assert_eq!(
        (codel.y, codel.y_range, codel.text.as_str()),
        (6.0, (5.0, 7.0), "6.00 ms")
    );
    let table = study.tables(&found).remove(0);
    let columns = ["reference", "sim", "sim − reference", "why, above 10 %"];
    assert_eq!(table.columns, columns);
    let row = |i: usize| (table.rows[i].0.as_str(), table.rows[i].1.join("|"));
    assert_eq!(
        row(0),
        ("codel", "6.00 ms|12.0 ms|+100.0 %|not explained".into())
    );
    assert_eq!(
        row(1),
        ("fifo", "100 ms|200 ms|+100.0 %|twice by design".into())
    );
}

#[test]
fn marks_on_boxes_and_levels_over_time_are_quantities() {
    let csv = "aqm,delay,used\ncodel,5,90\n";
    let chart = |more: &str| {
        let chart = format!("[[chart]]\ntitle = \"t\"\nsetting = \"A\"\nlabel = \"ms\"\n{more}\n");
        measured("1 < 2", csv, TABLE, &chart)
    };
    let boxes = "kind = \"box\"\nx = \"aqm\"\nof = \"link.sojourn_ms\"\nreference = ";
    let time = "kind = \"time\"\nlines = \"aqm\"\nof = \"up\"\nseries = \"sojourn\"\nreference = ";
    for right in [
        format!("{boxes}\"ref.kernel.delay\""),
        format!("{time}\"18\""),
        format!("{time}{{ limit = \"18\", codel = \"ref.kernel.delay[codel]\" }}"),
    ] {
        let read = chart(&right);
        assert!(read.is_ok(), "{right}\n{}", read.err().unwrap_or_default());
    }
    for wrong in [
        format!("{boxes}\"ref.kernel.delai\""),
        format!("{time}\"ref.kernel.delai\""),
    ] {
        let error = chart(&wrong).expect_err("no such column");
        assert!(error.contains("reference: "), "{error}");
    }
}
