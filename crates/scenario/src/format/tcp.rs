//! The table `tcp` of a scenario file: TCP's parameters, for all flows or one, and the words that
//! they take.

use crate::quantity::{AckDelay, Bytes, Duration, EcnWord};
use sojourn_tcp::{AccEcnRule, Algorithm, DctcpRule, RtoRule, SlowStart, VegasConfig};
use sojourn_text::{table, words};

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
        /// Tick of the timers of retransmission, probes, handshakes and delayed ACKs, as that of
        /// Linux's timer wheel: they expire with a tick, and later ones with fewer ticks. CUBIC
        /// and Westwood+ reckon in it. Linux with 1000 Hz: 1 ms. Default 0: exact. Worlds with real
        /// hosts have their kernel's.
        timer_tick: Option<Duration>,
        /// Whether the timeout is computed from one segment's round-trip time at a time, as in
        /// ns-2, instead of from every ACK, as in Linux. Default false.
        timed_segment: Option<bool>,
        /// Thresholds of Vegas. Default `linux`: 2 to 4 segments in the queue. `ns2`: 1 to 3, and
        /// slow start doubles every other round trip.
        vegas: Option<VegasWord>,
        /// How DCTCP keeps alpha, its estimate of the share of marks. Default `linux`: in whole
        /// 1024ths, where a share below 1.6 % soon counts as none. `rfc8257`: a real number.
        dctcp: Option<DctcpWord>,
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
        /// How the receiver acknowledges and reports its counts with AccECN. Default `rfc9768`.
        /// `linux`: as Linux 7.3.
        accecn: Option<AccEcnWord>,
        /// Spread each window over a round trip. Default false.
        pacing: Option<bool>,
        /// Whether Prague's round-trip times below 25 ms count as 25 ms after 500 round trips.
        /// Default true.
        rtt_independence: Option<bool>,
        /// Prague: where the round trip varies as behind a queue with classic ECN, a mark costs at
        /// least 5/16 of the window (the L4S team's `prague_ecn_fallback`). Default false.
        ecn_fallback: Option<bool>,
        /// Whether Prague's window falls below two segments, held by pacing. The L4S team's Linux
        /// keeps two. Default true.
        fractional_window: Option<bool>,
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
        /// Your own, in the kernel world: `sojourn kernel build --control FILE.c`.
        Own = "own" => Algorithm::Linux("own"),
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
    /// Whose arithmetic DCTCP's alpha has.
    pub(crate) enum DctcpWord: DctcpRule {
        /// Whole 1024ths: what is added is cut, and what would be left below 16 goes to zero.
        Linux = "linux" => DctcpRule::Linux,
        /// A real number (RFC 8257 section 3.3).
        Rfc8257 = "rfc8257" => DctcpRule::Rfc8257,
    }
}

words! {
    /// What RFC 9768 leaves to an implementation of AccECN.
    pub(crate) enum AccEcnWord: AccEcnRule {
        /// An ACK at the first of several marks, and then after two; the option with news.
        Rfc9768 = "rfc9768" => AccEcnRule::Rfc9768,
        /// An ACK at each change between marked and not, the option on each segment; ACKs are
        /// ECN-capable.
        Linux = "linux" => AccEcnRule::Linux,
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
