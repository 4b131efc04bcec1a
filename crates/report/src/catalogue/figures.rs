//! The list.

use super::{Figure, Kind, Shape};

const fn figure(
    (kind, shape): (Kind, Shape),
    [key, metric, unit]: [&'static str; 3],
    title: &'static str,
    meaning: &'static str,
    source: &'static str,
) -> Figure {
    Figure {
        kind,
        shape,
        key,
        metric,
        unit,
        title,
        meaning,
        source,
    }
}

const LINK: (Kind, Shape) = (Kind::Link, Shape::Scalar);
const FLOW: (Kind, Shape) = (Kind::Flow, Shape::Scalar);
const LINK_SPREAD: (Kind, Shape) = (Kind::Link, Shape::Distribution);
const FLOW_SPREAD: (Kind, Shape) = (Kind::Flow, Shape::Distribution);
const LINK_SERIES: (Kind, Shape) = (Kind::Link, Shape::Series);
const FLOW_SERIES: (Kind, Shape) = (Kind::Flow, Shape::Series);
const ALL: (Kind, Shape) = (Kind::Aggregate, Shape::Scalar);

/// All figures, in the order of the summary.
pub const FIGURES: &[Figure] = &[
    figure(
        LINK,
        ["offered_packets", "offered_packets", "packets"],
        "Offered",
        "Packets offered to the queue after the warm-up, dropped ones included.",
        "",
    ),
    figure(
        LINK,
        ["offered_bytes", "offered_bytes", "bytes"],
        "Offered bytes",
        "Bytes of the offered packets, link header included.",
        "",
    ),
    figure(
        LINK,
        ["dequeued_packets", "dequeued_packets", "packets"],
        "Dequeued",
        "Packets that the queue gave to the link after the warm-up.",
        "",
    ),
    figure(
        LINK,
        ["dequeued_bytes", "dequeued_bytes", "bytes"],
        "Dequeued bytes",
        "Bytes of the dequeued packets, link header included.",
        "",
    ),
    figure(
        LINK,
        ["dropped_packets", "dropped_packets", "packets"],
        "Dropped",
        "Packets that the queue dropped after the warm-up, for whatever reason. The reasons \
         stand in the discipline's own statistics.",
        "",
    ),
    figure(
        LINK,
        ["marked_packets", "marked_packets", "packets"],
        "Marked",
        "Packets whose ECN field the queue set to Congestion Experienced instead of dropping \
         them.",
        "RFC 3168 section 5",
    ),
    figure(
        LINK,
        ["drop_ratio", "drop_ratio", ""],
        "Drop ratio",
        "Dropped over offered packets. No value when nothing was offered.",
        "",
    ),
    figure(
        LINK,
        ["utilisation", "utilisation", ""],
        "Utilisation",
        "Dequeued bits over the link's rate times the measured time: 1 is a full link. No value \
         for a link without a rate.",
        "RFC 5136",
    ),
    figure(
        LINK,
        ["backlog_packets_mean", "backlog_packets_mean", "packets"],
        "Mean backlog",
        "Packets held by the queue, averaged over time (not over packets).",
        "",
    ),
    figure(
        LINK_SPREAD,
        ["sojourn_ms", "sojourn", "ms"],
        "Sojourn time",
        "Time from enqueue to dequeue of every packet that the queue gave to the link. Dropped \
         packets do not count.",
        "RFC 8289 section 2",
    ),
    figure(
        FLOW,
        ["goodput_bps", "goodput", "bit/s"],
        "Goodput",
        "Payload bits delivered to the receiving application per second, from the warm-up (or \
         the flow's start, when later) to the end. Headers, retransmitted copies and lost \
         packets do not count. For a ping it is that of the requests.",
        "RFC 2647 section 3.17",
    ),
    figure(
        FLOW,
        ["sent_packets", "sent_packets", "packets"],
        "Sent",
        "Data packets sent by the flow's first end, retransmissions included; pure ACKs are not.",
        "",
    ),
    figure(
        FLOW,
        ["retransmitted_packets", "retransmitted_packets", "packets"],
        "Retransmitted",
        "Data packets that were not the first copy.",
        "",
    ),
    figure(
        FLOW,
        ["retransmit_ratio", "retransmit_ratio", ""],
        "Retransmit ratio",
        "Retransmitted over sent packets. No value when nothing was sent.",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["rtt_ms", "rtt", "ms"],
        "Round-trip time",
        "TCP: a sample for every acknowledgement that gives one, taken at the sender. Ping: from \
         a request to its echo.",
        "RFC 6298 section 3; RFC 7323 section 4",
    ),
    figure(
        FLOW_SPREAD,
        ["induced_rtt_ms", "induced_rtt", "ms"],
        "Induced RTT",
        "Round-trip time less the flow's base RTT (that of the empty path): what queues and \
         serialisation add. The figure that an AQM is judged by.",
        "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683",
    ),
    figure(
        FLOW,
        ["loss_ratio", "loss_ratio", ""],
        "Loss ratio",
        "Datagrams lost over datagrams sent, both directions of an echo. UDP only; for TCP see \
         the retransmit ratio.",
        "RFC 7680 section 2",
    ),
    figure(
        FLOW_SPREAD,
        ["delay_ms", "delay", "ms"],
        "One-way delay",
        "From sending a datagram to its arrival, of those that arrived (UDP).",
        "RFC 7679 section 3",
    ),
    figure(
        FLOW_SPREAD,
        ["throughput_bps", "throughput", "bit/s"],
        "IP-layer throughput",
        "Bytes of IP packets that came to the flow's receiver, retransmitted copies included, in a \
         window of 5 s that slides by 0.25 s. Empty when the measured time is shorter.",
        "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683",
    ),
    figure(
        FLOW,
        ["blocked_messages", "blocked_messages", "messages"],
        "Blocked messages",
        "Messages that a constant-bit-rate sender skipped because its TCP send buffer was full.",
        "",
    ),
    figure(
        FLOW,
        ["completed_s", "completed", "s"],
        "Completion time",
        "From the flow's start to the delivery of the whole file. No value for flows without an \
         end, or when it did not finish. Of a flow that begins repeatedly, that of the first.",
        "",
    ),
    figure(
        FLOW,
        ["started", "started", "flows"],
        "Started",
        "How often the flow began after the warm-up: more than once with `every`.",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["completion_ms", "completion", "ms"],
        "Completion times",
        "From each beginning after the warm-up to the delivery of its whole file, of those that \
         finished before the end; their number is the count.",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["spp_rtt_ms", "spp_rtt", "ms"],
        "Packet-pair RTT",
        "Round-trip time from packets seen at both ends of the path, whatever they carry: \
         synthetic pairs of one packet there and one back. What a host waits before it answers \
         does not count. Of a call the other direction's packets come back. Empty unless the \
         scenario says `spp = true`.",
        "Zander and Armitage, CAIA Technical Report 060707A",
    ),
    figure(
        FLOW_SPREAD,
        ["spp_induced_rtt_ms", "spp_induced_rtt", "ms"],
        "Induced packet-pair RTT",
        "The packet-pair RTT less the flow's base RTT.",
        "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683",
    ),
    figure(
        FLOW_SPREAD,
        ["app.ar_kbps", "app.ar_kbps", "kbit/s"],
        "Achieved rate",
        "Bytes of a chunk over the time from its request to its last byte, of every chunk \
         (`dash`).",
        "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683",
    ),
    figure(
        FLOW_SPREAD,
        ["app.rr_kbps", "app.rr_kbps", "kbit/s"],
        "Requested rate",
        "Nominal rate of the representation that the player asked for, of every chunk (`dash`).",
        "IEEE Internet of Things Journal 2017, doi 10.1109/JIOT.2017.2722683",
    ),
    figure(
        FLOW_SPREAD,
        ["app.buffer_s", "app.buffer_s", "s"],
        "Playout buffer",
        "Unplayed video when a chunk has arrived (`dash`).",
        "",
    ),
    figure(
        FLOW,
        ["app.stalls", "app.stalls", ""],
        "Stalls",
        "How often the playout ran dry (`dash`).",
        "",
    ),
    figure(
        FLOW,
        ["app.stalled_s", "app.stalled_s", "s"],
        "Stalled",
        "Time without a picture after the playout had begun (`dash`).",
        "",
    ),
    figure(
        FLOW,
        ["app.switches", "app.switches", ""],
        "Switches",
        "Chunks of another representation than the one before (`dash`).",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["app.qoe", "app.qoe", ""],
        "Quality of experience",
        "Of every chunk: its rate in kbit/s, less the change of rate, less 3000 for each second \
         of stall or start (`dash`).",
        "Yin, Jindal, Sekar, Sinopoli 2015, doi 10.1145/2785956.2787486",
    ),
    figure(
        FLOW_SPREAD,
        ["app.page_load_ms", "app.page_load_ms", "ms"],
        "Page load time",
        "From asking for a page to the last byte of its last object (`web`).",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["app.object_ms", "app.object_ms", "ms"],
        "Object time",
        "From asking for an object to its last byte (`web`).",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["app.jitter_ms", "app.jitter_ms", "ms"],
        "Jitter",
        "Interarrival jitter: every second (`voip`, `video`), at every picture (`game`).",
        "RFC 3550 section 6.4.1",
    ),
    figure(
        FLOW_SPREAD,
        ["app.missing_ratio", "app.missing_ratio", ""],
        "Missing packets",
        "Share of the packets of each second that were lost or too late to be played (`voip`, \
         `video`).",
        "Ramjee et al. 1994, algorithm 1 (playout)",
    ),
    figure(
        FLOW_SPREAD,
        ["app.r_factor", "app.r_factor", ""],
        "Rating factor",
        "Of each second: what the E-model makes of delay and missing packets for G.711 speech \
         (`voip`, `video`).",
        "ITU-T G.107, G.113 Appendix I",
    ),
    figure(
        FLOW_SPREAD,
        ["app.mos", "app.mos", ""],
        "Mean opinion score",
        "Estimated from the rating factor of each second, 1 to 4.5 (`voip`, `video`).",
        "ITU-T G.107 Annex B",
    ),
    figure(
        FLOW_SPREAD,
        ["app.lag_ms", "app.lag_ms", "ms"],
        "Lag",
        "From a command to the first picture that shows it (`game`).",
        "",
    ),
    figure(
        FLOW_SPREAD,
        ["app.age_ms", "app.age_ms", "ms"],
        "Age on arrival",
        "From writing a message to the arrival of its last byte (`telemetry`).",
        "",
    ),
    figure(
        ALL,
        ["jain", "jain", ""],
        "Jain's index",
        "Fairness of the goodputs of the flows that take all they can get: (Σx)² / (n·Σx²). \
         1 is equal, 1/n is one flow taking everything.",
        "Jain, Chiu, Hawe 1984 (DEC-TR-301)",
    ),
    figure(
        ALL,
        ["goodput_bps", "goodput", "bit/s"],
        "Sum of goodputs",
        "Over all flows, both directions.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["throughput", "throughput", "bit/s"],
        "Throughput over time",
        "Bits given to the link in each interval, per second, link header included.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["backlog", "backlog", "packets"],
        "Backlog over time",
        "Packets held, averaged over the events of each interval.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["drops", "drops", "packets"],
        "Drops over time",
        "Packets dropped in each interval.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["sojourn", "sojourn", "ms"],
        "Sojourn time over time",
        "Mean sojourn time of the packets that left in each interval.",
        "RFC 8289 section 2",
    ),
    figure(
        LINK_SERIES,
        ["target", "target", "ms"],
        "Target over time",
        "Delay target that AQM Steering has given to the AQM, at the end of each interval.",
        "Bless, Hock, Zitterbart 2018",
    ),
    figure(
        LINK_SERIES,
        ["swing", "swing", "ms"],
        "Swing over time",
        "How deep the delay swings below the target after a drop: Steering's average.",
        "Bless, Hock, Zitterbart 2018",
    ),
    figure(
        LINK_SERIES,
        ["deviation", "deviation", "ms"],
        "Deviation of the swing over time",
        "Root of the variance of that depth.",
        "Bless, Hock, Zitterbart 2018",
    ),
    figure(
        LINK_SERIES,
        ["link_rate", "link_rate", "bit/s"],
        "Link rate over time",
        "Rate of the link as Steering knows it.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["avg_rate", "avg_rate", "bit/s"],
        "Long-term rate over time",
        "Steering's smoothed rate of what is sent; a gap before the first drop.",
        "TDRM-UTEMA-CPA: Menth and Hauser 2017",
    ),
    figure(
        LINK_SERIES,
        ["virtual_rate", "virtual_rate", "bit/s"],
        "Virtual rate over time",
        "Rate of Steering's virtual queue; a gap while the AQM sees the real one.",
        "Bless, Hock, Zitterbart 2018",
    ),
    figure(
        LINK_SERIES,
        ["decision", "decision", ""],
        "Decision over time",
        "What Steering decided last: 0 none, 1 lowered, 2 raised, 3 stepped down, 4 virtual \
         queue, 5 virtual rate, 6 real queue; kept: 7 swing, 8 under-used, 9 standing, 10 highest.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["unmet", "unmet", ""],
        "Unmet policy over time",
        "What of Steering's policy is not met: 0 nothing, 1 utilisation, 2 delay, 3 ceiling.",
        "",
    ),
    figure(
        LINK_SERIES,
        ["pause", "pause", "ms"],
        "Pause over time",
        "GSP's interval: the pause that a drop would start.",
        "arXiv 1602.05333",
    ),
    figure(
        LINK_SERIES,
        ["probability", "probability", ""],
        "Drop probability over time",
        "PIE's.",
        "RFC 8033",
    ),
    figure(
        FLOW_SERIES,
        ["goodput", "goodput", "bit/s"],
        "Goodput over time",
        "Payload bits delivered in each interval, per second.",
        "RFC 2647 section 3.17",
    ),
    figure(
        FLOW_SERIES,
        ["rtt", "rtt", "ms"],
        "Round-trip time over time",
        "Mean of the samples of each interval; a gap where there was none.",
        "RFC 6298 section 3",
    ),
    figure(
        FLOW_SERIES,
        ["cwnd", "cwnd", "segments"],
        "Congestion window over time",
        "Mean of each interval, in segments (TCP).",
        "RFC 5681 section 2",
    ),
    figure(
        FLOW_SERIES,
        ["ssthresh", "ssthresh", "segments"],
        "Slow-start threshold over time",
        "Mean of each interval, in segments (TCP); a gap while it is unset.",
        "RFC 5681 section 2",
    ),
    figure(
        FLOW_SERIES,
        ["pacing_rate", "pacing_rate", "bit/s"],
        "Pacing rate over time",
        "Rate at which the sender spaces its segments, mean of each interval (TCP); a gap for \
         senders that do not.",
        "",
    ),
];
