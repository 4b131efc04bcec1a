//! The kernel world: a cell on the live runner, in a guest of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sojourn_live::{Guests, Queues};
use sojourn_scenario::Scenario;
use sojourn_units::Time;
use sojourn_world::{Cell, Cost, Progress, RunResult, Taps, World, WorldError, WorldName};

use crate::KernelError;
use crate::control;
use crate::extra::ExtraKind;
use crate::guest::{Ended, Guest, Machine};
use crate::job::{Job, Output};
use crate::store::Store;
use crate::task::{PACKETS, Record, TASK, Task};

/// Variables that a run with programs has in a guest, where this process has them. Others could
/// make a difference between two runs.
const ENVIRONMENT: [&str; 3] = ["HOME", "LANG", "PATH"];
/// Where a run without programs looks for tc: each folder in which it is not takes a moment of the
/// guest's time.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// The world of the real kernel in virtual time. Each run has a guest of its own, made with the
/// cell's seed.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// How guests are made; the seed is the cell's.
    pub machine: Machine,
    /// The live runner in the guest.
    pub guests: Guests,
}

impl Kernel {
    /// What it is called with our queues.
    pub const NAME: WorldName = WorldName::new("kernel");
    /// What it is called with the kernel's own queues.
    pub const TC_NAME: WorldName = WorldName::new("kernel-tc");
    /// What it is called with our queues inside the kernel.
    pub const MODULE_NAME: WorldName = WorldName::new("kernel-module");

    /// The task of a cell, which the guest must understand as the same cell.
    fn task(&self, cell: &Cell, taps: &Taps) -> Result<Task, KernelError> {
        let source = cell.source.as_deref().ok_or(KernelError::NoSource)?;
        let remade = Scenario::cell(source, &cell.params, cell.seed).ok();
        if remade.as_ref() != Some(cell) {
            return Err(KernelError::NoSource);
        }
        let mut task = Task::new(source, &cell.params, cell.seed);
        task.set_queues(self.guests.queues);
        task.programs = [self.guests.client.clone(), self.guests.server.clone()];
        let points = taps.points.iter().map(|(point, _)| *point);
        task.capture(points, taps.snap_len);
        Ok(task)
    }

    fn guest(&self, cell: &Cell, task: &Task) -> Result<Guest, KernelError> {
        let mut machine = Machine {
            seed: cell.seed,
            ..self.machine.clone()
        };
        if control::is_in(cell) {
            let store = Store::of_user()?;
            let kernel = machine.kernel.kernel;
            let with_control = store.newest_with(kernel, ExtraKind::Control);
            machine.kernel.path = with_control.ok_or_else(|| KernelError::NoOwnControl {
                kernel: kernel.into(),
                dir: store.dir().to_owned(),
            })?;
        }
        // Programs' words are for people, so that they need the console.
        let programs = task.programs.iter().any(Option::is_some);
        let output = if programs {
            Output::Console
        } else {
            Output::Log
        };
        let mut guest = machine.prepare(output)?;
        fs::write(guest.dir().join(TASK), task.to_bytes())
            .map_err(KernelError::io("write a guest's task"))?;
        if programs {
            guest.echo();
        }
        // The first process is this program, whatever hides the folder in which it stands.
        let arguments = self
            .machine
            .roles
            .task
            .iter()
            .map(|&word| word.to_owned())
            .collect();
        let mut job = Job::new("/proc/self/exe", arguments);
        job.output = output;
        if programs {
            job.environment
                .retain(|(name, _)| ENVIRONMENT.contains(&name.as_str()));
            job.environment.sort();
        } else {
            job.environment = vec![("PATH".to_owned(), PATH.to_owned())];
        }
        guest.go(&job)?;
        Ok(guest)
    }
}

impl World for Kernel {
    fn name(&self) -> WorldName {
        match self.guests.queues {
            Queues::Ours => Self::NAME,
            Queues::Kernel => Self::TC_NAME,
            Queues::Module => Self::MODULE_NAME,
        }
    }

    fn run(
        &self,
        cell: &Cell,
        mut taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        let began = Instant::now();
        self.guests.check(cell).map_err(WorldError::unfit)?;
        let task = self.task(cell, &taps)?;
        let guest = self.guest(cell, &task)?;
        let mut going = |at| progress(Time::from_nanos(at));
        let (status, ended) = guest.wait(&mut going)?;
        if status != 0 {
            return Err(guest.failed(&format!("status {status}")).into());
        }
        show(&guest.dir().join(PACKETS), &mut taps)?;
        let mut result = result(guest.dir())?;
        drop(guest);
        result.world = self.name();
        cost(&mut result.cost, &ended, began);
        Ok(result)
    }
}

fn cost(cost: &mut Cost, ended: &Ended, began: Instant) {
    cost.cpu_s = ended.cpu.as_secs_f64();
    cost.wall_s = began.elapsed().as_secs_f64();
    cost.peak_rss_bytes = ended.peak_rss_bytes;
}

/// The one result of a guest's folder.
fn result(dir: &Path) -> Result<RunResult, KernelError> {
    let read = sojourn_report::merge(&[PathBuf::from(dir)])?;
    read.whole()?.into_iter().next().ok_or(KernelError::Task)
}

/// Shows the packets that were captured to those who want to see them.
fn show(path: &Path, taps: &mut Taps) -> Result<(), KernelError> {
    if taps.is_empty() {
        return Ok(());
    }
    let bytes = fs::read(path).map_err(KernelError::io("read the packets of a guest"))?;
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        let (record, left) =
            postcard::take_from_bytes::<Record<'_>>(rest).map_err(|_| KernelError::Task)?;
        rest = left;
        let (Record::Frame { tap, .. } | Record::Lost { tap, .. }) = record;
        let (_, tap) = taps.points.get_mut(tap).ok_or(KernelError::Task)?;
        match record {
            Record::Frame {
                at,
                outgoing,
                len,
                bytes,
                ..
            } => tap.frame(Time::from_nanos(at), outgoing, &bytes, len),
            Record::Lost { packets, .. } => tap.lost(packets),
        }
    }
    Ok(())
}

impl From<KernelError> for WorldError {
    fn from(error: KernelError) -> Self {
        match error {
            KernelError::Interrupted => Self::Interrupted,
            error => Self::machine(error),
        }
    }
}
