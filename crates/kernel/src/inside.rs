//! A guest's side of a run: the cell of its task, on the live runner.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sojourn_live::Guests;
use sojourn_report::{SUMMARY, TABLE, summary_json, write_table};
use sojourn_scenario::Scenario;
use sojourn_units::{Span, Time};
use sojourn_world::{RunResult, ScenarioInfo, Tap, Taps, World as _};

use crate::KernelError;
use crate::job::{AT, HOST, SHARED};
use crate::task::{PACKETS, Record, TASK, Task};

/// How often progress is told over a run.
const STEPS: u64 = 200;

/// Runs the cell that stands in the shared folder, and puts its result there.
///
/// Whether that went well; if not, standard output says why.
pub fn run_task() -> bool {
    let outcome = task();
    if let Err(error) = &outcome {
        // The reason must have room on a disk that they have filled.
        let _ = fs::remove_file(shared(PACKETS));
        println!("sojourn: {error}");
    }
    outcome.is_ok()
}

fn task() -> Result<(), KernelError> {
    let path = shared(TASK);
    let bytes = fs::read(&path).map_err(KernelError::io("read the guest's task"))?;
    let task = Task::from_bytes(&bytes).ok_or(KernelError::Task)?;
    let cell = Scenario::cell(&task.source(HOST), &task.params, task.seed)
        .map_err(|problems| KernelError::Scenario(problems.to_string()))?;
    let packets = Packets::create(&task)?;
    let taps = packets.taps(&task);
    let queues = task.queues().ok_or(KernelError::Task)?;
    let [client, server] = task.programs;
    let guests = Guests {
        client,
        server,
        queues,
        repeats: true,
    };
    let mut next = Time::ZERO;
    let step = Span::from_nanos(cell.duration.as_nanos() / STEPS);
    let mut progress = |now: Time| {
        if now >= next {
            println!("{AT}{}", now.as_nanos());
            // The host shall see it now, if it is a file.
            let _ = rustix::fs::fsync(std::io::stdout());
            next = now + step;
        }
        ControlFlow::Continue(())
    };
    let result = guests.run(&cell, taps, &mut progress)?;
    packets.finish()?;
    let info = ScenarioInfo {
        name: cell.scenario,
        ..ScenarioInfo::default()
    };
    write(&info, &result)
}

fn shared(name: &str) -> PathBuf {
    Path::new(SHARED).join(name)
}

/// Writes what the host reads. The host's disk may be full, which only `fsync` tells.
fn write(info: &ScenarioInfo, result: &RunResult) -> Result<(), KernelError> {
    let results = std::slice::from_ref(result);
    let mut table = Vec::new();
    write_table(&mut table, info, results)?;
    let files = [
        (SUMMARY, summary_json(info, results).into_bytes()),
        (TABLE, table),
    ];
    for (name, bytes) in files {
        let written = File::create(shared(name)).and_then(|mut file| {
            file.write_all(&bytes)?;
            file.sync_all()
        });
        written.map_err(KernelError::io("write the result"))?;
    }
    Ok(())
}

/// The file of the captured packets, if any are wanted.
struct Packets(Option<Arc<Mutex<Output>>>);

struct Output {
    file: BufWriter<File>,
    /// What went wrong first.
    failed: Option<std::io::Error>,
}

impl Output {
    fn write(&mut self, record: &Record<'_>) {
        let bytes = postcard::to_stdvec(record).expect("numbers and bytes can be written");
        if let (None, Err(error)) = (&self.failed, self.file.write_all(&bytes)) {
            self.failed = Some(error);
        }
    }
}

impl Packets {
    fn create(task: &Task) -> Result<Self, KernelError> {
        if task.points().next().is_none() {
            return Ok(Self(None));
        }
        let file = File::create(shared(PACKETS)).map_err(KernelError::io("write the packets"))?;
        let output = Output {
            file: BufWriter::with_capacity(1 << 20, file),
            failed: None,
        };
        Ok(Self(Some(Arc::new(Mutex::new(output)))))
    }

    fn taps(&self, task: &Task) -> Taps {
        let mut taps = Taps {
            points: Vec::new(),
            snap_len: task.snap_len,
        };
        for (number, point) in task.points().enumerate() {
            let Some(output) = &self.0 else { break };
            let tap = FileTap {
                number,
                snap_len: task.snap_len,
                output: Arc::clone(output),
            };
            taps.points.push((point, Box::new(tap)));
        }
        taps
    }

    fn finish(self) -> Result<(), KernelError> {
        let Some(output) = self.0 else {
            return Ok(());
        };
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match output.failed.take() {
            Some(error) => Err(error),
            None => (output.file.flush()).and_then(|()| output.file.get_ref().sync_all()),
        };
        written.map_err(KernelError::io("write the packets"))
    }
}

/// A tap that writes down what it is told.
struct FileTap {
    number: usize,
    snap_len: usize,
    output: Arc<Mutex<Output>>,
}

impl FileTap {
    fn write(&self, record: &Record<'_>) {
        let output = self.output.lock();
        output.unwrap_or_else(PoisonError::into_inner).write(record);
    }
}

impl Tap for FileTap {
    fn frame(&mut self, at: Time, outgoing: bool, bytes: &[u8], len: u32) {
        self.write(&Record::Frame {
            tap: self.number,
            at: at.as_nanos(),
            outgoing,
            len,
            bytes: Cow::Borrowed(&bytes[..bytes.len().min(self.snap_len)]),
        });
    }

    fn lost(&mut self, packets: u64) {
        let tap = self.number;
        self.write(&Record::Lost { tap, packets });
    }
}
