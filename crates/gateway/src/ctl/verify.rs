//! `sojourn ctl verify`: whether the shaper is in force, and where the queue is.
#![allow(
    clippy::disallowed_methods,
    reason = "the line is looked at in real time"
)]

use crate::connection::Connection;
use crate::print;
use clap::Args;
use serde_json::{Value, json};
use sojourn_service::Looks;
use sojourn_units::{Span, parse_span};
use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

/// How often the bridge is looked at.
const EVERY: Duration = Duration::from_millis(50);

/// Say whether the shaper is in force and where the queue is
///
/// Samples the bridge for some seconds; run it while the line is fully loaded. For each direction
/// it prints how much of the set rate is sent, whether packets wait here, and what bypasses the
/// queue or matches no circuit. The exit status is 1 if the shaper is not in force.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn ctl verify
  sojourn ctl --pair wan verify --duration 20s
  sojourn ctl --json verify | jq '.pairs[].up.verdict'")]
pub(super) struct VerifyArgs {
    /// How long
    #[arg(long, value_name = "TIME", value_parser = parse_span, default_value = "5s")]
    duration: Span,
}

impl VerifyArgs {
    pub(super) fn ask(
        &self,
        connection: &mut Connection,
        pair: Option<&str>,
        as_json: bool,
    ) -> anyhow::Result<u8> {
        let request = json!({"command": "verify", "pair": pair});
        let mut looks = Looks::default();
        let duration = Duration::from_nanos(self.duration.as_nanos());
        let first = super::agreed(connection.ask(&request)?)?;
        let start = Instant::now();
        looks.add(first);
        let seconds = loop {
            thread::sleep(EVERY.min(duration.saturating_sub(start.elapsed())));
            looks.add(super::agreed(connection.ask(&request)?)?);
            let passed = start.elapsed();
            if passed >= duration {
                break passed.as_secs_f64();
            }
        };
        let judged = looks.judge(seconds);
        if as_json {
            print(&format!("{judged}\n"))?;
        } else {
            print(&text(&judged))?;
        }
        Ok(u8::from(!is_well(&judged)))
    }
}

/// The directions of a pair that were judged.
fn ways(pair: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    let ways = ["up", "down"].map(|way| (way, &pair[way]));
    ways.into_iter().filter(|(_, judged)| judged.is_object())
}

fn pairs(judged: &Value) -> impl Iterator<Item = &Value> {
    judged["pairs"].as_array().into_iter().flatten()
}

fn is_well(judged: &Value) -> bool {
    pairs(judged)
        .all(|pair| pair["error"].is_null() && ways(pair).all(|(_, way)| way["well"] == true))
}

fn text(judged: &Value) -> String {
    let mut text = String::new();
    for pair in pairs(judged) {
        let name = pair["name"].as_str().unwrap_or_default();
        if let Some(error) = pair["error"].as_str() {
            let _ = writeln!(text, "pair {name}: {error}");
        }
        for (way, judged) in ways(pair) {
            let word = |field: &str| judged[field].as_str().unwrap_or_default();
            let verdict = word("verdict").replace('_', " ");
            let _ = writeln!(text, "pair {name} {way}: {verdict}: {}", word("sentence"));
            let remarks = judged["remarks"].as_array().into_iter().flatten();
            for remark in remarks.filter_map(Value::as_str) {
                let _ = writeln!(text, "  {remark}");
            }
        }
    }
    text
}
