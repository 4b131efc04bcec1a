//! What a run that fails leaves behind: its scenario, its seed and its packets.

use sojourn_capture::{Direction, Interface, LinkType, Writer};
use sojourn_units::Time;
use sojourn_world::{Cell, Tap, TapPoint, Taps};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::{env, fs, io, process, thread};

/// Names the folder for what failing runs leave; without, that for temporary files.
const FOLDER: &str = "SOJOURN_NET_OUT";

/// A capture in memory.
type Shared = Arc<Mutex<Recording>>;

#[derive(Debug)]
struct Recording {
    writer: Writer<Vec<u8>>,
    /// Bytes that there is still room for.
    room: usize,
}

#[derive(Debug)]
pub(crate) struct Evidence {
    scenario: String,
    seed: u64,
    recording: Option<Shared>,
}

/// One node.
struct NodeTap {
    recording: Shared,
    interface: u32,
}

impl Tap for NodeTap {
    fn frame(&mut self, at: Time, outgoing: bool, bytes: &[u8], len: u32) {
        let direction = if outgoing {
            Direction::Outbound
        } else {
            Direction::Inbound
        };
        let mut recording = self
            .recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(room) = recording.room.checked_sub(bytes.len()) else {
            return;
        };
        recording.room = room;
        let written = (recording.writer).packet(self.interface, at, direction, bytes, len);
        written.expect("memory takes all");
    }
}

impl Evidence {
    pub(crate) fn new(scenario: &str, seed: u64) -> Self {
        Self {
            scenario: scenario.to_owned(),
            seed,
            recording: None,
        }
    }

    /// The same of a copy, which has no recording.
    pub(crate) fn fork(&self) -> Self {
        Self::new(&self.scenario, self.seed)
    }

    /// Taps at all nodes of a cell.
    pub(crate) fn record(&mut self, cell: &Cell, most: usize) -> Taps {
        let made = || -> io::Result<(Shared, Vec<u32>)> {
            let comment = format!("seed {}", self.seed);
            let mut writer = Writer::new(Vec::new(), "sojourn-net", &comment)?;
            let numbers = cell
                .network
                .nodes
                .iter()
                .map(|node| {
                    writer.interface(&Interface {
                        name: &node.name,
                        description: "all packets of its hosts",
                        link_type: if cell.link_header > 0 {
                            LinkType::Ethernet
                        } else {
                            LinkType::Raw
                        },
                        snap_len: 0,
                    })
                })
                .collect::<io::Result<_>>()?;
            let recording = Recording { writer, room: most };
            Ok((Arc::new(Mutex::new(recording)), numbers))
        };
        let (recording, numbers) = made().expect("memory takes all");
        let tap = |(node, interface)| {
            let recording = Arc::clone(&recording);
            let tap: Box<dyn Tap> = Box::new(NodeTap {
                recording,
                interface,
            });
            (TapPoint::Node(node), tap)
        };
        let taps = Taps {
            points: numbers.into_iter().enumerate().map(tap).collect(),
            snap_len: usize::from(u16::MAX),
        };
        self.recording = Some(recording);
        taps
    }

    pub(crate) fn capture(&self) -> Vec<u8> {
        let bytes = self.recording.as_ref().map(|recording| {
            let recording = recording.lock().unwrap_or_else(PoisonError::into_inner);
            recording.writer.get_ref().clone()
        });
        bytes.unwrap_or_default()
    }

    /// Writes all there is, and says where.
    fn leave(&self) -> io::Result<String> {
        let folder = env::var_os(FOLDER).map_or_else(env::temp_dir, PathBuf::from);
        fs::create_dir_all(&folder)?;
        let path = |end: &str| {
            let name = format!("sojourn-net-{}-seed{}.{end}", process::id(), self.seed);
            folder.join(name)
        };
        let scenario = path("toml");
        fs::write(&scenario, &self.scenario)?;
        let mut told = format!("{}, seed {}", scenario.display(), self.seed);
        let capture = self.capture();
        if !capture.is_empty() {
            fs::write(path("pcapng"), capture)?;
            told = format!("{told}, {}", path("pcapng").display());
        }
        Ok(told)
    }
}

impl Drop for Evidence {
    fn drop(&mut self) {
        if thread::panicking() {
            match self.leave() {
                Ok(told) => eprintln!("the run that failed: {told}"),
                Err(error) => eprintln!("the run that failed (seed {}): {error}", self.seed),
            }
        }
    }
}
