//! The same for programs: what a scenario means, or what is wrong with it, as JSON.

use serde_json::{Map, Value, json};
use sojourn_qdisc::Entrance;
use sojourn_scenario::{Problems, Scenario};
use sojourn_service::{BridgeFile, Subscribers};
use sojourn_study::Study;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{Cell, Chance, Flow, Line, LineRate, Loss, Reorder, Transport};

/// The format's name and version.
const FORMAT: &str = "sojourn-check/1";

/// All cells of a scenario.
pub(super) fn cells(scenario: &Scenario) -> String {
    let cells = scenario.cells.iter().enumerate();
    show(&json!({
        "format": FORMAT,
        "scenario": scenario.info.name,
        "title": scenario.info.title,
        "problems": [],
        "cells": cells.map(|(index, one)| cell(index + 1, one)).collect::<Vec<_>>(),
    }))
}

/// The claims of a study.
pub(super) fn claims(study: &Study) -> String {
    let claims = study.claims.iter().map(|claim| {
        json!({
            "id": claim.id,
            "setting": study.settings[claim.setting].name,
            "statement": claim.statement,
            "published": claim.published,
        })
    });
    show(&json!({
        "format": FORMAT,
        "study": study.name,
        "title": study.title,
        "problems": [],
        "claims": claims.collect::<Vec<_>>(),
    }))
}

/// The pairs of a bridge.
pub(super) fn pairs(bridge: &BridgeFile) -> String {
    let pairs = bridge.pairs.iter().map(|pair| {
        let way = |(line, qdisc): &(Line, Entrance), side: usize| {
            let follows = pair.autorates[side];
            json!({
                "rate_bps": rate(Some(&line.rate)),
                "autorate_bps": follows.map(|it| [it.min.as_bps(), it.max.as_bps()]),
                "delay_ms": ms(line.delay),
                "jitter_ms": ms(line.jitter),
                "reorder": reorder(line.reorder),
                "loss": loss(line.loss),
                "duplicate": chance(line.duplicate),
                "qdisc": qdisc.to_string(),
            })
        };
        json!({
            "name": pair.name,
            "left": pair.left,
            "right": pair.right,
            "up": way(&pair.up, 0),
            "down": way(&pair.down, 1),
        })
    });
    show(&json!({
        "format": FORMAT,
        "problems": [],
        "pairs": pairs.collect::<Vec<_>>(),
    }))
}

/// The subscribers of a bridge.
pub(super) fn subscribers(read: &Subscribers) -> String {
    let both = |rates: [Rate; 2]| rates.map(Rate::as_bps);
    let sites = read.sites().map(|site| {
        json!({
            "name": site.name,
            "parent": site.parent,
            "rate_bps": both(site.rates),
            "circuits": site.circuits,
            "least_bps": both(site.least),
        })
    });
    let circuits = read.circuits().map(|circuit| {
        let queues = circuit
            .queues
            .map(|queue| queue.as_ref().map(ToString::to_string));
        json!({
            "name": circuit.name,
            "parent": circuit.parent,
            "least_bps": both(circuit.least),
            "most_bps": both(circuit.most),
            "qdisc": queues,
            "addresses": circuit.addresses,
        })
    });
    show(&json!({
        "format": FORMAT,
        "problems": [],
        "sites": sites.collect::<Vec<_>>(),
        "circuits": circuits.collect::<Vec<_>>(),
    }))
}

/// What is wrong with a file, in the order of the places.
pub(super) fn problems(problems: &Problems) -> String {
    show(&json!({ "format": FORMAT, "problems": problems.json() }))
}

fn show(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("JSON values always serialise");
    text.push('\n');
    text
}

fn ms(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

fn cell(number: usize, cell: &Cell) -> Value {
    let params = cell.params.iter();
    let params = params.map(|(field, value)| (field.clone(), Value::from(value.clone())));
    json!({
        "cell": number,
        "seed": cell.seed,
        "params": params.collect::<Map<_, _>>(),
        "duration_ms": ms(cell.duration),
        "warmup_ms": ms(cell.warmup),
        "sample_ms": ms(cell.sample_every),
        "links": links(cell),
        "flows": cell.flows.iter().map(|one| flow(cell, one)).collect::<Vec<_>>(),
    })
}

/// A share as a number, and in netem's words where there is more to it.
fn chance(chance: Chance) -> Value {
    if chance.correlation > 0.0 {
        json!(chance.to_string())
    } else {
        json!(chance.probability)
    }
}

fn loss(loss: Loss) -> Value {
    match loss {
        Loss::Random(random) => chance(random),
        Loss::GilbertElliott(_) | Loss::FourStates(_) => json!(loss.to_string()),
    }
}

fn reorder(reorder: Reorder) -> Value {
    match reorder {
        Reorder::Never => json!(false),
        Reorder::Allowed => json!(true),
        Reorder::Ahead { .. } => json!(reorder.to_string()),
    }
}

fn rate(rate: Option<&LineRate>) -> Value {
    match rate {
        Some(LineRate::Fixed(rate)) => json!(rate.as_bps()),
        Some(LineRate::Infinite) => json!("unlimited"),
        Some(LineRate::Trace(_)) => json!("trace"),
        None => Value::Null,
    }
}

fn links(cell: &Cell) -> Vec<Value> {
    let network = &cell.network;
    let interfaces = network.interfaces.iter().enumerate();
    let link = interfaces.map(|(index, interface)| {
        let medium = network.medium(index);
        let line = network.wire(index).map(|wire| &wire.line);
        let hearers = medium.hearers(interface.node).iter();
        json!({
            "name": interface.name,
            "from": network.nodes[interface.node].name,
            "to": hearers.map(|&to| network.nodes[to].name.as_str()).collect::<Vec<_>>(),
            "rate_bps": rate(medium.rate()),
            "delay_ms": ms(medium.delay()),
            "jitter_ms": line.map(|line| ms(line.jitter)),
            "reorder": line.map(|line| reorder(line.reorder)),
            "loss": line.map(|line| loss(line.loss)),
            "duplicate": line.map(|line| chance(line.duplicate)),
            "qdisc": interface.qdisc.to_string(),
        })
    });
    link.collect()
}

fn flow(cell: &Cell, flow: &Flow) -> Value {
    let since = |time: Time| time.as_nanos() as f64 / 1e6;
    let (transport, control) = match flow.transport {
        Transport::Udp => ("udp", None),
        Transport::Tcp(config) => ("tcp", Some(config.algorithm.name())),
    };
    json!({
        "name": flow.name,
        "from": cell.network.nodes[flow.from].name,
        "to": cell.network.nodes[flow.to].name,
        "app": flow.app.kind().name,
        "transport": transport,
        "cc": control,
        "base_rtt_ms": ms(flow.base_rtt),
        "start_ms": since(flow.start),
        "stop_ms": flow.stop.map(since),
        "dscp": flow.dscp,
    })
}
