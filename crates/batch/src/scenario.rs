//! What a folder of results has of a scenario's runs.

use crate::error::BatchError;
use crate::part::{There, take_results};
use sojourn_report::{Folder, SUMMARY, Slot};
use sojourn_world::{Cell, ScenarioInfo, WorldName};
use std::path::Path;

/// Keeps in their slots what the results of a folder have of the cells in a world, and `there`
/// lacks. A folder without results has nothing.
///
/// # Errors
/// When the results are of another scenario, or cannot be read or kept.
pub fn held(
    there: &mut There,
    info: &ScenarioInfo,
    cells: &[Cell],
    slots: &[Slot],
    world: &WorldName,
    dir: &Path,
) -> Result<(), BatchError> {
    if !dir.join(SUMMARY).exists() {
        return Ok(());
    }
    let held = Folder::open(dir)?;
    if held.info.source != info.source {
        return Err(BatchError::OtherScenario(dir.to_owned()));
    }
    let key = |place: usize| Some((cells[place].params.clone(), cells[place].seed));
    Ok(take_results(there, held.runs, cells, slots, world, key)?)
}
