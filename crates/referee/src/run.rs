//! Plays a script on the kernel.
//!
//! Time passes while this program waits, and only then: for the next event of the script, for a
//! packet, or for a call. Whenever it waits it listens to the device too, so that a packet bears
//! the time at which the kernel has sent it.

use crate::calls::{Begun, Files};
use crate::device::{Device, PORT, clock};
use crate::flow::{Flow, back};
use crate::info::Info;
use crate::packet::Ends;
use crate::shell;
use crate::worker::{Returned, Worker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sojourn_packetdrill::{
    Call, Event, Outcome, Packet, Script, Sent, Stop, TcpOption, What, When, check_assertions,
    differs, flag, gather,
};
use sojourn_units::{Span, Time};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::thread;

/// How long a packet is waited for that may come at any time.
const PATIENCE: Span = Span::from_secs(120);
/// How long a packet is waited for that is too late, to show when it comes.
const LATE: Span = Span::from_secs(2);
/// The first port of the peer that connects to us.
const FIRST_PORT: u16 = 40_000;
/// Words that Linux's runner of the scripts defines for IPv4 and IPv6 (`ksft_runner.sh`): cookies
/// of Fast Open with the key that the scripts set.
const COOKIES: [(&str, [&str; 2]); 2] = [
    ("TFO_COOKIE", ["3021b9d889017eeb", "c1d1e9742a47a9bc"]),
    ("TFO_COOKIE_ZERO", ["b7c12350a90dc8f5", "82af1a8f9a205c34"]),
];

/// Runs a script on the kernel of this machine, in a namespace of its own. `folder`: where the
/// shell scripts are that it calls.
///
/// The verdict `Ours` means that the kernel does something else than the script says.
///
/// # Errors
/// When the namespace or its device cannot be made.
pub fn run(script: &Script, folder: &Path) -> io::Result<Outcome> {
    let played = thread::scope(|scope| {
        // A thread of its own: it stays in the namespace.
        let thread = scope.spawn(|| {
            let mut run = Run::new(script, folder)?;
            let outcome = run.play();
            run.files.shut();
            Ok(outcome)
        });
        thread.join()
    });
    match played {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A call that has not returned.
struct Waiting {
    call: Call,
    line: u32,
    began: Time,
    /// When it should return.
    returns: Option<Time>,
}

struct Run<'a> {
    script: &'a Script,
    folder: &'a Path,
    device: Device,
    files: Files,
    worker: Worker,
    waiting: Option<Waiting>,
    /// What it has returned.
    returned: Option<Returned>,
    flow: Option<Flow>,
    /// A socket listens that no packet has come to yet.
    listens: bool,
    next_port: u16,
    sent: VecDeque<Sent>,
    /// The interface takes several segments as one packet.
    gathers: bool,
    start: Time,
    /// The end of the last event.
    now: Time,
}

type Step = Result<(), Stop>;

fn broken(error: impl Into<io::Error>) -> Stop {
    Stop::NotModelled(format!("the referee's device: {}", error.into()))
}

impl<'a> Run<'a> {
    fn new(script: &'a Script, folder: &'a Path) -> io::Result<Self> {
        let device = Device::new(script.options.v6)?;
        let start = clock();
        Ok(Self {
            script,
            folder,
            device,
            files: Files::default(),
            worker: Worker::new()?,
            waiting: None,
            returned: None,
            flow: None,
            listens: false,
            next_port: FIRST_PORT,
            sent: VecDeque::new(),
            gathers: true,
            start,
            now: start,
        })
    }

    fn play(&mut self) -> Outcome {
        for event in &self.script.events {
            if let Err((line, stop)) = self.event(event) {
                return Outcome::stopped(line, stop);
            }
        }
        match self.await_call() {
            Ok(()) => Outcome::passes(),
            Err((line, stop)) => Outcome::stopped(line, stop),
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), (u32, Stop)> {
        let line = event.line;
        let here = |stop| (line, stop);
        if matches!(event.what, What::Call(_)) {
            self.await_call()?;
        }
        let base = if event.when.relative {
            self.now
        } else {
            self.start
        };
        if let What::Leaves(packet) = &event.what {
            return self.leaves(packet, event.when, base).map_err(here);
        }
        let at = base + event.when.at.unwrap_or(Span::ZERO);
        self.pass(at, |_| false).map_err(here)?;
        self.now = at.max(self.now);
        match &event.what {
            What::Arrives(packet) => self.arrives(packet),
            What::Leaves(_) => Ok(()),
            What::Other(word) => Err(Stop::NotModelled(format!("a packet with `{word}`"))),
            What::Call(call) => {
                let returns = event.when.returns.map(|returns| base + returns);
                self.call(call, returns, line)
            }
            What::Shell(commands) => self.shell(commands),
            What::Assert(code) => self.assert(code),
        }
        .map_err(here)
    }

    /// Lets time pass up to `end`, or until what is waited for has come; listens meanwhile.
    fn pass(&mut self, end: Time, come: impl Fn(&Self) -> bool) -> Step {
        loop {
            let now = clock();
            self.listen(now)?;
            if self.waiting.is_some() && self.returned.is_none() {
                self.returned = self.worker.result();
            }
            if come(self) || now >= end {
                return Ok(());
            }
            let left = end - now;
            let timeout = Timespec {
                tv_sec: (left.as_nanos() / 1_000_000_000).cast_signed(),
                tv_nsec: (left.as_nanos() % 1_000_000_000).cast_signed(),
            };
            let mut files = [
                PollFd::new(&self.device.file, PollFlags::IN),
                PollFd::new(&self.worker.bell, PollFlags::IN),
            ];
            match poll(&mut files, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(broken(error)),
            }
        }
    }

    /// Takes what the kernel has sent.
    fn listen(&mut self, now: Time) -> Step {
        while let Some((packet, ends)) = self.device.next().map_err(broken)? {
            let opens = packet.flags & (flag::SYN | flag::ACK) == flag::SYN;
            let ours = self.flow.as_ref().is_some_and(|flow| flow.has(ends));
            if opens && !ours {
                self.begin(back(ends));
            } else if !ours {
                // What an earlier connection still sends: the script is about one at a time.
                continue;
            }
            if let Some(flow) = &mut self.flow {
                let packet = flow.sent(packet);
                self.sent.push_back(Sent { at: now, packet });
            }
        }
        Ok(())
    }

    /// A connection begins, with these ends of packets to the kernel.
    fn begin(&mut self, ends: Ends) {
        self.flow = Some(Flow::new(ends));
        self.listens = false;
        self.sent.clear();
    }

    fn arrives(&mut self, packet: &Packet) -> Step {
        let opens = packet.flags & (flag::SYN | flag::ACK | flag::RST) == flag::SYN;
        let other = self.flow.as_ref().is_none_or(|flow| flow.gone) || self.listens;
        if self.flow.is_none() || (opens && other) {
            let [local, peer] = self.device.addresses();
            let from_port = self.next_port;
            self.next_port += 1;
            self.begin(Ends {
                from: peer,
                to: local,
                from_port,
                to_port: PORT,
            });
        }
        let packet = &self.defined(packet);
        let Some(flow) = &mut self.flow else {
            return Ok(());
        };
        let live = flow.arriving(packet);
        let mss = self.script.options.mss;
        let ends = flow.ends;
        match self.device.arrive(&live, ends, mss) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Stop::NotModelled(format!(
                "the referee cannot make {packet}"
            ))),
            Err(error) => Err(broken(error)),
        }
    }

    /// A packet with words that Linux's runner defines in their place.
    fn defined(&self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        for option in packet.options.iter_mut().flatten() {
            if let TcpOption::Other(_, value) = option
                && let Some((_, cookies)) = COOKIES.iter().find(|(name, _)| name == value)
            {
                cookies[usize::from(self.device.v6)].clone_into(value);
            }
        }
        packet
    }

    fn call(&mut self, call: &Call, returns: Option<Time>, line: u32) -> Step {
        self.listens |= call.name == "listen";
        if call.name == "close"
            && let Some(sojourn_packetdrill::Arg::Number(fd)) = call.args.first()
            && let Some(flow) = &mut self.flow
        {
            flow.gone |= self.files.is_subject(*fd);
        }
        self.waiting = Some(Waiting {
            call: call.clone(),
            line,
            began: self.now,
            returns,
        });
        self.returned = None;
        match self.files.begin(call, &self.device)? {
            Begun::Done(outcome) => self.returned = Some(Returned::now(outcome)),
            Begun::Work(work) => self.worker.start(work),
        }
        if returns.is_none() {
            let end = self.now + self.script.options.tolerance;
            self.pass(end, |run| run.returned.is_some())?;
            if self.returned.is_none() {
                return Err(Stop::Ours {
                    expected: format!("{} to return", call.name),
                    got: "it to wait".to_owned(),
                });
            }
            return self.check_call(false);
        }
        Ok(())
    }

    /// Whether what the call has returned is what it should, and when.
    fn check_call(&mut self, at_its_time: bool) -> Step {
        let (Some(waiting), Some(returned)) = (self.waiting.take(), self.returned.take()) else {
            return Ok(());
        };
        let call = &waiting.call;
        let error = returned.error.map(|error| format!("{error:?}"));
        let differs = call
            .returns
            .is_some_and(|expected| expected != returned.value)
            || call.error.is_some() && call.error != error;
        if differs {
            let show = |value: i64, error: Option<&str>| match error {
                Some(error) => format!("{} = {value} {error}", call.name),
                None => format!("{} = {value}", call.name),
            };
            return Err(Stop::Ours {
                expected: show(
                    call.returns.unwrap_or(returned.value),
                    call.error.as_deref(),
                ),
                got: show(returned.value, error.as_deref()),
            });
        }
        match waiting.returns.filter(|_| at_its_time) {
            Some(due) if distance(due, returned.at) > self.tolerance(waiting.began, due) => {
                Err(Stop::Ours {
                    expected: format!("{} to return at {}", call.name, self.shown(due)),
                    got: format!("it at {}", self.shown(returned.at)),
                })
            }
            _ => Ok(()),
        }
    }

    /// How far what is due then may be from its time, with the event before at `last`.
    fn tolerance(&self, last: Time, due: Time) -> Span {
        self.script.options.tolerance_after(due - last)
    }

    /// Waits for the call that has not returned.
    fn await_call(&mut self) -> Result<(), (u32, Stop)> {
        let Some(waiting) = &self.waiting else {
            return Ok(());
        };
        let (line, name) = (waiting.line, waiting.call.name.clone());
        let here = |stop| (line, stop);
        let due = waiting.returns.unwrap_or(self.now);
        let end = due + self.tolerance(waiting.began, due);
        self.pass(end, |run| run.returned.is_some()).map_err(here)?;
        match self.returned {
            Some(returned) => {
                self.now = self.now.max(returned.at);
                self.check_call(true).map_err(here)
            }
            None => Err(here(Stop::Ours {
                expected: format!("{name} to return by {}", self.shown(due)),
                got: "it to wait".to_owned(),
            })),
        }
    }

    fn shell(&mut self, commands: &str) -> Step {
        let said = shell::run(commands, self.folder, &self.device)?;
        self.gathers = said.unwrap_or(self.gathers);
        Ok(())
    }

    fn assert(&mut self, code: &str) -> Step {
        let subject = self.files.subject();
        let info = match subject {
            Some(socket) => Some(Info::of(socket).map_err(broken)?),
            None => None,
        };
        check_assertions(code, &|name| info.as_ref()?.value(name))
    }

    fn leaves(&mut self, packet: &Packet, when: When, base: Time) -> Step {
        let from = when.at.map(|at| base + at);
        let until = when.until.map_or(from, |until| Some(base + until));
        let tolerance = self.tolerance(self.now, from.unwrap_or(self.now));
        let end = until.map_or(self.now + PATIENCE, |until| until + LATE.max(tolerance));
        let expected = self.defined(packet);
        self.pass(end, |run| !run.sent.is_empty())?;
        let fail = |run: &Self, got: String| {
            let expected = match (from, until) {
                (Some(from), Some(until)) if until > from => {
                    format!("{packet} from {} to {}", run.shown(from), run.shown(until))
                }
                (Some(from), _) => format!("{packet} at {}", run.shown(from)),
                (None, _) => packet.to_string(),
            };
            Err(Stop::Ours { expected, got })
        };
        let Some(mut sent) = gather(&mut self.sent, &expected, self.gathers) else {
            return fail(self, "none".to_owned());
        };
        let got = format!("{} at {}", sent.packet, self.shown(sent.at));
        let Some(flow) = &mut self.flow else {
            return fail(self, got);
        };
        if expected.flags & sent.packet.flags & flag::SYN != 0 && sent.packet.seq == 0 {
            flow.rename_start(expected.seq);
            sent.packet.seq = expected.seq;
        }
        // The first timestamp says what the script calls ours.
        if let (Some(value), Some(live)) = (stamp(&expected), stamp(&sent.packet)) {
            flow.note_stamp(value, live);
        }
        let since_start = from.unwrap_or(sent.at) - self.start;
        let ticks = self.script.options.ticks(since_start);
        if differs(
            &expected,
            &sent.packet,
            |live| flow.stamp_in_script(live),
            ticks,
        ) {
            return fail(self, got);
        }
        let early = from.is_some_and(|from| sent.at + tolerance < from);
        let late = until.is_some_and(|until| sent.at > until + tolerance);
        if early || late {
            return fail(self, got);
        }
        self.now = self.now.max(sent.at);
        Ok(())
    }

    /// A time from the script's start, in seconds.
    fn shown(&self, time: Time) -> String {
        format!("{:.6} s", (time - self.start).as_secs_f64())
    }
}

/// The value of a packet's timestamp.
fn stamp(packet: &Packet) -> Option<u32> {
    let options = packet.options.iter().flatten();
    options.into_iter().find_map(|option| match option {
        &TcpOption::Timestamps(value, _) => Some(value),
        _ => None,
    })
}

fn distance(one: Time, other: Time) -> Span {
    (one - other).max(other - one)
}
