//! A network with stacks at its ends.

use crate::evidence::Evidence;
use crate::stack::Stack;
use crate::{End, RunResult, Time};
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::{NoFork, Run, Turn};
use sojourn_world::{Cell, Taps, WorldError};
use std::fmt;
use std::path::Path;

/// Most turns of one stack in a row without any time between them: one that has its timer expire
/// again and again stands still.
const MOST_IN_A_ROW: u32 = 10_000;

/// A simulated network with stacks `S` at the ends of its flows from outside. Stacks of several
/// types are `Box<dyn Stack>`.
pub struct Net<S> {
    run: Run,
    stacks: Vec<Held<S>>,
    evidence: Evidence,
}

/// A stack at its end.
struct Held<S> {
    end: End,
    stack: S,
    /// Whether it was asked what it has to send first, which is when its flow starts.
    has_begun: bool,
}

/// What is wrong with a network, or with a stack.
#[derive(Debug)]
#[non_exhaustive]
pub enum NetError {
    /// The scenario cannot be read. The text says what is wrong, and where.
    Scenario(String),
    /// The simulator cannot run it.
    World(WorldError),
    /// A stack asks for a turn at a time that has come, again and again.
    StandsStill {
        /// The end.
        end: End,
        /// The time.
        at: Time,
    },
}

impl fmt::Display for NetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario(text) => f.write_str(text),
            Self::World(error) => error.fmt(f),
            Self::StandsStill { end, at } => write!(
                f,
                "the stack at {end:?} asked for {MOST_IN_A_ROW} turns at {:.6} s: after `timeout`, \
                 `next_timeout` must be later",
                at.as_secs_f64()
            ),
        }
    }
}

impl std::error::Error for NetError {}

impl From<WorldError> for NetError {
    fn from(error: WorldError) -> Self {
        Self::World(error)
    }
}

/// # A network
///
/// Seven calls: make one, put stacks at its ends, let time pass, ask them, copy all, take the
/// result.
impl<S: Stack> Net<S> {
    /// The network of a scenario's text with this seed: of its first cell, if it sweeps anything.
    ///
    /// # Errors
    /// When the scenario cannot be read or run.
    pub fn new(scenario: &str, seed: u64) -> Result<Self, NetError> {
        let options = Options {
            seed: Some(seed),
            ..Options::default()
        };
        let read = Scenario::parse("scenario", scenario, Path::new("."), &options)
            .map_err(|problems| NetError::Scenario(problems.to_string()))?;
        let cell = read
            .cells
            .into_iter()
            .next()
            .ok_or_else(|| NetError::Scenario("the scenario has no cell".into()))?;
        Self::of_cell(cell)
    }

    /// The network of a cell.
    ///
    /// # Errors
    /// When the simulator cannot run it.
    pub fn of_cell(cell: Cell) -> Result<Self, NetError> {
        let scenario = cell.source.as_ref().map_or("", |source| &source.text);
        Ok(Self {
            evidence: Evidence::new(scenario, cell.seed),
            run: Run::new(cell)?,
            stacks: Vec::new(),
        })
    }

    /// Puts stacks at the two ends of a flow with `app = "outside"`: at its `from` node and at its
    /// `to` node. Of a flow with several instances they are those of the first without stacks. They
    /// have their first turn when the flow starts.
    ///
    /// # Panics
    /// When there is no such flow, or all its instances have stacks.
    pub fn attach(&mut self, flow: &str, stacks: [S; 2]) -> [End; 2] {
        let mut ends = self.run.ends(flow).into_iter().enumerate();
        let free = |(_, ends): &(usize, [End; 2])| self.place(ends[0]).is_none();
        let (number, ends) = ends.find(free).unwrap_or_else(|| {
            panic!("no flow `{flow}` with `app = \"outside\"` has ends without stacks")
        });
        let cell = self.run.cell();
        let of_flow = cell.flows.iter().find(|other| other.name == flow);
        let instance = of_flow.and_then(|flow| flow.instances(cell.end()).nth(number));
        let start = instance.map_or(Time::ZERO, |instance| instance.start);
        for (end, stack) in ends.into_iter().zip(stacks) {
            self.stacks.push(Held {
                end,
                stack,
                has_begun: false,
            });
            self.run.wake_at(end, Some(start));
        }
        ends
    }

    /// Takes the run to `until`, or to its end.
    ///
    /// # Errors
    /// When there are too many packets for the memory, or a stack stands still.
    pub fn run_until(&mut self, until: Time) -> Result<(), NetError> {
        self.run_while(until, |_| true)
    }

    /// The stack at an end.
    ///
    /// # Panics
    /// When there is none.
    pub fn stack(&mut self, end: End) -> &mut S {
        let place = self.place(end);
        &mut self.stacks[place.expect("the end has a stack")].stack
    }

    /// A copy of the network and its stacks: both go on as this one alone would have.
    ///
    /// # Errors
    /// When a part of the network cannot be copied. None inside when a stack cannot
    /// ([`Stack::fork`]).
    pub fn fork(&self) -> Result<Option<Self>, NoFork> {
        let run = self.run.fork()?;
        let stacks = self.stacks.iter().map(|held| {
            let stack = held.stack.fork()?;
            Some(Held { stack, ..*held })
        });
        Ok(stacks.collect::<Option<_>>().map(|stacks| Self {
            run,
            stacks,
            evidence: self.evidence.fork(),
        }))
    }

    /// The result, once it is over.
    pub fn finish(self) -> RunResult {
        self.run.finish()
    }
}

/// # More than that
impl<S: Stack> Net<S> {
    /// The same while `goes_on` says so, which is asked after each turn of a stack.
    ///
    /// # Errors
    /// As [`Net::run_until`].
    pub fn run_while(
        &mut self,
        until: Time,
        mut goes_on: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), NetError> {
        let (mut last, mut in_a_row) = (Time::MAX, 0);
        loop {
            let turn = self.run.next(until)?;
            let (Turn::Arrived(end) | Turn::Due(end)) = turn else {
                return Ok(());
            };
            let now = self.run.now();
            in_a_row = if now == last { in_a_row + 1 } else { 0 };
            last = now;
            if in_a_row > MOST_IN_A_ROW {
                return Err(NetError::StandsStill { end, at: now });
            }
            let Some(place) = self.place(end) else {
                continue;
            };
            let held = &mut self.stacks[place];
            while let Some(arrival) = self.run.receive(end) {
                held.stack.input(arrival);
            }
            if matches!(turn, Turn::Due(_)) && held.has_begun {
                held.stack.timeout(now);
            }
            self.let_send(place);
            if !goes_on(self) {
                return Ok(());
            }
        }
    }

    /// Has a stack send what somebody has just given it to do.
    ///
    /// # Panics
    /// When there is no stack at the end.
    pub fn nudge(&mut self, end: End) {
        let place = self.place(end);
        self.let_send(place.expect("the end has a stack"));
    }

    /// The same, to look at; none when there is none.
    pub fn look(&self, end: End) -> Option<&S> {
        let held = self.stacks.iter().find(|held| held.end == end)?;
        Some(&held.stack)
    }

    /// The run below, to look into.
    pub const fn run(&self) -> &Run {
        &self.run
    }

    /// Keeps the packets at all nodes in memory, up to `most` bytes, for [`Net::capture`] and for
    /// the case that the run fails.
    pub fn record(&mut self, most: usize) {
        let taps = self.evidence.record(self.run.cell(), most);
        self.tap(taps);
    }

    /// What was [recorded](Net::record) so far, as a pcapng file; empty without.
    pub fn capture(&self) -> Vec<u8> {
        self.evidence.capture()
    }

    /// Shows the packets to taps from now on, in place of those before.
    pub fn tap(&mut self, taps: Taps) {
        self.run.tap(taps);
    }

    fn place(&self, end: End) -> Option<usize> {
        self.stacks.iter().position(|held| held.end == end)
    }

    /// Sends what a stack has to send, and asks when it wants its next turn.
    fn let_send(&mut self, place: usize) {
        let held = &mut self.stacks[place];
        held.has_begun = true;
        let now = self.run.now();
        while let Some(datagram) = held.stack.output(now) {
            self.run.send(held.end, datagram);
        }
        self.run.wake_at(held.end, held.stack.next_timeout());
    }
}

impl<S> fmt::Debug for Net<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = self.stacks.iter().map(|held| held.end).collect::<Vec<_>>();
        f.debug_struct("Net")
            .field("now", &self.run.now())
            .field("ends", &ends)
            .finish_non_exhaustive()
    }
}
