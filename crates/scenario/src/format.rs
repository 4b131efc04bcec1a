//! The tables and keys of a scenario file: one list from which the reader, the JSON Schema and
//! the reference in `docs/scenario.md` are made. The doc comments here are that reference.

use crate::apps::App;
use crate::problem::Problems;
use crate::quantity::{
    ChanceWords, ChangedSpeed, Dscp, Duration, Factor, Length, LossWords, Name, Queue,
    ReorderWords, Seeds, Speed,
};
use crate::read::Read;
use crate::tree::Node;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_apps::Transport as Carrier;
use sojourn_radio::{Profile, Propagation};
use sojourn_text::hop::HopTable;
use sojourn_text::{table, words};
use sojourn_units::{Ecn, Span};
use sojourn_world::{Hosts, Stack, StackControl};
use std::borrow::Cow;
use tcp::TcpTable;

pub(crate) mod tcp;

/// The only format so far.
pub(crate) const FORMAT: &str = "sojourn-scenario/1";

table! {
    /// A scenario of Sojourn: links, queues, flows and what to sweep.
    pub(crate) struct ScenarioFile {
        /// `"sojourn-scenario/1"`: the version of this format.
        format: Format,
        /// Short name, used in file names and results.
        name: Name,
        /// A title of one line. Default: the name.
        title: Option<String>,
        /// A longer description. Default: empty.
        description: Option<String>,
        /// Length of a run.
        duration: Duration,
        /// Statistics start here; series cover the whole run. Less than `duration`. Default 0:
        /// nothing is left out.
        warmup: Option<Duration>,
        /// How long datagrams that are under way at the end may take to arrive. In the simulator,
        /// those that have not arrived by then count as in flight, neither lost nor delivered. On
        /// real packets they cannot be counted, and so count as lost. Default 10 s.
        drain: Option<Duration>,
        /// Seeds of each combination: a number of seeds (1, 2, 3 and so on) or a list of them.
        /// Default 1.
        seeds: Option<Seeds>,
        /// Interval of the series; a run keeps at most 2000 points, so long runs widen it.
        /// Default 100 ms.
        sample: Option<Duration>,
        /// Which length of a packet queues and links count. Default `ethernet`.
        framing: Option<Framing>,
        /// How hosts hand what TCP sends to their queues. Default `linux`.
        hosts: Option<HostsWord>,
        /// Whether hosts and queues are on one machine, as in a test bed of network namespaces:
        /// Linux does not retransmit a segment of which a copy is still under way there. Radios
        /// have no such machine. Default false. Worlds with real hosts are as they are.
        one_machine: Option<bool>,
        /// Whether round-trip times of flows are also measured from packets at both ends, by
        /// synthetic packet pairs (`spp_rtt_ms`, `spp_induced_rtt_ms`). Runs take a little longer.
        /// Default false.
        spp: Option<bool>,
        /// Whether flows keep series (goodput, RTT, window) in addition to their figures. Default:
        /// in runs of up to 256 flows; with more, series would take most of a run's memory and of
        /// its report.
        flow_series: Option<bool>,
        /// TCP's parameters for all flows; a flow's own `tcp` takes precedence.
        tcp: Option<TcpTable>,
        /// The short form of a topology: clients, servers, one bottleneck each way. Either this
        /// or `node` and `link`.
        dumbbell: Option<DumbbellTable>,
        /// Stations that share a radio medium: those of its `chain` or `grid`, or `node` with
        /// positions. Instead of `dumbbell` and `link`.
        radio: Option<RadioTable>,
        /// The long form of a topology: its nodes.
        node: Option<Vec<NodeTable>>,
        /// The long form of a topology: its links. Packets take the path with the fewest hops,
        /// the earlier listed link first among equals.
        link: Option<Vec<LinkTable>>,
        /// Traffic; at least one flow.
        flow: Vec<FlowTable>,
        /// Changes of links during the run.
        change: Option<Vec<ChangeTable>>,
        /// What to vary: up to 100 field paths with lists of values, each value once. Every
        /// combination is run, with every seed: at most 100 000 runs, with a million links and
        /// flows.
        // Here for the schema; `sweep` reads it from the tree.
        sweep: Option<SweepTable>,
    }
}

words! {
    /// The format's name.
    pub(crate) enum Format: u32 {
        /// Version 1.
        One = "sojourn-scenario/1" => 1,
    }
}

words! {
    /// What queues and links count as a packet's length.
    pub(crate) enum Framing: u16 {
        /// The IP packet and 14 bytes of Ethernet header, as Linux counts.
        Ethernet = "ethernet" => 14,
        /// The IP packet alone, as ns-2 counts.
        Ip = "ip" => 0,
    }
}

words! {
    /// How hosts hand what TCP sends to their queues.
    pub(crate) enum HostsWord: Hosts {
        /// One segment at a time: the queue has packets as a wire has them.
        Linux = "linux" => Hosts::Linux,
        /// Trains of up to 64 KiB, as Linux with TSO or GSO: one packet for the queue.
        LinuxGso = "linux-gso" => Hosts::LinuxGso,
        /// One segment at a time, paced as Linux with `fq` at the host's interface (tc-fq(8)).
        LinuxFq = "linux-fq" => Hosts::LinuxFq,
        /// Trains, paced: TSO or GSO, and `fq`.
        LinuxGsoFq = "linux-gso-fq" => Hosts::LinuxGsoFq,
    }
}

table! {
    /// `client — queue → up link — delay → server`, and back through `down`. A key given here
    /// counts for both directions, one in `up` or `down` for that direction alone.
    pub(crate) struct DumbbellTable {
        /// Round-trip time of the empty path, for flows without an `rtt` of their own. If the
        /// links' own delays are shorter, the rest is added behind them, half in each direction.
        /// Default: the sum of the links' delays.
        rtt: Option<Duration>,
        /// Rate of each host's own access link. With it, every flow has a host of its own at
        /// both ends. Default: no access links.
        access: Option<Speed>,
        /// Whether the clients are behind a network address translation: on the links all their
        /// hosts have one address, and only a queue with `nat` distinguishes them. Default false.
        nat: Option<bool>,
        /// From client to server.
        up: Option<HopTable>,
        /// From server to client.
        down: Option<HopTable>,
        ..hop: HopTable,
    }
}

table! {
    /// A host or router.
    pub(crate) struct NodeTable {
        /// Its name.
        name: Name,
        /// Where it is, east and north, with a `radio`.
        position: Option<Vec<Length>>,
        /// The queue of its radio. Default: the `radio`'s.
        qdisc: Option<Queue>,
        /// Transmit power of its radio in dBm, 0 to 36. Default 15, for which `range` and `sense`
        /// are given.
        power_dbm: Option<Factor>,
        /// Deadline of the nodal delay; a longer one counts as missed. Default: the `radio`'s.
        nodal_deadline: Option<Duration>,
    }
}

table! {
    /// A radio medium: IEEE 802.11 ad hoc stations, one in each node.
    pub(crate) struct RadioTable {
        /// Constants of the radio and the rules of medium access. Default `standard-802.11b`.
        profile: Option<ProfileWord>,
        /// Nodes in a row, named `n0`, `n1` and so on; flows may say `first` and `last`.
        chain: Option<ChainTable>,
        /// Nodes in rows and columns, row by row, named `n0`, `n1` and so on.
        grid: Option<GridTable>,
        /// The queue of every station, in tc's words. Default `pfifo limit 1000`.
        qdisc: Option<Queue>,
        /// Packets that the radio itself holds below the queue, 0 to 1000, as the firmware of Wi-Fi
        /// cards does. They have left the queue and wait for the medium. Default 0: a packet leaves
        /// the queue when the radio can send it.
        driver_queue: Option<u32>,
        /// How packets find their route. Default `static`.
        routing: Option<RoutingWord>,
        /// Longest hop of static routes, at most `range`. Default: the radio's reach.
        hop: Option<Length>,
        /// Time between AODV's hello messages. Default: no hello messages; the MAC reports broken
        /// links.
        hello: Option<Duration>,
        /// Whether packets of the routing protocol bypass the queue. Default true.
        routing_first: Option<bool>,
        /// Whether stations ask for each other's addresses (ARP). Default: true for `ns2-802.11b`
        /// and `testbed-802.11b`; stations of the other profiles know all addresses.
        arp: Option<bool>,
        /// Distance up to which frames can be received. Default 30 m.
        range: Option<Length>,
        /// Distance up to which frames are heard, at least `range`. Default: 2.2 times `range`.
        sense: Option<Length>,
        /// How power falls with distance. Default `two-ray`.
        propagation: Option<PropagationWord>,
        /// Reception survives another frame that is weaker by at least this many dB, 0 to 100, at
        /// any rate. Default: 10 with `ns2-802.11b` and `testbed-802.11b`. With the others the SINR
        /// decides, by the error rate of each bitrate.
        capture_db: Option<Factor>,
        /// Rate of data frames: 1, 2, 5.5 or 11 Mbit/s; with `standard-802.11g` also 6, 9, 12, 18,
        /// 24, 36, 48 or 54. Default: the profile's.
        data_rate: Option<Speed>,
        /// Rate of ACKs, of RTS and CTS, and of frames to all. Default: the profile's; with
        /// `standard-802.11g` frames to all at 6 Mbit/s, answers at the highest of 6, 12 and 24
        /// that is not above `data_rate`.
        basic_rate: Option<Speed>,
        /// Preamble of 802.11b. By the standard a frame at 1 Mbit/s always has the long one.
        /// Default `long`.
        preamble: Option<PreambleWord>,
        /// Data frames longer than this, in bytes with their header, follow an RTS. Default: none.
        rts_above: Option<u32>,
        /// Attempts of a frame, 1 to 255. Default 7; 8 with `testbed-802.11b`.
        attempts: Option<u32>,
        /// Smallest contention window in slots, 1 to 1023. Default: the profile's.
        cw_min: Option<u32>,
        /// Deadline of the nodal delay, the time from entering the queue to the ACK; a longer one
        /// counts as missed. Default: none.
        nodal_deadline: Option<Duration>,
    }
}

table! {
    /// Nodes in a row.
    pub(crate) struct ChainTable {
        /// Hops from the first to the last, 1 to 10 000: one node more.
        hops: u32,
        /// Distance between neighbours.
        spacing: Length,
    }
}

table! {
    /// Nodes in rows and columns.
    pub(crate) struct GridTable {
        /// Nodes in a row, 1 to 1000.
        columns: u32,
        /// Rows, 1 to 1000.
        rows: u32,
        /// Distance between neighbours.
        spacing: Length,
    }
}

words! {
    /// Constants of a radio.
    pub(crate) enum ProfileWord: Profile {
        /// 802.11b as ns-2.35 has it.
        Ns2B = "ns2-802.11b" => Profile::NS2_B,
        /// The same with short preambles, ACKs at 2 Mbit/s and eight attempts: the devices of
        /// ADTH's testbed.
        TestbedB = "testbed-802.11b" => Profile::TESTBED_B,
        /// 802.11b (IEEE 802.11-2007 clause 18), ACKs at 1 Mbit/s.
        StandardB = "standard-802.11b" => Profile::STANDARD_B,
        /// 802.11g without 802.11b around (IEEE 802.11-2007 clause 19).
        StandardG = "standard-802.11g" => Profile::STANDARD_G,
    }
}

words! {
    /// Who decides where packets go over a radio.
    pub(crate) enum RoutingWord {
        /// The shortest ways from the first moment.
        Static = "static",
        /// AODV (RFC 3561).
        Aodv = "aodv",
        /// AODV with the constants of ns-2.
        AodvNs2 = "aodv-ns2",
    }
}

words! {
    /// How power falls with distance.
    pub(crate) enum PropagationWord: Propagation {
        /// With the square.
        Friis = "friis" => Propagation::Friis,
        /// With the fourth power beyond the crossover distance.
        TwoRay = "two-ray" => Propagation::TwoRay,
    }
}

words! {
    /// The preamble of 802.11b, with its header.
    pub(crate) enum PreambleWord: Span {
        /// 192 µs.
        Long = "long" => Span::from_micros(192),
        /// 96 µs.
        Short = "short" => Span::from_micros(96),
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
        /// Adds an equal link in the other direction, named `NAME-back`, or `TO-FROM` without a
        /// name. Default false.
        duplex: Option<bool>,
        ..hop: HopTable,
    }
}

table! {
    /// Traffic between two hosts.
    pub(crate) struct FlowTable {
        /// Its name; results are listed under it.
        name: Name,
        /// Number of equal flows, 1 to 100 000, named `NAME-1`, `NAME-2` and so on. A run has at
        /// most 100 000 flows; with `every` each repetition counts. Default: one, named `NAME`.
        count: Option<u32>,
        /// Whether the results have one entry named `NAME` for all flows of a `count`, instead of
        /// one for each. Default false.
        grouped: Option<bool>,
        /// The short form of `from` and `to` in a dumbbell.
        direction: Option<Direction>,
        /// Name of the sender's node (the side that asks, for `ping`); in a dumbbell `client` or
        /// `server`.
        from: Option<Name>,
        /// Name of the receiver's node.
        to: Option<Name>,
        /// Name of the sender's host, one of several on its side of a dumbbell: flows with the
        /// same name there share a host. Default: one host for all flows without a name, or with
        /// `access` one for each flow.
        src_host: Option<Name>,
        /// Name of the receiver's host, as `src_host`. The two sides have their own names.
        dst_host: Option<Name>,
        /// The traffic model: its name, or a table with its `kind` and parameters.
        app: App,
        /// The transport protocol. Only cbr can choose; its default is `udp`. Each other model has
        /// a fixed one, see [applications](apps.md).
        transport: Option<TransportWord>,
        /// Another project's transport, which carries the flow in the simulator: a program that
        /// is built [with it](net.md#a-stack-in-a-scenario) is needed. Only of bulk. Default: our
        /// TCP, and UDP.
        stack: Option<StackWord>,
        /// The congestion control of the `stack`, in its own code. Default `cubic`. That of our TCP
        /// is `tcp.cc`.
        cc: Option<StackControlWord>,
        /// TCP's parameters for this flow.
        tcp: Option<TcpTable>,
        /// Round-trip time of the empty path. Default: the dumbbell's `rtt`, or in a graph the sum
        /// of the links' delays in both directions, which is also the minimum.
        rtt: Option<Duration>,
        /// One-way delay above which a datagram counts as late (`late_ratio`, `data_yield`).
        /// Default: none.
        deadline: Option<Duration>,
        /// DiffServ code point of its packets, in both directions. Default 0.
        dscp: Option<Dscp>,
        /// ECN field of the datagrams of a UDP flow, in both directions; "ect1" is L4S. Only
        /// realtime reacts to marks; `ce_ratio` counts them. TCP has `tcp.ecn`. Default: none, not
        /// ECN-capable.
        ecn: Option<EctWord>,
        /// Firewall mark of its packets, in both directions, for `fwmark`. Default 0.
        mark: Option<u32>,
        /// Class of the queue that its sender requests (the minor number of `skb->priority`), in
        /// both directions, 1 to 65 535. For CAKE this is a tin, counted from 1 in the order that
        /// tc shows. Default: none.
        class: Option<u32>,
        /// When it begins. Default 0.
        start: Option<Duration>,
        /// Adds a random time from 0 to below this to `start`, drawn from the seed for each flow.
        /// Default 0.
        start_spread: Option<Duration>,
        /// Time between the starts of two successive flows of `count`. Default 0.
        start_step: Option<Duration>,
        /// When its app stops. Default: at the end of the run.
        stop: Option<Duration>,
        /// Starts the flow again after each such time until the end of the run, on a new
        /// connection. Each one stops after the time between `start` and `stop`. The results of all
        /// have one name. Default: it starts once.
        every: Option<Duration>,
    }
}

table! {
    /// A change of a link during the run. It does not affect the packet that is being sent, and
    /// queued packets stay queued.
    pub(crate) struct ChangeTable {
        /// A name by which a sweep or `--set` refers to it. Default: none.
        name: Option<Name>,
        /// When.
        at: Duration,
        /// Name of the link; in a dumbbell `up` or `down`, of a radio the node's.
        link: Name,
        /// New rate. At least one of this key and the following is required.
        rate: Option<ChangedSpeed>,
        /// New propagation delay. Packets already sent arrive as before; later ones overtake them
        /// only with `reorder`. The delay that a flow's `rtt` adds to the links' delays is
        /// unchanged.
        delay: Option<Duration>,
        /// New jitter.
        jitter: Option<Duration>,
        /// Whether packets may overtake others after the change.
        reorder: Option<ReorderWords>,
        /// New loss.
        loss: Option<LossWords>,
        /// New rate of duplicates.
        duplicate: Option<ChanceWords>,
        /// New position of a radio's node, east and north.
        position: Option<Vec<Length>>,
        /// New queue, in tc's words; an option that is not named has its default. A queue of the
        /// same kind takes the new parameters and keeps its state, another kind starts empty of
        /// state.
        qdisc: Option<Queue>,
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
    /// What datagrams say of ECN.
    pub(crate) enum EctWord: Ecn {
        /// Not ECN-capable.
        None = "none" => Ecn::NotEct,
        /// As RFC 3168 has it.
        Ect0 = "ect0" => Ecn::Ect0,
        /// L4S (RFC 9331).
        Ect1 = "ect1" => Ecn::Ect1,
    }
}

words! {
    /// Another project's transport.
    pub(crate) enum StackWord: Stack {
        /// QUIC by quinn-proto, with ECN.
        Quinn = "quinn" => Stack::Quinn(StackControl::Cubic),
    }
}

words! {
    /// The stack's congestion control, which is not ours.
    pub(crate) enum StackControlWord: StackControl {
        /// CUBIC.
        Cubic = "cubic" => StackControl::Cubic,
        /// NewReno (RFC 9002).
        Reno = "reno" => StackControl::Reno,
        /// BBR version 1.
        Bbr = "bbr" => StackControl::Bbr,
    }
}

words! {
    /// What carries a flow.
    pub(crate) enum TransportWord: Carrier {
        /// A byte stream.
        Tcp = "tcp" => Carrier::Tcp,
        /// Datagrams.
        Udp = "udp" => Carrier::Udp,
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
                            together. An interval, `1mbit .. 100mbit`, is for `sojourn hunt`.",
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
                    { "type": "string", "pattern": r"\.\." },
                    { "type": "object" },
                ],
            },
        })
    }
}
