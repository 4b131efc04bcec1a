//! A pair of interfaces as it is asked for, and in words.

use crate::file::{BridgePair, PcapFile};
use sojourn_autorate::Params;
use sojourn_bridge::{BridgeConfig, Circuits, Direction};
use sojourn_line::{Line, LineRate};
use sojourn_qdisc::Entrance;
use sojourn_units::{Span, show_rate, show_span};
use std::sync::Arc;

/// After how long what a stopped bridge held is too old, unless something else is asked for.
const STALE: Span = Span::from_millis(500);

/// A bridge and what it is called.
#[derive(Clone, Debug)]
pub struct Pair {
    /// In requests, the log and statistics.
    pub name: String,
    /// What it is made of.
    pub config: BridgeConfig,
    /// Whether the seed was asked for; a random one is as good as the running one's.
    pub seeded: bool,
    /// Where its frames are captured to.
    pub pcap: Option<PcapFile>,
}

impl From<BridgePair> for Pair {
    fn from(file: BridgePair) -> Self {
        let mut config = BridgeConfig::new(&file.left, &file.right);
        config.claim = true;
        config.saves_wakeups = true;
        let follow = |direction: &mut Direction, (line, queue): (Line, Entrance)| {
            (direction.line, direction.qdisc) = (line, queue.spec);
            direction.split_gso = queue.split_gso.or(file.split_gso);
        };
        follow(&mut config.up, file.up);
        follow(&mut config.down, file.down);
        [config.up.autorate, config.down.autorate] = file.autorates;
        config.reflectors = file.reflectors;
        config.fail_open = file.fail_open;
        config.keep_bridge = file.keep_bridge;
        config.watchdog = file.watchdog.unwrap_or(config.watchdog);
        config.stale = file.stale.unwrap_or(STALE);
        config.memory = file.memory.unwrap_or(config.memory);
        config.keep_offloads = file.keep_offloads;
        config.port = file.port;
        if let Some(subscribers) = &file.subscribers {
            let circuits = Arc::new(Circuits::new(subscribers.prefixes()));
            config.up.circuits = Some(Arc::clone(&circuits));
            config.down.circuits = Some(circuits);
        }
        config.qdisc_bypass = file.qdisc_bypass;
        config.workers = file.workers;
        config.busy_poll = file.busy_poll;
        config.seed = file.seed.unwrap_or(config.seed);
        Self {
            name: file.name,
            config,
            seeded: file.seed.is_some(),
            pcap: file.pcap,
        }
    }
}

/// A rate in words.
pub(crate) fn show_line_rate(rate: &LineRate) -> String {
    match rate {
        LineRate::Infinite => "no limit".to_owned(),
        LineRate::Fixed(rate) => show_rate(*rate),
        LineRate::Trace(_) => "trace".to_owned(),
    }
}

/// How a rate follows its link, in words.
#[allow(clippy::ref_option, reason = "what is compared are options")]
pub(crate) fn show_autorate(params: &Option<Params>) -> String {
    let Some(params) = params else {
        return "stays".to_owned();
    };
    let [min, max] = [params.min, params.max].map(show_rate);
    let threshold = show_span(params.threshold);
    format!("{min} to {max}, threshold {threshold}")
}

/// A direction's queue with its word on super-packets.
pub(crate) fn queue(direction: &Direction) -> Entrance {
    Entrance {
        spec: direction.qdisc.clone(),
        split_gso: direction.split_gso,
    }
}

/// Interfaces, queues and rates, in a line.
pub fn describe(config: &BridgeConfig) -> String {
    let way = |direction: &Direction| {
        let rate = show_line_rate(&direction.line.rate);
        let follows = direction
            .autorate
            .map(|_| show_autorate(&direction.autorate))
            .map(|it| format!(", follows ({it})"));
        format!(
            "{} at {rate}{}",
            queue(direction),
            follows.unwrap_or_default()
        )
    };
    let BridgeConfig { left, right, .. } = config;
    let [up, down] = [&config.up, &config.down].map(way);
    let workers = match config.workers {
        0..=1 => String::new(),
        count => format!("; {count} workers"),
    };
    format!("{left} <-> {right}; up: {up}; down: {down}{workers}")
}
