//! The table of worlds: the one place that knows which there are.

use crate::WrongInput;
use crate::kernel::machine;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sojourn_fidelity::{Code, Square};
use sojourn_kernel::{Kernel, KernelError, Store, Variant, Wanted};
use sojourn_live::{Guests, Live, Queues};
use sojourn_scenario::problem::suggestion;
use sojourn_sim::Sim;
use sojourn_world::{World, WorldName};
use std::num::NonZeroUsize;
use std::sync::LazyLock;

/// A world as the command line offers it.
pub(crate) struct Row {
    pub(crate) name: WorldName,
    /// For `--help`.
    help: &'static str,
    /// Whether runs side by side leave one another alone.
    side_by_side: bool,
    /// Whether programs can run beside its hosts.
    pub(crate) takes_programs: bool,
    /// Whether it has a kernel that can be chosen.
    pub(crate) has_kernels: bool,
    /// By whose TCP and queues it runs: each is a world of the fidelity matrix.
    pub(crate) squares: &'static [Square],
    /// Makes it; the error says why it cannot run here.
    make: fn(Setup) -> anyhow::Result<Box<dyn World + Sync>>,
}

/// How a world is set up, where it has the choice.
#[derive(Clone, Default)]
pub(crate) struct Setup {
    /// Shell command that runs beside the world's own hosts, on the clients' side.
    pub(crate) client: Option<String>,
    /// The same on the servers' side.
    pub(crate) server: Option<String>,
    /// Whose queues it has.
    pub(crate) queues: Queues,
    /// Which kernel it has.
    pub(crate) kernel: Wanted,
}

impl Setup {
    /// Which kernel it takes: our queues can be in one.
    fn wanted(&self) -> Wanted {
        Wanted {
            module: self.queues == Queues::Module,
            ..self.kernel
        }
    }

    /// That of a world of the fidelity matrix.
    pub(crate) fn of(square: &Square, kernel: Wanted) -> Self {
        let queues = match (square.queues, square.inside) {
            (Code::Kernel, _) => Queues::Kernel,
            (_, true) => Queues::Module,
            (_, false) => Queues::Ours,
        };
        Self {
            queues,
            kernel,
            ..Self::default()
        }
    }
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
    pub(crate) fn setup(self, worlds: &[&Row]) -> Result<Setup, WrongInput> {
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
pub(crate) fn need_kernels(worlds: &[&Row], word: &str) -> Result<(), WrongInput> {
    if worlds.iter().any(|row| row.has_kernels) {
        return Ok(());
    }
    let fit = names_with(|row| row.has_kernels);
    Err(WrongInput(format!("{word} needs --world {fit}")))
}

/// The simulated world, with the stacks that this program is built with.
#[cfg(feature = "quinn")]
const SIMULATED: sojourn_net::WithStacks = sojourn_net::WithStacks;
#[cfg(not(feature = "quinn"))]
const SIMULATED: Sim = Sim;

/// All worlds. The first is that of `scenario` in a study's settings, and the default.
pub(crate) static WORLDS: [Row; 3] = [
    Row {
        name: Sim::NAME,
        help: "Simulated: virtual time, model TCP",
        side_by_side: true,
        takes_programs: false,
        has_kernels: false,
        squares: &[Square {
            world: Sim::NAME,
            title: "simulated: our TCP model, our queues",
            tcp: Code::Ours,
            queues: Code::Ours,
            inside: false,
            repeats: true,
            kernel: None,
        }],
        make: |_| Ok(Box::new(SIMULATED)),
    },
    Row {
        name: Live::NAME,
        help: "Real time, the kernel's TCP and real packets in network namespaces; needs root",
        // They share the processors and disturb one another's timing.
        side_by_side: false,
        takes_programs: true,
        has_kernels: false,
        squares: &[Square {
            world: Live::NAME,
            title: "Linux in real time: its TCP, our queues",
            tcp: Code::Kernel,
            queues: Code::Ours,
            inside: false,
            repeats: false,
            kernel: None,
        }],
        make: |setup| {
            Live::available()?;
            Ok(Box::new(guests(setup)))
        },
    },
    Row {
        name: Kernel::NAME,
        help: "The real kernel in virtual time; needs no root; see `kernel build`",
        side_by_side: true,
        takes_programs: true,
        has_kernels: true,
        squares: &[
            Square {
                world: Kernel::NAME,
                title: "Linux in virtual time: its TCP, our queues",
                tcp: Code::Kernel,
                queues: Code::Ours,
                inside: false,
                repeats: true,
                kernel: None,
            },
            Square {
                world: Kernel::MODULE_NAME,
                title: "Linux in virtual time: its TCP, our queues inside it",
                tcp: Code::Kernel,
                queues: Code::Ours,
                inside: true,
                repeats: true,
                kernel: None,
            },
            Square {
                world: Kernel::TC_NAME,
                title: "Linux in virtual time: its TCP, its queues",
                tcp: Code::Kernel,
                queues: Code::Kernel,
                inside: true,
                repeats: true,
                kernel: None,
            },
        ],
        make: |setup| {
            // Each cell's seed takes the place of this one.
            let machine = machine(setup.wanted(), 0)?;
            let guests = guests(setup);
            Ok(Box::new(Kernel { machine, guests }))
        },
    },
];

/// The worlds of the fidelity matrix, the nearest to Linux last: all are held to 6.1 with the usual
/// tick.
pub(crate) fn squares() -> &'static [Square] {
    static SQUARES: LazyLock<Vec<Square>> = LazyLock::new(|| {
        let rows = WORLDS.iter().flat_map(|row| row.squares);
        let mut squares: Vec<Square> = rows.cloned().collect();
        let kernels = WORLDS.iter().filter(|row| row.has_kernels);
        for square in kernels.flat_map(|row| row.squares) {
            let others = Variant::all().skip(1);
            squares.extend(others.map(|kernel| square.with_kernel(&kernel.to_string())));
        }
        squares.sort_by_key(Square::nearness);
        squares
    });
    &SQUARES
}

/// A world with the kernel that is wanted, under the name that it has in the fidelity matrix.
///
/// # Errors
/// Says which kernel is not built.
pub(crate) fn with_kernel(square: &Square, wanted: Wanted) -> Result<&'static Square, KernelError> {
    let row = WORLDS.iter().find(|row| row.squares.contains(square));
    let named = match row {
        Some(row) if row.has_kernels => {
            let wanted = Setup::of(square, wanted).wanted();
            let kernel = Store::of_user()?.find(wanted)?.kernel;
            let usual = Variant::all().next() == Some(kernel);
            (!usual).then(|| square.with_kernel(&kernel.to_string()).world)
        }
        _ => None,
    };
    let name = named.unwrap_or_else(|| square.world.clone());
    let known = squares().iter().find(|square| square.world == name);
    Ok(known.expect("each kernel's squares are known"))
}

fn guests(setup: Setup) -> Guests {
    Guests {
        client: setup.client,
        server: setup.server,
        queues: setup.queues,
        repeats: false,
    }
}

/// The names of the worlds that have a feature, for people.
pub(crate) fn names_with(has: fn(&Row) -> bool) -> String {
    let fit: Vec<&str> = WORLDS
        .iter()
        .filter(|row| has(row))
        .map(|row| row.name.as_str())
        .collect();
    fit.join(" or ")
}

/// The world with this name, if its runs repeat. What takes many runs would take hours in real
/// time.
pub(crate) fn repeating(name: &str) -> Result<&'static Row, String> {
    let rows = || WORLDS.iter().filter(|row| row.repeats());
    let named = rows().find(|row| row.name.as_str() == name);
    named.ok_or_else(|| {
        let names: Vec<_> = rows().map(|row| row.name.as_str()).collect();
        let repeats = if name == "live" {
            "its runs do not repeat, and take real time; "
        } else {
            "unknown world; "
        };
        format!("`{name}`: {repeats}{}", suggestion(name, &names))
    })
}

/// The names of all worlds.
pub(crate) fn names() -> Vec<WorldName> {
    WORLDS.iter().map(|row| row.name.clone()).collect()
}

impl Row {
    /// The world, if it can run here.
    ///
    /// # Errors
    /// Says why it cannot.
    pub(crate) fn world(&self, setup: Setup) -> Result<Box<dyn World + Sync>, WrongInput> {
        (self.make)(setup).map_err(|reason| {
            WrongInput(format!("the {} world cannot run here: {reason}", self.name))
        })
    }

    /// The name of its results with these queues.
    pub(crate) fn name_with(&self, queues: Queues) -> WorldName {
        let of = |square: &&Square| Setup::of(square, Wanted::default()).queues == queues;
        let square = self.squares.iter().find(of);
        square.map_or(&self.name, |square| &square.world).clone()
    }

    /// Whether its runs are the same each time.
    pub(crate) fn repeats(&self) -> bool {
        self.squares.iter().all(|square| square.repeats)
    }

    /// Runs at a time, unless told otherwise.
    pub(crate) fn jobs(&self, told: Option<NonZeroUsize>) -> NonZeroUsize {
        let processors = || {
            let processors = std::thread::available_parallelism().ok();
            processors.filter(|_| self.side_by_side)
        };
        told.or_else(processors).unwrap_or(NonZeroUsize::MIN)
    }
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
pub(crate) fn some() -> impl TypedValueParser<Value = &'static [Row]> {
    const BOTH: &str = "both";
    let both = PossibleValue::new(BOTH).help("Simulated, then live");
    let names = WORLDS.iter().map(Row::possible).chain([both]);
    PossibleValuesParser::new(names).map(|name| {
        let at = WORLDS.iter().position(|row| row.name.as_str() == name);
        at.map_or(&WORLDS[..2], |at| &WORLDS[at..=at])
    })
}

/// Each world once, in the order of their names on the command line.
pub(crate) fn once(told: &[&'static [Row]]) -> Vec<&'static Row> {
    let mut worlds: Vec<&Row> = Vec::new();
    for row in told.iter().copied().flatten() {
        if worlds.iter().all(|known| known.name != row.name) {
            worlds.push(row);
        }
    }
    worlds
}

impl Row {
    fn possible(&'static self) -> PossibleValue {
        PossibleValue::new(self.name.as_str()).help(self.help)
    }
}
