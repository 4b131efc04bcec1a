//! Queues of the kernel's own, from the same specs: what `tc -batch` is told, and what it tells.
//!
//! Sources: `tc(8)`, `tc-htb(8)`, `tc-netem(8)`, `tc-flower(8)`, `tc-mirred(8)`. What a queue
//! counts while it runs is read in `counters.rs`.
//!
//! A spec's text is tc's already, so that it is handed over as it is. What the kernel lacks is
//! refused before (`Spec::beyond_linux`).

mod counters;
mod dualpi2;
mod module;
mod request;

pub(crate) use counters::{Counted, Counters};
pub(crate) use request::RTM_NEWQDISC;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use sojourn_bridge::module::Reader;
use sojourn_bridge::{Interface, tc_report};
use sojourn_line::{Chance, FourStates, GilbertElliott, Line, LineRate, Loss, Reorder};
use sojourn_qdisc::{HtbParams, Report, Spec};
use sojourn_units::{Rate, Span};

/// Major number of the queue that holds the packets. Those in front of it count from 1.
pub(crate) const LEAF: u16 = 0x10;
/// Packets that a delay may hold: out of reach.
const DELAYED: u32 = 1_000_000;
/// The rate of a netem that only keeps packets in order.
const WIRE: &str = " rate 1tbit";
/// How far the class of HTB with a link's rate may send ahead of it, in microseconds. A timer that
/// fires late costs the link nothing within that time. With much more, the first packets of a busy
/// period would leave together, and one of them stand before the line.
const AHEAD_US: u64 = 20;

/// The two ends of a link, its transmitter, which only a guest's kernel has; what they are told
/// comes from `world::kernel::ends`. Source: `sch_link.c` of its recipe.
const LINK_START: &str = "link_start";
const LINK_END: &str = "link_end";
/// Major number of both.
pub(crate) const LINK: u16 = 1;
/// The request of rtnetlink to tell about a queue.
const RTM_GETQDISC: u16 = 38;
/// The words that name them as a parent.
const IN_LINK: &str = "parent 1:1";

/// `struct tcmsg`: the queue with this major number at a device.
pub(crate) fn tcmsg(device: u32, major: u16) -> [u8; 20] {
    let mut header = [0; 20];
    header[4..8].copy_from_slice(&device.to_ne_bytes());
    header[8..12].copy_from_slice(&(u32::from(major) << 16).to_ne_bytes());
    header
}

/// Whose code a queue in the kernel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Linux's.
    Linux,
    /// Ours, as the module has it.
    Ours,
}

/// The rate at which a discipline itself holds packets back.
fn own_rate(spec: &Spec) -> Option<Rate> {
    match spec {
        Spec::Cake(cake) | Spec::CakeMq { cake, .. } => cake.bandwidth,
        Spec::Htb { htb, .. } => Some(htb.rate),
        Spec::Tbf { tbf, .. } => Some(tbf.rate),
        Spec::Fifo(_)
        | Spec::Single { .. }
        | Spec::Flows { .. }
        | Spec::DualPi2(_)
        | Spec::Tree(_) => None,
    }
}

/// The queue of a link at a device, as lines for tc; and the major numbers of what the spec names,
/// from the outside to [`LEAF`].
///
/// A queue that does not hold packets back by itself gets a class of HTB with the link's rate in
/// front of it, as the queue of a link in the other worlds has the transmitter behind it; a link
/// that has `ends` has [`LINK_START`] there. Ours is one queue, with all that its spec names in it.
pub(crate) fn queue(
    whose: Whose,
    device: &str,
    spec: &Spec,
    rate: &LineRate,
    ends: bool,
) -> (Vec<String>, Vec<u16>) {
    let mut plan = Plan {
        device,
        lines: Vec::new(),
        majors: Vec::new(),
        next: 1,
    };
    let slower = |rate: Rate| own_rate(spec).is_some_and(|own| own <= rate);
    let parent = match rate.fixed().filter(|&rate| !slower(rate)) {
        _ if ends => {
            let major = plan.major();
            plan.add("root", major, LINK_START);
            IN_LINK.to_owned()
        }
        Some(rate) => {
            let burst = (rate.as_bps() * AHEAD_US).div_ceil(8_000_000).max(1);
            plan.class("root", HtbParams { rate, burst })
        }
        None => "root".to_owned(),
    };
    plan.majors.clear();
    match whose {
        Whose::Linux => plan.plant(&parent, spec),
        Whose::Ours => plan.add(&parent, LEAF, &format!("{} {spec}", module::KIND)),
    }
    (plan.lines, plan.majors)
}

/// From the lines of a queue to those that put it in the place of the one at its device.
pub(crate) fn anew(device: &str, mut lines: Vec<String>) -> Vec<String> {
    // The ends of a link go on.
    let ends = lines[0].ends_with(LINK_START);
    let place = if ends { IN_LINK } else { "root" };
    let removed = format!("qdisc del dev {device} {place}");
    lines.splice(..usize::from(ends), [removed]);
    lines
}

/// From the lines of a queue to those that make another one of it, by its parameters alone. Nothing
/// when it is another queue: what waits would be lost.
pub(crate) fn changed(before: &[String], after: &[String]) -> Option<Vec<String>> {
    let alike =
        before.len() == after.len() && before.iter().zip(after).all(|(a, b)| place(a) == place(b));
    let differ = before.iter().zip(after).filter(|(a, b)| a != b);
    let change = |(before, after): (&String, &String)| {
        let change = after.replacen("add", "change", 1);
        // Ours follows the whole string.
        if kind(after) == Some(module::KIND) {
            return change;
        }
        let off = switched_off(before, after);
        off.iter()
            .fold(without_flows(&change), |line, word| line + " " + word)
    };
    alike.then(|| differ.map(change).collect())
}

/// Words for what a line has switched on and the line after it does not say.
fn switched_off(before: &str, after: &str) -> Vec<String> {
    let [before, after] = [before, after].map(|line| {
        let (_, queue) = line.split_once(" handle ")?;
        let (_, words) = queue.split_once(": ")?;
        words.parse::<Spec>().ok()
    });
    let specs = before.zip(after);
    specs.map_or_else(Vec::new, |(before, after)| after.switched_off(&before))
}

/// The words of a line up to the kind of queue or class.
fn place(line: &str) -> &str {
    let named = [" handle ", " classid "]
        .iter()
        .find_map(|word| line.find(word).map(|at| at + word.len()));
    let kind = named.and_then(|at| Some(at + line[at..].find(' ')? + 1));
    let end = kind.and_then(|at| Some(at + line[at..].find(' ')?));
    &line[..end.unwrap_or(line.len())]
}

/// The kind of queue or class that a line is about.
fn kind(line: &str) -> Option<&str> {
    place(line).rsplit(' ').next()
}

/// The number of flows' queues is for ever.
fn without_flows(line: &str) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    // CAKE's `flows` is a word alone.
    let number = |word: &&str| word.parse::<u32>().is_ok();
    if let Some(at) = words.iter().position(|word| *word == "flows")
        && words.get(at + 1).is_some_and(number)
    {
        words.drain(at..at + 2);
    }
    words.join(" ")
}

struct Plan<'a> {
    device: &'a str,
    lines: Vec<String>,
    majors: Vec<u16>,
    next: u16,
}

impl Plan<'_> {
    fn plant(&mut self, parent: &str, spec: &Spec) {
        match spec {
            Spec::Htb { htb, inner } => {
                let parent = self.class(parent, *htb);
                self.plant(&parent, inner);
            }
            Spec::Tbf { inner, .. } => {
                let text = spec.to_string();
                let Some((outer, _)) = text.split_once(" over ") else {
                    return self.add(parent, LEAF, &text);
                };
                let major = self.major();
                // The limit is that of a queue which is replaced at once; tc asks for it.
                let given = ["limit", "latency"].iter().any(|word| outer.contains(word));
                let limit = if given { "" } else { " limit 1mb" };
                self.add(parent, major, &format!("{outer}{limit}"));
                self.plant(&format!("parent {major:x}:1"), inner);
            }
            // What tc shows and what it takes differ in this one word.
            Spec::Cake(_) => {
                let text = spec.to_string().replace("bandwidth unlimited", "unlimited");
                self.add(parent, LEAF, &text);
            }
            // Linux's way of RED, which tc has no word for.
            _ => self.add(parent, LEAF, &spec.to_string().replace(" law linux", "")),
        }
    }

    fn major(&mut self) -> u16 {
        self.next += 1;
        self.next - 1
    }

    fn add(&mut self, parent: &str, major: u16, text: &str) {
        let device = self.device;
        self.majors.push(major);
        self.lines.push(format!(
            "qdisc add dev {device} {parent} handle {major:x}: {text}"
        ));
    }

    /// A class of HTB; the words that name it as a parent.
    fn class(&mut self, parent: &str, htb: HtbParams) -> String {
        let (device, major) = (self.device, self.major());
        self.add(parent, major, "htb default 1");
        let (rate, burst) = (htb.rate.as_bps(), htb.burst);
        self.lines.push(format!(
            "class add dev {device} parent {major:x}: classid {major:x}:1 htb rate {rate}bit \
             ceil {rate}bit burst {burst}b cburst {burst}b quantum 1514"
        ));
        format!("parent {major:x}:1")
    }
}

/// A line behind its queue, and a further delay, as lines for tc: nothing when both are nothing.
///
/// netem's rate makes each packet take its time on the line, and keeps packets in order. Where they
/// may overtake each other the line is in parts.
pub(crate) fn line(device: &str, parent: &str, line: &Line, further: Span) -> Vec<String> {
    let jitter = !line.jitter.is_zero();
    let ahead = matches!(line.reorder, Reorder::Ahead { .. });
    if ahead || (jitter && line.reorder != Reorder::Never) {
        return line_in_parts(device, line, further, ahead, false);
    }
    let mut words = delayed(line, further);
    match line.rate.fixed() {
        Some(rate) => _ = write!(words, " rate {}bit", rate.as_bps()),
        None if jitter => words += WIRE,
        None => {}
    }
    if words.is_empty() {
        return Vec::new();
    }
    vec![netem(device, parent, &words)]
}

/// A line at the root of a device in parts, of which the first sends, a netem or [`LINK_END`] of a
/// link that has `ends`, and the last delays. All that may change is said, so that a change leaves
/// nothing of what was before. What paths have beyond the line is `apart`, before the last, where
/// packets may pass the line's delay by.
pub(crate) fn line_in_parts(
    device: &str,
    line: &Line,
    further: Span,
    apart: bool,
    ends: bool,
) -> Vec<String> {
    let sent = match line.rate.fixed() {
        Some(rate) if !ends => format!(" rate {}bit", rate.as_bps()),
        _ => WIRE.to_owned(),
    };
    // With a rate, however high, nothing overtakes.
    let order = match line.reorder {
        Reorder::Never => WIRE,
        Reorder::Allowed | Reorder::Ahead { .. } => " rate 0bit",
    };
    // Who passes a netem's delay by passes its child by too, so that this delay comes first.
    let (first, second) = if apart {
        (further, Span::ZERO)
    } else {
        (Span::ZERO, further)
    };
    let mut words = delayed(line, second);
    if let Reorder::Ahead { chance, gap } = line.reorder {
        let _ = write!(words, " reorder {} gap {gap}", shares(chance));
    }
    let mut parts = Vec::new();
    if ends {
        parts.push(format!(
            "qdisc add dev {device} root handle {LINK}: {LINK_END}"
        ));
    }
    let mut part = |words: &str| {
        let place = match parts.len() {
            0 => "root handle 1:".to_owned(),
            number => format!("parent {number}:1 handle {}:", number + 1),
        };
        parts.push(netem(device, &place, words));
    };
    if apart || !ends {
        part(&(delayed(&Line::new(LineRate::Infinite), first) + &sent));
    }
    part(&(words + order));
    parts
}

/// A share of packets with its correlation, which netem keeps where it is not said.
fn shares(chance: Chance) -> String {
    let [share, correlation] = [chance.probability, chance.correlation].map(|x| x * 100.0);
    format!("{share}% {correlation}%")
}

fn netem(device: &str, place: &str, words: &str) -> String {
    format!("qdisc add dev {device} {place} netem limit {DELAYED}{words}")
}

/// What becomes of packets that a line has sent, in netem's words.
fn delayed(line: &Line, further: Span) -> String {
    let mut delayed = String::new();
    let delay = line.delay + further;
    if !delay.is_zero() || !line.jitter.is_zero() {
        // netem's jitter goes both ways, ours is above the delay.
        let half = line.jitter / 2;
        let micros = |span: Span| span.as_nanos() as f64 / 1e3;
        let _ = write!(delayed, " delay {}us", micros(delay + half));
        if !half.is_zero() {
            let _ = write!(delayed, " {}us", micros(half));
        }
    }
    match line.loss {
        Loss::Random(chance) if !chance.can_be() => {}
        Loss::Random(chance) if chance.correlation > 0.0 => {
            let _ = write!(delayed, " loss random {}", shares(chance));
        }
        Loss::Random(chance) => {
            let _ = write!(delayed, " loss random {}%", chance.probability * 100.0);
        }
        Loss::GilbertElliott(GilbertElliott { p, r, bad, good }) => {
            let [p, r, bad, good] = [p, r, bad, good].map(|x| x * 100.0);
            let _ = write!(delayed, " loss gemodel {p}% {r}% {bad}% {good}%");
        }
        Loss::FourStates(FourStates {
            p13,
            p31,
            p32,
            p23,
            p14,
        }) => {
            let [p13, p31, p32, p23, p14] = [p13, p31, p32, p23, p14].map(|x| x * 100.0);
            let _ = write!(delayed, " loss state {p13}% {p31}% {p32}% {p23}% {p14}%");
        }
    }
    delayed
}

/// A wire that takes no time, as a line for tc. A host's packet is its socket's until something
/// else holds it: without netem between, Linux would hold a sender back by what waits in the queues
/// (TCP small queues), as no other machine's queue does.
pub(crate) fn wire(device: &str, parent: &str) -> String {
    netem(device, parent, WIRE)
}

/// Runs lines of tc in the calling thread's namespace. Queues that tc, or an older one, does not
/// know are made without it.
pub(crate) fn run(lines: &[String]) -> io::Result<()> {
    let known = |line: &String| without_tc(line).is_none();
    for lines in lines.chunk_by(|a, b| known(a) && known(b)) {
        match without_tc(&lines[0]) {
            Some(run) => run(&lines[0])?,
            None => batch(lines)?,
        }
    }
    Ok(())
}

/// What carries a line out in tc's place.
fn without_tc(line: &str) -> Option<fn(&str) -> io::Result<()>> {
    match kind(line)? {
        dualpi2::KIND => Some(dualpi2::run),
        module::KIND => Some(module::run),
        _ => None,
    }
}

/// Runs lines in one process of tc.
fn batch(lines: &[String]) -> io::Result<()> {
    let mut child = command()
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| missing(&error))?;
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all((lines.join("\n") + "\n").as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let what = refused(&said, lines);
    let hint = lacking(&said, what);
    Err(io::Error::other(format!(
        "tc refuses {what}: {}{}",
        said.trim(),
        hint.map_or_else(String::new, |hint| format!("\n{hint}"))
    )))
}

/// Who does not have the queue of a line that was refused, tc or the kernel, and what helps.
fn lacking(said: &str, line: &str) -> Option<String> {
    let kind = kind(line)?;
    if said.contains("Unknown qdisc") {
        return Some(format!(
            "this tc does not know {kind}: a newer iproute2 in the PATH may"
        ));
    }
    let unknown = said.contains("Specified qdisc kind is unknown");
    unknown.then(|| unknown_to_kernel(kind))
}

fn unknown_to_kernel(kind: &str) -> String {
    if kind == "fq" {
        // What paced hosts have in the live world; all kernels of guests have it.
        return "this kernel has no fq (CONFIG_NET_SCH_FQ): the kernels of `--world kernel` have it"
            .to_owned();
    }
    format!(
        "this kernel has no {kind}: --kernel-version takes another one (7.3 has dualpi2, after \
         `sojourn kernel build --version 7.3`)"
    )
}

/// The line that tc has failed at; it ends with `Command failed -:2`, for example.
fn refused<'a>(said: &str, lines: &'a [String]) -> &'a str {
    let number = said.rsplit(':').next().and_then(|n| n.trim().parse().ok());
    let line = number.and_then(|number: usize| lines.get(number.checked_sub(1)?));
    line.map_or("the queues", String::as_str)
}

/// The statistics of the queues at a device with these major numbers, each the child of the one
/// before; of one of ours, what it tells of itself.
pub(crate) fn report(whose: Whose, device: &str, majors: &[u16]) -> io::Result<Report> {
    if whose == Whose::Ours {
        return module::report(&mut Reader::open(Interface::index_of(device)?, LEAF)?);
    }
    let output = command()
        .args(["-s", "-j", "qdisc", "show", "dev", device])
        .output()
        .map_err(|error| missing(&error))?;
    let text = dualpi2::without_unknown(&String::from_utf8_lossy(&output.stdout));
    let all: Vec<Json> = serde_json::from_str(&text)
        .map_err(|error| io::Error::other(format!("tc's statistics: {error}")))?;
    let of = |major: &u16| {
        let handle = format!("{major:x}:");
        all.iter().find(|queue| queue["handle"] == handle.as_str())
    };
    let mut report = None;
    for queue in majors.iter().rev().filter_map(of) {
        let mut one = tc_report::read(queue);
        if one.kind == dualpi2::KIND && one.options.is_empty() {
            dualpi2::complete(&mut one, device)?;
        }
        report = Some(Report {
            inner: report.map(Box::new),
            ..one
        });
    }
    Ok(report.unwrap_or_default())
}

fn command() -> Command {
    let mut command = Command::new("tc");
    command.env("LC_ALL", "C");
    command
}

fn missing(error: &io::Error) -> io::Error {
    let what = format!(
        "cannot run tc, by which the kernel's queues are set up: {error}; on Debian it is in the \
         package iproute2"
    );
    io::Error::new(error.kind(), what)
}

#[cfg(test)]
mod tests;
