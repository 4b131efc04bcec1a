//! A run in the hands of a program: stepped, looked into, copied, with ends of flows outside.

use crate::build;
use crate::engine::{Advance, Engine};
use crate::error::NoFork;
use crate::instead::Instead;
use crate::look::{Alter, Look};
use crate::outside::{Arrival, Datagram, End};
use crate::tap::Tapped;
use sojourn_apps::Datagram as Model;
use sojourn_units::Time;
use sojourn_world::{Cell, RunResult, Taps, WorldError};

/// What a run begins with. A cell alone is one too: `Run::new(cell)`; a literal with
/// `..Setup::from(cell)` needs only what is added.
pub struct Setup<'a> {
    /// The cell.
    pub cell: Cell,
    /// Queues and congestion controls of one's own in the place of the cell's.
    pub own: Option<&'a mut dyn Instead>,
    /// Who sees packets. Copies have none.
    pub taps: Taps,
}

impl From<Cell> for Setup<'_> {
    fn from(cell: Cell) -> Self {
        Self {
            cell,
            own: None,
            taps: Taps::default(),
        }
    }
}

/// A run in the middle.
///
/// | call | what it does |
/// | --- | --- |
/// | [`new`](Run::new) | makes one, of a cell or a [`Setup`] |
/// | [`forward`](Run::forward) | lets time pass, to a time or the next arrival at an end outside |
/// | [`step`](Run::step) | lets the next event happen |
/// | [`send`](Run::send) | sends a datagram from an end outside |
/// | [`look`](Run::look) | shows time, queues, connections, ends, the result so far |
/// | [`change`](Run::change) | changes a queue or a congestion control |
/// | [`fork`](Run::fork) | makes a copy |
/// | [`finish`](Run::finish) | yields the result |
///
/// # Examples
/// A run that goes on in two ways from its third second:
/// ```
/// use sojourn_sim::Run;
/// use sojourn_units::{Span, Time};
/// # use sojourn_world::{Cell, Flow, Line, LineRate, Network, Transport};
/// # let mut network = Network::new(["client", "server"]);
/// # let line = Line::new(LineRate::Fixed(sojourn_units::Rate::from_bps(10_000_000)));
/// # network.join([0, 1], "up", "fq_codel".parse().unwrap(), line.clone());
/// # network.join([1, 0], "down", "pfifo".parse().unwrap(), line);
/// # let tcp = Transport::Tcp(sojourn_tcp::Config::default());
/// # let mut flow = Flow::new("bulk", tcp, sojourn_apps::Bulk);
/// # flow.base_rtt = Span::from_millis(20);
/// # let cell = Cell::new("example", network, vec![flow], Span::from_secs(5));
/// let mut run = Run::new(cell)?;
/// run.forward(Time::from_nanos(3_000_000_000))?;
/// let waiting = run.look().queue("up").expect("there is such a link").backlog();
/// let mut copy = run.fork().expect("all of it can be copied");
/// assert_eq!(copy.look().queue("up").unwrap().backlog(), waiting);
/// run.forward(Time::MAX)?;
/// copy.forward(Time::MAX)?;
/// assert_eq!(run.finish().digest, copy.finish().digest);
/// # Ok::<(), sojourn_world::WorldError>(())
/// ```
///
/// # Contract
/// A run does nothing by itself: it has no clock, thread or socket, and simulated time passes only
/// in [`Run::forward`] and [`Run::step`]. Between two calls a program may take as long as it wants.
/// A run has the same events, result and digest in any pieces; to look changes nothing.
///
/// A flow of the kind `outside` has both its ends in the program ([`Look::ends`]). Such a program
/// holds the timers of its ends, and repeats two things until it is told [`Turn::Over`]:
///
/// 1. It calls [`Run::forward`] with the time of its first timer. [`Turn::Arrived`] hands it a
///    datagram that has come to an end before that time; [`Turn::Until`] says that the time has
///    come.
/// 2. It does what the end has to do, and hands in what that end sends now ([`Run::send`]).
///
/// In this order anything that a stack does is done at the simulated time [`Look::now`], and in the
/// same order each time: datagrams are handed over in the order of arrival, and those of one time
/// before that time has come. Nothing in the run waits for the program, so that one which sends
/// nothing changes nothing. Sizes, ECN fields and times of what it sends are part of the digest;
/// the bytes are not. What was not taken when a run is copied is taken from both.
pub struct Run {
    engine: Engine,
    cell: Cell,
    now: Time,
}

/// Why [`Run::forward`] has returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A datagram has come to an end outside. It is the program's now.
    Arrived(End, Arrival),
    /// The time that was given has come.
    Until,
    /// The run is over: nothing happens any more.
    Over,
}

impl Run {
    /// The run of a cell, before its first event.
    ///
    /// # Errors
    /// When the simulator cannot run the cell.
    pub fn new<'a>(setup: impl Into<Setup<'a>>) -> Result<Self, WorldError> {
        let Setup { cell, own, taps } = setup.into();
        let made = match own {
            Some(own) => build::engine(&cell, own),
            None => build::engine(&cell, &mut ()),
        };
        let mut engine = made.map_err(WorldError::unfit)?;
        if !taps.is_empty() {
            engine.net.passage.tapped = Some(Box::new(Tapped::new(&cell, taps)));
        }
        engine.start();
        Ok(Self {
            engine,
            cell,
            now: Time::ZERO,
        })
    }

    /// Lets everything happen that happens until `until`, or until a datagram comes to an end
    /// outside. Those that have come are handed over one by one, without any time in between.
    ///
    /// # Errors
    /// When there are too many packets for the memory.
    pub fn forward(&mut self, until: Time) -> Result<Turn, WorldError> {
        let over = self.engine.end + self.engine.drain;
        let mut turn = self.arrived();
        if turn.is_none() {
            let to = until.min(over);
            let reached = self.engine.forward(to);
            self.now = self
                .now
                .max(match reached.map_err(|stop| stop.told(&self.cell))? {
                    Advance::News(at) => at,
                    Advance::Until | Advance::Over => to,
                });
            turn = self.arrived();
        }
        Ok(turn.unwrap_or(if self.now >= over {
            Turn::Over
        } else {
            Turn::Until
        }))
    }

    /// The next datagram that has come to an end outside.
    fn arrived(&mut self) -> Option<Turn> {
        let (end, arrival) = self.engine.net.passage.outside.as_mut()?.take()?;
        Some(Turn::Arrived(end, arrival))
    }

    /// Lets the next event happen, and says when it was; none when the run is over. A datagram that
    /// comes to an end outside waits for [`Run::forward`].
    ///
    /// # Errors
    /// When there are too many packets for the memory.
    pub fn step(&mut self) -> Result<Option<Time>, WorldError> {
        let Some((at, _)) = self.engine.due() else {
            return Ok(None);
        };
        let stepped = self.engine.forward_by_one();
        stepped.map_err(|stop| stop.told(&self.cell))?;
        self.now = self.now.max(at);
        Ok(Some(at))
    }

    /// Sends a datagram from an end outside now. After the cell's duration it is not sent.
    ///
    /// # Panics
    /// When its payload is larger than what UDP carries ([`sojourn_apps::Datagram::MOST`]).
    pub fn send(&mut self, end: End, datagram: Datagram) {
        let len = datagram.payload.len();
        assert!(
            len <= usize::from(Model::MOST),
            "a payload of {len} bytes; a datagram carries {}",
            Model::MOST
        );
        self.engine.send_from_outside(end, datagram, self.now);
    }

    /// What it is like now.
    pub const fn look(&self) -> Look<'_> {
        Look {
            engine: &self.engine,
            cell: &self.cell,
            now: self.now,
        }
    }

    /// What may be changed in it now. A change is the only thing by which a program that sends
    /// nothing makes a run another one.
    pub const fn change(&mut self) -> Alter<'_> {
        Alter {
            engine: &mut self.engine,
            cell: &self.cell,
            now: self.now,
        }
    }

    /// A copy. Both go on as this one alone would have, bit for bit; neither knows of the other. A
    /// copy has no taps.
    ///
    /// # Errors
    /// When a part that is no cell's cannot be copied: a queue or a congestion control of one's own
    /// without a `fork`.
    pub fn fork(&self) -> Result<Self, NoFork> {
        Ok(Self {
            engine: self.engine.fork(&self.cell)?,
            cell: self.cell.clone(),
            now: self.now,
        })
    }

    /// The result, once [`Run::forward`] says [`Turn::Over`] or [`Run::step`] none. Of a run that
    /// is not over it is [`Look::result`].
    pub fn finish(mut self) -> RunResult {
        if self.engine.due().is_some() {
            return self.look().result();
        }
        self.engine.end();
        self.engine.finish(&self.cell)
    }
}

impl std::fmt::Debug for Setup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup")
            .field("cell", &self.cell)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
