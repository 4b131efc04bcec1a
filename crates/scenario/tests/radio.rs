//! Radios in scenarios: what they mean, and what is said of mistakes.

use sojourn_scenario::{Options, Scenario};
use sojourn_units::{Rate, Span};
use sojourn_world::{Place, Routing, Rules};
use std::path::Path;

const GOOD: &str = r#"format = "sojourn-scenario/1"
name = "radio"
duration = "10s"
[radio]
profile = "ns2-802.11b"
chain = { hops = 2, spacing = "25m" }
routing = "aodv-ns2"
nodal_deadline = "200ms"
[[flow]]
name = "forth"
from = "first"
to = "last"
deadline = "400ms"
app = { kind = "steps", size = 1000, rate = "1.8mbit", then = [{ at = "5s", factor = 0.5 }] }
"#;

/// Changes of the good scenario, each with what is said of it.
const MISTAKES: [(&str, &str, &str); 22] = [
    (
        "hops = 2",
        "hops = 0",
        "radio.chain.hops: 0 is not a number from 1 to 10000",
    ),
    (
        "\"25m\"",
        "\"25\"",
        "radio.chain.spacing: `25` needs a unit",
    ),
    (
        "\"25m\"",
        "\"40m\"",
        "radio.chain.spacing: no station is ever within 30 m of `n0`",
    ),
    ("ns2-802.11b", "ns2", "radio.profile: unknown value `ns2`"),
    (
        "routing = \"aodv-ns2\"",
        "data_rate = \"7mbit\"",
        "radio.data_rate: IEEE 802.11b has no rate of 7Mbit",
    ),
    (
        "routing = \"aodv-ns2\"",
        "basic_rate = \"6mbit\"",
        "it has 1Mbit, 2Mbit, 5500Kbit, 11Mbit; of `standard-802.11g` it is one",
    ),
    (
        "routing = \"aodv-ns2\"",
        "capture_db = 101",
        "radio.capture_db: 101 is not a number from 0 to 100",
    ),
    (
        "routing = \"aodv-ns2\"",
        "routing = \"static\"\nhop = \"31m\"",
        "radio.hop: must not be above the range of 30 m",
    ),
    (
        "routing = \"aodv-ns2\"",
        "sense = \"20m\"",
        "radio.sense: must not be below the range of 30 m",
    ),
    (
        "routing = \"aodv-ns2\"",
        "routing = \"aodv\"\nhop = \"5m\"",
        "radio.hop: only `static` routes have a longest hop",
    ),
    (
        "size = 1000",
        "size = 2277",
        "app.size: a packet of 2305 bytes (28 of headers) is above the 2304 bytes that a frame of \
         IEEE 802.11 carries; at most 2276",
    ),
    (
        "routing = \"aodv-ns2\"",
        "driver_queue = 1001",
        "radio.driver_queue: 1001 is not a number from 0 to 1000",
    ),
    (
        "routing = \"aodv-ns2\"",
        "data_rate = \"2mbit\"\nbasic_rate = \"11mbit\"",
        "radio.basic_rate: 11Mbit is above the data rate of 2Mbit",
    ),
    (
        "kind = \"steps\", size = 1000, rate = \"1.8mbit\", then = [{ at = \"5s\", factor = 0.5 }]",
        "kind = \"cbr\", size = 1000, interval = \"10ms\", jitter = \"11ms\"",
        "app.jitter: must not be above the 10ms between messages",
    ),
    (
        "kind = \"steps\", size = 1000, rate = \"1.8mbit\", then = [{ at = \"5s\", factor = 0.5 }]",
        "kind = \"cbr\", size = 1000, interval = \"10ms\", jitter = \"1ms\", poisson = true",
        "app.jitter: cbr has either `jitter` or `poisson`",
    ),
    (
        "factor = 0.5",
        "factor = -1",
        "`-1` is not a number from 0 to 1000",
    ),
    (
        "size = 1000",
        "size = 1000, size_max = 9",
        "app.size_max: must not be below `size`",
    ),
    (
        "chain = { hops = 2, spacing = \"25m\" }",
        "",
        "radio: a radio without stations",
    ),
    (
        "deadline = \"400ms\"",
        "rtt = \"1ms\"",
        "nothing is added to what its hops take",
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"1s\"\nlink = \"n1\"\nrate = \"1mbit\"\n[[flow]]",
        "change[1].rate: a radio's rate stays",
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"1s\"\nlink = \"n1\"\nloss = 0.1\n[[flow]]",
        "change[1].loss: a radio's loss stays",
    ),
    (
        "[[flow]]",
        "[[change]]\nat = \"1s\"\nlink = \"n1\"\nposition = [\"1m\"]\n[[flow]]",
        "change[1].position: 1 lengths; a position has two",
    ),
];

fn parse(text: &str) -> Result<Scenario, String> {
    let options = Options::default();
    let scenario = Scenario::parse("test.toml", text, Path::new("."), &options);
    scenario.map_err(|problems| problems.to_string())
}

#[test]
fn a_chain_is_stations_in_a_row() {
    let scenario = parse(GOOD).expect("a good one");
    let cell = &scenario.cells[0];
    let radio = cell.network.radio().expect("it has a radio");
    assert_eq!(radio.profile.rules, Rules::Ns2);
    assert!(matches!(radio.routing, Routing::Aodv(_)));
    assert_eq!(radio.places()[2], Place { x: 50.0, y: 0.0 });
    assert_eq!(radio.nodal_deadlines, [Some(Span::from_millis(200)); 3]);
    assert_eq!(cell.network.link_names(), ["n0", "n1", "n2"]);
    assert_eq!((cell.flows[0].from, cell.flows[0].to), (0, 2));
    assert_eq!(cell.flows[0].deadline, Some(Span::from_millis(400)));
    assert_eq!(radio.profile.data_rate, Rate::from_bps(11_000_000));
}

#[test]
fn each_mistake_has_its_message() {
    for (from, to, wanted) in MISTAKES {
        assert!(GOOD.contains(from), "{from}");
        let found = parse(&GOOD.replacen(from, to, 1)).expect_err(to);
        assert!(
            found.contains(wanted),
            "{to}\n  found:  {found}\n  wanted: {wanted}"
        );
        assert!(found.starts_with("test.toml:"), "{found}");
    }
}

/// The good one with stations `a` and `b`, `b` so far from `a`, and more before the flow.
fn two(b: &str, more: &str) -> Result<Scenario, String> {
    parse(&text_of_two(b, more))
}

fn text_of_two(b: &str, more: &str) -> String {
    let nodes = format!(
        "[[node]]\nname = \"a\"\nposition = [\"0m\", \"0m\"]\n\
         [[node]]\nname = \"b\"\nposition = [\"{b}\", \"0m\"]\n{more}[[flow]]"
    );
    let text = GOOD.replacen("chain = { hops = 2, spacing = \"25m\" }\n", "", 1);
    text.replacen("[[flow]]", &nodes, 1)
}

#[test]
fn two_stations_at_one_place_and_one_out_of_reach() {
    assert!(two("20m", "").is_ok(), "{:?}", two("20m", "").err());
    let same = two("0m", "").expect_err("one place");
    assert!(same.contains("`a` and `b` are at one place"), "{same}");
    let far = two("100m", "").expect_err("far");
    let wanted = "node.a.position: no station is ever within 30 m of `a`";
    assert!(far.contains(wanted), "{far}");
}

/// A station may come later, where routing notices it.
#[test]
fn a_station_out_of_reach_may_come_later() {
    let comes =
        |x: &str| format!("[[change]]\nat = \"2s\"\nlink = \"b\"\nposition = [\"{x}\", \"0m\"]\n");
    let later = two("100m", &comes("20m"));
    let cell = &later.expect("it comes").cells[0];
    assert_eq!(cell.changes[0].place, Some(Place { x: 20.0, y: 0.0 }));
    let never = two("100m", &comes("40m")).expect_err("never");
    assert!(never.contains("is ever within 30 m of"), "{never}");
    let same = two("100m", &comes("0m")).expect_err("one place");
    let wanted = "change[1].position: `a` and `b` are at one place";
    assert!(same.contains(wanted), "{same}");
    let text = text_of_two("100m", &comes("20m"));
    let fixed = parse(&text.replace("aodv-ns2", "static")).expect_err("fixed");
    let wanted = "no stations lead from `a` to `b`";
    assert!(fixed.contains(wanted), "{fixed}");
}

/// 9 dBm are 6 dB below the others' power.
#[test]
fn a_node_has_a_power_of_its_own() {
    let weak = two("12m", "power_dbm = 9\n").expect("in reach of both");
    let radio = weak.cells[0].network.radio().expect("it has a radio");
    assert!((radio.powers()[0] - 1.0).abs() < f64::EPSILON);
    assert!(
        (radio.powers()[1] - 0.251_19).abs() < 1e-5,
        "{:?}",
        radio.powers()
    );
    let strong = two("20m", "power_dbm = 37\n").expect_err("too strong");
    let wanted = "node.b.power_dbm: 37 is not a number from 0 to 36";
    assert!(strong.contains(wanted), "{strong}");
    // Static routes take links whose ACKs come back: beyond 15 m those of a weak station do not.
    let text = text_of_two("16m", "power_dbm = 9\n").replace("aodv-ns2", "static");
    let one_way = parse(&text).expect_err("one way");
    assert!(
        one_way.contains("no stations lead from `a` to `b`"),
        "{one_way}"
    );
}

#[test]
fn profiles_have_rates_of_answers_and_a_queue_below() {
    let mbps = |more: &str| {
        let text = GOOD.replacen("profile = \"ns2-802.11b\"", more, 1);
        let scenario = parse(&text).expect("a good one");
        let radio = scenario.cells[0].network.radio().expect("it has a radio");
        let rates = [radio.profile.basic_rate, radio.profile.answer_rate];
        rates.map(|rate| rate.as_bps() / 1_000_000)
    };
    assert_eq!(mbps("profile = \"standard-802.11g\""), [6, 24]);
    assert_eq!(
        mbps("profile = \"standard-802.11g\"\ndata_rate = \"18mbit\""),
        [6, 12]
    );
    assert_eq!(
        mbps("profile = \"standard-802.11g\"\nbasic_rate = \"6mbit\""),
        [6, 6]
    );
    assert_eq!(mbps("profile = \"standard-802.11b\""), [1, 1]);
    assert_eq!(
        mbps("profile = \"standard-802.11b\"\nbasic_rate = \"11mbit\""),
        [11, 11]
    );
    assert_eq!(mbps("profile = \"testbed-802.11b\""), [2, 2]);
    let text = GOOD.replacen("[radio]", "[radio]\ndriver_queue = 10", 1);
    let scenario = parse(&text).expect("a good one");
    let radio = scenario.cells[0].network.radio().expect("it has a radio");
    assert_eq!(radio.driver_queue, 10);
}
