//! Scenarios that name plug-ins, and the world that runs them.

use crate::library::{LoadError, PREFIX, Plugin};
use crate::queue::Fault;
use sojourn_qdisc::{Qdisc, Setting, Spec};
use sojourn_scenario::problem::Origin;
use sojourn_scenario::{Options, Problem, Problems, Scenario, StandIns};
use sojourn_sim::{Instead, Packet, Sim};
use sojourn_world::{Cell, Interface, Progress, RunResult, Taps, World, WorldError, WorldName};
use std::ops::ControlFlow;
use std::path::Path;
use thiserror::Error;

/// The simulated world with plug-ins, each of which a queue stands for in cells.
#[derive(Debug, Default)]
pub struct Plugins {
    names: StandIns,
    loaded: Vec<(Spec, Plugin)>,
}

/// A plug-in has failed in the middle of a run.
#[derive(Debug, Error)]
#[error("plug-in {0}")]
struct Failed(String);

impl Plugins {
    /// Whether a text names a plug-in.
    pub fn is_named(text: &str) -> bool {
        text.starts_with(PREFIX)
    }

    /// A scenario and its world, if the text or one of the options names a plug-in. Files in the
    /// text are seen from `base`, those in options from the working directory.
    ///
    /// # Errors
    /// When a plug-in cannot be loaded, or the scenario is wrong.
    pub fn scenario(
        name: &str,
        text: &str,
        base: &Path,
        options: &Options,
    ) -> Result<Option<(Scenario, Self)>, Problems> {
        let mut plugins = Self::default();
        let replaced = plugins.text(name, text, base)?;
        let mut options = options.clone();
        for (given, option) in [
            (&mut options.sets, "--set"),
            (&mut options.sweeps, "--sweep"),
        ] {
            for given in given {
                *given = plugins.option(option, given)?;
            }
        }
        if plugins.loaded.is_empty() {
            return Ok(None);
        }
        let mut scenario = Scenario::parse(name, &replaced, base, &options)?;
        plugins.name(&mut scenario);
        Ok(Some((scenario, plugins)))
    }

    /// The plug-in that a name means, alone, and the queue that stands for it. Its file is seen
    /// from the working directory.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub fn one(name: &str) -> Result<(Self, String), LoadError> {
        let mut plugins = Self::default();
        let stand_in = plugins.stand_in(name, Path::new(""))?;
        Ok((plugins, stand_in))
    }

    /// Has a scenario with stand-ins say the plug-ins' names.
    pub fn name(&self, scenario: &mut Scenario) {
        self.names.put_back(&mut scenario.info, &mut scenario.cells);
    }

    /// What stands for a plug-in, which is loaded once.
    fn stand_in(&mut self, name: &str, base: &Path) -> Result<String, LoadError> {
        if let Some(known) = self.names.of(name) {
            return Ok(known.to_owned());
        }
        let plugin = Plugin::load(name, base)?;
        let spec = Spec::pfifo(u32::MAX - self.loaded.len() as u32);
        let stand_in = spec.to_string();
        self.names.add(&stand_in, name);
        self.loaded.push((spec, plugin));
        Ok(stand_in)
    }

    /// A scenario's text with stand-ins.
    fn text(&mut self, name: &str, text: &str, base: &Path) -> Result<String, Problems> {
        let mut replaced = String::with_capacity(text.len());
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let is_remark = line.trim_start().starts_with('#');
            let mut rest = line;
            while let Some((before, quoted, after)) = quoted(rest).filter(|_| !is_remark) {
                let stand_in = self.stand_in(quoted, base).map_err(|why| {
                    let at = start + (line.len() - rest.len()) + before.len() + 1;
                    let field = line.split('=').next().unwrap_or_default().trim();
                    let mut problems = Problems::with_source(name, text);
                    let at = Origin::new(0, at..at + quoted.len());
                    problems.add(Problem::new(at, field, why.to_string()));
                    problems
                })?;
                replaced.extend([before, "\"", &stand_in, "\""]);
                rest = after;
            }
            replaced.push_str(rest);
            start += line.len();
        }
        Ok(replaced)
    }

    /// The argument of `--set` or `--sweep` with stand-ins.
    fn option(&mut self, option: &str, given: &str) -> Result<String, Problems> {
        let Some((key, value)) = given.split_once('=').filter(|_| given.contains(PREFIX)) else {
            return Ok(given.to_owned());
        };
        let mut parts = Vec::new();
        for part in value.split(',') {
            let bare = part.trim_matches(|edge: char| edge == ' ' || "[]\"'".contains(edge));
            parts.push(if Self::is_named(bare) {
                let stand_in = self.stand_in(bare, Path::new(""));
                let stand_in =
                    stand_in.map_err(|why| Problems::alone(option, format!("{key}: {why}")))?;
                part.replacen(bare, &stand_in, 1)
            } else {
                part.to_owned()
            });
        }
        Ok(format!("{key}={}", parts.join(",")))
    }
}

/// The next text in quotes that names a plug-in, with what comes before and after the quotes.
fn quoted(line: &str) -> Option<(&str, &str, &str)> {
    let starts = ['"', '\''].into_iter().filter_map(|quote| {
        let at = line.find(&format!("{quote}{PREFIX}"))?;
        Some((at, quote))
    });
    let (at, quote) = starts.min()?;
    let (inside, after) = line[at + 1..].split_once(quote)?;
    Some((&line[..at], inside, after))
}

/// What a run has in the place of stand-ins.
struct Making<'a> {
    plugins: &'a Plugins,
    fault: Fault,
}

impl Instead for Making<'_> {
    fn queue(&mut self, at: &Interface, setting: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        let mut all = self.plugins.loaded.iter();
        let (_, plugin) = all.find(|(spec, _)| *spec == at.qdisc)?;
        plugin.queue(setting, &self.fault.of(plugin.name()))
    }
}

impl World for Plugins {
    fn name(&self) -> WorldName {
        Sim::NAME
    }

    fn run(
        &self,
        cell: &Cell,
        taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        let fault = Fault::default();
        let mut making = Making {
            plugins: self,
            fault: fault.clone(),
        };
        let mut ask = |now| {
            if fault.has_come() {
                return ControlFlow::Break(());
            }
            progress(now)
        };
        let result = Sim.run_with(cell, taps, &mut ask, &mut making);
        match fault.take() {
            Some(why) => Err(WorldError::machine(Failed(why))),
            None => result,
        }
    }
}
