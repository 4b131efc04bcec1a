//! Shards of a scenario's runs, put together to what one run of the whole would have left.

use crate::error::ReportError;
use crate::folder::Folder;
use crate::stored::Finished;
use sojourn_world::{ScenarioInfo, Shard};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The runs of all shards.
#[derive(Debug)]
pub struct Joined {
    /// The scenario.
    pub info: ScenarioInfo,
    /// The runs, in the order of the whole.
    pub runs: Vec<Finished>,
}

/// A folder of results, which holds one shard.
struct Part<'a> {
    dir: &'a Path,
    info: ScenarioInfo,
    shard: Shard,
}

/// Reads the folders of all shards of a scenario's runs, in any order, and puts their runs in the
/// scenario's.
///
/// # Errors
/// When a folder's files are missing or damaged, when folders are not shards of one scenario and of
/// the same division, when one is there twice or not at all, or lacks runs. Nothing is left out.
pub fn join(dirs: &[PathBuf]) -> Result<Joined, ReportError> {
    let mut shards = BTreeMap::new();
    let mut first: Option<Part<'_>> = None;
    for dir in dirs {
        let held = Folder::open(dir)?;
        let shard = shard(dir, &held)?;
        let part = Part {
            dir,
            info: held.info.clone(),
            shard,
        };
        match &first {
            None => first = Some(part),
            Some(other) => same_whole(&part, other)?,
        }
        if let Some((other, _)) = shards.insert(shard.number, (dir, held)) {
            return mixed(format!(
                "{} and {} both hold shard {}/{}",
                other.display(),
                dir.display(),
                shard.number,
                shard.of
            ));
        }
    }
    let Some(Part {
        mut info,
        shard: whole,
        ..
    }) = first
    else {
        return mixed("no folder to read was named".to_owned());
    };
    let missing = (1..=whole.of)
        .map(|number| Shard { number, ..whole })
        .filter(|shard| shard.places().len() > 0 && !shards.contains_key(&shard.number))
        .map(|shard| format!("{}/{}", shard.number, shard.of))
        .collect::<Vec<_>>();
    if !missing.is_empty() {
        return mixed(format!(
            "missing: shard {} (`sojourn run FILE --shard {} --out DIR`)",
            missing.join(", "),
            missing[0]
        ));
    }
    info.shard = None;
    Ok(Joined {
        info,
        runs: in_order(whole, shards.into_values())?,
    })
}

fn mixed<T>(message: String) -> Result<T, ReportError> {
    Err(ReportError::Mixed(message))
}

/// Which shard a folder holds.
fn shard(dir: &Path, held: &Folder) -> Result<Shard, ReportError> {
    match held.info.shard {
        Some(shard) if (1..=shard.of).contains(&shard.number) => Ok(shard),
        Some(Shard { number, of, .. }) => mixed(format!(
            "{} says that it holds shard {number}/{of}, which there is none of",
            dir.display()
        )),
        None => mixed(format!(
            "{} holds no shard (`sojourn run --shard I/N`): `sojourn report` sets whole results \
             side by side",
            dir.display()
        )),
    }
}

/// Whether two shards are of the same runs.
fn same_whole(part: &Part<'_>, first: &Part<'_>) -> Result<(), ReportError> {
    let (dir, other) = (part.dir.display(), first.dir.display());
    if part.info.name != first.info.name || part.info.source != first.info.source {
        return mixed(format!(
            "{dir} and {other} hold shards of different scenarios, or of different texts of one"
        ));
    }
    let [of, whole] = [part.shard, first.shard];
    if (of.of, of.runs) != (whole.of, whole.runs) {
        return mixed(format!(
            "{dir} is one of {} shards of {} runs, {other} one of {} of {}",
            of.of, of.runs, whole.of, whole.runs
        ));
    }
    Ok(())
}

/// All runs, world by world, in the order of the whole.
fn in_order<'a>(
    whole: Shard,
    shards: impl Iterator<Item = (&'a PathBuf, Folder)>,
) -> Result<Vec<Finished>, ReportError> {
    let mut worlds = Vec::new();
    let mut all = Vec::new();
    for (dir, held) in shards {
        let number = held.info.shard.map_or(1, |shard| shard.number);
        let shard = Shard { number, ..whole };
        let mut counts = BTreeMap::new();
        for run in held.runs {
            let world = &run.figures.world;
            let place = worlds
                .iter()
                .position(|known| known == world)
                .unwrap_or_else(|| {
                    worlds.push(world.clone());
                    worlds.len() - 1
                });
            let count = counts.entry(place).or_insert(0);
            all.push((place, shard.places().nth(*count), run));
            *count += 1;
        }
        for (place, world) in worlds.iter().enumerate() {
            let (there, due) = (
                counts.get(&place).copied().unwrap_or(0),
                shard.places().len(),
            );
            if there != due {
                return mixed(format!(
                    "{} holds {there} of the {due} runs of shard {number}/{} in world {world}; run \
                     it again with --resume",
                    dir.display(),
                    whole.of
                ));
            }
        }
    }
    all.sort_by_key(|(world, place, _)| (*world, *place));
    Ok(all.into_iter().map(|(.., run)| run).collect())
}
