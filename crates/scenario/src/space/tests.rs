//! Spaces, and the files of their points.

use super::*;

const FILE: &str = r#"
format = "sojourn-scenario/1"
name = "space"
duration = "10s"
seeds = 5

[dumbbell]
rtt = "40ms"
up = { rate = "1mbit", qdisc = "pfifo limit 100" }
down = { rate = "12mbit" }

[sweep]
dumbbell.up.rate = "1mbit .. 100mbit"
dumbbell.qdisc = ["codel", "pie"]
flow.bulk.count = "0 .. 8"
[[sweep.zip]]
tcp.cc = ["cubic", "reno"]
tcp.ecn = [false, true]

[[flow]]
name = "bulk"
direction = "up"
app = "bulk"

[[flow]]
name = "probe"
direction = "up"
app = { kind = "ping", interval = "20ms" }
"#;

fn space(options: &Options, compared: &[&str]) -> Result<Space, Problems> {
    let compared: Vec<String> = compared.iter().map(|&path| path.into()).collect();
    Space::parse("space.toml", FILE, Path::new(""), options, &compared)
}

fn sweeps(sweeps: &[&str]) -> Options {
    Options {
        sweeps: sweeps.iter().map(|&sweep| sweep.into()).collect(),
        ..Options::default()
    }
}

#[test]
fn a_point_is_a_scenario_of_its_own() {
    let space = space(&Options::default(), &[]).expect("a space");
    let paths: Vec<&str> = space
        .dimensions()
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    let expected = [
        "dumbbell.qdisc",
        "tcp.cc",
        "dumbbell.up.rate",
        "flow.bulk.count",
    ];
    assert_eq!(paths, expected);
    let point = [
        Gene::Step(1),
        Gene::Step(1),
        Gene::Value(2.5e6),
        Gene::Value(2.0),
    ];
    let text = space.text(&point, &[7]).expect("the fields are there");
    let scenario = space.scenario(&point, &[7]).expect("it is a scenario");
    assert_eq!(scenario.cells.len(), 1);
    let cell = &scenario.cells[0];
    assert_eq!(cell.seed, 7);
    let names: Vec<&str> = cell.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["bulk-1", "bulk-2", "probe"]);
    for part in [
        "rate = \"2500kbit\"",
        "cc = \"reno\"",
        "ecn = true",
        "qdisc = \"pie\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_flow_whose_count_is_zero_is_absent() {
    let space = space(&Options::default(), &[]).expect("a space");
    let [first, second, rate] = [Gene::Step(0), Gene::Step(0), Gene::Value(1e6)];
    let scenario = space
        .scenario(&[first, second, rate, Gene::Value(0.0)], &[1, 2])
        .expect("it is a scenario");
    assert_eq!(scenario.cells.len(), 2);
    assert_eq!(scenario.cells[0].flows.len(), 1);
}

#[test]
fn what_is_compared_stays_a_sweep() {
    let space = space(&Options::default(), &["dumbbell.qdisc"]).expect("a space");
    assert_eq!(space.compared().collect::<Vec<_>>(), ["dumbbell.qdisc"]);
    let point = [Gene::Step(0), Gene::Value(1e6), Gene::Value(1.0)];
    let scenario = space.scenario(&point, &[1]).expect("it is a scenario");
    assert_eq!(scenario.cells.len(), 2);
    assert_eq!(scenario.cells[1].params[0].1, "pie");
}

#[test]
fn what_is_wrong_with_a_point_is_told_where_users_wrote_it() {
    let space_of = |text: &str, options: &Options| {
        Space::parse("a.toml", text, Path::new(""), options, &[]).expect("a space")
    };
    let text = FILE.replace("duration = ", "# A remark.\n\nduration = ");
    let told = |space: &Space, rate: f64| {
        let gene = |it: &Dimension| match it.values {
            Values::Steps(_) => Gene::Step(0),
            Values::Interval(_) if it.path.ends_with("rate") => Gene::Value(rate),
            Values::Interval(_) => Gene::Value(1.0),
        };
        let point: Vec<Gene> = space.dimensions().iter().map(gene).collect();
        let problems = space.scenario(&point, &[1]).expect_err("it is none");
        let problem = problems.iter().next().expect("one");
        let place = problems.place(problem);
        (
            place.source.to_owned(),
            place.position,
            problems.to_string(),
        )
    };
    // A value of the file: its own line, not that of the text in which it was run.
    let wrong = text.replace("qdisc = [\"codel\"", "qdisc = [\"codle\"");
    assert_ne!(wrong, text);
    let line = 1 + wrong
        .lines()
        .position(|line| line.contains("codle"))
        .expect("it is there");
    let (source, position, shown) = told(&space_of(&wrong, &Options::default()), 1e6);
    assert_eq!(
        (&*source, position.map(|(line, _)| line)),
        ("a.toml", Some(line)),
        "{shown}"
    );
    assert!(shown.contains("did you mean `codel`?"), "{shown}");
    // One of an option.
    let options = sweeps(&["dumbbell.qdisc=[codle, pie]"]);
    let (source, _, shown) = told(&space_of(&text, &options), 1e6);
    assert_eq!(source, "--sweep", "{shown}");
    // One of an interval: the line of the interval.
    let line = 1 + text
        .lines()
        .position(|line| line.contains(".."))
        .expect("it is there");
    let (source, position, shown) = told(&space_of(&text, &Options::default()), 0.0);
    assert_eq!(
        (&*source, position.map(|(line, _)| line)),
        ("a.toml", Some(line)),
        "{shown}"
    );
}

#[test]
fn options_change_what_varies() {
    let options = Options {
        sets: vec!["dumbbell.up.rate=5mbit".into()],
        ..sweeps(&["dumbbell.rtt=1ms .. 300ms", "flow.bulk.count=[1, 2]"])
    };
    let space = space(&options, &[]).expect("a space");
    let paths: Vec<&str> = space
        .dimensions()
        .iter()
        .map(|it| it.path.as_str())
        .collect();
    let expected = [
        "dumbbell.qdisc",
        "tcp.cc",
        "flow.bulk.count",
        "dumbbell.rtt",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (options, compared, part) in [
        (
            sweeps(&["dumbbell.rtt=1ms .. 3mbit"]),
            vec![],
            "is not an interval",
        ),
        (
            sweeps(&["dumbell.rtt=1ms .. 3ms"]),
            vec![],
            "did you mean `dumbbell`",
        ),
        (sweeps(&["seeds=1 .. 3"]), vec![], "`seeds` cannot be swept"),
        (
            Options::default(),
            vec!["dumbbell.up.rate"],
            "a list of values",
        ),
        (
            Options::default(),
            vec!["dumbbell.qdsic"],
            "did you mean `dumbbell.qdisc`",
        ),
        (Options::default(), vec!["tcp.cc"], "changes together"),
    ] {
        let problems = space(&options, &compared).expect_err(part).to_string();
        assert!(problems.contains(part), "{part}: {problems}");
    }
}

#[test]
fn a_run_refuses_an_interval() {
    let problems = Scenario::parse("space.toml", FILE, Path::new(""), &Options::default())
        .expect_err("intervals are for hunts")
        .to_string();
    assert!(
        problems.contains("space.toml:13:20") && problems.contains("sojourn hunt"),
        "{problems}"
    );
}
