//! Results as bytes, for another process of the same program. A table takes many times as long to
//! write.

use crate::binary::{read_info, read_run, write_info, write_run};
use crate::bytes::{In, Out};
use crate::error::{Damage, ReportError};
use crate::parallel::in_order;
use crate::stored::Runs;
use sojourn_world::{RunResult, ScenarioInfo};

/// What they begin with.
const START: &str = "sojourn results 2";

/// The results as bytes, to be read with [`unpack`].
///
/// # Errors
/// When those on disk cannot be read.
pub fn pack(info: &ScenarioInfo, runs: Runs<'_>) -> Result<Vec<u8>, ReportError> {
    let mut to = Out::default();
    to.text(START);
    write_info(&mut to, info);
    to.length(runs.figures.len());
    for index in 0..runs.figures.len() {
        write_run(&mut to, &*runs.get(index)?);
    }
    Ok(to.0)
}

/// Reads what [`pack`] has made.
///
/// # Errors
/// Says what is wrong with the bytes.
pub fn unpack(bytes: &[u8]) -> Result<(ScenarioInfo, Vec<RunResult>), Damage> {
    let mut from = In(bytes);
    if from.text()? != START {
        return Err(Damage::Short);
    }
    let info = read_info(&mut from)?;
    let results = from.list(8, read_run)?;
    if from.0.is_empty() {
        Ok((info, results))
    } else {
        Err(Damage::Short)
    }
}

/// Runs that are unpacked at once.
const CHUNK: usize = 64;

/// A run alone as bytes, to be read with [`unpack_runs`].
pub fn pack_run(run: &RunResult) -> Vec<u8> {
    let mut to = Out::default();
    to.text(START);
    write_run(&mut to, run);
    to.0
}

/// Reads runs that [`pack_run`] has made, on all processors.
///
/// # Errors
/// Says what is wrong with the bytes.
pub fn unpack_runs(packed: &[&[u8]]) -> Result<Vec<RunResult>, Damage> {
    let unpack = |bytes: &&[u8]| {
        let mut from = In(bytes);
        if from.text()? != START {
            return Err(Damage::Short);
        }
        let run = read_run(&mut from)?;
        from.0.is_empty().then_some(run).ok_or(Damage::Short)
    };
    let chunks: Vec<&[&[u8]]> = packed.chunks(CHUNK).collect();
    let make = |chunk: usize| {
        chunks[chunk]
            .iter()
            .map(unpack)
            .collect::<Result<Vec<_>, _>>()
    };
    let mut runs = Vec::with_capacity(packed.len());
    in_order(chunks.len(), make, |made| {
        runs.extend(made?);
        Ok::<_, Damage>(())
    })?;
    Ok(runs)
}
