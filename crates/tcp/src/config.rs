//! What a connection can be told.

use sojourn_units::Span;

/// Congestion control by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681 and 6582; `reno` in Linux.
    Reno,
    /// RFC 9438.
    #[default]
    Cubic,
}

/// How slow start ends when nothing is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SlowStart {
    /// Only by a loss, a mark or ssthresh (RFC 5681).
    Standard,
    /// HyStart as Linux's CUBIC has it: ACK trains and rising delay (Ha and Rhee 2008).
    #[default]
    HyStart,
    /// HyStart++ with conservative slow start (RFC 9406).
    HyStartPlusPlus,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayedAck {
    /// At once, every segment.
    Off,
    /// Every second full segment, or after `timeout` (RFC 5681 section 4.2). The first segments
    /// of a connection are acknowledged at once, as Linux does (quick ACK).
    On {
        /// Longest delay; Linux: 40 ms.
        timeout: Span,
    },
}

/// How the retransmission timeout follows from the measured round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtoRule {
    /// RFC 6298: `max(min_rto, SRTT + max(G, 4·RTTVAR))`; ns-2 and ns-3 have this.
    Rfc6298,
    /// As Linux: `SRTT + max(min_rto, 4·RTTVAR)`, and RTTVAR decays only once a round trip.
    #[default]
    Linux,
}

/// A connection's parameters; the default is what Linux does over Ethernet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Congestion control.
    pub algorithm: Algorithm,
    /// How slow start ends; HyStart applies to CUBIC only.
    pub slow_start: SlowStart,
    /// Payload bytes of a full segment, 1 to 65 000. Default 1448.
    pub mss: u16,
    /// Initial window in segments. Default 10 (RFC 6928).
    pub initial_window: u32,
    /// Initial slow-start threshold in bytes; none by default.
    pub initial_ssthresh: Option<u64>,
    /// Shortest retransmission timeout. Default 200 ms (RFC 6298 says 1 s, Linux 200 ms).
    pub min_rto: Span,
    /// Timeout before the first measurement. Default 1 s.
    pub initial_rto: Span,
    /// Longest retransmission timeout. Default 120 s.
    pub max_rto: Span,
    /// How the timeout follows from measurements. Default as Linux.
    pub rto_rule: RtoRule,
    /// Granularity of the retransmission clock (RFC 6298's G). Default 1 ms.
    pub clock: Span,
    /// Selective acknowledgements (RFC 2018, 6675). Without: NewReno recovery (RFC 6582).
    pub sack: bool,
    /// Loss detection by time with a tail loss probe (RFC 8985), as Linux; needs `sack`.
    pub rack: bool,
    /// The timestamp option: 12 bytes in every segment, RTT from every ACK (RFC 7323).
    pub timestamps: bool,
    /// When the receiver acknowledges. Default after 40 ms.
    pub delayed_ack: DelayedAck,
    /// Nagle's algorithm (RFC 1122 section 4.2.3.4). Default off.
    pub nagle: bool,
    /// Classic ECN (RFC 3168). Default off.
    pub ecn: bool,
    /// Spread a window over a round trip. Default off.
    pub pacing: bool,
    /// Send buffer in bytes: what an app can write ahead of acknowledgements. Default 4 MiB.
    pub send_buffer: u64,
    /// Receive window at the start, in bytes. Default 64 KiB.
    pub receive_window: u32,
    /// Largest receive window that auto-tuning may reach. Default 6 MiB.
    pub receive_window_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            slow_start: SlowStart::default(),
            mss: 1448,
            initial_window: 10,
            initial_ssthresh: None,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
            rto_rule: RtoRule::default(),
            clock: Span::from_millis(1),
            sack: true,
            rack: true,
            timestamps: true,
            delayed_ack: DelayedAck::On {
                timeout: Span::from_millis(40),
            },
            nagle: false,
            ecn: false,
            pacing: false,
            send_buffer: 4 << 20,
            receive_window: 64 << 10,
            receive_window_max: 6 << 20,
        }
    }
}

impl Config {
    /// Bytes of IPv4 and TCP header of a segment with `sack_blocks` SACK blocks.
    pub const fn header_len(&self, sack_blocks: u8) -> u16 {
        let timestamps = if self.timestamps { 12 } else { 0 };
        // Kind, length and two bytes of padding before the blocks (RFC 2018 section 3).
        let sack = if sack_blocks > 0 {
            4 + 8 * sack_blocks as u16
        } else {
            0
        };
        40 + timestamps + sack
    }
}
