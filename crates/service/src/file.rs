//! A bridge's file: pairs of interfaces and what is between them, in the keys and units of
//! scenarios. `docs/bridge.md` has its reference, made from the tables here.
//!
//! Not here: what its tables mean (`file/read.rs`), what a bridge does with it (`pair.rs`), how a
//! running one follows it (`reload.rs`).

use crate::subscribers::{SubscriberFiles, Subscribers};
use crate::version::Version;
use read::Reading;
use sojourn_autorate::{Params, Reflector};
use sojourn_bridge::{FailOpen, PortChoice};
use sojourn_line::Line;
use sojourn_qdisc::Entrance;
use sojourn_text::hop::HopTable;
use sojourn_text::problem::{Problem, Problems};
use sojourn_text::quantity::{Address, Bytes, Device, Duration, Group, Name};
use sojourn_text::read::Read;
use sojourn_text::tree::{Node, Value};
use sojourn_text::{Files, Resolver, Warnings, named_text};
use sojourn_text::{table, words};
use sojourn_units::Span;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod read;

words! {
    /// What happens to the link when the bridge's process dies.
    pub(crate) enum FailOpenWord: FailOpen {
        /// The link goes down with it.
        Off = "off" => FailOpen::Off,
        /// A kernel bridge takes over, where the kernel can do it.
        Prefer = "prefer" => FailOpen::Prefer,
        /// As `prefer`, but the bridge does not start where it cannot.
        Require = "require" => FailOpen::Require,
    }
}

words! {
    /// What brings the frames of a pair in and out.
    pub(crate) enum PortWord: PortChoice {
        /// AF_PACKET: offloads stay as they are, super-packets pass whole.
        Packet = "packet" => PortChoice::Packet,
        /// AF_XDP, and AF_PACKET where that is refused.
        Xdp = "xdp" => PortChoice::Xdp,
        /// AF_XDP where the drivers have zero-copy, else AF_PACKET.
        Auto = "auto" => PortChoice::Auto,
    }
}

table! {
    /// A bridge: one or several pairs of interfaces.
    pub(crate) struct BridgeTable {
        /// `1`: the version of this format.
        version: Version,
        /// Path of the Unix socket that `ctl` connects to. Default: none.
        control: Option<String>,
        /// Group that may also open the socket. Default: none; only its owner may.
        control_group: Option<Group>,
        /// Address and port at which Prometheus can read `/metrics`. Default: none.
        metrics: Option<Address>,
        /// Whether the same port also serves a read-only status page at `/`. Default false.
        status_page: Option<bool>,
        /// The pairs of interfaces; each has a forwarding thread of its own.
        pair: Vec<PairTable>,
    }
}

table! {
    /// Two interfaces with a queue each way. A key of a direction that stands here counts for
    /// both, one in `up` or `down` for that direction alone.
    pub(crate) struct PairTable {
        /// Name of the pair in `ctl`, the log and metrics. Default: both interfaces, `eth1-eth2`.
        name: Option<Name>,
        /// The clients' interface: frames that arrive here go up.
        left: Device,
        /// The servers' interface: frames that arrive here go down.
        right: Device,
        /// From left to right.
        up: Option<HopTable>,
        /// From right to left.
        down: Option<HopTable>,
        /// Whether super-packets are cut before queues that have neither `split-gso` nor
        /// `no-split-gso`. Default: behind a rate of up to 1 Gbit/s, a trace or tbf.
        split_gso: Option<bool>,
        /// What happens to the link when the process dies. Default `prefer`.
        fail_open: Option<FailOpenWord>,
        /// Whether the kernel bridge stays after a clean end. Default false.
        keep_bridge: Option<bool>,
        /// The kernel bridge takes over when the forwarding thread has stalled for this long; 0:
        /// never. Default 100 ms.
        watchdog: Option<Duration>,
        /// All queued frames are dropped when the thread has stalled for longer than this. Default
        /// 500 ms.
        stale: Option<Duration>,
        /// Memory limit for the frames of one direction. Default 144 MiB.
        memory: Option<Bytes>,
        /// Whether GRO and LRO of the interfaces are left as they are. Default false.
        keep_offloads: Option<bool>,
        /// Sockets that receive and send frames: AF_PACKET, AF_XDP (experimental; AF_PACKET where
        /// it is refused), or AF_XDP where the drivers have zero-copy. Default `packet`.
        port: Option<PortWord>,
        /// Whether frames bypass the interfaces' own qdiscs; through AF_XDP they always do. Default
        /// false.
        qdisc_bypass: Option<bool>,
        /// Number of forwarding threads, which divide the flows. Each has its own queue in each
        /// direction, and all share the rate of `cake` by their needs. Default 1, at most 64.
        workers: Option<u32>,
        /// Whether a thread never sleeps; uses a whole processor. Default false.
        busy_poll: Option<bool>,
        /// Seed of all random decisions and of the flow hash. Default random, so that nobody can
        /// know which flows share a queue.
        seed: Option<u64>,
        /// Captures what the hosts beyond both ports send and receive to this pcapng file, which is
        /// overwritten: a path, relative to this file. Default: none.
        pcap: Option<String>,
        /// Bytes of each frame that `pcap` keeps, up to 256. Default 192.
        snap_len: Option<Bytes>,
        /// The subscribers behind `left`. A tree of rates replaces the queue in each direction, and
        /// each circuit has its own queue in it, `qdisc` (default `fq_codel`). Default: all packets
        /// share the pair's queue.
        subscribers: Option<SubscriberFiles>,
        /// Hosts that also measure the delay of the slow link, where a rate has `autorate`: by ping
        /// `"9.9.9.9"`, by ICMP timestamps `"timestamp 9.9.9.9"` or by UDP echo `"udp
        /// 192.0.2.1:7"`. Default: only forwarded packets measure it.
        reflectors: Option<Vec<String>>,
        ..hop: HopTable,
    }
}

/// A capture of both ports to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcapFile {
    /// Where it is written.
    pub path: PathBuf,
    /// Bytes of each frame that are kept.
    pub snap_len: Option<u32>,
}

/// A bridge as its file, or the command line, asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgeFile {
    /// What there is but once.
    pub around: Around,
    /// At least one; no interface is in two of them, and no name is.
    pub pairs: Vec<BridgePair>,
    /// What of it is right and may not be meant.
    pub warnings: Warnings,
}

/// What a bridge has around its pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Where requests are taken.
    pub control: Option<PathBuf>,
    /// The number of the group that may ask too.
    pub control_group: Option<u32>,
    /// Where metrics are to be had.
    pub metrics: Option<SocketAddr>,
    /// Whether a page for people is there too.
    pub status_page: bool,
}

/// A pair of interfaces. Where nothing is said, the bridge has its default.
#[derive(Clone, Debug, PartialEq)]
pub struct BridgePair {
    /// Its name.
    pub name: String,
    /// The clients' interface.
    pub left: String,
    /// The servers' interface.
    pub right: String,
    /// Line and queue from left to right.
    pub up: (Line, Entrance),
    /// Line and queue from right to left.
    pub down: (Line, Entrance),
    /// How the rates from left to right and back follow the link beyond the right interface; none:
    /// it stays as the line's.
    pub autorates: [Option<Params>; 2],
    /// Who is asked for that link's delay beside the packets that pass.
    pub reflectors: Vec<Reflector>,
    /// Whether super-packets are cut before queues that do not say it themselves.
    pub split_gso: Option<bool>,
    /// What happens to the link when the process dies.
    pub fail_open: FailOpen,
    /// Whether the kernel bridge stays after a clean end.
    pub keep_bridge: bool,
    /// How long the forwarding thread may stand still before the kernel bridge takes over.
    pub watchdog: Option<Span>,
    /// After how long what was held is too old.
    pub stale: Option<Span>,
    /// Most bytes that the frames of one direction may hold.
    pub memory: Option<u64>,
    /// Whether GRO and LRO stay as they are.
    pub keep_offloads: bool,
    /// What brings frames in and out.
    pub port: PortChoice,
    /// Whether frames pass by the interfaces' own qdiscs.
    pub qdisc_bypass: bool,
    /// Forwarding threads.
    pub workers: u32,
    /// Whether a forwarding thread never sleeps.
    pub busy_poll: bool,
    /// Seed of dice and of the hash of flows.
    pub seed: Option<u64>,
    /// Where its frames are captured to, from the first on.
    pub pcap: Option<PcapFile>,
    /// Who has a circuit, for queues that are trees of rates.
    pub subscribers: Option<Arc<Subscribers>>,
}

impl BridgePair {
    /// The name of a pair that was given none.
    pub fn default_name(left: &str, right: &str) -> String {
        format!("{left}-{right}")
    }
}

impl BridgeFile {
    /// Whether a text means to be a bridge's file, and not a scenario.
    pub fn is_meant(text: &str) -> bool {
        Node::of_file("", text).is_ok_and(|(tree, _)| {
            tree.get("format").is_none() && ["version", "pair"].iter().any(|key| tree.has(key))
        })
    }

    /// Reads a bridge's file.
    ///
    /// # Errors
    /// Everything that is wrong with it, or with what it names.
    pub fn load(file: &Path) -> Result<Self, Problems> {
        let (name, text) = named_text(file)?;
        Self::parse(&name, &text, file.parent().unwrap_or(Path::new("")))
    }

    /// What the machine says of an interface, at the place where the file names it.
    pub fn complaint(file: &Path, interface: &str, message: &str) -> Problems {
        let (name, text) = match named_text(file) {
            Ok(read) => read,
            Err(problems) => return problems,
        };
        let Ok((tree, mut problems)) = Node::of_file(&name, &text) else {
            return Problems::alone(name, message);
        };
        let pairs = tree.get("pair").map(|entry| &entry.node.value);
        let Some(Value::Array(pairs)) = pairs else {
            return Problems::alone(name, message);
        };
        for (pair, number) in pairs.iter().zip(1..) {
            for port in ["left", "right"] {
                if pair.text_at(port) == Some(interface) {
                    let at = pair.locate(port);
                    let field = match pair.text_at("name") {
                        Some(name) => format!("pair.{name}.{port}"),
                        None => format!("pair[{number}].{port}"),
                    };
                    problems.add(Problem::new(at, field, message));
                    return problems;
                }
            }
        }
        // It was written anew since.
        Problems::alone(name, message)
    }

    /// Reads a text; `name` is shown in messages, and the paths of traces are seen from `base`.
    ///
    /// # Errors
    /// As [`BridgeFile::load`].
    pub fn parse(name: &str, text: &str, base: &Path) -> Result<Self, Problems> {
        let (tree, mut problems) = Node::of_file(name, text)?;
        let table = BridgeTable::read(&tree, "", &mut problems);
        let file = table.and_then(|table| {
            let resolver = Resolver {
                tree: &tree,
                problems: &mut problems,
                files: &mut Files::new(base),
            };
            Reading(resolver).bridge(table)
        });
        match file {
            Some(file) if problems.is_empty() => Ok(Self {
                warnings: problems.into_warnings(),
                ..file
            }),
            _ => {
                problems.sort();
                Err(problems)
            }
        }
    }
}
