//! Captures of runs as mahimahi's logs.
//!
//! Source: mahimahi (github.com/ravinet/mahimahi, ae477d4): `src/frontend/link_queue.cc` writes the
//! log, `scripts/mm-throughput-graph` and `mm-delay-graph` read it. A line has a time in whole
//! milliseconds and what happened then: `+ BYTES` a packet arrived, `- BYTES DELAY` it left after
//! so many milliseconds, `# BYTES` the link could have sent so much. Drops have no line, because
//! `mm-throughput-graph` refuses it: they are arrivals without a departure.
//!
//! Differences: a packet leaves when the transmitter takes it, as in our figures, and not when it
//! has been sent; its bytes are those that the queue counts, link header included.

use crate::{FAILED, WrongInput, print};
use anyhow::Context as _;
use sojourn_capture::Reader;
use sojourn_report::{Folder, Rest};
use sojourn_scenario::Scenario;
use sojourn_units::Time;
use sojourn_wire::{identity, parse};
use sojourn_world::{Cell, Line, LineRate, PacketMatcher, RunResult, ScenarioInfo, Source};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// Bytes of an opportunity, those of mahimahi's traces.
const OPPORTUNITY: u64 = 1500;

/// A capture behind a link's queue, by its name: `run-3-up.pcapng`, `live-run-3-up.pcapng`.
struct Named {
    world: Option<String>,
    run: usize,
    link: String,
}

impl Named {
    fn of(stem: &str) -> Option<Self> {
        let place = stem.find("run-")?;
        let world = match &stem[..place] {
            "" => None,
            world => Some(world.strip_suffix('-')?.to_owned()),
        };
        let (run, link) = stem[place + 4..].split_once('-')?;
        Some(Self {
            world,
            run: run.parse().ok()?,
            link: link.to_owned(),
        })
    }

    /// The run that it shows.
    fn find<'a>(&self, results: &'a [RunResult]) -> Option<&'a RunResult> {
        let world = self
            .world
            .as_deref()
            .or_else(|| results.first().map(|run| run.world.as_str()))?;
        let mut runs = results.iter().filter(|run| run.world.as_str() == world);
        runs.nth(self.run.checked_sub(1)?)
    }
}

/// Writes a log for each link of each run in `dirs` that was captured on both sides of its queue.
pub(super) fn export(dirs: &[PathBuf], out: &Path, base: &Path) -> anyhow::Result<u8> {
    fs::create_dir_all(out).with_context(|| format!("--out {}", out.display()))?;
    let (mut failed, mut written) = (false, String::new());
    for dir in dirs {
        let Folder { info, runs } = Folder::open(dir).map_err(WrongInput::from)?;
        let (results, _) = Rest::of(runs);
        let captures = captures(dir)?;
        for (behind, before) in captures {
            let stem = behind.file_stem().unwrap_or_default().to_string_lossy();
            let log = log(&info, &results, &stem, [&before, &behind], base);
            match log {
                Ok(text) => {
                    let path = out.join(format!("{stem}.log"));
                    fs::write(&path, text).with_context(|| path.display().to_string())?;
                    let _ = writeln!(written, "{}", path.display());
                }
                Err(reason) => {
                    eprintln!("sojourn: {}: {reason}", behind.display());
                    failed = true;
                }
            }
        }
    }
    print(&written)?;
    Ok(if failed { FAILED } else { 0 })
}

/// The captures of links in a folder, behind the queue and before it.
fn captures(dir: &Path) -> Result<Vec<(PathBuf, PathBuf)>, WrongInput> {
    let cannot = |error: std::io::Error| WrongInput(format!("{}: {error}", dir.display()));
    let mut pairs = Vec::new();
    for entry in fs::read_dir(dir).map_err(cannot)? {
        let behind = entry.map_err(cannot)?.path();
        let name = behind.file_name().unwrap_or_default().to_string_lossy();
        let Some(stem) = name.strip_suffix(".pcapng") else {
            continue;
        };
        let before = dir.join(format!("{stem}-in.pcapng"));
        if before.exists() {
            pairs.push((behind, before));
        }
    }
    pairs.sort();
    if pairs.is_empty() {
        return Err(WrongInput(format!(
            "{}: has no capture of a link on both sides of its queue; run it with \
             `--pcap LINK,LINK:in`",
            dir.display()
        )));
    }
    Ok(pairs)
}

/// The log of a link, from the captures before and behind its queue.
fn log(
    info: &ScenarioInfo,
    results: &[RunResult],
    stem: &str,
    [before, behind]: [&Path; 2],
    base: &Path,
) -> Result<String, WrongInput> {
    let wrong = |text: &str| WrongInput(text.to_owned());
    let named = Named::of(stem).ok_or_else(|| wrong("its name is not that of a run's capture"))?;
    let run = named
        .find(results)
        .ok_or_else(|| wrong("the folder has no result of this run"))?;
    let source = Source {
        name: info.name.clone(),
        text: info.source.clone().unwrap_or_default(),
        base: base.to_owned(),
    };
    let cell = Scenario::cell(&source, &run.params, run.seed)
        .map_err(|problems| WrongInput(problems.to_string()))?;
    let link = (cell.network.interfaces.iter())
        .position(|one| one.name == named.link)
        .ok_or_else(|| wrong("the scenario has no link of this name"))?;
    let mut events = opportunities(&cell, link)?;
    packets([before, behind], cell.end(), &mut events)?;
    events.sort_by_key(|(at, _)| *at);
    let mut text = format!(
        "# mahimahi mm-link ({}) [{}] > {stem}.log\n\
         # command line: sojourn {}\n\
         # queue: {}\n\
         # init timestamp: 0\n\
         # base timestamp: 0\n",
        named.link,
        info.name,
        sojourn_version::VERSION,
        cell.network.interfaces[link].qdisc,
    );
    for (at, what) in events {
        let _ = writeln!(text, "{} {what}", millis(at));
    }
    Ok(text)
}

fn millis(at: Time) -> u64 {
    at.as_nanos() / 1_000_000
}

/// What happened, when, as it stands behind the time.
type Event = (Time, String);

/// When the link could have sent something.
fn opportunities(cell: &Cell, link: usize) -> Result<Vec<Event>, WrongInput> {
    let mut events = Vec::new();
    let changes = cell.changes.iter().filter(|change| change.link == link);
    let mut ends: Vec<Time> = changes.map(|change| change.at.min(cell.end())).collect();
    ends.push(cell.end());
    let mut from = Time::ZERO;
    let lines = cell.lines(link);
    if lines.is_empty() {
        return Err(WrongInput("a radio has no rate of its own".to_owned()));
    }
    for (Line { rate, .. }, until) in lines.iter().zip(ends) {
        let word = format!("# {OPPORTUNITY}");
        match rate {
            LineRate::Infinite => {
                return Err(WrongInput("the link is infinitely fast".to_owned()));
            }
            LineRate::Fixed(rate) => {
                let each = 8 * OPPORTUNITY * 1_000_000_000;
                let at = |n: u64| {
                    let after = u128::from(n) * u128::from(each) / u128::from(rate.as_bps());
                    from.as_nanos() + u64::try_from(after).unwrap_or(u64::MAX / 2)
                };
                let times = (1..).map(|n| Time::from_nanos(at(n)));
                events.extend(
                    times
                        .take_while(|at| *at <= until)
                        .map(|at| (at, word.clone())),
                );
            }
            LineRate::Trace(trace) => {
                let list = &trace.opportunities_ms;
                let period = list.last().copied().unwrap_or(1).max(1);
                let rounds = (0..).flat_map(|round| list.iter().map(move |ms| round * period + ms));
                let times = rounds
                    .map(|ms| Time::from_nanos(ms * 1_000_000))
                    .take_while(|at| *at <= until)
                    .filter(|at| *at >= from);
                events.extend(times.map(|at| (at, word.clone())));
            }
        }
        from = until;
    }
    Ok(events)
}

/// Arrivals and departures from the captures before and behind the queue. What is on its way when
/// the run ends still leaves, but no figure counts it.
fn packets(
    [before, behind]: [&Path; 2],
    end: Time,
    events: &mut Vec<Event>,
) -> Result<(), WrongInput> {
    let mut matcher = PacketMatcher::new(usize::MAX);
    let (mut all, mut late) = (0_u64, 0_u64);
    each(before, |identity, at, len| {
        matcher.left(identity, at);
        all += 1;
        if at <= end {
            events.push((at, format!("+ {len}")));
        } else {
            late += 1;
        }
    })?;
    if all > 0 && all == late {
        let message = "its clock does not begin with the run: simulated runs have such captures";
        return Err(WrongInput(message.to_owned()));
    }
    let mut lost = 0_u64;
    each(behind, |identity, at, len| {
        match matcher.reached(identity) {
            Some(arrived) if at <= end => {
                let delay = millis(at) - millis(arrived).min(millis(at));
                events.push((at, format!("- {len} {delay}")));
            }
            Some(_) => {}
            None => lost += 1,
        }
    })?;
    if lost > 0 {
        let before = before.display();
        return Err(WrongInput(format!(
            "{lost} packets are not in {before}, or more than once"
        )));
    }
    Ok(())
}

/// Hands over each packet of a capture: what identifies it, its time and its length.
fn each(path: &Path, mut take: impl FnMut(u64, Time, u32)) -> Result<(), WrongInput> {
    let mut read = || -> anyhow::Result<()> {
        let mut reader = Reader::new(BufReader::new(File::open(path)?))?;
        while let Some(record) = reader.next_record()? {
            let cut = "has packets without a time or a whole header";
            let frame = record.ethernet().map_err(|_| WrongInput(cut.to_owned()))?;
            let known = identity(&frame, &parse(&frame)).zip(record.at);
            let (identity, at) = known.ok_or_else(|| WrongInput(cut.to_owned()))?;
            take(identity, at, record.len);
        }
        Ok(())
    };
    read().map_err(|error| WrongInput(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::Named;

    #[test]
    fn captures_are_known_by_their_names() {
        let of = |stem| Named::of(stem).map(|one| (one.world, one.run, one.link));
        assert_eq!(of("run-3-up"), Some((None, 3, "up".to_owned())));
        let live = Some("live".to_owned());
        assert_eq!(of("live-run-12-to-b"), Some((live, 12, "to-b".to_owned())));
        assert_eq!(of("run-x-up"), None);
        assert_eq!(of("rerun-1-up"), None);
        assert_eq!(of("trace"), None);
    }
}
