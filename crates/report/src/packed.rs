//! Results as bytes, for another process: the summary and the table of a folder in one piece.

use crate::error::{Damage, ReportError};
use crate::{summary, summary_json, table, write_table};
use bytes::Bytes;
use sojourn_world::{RunResult, ScenarioInfo};

/// The length of the summary stands before it, in so many bytes.
const LENGTH: usize = size_of::<u64>();

/// The results as bytes, to be read with [`unpack`].
///
/// # Errors
/// When the table cannot be encoded.
pub fn pack(info: &ScenarioInfo, results: &[RunResult]) -> Result<Vec<u8>, ReportError> {
    let summary = summary_json(info, results);
    let mut bytes = (summary.len() as u64).to_le_bytes().to_vec();
    bytes.extend(summary.as_bytes());
    write_table(&mut bytes, info, results)?;
    Ok(bytes)
}

/// Reads what [`pack`] has made.
///
/// # Errors
/// Says what is wrong with the bytes.
pub fn unpack(bytes: &[u8]) -> Result<(ScenarioInfo, Vec<RunResult>), Damage> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH>().ok_or(Damage::Short)?;
    let length = u64::from_le_bytes(*length) as usize;
    let (text, rows) = rest.split_at_checked(length).ok_or(Damage::Short)?;
    let text = std::str::from_utf8(text).map_err(|_| Damage::Short)?;
    let mut read = summary::read(text)?;
    table::read(Bytes::copy_from_slice(rows), &mut read.results)?;
    Ok((read.info, read.results))
}
