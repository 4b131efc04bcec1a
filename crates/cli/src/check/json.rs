//! The same for programs: what a scenario means, or what is wrong with it, as JSON.

use serde_json::{Map, Value, json};
use sojourn_gateway::check::json::{FORMAT, chance, loss, ms, rate, reorder, show};
use sojourn_scenario::Scenario;
use sojourn_study::Study;
use sojourn_units::Time;
use sojourn_world::{Cell, Flow, Stack, Transport};

/// All cells of a scenario.
pub(super) fn cells(scenario: &Scenario) -> String {
    let cells = scenario.cells.iter().enumerate();
    show(&json!({
        "format": FORMAT,
        "scenario": scenario.info.name,
        "title": scenario.info.title,
        "problems": [],
        "warnings": scenario.warnings.json(),
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

fn cell(number: usize, cell: &Cell) -> Value {
    let params = cell
        .params
        .iter()
        .map(|(field, value)| (field.clone(), Value::from(value.clone())));
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
        "stack": flow.stack.map(Stack::name),
        "base_rtt_ms": ms(flow.base_rtt),
        "start_ms": since(flow.start),
        "stop_ms": flow.stop.map(since),
        "dscp": flow.dscp,
    })
}
