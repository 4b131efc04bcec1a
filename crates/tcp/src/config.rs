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
    /// Brakmo and Peterson 1995; `vegas` in Linux.
    Vegas,
    /// Westwood+, Mascolo et al. 2004; `westwood` in Linux.
    Westwood,
    /// Compound TCP, Tan et al. 2006; Windows had it, Linux does not.
    Compound,
    /// Data Center TCP, RFC 8257; `dctcp` in Linux. Negotiates ECN if [`Config::ecn`] does not.
    /// [`Config::dctcp`] says whose arithmetic it has.
    Dctcp,
    /// Prague, draft-briscoe-iccrg-prague-congestion-control, the sender of L4S; not in Linux's
    /// main line. Negotiates AccECN whatever [`Config::ecn`] says, and is Reno with less.
    Prague,
    /// BBR version 1; `bbr` in Linux.
    Bbr,
    /// BBR version 3, draft-ietf-ccwg-bbr; not in Linux's main line.
    Bbr3,
    /// One that only Linux has, by its name there. Who simulates must refuse it: a connection
    /// here would be Reno's.
    Linux(&'static str),
}

impl Algorithm {
    /// All that are here, in the order of their age.
    pub const ALL: [Self; 9] = [
        Self::Reno,
        Self::Vegas,
        Self::Westwood,
        Self::Cubic,
        Self::Compound,
        Self::Dctcp,
        Self::Bbr,
        Self::Bbr3,
        Self::Prague,
    ];

    /// Its name in scenario files and tables; Linux's where Linux has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Vegas => "vegas",
            Self::Westwood => "westwood",
            Self::Compound => "compound",
            Self::Dctcp => "dctcp",
            Self::Prague => "prague",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
            Self::Linux(name) => name,
        }
    }

    /// Whether Linux's main line has it. Its `tcp_bbr` is version 1.
    pub const fn is_in_linux(self) -> bool {
        !matches!(self, Self::Compound | Self::Bbr3 | Self::Prague)
    }
}

/// How a receiver tells its peer of marks, if the peer agrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not at all: what is sent is not ECN-capable.
    #[default]
    Off,
    /// By an echo until the window is reduced (RFC 3168); Linux: `tcp_ecn` 1.
    Classic,
    /// By counters (AccECN, RFC 9768), or as RFC 3168 if the peer knows no more than that; Linux:
    /// `tcp_ecn` 3.
    Accurate,
}

/// What Linux and RFC 9768 leave to an implementation of AccECN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccEcnRule {
    /// RFC 9768's simple scheme: the option goes with ACKs that have news, and pure ACKs are not
    /// ECN-capable.
    #[default]
    Rfc9768,
    /// As Linux 7.3: the option goes with every segment once the peer has sent one, and pure ACKs
    /// are ECN-capable too (`tcp_ecn_option` 2).
    Linux,
    /// As Linux 7.3 without the option (`tcp_ecn_option` 0).
    LinuxWithoutOption,
}

/// How DCTCP keeps alpha, its estimate of the share of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DctcpRule {
    /// In whole 1024ths, as Linux's `dctcp_update_alpha`: what is added is cut, and what would be
    /// left below 16 goes to zero at once.
    #[default]
    Linux,
    /// A real number (RFC 8257 section 3.3).
    Rfc8257,
}

/// How many of its own segments Vegas wants to keep in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VegasConfig {
    /// Fewer than this: one segment more. Default 2 (Linux); the paper and ns-2: 1.
    pub alpha: f64,
    /// More than this: one segment less. Default 4 (Linux); the paper and ns-2: 3.
    pub beta: f64,
    /// More than this ends slow start. Default 1 (Linux, ns-2).
    pub gamma: f64,
    /// Double only every other round trip, as the paper and ns-2. Default off, as Linux.
    pub alternate_slow_start: bool,
    /// Reckon what waits by the shortest round trip, in whole segments, as Linux; the paper and
    /// ns-2 by the measured one. Default on.
    pub by_base: bool,
}

impl VegasConfig {
    /// As ns-2 (`v_alpha_`, `v_beta_`, `v_gamma_`) and the paper.
    pub const NS2: Self = Self {
        alpha: 1.0,
        beta: 3.0,
        gamma: 1.0,
        alternate_slow_start: true,
        by_base: false,
    };
}

impl Default for VegasConfig {
    fn default() -> Self {
        Self {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
            alternate_slow_start: false,
            by_base: true,
        }
    }
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
    /// Every second full segment, or after a delay (RFC 5681 section 4.2) that, as Linux's,
    /// begins at 40 ms and follows the distance of segments. The first segments of a connection
    /// are acknowledged at once, as Linux does (quick ACK).
    On {
        /// Longest delay; Linux: 200 ms (`TCP_DELACK_MAX`).
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

/// One of ns-2's one-way senders; they differ in how losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ns2Agent {
    /// `Agent/TCP/Newreno`.
    NewReno,
    /// `Agent/TCP/Sack1`.
    Sack,
    /// `Agent/TCP/Linux` with the congestion control as its module.
    Linux,
}

/// A connection's parameters; the default is what Linux does over Ethernet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Congestion control.
    pub algorithm: Algorithm,
    /// The sender is one of ns-2's instead of ours: then only `mss`, the timeouts, `timestamps`
    /// and what concerns the receiver count. Default none.
    pub ns2: Option<Ns2Agent>,
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
    /// The clock that measures round trips for the timeout: samples are rounded to whole ticks,
    /// at least one, and timeouts down to whole ticks, at least two, as ns-2 does with its
    /// `tcpTick_` (10 ms). Zero, the default: exact. Congestion controls always see exact times.
    pub tick: Span,
    /// The tick of the kernel's timer wheel: retransmissions, probes, reordering, handshakes and
    /// delayed ACKs expire with a tick, up to one late within 62 ticks, up to 8 within 503, up to
    /// 64 within 4031 and so on (Linux `calc_wheel_index`). Pacing and ACKs held behind a gap have
    /// finer timers. CUBIC and Westwood+ reckon in it. Linux with 1000 Hz: 1 ms. Default zero:
    /// exact, and 1 ms for Westwood+.
    pub timer_tick: Span,
    /// Measure one segment at a time for the timeout, as ns-2 and the BSDs without timestamps;
    /// otherwise every ACK is a sample, as in Linux. Default off.
    pub timed_segment: bool,
    /// Vegas's thresholds.
    pub vegas: VegasConfig,
    /// How DCTCP keeps alpha. Default as Linux.
    pub dctcp: DctcpRule,
    /// Selective acknowledgements (RFC 2018, 6675). Without: NewReno recovery (RFC 6582).
    pub sack: bool,
    /// Loss detection by time with a tail loss probe (RFC 8985), as Linux; needs `sack`.
    pub rack: bool,
    /// Finds spurious timeouts by what is acknowledged after them (F-RTO, RFC 5682 section 3),
    /// as Linux and not ns-2; needs `sack`. Default on.
    pub frto: bool,
    /// The timestamp option: 12 bytes in every segment, RTT from every ACK (RFC 7323).
    pub timestamps: bool,
    /// When the receiver acknowledges. Default delayed, by at most 200 ms.
    pub delayed_ack: DelayedAck,
    /// After an idle time of a timeout the window begins anew (RFC 2861, Linux
    /// `tcp_slow_start_after_idle`). Default on.
    pub slow_start_after_idle: bool,
    /// Nagle's algorithm (RFC 1122 section 4.2.3.4). Default off.
    pub nagle: bool,
    /// Explicit congestion notification. Default off.
    pub ecn: Ecn,
    /// How AccECN tells its counters, if it is agreed on. Default by RFC 9768.
    pub accecn: AccEcnRule,
    /// Whether the handshake's feedback must fit what was sent, and SYNs are sent again without ECN
    /// (RFC 9768 section 3.2.2.3; Linux `tcp_ecn_fallback`). Default true.
    pub ecn_checked: bool,
    /// So many SYNs are sent again after [`Config::initial_rto`] each, before that doubles. Default
    /// 0, as Linux 6.1; Linux 7.3: 4 (`tcp_syn_linear_timeouts`).
    pub linear_syns: u32,
    /// Spread a window over a round trip. Default off.
    pub pacing: bool,
    /// Most segments of a train, which the network takes as one packet (Linux: TSO, GSO). Segments
    /// are returned one by one even so; [`train_goes_on`](crate::Connection::train_goes_on) tells
    /// which belong together. Default 1: there are no trains.
    pub train: u16,
    /// Prague: round trips of less than 25 ms count as 25 ms after 500 of them. Default on.
    pub rtt_independence: bool,
    /// Prague: where the delay varies as in a queue with classic ECN, a mark costs 5/16 of the
    /// window at least. Default off, as the L4S team's Linux (`prague_ecn_fallback` 0).
    pub ecn_fallback: bool,
    /// Prague: a window may fall below two segments, held by pacing. Default on; the L4S team's
    /// Linux keeps two (`MIN_CWND`).
    pub fractional_window: bool,
    /// Send buffer in bytes: what an app can write ahead of acknowledgements, and so the most in
    /// flight. It grows up to that with the window. Default 2,740,682: so much Linux's 4 MiB of
    /// memory (`tcp_wmem`) hold, because a segment of 1448 bytes takes 2216.
    pub send_buffer: u64,
    /// Receive window at the start, in bytes; a segment less is offered while it can grow. Default
    /// 64 KiB, half of Linux's first memory to receive (`tcp_rmem`).
    pub receive_window: u32,
    /// Largest receive window that auto-tuning may reach. Default 3 MiB, half of Linux's largest
    /// memory to receive.
    pub receive_window_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            ns2: None,
            slow_start: SlowStart::default(),
            mss: 1448,
            initial_window: 10,
            initial_ssthresh: None,
            min_rto: Span::from_millis(200),
            initial_rto: Span::from_secs(1),
            max_rto: Span::from_secs(120),
            rto_rule: RtoRule::default(),
            clock: Span::from_millis(1),
            tick: Span::ZERO,
            timer_tick: Span::ZERO,
            timed_segment: false,
            vegas: VegasConfig::default(),
            dctcp: DctcpRule::default(),
            sack: true,
            rack: true,
            frto: true,
            timestamps: true,
            delayed_ack: DelayedAck::On {
                timeout: Span::from_millis(200),
            },
            slow_start_after_idle: true,
            nagle: false,
            ecn: Ecn::Off,
            accecn: AccEcnRule::Rfc9768,
            ecn_checked: true,
            linear_syns: 0,
            pacing: false,
            train: 1,
            rtt_independence: true,
            ecn_fallback: false,
            fractional_window: true,
            send_buffer: (4 << 20) * 1448 / 2216,
            receive_window: 64 << 10,
            receive_window_max: 3 << 20,
        }
    }
}

impl Config {
    /// By how many bits the window is shifted in segments: the fewest by which the largest buffer,
    /// twice the largest window as in Linux, fits 16 bits; at most 14 (RFC 7323 section 2.2).
    pub fn window_scale(&self) -> u8 {
        let largest = self.receive_window_max.saturating_mul(2);
        let fits = |shift: &u8| u16::try_from(largest >> shift).is_ok();
        (0..14).find(fits).unwrap_or(14)
    }

    /// What is negotiated: what [`Config::ecn`] says, and always something for DCTCP and Prague,
    /// which are nothing without.
    pub const fn wanted_ecn(&self) -> Ecn {
        match (self.algorithm, self.ecn) {
            (Algorithm::Dctcp, Ecn::Off) => Ecn::Classic,
            (Algorithm::Prague, _) if self.ns2.is_none() => Ecn::Accurate,
            // ns-2's senders hear no counters.
            (_, Ecn::Accurate) if self.ns2.is_some() => Ecn::Off,
            (_, ecn) => ecn,
        }
    }

    /// Whether the receiver's ECN-echo follows the marks segment by segment (RFC 8257 section
    /// 3.2), as controls want that count marks: DCTCP, and BBR version 3.
    pub const fn echoes_exactly(&self) -> bool {
        match self.algorithm {
            Algorithm::Dctcp => true,
            Algorithm::Bbr3 => !matches!(self.ecn, Ecn::Off),
            _ => false,
        }
    }

    /// Bytes of IPv4 and TCP header of a segment with `sack_blocks` SACK blocks, and without an
    /// AccECN option.
    pub const fn header_len(&self, sack_blocks: u8) -> u16 {
        let timestamps = if self.timestamps { 12 } else { 0 };
        40 + timestamps + Self::sack_len(sack_blocks)
    }

    /// Bytes of the SACK option with so many blocks.
    pub const fn sack_len(blocks: u8) -> u16 {
        // Kind, length and two bytes of padding before the blocks (RFC 2018 section 3).
        if blocks > 0 { 4 + 8 * blocks as u16 } else { 0 }
    }
}
