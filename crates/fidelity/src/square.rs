//! The worlds by what runs in them.

use sojourn_world::WorldName;

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// This project's.
    Ours,
    /// Linux's.
    Kernel,
}

/// A world, by whose TCP and whose queues it has.
#[derive(Clone, Copy, Debug)]
pub struct Square {
    /// Its name in results.
    pub world: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Whose TCP.
    pub tcp: Code,
    /// Whose queue disciplines.
    pub queues: Code,
    /// Whether its runs repeat: those in real time do not.
    pub repeats: bool,
}

/// All of them, in this order: the last is what the others are meant to be like.
pub const SQUARES: [Square; 4] = [
    Square {
        world: "sim",
        title: "simulated: our TCP model, our queues",
        tcp: Code::Ours,
        queues: Code::Ours,
        repeats: true,
    },
    Square {
        world: "kernel",
        title: "Linux in virtual time: its TCP, our queues",
        tcp: Code::Kernel,
        queues: Code::Ours,
        repeats: true,
    },
    Square {
        world: "live",
        title: "Linux in real time: its TCP, our queues",
        tcp: Code::Kernel,
        queues: Code::Ours,
        repeats: false,
    },
    Square {
        world: "kernel-tc",
        title: "Linux in virtual time: its TCP, its queues",
        tcp: Code::Kernel,
        queues: Code::Kernel,
        repeats: true,
    },
];

impl Square {
    /// The place of a world in the list; behind all for one that is not there.
    pub(crate) fn rank(world: &WorldName) -> usize {
        let rank = SQUARES
            .iter()
            .position(|square| square.world == world.as_str());
        rank.unwrap_or(SQUARES.len())
    }
}
