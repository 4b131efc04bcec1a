//! Requests and their answers; between them the session keeps the run that is on.

use crate::{catalogue, picture};
use serde_json::{Value, json};
use sojourn_scenario::{Options, Problems, Scenario};
use sojourn_sim::Run;
use sojourn_units::{Span, Time};
use sojourn_world::{Cell, WorldError};
use std::path::Path;

/// The name by which messages call the text of the page.
const NAME: &str = "scenario.toml";

/// What a page talks with. It keeps one run.
#[derive(Debug, Default)]
pub struct Session {
    running: Option<Running>,
}

/// A run in the middle.
#[derive(Debug)]
struct Running {
    run: Run,
    /// In seconds.
    duration: f64,
}

impl Session {
    /// The answer to a request, both JSON. `{"problems": […]}` says what is wrong with a scenario,
    /// `{"failure": "…"}` that something else cannot be done, and why.
    pub fn answer(&mut self, request: &str) -> Value {
        let answer = serde_json::from_str::<Value>(request)
            .map_err(|error| failure(&format!("the request is not JSON: {error}")))
            .and_then(|request| self.handle(&request));
        answer.unwrap_or_else(|refusal| refusal)
    }

    fn handle(&mut self, request: &Value) -> Result<Value, Value> {
        match request["ask"].as_str() {
            Some("catalogue") => Ok(catalogue::all()),
            Some("read") => read(request).map(|scenario| told(&scenario)),
            Some("start") => self.start(request),
            Some("forward") => self.forward(request),
            _ => Err(failure(
                "`ask` is one of catalogue, read, start and forward",
            )),
        }
    }

    /// Begins the run of a cell, counted from 0; a run that was on is forgotten.
    fn start(&mut self, request: &Value) -> Result<Value, Value> {
        self.running = None;
        let scenario = read(request)?;
        let answer = told(&scenario);
        let index = request["cell"].as_u64().unwrap_or(0) as usize;
        let count = scenario.cells.len();
        let cell = { scenario.cells.into_iter() }
            .nth(index)
            .ok_or_else(|| failure(&format!("`cell` is {index}, of {count} cells from 0")))?;
        let duration = seconds(cell.duration);
        let run = Run::new(cell).map_err(|error| failure(&error.to_string()))?;
        self.running = Some(Running { run, duration });
        Ok(answer)
    }

    /// Takes the run forward until `until` seconds; the answer has all points so far, of
    /// which late ones may still change, and when the run is over its figures and digest.
    fn forward(&mut self, request: &Value) -> Result<Value, Value> {
        let until = request["until"]
            .as_f64()
            .ok_or_else(|| failure("`until` is missing: seconds since the start of the run"))?;
        let mut running = self
            .running
            .take()
            .ok_or_else(|| failure("no run is on: `start` begins one"))?;
        let stopped = |error: WorldError| failure(&error.to_string());
        if until < running.duration {
            let until_time = Time::from_nanos(Span::from_secs_f64(until).as_nanos());
            running.run.forward(until_time).map_err(stopped)?;
            let points = picture::points(&running.run.look().result(), until);
            self.running = Some(running);
            return Ok(json!({ "now": until, "points": points }));
        }
        running.run.forward(Time::MAX).map_err(stopped)?;
        let result = running.run.finish();
        Ok(json!({
            "now": running.duration,
            "points": picture::points(&result, running.duration),
            "figures": picture::figures(&result),
            "digest": format!("{:016x}", result.digest),
            "events": result.cost.events,
        }))
    }
}

/// In seconds, exact where they are whole.
fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

fn failure(why: &str) -> Value {
    json!({ "failure": why })
}

/// The scenario in the request's `toml`.
fn read(request: &Value) -> Result<Scenario, Value> {
    let text = request["toml"]
        .as_str()
        .ok_or_else(|| failure("`toml` is missing: the text of a scenario"))?;
    Scenario::parse(NAME, text, Path::new(""), &Options::default())
        .map_err(|problems: Problems| json!({ "problems": problems.json() }))
}

fn told(scenario: &Scenario) -> Value {
    let cells = scenario.cells.iter().map(cell);
    json!({
        "name": scenario.info.name,
        "title": scenario.info.title,
        "cells": cells.collect::<Vec<_>>(),
    })
}

/// What a cell is, for the page to name and to draw it.
fn cell(cell: &Cell) -> Value {
    let interfaces = cell.network.interfaces.iter();
    let queues = interfaces.map(|one| json!({ "link": one.name, "qdisc": one.qdisc.to_string() }));
    let flows = cell
        .flows
        .iter()
        .map(|flow| json!({ "name": flow.name, "app": flow.app.kind().name }));
    json!({
        "params": cell.params,
        "seed": cell.seed,
        "duration": cell.duration.as_secs_f64(),
        "queues": queues.collect::<Vec<_>>(),
        "flows": flows.collect::<Vec<_>>(),
    })
}
