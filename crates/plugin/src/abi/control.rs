//! The border to congestion controls: an event of the sender goes in, and what the control says
//! from then on comes out.

use super::{Tell, Text};
use std::ffi::c_void;

/// The function that a plug-in with congestion controls exports, of the type [`Entry`].
pub const ENTRY: &str = "sojourn_controls_1";

/// What [`ENTRY`] is.
pub type Entry = extern "C" fn() -> ControlTables;

/// Stands for a value that there is not: a round trip, a rate, a threshold.
pub const NONE: u64 = u64::MAX;

/// All congestion controls of a plug-in, which it keeps for ever.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ControlTables {
    /// The first.
    pub start: *const ControlTable,
    /// How many there are.
    pub count: usize,
}

/// What the flow's `tcp` says of the sender.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SenderSetting {
    /// Initial slow-start threshold in bytes, or [`NONE`].
    pub initial_ssthresh: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Initial window in segments.
    pub initial_window: u32,
    /// How slow start ends when nothing is lost: 0 by a threshold alone, 1 HyStart, 2 HyStart++.
    pub slow_start: u32,
    /// What of ECN is negotiated: 0 nothing, 1 as in RFC 3168, 2 AccECN.
    pub ecn: u32,
    /// Whether the sender spreads a window over a round trip.
    pub paces: bool,
}

/// What happens to a sender. The order is part of the border.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub enum ControlEvent {
    /// Random bits of this end, before anything else.
    Seed {
        /// 64 of them.
        bits: u64,
    },
    /// The handshake is over.
    Established {
        /// Its round trip, or [`NONE`].
        rtt: u64,
        /// The time.
        now: u64,
    },
    /// An ACK has come, and nothing has looked at it yet.
    Arrival {
        /// When it arrived.
        now: u64,
        /// As in [`AckReport`].
        rtt: u64,
        /// Segments newly acknowledged cumulatively; none for a duplicate.
        acked: u32,
        /// Segments newly delivered.
        delivered: u32,
        /// Segments that the receiver reports as marked.
        marked: u32,
        /// Bytes newly delivered.
        delivered_bytes: u64,
        /// Bytes that the receiver reports as marked.
        marked_bytes: u64,
        /// SND.UNA, by this ACK.
        una: u64,
        /// SND.NXT.
        next: u64,
    },
    /// What an ACK says.
    Ack(AckReport),
    /// Congestion, once a window of data.
    Congestion {
        /// The time.
        now: u64,
        /// 0 a loss, 1 a mark, 2 a timeout, 3 a timeout for data that has cost a reduction already.
        why: u32,
        /// Segments in the network.
        in_flight: u32,
    },
    /// Recovery or the reaction to a mark is over.
    RecoveryEnd {
        /// The time.
        now: u64,
    },
    /// The last congestion was a mistake.
    Undo,
    /// Something is about to be sent with nothing in flight.
    TransmitStart {
        /// How long ago the last was sent.
        idle: u64,
        /// End of what has been sent before, in bytes of the stream.
        next: u64,
        /// The time.
        now: u64,
    },
    /// Nothing was sent for longer than a timeout.
    IdleRestart {
        /// So many timeouts.
        timeouts: u32,
        /// Segments to go back to at most.
        restart: u32,
    },
    /// Only a part of the window was needed for a timeout.
    ApplicationLimited {
        /// So many segments of it.
        used: u32,
    },
}

/// What an ACK says; [`AckEvent`](sojourn_tcp::AckEvent) explains each field.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AckReport {
    /// When it arrived.
    pub now: u64,
    /// Round trip of the newest acknowledged segment, or [`NONE`].
    pub rtt: u64,
    /// Smoothed round-trip time.
    pub srtt: u64,
    /// Shortest round trip of the last five minutes.
    pub min_rtt: u64,
    /// Bytes delivered over the connection's life.
    pub delivered_total: u64,
    /// The end of what is acknowledged cumulatively.
    pub una: u64,
    /// The end of what has been sent.
    pub next: u64,
    /// The pacing rate in bit/s.
    pub pacing_rate: u64,
    /// How long pacing holds the next segment back.
    pub pacing_wait: u64,
    /// Bytes newly delivered that are reported as marked.
    pub marked_bytes: u64,
    /// Bytes of the delivery-rate sample, or [`NONE`] without a sample.
    pub rate_delivered: u64,
    /// Its interval.
    pub rate_interval: u64,
    /// Bytes that had been delivered when its segment was sent.
    pub rate_prior_delivered: u64,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub delivered: u32,
    /// Segments found lost since the last ACK.
    pub lost: u32,
    /// Of these, what this ACK showed.
    pub lost_by_ack: u32,
    /// Segments in the network before this ACK.
    pub prior_in_flight: u32,
    /// And after it.
    pub in_flight: u32,
    /// Segments of `delivered` that are reported as marked.
    pub marked: u32,
    /// The application may have limited the sample's rate.
    pub rate_app_limited: bool,
    /// The sample's segment was a retransmission.
    pub rate_retransmitted: bool,
    /// Nothing is out of order, lost or being repaired.
    pub calm: bool,
    /// The first ACK for data sent after the previous round's first ACK.
    pub round_start: bool,
    /// The window is what limits the sender.
    pub window_limited: bool,
    /// The sender paces.
    pub paced: bool,
    /// The ACK carries ECN-echo, or counts of new marks.
    pub ecn_echo: bool,
    /// The window may grow.
    pub may_grow: bool,
}

/// What a control says after an event, until the next one.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ControlState {
    /// Its pacing rate in bit/s, or [`NONE`].
    pub pacing_rate: u64,
    /// The share of marked segments that it reckons with; not a number when it does not.
    pub marked_share: f64,
    /// The congestion window in segments, 1 or more.
    pub window: u32,
    /// The slow-start threshold in segments.
    pub ssthresh: u32,
    /// Windows of data that the send buffer grows to hold.
    pub buffered_windows: u32,
    /// The window holds during recovery too.
    pub controls_recovery: bool,
    /// The window is below the path's capacity on purpose.
    pub limits_itself: bool,
}

/// One congestion control: what makes an object, and what tells it of events. One thread at a time
/// does so.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ControlTable {
    /// Its name.
    pub name: Text,
    /// Makes an object from options (`beta=0.8`) and writes what it says; null when they are wrong,
    /// after it has told why.
    pub make: unsafe extern "C" fn(
        Text,
        *const SenderSetting,
        *mut ControlState,
        context: *mut c_void,
        Tell,
    ) -> *mut c_void,
    /// Frees an object.
    pub free: unsafe extern "C" fn(*mut c_void),
    /// Tells an object of an event, and writes what it says from then on:
    /// [`PASS`](super::PASS) or [`PANICKED`](super::PANICKED).
    pub hear: Hear,
}

/// An event, and what the control says after it. Last: whom to tell of a panic.
pub type Hear = unsafe extern "C" fn(
    *mut c_void,
    *const ControlEvent,
    *mut ControlState,
    context: *mut c_void,
    Tell,
) -> u32;

// SAFETY: the texts of tables are constants of the plug-in.
unsafe impl Sync for ControlTable {}
// SAFETY: as above.
unsafe impl Send for ControlTable {}
