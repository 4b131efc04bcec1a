//! The tables and keys of a scenario file: one list from which the reader, the JSON Schema and
//! the reference in `docs/scenario.md` are made. The doc comments here are that reference.

use crate::problem::{Problem, Problems, suggestion};
use crate::quantity::{
    AckDelay, Bytes, Dscp, Duration, LinkSpeed, Name, Probability, Queue, Seeds, Speed,
};
use crate::read::{Fields, Read, overlay, table, words, wrong_type};
use crate::tree::{Node, Value};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// The only format so far.
pub(crate) const FORMAT: &str = "sojourn-scenario/1";

table! {
    /// A scenario of Sojourn: links, queues, flows and what to sweep.
    pub(crate) struct ScenarioFile {
        /// `"sojourn-scenario/1"`: the version of this format.
        format: Format,
        /// Short name, as in file names and results.
        name: Name,
        /// One line for people. Default: the name.
        title: Option<String>,
        /// A few sentences for people. Default: empty.
        description: Option<String>,
        /// Length of a run.
        duration: Duration,
        /// Statistics start here; series cover the whole run. Less than `duration`. Default 0:
        /// nothing is left out.
        warmup: Option<Duration>,
        /// Seeds of each combination: a number of seeds (1, 2, 3 and so on) or a list of them.
        /// Default 1.
        seeds: Option<Seeds>,
        /// Interval of the series; a run keeps at most 2000 points, so long runs widen it.
        /// Default 100 ms.
        sample: Option<Duration>,
        /// What queues and links count as a packet's length. Default `ethernet`.
        framing: Option<Framing>,
        /// TCP's parameters for all flows; a flow's own `tcp` goes before.
        tcp: Option<TcpTable>,
        /// The short form of a topology: clients, servers, one bottleneck each way. Either this
        /// or `node` and `link`.
        dumbbell: Option<DumbbellTable>,
        /// The long form of a topology: its nodes.
        node: Option<Vec<NodeTable>>,
        /// The long form of a topology: its links. Packets take the path with the fewest hops,
        /// the earlier listed link first among equals.
        link: Option<Vec<LinkTable>>,
        /// Traffic; at least one flow.
        flow: Vec<FlowTable>,
        /// What to vary: field paths with lists of values. Every combination is run, with every
        /// seed.
        #[expect(dead_code, reason = "here for the schema; `sweep` reads it from the tree")]
        sweep: Option<SweepTable>,
    }
}

words! {
    /// The format's name.
    pub(crate) enum Format {
        /// Version 1.
        One = "sojourn-scenario/1",
    }
}

words! {
    /// What queues and links count as a packet's length.
    pub(crate) enum Framing {
        /// The IP packet and 14 bytes of Ethernet header, as Linux counts.
        Ethernet = "ethernet",
        /// The IP packet alone, as ns-2 counts.
        Ip = "ip",
    }
}

table! {
    /// `client — queue → up link — delay → server`, and back through `down`. A key given here
    /// counts for both directions, one in `up` or `down` for that direction alone.
    pub(crate) struct DumbbellTable {
        /// Round-trip time of the empty path, for flows without an `rtt` of their own. What the
        /// links' own delays do not give is added behind them, half each way. Default: the sum
        /// of the links' delays.
        rtt: Option<Duration>,
        /// Rate of each host's own access link. With it, every flow has a host of its own at
        /// both ends. Default: no access links.
        access: Option<Speed>,
        /// From client to server.
        up: Option<HopTable>,
        /// From server to client.
        down: Option<HopTable>,
        /// Rate of both links. Required, unless there is a `trace`.
        rate: Option<LinkSpeed>,
        /// A mahimahi trace as the rate of both links: a path, seen from the scenario file.
        trace: Option<String>,
        /// Queue at the entrance of both links, in tc's words. Default `pfifo limit 1000`.
        qdisc: Option<Queue>,
        /// Propagation delay of both links, part of `rtt`. Default 0.
        delay: Option<Duration>,
        /// Extra delay of each packet, uniform from 0 to below this. Default 0.
        jitter: Option<Duration>,
        /// Whether jitter may reorder packets. Default false.
        reorder: Option<bool>,
        /// Probability that a packet is lost behind the queue. Default 0.
        loss: Option<Probability>,
    }
}

table! {
    /// One direction of the dumbbell.
    pub(crate) struct HopTable {
        /// Rate of the link. Required, unless there is a `trace`.
        rate: Option<LinkSpeed>,
        /// A mahimahi trace as the link's rate: a path, seen from the scenario file.
        trace: Option<String>,
        /// Queue at the link's entrance, in tc's words. Default `pfifo limit 1000`.
        qdisc: Option<Queue>,
        /// Propagation delay, part of the base RTT. Default 0.
        delay: Option<Duration>,
        /// Extra delay of each packet, uniform from 0 to below this. Default 0.
        jitter: Option<Duration>,
        /// Whether jitter may reorder packets. Default false.
        reorder: Option<bool>,
        /// Probability that a packet is lost behind the queue. Default 0.
        loss: Option<Probability>,
    }
}

overlay!(HopTable {
    rate,
    trace,
    qdisc,
    delay,
    jitter,
    reorder,
    loss
});

table! {
    /// A host or router.
    pub(crate) struct NodeTable {
        /// Its name.
        name: Name,
    }
}

table! {
    /// A one-way link, or with `duplex` a pair of them.
    pub(crate) struct LinkTable {
        /// Its name. Default `FROM-TO`.
        name: Option<Name>,
        /// Name of the node it leaves.
        from: Name,
        /// Name of the node it enters.
        to: Name,
        /// Adds an equal link the other way, named `NAME-back`, or `TO-FROM` without a name.
        /// Default false.
        duplex: Option<bool>,
        /// Rate of the link. Required, unless there is a `trace`.
        rate: Option<LinkSpeed>,
        /// A mahimahi trace as the link's rate: a path, seen from the scenario file.
        trace: Option<String>,
        /// Queue at the link's entrance, in tc's words. Default `pfifo limit 1000`.
        qdisc: Option<Queue>,
        /// Propagation delay. Default 0.
        delay: Option<Duration>,
        /// Extra delay of each packet, uniform from 0 to below this. Default 0.
        jitter: Option<Duration>,
        /// Whether jitter may reorder packets. Default false.
        reorder: Option<bool>,
        /// Probability that a packet is lost behind the queue. Default 0.
        loss: Option<Probability>,
    }
}

table! {
    /// Traffic between two hosts.
    pub(crate) struct FlowTable {
        /// Its name; results are listed under it.
        name: Name,
        /// So many equal flows, named `NAME-1`, `NAME-2` and so on, 1 to 10 000. Default: one,
        /// named `NAME`.
        count: Option<u32>,
        /// The short form of `from` and `to` in a dumbbell.
        direction: Option<Direction>,
        /// Name of the sender's node (the side that asks, for `ping`); in a dumbbell `client` or
        /// `server`.
        from: Option<Name>,
        /// Name of the receiver's node.
        to: Option<Name>,
        /// The traffic model: its name, or a table with its `kind` and parameters.
        app: App,
        /// What carries it. Default: `tcp` for bulk and file, `udp` for cbr, ping and onoff;
        /// only cbr can choose.
        transport: Option<TransportWord>,
        /// TCP's parameters for this flow.
        tcp: Option<TcpTable>,
        /// Round-trip time of the empty path. Default: the dumbbell's `rtt`, or in a graph the
        /// sum of the links' delays there and back, below which it must not be.
        rtt: Option<Duration>,
        /// DiffServ code point of its packets, both ways. Default 0.
        dscp: Option<Dscp>,
        /// When it begins. Default 0.
        start: Option<Duration>,
        /// Adds a random time from 0 to below this to `start`, drawn from the seed for each flow.
        /// Default 0.
        start_spread: Option<Duration>,
        /// When its app is stopped. Default: at the end of the run.
        stop: Option<Duration>,
    }
}

words! {
    /// A direction in a dumbbell.
    pub(crate) enum Direction {
        /// From `client` to `server`.
        Up = "up",
        /// From `server` to `client`.
        Down = "down",
    }
}

words! {
    /// What carries a flow.
    pub(crate) enum TransportWord {
        /// A byte stream.
        Tcp = "tcp",
        /// Datagrams.
        Udp = "udp",
    }
}

table! {
    /// TCP's parameters; defaults are Linux's.
    pub(crate) struct TcpTable {
        /// Congestion control. Default `cubic`. `newreno` and `sack` are Reno with that recovery:
        /// without SACK (RFC 6582), or by SACK without RACK (RFC 6675).
        cc: Option<CongestionControl>,
        /// How slow start ends when nothing is lost. Default `hystart`; of use with cubic only.
        slow_start: Option<SlowStartWord>,
        /// Payload of a full segment in bytes, 1 to 65 000. Default 1448.
        mss: Option<Bytes>,
        /// Initial window in segments. Default 10.
        initial_window: Option<u32>,
        /// Initial slow-start threshold in bytes. Default: none.
        initial_ssthresh: Option<Bytes>,
        /// Shortest retransmission timeout. Default 200 ms.
        min_rto: Option<Duration>,
        /// Retransmission timeout before the first measurement. Default 1 s.
        initial_rto: Option<Duration>,
        /// Longest retransmission timeout. Default 120 s.
        max_rto: Option<Duration>,
        /// Granularity of the retransmission clock. Default 1 ms.
        clock: Option<Duration>,
        /// The clock that measures round trips for the timeout: they count in whole ticks, and so
        /// does the timeout. ns-2: 10 ms. Default 0: exact.
        tick: Option<Duration>,
        /// Whose thresholds Vegas has. Default `linux`: 2 to 4 segments in the queue. `ns2`: 1 to
        /// 3, and slow start doubles every other round trip.
        vegas: Option<VegasWord>,
        /// Selective acknowledgements. Default true; false gives NewReno's recovery.
        sack: Option<bool>,
        /// Loss detection by time, with tail loss probes (RFC 8985). Default true with `sack`.
        rack: Option<bool>,
        /// The timestamp option, 12 bytes in every segment. Default true.
        timestamps: Option<bool>,
        /// When the receiver acknowledges: `true` (every second segment or after 40 ms), `false`
        /// (every segment at once), or the longest delay. Default true.
        delayed_ack: Option<AckDelay>,
        /// Nagle's algorithm: small segments wait while data is in flight. Default false.
        nagle: Option<bool>,
        /// Classic ECN (RFC 3168). Default false.
        ecn: Option<bool>,
        /// Spread each window over a round trip. Default false.
        pacing: Option<bool>,
        /// Send buffer in bytes. Default 4 MiB.
        send_buffer: Option<Bytes>,
        /// Receive window at the start, in bytes. Default 64 KiB.
        receive_window: Option<Bytes>,
        /// Largest receive window that auto-tuning may reach, in bytes. Default 6 MiB.
        receive_window_max: Option<Bytes>,
    }
}

overlay!(TcpTable {
    cc,
    slow_start,
    mss,
    initial_window,
    initial_ssthresh,
    min_rto,
    initial_rto,
    max_rto,
    clock,
    tick,
    vegas,
    sack,
    rack,
    timestamps,
    delayed_ack,
    nagle,
    ecn,
    pacing,
    send_buffer,
    receive_window,
    receive_window_max,
});

words! {
    /// Congestion control.
    pub(crate) enum CongestionControl {
        /// RFC 5681.
        Reno = "reno",
        /// Reno with recovery without SACK (RFC 6582): `reno` and `sack = false`.
        NewReno = "newreno",
        /// Reno with recovery by SACK alone (RFC 6675): `reno` and `rack = false`.
        Sack = "sack",
        /// Brakmo and Peterson 1995: keeps a few segments in the queue.
        Vegas = "vegas",
        /// Westwood+: reductions follow the estimated bandwidth.
        Westwood = "westwood",
        /// RFC 9438.
        Cubic = "cubic",
        /// Compound TCP (Tan et al. 2006); not in Linux.
        Compound = "compound",
        /// Data Center TCP (RFC 8257), with ECN whatever `ecn` says.
        Dctcp = "dctcp",
        /// BBR version 1, as Linux has it.
        Bbr = "bbr",
        /// BBR version 3 (draft-ietf-ccwg-bbr); not in Linux.
        Bbr3 = "bbr3",
    }
}

words! {
    /// Whose thresholds Vegas has.
    pub(crate) enum VegasWord {
        /// 2 to 4 segments in the queue; slow start doubles every round trip.
        Linux = "linux",
        /// 1 to 3 segments, and doubling every other round trip, as in the paper.
        Ns2 = "ns2",
    }
}

words! {
    /// How slow start ends when nothing is lost.
    pub(crate) enum SlowStartWord {
        /// Only by a loss, a mark or the threshold.
        Standard = "standard",
        /// As in Linux's CUBIC.
        HyStart = "hystart",
        /// RFC 9406.
        HyStartPlusPlus = "hystart++",
    }
}

table! {
    /// One file over TCP; then the connection closes.
    pub(crate) struct FileTable {
        /// Size of the file.
        size: Bytes,
    }
}

table! {
    /// Messages of one size at a constant rate. Over TCP a message that finds the send buffer
    /// full is skipped and counted.
    pub(crate) struct CbrTable {
        /// Payload of a message in bytes, 1 to 65 000.
        size: Bytes,
        /// Time between messages. Either this or `rate`.
        interval: Option<Duration>,
        /// Payload rate. Either this or `interval`.
        rate: Option<Speed>,
    }
}

table! {
    /// A latency probe: requests at constant intervals, each echoed, over UDP.
    pub(crate) struct PingTable {
        /// Payload in bytes, 1 to 65 000. Default 64.
        size: Option<Bytes>,
        /// Time between requests. Default 100 ms.
        interval: Option<Duration>,
    }
}

table! {
    /// Bursts of datagrams with exponential on and off times, over UDP.
    pub(crate) struct OnOffTable {
        /// Payload of a datagram in bytes, 1 to 65 000.
        size: Bytes,
        /// Payload rate during a burst.
        rate: Speed,
        /// Mean length of a burst.
        on: Duration,
        /// Mean silence between bursts.
        off: Duration,
    }
}

/// A traffic model.
#[derive(Clone, Debug)]
pub(crate) enum App {
    Bulk,
    File(FileTable),
    Cbr(CbrTable),
    Ping(PingTable),
    OnOff(OnOffTable),
}

impl Format {
    /// The number in its name.
    pub(crate) const fn version(self) -> u32 {
        match self {
            Self::One => 1,
        }
    }
}

impl App {
    const KINDS: [&'static str; 5] = ["bulk", "file", "cbr", "ping", "onoff"];

    fn of_kind(kind: &str, rest: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        match kind {
            "bulk" => Fields::open(rest, path, &[], problems).map(|_| Self::Bulk),
            "file" => FileTable::read(rest, path, problems).map(Self::File),
            "cbr" => CbrTable::read(rest, path, problems).map(Self::Cbr),
            "ping" => PingTable::read(rest, path, problems).map(Self::Ping),
            "onoff" => OnOffTable::read(rest, path, problems).map(Self::OnOff),
            _ => {
                let message = format!("`{kind}` is no traffic model");
                let help = suggestion(kind, &Self::KINDS);
                problems.add(Problem::new(rest.at, path, message).help(help));
                None
            }
        }
    }
}

impl Read for App {
    fn read(node: &Node, path: &str, problems: &mut Problems) -> Option<Self> {
        let mut rest = node.clone();
        match &node.value {
            Value::Text(kind) => {
                rest.value = Value::Table(Vec::new());
                Self::of_kind(kind, &rest, path, problems)
            }
            Value::Table(_) => {
                let Some(kind) = rest.take("kind") else {
                    let message = "missing key `kind`";
                    let help = format!("one of: {}", Self::KINDS.join(", "));
                    problems.add(Problem::new(node.at, path, message).help(help));
                    return None;
                };
                let kind = String::read(&kind.node, &format!("{path}.kind"), problems)?;
                Self::of_kind(&kind, &rest, path, problems)
            }
            _ => {
                let wanted = "a traffic model: \"bulk\", or a table such as \
                              { kind = \"ping\", interval = \"20ms\" }";
                problems.add(wrong_type(node, path, wanted));
                None
            }
        }
    }
}

impl JsonSchema for App {
    fn schema_name() -> Cow<'static, str> {
        "App".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let bulk = json_schema!({
            "description": "A stream that always has data, over TCP.",
            "type": "object",
            "additionalProperties": false,
        });
        let tables = [
            ("bulk", bulk),
            ("file", FileTable::json_schema(generator)),
            ("cbr", CbrTable::json_schema(generator)),
            ("ping", PingTable::json_schema(generator)),
            ("onoff", OnOffTable::json_schema(generator)),
        ]
        .map(|(kind, mut schema)| {
            let table = schema.ensure_object();
            let mut keys = serde_json::Map::new();
            keys.insert("kind".into(), serde_json::json!({ "const": kind }));
            if let Some(serde_json::Value::Object(own)) = table.remove("properties") {
                keys.extend(own);
            }
            table.insert("properties".into(), keys.into());
            let mut required = vec![serde_json::Value::from("kind")];
            if let Some(serde_json::Value::Array(own)) = table.remove("required") {
                required.extend(own);
            }
            table.insert("required".into(), required.into());
            schema
        });
        let [bulk, file, cbr, ping, onoff] = tables;
        json_schema!({
            "description": "A traffic model: its name when it needs no parameters, or a table.",
            "oneOf": [{ "enum": ["bulk", "ping"] }, bulk, file, cbr, ping, onoff],
        })
    }
}

/// What to vary. It is taken out of the tree before a cell is read; see `sweep`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepTable;

impl Read for SweepTable {
    fn read(_: &Node, _: &str, _: &mut Problems) -> Option<Self> {
        Some(Self)
    }
}

impl JsonSchema for SweepTable {
    fn schema_name() -> Cow<'static, str> {
        "Sweep".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Field paths with lists of values: every combination is run. In a \
                            `[[sweep.zip]]` table the lists have equal lengths and change \
                            together.",
            "type": "object",
            "properties": {
                "zip": {
                    "type": "array",
                    "items": { "type": "object" },
                },
            },
            "additionalProperties": {
                "anyOf": [
                    { "type": "array", "minItems": 1 },
                    { "type": "object" },
                ],
            },
        })
    }
}
