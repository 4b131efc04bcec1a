//! Queues from shared libraries (`rust:FILE.so:AQM`): where the command line takes them.

use crate::WrongInput;
use crate::worlds::{WORLDS, WorldRow};
use sojourn_loader::Plugins;
use sojourn_world::World;

/// The world of what `named` names, as the only one of `rows`.
pub(crate) fn world(
    plugins: Plugins,
    named: &str,
    rows: &[&WorldRow],
) -> Result<Box<dyn World + Sync>, WrongInput> {
    let sim = &WORLDS[0].name;
    match rows.iter().find(|row| row.name != *sim) {
        Some(other) => Err(WrongInput(format!(
            "{named}: a plug-in runs in the world `{sim}` only, not in `{}`",
            other.name
        ))),
        None => Ok(Box::new(plugins)),
    }
}
