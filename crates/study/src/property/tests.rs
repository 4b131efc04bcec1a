//! Properties of a scenario with two queues.

use super::*;
use sojourn_scenario::Options;
use std::path::Path;

fn scenario() -> Scenario {
    let text = r#"
        format = "sojourn-scenario/1"
        name = "two"
        duration = "1s"
        dumbbell = { rtt = "10ms", rate = "1mbit" }
        sweep = { "dumbbell.qdisc" = ["codel", "pie"] }
        flow = [{ name = "bulk", direction = "up", app = "bulk" }]
    "#;
    Scenario::parse("two.toml", text, Path::new(""), &Options::default()).expect("a scenario")
}

fn read(check: &str) -> Result<Property, String> {
    Property::read(&[check.into()], &scenario(), [None, None]).map_err(|error| error.to_string())
}

/// Two runs whose queues held so many packets on average, CoDel's first.
fn runs(means: [f64; 2]) -> Vec<Outcome> {
    let cells = scenario().cells;
    let runs = cells.iter().zip(means).map(|(cell, mean)| {
        let mut run = RunResult {
            world: sojourn_world::WorldName::new("sim"),
            seed: cell.seed,
            params: cell.params.clone(),
            links: Vec::new(),
            flows: Vec::new(),
            aggregate: sojourn_world::Aggregate::default(),
            cost: sojourn_world::Cost::default(),
            digest: 0,
            radio: None,
            program: None,
        };
        let link = sojourn_world::LinkResult {
            backlog_packets_mean: mean,
            ..sojourn_world::LinkResult::default()
        };
        run.links.push(("up".into(), link));
        Ok(run)
    });
    runs.collect()
}

fn test(check: &str, means: [f64; 2]) -> Option<Tested> {
    let property = read(check).unwrap_or_else(|error| panic!("{error}"));
    property.test(&scenario().cells, runs(means))
}

#[test]
fn one_may_not_be_worse_than_another() {
    let check = "link.backlog_packets_mean[pie] <= 120% * link.backlog_packets_mean[codel]";
    let held = test(check, [10.0, 11.0]).expect("both have a value");
    // 12 are allowed, 11 found.
    assert!(
        !held.is_broken && (held.margin - 1.0 / 12.0).abs() < 1e-9,
        "{held:?}"
    );
    let broken = test(check, [10.0, 16.0]).expect("both have a value");
    assert!(
        broken.is_broken && (broken.margin + 0.25).abs() < 1e-9,
        "{broken:?}"
    );
    assert_eq!(broken.check, check);
}

#[test]
fn the_case_nearest_to_failing_is_told() {
    let check = "for qdisc: link.backlog_packets_mean < 20";
    let held = test(check, [18.0, 5.0]).expect("there is a value");
    assert!(held.text.starts_with("qdisc=codel"), "{held:?}");
    // As many as may not be reached is broken, though by nothing.
    let broken = test(check, [18.0, 20.0]).expect("there is a value");
    assert!(broken.is_broken && broken.margin < 0.0, "{broken:?}");
}

#[test]
fn without_a_value_nothing_is_decided() {
    assert_eq!(test("link.drop_ratio[pie] < 1%", [1.0, 1.0]), None);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    for (check, part) in [
        ("link.drop_ratio[codle] < 1%", "did you mean `codel`"),
        ("link.drop_ratio < 1%", "they differ in"),
        ("link.drop_ratio[pie]", "expected a comparison"),
        (
            "flow.loss_ratio[pie, flow=x] < 1",
            "no scenario has a flow `x`",
        ),
    ] {
        let error = read(check).expect_err(check);
        assert!(error.contains(part), "{check}: {error}");
    }
    let error = Property::read(&[], &scenario(), [Some("ip"), None]).expect_err("no such link");
    assert!(error.to_string().contains("did you mean `up`"), "{error}");
}
