//! Results as bytes, for another process of the same program: the summary, and the points that it
//! leaves out. A table takes twenty times as long to write.

use crate::error::{Damage, ReportError};
use crate::stored::Runs;
use crate::{points, summary, summary_json};
use serde_json::de::SliceRead;
use sojourn_world::{RunResult, ScenarioInfo};

/// The length of the summary stands before it, in so many bytes.
const LENGTH: usize = size_of::<u64>();

/// The results as bytes, to be read with [`unpack`].
///
/// # Errors
/// When those on disk cannot be read.
pub fn pack(info: &ScenarioInfo, runs: Runs<'_>) -> Result<Vec<u8>, ReportError> {
    let summary = summary_json(info, runs.figures);
    let mut bytes = (summary.len() as u64).to_le_bytes().to_vec();
    bytes.extend(summary.as_bytes());
    for index in 0..runs.figures.len() {
        points::write(&mut bytes, &*runs.get(index)?);
    }
    Ok(bytes)
}

/// Reads what [`pack`] has made.
///
/// # Errors
/// Says what is wrong with the bytes.
pub fn unpack(bytes: &[u8]) -> Result<(ScenarioInfo, Vec<RunResult>), Damage> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>().ok_or(Damage::Short)?;
    let length = u64::from_le_bytes(*length) as usize;
    let (text, mut rest) = rest.split_at_checked(length).ok_or(Damage::Short)?;
    let mut read = summary::read(SliceRead::new(text))?;
    for run in &mut read.results {
        points::read(&mut rest, run)?;
    }
    if rest.is_empty() {
        Ok((read.info, read.results))
    } else {
        Err(Damage::Short)
    }
}
