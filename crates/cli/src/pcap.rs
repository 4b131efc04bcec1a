//! Captures of runs: the files behind `run --pcap`.

use crate::WrongInput;
use sojourn_capture::{Direction, Interface, LinkType, Writer};
use sojourn_units::Time;
use sojourn_world::{Cell, Progress, RunResult, Tap, TapPoint, Taps, World, WorldError, WorldName};
use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::{Builder, TempPath};

/// A file under way, shared by its taps.
type Shared = Arc<Mutex<Capture>>;

/// A capture that is being written.
struct Capture {
    path: PathBuf,
    /// What it is called until it is whole; none once it has its place.
    temporary: Option<TempPath>,
    /// None once it has been finished, or could not be written.
    writer: Option<Writer<BufWriter<File>>>,
    error: Option<io::Error>,
}

impl Capture {
    /// A file beside its place, to be moved there when all is well, and gone otherwise.
    fn pending(path: &Path, comment: &str) -> io::Result<Shared> {
        // As any other file: who may read it is the user's choice (umask).
        let everybody = Permissions::from_mode(0o666);
        let (file, temporary) = Builder::new()
            .prefix(".capture-")
            .permissions(everybody)
            .tempfile_in(path.parent().unwrap_or(Path::new("")))?
            .into_parts();
        let out = BufWriter::new(file);
        let application = format!("sojourn {}", sojourn_version::VERSION);
        Ok(Arc::new(Mutex::new(Self {
            writer: Some(Writer::new(out, &application, comment)?),
            path: path.to_owned(),
            temporary: Some(temporary),
            error: None,
        })))
    }

    /// Writes something, unless that has failed before.
    fn write(&mut self, what: impl FnOnce(&mut Writer<BufWriter<File>>) -> io::Result<()>) {
        if let Some(writer) = &mut self.writer
            && let Err(error) = what(writer)
        {
            self.error = Some(error);
            self.writer = None;
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        let finished = match (self.writer.take(), self.error.take()) {
            (Some(writer), None) => writer.finish().map(drop),
            (_, Some(error)) => Err(error),
            (None, None) => Ok(()),
        };
        finished.map_err(|error| cannot_write(&self.path, &error))
    }
}

/// One interface of a file.
struct FileTap {
    capture: Shared,
    interface: u32,
}

impl FileTap {
    fn boxed(capture: &Shared, interface: &Interface<'_>) -> io::Result<Box<dyn Tap>> {
        let mut open = capture.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = open.writer.as_mut();
        let number = writer.map_or(Ok(0), |writer| writer.interface(interface))?;
        Ok(Box::new(Self {
            capture: Arc::clone(capture),
            interface: number,
        }))
    }

    fn write(&self, what: impl FnOnce(&mut Writer<BufWriter<File>>) -> io::Result<()>) {
        let mut capture = self.capture.lock().unwrap_or_else(PoisonError::into_inner);
        capture.write(what);
    }
}

impl Tap for FileTap {
    fn frame(&mut self, at: Time, outgoing: bool, bytes: &[u8], len: u32) {
        let direction = if outgoing {
            Direction::Outbound
        } else {
            Direction::Inbound
        };
        self.write(|writer| writer.packet(self.interface, at, direction, bytes, len));
    }

    fn lost(&mut self, lost: u64) {
        self.write(|writer| writer.statistics(self.interface, lost));
    }
}

/// A world that captures what the world behind it shows.
pub(crate) struct Capturing<'a> {
    pub(crate) world: &'a (dyn World + Sync),
    /// All cells of the grid: a file is named after its cell's number.
    pub(crate) cells: &'a [&'a Cell],
    /// Links and nodes.
    pub(crate) points: &'a [String],
    pub(crate) dir: &'a Path,
    pub(crate) snap_len: u32,
    /// Begins the files' names: empty, or the world and a dash where several worlds are run.
    pub(crate) prefix: String,
    /// The files of the runs that are over, and where they will stand.
    pub(crate) whole: Mutex<Vec<(TempPath, PathBuf)>>,
}

/// Captures that are whole, and where they will stand.
pub(crate) struct Captures(Vec<(TempPath, PathBuf)>);

impl Captures {
    /// Puts them in their places.
    pub(crate) fn keep(self) -> io::Result<()> {
        for (temporary, path) in self.0 {
            let kept = temporary.persist(&path);
            kept.map_err(|refused| cannot_write(&path, &refused.error))?;
        }
        Ok(())
    }
}

impl Capturing<'_> {
    /// Whether the names mean something in every cell.
    pub(crate) fn check(&self) -> Result<(), WrongInput> {
        for cell in self.cells {
            for name in self.points {
                let found = TapPoint::find(name, cell);
                found.map_err(|problem| WrongInput(format!("--pcap: {problem}")))?;
            }
        }
        Ok(())
    }

    /// The captures of all runs that are over; those of others are gone.
    pub(crate) fn whole(self) -> Captures {
        let whole = self.whole.into_inner();
        Captures(whole.unwrap_or_else(PoisonError::into_inner))
    }

    /// The file of a point: `run-3-down.pcapng`, `run-3-down-in.pcapng`.
    fn path(&self, cell: &Cell, point: &str) -> PathBuf {
        let mut cells = self.cells.iter();
        let index = cells.position(|known| std::ptr::eq(*known, cell));
        let number = index.map_or(0, |index| index + 1);
        let point = point.replace(':', "-");
        let prefix = &self.prefix;
        self.dir
            .join(format!("{prefix}run-{number}-{point}.pcapng"))
    }

    /// Opens the files of a run, each with its tap.
    fn open(&self, cell: &Cell, taps: &mut Taps) -> Result<Vec<Shared>, WorldError> {
        let mut files = Vec::new();
        taps.snap_len = taps.snap_len.max(self.snap_len as usize);
        let mut comment = format!("{}, {} world", cell.scenario, self.world.name());
        for (key, value) in &cell.params {
            let _ = write!(comment, ", {key} = {value}");
        }
        let _ = write!(comment, ", seed {}", cell.seed);
        for name in self.points {
            let point = TapPoint::find(name, cell)?;
            let description = match point {
                TapPoint::Node(_) => "what leaves and reaches the node's hosts",
                TapPoint::Offered(_) => "what is offered to the link's queue",
                TapPoint::Dequeued(_) => "what leaves the link's queue",
                TapPoint::Air(_) => "what the node's radio sends and can receive",
            };
            let interface = Interface {
                name,
                description,
                link_type: match (point, cell.link_header) {
                    (TapPoint::Air(_), _) => LinkType::Radiotap,
                    (_, 0) => LinkType::Raw,
                    _ => LinkType::Ethernet,
                },
                snap_len: self.snap_len,
            };
            let path = self.path(cell, name);
            let opened = Capture::pending(&path, &comment).and_then(|capture| {
                let tap = FileTap::boxed(&capture, &interface)?;
                Ok((capture, tap))
            });
            let (capture, tap) =
                opened.map_err(|error| WorldError::machine(cannot_write(&path, &error)))?;
            files.push(capture);
            taps.points.push((point, tap));
        }
        Ok(files)
    }
}

impl World for Capturing<'_> {
    fn name(&self) -> WorldName {
        self.world.name()
    }

    fn run(
        &self,
        cell: &Cell,
        mut taps: Taps,
        progress: Progress<'_>,
    ) -> Result<RunResult, WorldError> {
        let files = self.open(cell, &mut taps)?;
        let result = self.world.run(cell, taps, progress)?;
        finish(&files).map_err(WorldError::machine)?;
        for file in files {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(temporary) = file.temporary.take() {
                let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
                whole.push((temporary, file.path.clone()));
            }
        }
        Ok(result)
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> io::Error {
    let what = format!("cannot write {}: {error}", path.display());
    io::Error::new(error.kind(), what)
}

fn finish(files: &[Shared]) -> io::Result<()> {
    for file in files {
        let mut capture = file.lock().unwrap_or_else(PoisonError::into_inner);
        capture.finish()?;
    }
    Ok(())
}
