//! A network with stacks at its ends.

use crate::error::NetError;
use crate::evidence::Evidence;
use crate::stack::Stack;
use crate::{Cell, End, RunResult, Time};
use sojourn_scenario::{Options, Scenario};
use sojourn_sim::{Look, Run, Setup, Turn};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;
use std::path::Path;

/// Most turns of one stack in a row without any time between them: one that has its timer expire
/// again and again stands still.
const MOST_IN_A_ROW: u32 = 10_000;

/// What a network begins with, beside its scenario. A seed alone is one too: `Net::new(text, 7)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The seed of all that is random in the network.
    pub seed: u64,
    /// Bytes of packets that are kept in memory, of those at all nodes: for [`Sight::capture`], and
    /// for the case that the run fails. 0 keeps none.
    pub record: usize,
}

impl From<u64> for Start {
    fn from(seed: u64) -> Self {
        Self { seed, record: 0 }
    }
}

/// A simulated network with stacks `S` at the ends of its flows from outside. Stacks of several
/// types are an enum of yours, or `Box<dyn Stack>`.
///
/// | call | what it does |
/// | --- | --- |
/// | [`new`](Net::new) | makes one, of a scenario's text and a seed or a [`Start`] |
/// | [`attach`](Net::attach) | puts stacks at the ends of a flow |
/// | [`run_until`](Net::run_until) | lets time pass |
/// | [`next`](Net::next) | lets time pass until a stack has had a turn |
/// | [`stack`](Net::stack) | hands out a stack, to give it something to do |
/// | [`look`](Net::look) | shows stacks, packets, and the run below |
/// | [`fork`](Net::fork) | makes a copy |
/// | [`finish`](Net::finish) | yields the result |
///
/// # Contract
/// Stacks are called in [`Net::run_until`] and [`Net::next`] only, in the order that [`Stack`]
/// says, and simulated time passes nowhere else. The same scenario, seed and stacks give the same
/// run, in any pieces.
///
/// A network of a cell, with queues and taps of one's own, is made of a [`Setup`] by `try_from`.
pub struct Net<S> {
    run: Run,
    stacks: Vec<Held<S>>,
    /// Places of stacks that were handed out since they had their last turn.
    given: VecDeque<usize>,
    /// When the last turn was, and how many were at that time.
    last: (Time, u32),
    evidence: Evidence,
}

/// A stack at its end.
struct Held<S> {
    end: End,
    stack: S,
    /// When it has its next turn, whatever comes.
    due: Option<Time>,
    /// Whether it was asked what it has to send first, which is when its flow starts.
    has_begun: bool,
    /// What messages call it.
    name: String,
}

impl<S: Stack> TryFrom<Setup<'_>> for Net<S> {
    type Error = NetError;

    fn try_from(setup: Setup<'_>) -> Result<Self, NetError> {
        let evidence = evidence(&setup.cell);
        Self::of(setup, evidence)
    }
}

impl<S: Stack> Net<S> {
    /// The network of a scenario's text with this seed: of its first cell, if it sweeps anything.
    ///
    /// # Errors
    /// When the scenario cannot be read or run.
    pub fn new(scenario: &str, start: impl Into<Start>) -> Result<Self, NetError> {
        let Start { seed, record } = start.into();
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
        let mut evidence = evidence(&cell);
        let mut setup = Setup::from(cell);
        if record > 0 {
            setup.taps = evidence.record(&setup.cell, record);
        }
        Self::of(setup, evidence)
    }

    fn of(setup: Setup<'_>, evidence: Evidence) -> Result<Self, NetError> {
        Ok(Self {
            run: Run::new(setup)?,
            stacks: Vec::new(),
            given: VecDeque::new(),
            last: (Time::MAX, 0),
            evidence,
        })
    }

    /// Puts stacks at the two ends of a flow with `app = "outside"`: at its `from` node and at its
    /// `to` node. Of a flow with several instances they are those of the first without stacks. They
    /// have their first turn when the flow starts.
    ///
    /// # Errors
    /// When there is no such flow, or all its instances have stacks.
    pub fn attach(&mut self, flow: &str, stacks: [S; 2]) -> Result<[End; 2], NetError> {
        let cell = self.run.look().cell();
        let all = self.run.look().ends(flow);
        let instances = all.len();
        let is_free = |(_, ends): &(usize, [End; 2])| self.place(ends[0]).is_none();
        let Some((number, ends)) = all.into_iter().enumerate().find(is_free) else {
            let flow = flow.to_owned();
            if instances > 0 {
                return Err(NetError::Taken { flow, instances });
            }
            let outside = cell.flows.iter().filter(|flow| flow.is_outside());
            let known = outside.map(|flow| flow.name.clone()).collect();
            return Err(NetError::NoFlow { flow, known });
        };
        let of_flow = cell.flows.iter().find(|other| other.name == flow);
        let instance = of_flow.and_then(|flow| flow.instances(cell.end()).into_iter().nth(number));
        let start = instance.map_or(Time::ZERO, |instance| instance.start);
        for ((end, stack), side) in ends.into_iter().zip(stacks).zip(["from", "to"]) {
            self.stacks.push(Held {
                end,
                stack,
                due: Some(start),
                has_begun: false,
                name: format!("the stack at the `{side}` end of flow `{flow}`"),
            });
        }
        Ok(ends)
    }

    /// Takes the run to `until`, or to its end.
    ///
    /// # Errors
    /// When there are too many packets for the memory, or a stack stands still.
    pub fn run_until(&mut self, until: Time) -> Result<(), NetError> {
        while self.next(until)?.is_some() {}
        Ok(())
    }

    /// Takes the run to the next turn of a stack, but not beyond `until`, and says whose turn it
    /// was. None when there is none before `until` or the end of the run.
    ///
    /// # Errors
    /// As [`Net::run_until`].
    pub fn next(&mut self, until: Time) -> Result<Option<End>, NetError> {
        loop {
            if let Some(place) = self.given.pop_front() {
                // Its first turn is when its flow starts.
                if self.stacks[place].has_begun {
                    return self.let_send(place).map(Some);
                }
                continue;
            }
            // Of those at one time the first: the order in which they asked is no matter.
            let wanted = { self.stacks.iter() }
                .enumerate()
                .filter_map(|(place, held)| Some((held.due?, held.end, place)));
            let (due, place) = wanted
                .min()
                .map_or((Time::MAX, None), |(due, _, place)| (due, Some(place)));
            match self.run.forward(until.min(due))? {
                Turn::Arrived(end, arrival) => {
                    let Some(place) = self.place(end) else {
                        continue;
                    };
                    self.stacks[place].stack.input(arrival);
                    return self.let_send(place).map(Some);
                }
                Turn::Until => {
                    let now = self.run.look().now();
                    let Some(place) = place.filter(|_| due <= now) else {
                        return Ok(None);
                    };
                    let held = &mut self.stacks[place];
                    if held.has_begun {
                        held.stack.timeout(now);
                    }
                    return self.let_send(place).map(Some);
                }
                Turn::Over => return Ok(None),
            }
        }
    }

    /// The stack at an end, to give it something to do. What it has to send then, it sends as soon
    /// as the run goes on. To look at it without that see [`Sight::stack`].
    ///
    /// # Panics
    /// When there is none.
    pub fn stack(&mut self, end: End) -> &mut S {
        let place = self.place(end).expect("the end has a stack");
        self.given.push_back(place);
        &mut self.stacks[place].stack
    }

    /// What it is like now. To look changes nothing.
    pub const fn look(&self) -> Sight<'_, S> {
        let run = self.run.look();
        Sight { run, net: self }
    }

    /// A copy of the network and its stacks: both go on as this one alone would have. A copy
    /// records no packets.
    ///
    /// # Errors
    /// When a part of the network or a stack cannot be copied ([`Stack::fork`]).
    pub fn fork(&self) -> Result<Self, NetError> {
        let run = self.run.fork()?;
        let stacks = self.stacks.iter().map(|held| {
            let stack = { held.stack.fork() }.ok_or_else(|| NetError::StackNoFork {
                stack: held.name.clone(),
            })?;
            Ok(Held {
                stack,
                name: held.name.clone(),
                ..*held
            })
        });
        Ok(Self {
            run,
            stacks: stacks.collect::<Result<_, NetError>>()?,
            given: self.given.clone(),
            last: self.last,
            evidence: self.evidence.fork(),
        })
    }

    /// The result, once it is over; before, the result so far ([`Look::result`]).
    pub fn finish(self) -> RunResult {
        self.run.finish()
    }

    /// Sends what a stack has to send, and asks when it wants its next turn.
    fn let_send(&mut self, place: usize) -> Result<End, NetError> {
        let now = self.run.look().now();
        let held = &mut self.stacks[place];
        let (last, turns) = self.last;
        self.last = (now, if now == last { turns + 1 } else { 0 });
        if self.last.1 > MOST_IN_A_ROW {
            return Err(NetError::StandsStill {
                stack: held.name.clone(),
                at: now,
            });
        }
        held.has_begun = true;
        while let Some(datagram) = held.stack.output(now) {
            self.run.send(held.end, datagram);
        }
        held.due = held.stack.next_timeout();
        Ok(held.end)
    }
}

impl<S> Net<S> {
    fn place(&self, end: End) -> Option<usize> {
        self.stacks.iter().position(|held| held.end == end)
    }
}

/// What a network is like now ([`Net::look`]): its stacks and packets, and by `Deref` all that the
/// run below shows.
pub struct Sight<'a, S> {
    run: Look<'a>,
    net: &'a Net<S>,
}

impl<'a, S> Sight<'a, S> {
    /// The stack at an end.
    ///
    /// # Panics
    /// When there is none.
    pub fn stack(&self, end: End) -> &'a S {
        let place = self.net.place(end).expect("the end has a stack");
        &self.net.stacks[place].stack
    }

    /// The packets that were recorded so far ([`Start::record`]), as a pcapng file; empty without.
    pub fn capture(&self) -> Vec<u8> {
        self.net.evidence.capture()
    }
}

impl<'a, S> Deref for Sight<'a, S> {
    type Target = Look<'a>;

    fn deref(&self) -> &Look<'a> {
        &self.run
    }
}

fn evidence(cell: &Cell) -> Evidence {
    let scenario = cell.source.as_ref().map_or("", |source| &source.text);
    Evidence::new(scenario, cell.seed)
}

impl<S> fmt::Debug for Net<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = self.stacks.iter().map(|held| held.end).collect::<Vec<_>>();
        f.debug_struct("Net")
            .field("now", &self.run.look().now())
            .field("ends", &ends)
            .finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for Sight<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sight")
            .field("run", &self.run)
            .finish_non_exhaustive()
    }
}
