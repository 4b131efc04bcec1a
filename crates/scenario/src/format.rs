//! The tables and keys of a scenario file: one list from which the reader, the JSON Schema and
//! the reference in `docs/scenario.md` are made. The doc comments here are that reference.

use crate::apps::App;
use crate::problem::Problems;
use crate::quantity::{
    AckDelay, Bytes, ChanceWords, ChangedSpeed, Dscp, Duration, EcnWord, Factor, Length, LossWords,
    Name, Queue, ReorderWords, Seeds, Speed,
};
use crate::read::Read;
use crate::tree::Node;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use sojourn_apps::Transport as Carrier;
use sojourn_radio::{Profile, Propagation};
use sojourn_tcp::{Algorithm, RtoRule, SlowStart, VegasConfig};
use sojourn_text::hop::HopTable;
use sojourn_text::{table, words};
use sojourn_units::{Ecn, Span};
use sojourn_world::Stack;
use std::borrow::Cow;

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
        /// Number of equal flows, 1 to 10 000, named `NAME-1`, `NAME-2` and so on. A run has at
        /// most 20 000 flows; with `every` each repetition counts. Default: one, named `NAME`.
        count: Option<u32>,
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
        /// ECN field of the datagrams of a UDP flow, in both directions; "ect1" is L4S. No model
        /// reacts to marks; `ce_ratio` counts them. TCP has `tcp.ecn`. Default: not ECN-capable.
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
    /// A link becomes another one. A packet that is being sent is sent as it began, and those
    /// that wait stay.
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
        /// As RFC 3168 has it.
        Ect0 = "ect0" => Ecn::Ect0,
        /// L4S (RFC 9331).
        Ect1 = "ect1" => Ecn::Ect1,
    }
}

words! {
    /// Another project's transport.
    pub(crate) enum StackWord: Stack {
        /// QUIC by quinn-proto, with CUBIC and ECN.
        Quinn = "quinn" => Stack::Quinn,
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

table! {
    overlay
    /// TCP's parameters; defaults are Linux's.
    pub(crate) struct TcpTable {
        /// Congestion control. Default `cubic`. `newreno` and `sack` are Reno with that recovery:
        /// without SACK (RFC 6582), or by SACK without RACK (RFC 6675).
        cc: Option<CongestionControl>,
        /// Implementation of the sender. Default `linux`. `ns2` is ns-2's sender, with a receiver
        /// without SACK; of the other keys it uses only `mss`, `min_rto`, `initial_rto`, `max_rto`
        /// and `timestamps`.
        agent: Option<AgentWord>,
        /// How slow start ends when nothing is lost. Default `hystart`; it affects only cubic.
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
        /// How the timeout is computed from round-trip times. Default `linux`.
        rto: Option<RtoWord>,
        /// Granularity of the retransmission clock. Default 1 ms.
        clock: Option<Duration>,
        /// Tick of the clock that measures round-trip times for the timeout: both count in whole
        /// ticks. ns-2: 10 ms. Default 0: exact.
        tick: Option<Duration>,
        /// Whether the timeout is computed from one segment's round-trip time at a time, as in
        /// ns-2, instead of from every ACK, as in Linux. Default false.
        timed_segment: Option<bool>,
        /// Thresholds of Vegas. Default `linux`: 2 to 4 segments in the queue. `ns2`: 1 to 3, and
        /// slow start doubles every other round trip.
        vegas: Option<VegasWord>,
        /// Selective acknowledgements. Default true; false gives NewReno's recovery.
        sack: Option<bool>,
        /// Loss detection by time, with tail loss probes (RFC 8985). Default true with `sack`.
        rack: Option<bool>,
        /// Detection of spurious timeouts by the ACKs after them (F-RTO, RFC 5682). Default true
        /// with `sack`; ns-2: false.
        frto: Option<bool>,
        /// The timestamp option, 12 bytes in every segment. Default true.
        timestamps: Option<bool>,
        /// When the receiver acknowledges: `true` (every second segment, or after 40 to 200 ms; as
        /// in Linux, the delay follows the distance between segments, up to a round trip), `false`
        /// (every segment at once), or the longest delay. Default true.
        delayed_ack: Option<AckDelay>,
        /// Nagle's algorithm: small segments wait while data is in flight. Default false.
        nagle: Option<bool>,
        /// Explicit congestion notification: `true` as in RFC 3168, "accecn" with counts of marks
        /// (RFC 9768; Linux's `tcp_ecn` 3). Default false.
        ecn: Option<EcnWord>,
        /// Spread each window over a round trip. Default false.
        pacing: Option<bool>,
        /// Whether Prague's round-trip times below 25 ms count as 25 ms after 500 round trips.
        /// Default true.
        rtt_independence: Option<bool>,
        /// Prague: where the round trip varies as behind a queue with classic ECN, a mark costs at
        /// least 5/16 of the window (the L4S team's `prague_ecn_fallback`). Default false.
        ecn_fallback: Option<bool>,
        /// Largest send buffer in bytes, a limit on the data in flight; the buffer grows up to it
        /// with the window. Default 2740682, which Linux's 4 MiB of memory can hold. ns-2's senders
        /// have none.
        send_buffer: Option<Bytes>,
        /// Receive window at the start, in bytes. As in Linux, one segment less is offered while
        /// the window can grow. Default 64 KiB.
        receive_window: Option<Bytes>,
        /// Largest receive window that auto-tuning may reach, in bytes. Default 3 MiB.
        receive_window_max: Option<Bytes>,
    }
}

words! {
    /// Congestion control.
    pub(crate) enum CongestionControl: Algorithm {
        /// RFC 5681.
        Reno = "reno" => Algorithm::Reno,
        /// Reno with recovery without SACK (RFC 6582): `reno` and `sack = false`.
        NewReno = "newreno" => Algorithm::Reno,
        /// Reno with recovery by SACK alone (RFC 6675): `reno` and `rack = false`.
        Sack = "sack" => Algorithm::Reno,
        /// Brakmo and Peterson 1995: keeps a few segments in the queue.
        Vegas = "vegas" => Algorithm::Vegas,
        /// Westwood+: reductions follow the estimated bandwidth.
        Westwood = "westwood" => Algorithm::Westwood,
        /// RFC 9438.
        Cubic = "cubic" => Algorithm::Cubic,
        /// Compound TCP (Tan et al. 2006); not in Linux.
        Compound = "compound" => Algorithm::Compound,
        /// Data Center TCP (RFC 8257), with RFC 3168's ECN if `ecn` names no other.
        Dctcp = "dctcp" => Algorithm::Dctcp,
        /// Prague (draft-briscoe-iccrg-prague-congestion-control), with AccECN and ECT(1), for
        /// queues of L4S such as `dualpi2`; not in Linux.
        Prague = "prague" => Algorithm::Prague,
        /// BBR version 1, as Linux has it.
        Bbr = "bbr" => Algorithm::Bbr,
        /// BBR version 3 (draft-ietf-ccwg-bbr); not in Linux.
        Bbr3 = "bbr3" => Algorithm::Bbr3,
        /// BIC (Xu, Harfoush, Rhee 2004); only in Linux.
        Bic = "bic" => Algorithm::Linux("bic"),
        /// CAIA Delay-Gradient (Hayes, Armitage 2011); only in Linux.
        Cdg = "cdg" => Algorithm::Linux("cdg"),
        /// HighSpeed TCP (RFC 3649); only in Linux.
        HighSpeed = "highspeed" => Algorithm::Linux("highspeed"),
        /// H-TCP (Leith, Shorten 2004); only in Linux.
        Htcp = "htcp" => Algorithm::Linux("htcp"),
        /// TCP Hybla (Caini, Firrincieli 2004); only in Linux.
        Hybla = "hybla" => Algorithm::Linux("hybla"),
        /// TCP-Illinois (Liu, Başar, Srikant 2006); only in Linux.
        Illinois = "illinois" => Algorithm::Linux("illinois"),
        /// TCP-LP, low priority (Kuzmanovic, Knightly 2003); only in Linux.
        Lp = "lp" => Algorithm::Linux("lp"),
        /// TCP-NV (Brakmo 2010); only in Linux.
        Nv = "nv" => Algorithm::Linux("nv"),
        /// Scalable TCP (Kelly 2003); only in Linux.
        Scalable = "scalable" => Algorithm::Linux("scalable"),
        /// TCP Veno (Fu, Liew 2003); only in Linux.
        Veno = "veno" => Algorithm::Linux("veno"),
        /// YeAH-TCP (Baiocchi, Castellani, Vacirca 2007); only in Linux.
        Yeah = "yeah" => Algorithm::Linux("yeah"),
    }
}

words! {
    /// How the retransmission timeout follows from the round trips.
    pub(crate) enum RtoWord: RtoRule {
        /// The smoothed round trip, and four deviations or `min_rto` on top, whichever is more.
        Linux = "linux" => RtoRule::Linux,
        /// The smoothed round trip and four deviations, at least `min_rto` in all; ns-2 and ns-3.
        Rfc6298 = "rfc6298" => RtoRule::Rfc6298,
    }
}

words! {
    /// Whose sender a connection has.
    pub(crate) enum AgentWord {
        /// As Linux combines the RFCs.
        Linux = "linux",
        /// ns-2 2.35's one-way agents with a window of 20 packets: `Newreno` for newreno and reno,
        /// `Sack1` for sack, `Linux` for vegas, westwood, compound and cubic. Without SACK blocks
        /// only NewReno repairs losses before a timeout. Vegas's timestamps are on by default.
        Ns2 = "ns2",
    }
}

words! {
    /// Whose thresholds Vegas has.
    pub(crate) enum VegasWord: VegasConfig {
        /// 2 to 4 segments in the queue; slow start doubles every round trip.
        Linux = "linux" => VegasConfig::default(),
        /// 1 to 3 segments, and doubling every other round trip, as in the paper.
        Ns2 = "ns2" => VegasConfig::NS2,
    }
}

words! {
    /// How slow start ends when nothing is lost.
    pub(crate) enum SlowStartWord: SlowStart {
        /// Only by a loss, a mark or the threshold.
        Standard = "standard" => SlowStart::Standard,
        /// As in Linux's CUBIC.
        HyStart = "hystart" => SlowStart::HyStart,
        /// RFC 9406.
        HyStartPlusPlus = "hystart++" => SlowStart::HyStartPlusPlus,
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
