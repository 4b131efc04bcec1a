//! What the tables of a bridge's file mean: the pairs, and what is wrong between their keys.

use super::{
    Around, BridgeFile, BridgePair, BridgeTable, FailOpenWord, PairTable, PcapFile, PortWord,
};
use crate::subscribers::{SubscriberFiles, Subscribers};
use crate::version::Version;
use sojourn_autorate::Params;
use sojourn_bridge::{BeyondWorkers, FailOpen, PortChoice};
use sojourn_line::Line;
use sojourn_qdisc::{Entrance, Spec, WORKERS};
use sojourn_text::quantity::{Bytes, LinkSpeed, Queue};
use sojourn_text::queue::{FRAME, QueueWords, ethernet};
use sojourn_text::{Resolver, Warnings};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::Arc;

/// Most bytes of a frame that a capture keeps.
const MOST_KEPT: u64 = 256;

/// Words that stand for a direction where a pair may be named too.
const SIDES: [&str; 2] = ["up", "down"];

/// A direction of a pair: its line and queue, and how its rate follows a slower link.
type Found = ((Line, Entrance), Option<Params>);

/// Makes sense of the tables.
pub(super) struct Reading<'a>(pub(super) Resolver<'a>);

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
    pub(super) fn bridge(&mut self, table: BridgeTable) -> Option<BridgeFile> {
        // There is but one, and all below is its.
        let Version = table.version;
        if table.control_group.is_some() && table.control.is_none() {
            self.complain("control_group", "there is no `control` to let it open");
        }
        if table.pair.is_empty() {
            self.complain("pair", "at least one pair is needed");
        }
        // All are read before one that is wrong ends it, so that all that is wrong is told.
        let read: Vec<_> = table
            .pair
            .into_iter()
            .enumerate()
            .map(|(index, pair)| self.pair(index, pair))
            .collect();
        let pairs: Vec<BridgePair> = read.into_iter().collect::<Option<_>>()?;
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
