//! What changes a scenario from outside: `--set`, `--sweep`, `--seed`, `--seeds`.

use clap::Args;
use sojourn_gateway::whole;
use sojourn_loader::Plugins;
use sojourn_scenario::{Options, Problems, Scenario, named_text};
use std::path::Path;

/// What changes a scenario from outside.
#[derive(Args)]
pub(crate) struct Overrides {
    /// Set a field to a value; may be repeated. Replaces the field's sweep in the file, if any
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) sets: Vec<String>,

    /// Sweep a field over these values, in addition to the file's sweeps; may be repeated
    #[arg(long = "sweep", value_name = "KEY=[VALUE, ...]")]
    pub(crate) sweeps: Vec<String>,

    /// First seed; without --seeds, the only one
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u64>(0, u64::MAX))]
    pub(crate) seed: Option<u64>,

    /// Number of seeds
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = whole::<u64>(1, 10_000))]
    pub(crate) seeds: Option<u64>,
}

impl Overrides {
    pub(crate) fn is_empty(&self) -> bool {
        self.options() == Options::default()
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            sets: self.sets.clone(),
            sweeps: self.sweeps.clone(),
            seed: self.seed,
            seeds: self.seeds,
        }
    }

    /// The scenario of a file, with the plug-ins that it or an option names, which are its world.
    pub(crate) fn load(&self, file: &Path) -> Result<(Scenario, Option<Plugins>), Problems> {
        let (name, text) = named_text(file)?;
        self.parse(&name, &text, file)
    }

    /// The same of a text that stands in `file`, for messages called `name`.
    pub(crate) fn parse(
        &self,
        name: &str,
        text: &str,
        file: &Path,
    ) -> Result<(Scenario, Option<Plugins>), Problems> {
        let (base, options) = (file.parent().unwrap_or(Path::new("")), self.options());
        match Plugins::scenario(name, text, base, &options)? {
            Some((scenario, plugins)) => Ok((scenario, Some(plugins))),
            None => Ok((Scenario::parse(name, text, base, &options)?, None)),
        }
    }
}
