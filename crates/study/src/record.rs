//! `claims.json`: what a study's folder says beside its results, written and read.

use crate::changes::Changes;
use crate::judge::{Judged, Verdict};
use crate::reproduced::Reproduced;
use crate::status::Status;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sojourn_report::{ReportError, document, programs};
use sojourn_world::WorldName;
use std::path::Path;

/// The claims' file name.
pub const CLAIMS: &str = "claims.json";
/// The format of `claims.json`.
pub const CLAIMS_FORMAT: &str = "sojourn-claims/2";
/// Its format with other verdicts, which is still read.
const OLDER_FORMAT: &str = "sojourn-claims/1";

impl Reproduced<'_> {
    /// `claims.json`, format `sojourn-claims/2`, with a newline at its end. Its notes are kept for
    /// when the page is made again.
    pub fn json(&self) -> String {
        let claims: Vec<Value> = self.claims.iter().map(claim_json).collect();
        let cost: Map<String, Value> = self
            .cost
            .iter()
            .map(|(name, value)| {
                let whole =
                    (value.fract() == 0.0 && value.abs() < 1e15).then(|| json!(*value as i64));
                (name.clone(), whole.unwrap_or_else(|| json!(value)))
            })
            .collect();
        let mut root = json!({
            "format": CLAIMS_FORMAT,
            "study": self.study.name,
            "headline": self.headlines(),
            "claims": claims,
            "cost": cost,
            "notes": self.failures,
        });
        if let Some(queue) = self.study.another_queue() {
            root["queue"] = json!(queue);
        }
        if let Some(changes) = self.study.changes() {
            root["set"] = json!(changes);
        }
        if let Some(program) = programs(&self.results) {
            root["program"] = json!(program);
        }
        let text = serde_json::to_string_pretty(&root);
        text.expect("JSON values always serialise") + "\n"
    }
}

impl Reproduced<'_> {
    /// Of each world how many claims came out how, and how many worse than recorded.
    fn headlines(&self) -> Vec<Value> {
        let headline = |world: &WorldName| {
            let mut counts = Map::new();
            counts.insert("world".into(), json!(world.as_str()));
            for status in Status::ALL {
                counts.insert(status.word().into(), json!(self.count(world, status)));
            }
            let worse = self.verdicts(world).filter(|verdict| verdict.is_worse);
            counts.insert("worse".into(), json!(worse.count()));
            Value::from(counts)
        };
        self.worlds.iter().map(headline).collect()
    }
}

pub(crate) fn claim_json(judged: &Judged<'_>) -> Value {
    let decisive = judged.decisive();
    let worlds: Vec<Value> = judged
        .verdicts
        .iter()
        .map(|(w, verdict)| verdict_json(w, verdict))
        .collect();
    json!({
        "id": judged.claim.id,
        "statement": judged.claim.statement,
        "published": judged.claim.published,
        "own": judged.claim.own,
        "seeds": judged.claim.seeds,
        "ours": decisive.ours,
        "interval": decisive.interval().map(|(low, high)| [low, high]),
        "status": decisive.status.word(),
        "worse": decisive.is_worse,
        "reason": decisive.reason,
        "worlds": worlds,
    })
}

fn verdict_json(world: &WorldName, verdict: &Verdict) -> Value {
    let checks = verdict.checks.iter().map(|check| {
        json!({
            "check": check.check,
            "status": check.status.word(),
            "recorded": check.recorded.word(),
            "worse": check.is_worse,
            "cases": check.cases,
            "held": check.held,
            "open": check.open,
            "not_run": check.not_run,
            "closest": check.closest,
            "failures": check.failures,
            "mark": check.mark.as_ref().map(|mark| json!({
                "why": mark.why,
                "within": mark.within,
                "reference": mark.reference,
            })),
        })
    });
    json!({
        "world": world.as_str(),
        "ours": verdict.ours,
        "interval": verdict.interval().map(|(low, high)| [low, high]),
        "status": verdict.status.word(),
        "title": verdict.status.title(),
        "worse": verdict.is_worse,
        "reason": verdict.reason,
        "checks": checks.collect::<Vec<_>>(),
    })
}

/// What `claims.json` says of how a study was reproduced.
#[derive(Clone, Debug, PartialEq)]
pub struct Reproduction {
    /// The study's name.
    pub study: String,
    /// Ids of the claims that were asked for.
    pub claims: Vec<String>,
    /// What all runs took, by the names of the figures.
    pub cost: Vec<(String, f64)>,
    /// Sentences for the page's reader.
    pub notes: Vec<String>,
    /// The queue that was run beside the study's own ([`Study::with_queue`]).
    ///
    /// [`Study::with_queue`]: crate::Study::with_queue
    pub queue: Option<String>,
    /// What was set from outside ([`Study::with_set`]).
    ///
    /// [`Study::with_set`]: crate::Study::with_set
    pub changes: Option<Changes>,
}

/// Reads `claims.json` of a folder; none when it has none.
///
/// # Errors
/// When the file cannot be read, or is not what this version writes.
pub fn reproduction(dir: &Path) -> Result<Option<Reproduction>, ReportError> {
    let path = dir.join(CLAIMS);
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path).map_err(ReportError::io("read", &path))?;
    // What is read here is the same in the format of older programs.
    let file: File = document(&text, CLAIMS_FORMAT)
        .or_else(|damage| document(&text, OLDER_FORMAT).map_err(|_| damage))
        .map_err(|d| ReportError::damaged(&path, d))?;
    Ok(Some(Reproduction {
        study: file.study,
        claims: file.claims.into_iter().map(|claim| claim.id).collect(),
        cost: file.cost.into_iter().collect(),
        notes: file.notes,
        queue: file.queue,
        changes: file.set,
    }))
}

#[derive(Deserialize)]
struct File {
    study: String,
    claims: Vec<ClaimFile>,
    cost: IndexMap<String, f64>,
    notes: Vec<String>,
    queue: Option<String>,
    set: Option<Changes>,
}

#[derive(Deserialize)]
struct ClaimFile {
    id: String,
}

#[cfg(test)]
mod tests {
    use super::{CLAIMS_FORMAT, File};
    use sojourn_report::document;

    #[test]
    fn what_is_wrong_is_named() {
        let refused = |text: &str| {
            let found: Result<File, _> = document(text, CLAIMS_FORMAT);
            found.err().expect(text).to_string()
        };
        assert_eq!(refused("{}"), "`format` is missing");
        let error = refused(r#"{ "format": "sojourn-claims/3" }"#);
        assert!(error.contains("expected `sojourn-claims/2`"), "{error}");
    }
}
