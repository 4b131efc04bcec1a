//! The worlds as people choose them.

use sojourn_fidelity::{Code, Square};
use sojourn_kernel::{Kernel, KernelError, Machine, Store, Variant, Wanted};
use sojourn_live::{Guests, Live, Queues};
use sojourn_sim::Sim;
use sojourn_world::{World, WorldName};
use std::error::Error;
use std::num::NonZeroUsize;
use std::sync::LazyLock;

/// Makes the machine for guests with a kernel that is wanted: whoever starts them is the program
/// that the machine runs.
pub type MachineMaker = fn(Wanted) -> Result<Machine, KernelError>;

/// Why a world cannot run here.
#[derive(Debug, thiserror::Error)]
#[error("the {world} world cannot run here: {reason}")]
pub struct Unavailable {
    world: WorldName,
    reason: Box<dyn Error + Send + Sync>,
}

/// A world as people choose it.
pub struct WorldRow {
    /// Its name, in results too.
    pub name: WorldName,
    /// What it is, in a few words for `--help`.
    pub help: &'static str,
    /// Whether runs side by side leave one another alone.
    pub side_by_side: bool,
    /// Whether programs can run beside its hosts.
    pub takes_programs: bool,
    /// Whether it has a kernel that can be chosen.
    pub has_kernels: bool,
    /// By whose TCP and queues it runs: each is a world of the fidelity matrix.
    pub squares: &'static [Square],
    /// Makes it; the error says why it cannot run here.
    make: fn(Setup, MachineMaker) -> Made,
}

type Made = Result<Box<dyn World + Sync>, Box<dyn Error + Send + Sync>>;

/// How a world is set up, where it has the choice.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Shell command that runs beside the world's own hosts, on the clients' side.
    pub client: Option<String>,
    /// The same on the servers' side.
    pub server: Option<String>,
    /// Whose queues it has.
    pub queues: Queues,
    /// Which kernel it has.
    pub kernel: Wanted,
}

impl Setup {
    /// Which kernel it takes: our queues can be in one.
    fn wanted(&self) -> Wanted {
        Wanted {
            module: self.queues == Queues::Module,
            ..self.kernel
        }
    }

    /// The setup of a world of the fidelity matrix.
    pub fn of(square: &Square, kernel: Wanted) -> Self {
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

/// The simulated world, with the stacks of other projects that are built in.
#[cfg(feature = "quinn")]
const SIMULATED: sojourn_net::WithStacks = sojourn_net::WithStacks;
#[cfg(not(feature = "quinn"))]
const SIMULATED: Sim = Sim;

/// All worlds. The first is that of `scenario` in a study's settings, and the default.
pub static WORLDS: [WorldRow; 3] = [
    WorldRow {
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
        make: |_, _| Ok(Box::new(SIMULATED)),
    },
    WorldRow {
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
        make: |setup, _| {
            Live::available()?;
            Ok(Box::new(guests(setup)))
        },
    },
    WorldRow {
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
        make: |setup, machine| {
            let machine = machine(setup.wanted())?;
            let guests = guests(setup);
            Ok(Box::new(Kernel { machine, guests }))
        },
    },
];

/// The worlds of the fidelity matrix, the nearest to Linux last: all are held to 6.1 with the usual
/// tick.
pub fn squares() -> &'static [Square] {
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
pub fn with_kernel(square: &Square, wanted: Wanted) -> Result<&'static Square, KernelError> {
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

impl WorldRow {
    /// The world, if it can run here.
    ///
    /// # Errors
    /// Says why it cannot.
    pub fn world(
        &self,
        setup: Setup,
        machine: MachineMaker,
    ) -> Result<Box<dyn World + Sync>, Unavailable> {
        (self.make)(setup, machine).map_err(|reason| Unavailable {
            world: self.name.clone(),
            reason,
        })
    }

    /// The name of its results with these queues.
    pub fn name_with(&self, queues: Queues) -> WorldName {
        let of = |square: &&Square| Setup::of(square, Wanted::default()).queues == queues;
        let square = self.squares.iter().find(of);
        square.map_or(&self.name, |square| &square.world).clone()
    }

    /// Whether its runs are the same each time.
    pub fn repeats(&self) -> bool {
        self.squares.iter().all(|square| square.repeats)
    }

    /// Runs at a time, unless told otherwise.
    pub fn jobs(&self, told: Option<NonZeroUsize>) -> NonZeroUsize {
        let processors = || {
            let processors = std::thread::available_parallelism().ok();
            processors.filter(|_| self.side_by_side)
        };
        told.or_else(processors).unwrap_or(NonZeroUsize::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::WORLDS;

    #[test]
    fn each_row_has_a_name() {
        let names: Vec<_> = WORLDS.iter().map(|row| row.name.clone()).collect();
        assert_eq!(names, crate::names());
    }
}
