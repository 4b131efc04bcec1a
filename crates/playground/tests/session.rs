//! A session answers as the page needs it: runs are the simulator's, mistakes have their place.

use serde_json::{Value, json};
use sojourn_playground::Session;
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::Sim;
use sojourn_world::{RunResult, Taps, World};
use std::ops::ControlFlow;
use std::path::Path;

fn toml(qdisc: &str) -> String {
    format!(
        r#"
format = "sojourn-scenario/1"
name = "home"
duration = "12s"
seeds = [3]
[dumbbell]
rtt = "30ms"
down = {{ rate = "20mbit" }}
up = {{ rate = "5mbit" }}
qdisc = "{qdisc}"
[[flow]]
name = "download"
direction = "down"
app = "bulk"
[[flow]]
name = "ping"
direction = "up"
app = "ping"
"#
    )
}

/// The run of a text's only cell, at once.
fn whole(toml: &str) -> RunResult {
    let read = Scenario::parse("a", toml, Path::new(""), &Options::default());
    let cells = read.expect("it is right").cells;
    let going = &mut |_| ControlFlow::Continue(());
    Sim.run(&cells[0], Taps::default(), going)
        .expect("it can be run")
}

fn ask(session: &mut Session, request: &Value) -> Value {
    session.answer(&request.to_string())
}

/// All answers to a run in pieces of so many seconds.
fn pieces(session: &mut Session, toml: &str, step: f64) -> Vec<Value> {
    let started = ask(session, &json!({ "ask": "start", "toml": toml }));
    assert_eq!(started["cells"][0]["duration"], 12.0, "{started}");
    let mut answers = Vec::new();
    for number in 1_u32.. {
        let until = step * f64::from(number);
        let answer = ask(session, &json!({ "ask": "forward", "until": until }));
        let is_over = answer.get("digest").is_some();
        answers.push(answer);
        if is_over {
            break;
        }
    }
    answers
}

#[test]
fn pieces_end_in_the_digest_and_the_figures_of_the_whole() {
    for qdisc in [
        "pfifo limit 200",
        "fq_codel",
        "cake",
        "red limit 400000 avpkt 1000",
    ] {
        let text = toml(qdisc);
        let result = whole(&text);
        for step in [0.3, 20.0] {
            let answers = pieces(&mut Session::default(), &text, step);
            let last = answers.last().expect("there is one");
            assert_eq!(last["digest"], format!("{:016x}", result.digest), "{qdisc}");
            assert_eq!(last["events"], result.cost.events);
            let link = &last["figures"]["links"][1];
            let dropped = &result.links[1].1.dropped_packets;
            assert_eq!(
                (&link["name"], &link["figures"]["dropped_packets"]),
                (&json!("down"), &json!(dropped))
            );
            let ping = &last["figures"]["flows"][1]["figures"]["rtt_ms"]["p50"];
            assert_eq!(ping, &json!(result.flows[1].1.rtt.p50));
        }
    }
}

#[test]
fn the_points_are_those_of_the_result_as_far_as_it_has_gone() {
    let text = toml("codel");
    let result = whole(&text);
    let answers = pieces(&mut Session::default(), &text, 0.37);
    for (part, index, metric, series) in [
        ("links", 1, "backlog", &result.links[1].1.series),
        ("flows", 0, "cwnd", &result.flows[0].1.series),
        ("flows", 1, "rtt", &result.flows[1].1.series),
    ] {
        let own: Vec<_> = series
            .iter()
            .find(|series| series.metric == metric)
            .expect("it has the series")
            .points
            .iter()
            .map(|point| json!(point.value))
            .collect();
        for answer in &answers {
            let told = &answer["points"][part][index]["series"][metric];
            let now = answer["now"].as_f64().expect("it says how far it is");
            assert_eq!(told[0], 0.1);
            let values = told[2].as_array().expect("the third is the list of values");
            assert_eq!(
                values.len(),
                (now * 10.0 + 1e-6) as usize,
                "{metric} at {now}"
            );
            // What is on its way counts where it was sent.
            let known = values.len().saturating_sub(3);
            assert_eq!(values[..known], own[..known], "{metric} at {now}");
        }
        let last = answers.last().expect("there is one");
        let whole = &last["points"][part][index]["series"][metric][2];
        assert_eq!(whole, &json!(own), "{metric}");
    }
}

#[test]
fn what_is_wrong_has_its_place() {
    let mut session = Session::default();
    let wrong = toml("fq_codle").replace("\"20mbit\"", "\"20\"");
    for question in ["read", "start"] {
        let answer = ask(&mut session, &json!({ "ask": question, "toml": wrong }));
        let found: Vec<_> = answer["problems"]
            .as_array()
            .expect("it is wrong")
            .iter()
            .map(|one| (one["line"].as_u64(), one["field"].as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (Some(8), Some("dumbbell.down.rate")),
                (Some(10), Some("dumbbell.qdisc"))
            ]
        );
        assert_eq!(answer["problems"][1]["help"], "did you mean `fq_codel`?");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let mut session = Session::default();
    let linux = toml("pfifo").replace("[dumbbell]", "[tcp]\ncc = \"bic\"\n[dumbbell]");
    for (request, why) in [
        (json!({}), "`ask` is one of"),
        (json!({ "ask": "forward", "until": 1 }), "no run is on"),
        (json!({ "ask": "start" }), "`toml` is missing"),
        (
            json!({ "ask": "start", "toml": toml("pfifo"), "cell": 1 }),
            "`cell` is 1, of 1 cells",
        ),
        (json!({ "ask": "start", "toml": linux }), "bic"),
    ] {
        let answer = ask(&mut session, &request);
        let said = answer["failure"].as_str().expect("it is refused");
        assert!(said.contains(why), "{said}");
    }
    let said = session.answer("{");
    assert!(
        said["failure"]
            .as_str()
            .is_some_and(|s| s.contains("not JSON"))
    );
}

#[test]
fn the_catalogue_has_what_starts_as_it_stands() {
    let catalogue = ask(&mut Session::default(), &json!({ "ask": "catalogue" }));
    let disciplines = catalogue["disciplines"].as_array().expect("there are some");
    assert_eq!(disciplines.len(), sojourn_qdisc::catalogue().len());
    for one in disciplines {
        let text = |key: &str| one[key].as_str().expect("it is a text");
        let words = format!("{} {}", text("name"), text("needs"));
        let answer = ask(
            &mut Session::default(),
            &json!({ "ask": "start", "toml": toml(words.trim()) }),
        );
        assert!(answer["cells"].is_array(), "{words}: {answer}");
    }
    for control in catalogue["controls"].as_array().expect("there are some") {
        let text =
            toml("pfifo").replace("[dumbbell]", &format!("[tcp]\ncc = {control}\n[dumbbell]"));
        let answer = ask(
            &mut Session::default(),
            &json!({ "ask": "start", "toml": text }),
        );
        assert!(answer["cells"].is_array(), "{control}: {answer}");
    }
    let apps = catalogue["apps"].as_array().expect("there are some");
    let named: Vec<_> = apps.iter().filter_map(|app| app["name"].as_str()).collect();
    for app in ["bulk", "web", "dash", "video", "voip", "game"] {
        assert!(named.contains(&app), "{app} is not among {named:?}");
    }
    for app in named {
        let text = toml("pfifo").replace("\"bulk\"", &format!("{app:?}"));
        let answer = ask(
            &mut Session::default(),
            &json!({ "ask": "start", "toml": text }),
        );
        assert!(answer["cells"].is_array(), "{app}: {answer}");
    }
}
