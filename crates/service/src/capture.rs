//! Captures of running bridges: pcapng to a file, or to whoever asked for it at the socket.
//!
//! Each has a thread of its own, which the forwarding thread hands copies of frames and never waits
//! for: what a slow disk or reader keeps out is counted.

use crate::Fleet;
use crate::file::PcapFile;
use crate::fleet::AskError;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FsWord, OFlags, PROC_SUPER_MAGIC, fstatfs};
use rustix::io::Errno;
use serde_json::{Value, json};
use sojourn_bridge::{
    BridgeConfig, CapturePoint, Probe, Remote, Showing, Shown, Side, View, probe,
};
use sojourn_capture::{Direction, Interface, LinkType, SNAP_LEN, Writer};
use sojourn_units::{Span, Time, words};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Read as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a capture looks whether it is over.
const LOOK: Duration = Duration::from_millis(100);
/// How long it waits at the end for what is still to come.
const REST: Duration = Duration::from_millis(1);
/// How long one to a file may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

words! {
    /// Where a bridge's frames are captured.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CapturePlace {
        /// What the hosts beyond the left port send and get.
        Left = "left",
        /// What those beyond the right port do.
        Right = "right",
        /// What is offered to the queue from left to right, also what it drops.
        UpIn = "up:in",
        /// What leaves that queue.
        Up = "up",
        /// What is offered to the queue from right to left.
        DownIn = "down:in",
        /// What leaves that queue.
        Down = "down",
    }
}

impl CapturePlace {
    /// The one of this word.
    pub fn find(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.word() == word)
    }

    const fn point(self) -> CapturePoint {
        match self {
            Self::Left => CapturePoint::Beyond(Side::Up),
            Self::Right => CapturePoint::Beyond(Side::Down),
            Self::UpIn => CapturePoint::Offered(Side::Up),
            Self::Up => CapturePoint::Dequeued(Side::Up),
            Self::DownIn => CapturePoint::Offered(Side::Down),
            Self::Down => CapturePoint::Dequeued(Side::Down),
        }
    }

    /// As an interface of the file: what a port's hosts see is called as the port is.
    fn interface(self, config: &BridgeConfig, snap_len: u32) -> Interface<'_> {
        let (name, description) = match self {
            Self::Left => (&*config.left, "as seen by the hosts beyond this port"),
            Self::Right => (&*config.right, "as seen by the hosts beyond this port"),
            Self::UpIn | Self::DownIn => (self.word(), "what is offered to the queue"),
            Self::Up | Self::Down => (self.word(), "what leaves the queue"),
        };
        Interface {
            name,
            description,
            link_type: LinkType::Ethernet,
            snap_len,
        }
    }
}

/// What is to be captured, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Where; an interface of the file each.
    pub places: Vec<CapturePlace>,
    /// Bytes of each frame that are kept, [`CAPTURED`](sojourn_bridge::CAPTURED) at most.
    pub snap_len: u32,
    /// It ends after so many frames.
    pub frames: Option<u64>,
    /// It ends after so long.
    pub duration: Option<Span>,
}

/// sysfs, from linux/magic.h.
const SYSFS_MAGIC: FsWord = 0x6265_6572;

impl Default for Wanted {
    /// What the hosts beyond both ports send and get, without an end.
    fn default() -> Self {
        Self {
            places: vec![CapturePlace::Left, CapturePlace::Right],
            snap_len: SNAP_LEN,
            frames: None,
            duration: None,
        }
    }
}

/// A capture to a file that can begin.
#[derive(Debug)]
pub(crate) struct Recording {
    wanted: Wanted,
    file: File,
    pcap: PcapFile,
}

impl Recording {
    /// The file is there afterwards, and has in it what it had.
    ///
    /// # Errors
    /// When it cannot be written, or is no regular file: a pipe may wait for its reader without
    /// end. Nor may it be of the kernel's own file systems, whose files only look regular:
    /// `/proc/self/mem` is this process.
    pub(crate) fn open(pcap: PcapFile) -> io::Result<Self> {
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create(true)
            .truncate(false)
            .custom_flags(flags.bits().cast_signed())
            .open(&pcap.path);
        let is_regular = match &file {
            Ok(file) => file.metadata()?.is_file(),
            // A symbolic link, a pipe without a reader, a socket.
            Err(error) => !matches!(
                error.raw_os_error().map(Errno::from_raw_os_error),
                Some(Errno::LOOP | Errno::NXIO)
            ),
        };
        if !is_regular {
            let what = "it is not a regular file (a pipe, a device or a symbolic link)";
            return Err(io::Error::other(what));
        }
        let file = file?;
        if [PROC_SUPER_MAGIC, SYSFS_MAGIC].contains(&fstatfs(&file)?.f_type) {
            let what = "it is not a regular file but one of the kernel's (/proc, /sys)";
            return Err(io::Error::other(what));
        }
        Ok(Self {
            wanted: Wanted {
                snap_len: pcap.snap_len.unwrap_or(SNAP_LEN),
                ..Wanted::default()
            },
            file,
            pcap,
        })
    }

    /// Both ends of what shows it.
    pub(crate) fn probe(&self) -> (Probe, View) {
        self.wanted.probe()
    }
}

/// A capture to a file under way.
pub(crate) struct Recorder {
    pub(crate) pcap: PcapFile,
    stop: Arc<AtomicBool>,
}

/// What has become of a capture to a file.
#[derive(Debug)]
pub struct Recorded {
    /// The file.
    pub path: PathBuf,
    /// Frames that were left out because the disk was too slow.
    pub lost: u64,
    /// Why it could not be written to the end.
    pub result: io::Result<()>,
}

/// The threads of captures.
#[derive(Default)]
pub(crate) struct Captures {
    to_clients: Mutex<Vec<JoinHandle<()>>>,
    to_files: Mutex<Vec<ToFile>>,
}

/// A thread that writes a file, and what ends it.
type ToFile = (Arc<AtomicBool>, JoinHandle<Recorded>);

fn locked<T>(threads: &Mutex<T>) -> MutexGuard<'_, T> {
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a capture goes.
enum Sink {
    File(File, Arc<AtomicBool>),
    Client(Client),
}

/// Somebody at the other end of a socket who may not read.
struct Client {
    stream: UnixStream,
    remote: Remote,
    end: Option<Instant>,
}

/// Why a capture is over.
enum Why {
    Frames,
    Duration,
    Asked,
    Gone,
    Bridge,
}

impl Why {
    const fn word(&self) -> &'static str {
        match self {
            Self::Frames => "that is as many as were asked for",
            Self::Duration => "that was as long as was asked for",
            Self::Asked => "as its reader has asked",
            Self::Gone => "its reader has gone",
            Self::Bridge => "the bridge has ended",
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file, _) => file.write(bytes),
            Self::Client(client) => client.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Client {
    /// Waits for room, as long as the capture is not over.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.stream.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.is_late() {
                        return Err(io::Error::new(ErrorKind::TimedOut, "it does not read"));
                    }
                }
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
                    ) =>
                {
                    return Err(io::Error::new(error.kind(), Why::Gone.word()));
                }
                written => return written,
            }
        }
    }

    fn is_late(&self) -> bool {
        let late = self.end.is_some_and(|end| Instant::now() >= end);
        late || self.remote.has_ended()
    }

    /// Whether it has gone, or said that it has enough: with anything that it sends, or its end.
    fn over(&self) -> Option<Why> {
        let mut polled = [PollFd::new(&self.stream, PollFlags::IN)];
        // An interruption is looked at the next time.
        poll(&mut polled, Some(&Timespec::default())).ok()?;
        let seen = polled[0].revents();
        if seen.intersects(PollFlags::HUP | PollFlags::ERR) {
            Some(Why::Gone)
        } else if seen.contains(PollFlags::IN) {
            // What is unread at the end would cut off what it has not read.
            let _ = (&self.stream).read(&mut [0; 1024]);
            Some(Why::Asked)
        } else {
            None
        }
    }
}

/// What shows frames, as long as both are there.
pub(crate) struct Look {
    pub(crate) view: View,
    pub(crate) showing: Showing,
}

/// Frames captured, frames left out, and why it is over.
type Outcome = (u64, u64, io::Result<Why>);

/// A capture under way.
struct Session {
    view: View,
    showing: Option<Showing>,
    remote: Remote,
    wanted: Wanted,
    writer: Writer<BufWriter<Sink>>,
    /// Time of day at the bridge's zero.
    epoch: Span,
    seen: u64,
    end: Option<Instant>,
}

impl Session {
    fn begin(
        look: Look,
        remote: Remote,
        wanted: Wanted,
        sink: Sink,
        end: Option<Instant>,
    ) -> io::Result<Self> {
        let config = remote.config();
        let application = format!("sojourn {}", sojourn_version::VERSION);
        let comment = format!("bridge {} <-> {}", config.left, config.right);
        let mut writer = Writer::new(BufWriter::new(sink), &application, &comment)?;
        for place in &wanted.places {
            writer.interface(&place.interface(&config, wanted.snap_len))?;
        }
        writer.flush()?;
        let day = SystemTime::now().duration_since(UNIX_EPOCH);
        let day = Span::from_nanos(day.unwrap_or_default().as_nanos() as u64);
        Ok(Self {
            view: look.view.of_threads(config.workers as usize),
            showing: Some(look.showing),
            remote,
            writer,
            epoch: day - (config.clock.now() - Time::ZERO),
            seen: 0,
            wanted,
            end,
        })
    }

    /// Captures to the end.
    fn run(mut self) -> Outcome {
        let recorded = self.record();
        // The bridge shows no more.
        drop(self.showing.take());
        let points = 0..self.wanted.places.len();
        let lost: Vec<u64> = points.map(|number| self.view.lost(number)).collect();
        let result = recorded.and_then(|why| self.finish(&lost).map(|()| why));
        (self.seen, lost.iter().sum(), result)
    }

    /// Writes what waited when it ended, and what was left out.
    fn finish(&mut self, lost: &[u64]) -> io::Result<()> {
        while self.wanted.frames != Some(self.seen)
            && let Some(shown) = self.view.next(REST)
        {
            self.write(&shown)?;
        }
        for (interface, lost) in lost.iter().enumerate() {
            self.writer.statistics(interface as u32, *lost)?;
        }
        self.writer.flush()
    }

    fn record(&mut self) -> io::Result<Why> {
        let mut looked = Instant::now();
        loop {
            let mut shown = self.view.next(Duration::ZERO);
            if shown.is_none() {
                self.writer.flush()?;
                shown = self.view.next(self.patience());
            }
            if shown.is_none() || looked.elapsed() >= LOOK {
                if let Some(why) = self.over() {
                    // It came before the end was seen.
                    shown.map_or(Ok(()), |shown| self.write(&shown))?;
                    return Ok(why);
                }
                looked = Instant::now();
            }
            if let Some(shown) = shown {
                self.write(&shown)?;
            }
            if self.wanted.frames == Some(self.seen) {
                return Ok(Why::Frames);
            }
        }
    }

    fn write(&mut self, shown: &Shown) -> io::Result<()> {
        self.seen += 1;
        let direction = if shown.outgoing {
            Direction::Outbound
        } else {
            Direction::Inbound
        };
        let (interface, at) = (shown.point as u32, shown.at + self.epoch);
        self.writer
            .packet(interface, at, direction, shown.bytes(), shown.len)
    }

    /// How long it may wait for a frame.
    fn patience(&self) -> Duration {
        let left = self
            .end
            .map(|end| end.saturating_duration_since(Instant::now()));
        left.map_or(LOOK, |left| left.min(LOOK))
    }

    fn over(&self) -> Option<Why> {
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return Some(Why::Duration);
        }
        if self.remote.has_ended() {
            return Some(Why::Bridge);
        }
        match self.writer.get_ref().get_ref() {
            Sink::File(_, stop) => stop.load(Ordering::Relaxed).then_some(Why::Asked),
            Sink::Client(client) => client.over(),
        }
    }
}

impl Wanted {
    /// Both ends of what shows it.
    pub(crate) fn probe(&self) -> (Probe, View) {
        let points: Vec<CapturePoint> = self.places.iter().map(|place| place.point()).collect();
        probe(&points, self.snap_len as usize)
    }

    /// Where, in words.
    fn show(&self) -> String {
        let words: Vec<&str> = self.places.iter().map(|place| place.word()).collect();
        words.join(", ")
    }

    fn end(&self) -> Option<Instant> {
        let span = Duration::from_nanos(self.duration?.as_nanos());
        Instant::now().checked_add(span)
    }
}

impl Fleet {
    /// Captures a pair for somebody, who gets the answer and after it the capture, until it ends or
    /// he does.
    ///
    /// # Errors
    /// When there is no such pair, or it does not show its frames to one more.
    pub(crate) fn capture(
        self: &Arc<Self>,
        by: &str,
        pair: Option<&str>,
        wanted: Wanted,
        stream: UnixStream,
    ) -> Result<(), AskError> {
        let (name, remote) = self.find(pair)?;
        let (probe, view) = wanted.probe();
        let showing = remote
            .show(probe)
            .map_err(|error| AskError::Remote(name.clone(), error))?;
        self.note(
            by,
            &format!("pair {name}: a capture begins: {}", wanted.show()),
        );
        let (fleet, by) = (Arc::clone(self), by.to_owned());
        let capture = move || {
            let answer = json!({"ok": true, "pair": name});
            let (seen, lost, why) =
                to_client(&answer, Look { view, showing }, remote, wanted, stream)
                    .unwrap_or_else(|error| (0, 0, Err(error)));
            let why = why.map_or_else(|error| error.to_string(), |why| why.word().to_owned());
            let told = format!("a capture ends: {seen} frames, {lost} left out; {why}");
            fleet.note(&by, &format!("pair {name}: {told}"));
        };
        let thread = thread::Builder::new().name("capture".into()).spawn(capture);
        let mut threads = locked(&self.captures.to_clients);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread.map_err(AskError::Thread)?);
        Ok(())
    }

    /// Captures a member to a file from now on, as long as it lives and nobody ends it.
    pub(crate) fn record(
        &self,
        look: Look,
        remote: Remote,
        recording: Recording,
    ) -> io::Result<Recorder> {
        let Recording { wanted, file, pcap } = recording;
        file.set_len(0)?;
        let log = Arc::clone(&self.log);
        let stop = Arc::new(AtomicBool::new(false));
        let (path, stopped) = (pcap.path.clone(), Arc::clone(&stop));
        let capture = move || {
            let sink = Sink::File(file, stopped);
            let begun = Session::begin(look, remote, wanted, sink, None);
            let (_, lost, result) = match begun {
                Ok(session) => session.run(),
                Err(error) => (0, 0, Err(error)),
            };
            let result = result.map(drop).map_err(|error| {
                let what = format!("cannot write {}: {error}", path.display());
                log(format!(
                    "pcap: {what}; the capture ends, the bridge goes on"
                ));
                io::Error::new(error.kind(), what)
            });
            Recorded { path, lost, result }
        };
        let thread = thread::Builder::new()
            .name("capture".into())
            .spawn(capture)?;
        locked(&self.captures.to_files).push((Arc::clone(&stop), thread));
        Ok(Recorder { pcap, stop })
    }

    /// Ends a capture to a file, and says what has become of it.
    ///
    /// # Errors
    /// It does not end, or has panicked.
    pub(crate) fn end_recording(&self, recorder: &Recorder) -> Result<Recorded, String> {
        recorder.stop.store(true, Ordering::Relaxed);
        let end = Instant::now() + PATIENCE;
        let mut threads = locked(&self.captures.to_files);
        let found = threads
            .iter()
            .position(|(stop, _)| Arc::ptr_eq(stop, &recorder.stop));
        let Some(index) = found else {
            return Ok(Recorded {
                path: recorder.pcap.path.clone(),
                lost: 0,
                result: Ok(()),
            });
        };
        while !threads[index].1.is_finished() {
            if Instant::now() >= end {
                return Err(format!("{} is still written", recorder.pcap.path.display()));
            }
            thread::sleep(Duration::from_millis(5));
        }
        let (_, thread) = threads.remove(index);
        drop(threads);
        thread
            .join()
            .map_err(|_| "its capture has panicked".to_owned())
    }

    /// Waits for the captures of bridges that have ended, for those to files as long as a disk may
    /// take; what has become of those to files.
    pub fn finish_captures(&self) -> Vec<Recorded> {
        for thread in locked(&self.captures.to_clients).drain(..) {
            // It has said what there was to say.
            let _ = thread.join();
        }
        let end = Instant::now() + PATIENCE;
        let files: Vec<_> = locked(&self.captures.to_files).drain(..).collect();
        while Instant::now() < end && files.iter().any(|(_, it)| !it.is_finished()) {
            thread::sleep(Duration::from_millis(5));
        }
        // A file system that hangs keeps nobody: the process takes the thread with it.
        files
            .into_iter()
            .filter(|(_, it)| it.is_finished())
            .filter_map(|(_, it)| it.join().ok())
            .collect()
    }
}

fn to_client(
    answer: &Value,
    look: Look,
    remote: Remote,
    wanted: Wanted,
    stream: UnixStream,
) -> io::Result<Outcome> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(LOOK))?;
    let end = wanted.end();
    let mut client = Client {
        stream,
        remote: remote.clone(),
        end,
    };
    let mut line = format!("{answer}\n").into_bytes();
    while !line.is_empty() {
        let written = client.write(&line)?;
        line.drain(..written);
    }
    Ok(Session::begin(look, remote, wanted, Sink::Client(client), end)?.run())
}
