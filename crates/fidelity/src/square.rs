//! The worlds by what runs in them.
//!
//! Not here: which worlds there are, which only the table of worlds (`crates/worlds`) knows.

use sojourn_world::WorldName;

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// Another simulator's.
    Other,
    /// This project's.
    Ours,
    /// Linux's.
    Kernel,
}

/// A world, by whose TCP and whose queues it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Square {
    /// Its name in results.
    pub world: WorldName,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Whose TCP.
    pub tcp: Code,
    /// Whose queue disciplines.
    pub queues: Code,
    /// Whether its queues are inside a kernel: ours can be, and beside it.
    pub inside: bool,
    /// Whether its runs repeat: those in real time do not.
    pub repeats: bool,
    /// The kernel, where it is not the usual one: `7.3`, or `7.3-250hz`.
    pub kernel: Option<String>,
}

impl Square {
    /// How near to Linux it is: from the simulator to the kernel's TCP, then queues inside it, then
    /// its own. Of two alike in this the one comes first whose runs repeat, and before the usual
    /// kernel the others.
    pub fn nearness(&self) -> impl Ord + use<> {
        (
            self.tcp,
            self.queues,
            self.inside,
            !self.repeats,
            self.kernel.is_none(),
        )
    }

    /// The same world with another kernel, whose name follows the world's.
    #[must_use]
    pub fn with_kernel(&self, kernel: &str) -> Self {
        let name = format!("{}-{}", self.world, kernel.replace('.', "-"));
        Self {
            world: WorldName::parse(&name).expect("small letters, digits and dashes"),
            kernel: Some(kernel.to_owned()),
            ..self.clone()
        }
    }
}

/// The place of a world among `squares`; behind all for one that is not there.
pub(crate) fn rank(squares: &[Square], world: &WorldName) -> usize {
    let rank = squares.iter().position(|square| square.world == *world);
    rank.unwrap_or(squares.len())
}

/// Those that tests speak of.
#[cfg(test)]
pub(crate) static KNOWN: [Square; 3] = {
    const fn square(world: &'static str, tcp: Code, queues: Code) -> Square {
        Square {
            world: WorldName::new(world),
            title: world,
            tcp,
            queues,
            inside: matches!(queues, Code::Kernel),
            repeats: true,
            kernel: None,
        }
    }
    [
        square("sim", Code::Ours, Code::Ours),
        square("kernel", Code::Kernel, Code::Ours),
        square("kernel-tc", Code::Kernel, Code::Kernel),
    ]
};
