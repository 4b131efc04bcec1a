//! What a connection tells about itself.

use crate::sender::Recovery;
use sojourn_units::{Rate, Span};

/// State of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// Not opened, or finished, or reset.
    #[default]
    Closed,
    /// Waits for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received and answered.
    SynReceived,
    /// Open in both directions.
    Established,
    /// Closed on this side; the FIN is not yet acknowledged.
    FinWait1,
    /// Closed on this side and acknowledged; the peer may still send.
    FinWait2,
    /// The peer has closed; this side may still send.
    CloseWait,
    /// Closed on both sides at once; the FIN is not yet acknowledged.
    Closing,
    /// The peer closed first; our FIN is not yet acknowledged.
    LastAck,
    /// Both sides are closed and acknowledged.
    TimeWait,
}

/// Counters of the sending half, over the connection's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// All segments, ACKs and handshake included.
    pub segments: u64,
    /// Segments with data or FIN, retransmissions included.
    pub data_segments: u64,
    /// Retransmitted data segments.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast recoveries.
    pub fast_recoveries: u64,
    /// Reductions undone because nothing had been lost.
    pub spurious: u64,
    /// Windows reduced because of ECN marks.
    pub marks: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Losses repaired by a tail loss probe.
    pub tail_repairs: u64,
    /// Probes of a closed window.
    pub window_probes: u64,
    /// Duplicate reports received (DSACK).
    pub dsacks: u64,
    /// ACKs that showed reordering.
    pub reordered: u64,
    /// The most segments by which one was overtaken (`tcpi_reordering`, which is never below 3).
    pub reorder_distance: u32,
}

/// What one end of a connection with AccECN has counted (RFC 9768 section 3.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeCounts {
    /// Marked packets that have arrived (r.cep without its first value).
    pub received: u64,
    /// Bytes that have arrived with ECT(0), CE and ECT(1).
    pub received_bytes: [u64; 3],
    /// Marked packets that the peer has told of (s.cep).
    pub told: u64,
    /// Bytes that the peer's options have told of, with ECT(0), CE and ECT(1).
    pub told_bytes: [u64; 3],
    /// What is sent is ECN-capable: nothing has spoken against the path.
    pub capable: bool,
}

/// A snapshot of a connection, as `TCP_INFO` gives it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Connection state.
    pub state: State,
    /// Recovery state.
    pub recovery: Recovery,
    /// Window in force, in segments.
    pub window_segments: u32,
    /// Window in force, in bytes of full segments.
    pub window_bytes: u64,
    /// Slow-start threshold in segments; none when unset.
    pub ssthresh_segments: Option<u32>,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Its variation.
    pub rttvar: Span,
    /// Shortest round trip of the last five minutes.
    pub min_rtt: Option<Span>,
    /// Retransmission timeout with backoff.
    pub rto: Span,
    /// Rate at which segments are spaced, if they are.
    pub pacing_rate: Option<Rate>,
    /// Segments in the network.
    pub in_flight: u32,
    /// Segments sent and not acknowledged (`tcpi_unacked`).
    pub outstanding: u32,
    /// Retransmissions of them in the network (`tcpi_retrans`).
    pub retransmissions: u32,
    /// Segments known to have arrived out of order.
    pub sacked: u32,
    /// Segments believed lost and not yet acknowledged.
    pub lost: u32,
    /// Bytes acknowledged by the peer.
    pub acked_bytes: u64,
    /// Bytes delivered in order to the application here.
    pub delivered_bytes: u64,
    /// Receive window that this side offers.
    pub receive_window: u32,
    /// The share of marked segments that the congestion control reckons with (alpha of DCTCP and
    /// Prague).
    pub marked_share: Option<f64>,
    /// Marks counted at both ends, if the connection has agreed on AccECN (RFC 9768).
    pub ce: Option<CeCounts>,
    /// Counters.
    pub counters: Counters,
}
