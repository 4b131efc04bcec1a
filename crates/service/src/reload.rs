//! Has running bridges follow their file: what differs is changed, and nothing else is touched.
//!
//! All that can be refused is refused before anything changes: a file with a problem, a key that
//! is set up once, a new pair whose interfaces cannot be opened.

use crate::capture::{Look, Recording};
use crate::difference::{Difference, around, differences};
use crate::file::BridgeFile;
use crate::fleet::{Fleet, Member, Opened};
use crate::{Pair, describe};
use sojourn_bridge::give_memory_back;
use sojourn_bridge::{BridgeError, RemoteError};
use sojourn_text::Problems;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// How long a bridge that is taken out may take to send what it holds.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why the bridges do not follow their file.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// There is none.
    #[error("the bridge was started without a file (`--config`)")]
    NoFile,
    /// It has problems.
    #[error("{0}nothing was changed")]
    File(Problems),
    /// Something in it cannot be changed while they run.
    #[error("cannot be changed while the bridge runs, so nothing was: {}", .0.join("; "))]
    Fixed(Vec<String>),
    /// A new pair cannot be opened.
    #[error("pair {0}: {1}; nothing was changed")]
    Open(String, #[source] BridgeError),
    /// A file that a pair is to be captured to cannot be written.
    #[error("pair {0}: pcap: {1}: {2}; nothing was changed")]
    Pcap(String, PathBuf, #[source] io::Error),
    /// The process ends.
    #[error("the bridge ends; nothing was changed")]
    Stops,
    /// Some of them did not do it.
    #[error("{}", .0.join("; "))]
    Partly(Vec<String>),
}

/// What is to be done with a pair.
enum Step {
    Start(Pair),
    /// By the number of the member.
    Change(usize, Pair, Vec<Difference>),
    End(usize),
}

/// What is open and has not begun.
struct ToBegin {
    pairs: Vec<Opened>,
    /// Captures, by the number of the member.
    recordings: Vec<(usize, Recording)>,
}

impl Fleet {
    /// Has the bridges follow their file for somebody, and says what differs, a line each; with
    /// `dry_run` it only says so.
    ///
    /// # Errors
    /// When something in the file is wrong or cannot be done; nothing is changed then. When a
    /// bridge hangs, its part alone is not changed.
    pub fn reload(&self, by: &str, dry_run: bool) -> Result<Vec<String>, ReloadError> {
        if dry_run {
            return self.follow_file(true);
        }
        self.notify.reloading();
        let told = self.follow_file(false);
        // What was before, and what reading the file has taken.
        give_memory_back();
        match &told {
            Ok(changes) if changes.is_empty() => self.note(by, "reload: nothing differs"),
            Ok(changes) => changes.iter().for_each(|change| self.note(by, change)),
            Err(error @ ReloadError::Partly(_)) => {
                self.note(by, &format!("reload: carried out, except: {error}"));
            }
            Err(error) => self.note(by, &format!("reload refused: {error}")),
        }
        self.ready();
        told
    }

    fn follow_file(&self, dry_run: bool) -> Result<Vec<String>, ReloadError> {
        let path = self.file.as_deref().ok_or(ReloadError::NoFile)?;
        // One at a time. Files are read and opened while the list of pairs is free: who asks, or
        // stops, does not wait for a disk.
        let one = self.reloads.lock();
        let _one = one.unwrap_or_else(PoisonError::into_inner);
        let wanted = self.read(path)?;
        let steps = plan(&self.members(), wanted)?;
        let told = {
            let members = self.members();
            let told = steps.iter().filter_map(|step| step.show(&members));
            told.collect()
        };
        if dry_run {
            return Ok(told);
        }
        let opened = self.prepare(&steps)?;
        let mut members = self.members();
        if self.stops.load(Ordering::Relaxed) {
            return Err(ReloadError::Stops);
        }
        let failed = self.follow(&mut members, &steps, opened);
        drop(members);
        if failed.is_empty() {
            Ok(told)
        } else {
            Err(ReloadError::Partly(failed))
        }
    }

    /// Looks whether what runs can become what is wanted, and opens what there is to open: new
    /// pairs, and files of captures by the numbers of members.
    fn prepare(&self, steps: &[Step]) -> Result<ToBegin, ReloadError> {
        let mut pairs = Vec::new();
        let mut recordings = Vec::new();
        for step in steps {
            match step {
                Step::Start(pair) => {
                    let open = self.open(pair.clone());
                    pairs.push(open.map_err(|error| self.cannot_open(&pair.name, error))?);
                }
                // Nobody but a reload changes the list, or what is captured to files.
                Step::Change(index, pair, _) if self.members()[*index].pair().pcap != pair.pcap => {
                    let Some(pcap) = pair.pcap.clone() else {
                        continue;
                    };
                    let (name, path) = (pair.name.clone(), pcap.path.clone());
                    let open = Recording::open(pcap)
                        .map_err(|error| ReloadError::Pcap(name, path, error))?;
                    recordings.push((*index, open));
                }
                Step::Change(..) | Step::End(_) => {}
            }
        }
        Ok(ToBegin { pairs, recordings })
    }

    /// Why a new pair cannot be opened, at its place in the file if that names what is wrong.
    fn cannot_open(&self, pair: &str, error: BridgeError) -> ReloadError {
        match (&self.file, error.interface()) {
            (Some(file), Some(interface)) => {
                let message = error.to_string();
                ReloadError::File(BridgeFile::complaint(file, interface, &message))
            }
            _ => ReloadError::Open(pair.to_owned(), error),
        }
    }

    /// Does it; yields what could not be done. Captures end before others begin, which may have
    /// their files.
    fn follow(&self, members: &mut Vec<Member>, steps: &[Step], opened: ToBegin) -> Vec<String> {
        let mut failed = Vec::new();
        let mut gone = Vec::new();
        for step in steps {
            match step {
                Step::Start(_) => {}
                Step::Change(index, pair, _) => {
                    let member = &mut members[*index];
                    if member.pair().pcap != pair.pcap {
                        self.end_capture(member, &mut failed);
                    }
                    let changed = member.remote.reconfigure(|it| *it = pair.config.clone());
                    let begun = matches!(
                        changed,
                        Ok(()) | Err(RemoteError::Late | RemoteError::Partly(_))
                    );
                    if begun {
                        member.name.clone_from(&pair.name);
                    }
                    let why = changed.err();
                    failed.extend(why.map(|why| format!("pair {}: {why}", member.name)));
                }
                Step::End(index) => {
                    members[*index].stop();
                    gone.push(*index);
                }
            }
        }
        for &index in &gone {
            if !ends(&members[index]) {
                failed.push(format!("pair {}: it does not end", members[index].name));
            }
            self.end_capture(&mut members[index], &mut failed);
        }
        for (index, recording) in opened.recordings {
            let member = &mut members[index];
            let begun = self.begin_capture(member, recording);
            failed.extend(
                begun
                    .err()
                    .map(|why| format!("pair {}: {why}", member.name)),
            );
        }
        gone.sort_unstable();
        for index in gone.into_iter().rev() {
            members.remove(index);
        }
        for pair in opened.pairs {
            let (member, begun) = self.let_go(pair);
            let why = begun
                .err()
                .map(|why| format!("pair {}: its capture: {why}", member.name));
            failed.extend(why);
            members.push(member);
        }
        failed
    }

    /// Ends a member's capture to a file, if it has one.
    fn end_capture(&self, member: &mut Member, failed: &mut Vec<String>) {
        let Some(recorder) = member.recorder.take() else {
            return;
        };
        let (name, path) = (&member.name, recorder.pcap.path.display());
        let ended = match self.end_recording(&recorder) {
            Ok(ended) => ended,
            Err(why) => return failed.push(format!("pair {name}: {why}")),
        };
        if ended.lost > 0 {
            let what = format!("pair {name}: {path}: {} frames were left out", ended.lost);
            self.note("pcap", &what);
        }
        // A disk that became full before is no fault of the reload, which is carried out.
        if let Err(why) = ended.result {
            self.note("pcap", &format!("pair {name}: {why}"));
        }
    }

    fn begin_capture(&self, member: &mut Member, recording: Recording) -> Result<(), String> {
        let (probe, view) = recording.probe();
        let showing = member
            .remote
            .show(probe)
            .map_err(|error| error.to_string())?;
        let begun = self.record(Look { view, showing }, member.remote.clone(), recording);
        member.recorder = Some(begun.map_err(|error| format!("its capture: {error}"))?);
        Ok(())
    }

    /// The pairs that the file asks for.
    fn read(&self, path: &Path) -> Result<Vec<Pair>, ReloadError> {
        let file = BridgeFile::load(path).map_err(ReloadError::File)?;
        for warning in file.warnings.to_string().lines() {
            self.note("reload", warning);
        }
        let fixed = around(&self.around, &file.around);
        if !fixed.is_empty() {
            return Err(ReloadError::Fixed(
                fixed.iter().map(ToString::to_string).collect(),
            ));
        }
        Ok(file.pairs.into_iter().map(Pair::from).collect())
    }
}

/// Waits for a member that was asked to end.
fn ends(member: &Member) -> bool {
    let end = Instant::now() + PATIENCE;
    while member.lives() && Instant::now() < end {
        thread::sleep(Duration::from_millis(5));
    }
    !member.lives()
}

/// What leads from the members to the pairs that are wanted. A pair is known by its interfaces.
fn plan(members: &[Member], wanted: Vec<Pair>) -> Result<Vec<Step>, ReloadError> {
    let running: Vec<_> = members
        .iter()
        .map(|member| member.remote.config())
        .collect();
    let mut steps = Vec::new();
    let mut fixed = Vec::new();
    let mut stays = vec![false; members.len()];
    for pair in wanted {
        let ports = |of: &sojourn_bridge::BridgeConfig| [of.left.clone(), of.right.clone()];
        let same = running
            .iter()
            .position(|config| ports(config) == ports(&pair.config));
        let Some(index) = same else {
            steps.push(Step::Start(pair));
            continue;
        };
        if !members[index].lives() {
            // It has ended by itself: its interface was gone.
            steps.push(Step::Start(pair));
            continue;
        }
        stays[index] = true;
        let found = differences(&members[index].pair(), &pair);
        let set_once = found.iter().filter(|difference| difference.is_fixed);
        fixed.extend(set_once.map(|difference| format!("pair {}: {difference}", pair.name)));
        if !found.is_empty() || members[index].remote.behind().is_some() {
            steps.push(Step::Change(index, pair, found));
        }
    }
    for (index, config) in running
        .iter()
        .enumerate()
        .filter(|(index, _)| !stays[*index])
    {
        let member = &members[index];
        let ports = [&config.left, &config.right];
        let starts = steps.iter().filter_map(|step| match step {
            Step::Start(pair) if member.lives() => Some(pair),
            _ => None,
        });
        for pair in starts {
            let own = [&pair.config.left, &pair.config.right].into_iter();
            fixed.extend(own.filter(|port| ports.contains(port)).map(|port| {
                format!(
                    "pair {}: `{port}` is still in the pair {}: take that out with a reload first",
                    pair.name, member.name
                )
            }));
        }
        steps.push(Step::End(index));
    }
    if fixed.is_empty() {
        Ok(steps)
    } else {
        Err(ReloadError::Fixed(fixed))
    }
}

impl Step {
    /// In words; what has ended by itself need not be told again.
    fn show(&self, members: &[Member]) -> Option<String> {
        Some(match self {
            Self::Start(pair) => format!("pair {} starts: {}", pair.name, describe(&pair.config)),
            Self::Change(index, _, found) => {
                let behind = members[*index]
                    .remote
                    .behind()
                    .map(|it| format!("{it} still to make the last change"));
                let found: Vec<String> = found
                    .iter()
                    .map(ToString::to_string)
                    .chain(behind)
                    .collect();
                format!("pair {}: {}", members[*index].name, found.join("; "))
            }
            Self::End(index) if members[*index].lives() => {
                format!("pair {} ends", members[*index].name)
            }
            Self::End(_) => return None,
        })
    }
}
