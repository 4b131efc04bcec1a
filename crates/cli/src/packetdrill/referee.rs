//! The same scripts against the kernel of a guest.
//!
//! One guest runs them all, one after another, each in a namespace of its own. What host and guest
//! tell each other are two files of the folder that they share: the scripts, and what became of
//! each.

use crate::kernel::{ROLES_SCRIPTS, machine};
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use sojourn_gateway::stop_on_signal;
use sojourn_kernel::job::SHARED;
use sojourn_kernel::{Job, Output, Wanted};
use sojourn_packetdrill::{Outcome, Script, Verdict};
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The scripts, for the guest.
const SCRIPTS: &str = "scripts";
/// What became of them, from the guest.
const OUTCOMES: &str = "outcomes";
/// Where a guest has all of the host's files.
const HOST: &str = "/run/host";
/// Where programs that scripts call are looked for.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// What the kernel of a guest makes of each script.
pub(super) fn ask(files: &[PathBuf], wanted: Wanted) -> anyhow::Result<Vec<Outcome>> {
    let machine = machine(wanted, 1)?;
    let stop = stop_on_signal()?;
    let mut guest = machine.prepare(Output::Log)?;
    let absolute: Vec<PathBuf> = files
        .iter()
        .map(std::path::absolute)
        .collect::<Result<_, _>>()?;
    fs::write(guest.dir().join(SCRIPTS), json!(absolute).to_string())
        .context("cannot write a guest's scripts")?;
    let arguments = ROLES_SCRIPTS.iter().map(|&word| word.to_owned()).collect();
    let mut job = Job::new("/proc/self/exe", arguments);
    job.output = Output::Log;
    job.environment = vec![("PATH".to_owned(), PATH.to_owned())];
    guest.go(&job)?;
    let (status, _) = guest.wait(&mut |_| {
        if stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if status != 0 {
        return Err(guest.failed(&format!("status {status}")).into());
    }
    let text = fs::read_to_string(guest.dir().join(OUTCOMES))
        .context("cannot read what became of a guest's scripts")?;
    let outcomes: Option<Vec<Outcome>> = text.lines().map(read).collect();
    match outcomes {
        Some(outcomes) if outcomes.len() == files.len() => Ok(outcomes),
        _ => bail!("the guest does not tell what became of every script"),
    }
}

fn read(line: &str) -> Option<Outcome> {
    let value: Value = serde_json::from_str(line).ok()?;
    let word = value["verdict"].as_str()?;
    Some(Outcome {
        verdict: Verdict::ALL
            .into_iter()
            .find(|verdict| verdict.word() == word)?,
        line: value["line"].as_u64().and_then(|line| line.try_into().ok()),
        why: value["why"].as_str()?.to_owned(),
    })
}

/// The guest's side: runs the scripts that are in the shared folder.
pub(crate) fn inside() -> anyhow::Result<u8> {
    let shared = Path::new(SHARED);
    let text = fs::read(shared.join(SCRIPTS)).context("cannot read the scripts' names")?;
    let files: Vec<PathBuf> = serde_json::from_slice(&text)?;
    let mut output = File::create(shared.join(OUTCOMES)).context("cannot write the outcomes")?;
    for file in files {
        // Below the host's root: the guest hides some of its folders.
        let file = Path::new(HOST).join(file.strip_prefix("/").unwrap_or(&file));
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {name}"))?;
        let script = Script::read(&name, &text)?;
        let outcome = sojourn_referee::run(&script, super::folder(&file))
            .with_context(|| format!("cannot run {name}"))?;
        writeln!(output, "{}", super::as_json(&outcome))?;
    }
    // The host's disk may be full, which only this tells.
    output.sync_all()?;
    Ok(0)
}
