//! A run in the hands of a program: stepped, looked into, copied, with ends of flows outside.

use crate::build;
use crate::engine::{Advance, Engine};
use crate::error::NoFork;
use crate::instead::Instead;
use crate::outside::{Arrival, Datagram, End};
use crate::packet::Packet;
use crate::tap::Tapped;
use sojourn_apps::Datagram as Model;
use sojourn_qdisc::Qdisc;
use sojourn_tcp::{CongestionControl, Connection};
use sojourn_units::Time;
use sojourn_world::{Cell, RunResult, Taps, WorldError};
use std::any::Any;

/// A run in the middle.
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
/// let waiting = run.queue("up").expect("there is such a link").backlog();
/// let mut copy = run.fork().expect("all of it can be copied");
/// assert_eq!(copy.queue("up").unwrap().backlog(), waiting);
/// run.forward(Time::MAX)?;
/// copy.forward(Time::MAX)?;
/// assert_eq!(run.finish().digest, copy.finish().digest);
/// # Ok::<(), sojourn_world::WorldError>(())
/// ```
///
/// # Contract
/// A flow of the kind `outside` has both its ends in the program that holds the run
/// ([`Run::ends`]). Such a program repeats three things until it is told [`Turn::Over`]:
///
/// 1. It asks [`Run::next`] whose turn it is, and with it lets time pass. On [`Turn::Arrived`] it
///    takes what has come with [`Run::receive`], until there is nothing more; on [`Turn::Due`] it
///    does what was to be done at that time. Time does not pass in between.
/// 2. It hands in what that end has to send now, with [`Run::send`].
/// 3. It says when that end wants its turn at the latest, with [`Run::wake_at`]. One that wants a
///    turn at a time that has come gets it at once, and time stands still until it wants none.
///
/// In this order anything that a stack does is done at the simulated time [`Run::now`], and in the
/// same order each time: what comes to several ends at one time is told in the order of arrival,
/// before what is due then. Nothing else in the run waits for a program, so that one which sends
/// nothing changes nothing. Sizes, ECN fields and times of what it sends are part of the digest;
/// the bytes are not.
///
/// Stepping changes nothing either: a run has the same events, result and digest in any pieces.
pub struct Run {
    engine: Engine,
    cell: Cell,
    now: Time,
    /// Ends that want a turn at a time.
    wakes: Vec<(Time, End)>,
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// That of an end to which datagrams have come.
    Arrived(End),
    /// That of an end whose time has come ([`Run::wake_at`]).
    Due(End),
    /// Nobody's before the time that was given.
    Until,
    /// The run is over.
    Over,
}

/// # A run
///
/// Eight calls: make one, let time pass, copy it, take its result. Who has flows with ends outside
/// lets time pass by [`Run::next`].
impl Run {
    /// The run of a cell, before its first event.
    ///
    /// # Errors
    /// When the simulator cannot run the cell.
    pub fn new(cell: Cell) -> Result<Self, WorldError> {
        Self::with(cell, &mut ())
    }

    /// The same, with queues and congestion controls of one's own in the place of the cell's.
    ///
    /// # Errors
    /// When the simulator cannot run the cell.
    pub fn with(cell: Cell, own: &mut dyn Instead) -> Result<Self, WorldError> {
        let mut engine = build::engine(&cell, own).map_err(WorldError::unfit)?;
        engine.start();
        Ok(Self {
            engine,
            cell,
            now: Time::ZERO,
            wakes: Vec::new(),
        })
    }

    /// How far it has been taken.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Lets the next event happen, and says when it was; none when the run is over.
    ///
    /// # Errors
    /// When there are too many packets for the memory.
    pub fn step(&mut self) -> Result<Option<Time>, WorldError> {
        let Some((at, _)) = self.engine.due() else {
            return Ok(None);
        };
        self.engine
            .forward_by_one()
            .map_err(|stop| stop.told(&self.cell))?;
        self.now = self.now.max(at);
        Ok(Some(at))
    }

    /// Lets everything happen that happens until `until`, and says whether there is more. Ends that
    /// are outside get no turn in between.
    ///
    /// # Errors
    /// When there are too many packets for the memory.
    pub fn forward(&mut self, until: Time) -> Result<bool, WorldError> {
        let forward = self.engine.forward(until);
        self.now = self.now.max(until.min(self.over()));
        forward.map_err(|stop| stop.told(&self.cell))
    }

    /// A copy. Both go on as this one alone would have, bit for bit; neither knows of the other.
    ///
    /// # Errors
    /// When a part that is no cell's cannot be copied: a queue or a congestion control of one's own
    /// without a `fork`.
    pub fn fork(&self) -> Result<Self, NoFork> {
        Ok(Self {
            engine: self.engine.fork(&self.cell)?,
            cell: self.cell.clone(),
            now: self.now,
            wakes: self.wakes.clone(),
        })
    }

    /// The result as if nothing more happened. Its series are long enough for the whole run: what
    /// they say of the time to come has no meaning.
    pub fn so_far(&self) -> RunResult {
        self.engine.so_far(&self.cell)
    }

    /// The result, once [`Run::forward`] has nothing more to do, or [`Run::next`] says that it is
    /// over.
    pub fn finish(mut self) -> RunResult {
        self.engine.end();
        self.engine.finish(&self.cell)
    }

    /// When nothing happens any more.
    fn over(&self) -> Time {
        self.engine.end + self.engine.drain
    }
}

/// # Ends outside
///
/// Five calls for a program that holds both ends of a flow of the kind `outside`. The contract is
/// above.
impl Run {
    /// The ends of a flow of the kind `outside`, of each of its instances: at its `from` node and
    /// at its `to` node. Empty for other flows.
    pub fn ends(&self, flow: &str) -> Vec<[End; 2]> {
        let ways = (0..self.engine.flows.len()).map(crate::packet::Way::forth);
        let of_flow = ways.filter(|way| {
            let index = self.engine.flows[way.index() / 2] as usize;
            self.cell.flows[index].name == flow
        });
        let outside = self.engine.net.passage.outside.as_ref();
        let ends = of_flow.filter(|way| outside.is_some_and(|outside| outside.has(*way)));
        ends.map(|way| [End(way), End(way.back())]).collect()
    }

    /// Lets time pass until an end that is outside has its turn, but not beyond `until`.
    ///
    /// # Errors
    /// When there are too many packets for the memory.
    pub fn next(&mut self, until: Time) -> Result<Turn, WorldError> {
        loop {
            let outside = self.engine.net.passage.outside.as_mut();
            if let Some(end) = outside.and_then(|outside| outside.news()) {
                return Ok(Turn::Arrived(end));
            }
            // Of those at one time the lowest end: the order in which they asked is no matter.
            let due = self.wakes.iter().copied().min();
            if let Some((_, end)) = due.filter(|&(time, _)| time <= self.now) {
                self.wake_at(end, None);
                return Ok(Turn::Due(end));
            }
            let over = self.over();
            if self.now >= over {
                return Ok(Turn::Over);
            }
            if self.now >= until {
                return Ok(Turn::Until);
            }
            let wake = due.map_or(Time::MAX, |(time, _)| time);
            let to = until.min(wake).min(over);
            let reached = self.engine.forward_to_news(to);
            self.now = match reached.map_err(|stop| stop.told(&self.cell))? {
                Advance::News(at) => at.max(self.now),
                Advance::Until | Advance::Over => to,
            };
        }
    }

    /// Takes the next datagram that has come to an end.
    pub fn receive(&mut self, end: End) -> Option<Arrival> {
        let outside = self.engine.net.passage.outside.as_mut()?;
        outside.take(end)
    }

    /// Sends a datagram from an end now. After the cell's duration it is not sent.
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

    /// Gives an end its turn at `time` ([`Turn::Due`]), and not when it wanted before; none: only
    /// when something comes.
    pub fn wake_at(&mut self, end: End, time: Option<Time>) {
        self.wakes.retain(|&(_, other)| other != end);
        self.wakes.extend(time.map(|time| (time, end)));
    }
}

/// # To look into and to change
///
/// By the names that the scenario has for links and flows. A run without these calls has the same
/// events, except after a change.
impl Run {
    /// The cell that it runs.
    pub const fn cell(&self) -> &Cell {
        &self.cell
    }

    /// The queue of a link, to look into: what it holds, has counted, and reports.
    pub fn queue(&self, link: &str) -> Option<&dyn Qdisc<Packet>> {
        let mut interfaces = self.cell.network.interfaces.iter();
        let index = interfaces.position(|interface| interface.name == link)?;
        Some(&*self.engine.net.passage.interfaces[index].qdisc)
    }

    /// TCP at the sending end of each connection of a flow, to look into. Empty for a flow of
    /// datagrams.
    pub fn connections(&self, flow: &str) -> Vec<&Connection> {
        self.engine
            .connections()
            .filter(|(index, _)| self.cell.flows[*index].name == flow)
            .map(|(_, connection)| connection)
            .collect()
    }

    /// The same queue, to give it other parameters ([`Qdisc::change`]), or as what it is behind
    /// `dyn Any`. It must hold the same packets afterwards.
    pub fn queue_mut(&mut self, link: &str) -> Option<&mut dyn Qdisc<Packet>> {
        let mut interfaces = self.cell.network.interfaces.iter();
        let index = interfaces.position(|interface| interface.name == link)?;
        Some(&mut *self.engine.net.passage.interfaces[index].qdisc)
    }

    /// The congestion controls of one's own at both ends of each connection of a flow
    /// ([`Instead::control`]), those of this type. After changes see [`Run::nudge`].
    pub fn controls<T: CongestionControl>(&mut self, flow: &str) -> impl Iterator<Item = &mut T> {
        let index = self.flow(flow);
        let ends = index.map(|index| self.engine.both_ends(index));
        ends.into_iter().flatten().filter_map(|connection| {
            let control: &mut dyn Any = connection.own_control()?;
            control.downcast_mut()
        })
    }

    /// Lets the ends of a flow send what their congestion controls allow now. Without, a control
    /// that allows more than before is asked at the connection's next segment or timer.
    pub fn nudge(&mut self, flow: &str) {
        if let Some(index) = self.flow(flow) {
            self.engine.nudge(index, self.now);
        }
    }

    /// Shows its packets to taps from now on, in the place of those before. Forks have none.
    pub fn tap(&mut self, taps: Taps) {
        let tapped = Box::new(Tapped::new(&self.cell, taps));
        self.engine.net.passage.tapped = Some(tapped);
    }

    fn flow(&self, name: &str) -> Option<usize> {
        self.cell.flows.iter().position(|flow| flow.name == name)
    }
}

impl std::fmt::Debug for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}
