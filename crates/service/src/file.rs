//! A bridge's file: pairs of interfaces and what is between them, in the keys and units of
//! scenarios. `docs/bridge.md` has its reference, made from the tables here.
//!
//! Not here: what a bridge does with it (`pair.rs`), how a running one follows it (`reload.rs`).

use crate::subscribers::{SubscriberFiles, Subscribers};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_autorate::{Params, Reflector};
use sojourn_bridge::{BeyondWorkers, FailOpen, PortChoice};
use sojourn_line::Line;
use sojourn_qdisc::{Entrance, Spec, WORKERS};
use sojourn_text::hop::HopTable;
use sojourn_text::problem::{Problem, Problems};
use sojourn_text::quantity::{Address, Bytes, Device, Duration, Group, LinkSpeed, Name, Queue};
use sojourn_text::queue::{FRAME, QueueWords, ethernet};
use sojourn_text::read::{Read, wrong_type};
use sojourn_text::tree::{Node, Value};
use sojourn_text::{Files, Resolver, Warnings, named_text};
use sojourn_text::{table, words};
use sojourn_units::Span;
use std::borrow::Cow;
use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The only version so far.
const VERSION: i64 = 1;

/// Most bytes of a frame that a capture keeps.
const MOST_KEPT: u64 = 256;

/// Words that stand for a direction where a pair may be named too.
const SIDES: [&str; 2] = ["up", "down"];

/// The number of the format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version;

impl JsonSchema for Version {
    fn schema_name() -> Cow<'static, str> {
        "version".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "The version of the format.", "const": VERSION })
    }
}

impl Read for Version {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let problem = match node.value {
            Value::Integer(VERSION) => return Some(Self),
            Value::Integer(other) => {
                let message = format!("{other} is not a version that this program reads");
                Problem::new(node.at, path, message)
            }
            _ => wrong_type(node, path, "an integer"),
        };
        problems.refuse(problem.help(format!("for example `version = {VERSION}`")))
    }
}

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
            let mut reading = Reading(Resolver {
                tree: &tree,
                problems: &mut problems,
                files: &mut Files::new(base),
            });
            reading.bridge(table)
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

/// A direction of a pair: its line and queue, and how its rate follows a slower link.
type Found = ((Line, Entrance), Option<Params>);

/// Makes sense of the tables.
struct Reading<'a>(Resolver<'a>);

impl<'a> Deref for Reading<'a> {
    type Target = Resolver<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Reading<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// The key of a pair, or of one of its directions, that asks for what several workers cannot do.
const fn key(why: BeyondWorkers) -> &'static str {
    match why {
        BeyondWorkers::Xdp => "port",
        // No key does.
        BeyondWorkers::Changes => "workers",
        BeyondWorkers::Rate => "rate",
        BeyondWorkers::Trace => "trace",
        BeyondWorkers::Autorate => "autorate",
        BeyondWorkers::AutorateIngress | BeyondWorkers::CakeMq | BeyondWorkers::Shaper => "qdisc",
        BeyondWorkers::Tree => "subscribers",
    }
}

impl Reading<'_> {
    fn bridge(&mut self, table: BridgeTable) -> Option<BridgeFile> {
        // There is but one, and all below is its.
        let Version = table.version;
        if table.control_group.is_some() && table.control.is_none() {
            self.complain("control_group", "there is no `control` to let it open");
        }
        if table.pair.is_empty() {
            self.complain("pair", "at least one pair is needed");
        }
        let pairs = table.pair.into_iter().enumerate();
        let pairs: Vec<_> = pairs.map(|(index, pair)| self.pair(index, pair)).collect();
        let pairs: Vec<BridgePair> = pairs.into_iter().collect::<Option<_>>()?;
        for (index, pair) in pairs.iter().enumerate() {
            // By number: the names may be the same.
            let place = format!("pair[{}]", index + 1);
            let others = &pairs[..index];
            if SIDES.contains(&pair.name.as_str()) {
                let message = format!("`{}` is the name of a direction", pair.name);
                self.complain(&format!("{place}.name"), message);
            }
            if others.iter().any(|other| other.name == pair.name) {
                let message = format!("another pair has the name `{}` already", pair.name);
                self.complain(&format!("{place}.name"), message);
            }
            for (key, device) in [("left", &pair.left), ("right", &pair.right)] {
                let mut others = others.iter();
                if let Some(other) = others.find(|o| [&o.left, &o.right].contains(&device)) {
                    let message = format!("`{device}` is in the pair `{}` already", other.name);
                    self.complain(&format!("{place}.{key}"), message);
                }
            }
            if let Some(pcap) = &pair.pcap {
                let path = |pair: &BridgePair| pair.pcap.as_ref().map(|pcap| pcap.path.clone());
                let other = others.iter().find(|o| path(o).as_ref() == Some(&pcap.path));
                if let Some(other) = other {
                    let message = format!("the pair `{}` is captured to this file", other.name);
                    self.complain(&format!("{place}.pcap"), message);
                }
            }
            if pair.left == pair.right {
                let message = "a pair needs two different interfaces";
                self.complain(&format!("{place}.right"), message);
            }
        }
        Some(BridgeFile {
            around: Around {
                control: table.control.map(PathBuf::from),
                control_group: table.control_group.map(|group| group.0),
                metrics: table.metrics.map(|address| address.0),
                status_page: table.status_page.unwrap_or(false),
            },
            pairs,
            warnings: Warnings::default(),
        })
    }

    fn pair(&mut self, index: usize, table: PairTable) -> Option<BridgePair> {
        let place = match &table.name {
            Some(name) => format!("pair.{}", name.0),
            None => format!("pair[{}]", index + 1),
        };
        if !table
            .workers
            .is_none_or(|count| (1..=WORKERS).contains(&count))
        {
            let message = format!("there can be 1 to {WORKERS} workers");
            self.complain(&format!("{place}.workers"), message);
        }
        let pcap = self.pcap(&place, table.pcap.as_deref(), table.snap_len);
        let [(mut up, up_rate), (mut down, down_rate)] = self.directions(&place, &table)?;
        let follows = up_rate.is_some() || down_rate.is_some();
        let reflectors = self.reflectors(&place, table.reflectors.as_deref(), follows)?;
        let (left, right) = (table.left.0, table.right.0);
        let subscribers = match &table.subscribers {
            Some(files) => {
                let read = self.subscribers(&place, files, [&mut up.1, &mut down.1]);
                Some(Arc::new(read?))
            }
            None => None,
        };
        let name = table.name.map(|name| name.0);
        let pair = BridgePair {
            name: name.unwrap_or_else(|| BridgePair::default_name(&left, &right)),
            left,
            right,
            up,
            down,
            autorates: [up_rate, down_rate],
            reflectors,
            split_gso: table.split_gso,
            fail_open: table
                .fail_open
                .map_or(FailOpen::Prefer, FailOpenWord::value),
            keep_bridge: table.keep_bridge.unwrap_or(false),
            watchdog: table.watchdog.map(|limit| limit.0),
            stale: table.stale.map(|limit| limit.0),
            memory: table.memory.map(|limit| limit.0),
            keep_offloads: table.keep_offloads.unwrap_or(false),
            port: table.port.map(PortWord::value).unwrap_or_default(),
            qdisc_bypass: table.qdisc_bypass.unwrap_or(false),
            workers: table.workers.unwrap_or(1),
            busy_poll: table.busy_poll.unwrap_or(false),
            seed: table.seed,
            pcap,
            subscribers,
        };
        self.look_at_workers(&place, &pair);
        Some(pair)
    }

    /// What is up and down between a pair's interfaces: line, queue, and how the rate follows.
    fn directions(&mut self, place: &str, table: &PairTable) -> Option<[Found; 2]> {
        let mut both = table.hop.clone();
        if both.rate.is_none() && both.trace.is_none() {
            both.rate = Some(LinkSpeed(None));
        }
        if table.subscribers.is_some() {
            let usual = || "fq_codel".parse::<Entrance>().ok();
            both.qdisc = both.qdisc.or_else(|| Some(Queue(usual()?.into())));
        }
        let ways = [&table.up, &table.down].map(Option::as_ref);
        let [up, down] = self.both_ways(place, &both, ways)?;
        for (way, hop) in [("up", &up), ("down", &down)] {
            if hop.autorate.is_some_and(|it| it.beyond.is_some()) {
                let path = format!("{}.beyond", self.written(place, way, "autorate"));
                let message = "a bridge's slow link is always beyond its right interface";
                let help = "leave the key out; where it is the other way round, swap `left` and \
                            `right`, and `up` and `down`";
                return self.advise(&path, message, help);
            }
        }
        let has_circuits = table.subscribers.is_some();
        let [up, down] = [("up", up), ("down", down)].map(|(way, hop)| {
            let path = self.written(place, way, "qdisc");
            let queue = self.pair_queue(&path, hop.queue, &hop.line, has_circuits)?;
            Some(((hop.line, queue), hop.autorate.map(|it| it.params)))
        });
        Some([up?, down?])
    }

    /// Complains about what several workers cannot do, once where it counts for both directions.
    fn look_at_workers(&mut self, place: &str, pair: &BridgePair) {
        if pair.workers <= 1 {
            return;
        }
        let mut found = Vec::new();
        if pair.port == PortChoice::Xdp {
            let why = BeyondWorkers::Xdp;
            found.push((format!("{place}.{}", key(why)), why));
        }
        let ways = [("up", &pair.up), ("down", &pair.down)];
        for ((way, (line, queue)), autorate) in ways.into_iter().zip(pair.autorates) {
            let why = BeyondWorkers::of(line, &queue.spec, autorate.is_some());
            found.extend(why.map(|why| (self.written(place, way, key(why)), why)));
        }
        found.dedup();
        for (path, why) in found {
            let message = format!("with several workers {why}");
            let help = format!("or leave out `workers = {}`", pair.workers);
            self.advise::<()>(&path, message, help);
        }
    }

    /// The capture of the pair at `place`.
    fn pcap(
        &mut self,
        place: &str,
        path: Option<&str>,
        snap_len: Option<Bytes>,
    ) -> Option<PcapFile> {
        let snap_len = snap_len.map(|len| len.0);
        if snap_len.is_some() && path.is_none() {
            self.complain(
                &format!("{place}.snap_len"),
                "there is no `pcap` to keep them",
            );
        }
        if snap_len.is_some_and(|len| !(1..=MOST_KEPT).contains(&len)) {
            let message = format!("of a frame 1 to {MOST_KEPT} bytes can be kept");
            self.complain(&format!("{place}.snap_len"), message);
        }
        if path?.is_empty() {
            self.complain(&format!("{place}.pcap"), "is the path of a file");
        }
        let path = self.files.beside(path?);
        let snap_len = snap_len.map(|len| len.min(MOST_KEPT) as u32);
        Some(PcapFile { path, snap_len })
    }

    /// The queue before a line, with what its limits come to there.
    fn pair_queue(
        &mut self,
        path: &str,
        words: QueueWords,
        line: &Line,
        has_circuits: bool,
    ) -> Option<Entrance> {
        if has_circuits && words.relative.is_some() {
            let message = "circuits have rates of their own, from which this limit cannot follow";
            return self.advise(
                path,
                message,
                "give packets or bytes, or write it in a circuit",
            );
        }
        let rate = line.rate.fixed();
        let queue = words.for_link(path, ethernet(rate), self.problems)?;
        if !has_circuits {
            self.queue_traps(path, &queue.spec, rate, FRAME);
        }
        Some(queue)
    }

    /// Reads the files and has the queues be trees of rates.
    fn subscribers(
        &mut self,
        place: &str,
        files: &SubscriberFiles,
        queues: [&mut Entrance; 2],
    ) -> Option<Subscribers> {
        let field = format!("{place}.subscribers");
        let base = self.files.base().to_owned();
        let read = match Subscribers::load(files, &base, self.problems) {
            Ok(read) => read?,
            Err(message) => return self.refuse(&field, message),
        };
        for (direction, queue) in queues.into_iter().enumerate() {
            match read.tree(direction, &queue.spec) {
                Ok(tree) => queue.spec = Spec::Tree(tree),
                Err(message) => return self.refuse(&field, message),
            }
        }
        Some(read)
    }
}
