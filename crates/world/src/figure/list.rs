//! The list, and the types that hold what it names.
//!
//! A row is
//!
//! ```text
//! field: Type, "key", Unit, "Title", "meaning", "source";
//! ```
//!
//! with `field = |part| …` where the figure follows from other fields, `"key" = "metric"` where
//! its metric is not the field's name, `"key" later` where older summaries lack it, and
//! `"key" rare` where results lack it that have no value of it.

use super::held::{Measured, Series};
use super::row::{Access, Figure, Kind, Part, Row, Shape};
use super::statistic::Distribution;
use sojourn_qdisc::Report;
use sojourn_units::{Rate, Span, Unit};
use std::borrow::Cow;

/// Linux's clocks of what limits a connection.
const CHRONO: &str = "Linux `tcp_chrono_start`, net/ipv4/tcp_output.c";
const JIOT: &str = "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683";
/// The two queues, and how they are coupled.
const DUAL: &str = "RFC 9332 section 2.4";
const STEERING: &str = "Bless, Hock, Zitterbart 2018";

/// Makes a part of a result and its rows.
macro_rules! part {
    (
        $(#[$about:meta])*
        $part:ident {
            $($field:ident $(: $type:ident $(<$of:ident>)?)? $(= $derived:expr)?,
                $key:literal $(= $metric:literal)? $($later:ident)?,
                $unit:ident, $title:literal, $meaning:literal, $source:expr;)*
        } beside {
            $($(#[$doc:meta])* $other:ident: $kind:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $part {
            $($(#[doc = $meaning] pub $field: $type $(<$of>)?,)?)*
            $($(#[$doc])* pub $other: $kind,)*
        }

        impl $part {
            pub(super) const ROWS: &[Row<Self>] = &[$(Row {
                figure: Figure {
                    kind: <Self as Part>::KIND,
                    shape: part!(@shape $($type)?),
                    key: $key,
                    metric: part!(@metric $field $($metric)?),
                    unit: Unit::$unit,
                    title: $title,
                    meaning: $meaning,
                    source: $source,
                },
                is_later: part!(@later $($later)?),
                is_rare: part!(@rare $($later)?),
                access: part!(@access $field $(: $type)? $(= $derived)?),
            },)*];
        }
    };
    (@shape Distribution) => { Shape::Distribution };
    (@shape $($scalar:ident)?) => { Shape::Scalar };
    (@metric $field:ident $metric:literal) => { $metric };
    (@metric $field:ident) => { stringify!($field) };
    (@later later) => { true };
    (@later rare) => { true };
    (@later) => { false };
    (@rare rare) => { true };
    (@rare $($later:ident)?) => { false };
    (@access $field:ident: $type:ident) => {
        Access::Held {
            get: |part| &part.$field,
            slot: |part| &mut part.$field,
        }
    };
    (@access $field:ident = $derived:expr) => { Access::Derived($derived) };
}

part! {
    /// What happened at a link's queue, from the warm-up to the end.
    LinkResult {
        offered_packets: u64, "offered_packets", Packets, "Offered",
            "Packets offered to the queue after the warm-up, dropped ones included.",
            "";
        offered_bytes: u64, "offered_bytes", Bytes, "Offered bytes",
            "Bytes of the offered packets, link header included.",
            "";
        dequeued_packets: u64, "dequeued_packets", Packets, "Dequeued",
            "Packets that the queue gave to the link after the warm-up.",
            "";
        dequeued_bytes: u64, "dequeued_bytes", Bytes, "Dequeued bytes",
            "Bytes of the dequeued packets, link header included.",
            "";
        dropped_packets: u64, "dropped_packets", Packets, "Dropped",
            "Packets that the queue dropped after the warm-up, for any reason. The discipline's \
             own statistics list the reasons.",
            "";
        marked_packets: u64, "marked_packets", Packets, "Marked",
            "Packets whose ECN field the queue set to Congestion Experienced instead of dropping \
             them.",
            "RFC 3168 section 5";
        drop_ratio = |link| ratio(link.dropped_packets, link.offered_packets),
            "drop_ratio", Share, "Drop ratio",
            "Dropped over offered packets. No value when nothing was offered.",
            "";
        utilisation: Option<f64>, "utilisation", Share, "Utilisation",
            "Dequeued bits over the link's rate times the measured time: 1 is a full link. For a \
             link with a trace, bits of IP packets over the capacity of the trace's opportunities \
             of 1500 bytes. No value for a link without a rate.",
            "RFC 5136";
        lost_packets: Option<f64>, "lost_packets" later, Packets, "Lost on the line",
            "Packets and copies that the line lost behind the queue (`loss`), after the warm-up. \
             No value for lines that neither lose nor copy, nor with the kernel's own queues, \
             where they cannot be counted.",
            "";
        duplicated_packets: Option<f64>, "duplicated_packets" later, Packets, "Copied on the line",
            "Copies that the line made behind the queue (`duplicate`), after the warm-up. Packets \
             dequeued plus copies are packets that arrive plus packets lost. No value where \
             `lost_packets` has none.",
            "";
        backlog_packets_mean: f64, "backlog_packets_mean", Packets, "Mean backlog",
            "Packets held by the queue, averaged over time (not over packets).",
            "";
        sojourn: Distribution, "sojourn_ms", Ms, "Sojourn time",
            "Time from enqueue to dequeue of every packet that the queue gave to the link. \
             Dropped packets do not count.",
            "RFC 8289 section 2";
        mac_delay: Distribution, "mac_delay_ms" later, Ms, "MAC delay",
            "Time between two successive departures from a radio's queue while other packets \
             waited: contention, transmission and repetitions.",
            "";
        nodal_delay: Distribution, "nodal_delay_ms" later, Ms, "Nodal delay",
            "Time from a packet's arrival at a radio's queue until it is acknowledged or given up.",
            "";
        nodal_miss_ratio: Option<f64>, "nodal_miss_ratio" later, Share, "Nodal delay missed",
            "Packets with a nodal delay above the node's deadline, over all packets with a known \
             nodal delay. No value without a deadline.",
            "";
        frames: Option<f64>, "frames" later, None, "Data frames",
            "Data frames that a radio sent, repetitions included.",
            "";
        repeated_frames: Option<f64>, "repeated_frames" later, None, "Repeated frames",
            "Data frames that were repetitions.",
            "";
        collided_frames: Option<f64>, "collided_frames" later, None, "Collided frames",
            "Data frames of a radio that were lost at their receiver because it heard another \
             frame.",
            "";
        retry_drops: Option<f64>, "retry_drops" later, Packets, "Given up",
            "Packets that a radio gave up after the last attempt.",
            "IEEE 802.11-2007 section 9.2.5.3";
        no_route_drops: Option<f64>, "no_route_drops" later, Packets, "Without a route",
            "Packets lost at a radio because there is no route, or the link of their route is \
             broken.",
            "RFC 3561";
        routing_buffer_drops: Option<f64>, "routing_buffer_drops" later, Packets, "Routing buffer",
            "Packets lost while they waited for a route or an address: too many packets, or too \
             long a wait.",
            "";
        airtime: Option<f64>, "airtime" later, Share, "Airtime",
            "Share of the time in which the radio sends, ACKs included.",
            "";
        l_sojourn: Distribution, "l_sojourn_ms" rare, Ms, "Sojourn time (L)",
            "Sojourn time of the packets of the L queue alone, for a queue that is a pair \
             (`dualpi2`, also below a shaper). All worlds have the figures of the L and the C \
             queue.",
            DUAL;
        c_sojourn: Distribution, "c_sojourn_ms" rare, Ms, "Sojourn time (C)",
            "Sojourn time of the packets of the C queue alone, that of classic traffic.",
            DUAL;
        l_dequeued_packets: Option<f64>, "l_dequeued_packets" rare, Packets, "Dequeued (L)",
            "Packets that the L queue gave to the link.",
            "";
        c_dequeued_packets: Option<f64>, "c_dequeued_packets" rare, Packets, "Dequeued (C)",
            "Packets that the C queue gave to the link.",
            "";
        l_marked_packets: Option<f64>, "l_marked_packets" rare, Packets, "Marked (L)",
            "Packets that the L queue marked CE: by the coupled probability, the step or the ramp. \
             Packets that arrived with CE do not count, unlike in Linux's `ecn-mark`. The \
             kernel's own queues do not distinguish the two: with them, this figure and the next \
             two exist only in a dumbbell, where no packet arrives with CE.",
            "RFC 9331 section 5";
        c_marked_packets: Option<f64>, "c_marked_packets" rare, Packets, "Marked (C)",
            "Packets that the C queue marked CE: of flows with classic ECN.",
            "RFC 3168 section 5";
        l_came_marked_packets: Option<f64>, "l_came_marked_packets" rare, Packets, "Came with CE",
            "Packets that arrived with CE, dropped ones included. They go into the L queue, but \
            this queue did not mark them.",
            "RFC 9331 section 5.1";
        l_dropped_packets: Option<f64>, "l_dropped_packets" rare, Packets, "Dropped (L)",
            "Packets of the L queue that were dropped, also on arrival at the common limit.",
            "";
        c_dropped_packets: Option<f64>, "c_dropped_packets" rare, Packets, "Dropped (C)",
            "Packets of the C queue that were dropped, also on arrival at the common limit.",
            "";
        l_mark_ratio = |link| some_ratio(link.l_marked_packets, link.l_dequeued_packets),
            "l_mark_ratio" rare, Share, "Mark ratio (L)",
            "Packets that the L queue marked over those that it gave to the link.",
            "";
        c_signal_ratio = |link| some_ratio(
                link.c_dropped_packets.zip(link.c_marked_packets).map(|(a, b)| a + b),
                link.c_dropped_packets.zip(link.c_dequeued_packets).map(|(a, b)| a + b),
            ),
            "c_signal_ratio" rare, Share, "Signal ratio (C)",
            "Packets that the C queue dropped or marked over those that it dropped or gave to the \
             link.",
            "";
        base_probability: Distribution, "base_probability" rare, Share, "Base probability",
            "p', whose square is the probability of a drop or mark in the C queue. Sampled four \
             times in each interval of the series, when a packet leaves.",
            DUAL;
        coupled_probability: Distribution, "coupled_probability" rare, Share, "Coupled probability",
            "The coupling factor times the base probability, at most 1: the probability of a mark \
             in the L queue, in addition to its own step or ramp.",
            DUAL;
    } beside {
        /// The queue's own statistics at the end of the run, from its beginning.
        qdisc: Report,
        /// Over time: those of [`series`](super::series), and the queue's own variables.
        series: Vec<Series>,
    }
}

part! {
    /// What happened to a flow, from the warm-up to the end.
    FlowResult {
        goodput: Rate, "goodput_bps", Bps, "Goodput",
            "Payload bits delivered to the receiving application per second, from the warm-up (or \
             the flow's start, if later) to the end. Headers, retransmitted copies and lost \
             packets do not count. For a ping, the requests count.",
            "RFC 2647 section 3.17";
        sent_packets: u64, "sent_packets", Packets, "Sent",
            "Data packets sent by the flow's first end, with retransmissions and without pure \
             ACKs.",
            "";
        retransmitted_packets: u64, "retransmitted_packets", Packets, "Retransmitted",
            "Data packets that were not the first copy.",
            "";
        retransmit_ratio = |flow| ratio(flow.retransmitted_packets, flow.sent_packets),
            "retransmit_ratio", Share, "Retransmit ratio",
            "Retransmitted over sent packets. No value when nothing was sent.",
            "";
        rtt: Distribution, "rtt_ms", Ms, "Round-trip time",
            "TCP: one sample for every acknowledgement that yields one, taken at the sender. Ping: \
             from a request to its echo.",
            "RFC 6298 section 3; RFC 7323 section 4";
        induced_rtt: Distribution, "induced_rtt_ms", Ms, "Induced RTT",
            "Round-trip time minus the flow's base RTT (that of the empty path): the delay that \
             queues and serialisation add. The main figure to judge an AQM by.",
            JIOT;
        loss_ratio: Option<f64>, "loss_ratio", Share, "Loss ratio",
            "Datagrams lost over datagrams sent, in both directions of an echo. UDP only; for TCP \
             see the retransmit ratio. Datagrams still queued or on the way when the run stops are \
             not lost where `in_flight_ratio` counts them.",
            "RFC 7680 section 2";
        in_flight_ratio: Option<f64>, "in_flight_ratio" later, Share, "In flight at the end",
            "Datagrams still queued or on the way when the run stopped, after the time of `drain`, \
             over those sent: neither lost nor delivered. UDP only. No value on real packets, \
             where they cannot be counted and so count as lost.",
            "";
        delay: Distribution, "delay_ms", Ms, "One-way delay",
            "One-way delay of the datagrams that arrived (UDP).",
            "RFC 7679 section 3";
        late_ratio: Option<f64>, "late_ratio" later, Share, "Late",
            "Datagrams that arrived later than the flow's deadline over those that arrived. No \
             value without a deadline.",
            "";
        data_yield: Option<f64>, "data_yield" later, Share, "Data yield",
            "Datagrams that arrived in time over those sent. No value without a deadline.",
            "";
        duplicates: Option<f64>, "duplicates" later, Packets, "Duplicates",
            "Datagrams that arrived more than once. The receiver recognises them by their numbers \
             and counts them only here. No value where no link has `duplicate`; always 0 for TCP.",
            "RFC 5560";
        throughput: Distribution, "throughput_bps", Bps, "IP-layer throughput",
            "Bytes of IP packets that arrived at the flow's receiver, with retransmitted copies, \
             in a window of 5 s that slides by 0.25 s. Empty when the measured time is shorter.",
            JIOT;
        blocked_messages: u64, "blocked_messages", Messages, "Blocked messages",
            "Messages that a constant-bit-rate sender skipped because its TCP send buffer was \
             full.",
            "";
        completed: Option<Span>, "completed_s", Seconds, "Completion time",
            "Time from the flow's start to the delivery of the whole file. No value for flows \
             without an end, or that did not finish. For a flow with `every`, the time of the \
             first.",
            "";
        started: u64, "started", Flows, "Started",
            "How often the flow began after the warm-up: more than once with `every`.",
            "";
        completion: Distribution, "completion_ms", Ms, "Completion times",
            "Time from each start after the warm-up to the delivery of the whole file, for those \
             that finished before the end; their number is the count.",
            "";
        spp_rtt: Distribution, "spp_rtt_ms" later, Ms, "Packet-pair RTT",
            "Round-trip time from packets seen at both ends of the path, whatever they carry: \
             synthetic pairs of one packet in each direction. The time until a host answers does \
             not count. For a call, the other direction's packets are the answers. Empty unless \
             the scenario has `spp = true`.",
            "Zander and Armitage, CAIA Technical Report 060707A";
        spp_induced_rtt: Distribution, "spp_induced_rtt_ms" later, Ms, "Induced packet-pair RTT",
            "The packet-pair RTT minus the flow's base RTT.",
            JIOT;
        window_limited: Option<f64>, "window_limited" later, Share, "Limited by its window",
            "Share of the time that the sender's connections were open, after the warm-up, in \
             which as much was in flight as the congestion window allows, or recovery from losses \
             held data back. No value for flows without TCP.",
            CHRONO;
        send_buffer_limited: Option<f64>, "send_buffer_limited" later, Share,
            "Limited by its send buffer",
            "Share of that time in which the whole send buffer was in flight and the application \
             waited to write: the flow would send more with a larger buffer. Linux calls it \
             `tcpi_sndbuf_limited`.",
            CHRONO;
        receive_window_limited: Option<f64>, "receive_window_limited" later, Share,
            "Limited by the receive window",
            "Share of that time in which the next segment did not fit into the receiver's window, \
             though the congestion window allowed it. Linux calls it `tcpi_rwnd_limited`.",
            CHRONO;
        application_limited: Option<f64>, "application_limited" later, Share,
            "Limited by its application",
            "Share of that time in which the application had nothing more to send. Live runs \
             detect it at their sampling times, when nothing is unsent and less is in flight than \
             the congestion window allows, and whenever Linux reports that the connection is not \
             busy.",
            CHRONO;
        pacing_limited: Option<f64>, "pacing_limited" later, Share, "Limited by pacing",
            "Share of that time in which pacing held back the next segment. Live runs detect it at \
             their sampling times, for senders that pace.",
            CHRONO;
        ce_ratio: Option<f64>, "ce_ratio" rare, Share, "CE ratio",
            "Packets that arrived at the flow's receiver with CE over those that arrived \
             ECN-capable (ECT or CE), whichever queue marked them. Only for flows with ECN.",
            "RFC 3168 section 5";
        alpha: Distribution, "alpha" rare, Share, "Alpha",
            "The sender's moving average of the share of marked segments (DCTCP, Prague), sampled \
             four times in each interval of the series. Of Linux's senders it is what `ss -ti` \
             shows, in 1024ths.",
            "RFC 8257 section 3.3";
        l4s: Option<f64>, "l4s" rare, None, "L4S",
            "1 for a flow that sends ECT(1): over TCP with Prague, or over UDP with \
             `ecn = \"ect1\"`. No value for others.",
            "RFC 9331 section 4.1";
    } beside {
        /// `bulk`, `ping` and so on.
        app: Cow<'static, str>,
        /// Whether it takes all bandwidth it can get.
        elastic: bool,
        /// What the app has measured of itself.
        measured: Vec<Measured>,
        /// Over time: those of [`series`](super::series).
        series: Vec<Series>,
    }
}

part! {
    /// Over all flows.
    Aggregate {
        jain: Option<f64>, "jain", None, "Jain's index",
            "Fairness of the goodputs x of n flows that share a bottleneck and take all they can \
             get: (Σx)² / (n·Σx²). 1 is equal, 1/n is one flow taking everything. The lowest of \
             several bottlenecks. No value where no two flows share one.",
            "Jain, Chiu, Hawe 1984 (DEC-TR-301)";
        goodput_bps: f64, "goodput_bps" = "goodput", Bps, "Sum of goodputs",
            "Sum over all flows, both directions.",
            "";
    } beside {}
}

/// Marked over offered packets: what claims may name besides, though summaries lack it.
pub static MARK_RATIO: Row<LinkResult> = Row {
    figure: Figure {
        kind: Kind::Link,
        shape: Shape::Scalar,
        key: "mark_ratio",
        metric: "mark_ratio",
        unit: Unit::Share,
        title: "Mark ratio",
        meaning: "Marked over offered packets. No value when nothing was offered.",
        source: "RFC 3168 section 5",
    },
    is_later: true,
    is_rare: false,
    access: Access::Derived(|link| ratio(link.marked_packets, link.offered_packets)),
};

/// A share; NaN of nothing.
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The same of counts that may be missing.
fn some_ratio(part: Option<f64>, whole: Option<f64>) -> f64 {
    part.zip(whole)
        .map_or(f64::NAN, |(part, whole)| part / whole)
}

/// Makes the list of series: kind, key, unit, what it is over time, meaning, source.
macro_rules! series {
    ($($kind:ident $key:literal, $unit:ident, $what:literal, $meaning:literal, $source:expr;)*) => {
        &[$(Figure {
            kind: Kind::$kind,
            shape: Shape::Series,
            key: $key,
            metric: $key,
            unit: Unit::$unit,
            title: concat!($what, " over time"),
            meaning: $meaning,
            source: $source,
        },)*]
    };
}

/// What every link and flow has over time, and the variables that our disciplines show.
pub(super) const SERIES: &[Figure] = series! {
    Link "throughput", Bps, "Throughput",
        "Bits given to the link in each interval, per second, link header included.",
        "";
    Link "utilisation", Share, "Utilisation",
        "Bits given to the link in each interval over those that it could have sent, for links \
         with a trace or with a changing rate. A gap where it could send none.",
        "RFC 5136";
    Link "backlog", Packets, "Backlog",
        "Packets held, averaged over the events of each interval.",
        "";
    Link "drops", Packets, "Drops",
        "Packets dropped in each interval.",
        "";
    Link "sojourn", Ms, "Sojourn time",
        "Mean sojourn time of the packets that left in each interval.",
        "RFC 8289 section 2";
    Link "target", Ms, "Target",
        "Delay target that AQM Steering has set, at the end of each interval.",
        STEERING;
    Link "swing", Ms, "Swing",
        "Steering's average of how far the delay falls below the target after a drop.",
        STEERING;
    Link "deviation", Ms, "Deviation of the swing",
        "Standard deviation of how far the delay falls below the target after a drop.",
        STEERING;
    Link "link_rate", Bps, "Link rate",
        "Rate of the link as Steering knows it.",
        "";
    Link "avg_rate", Bps, "Long-term rate",
        "Steering's smoothed sending rate; a gap before the first drop.",
        "TDRM-UTEMA-CPA: Menth and Hauser 2017";
    Link "virtual_rate", Bps, "Virtual rate",
        "Rate of Steering's virtual queue; a gap while the AQM sees the real one.",
        STEERING;
    Link "virtual_delay", Ms, "Virtual queue",
        "Length of Steering's virtual queue, as time at its rate; a gap while the AQM sees the \
         real one.",
        STEERING;
    Link "decision", None, "Decision",
        "What Steering decided last: 0 none, 1 lowered, 2 raised, 3 stepped down, 4 virtual \
         queue, 5 virtual rate, 6 real queue; kept: 7 swing, 8 under-used, 9 standing, 10 \
         highest.",
        "";
    Link "unmet", None, "Unmet policy",
        "Part of Steering's policy that is not met: 0 none, 1 utilisation, 2 delay, 3 ceiling.",
        "";
    Link "pause", Ms, "Pause",
        "GSP's interval: the pause that a drop would start.",
        "arXiv 1602.05333";
    Link "limit", Packets, "Limit",
        "ADTH's limit: the largest number of packets in the queue.",
        "";
    Link "factor", None, "Queue length factor",
        "Factor by which ADTH multiplies its estimate of the limit.",
        "";
    Link "nodal_delay", Ms, "Nodal delay",
        "Mean time in the queue and on the medium, as ADTH found it in its last interval.",
        "";
    Link "mac_delay", Ms, "MAC delay",
        "Mean time between departures while packets waited, as ADTH found it in its last interval.",
        "";
    Link "probability", Share, "Drop probability",
        "PIE's; DualPI2's base probability (p').",
        "RFC 8033; RFC 9332";
    Link "delay_l", Ms, "Delay of the L queue",
        "How long the first packet of DualPI2's L queue has waited.",
        "RFC 9332";
    Link "delay_c", Ms, "Delay of the C queue",
        "How long the first packet of DualPI2's C queue has waited.",
        "RFC 9332";
    Flow "delay", Ms, "One-way delay",
        "Mean one-way delay of the datagrams that arrive in each interval, for flows with a \
         deadline.",
        "RFC 7679 section 3";
    Flow "goodput", Bps, "Goodput",
        "Payload bits delivered in order in each interval, per second. After a repaired loss all \
         data that had waited for it count at once, so an interval may exceed the line's rate.",
        "RFC 2647 section 3.17";
    Flow "throughput", Bps, "IP throughput",
        "Bits of IP packets that arrived at the flow's receiver in each interval, per second, with \
         headers, retransmissions and copies: what its path carried.",
        "RFC 5136";
    Flow "rtt", Ms, "Round-trip time",
        "Mean of the samples of each interval; a gap where there was none.",
        "RFC 6298 section 3";
    Flow "cwnd", Segments, "Congestion window",
        "Mean of each interval, in segments (TCP), sampled at fixed times while the connection is \
         open; a gap otherwise.",
        "RFC 5681 section 2";
    Flow "ssthresh", Segments, "Slow-start threshold",
        "Mean of each interval, in segments (TCP); a gap while it is unset.",
        "RFC 5681 section 2";
    Flow "pacing_rate", Bps, "Pacing rate",
        "Rate at which the sender spaces its segments, mean of each interval (TCP); a gap for \
         senders that do not pace.",
        "";
    Flow "alpha", Share, "Alpha",
        "DCTCP's or Prague's moving average of the share of marked segments, mean of each \
         interval.",
        "RFC 8257 section 3.3";
};
