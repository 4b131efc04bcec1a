//! AQMs and congestion controls from shared libraries (`rust:FILE.so:TYPE`): where the command line
//! takes them.

use crate::WrongInput;
use crate::worlds::{WORLDS, WorldRow};
use sojourn_loader::{Plugins, Sort};
use sojourn_qdisc::{Spec, SpecError};
use sojourn_world::World;

/// The world of what `named` names, as the only one of `rows`, for runs that are `resumed` or not.
pub(crate) fn world(
    plugins: Plugins,
    named: &str,
    rows: &[&WorldRow],
    resumed: bool,
) -> Result<Box<dyn World + Sync>, WrongInput> {
    if resumed {
        return Err(WrongInput(format!(
            "{named}: --resume cannot know whether the plug-in has changed; leave it out"
        )));
    }
    let sim = &WORLDS[0].name;
    match rows.iter().find(|row| row.name != *sim) {
        Some(other) => Err(WrongInput(format!(
            "{named}: a plug-in runs in the world `{sim}` only, not in `{}`",
            other.name
        ))),
        None => Ok(Box::new(plugins)),
    }
}

/// The plug-in that the value of an option names, and what stands for it; none where it names none.
pub(crate) fn one(
    option: &str,
    value: &str,
    wanted: Sort,
) -> Result<Option<(Plugins, String)>, WrongInput> {
    if !Plugins::is_named(value) {
        return Ok(None);
    }
    let loaded = Plugins::one(value, wanted);
    loaded
        .map(Some)
        .map_err(|why| WrongInput(format!("{option}: {why}")))
}

/// The AQM that the value of an option names, and the queue that stands for it in cells.
pub(crate) fn queue(option: &str, name: &str) -> Result<(Plugins, Spec), WrongInput> {
    let wrong = |why: &dyn std::fmt::Display| WrongInput(format!("{option}: {why}"));
    let (plugins, stand_in) = Plugins::one(name, Sort::Aqm).map_err(|why| wrong(&why))?;
    let spec = stand_in.parse().map_err(|why: SpecError| wrong(&why))?;
    Ok((plugins, spec))
}
