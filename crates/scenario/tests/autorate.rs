//! Links whose rate follows another one: what a file says of them, and what is wrong with it.

mod common;

use common::parse;
use sojourn_autorate::Params;
use sojourn_units::{Rate, Span};
use sojourn_world::{Following, Network};

const FILE: &str = r#"format = "sojourn-scenario/1"
name = "test"
duration = "10s"

[[node]]
name = "home"

[[node]]
name = "edge"

[[node]]
name = "net"

[[link]]
name = "access"
from = "home"
to = "edge"
duplex = true
rate = "20mbit"
autorate = { min = "5mbit", max = "40mbit" }

[[link]]
from = "edge"
to = "net"
duplex = true
rate = "30mbit"

[[flow]]
name = "upload"
from = "home"
to = "net"
app = "bulk"
"#;

fn network(text: &str) -> Network {
    let scenario = parse(text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.cells[0].network.clone()
}

fn wrong(from: &str, to: &str) -> String {
    assert!(FILE.contains(from), "{from}");
    let problems = parse(&FILE.replacen(from, to, 1), &[]).err();
    problems.expect("it is wrong").to_string()
}

#[test]
fn both_halves_of_a_duplex_follow_what_is_beyond_its_end() {
    let params = Params {
        min: Rate::from_bps(5_000_000),
        base: Rate::from_bps(20_000_000),
        max: Rate::from_bps(40_000_000),
        threshold: Span::from_millis(30),
    };
    let both = Following {
        interfaces: [0, 1],
        params: [Some(params); 2],
    };
    assert_eq!(network(FILE).following, [both]);
    let there = FILE.replace("max = \"40mbit\"", "max = \"40mbit\", beyond = \"from\"");
    assert_eq!(network(&there).following[0].interfaces, [1, 0]);
    let one = FILE.replacen("duplex = true\n", "", 1);
    let back = "\n[[link]]\nfrom = \"edge\"\nto = \"home\"\nrate = \"9mbit\"\n";
    let following = network(&(one + back)).following;
    assert_eq!(following[0].interfaces, [0, 3]);
    assert_eq!(following[0].params, [Some(params), None]);
    let none = FILE.replace("autorate = ", "# autorate = ");
    assert_eq!(network(&none).following, []);
}

#[test]
fn what_is_wrong_names_its_place_and_what_would_be_right() {
    for (from, to, expected) in [
        (
            "min = \"5mbit\"",
            "min = \"25mbit\"",
            "test.toml:20:20: link.access.autorate.min: 25Mbit is above the link's `rate`, 20Mbit",
        ),
        (
            "max = \"40mbit\"",
            "max = \"4mbit\"",
            "link.access.autorate.max: 4Mbit is below the link's `rate`, 20Mbit",
        ),
        (
            "min = \"5mbit\"",
            "min = \"0bit\"",
            "link.access.autorate.min: must be above zero",
        ),
        (
            "max = \"40mbit\"",
            "max = \"40mbit\", threshold = 0",
            "link.access.autorate.threshold: must be above zero",
        ),
        (
            "max = \"40mbit\"",
            "max = \"40mbit\", beyond = \"left\"",
            "unknown value `left`",
        ),
        ("min = \"5mbit\", ", "", "missing key `min`"),
        (
            "rate = \"20mbit\"",
            "rate = \"unlimited\"",
            "link.access.autorate: the link has no constant `rate`",
        ),
        (
            "duplex = true\nrate = \"20mbit\"",
            "rate = \"20mbit\"",
            "link.access.autorate: no link leads back: round trips cannot be seen",
        ),
        (
            "[[flow]]",
            "[[change]]\nat = \"1s\"\nlink = \"access\"\nrate = \"9mbit\"\n\n[[flow]]",
            "change[1].rate: the rate of this link follows another one (`autorate`)",
        ),
    ] {
        let message = wrong(from, to);
        assert!(message.contains(expected), "{to}: {message}");
    }
    let dumbbell = common::changed(
        "up = { rate = \"1mbit\" }",
        "up = { rate = \"1mbit\", autorate = { min = \"1mbit\", max = \"2mbit\" } }",
    );
    let problems = parse(&dumbbell, &[]).expect_err("it is wrong");
    let message = problems.to_string();
    let expected = "dumbbell.up.autorate: a dumbbell has nothing behind its links";
    assert!(message.contains(expected), "{message}");
}
