//! Reads back what a study's folder says beside its results.

use super::{CLAIMS, CLAIMS_FORMAT};
use crate::error::{Damage, ReportError};
use crate::json::{self, Format, Named};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

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
    let read = read(&text).map_err(|reason| ReportError::damaged(&path, reason))?;
    Ok(Some(read))
}

fn read(text: &str) -> Result<Reproduction, Damage> {
    let root: Value = serde_json::from_str(text)?;
    let Format { format } = json::read(&root)?;
    if format != CLAIMS_FORMAT {
        let expected = CLAIMS_FORMAT;
        return Err(Damage::Format { format, expected });
    }
    let file: File = json::read(&root)?;
    Ok(Reproduction {
        study: file.study,
        claims: file.claims.into_iter().map(|claim| claim.id).collect(),
        cost: file.cost.0,
        notes: file.notes,
    })
}

#[derive(Deserialize)]
struct File {
    study: String,
    claims: Vec<ClaimFile>,
    cost: Named<f64>,
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct ClaimFile {
    id: String,
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::study::{Claim, Verdict, claims_json};

    #[test]
    fn what_was_written_is_read() {
        let claim = Claim {
            id: "R1".into(),
            statement: "s".into(),
            published: "p".into(),
            verdicts: vec![Verdict {
                world: "sim",
                ours: String::new(),
                interval: None,
                interval_text: String::new(),
                status: "pass",
                reason: String::new(),
                checks: Vec::new(),
            }],
        };
        let cost = [("runs", 3.0), ("wall_s", 0.1)];
        let text = claims_json("small", &[claim], &cost, &["a run failed".into()], &[]);
        let found = read(&text).expect("it is right");
        assert_eq!(
            (found.study.as_str(), &found.claims[..]),
            ("small", &["R1".to_owned()][..])
        );
        assert_eq!(found.cost[1], ("wall_s".into(), 0.1));
        assert_eq!(found.notes, ["a run failed"]);
        let error = read(&text.replace("claims/1", "claims/2")).expect_err("another format");
        let error = error.to_string();
        assert!(error.contains("expected `sojourn-claims/1`"), "{error}");
        let error = read("{}").expect_err("nothing");
        assert_eq!(error.to_string(), "`format` is missing");
    }
}
