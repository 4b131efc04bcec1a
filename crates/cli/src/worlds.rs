//! The table of worlds as the command line offers it.

use crate::WrongInput;
use crate::kernel::machine;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sojourn_live::Queues;
use sojourn_scenario::problem::suggestion;
use sojourn_world::World;
pub(crate) use sojourn_worlds::{Setup, WORLDS, WorldRow, names, squares, with_kernel};

/// A world, if it can run here.
///
/// # Errors
/// Says why it cannot.
pub(crate) fn world(row: &WorldRow, setup: Setup) -> Result<Box<dyn World + Sync>, WrongInput> {
    // Each cell's seed takes the place of this one.
    row.world(setup, |wanted| machine(wanted, 0))
        .map_err(|why| WrongInput(why.to_string()))
}

/// Whose queues a run in the kernel world has, as the command line offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Whose {
    /// Ours, in the bridge
    Ours,
    /// The kernel's own, set up by tc from the same strings
    Kernel,
    /// Ours, inside the kernel: see `kernel build --module`
    Module,
}

impl From<Whose> for Queues {
    fn from(whose: Whose) -> Self {
        match whose {
            Whose::Ours => Self::Ours,
            Whose::Kernel => Self::Kernel,
            Whose::Module => Self::Module,
        }
    }
}

/// The choice of queues, of commands that run in one or several worlds.
#[derive(Args, Clone, Copy)]
pub(crate) struct QueuesChoice {
    /// Which queues --world kernel uses [default: ours]
    #[arg(long, value_name = "WHOSE")]
    queues: Option<Whose>,
}

impl QueuesChoice {
    /// Whether it was made.
    pub(crate) const fn is_made(self) -> bool {
        self.queues.is_some()
    }

    /// Whose they are.
    pub(crate) fn queues(self) -> Queues {
        self.queues.map_or(Queues::Ours, Queues::from)
    }

    /// How the worlds are set up.
    ///
    /// # Errors
    /// When none of them has the choice.
    pub(crate) fn setup(self, worlds: &[&WorldRow]) -> Result<Setup, WrongInput> {
        if self.is_made() {
            need_kernels(worlds, "--queues")?;
        }
        Ok(Setup {
            queues: self.queues(),
            ..Setup::default()
        })
    }
}

/// A word of the command line that one of the worlds must have kernels for.
pub(crate) fn need_kernels(worlds: &[&WorldRow], word: &str) -> Result<(), WrongInput> {
    if worlds.iter().any(|row| row.has_kernels) {
        return Ok(());
    }
    let fit = names_with(|row| row.has_kernels);
    Err(WrongInput(format!("{word} needs --world {fit}")))
}

/// The names of the worlds that have a feature, for people.
pub(crate) fn names_with(has: fn(&WorldRow) -> bool) -> String {
    let fit: Vec<&str> = WORLDS
        .iter()
        .filter(|row| has(row))
        .map(|row| row.name.as_str())
        .collect();
    fit.join(" or ")
}

/// The world with this name, if its runs repeat. What takes many runs would take hours in real
/// time.
pub(crate) fn repeating(name: &str) -> Result<&'static WorldRow, String> {
    let rows = || WORLDS.iter().filter(|row| row.repeats());
    let named = rows().find(|row| row.name.as_str() == name);
    named.ok_or_else(|| {
        let names: Vec<_> = rows().map(|row| row.name.as_str()).collect();
        let is_known = WORLDS.iter().any(|row| row.name.as_str() == name);
        let repeats = if is_known {
            "its runs do not repeat, and take real time; "
        } else {
            "unknown world; "
        };
        format!("`{name}`: {repeats}{}", suggestion(name, &names))
    })
}

/// For `--help` of `--jobs`.
pub(crate) fn jobs_help() -> String {
    let of = |side_by_side: bool| {
        let rows = WORLDS.iter().filter(|row| row.side_by_side == side_by_side);
        rows.map(|row| row.name.as_str())
            .collect::<Vec<_>>()
            .join(" and ")
    };
    let (many, one) = (of(true), of(false));
    format!("Runs at a time [default: one for each processor in {many}, 1 in {one}]")
}

/// Reads the name of a world, or of two together.
pub(crate) fn some() -> impl TypedValueParser<Value = &'static [WorldRow]> {
    const BOTH: &str = "both";
    let both = PossibleValue::new(BOTH).help("Simulated, then live");
    let names = WORLDS.iter().map(possible).chain([both]);
    PossibleValuesParser::new(names).map(|name| {
        let at = WORLDS.iter().position(|row| row.name.as_str() == name);
        at.map_or(&WORLDS[..2], |at| &WORLDS[at..=at])
    })
}

/// Each world once, in the order of their names on the command line.
pub(crate) fn once(told: &[&'static [WorldRow]]) -> Vec<&'static WorldRow> {
    let mut worlds: Vec<&WorldRow> = Vec::new();
    for row in told.iter().copied().flatten() {
        if worlds.iter().all(|known| known.name != row.name) {
            worlds.push(row);
        }
    }
    worlds
}

fn possible(row: &'static WorldRow) -> PossibleValue {
    PossibleValue::new(row.name.as_str()).help(row.help)
}
