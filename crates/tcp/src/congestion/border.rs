//! What a sender and its congestion control say to each other.

use crate::rate::RateSample;
use alloc::boxed::Box;
use core::any::Any;
use core::fmt::Debug;
use sojourn_units::{Rate, Span, Time};

/// A slow-start threshold that nothing has set yet.
pub const INFINITE: u32 = u32::MAX / 4;

/// What an ACK says.
#[derive(Clone, Copy, Debug)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Time,
    /// Segments newly acknowledged cumulatively.
    pub acked: u32,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub delivered: u32,
    /// Segments found lost since the last ACK.
    pub lost: u32,
    /// Of these, what this ACK showed; the others were a timer's (Linux `rs->losses`).
    pub lost_by_ack: u32,
    /// Round trip of the newest acknowledged segment, if it was sent once.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Shortest round trip of the last five minutes.
    pub min_rtt: Span,
    /// Segments in the network before and after this ACK.
    pub prior_in_flight: u32,
    /// After this ACK.
    pub in_flight: u32,
    /// Bytes delivered over the connection's life.
    pub delivered_total: u64,
    /// The end of what is acknowledged cumulatively, in bytes of the stream (SND.UNA).
    pub una: u64,
    /// The end of what has been sent (SND.NXT).
    pub next: u64,
    /// Nothing is out of order, lost or being repaired, and no reduction is under way (Linux
    /// `TCP_CA_Open`).
    pub calm: bool,
    /// The delivery rate seen by the newest delivered segment.
    pub rate: Option<RateSample>,
    /// The first ACK for data sent after the previous round's first ACK.
    pub round_start: bool,
    /// The window is what limits the sender.
    pub window_limited: bool,
    /// The sender paces.
    pub paced: bool,
    /// The rate at which the sender paces, or would; zero outside slow start.
    pub pacing_rate: Rate,
    /// How long pacing still holds the next segment back.
    pub pacing_wait: Span,
    /// The ACK carries ECN-echo, or counts of new marks.
    pub ecn_echo: bool,
    /// Segments of `delivered` that the receiver reports as marked: with AccECN (RFC 9768) as many
    /// as it has counted, otherwise all of them or none.
    pub marked: u32,
    /// Bytes of what is newly delivered that the receiver reports as marked, likewise.
    pub marked_bytes: u64,
    /// The window may grow: data was acknowledged and no reduction is under way.
    pub may_grow: bool,
}

/// What an ACK says before it is known what it means.
#[derive(Clone, Copy, Debug)]
pub struct AckArrival {
    /// When it arrived.
    pub now: Time,
    /// Segments newly acknowledged cumulatively; none for a duplicate.
    pub acked: u32,
    /// Round trip of the newest acknowledged segment, if it was sent once.
    pub rtt: Option<Span>,
    /// Newly delivered, and what the receiver reports as marked of it, as in [`AckEvent`].
    pub delivered: u32,
    /// Marked segments.
    pub marked: u32,
    /// Bytes newly delivered.
    pub delivered_bytes: u64,
    /// Marked bytes.
    pub marked_bytes: u64,
    /// SND.UNA, by this ACK.
    pub una: u64,
    /// SND.NXT.
    pub next: u64,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// Fast recovery begins (RFC 5681 section 3.2).
    Loss,
    /// A mark was echoed, or counted (RFC 3168 section 6.1.2).
    Mark,
    /// The retransmission timer expired (RFC 5681 section 3.1, equation 4 and LW).
    Timeout,
    /// It expired for data that has already cost a reduction: only the window collapses.
    TimeoutAgain,
}

impl Congestion {
    /// Whether the retransmission timer expired.
    pub const fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::TimeoutAgain)
    }
}

/// A congestion control. `Any` gives a program that holds a run its own one back
/// ([`Connection::own_control`](crate::Connection::own_control)).
pub trait CongestionControl: Any + Debug {
    /// The congestion window in segments, at least 1.
    fn window(&self) -> u32;

    /// The slow-start threshold in segments; [`INFINITE`] before anything set it.
    fn ssthresh(&self) -> u32;

    /// The control's own pacing rate. None: the sender paces, if told to, at 2 windows a round
    /// trip in early slow start and 1.2 otherwise, as Linux does.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether [`window`](Self::window) holds during recovery too; otherwise the sender follows
    /// proportional rate reduction (RFC 6937) down to `ssthresh`.
    fn controls_recovery(&self) -> bool {
        false
    }

    /// Whether the control keeps the window below the path's capacity on purpose now, so that
    /// delivery rates say nothing about the path.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Windows of data that the send buffer grows to hold (Linux `sndbuf_expand`).
    fn buffered_windows(&self) -> u32 {
        2
    }

    /// The share of marked segments that the control reckons with (alpha), if it does.
    fn marked_share(&self) -> Option<f64> {
        None
    }

    /// 64 random bits for what the control decides by lot.
    fn seed(&mut self, _bits: u64) {}

    /// An ACK has come. Before recovery looks at it, which may end by it, and before
    /// [`CongestionControl::on_ack`].
    fn on_ack_arrival(&mut self, _arrival: &AckArrival) {}

    /// The handshake is over; `rtt` is its round trip, if it was measured.
    fn on_established(&mut self, _rtt: Option<Span>, _now: Time) {}

    /// An ACK arrived.
    fn on_ack(&mut self, ack: &AckEvent);

    /// Congestion, once a window of data. `in_flight`: segments in the network now.
    fn on_congestion(&mut self, why: Congestion, in_flight: u32, now: Time);

    /// Recovery or the reaction to a mark is over.
    fn on_recovery_end(&mut self, _now: Time) {}

    /// The last [`on_congestion`](Self::on_congestion) was a mistake (RFC 4015, RFC 5682).
    fn on_undo(&mut self);

    /// Something is about to be sent, for the first time or again, with nothing in flight: what
    /// has been sent before, up to `next`, was acknowledged or is lost. The last was sent `idle`
    /// ago.
    fn on_transmit_start(&mut self, _idle: Span, _next: u64, _now: Time) {}

    /// Nothing was sent for longer than a timeout: back to `restart` segments at most, after
    /// one halving per `timeouts` (RFC 2861 section 3; RFC 5681 section 4.1).
    fn on_idle_restart(&mut self, timeouts: u32, restart: u32);

    /// Only `used` segments of the window were needed for a timeout (RFC 2861 section 3.2).
    fn on_application_limited(&mut self, used: u32);

    /// A copy that decides as this one would have, for
    /// [`Connection::fork`](crate::Connection::fork). None, unless it says otherwise.
    fn fork(&self) -> Option<Box<dyn CongestionControl + Send>> {
        None
    }
}
