//! Runs a script.
//!
//! Time is virtual: it jumps to the next event of the script or timer of our TCP. A packet has left
//! when our TCP has sent it, whenever the script asks for it; segments that leave at the same time
//! are one packet where the script says one, as an interface that takes several segments at once
//! would have it (`ethtool -K … tso off` in a script ends that).

use crate::assertion;
use crate::calls::{Progress, Running};
use crate::host::Host;
use crate::info;
use crate::matching::{differs, gather};
use crate::script::{Call, Event, Packet, Script, TcpOption, What, When, flag};
use crate::verdict::{Outcome, Stop};
use sojourn_units::{Span, Time};
use std::path::Path;

/// The time at which scripts start: not zero, which no timestamp may be.
const START: Time = Time::from_nanos(1_000_000_000_000);
/// How long a packet is waited for that may come at any time.
const PATIENCE: Span = Span::from_secs(120);

impl Script {
    /// Runs the script. `folder`: where the shell scripts are that it calls.
    pub fn run(&self, folder: &Path) -> Outcome {
        let mut run = Run {
            script: self,
            folder,
            host: Host::new(START),
            waiting: None,
        };
        for (index, event) in self.events.iter().enumerate() {
            if let Err((line, stop)) = run.event(index, event) {
                return Outcome::stopped(line, stop);
            }
        }
        match run.await_call() {
            Ok(()) => Outcome::passes(),
            Err((line, stop)) => Outcome::stopped(line, stop),
        }
    }
}

/// A call that has not returned.
struct Waiting {
    running: Running,
    line: u32,
    began: Time,
    /// When it should return.
    returns: Option<Time>,
}

struct Run<'a> {
    script: &'a Script,
    folder: &'a Path,
    host: Host,
    waiting: Option<Waiting>,
}

type Step = Result<(), (u32, Stop)>;

impl Run<'_> {
    fn event(&mut self, index: usize, event: &Event) -> Step {
        let line = event.line;
        let here = |stop| (line, stop);
        if matches!(event.what, What::Call(_)) {
            self.await_call()?;
        }
        let base = if event.when.relative {
            self.host.now
        } else {
            START
        };
        if let What::Leaves(packet) = &event.what {
            return self.leaves(packet, event.when, base, line);
        }
        let at = base + event.when.at.unwrap_or(Span::ZERO);
        self.pass(at)?;
        match &event.what {
            What::Arrives(packet) => {
                if packet.urgent.is_some() || packet.flags & flag::URG != 0 {
                    return Err(here(Stop::NotModelled("the urgent pointer".to_owned())));
                }
                if let Some(word) = foreign(packet) {
                    return Err(here(Stop::NotModelled(format!("the TCP option {word}"))));
                }
                self.host.arrive(packet).map_err(here)?;
                self.retry()
            }
            What::Leaves(_) => Ok(()),
            What::Other(word) => Err(here(Stop::NotModelled(format!("a packet with `{word}`")))),
            What::Call(call) => {
                let returns = event.when.returns.map(|returns| base + returns);
                self.call(index, call, returns, line)
            }
            What::Shell(commands) => self.host.set(commands, self.folder).map_err(here),
            What::Assert(code) => {
                let (conn, now) = (self.host.conns.last(), self.host.now);
                assertion::check(code, &|name| info::value(name, conn, now)).map_err(here)
            }
        }
    }

    /// Lets time pass.
    fn pass(&mut self, end: Time) -> Step {
        while self.host.step(end) {
            self.retry()?;
        }
        self.host.now = self.host.now.max(end);
        Ok(())
    }

    fn call(&mut self, index: usize, call: &Call, returns: Option<Time>, line: u32) -> Step {
        // What the peer will agree to.
        if call.name == "connect" {
            let later = &self.script.events[index..];
            let answer = later.iter().find_map(|event| match &event.what {
                What::Arrives(packet) if packet.flags & flag::SYN != 0 => Some(packet.clone()),
                _ => None,
            });
            self.host.answers.clear();
            self.host.answers.extend(answer);
        }
        self.waiting = Some(Waiting {
            running: Running::new(call.clone()),
            line,
            began: self.host.now,
            returns,
        });
        self.retry()
    }

    /// The call that waits may go on.
    fn retry(&mut self) -> Step {
        let Some(waiting) = &mut self.waiting else {
            return Ok(());
        };
        let line = waiting.line;
        let progress = waiting.running.go_on(&mut self.host);
        let Progress::Returns(value, error) = progress.map_err(|stop| (line, stop))? else {
            return Ok(());
        };
        let (began, returns) = (waiting.began, waiting.returns);
        let call = waiting.running.call.clone();
        self.waiting = None;
        let differs = call.returns.is_some_and(|expected| expected != value)
            || call
                .error
                .as_deref()
                .is_some_and(|expected| error != Some(expected));
        if differs {
            let show = |value: i64, error: Option<&str>| match error {
                Some(error) => format!("{} = {value} {error}", call.name),
                None => format!("{} = {value}", call.name),
            };
            let stop = Stop::Ours {
                expected: show(call.returns.unwrap_or(value), call.error.as_deref()),
                got: show(value, error),
            };
            return Err((line, stop));
        }
        match returns {
            Some(due) if distance(due, self.host.now) > self.tolerance(began, due) => {
                let stop = Stop::Ours {
                    expected: format!("{} to return at {}", call.name, shown(due)),
                    got: format!("it at {}", shown(self.host.now)),
                };
                Err((line, stop))
            }
            _ => Ok(()),
        }
    }

    /// How far what is due then may be from its time, with the event before at `last`.
    fn tolerance(&self, last: Time, due: Time) -> Span {
        self.script.options.tolerance_after(due - last)
    }

    /// Waits for the call that has not returned.
    fn await_call(&mut self) -> Step {
        let Some(waiting) = &self.waiting else {
            return Ok(());
        };
        let (line, name) = (waiting.line, waiting.running.call.name.clone());
        let due = waiting.returns.unwrap_or(self.host.now);
        let end = due + self.tolerance(waiting.began, due);
        while self.waiting.is_some() && self.host.step(end) {
            self.retry()?;
        }
        if self.waiting.is_none() {
            return Ok(());
        }
        let stop = Stop::Ours {
            expected: format!("{name} to return by {}", shown(due)),
            got: "it to wait".to_owned(),
        };
        Err((line, stop))
    }

    fn leaves(&mut self, packet: &Packet, when: When, base: Time, line: u32) -> Step {
        let from = when.at.map(|at| base + at);
        let until = when.until.map_or(from, |until| Some(base + until));
        let tolerance = self.tolerance(self.host.now, from.unwrap_or(self.host.now));
        let end = until.map_or(self.host.now + PATIENCE, |until| until + tolerance);
        if packet.urgent.is_some() {
            return Err((line, Stop::NotModelled("the urgent pointer".to_owned())));
        }
        while self.host.sent.is_empty() && self.host.step(end) {
            self.retry()?;
        }
        let fail = |got: String| {
            let expected = match (from, until) {
                (Some(from), Some(until)) if until > from => {
                    format!("{packet} from {} to {}", shown(from), shown(until))
                }
                (Some(from), _) => format!("{packet} at {}", shown(from)),
                (None, _) => packet.to_string(),
            };
            Err((line, Stop::Ours { expected, got }))
        };
        let gathers = self.host.settings.gathers;
        let Some(mut sent) = gather(&mut self.host.sent, packet, gathers) else {
            return fail("none".to_owned());
        };
        if packet.flags & sent.packet.flags & flag::SYN != 0 && sent.packet.seq == 0 {
            self.host.name_start(packet.seq);
            sent.packet.seq = packet.seq;
        }
        let got = format!("{} at {}", sent.packet, shown(sent.at));
        let since_start = from.unwrap_or(sent.at) - START;
        // The first timestamp says what the script calls ours.
        if let (Some(value), Some(live)) = (stamp(packet), stamp(&sent.packet)) {
            self.host.note_stamp(value, live);
        }
        if differs(
            packet,
            &sent.packet,
            |value| self.host.stamp_in_script(value),
            self.script.options.ticks(since_start),
        ) {
            return fail(got);
        }
        let early = from.is_some_and(|from| sent.at + tolerance < from);
        let late = until.is_some_and(|until| sent.at > until + tolerance);
        if early || late {
            return fail(got);
        }
        self.host.now = self.host.now.max(sent.at);
        Ok(())
    }
}

/// The word of an option that is not modelled.
fn foreign(packet: &Packet) -> Option<&str> {
    packet
        .options
        .iter()
        .flatten()
        .find_map(|option| match option {
            TcpOption::Other(word, _) if word != "eol" && word != "EOL" => Some(&**word),
            _ => None,
        })
}

/// The value of a packet's timestamp.
fn stamp(packet: &Packet) -> Option<u32> {
    packet
        .options
        .iter()
        .flatten()
        .find_map(|option| match option {
            &TcpOption::Timestamps(value, _) => Some(value),
            _ => None,
        })
}

fn distance(one: Time, other: Time) -> Span {
    (one - other).max(other - one)
}

/// A time from the script's start, in seconds.
fn shown(time: Time) -> String {
    format!("{:.6} s", (time - START).as_secs_f64())
}
