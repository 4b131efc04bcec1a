//! Parameters of the parts, with tc's names and defaults.

use crate::{AckFilter, Ecn};
use sojourn_units::{Rate, Span, words};

/// Makes a structure of parameters and its default, each value beside its field.
macro_rules! params {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty = $default:expr,)+
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }
    };
}

mod limits;
mod shapers;

pub use limits::{Capacity, End, FifoParams, Limit};
pub use shapers::{CakeMqParams, CakeParams, HtbParams, TbfParams};

words! {
    /// Whose CoDel: they differ in when the next drop is due.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum CodelLaw {
        /// Linux 6.1: times of 1024 ns and a coarse 1/√count.
        #[default]
        Linux = "linux",
        /// Linux before its fix of March 2026: a queue that runs empty remembers since when its
        /// delay was above the target.
        Linux3Dot5 = "linux-3.5",
        /// RFC 8289 to the letter.
        Rfc8289 = "rfc8289",
        /// ns-2's of 2012, by Nichols and Jacobson: it resumes after less than 8 intervals, and
        /// then at two drops fewer.
        Ns2 = "ns2",
    }
}

words! {
    /// Whose DualPI2: they differ in how the L queue marks, and in what is left to chance.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DualLaw {
        /// Linux 7.3: a step, dice, and nothing by probability below two full packets.
        #[default]
        Linux = "linux",
        /// RFC 9332, appendix A.2: a ramp, and each n-th packet instead of dice.
        Rfc9332 = "rfc9332",
    }
}

words! {
    /// Which packets a step marks, by their ECN field: its bits that must be as given, and those
    /// that count, as `tc` writes them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum CeSelector {
        /// All that are ECN-capable.
        #[default]
        All = "0/0",
        /// ECT(1): L4S.
        Ect1 = "0x1/0x3",
        /// ECT(0): classic ECN.
        Ect0 = "0x2/0x3",
    }
}

impl CeSelector {
    /// Whether a packet with this field is one of them.
    pub const fn has(self, ecn: Ecn) -> bool {
        match self {
            Self::All => ecn.is_capable(),
            Self::Ect1 => matches!(ecn, Ecn::Ect1),
            Self::Ect0 => matches!(ecn, Ecn::Ect0),
        }
    }
}

words! {
    /// Whose RED: they differ in what the word `adaptive` does.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RedLaw {
        /// It adapts the probability, as the paper has it.
        #[default]
        Paper = "paper",
        /// It does nothing, as in Linux up to 7.3 with a tc that sends flags as an attribute.
        Linux = "linux",
    }
}

params! {
    /// CoDel (RFC 8289 section 4; `tc-codel(8)`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CodelParams {
        /// Acceptable standing delay. Default 5 ms.
        pub target: Span = Span::from_millis(5),
        /// Window in which the delay must fall below the target once. Default 100 ms.
        pub interval: Span = Span::from_millis(100),
        /// Mark ECN-capable packets instead of dropping them.
        pub ecn: bool = false,
        /// Mark every ECN-capable packet that waited longer than this. Default off.
        pub ce_threshold: Option<Span> = None,
        /// Which of them alone; in flow queues, as in Linux. Default all.
        pub ce_selector: CeSelector = CeSelector::All,
        /// Whose law says when the next drop is due; an extension.
        pub law: CodelLaw = CodelLaw::Linux,
    }
}

params! {
    /// COBALT ("Piece of CAKE"; ns-3's `CobaltQueueDisc`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CobaltParams {
        /// Acceptable standing delay. Default 5 ms.
        pub target: Span = Span::from_millis(5),
        /// Pace of the first signals. Default 100 ms.
        pub interval: Span = Span::from_millis(100),
        /// Mark ECN-capable packets instead of dropping them. Default on.
        pub ecn: bool = true,
        /// Time that the longest packet takes on the link: up to four of them are no standing
        /// queue. Default zero.
        pub mtu_time: Span = Span::ZERO,
        /// As CoDel's: CAKE's extension. Default off.
        pub ce_threshold: Option<Span> = None,
        /// Which packets alone. Default all.
        pub ce_selector: CeSelector = CeSelector::All,
    }
}

words! {
    /// Whose PIE: they differ in what they measure, and in what they add to the RFC's controller.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum PieLaw {
        /// Linux 6.1.
        #[default]
        Linux = "linux",
        /// FreeBSD's dummynet since 10.1, by the Centre for Advanced Internet Architectures.
        Dummynet = "dummynet",
    }
}

params! {
    /// PIE (RFC 8033; `tc-pie(8)`).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PieParams {
        /// Delay target. Default 15 ms.
        pub target: Span = Span::from_millis(15),
        /// Interval of the probability's updates. Default 15 ms.
        pub tupdate: Span = Span::from_millis(15),
        /// Weight of the deviation, in 1/16 Hz, 0 to 32. Default 2 (RFC 8033: 1/8 Hz).
        pub alpha: u32 = 2,
        /// Weight of the trend, in 1/16 Hz, 0 to 32. Default 20 (RFC 8033: 1¼ Hz).
        pub beta: u32 = 20,
        /// Mark ECN-capable packets instead of dropping them, up to `ecn_limit`.
        pub ecn: bool = false,
        /// Above this probability packets are dropped even if they are ECN-capable. Default 0.1.
        pub ecn_limit: f64 = 0.1,
        /// Scale the probability by packet size.
        pub bytemode: bool = false,
        /// Estimate the delay from the departure rate (RFC 8033 section 5.2) and not from time
        /// stamps.
        pub dq_rate_estimator: bool = false,
        /// Whose law says what is measured, and when nothing is dropped; an extension.
        pub law: PieLaw = PieLaw::Linux,
    }
}

params! {
    /// GSP (Lautenschlaeger and Francini 2015).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct GspParams {
        /// Delay above which an arrival is dropped. Default 5 ms (ours).
        pub threshold: Span = Span::from_millis(5),
        /// Pause after a drop, at rest. Default 200 ms.
        pub interval: Span = Span::from_millis(200),
        /// Weight of the time above the threshold against the time below, at least 1. Default 2.
        pub alpha: u32 = 2,
        /// Surplus of time above the threshold that halves the interval. Default 1 s.
        pub tau: Span = Span::from_secs(1),
        /// Pause after a drop at least. Default 1 ms (ours).
        pub min_interval: Span = Span::from_millis(1),
        /// Mark ECN-capable packets instead of dropping them.
        pub ecn: bool = false,
    }
}

impl GspParams {
    /// Largest surplus that is remembered: the one at which the interval is `min_interval`.
    pub fn max_time(&self) -> Span {
        let least = u128::from(self.min_interval.as_nanos()).max(1);
        let above = u128::from((self.interval - self.min_interval).as_nanos());
        let nanos = u128::from(self.tau.as_nanos()) * above / least;
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

params! {
    /// ADTH: a queue's limit follows the delay of its node.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AdthParams {
        /// Nodal delay wanted at most: in the queue and of the line's access. Default 200 ms.
        pub target: Span = Span::from_millis(200),
        /// Interval of the limit's changes. Default a quarter of the target.
        pub sampling: Span = Span::from_millis(50),
        /// Limit at least, in packets. Default 1.
        pub min: u32 = 1,
        /// Limit at most, in packets, and while nothing is known. Default 1000.
        pub max: u32 = 1000,
        /// Queue length factor at least. Default 0.1.
        pub fmin: f64 = 0.1,
        /// Queue length factor at most, up to 100. Default 1: more overshoots.
        pub fmax: f64 = 1.0,
        /// End from which packets go that are above a new limit. Default the head.
        pub drop: End = End::Head,
        /// What a full queue drops. Default the packet that arrives.
        pub full: End = End::Tail,
        /// Drop what is above a new limit at once; else each arrival replaces one packet until
        /// departures have made room. Default on.
        pub purge: bool = true,
    }
}

/// Unit of RED's thresholds and limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedUnit {
    /// Bytes, as in tc.
    Bytes,
    /// Packets, as in ns-2 (`min 5p`); an extension of tc's notation.
    Packets,
}

/// How RED's average follows the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RedWeight {
    /// tc's `burst` in packets, from which the power of two follows as in iproute2.
    Burst(u32),
    /// The weight itself, as ns-2's `q_weight_`; an extension (`weight 0.002`).
    Exact(f64),
}

params! {
    /// RED (Floyd and Jacobson 1993; `tc-red(8)`). The thresholds' defaults follow from the queue's
    /// limit; here they are zero.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[allow(clippy::struct_excessive_bools)] // tc's own switches
    pub struct RedParams {
        /// Unit of `min` and `max`, as of the queue's limit.
        pub unit: RedUnit = RedUnit::Bytes,
        /// Average below which nothing is signalled. Default max/3.
        pub min: u64 = 0,
        /// Average at which `probability` is reached. Default limit/4.
        pub max: u64 = 0,
        /// Mean packet in bytes.
        pub avpkt: u32 = 500,
        /// Weight of the average. Default burst (2·min + max)/(3·avpkt).
        pub weight: RedWeight = RedWeight::Burst(0),
        /// Signalling probability at `max`. Default 0.02.
        pub probability: f64 = 0.02,
        /// Link rate, for the decay of the average while idle. Default 10 Mbit/s.
        pub bandwidth: Rate = Rate::from_bps(10_000_000),
        /// Adapt `probability` (Floyd, Gummadi, Shenker 2001).
        pub adaptive: bool = false,
        /// Whether `adaptive` does so; an extension.
        pub law: RedLaw = RedLaw::Paper,
        /// Mark ECN-capable packets instead of dropping them.
        pub ecn: bool = false,
        /// Above `max`, drop ECN-capable packets too.
        pub harddrop: bool = false,
        /// With `ecn`: never drop packets that are not ECN-capable, except at the limit.
        pub nodrop: bool = false,
        /// Raise the probability from `probability` at max to 1 at 2·max, and do not drop
        /// everything above max; an extension (`gentle`), as ns-2 and ns-3 have it.
        pub gentle: bool = false,
        /// Never signal twice within 1/probability packets: the distance between signals is uniform
        /// from there to twice that; an extension (`wait`), as `wait_` of ns-2 and ns-3, on there.
        pub wait: bool = false,
        /// Never signal a packet that finds at most one packet (or byte) waiting, however large the
        /// average is; an extension (`spare`), always so in ns-2 and ns-3.
        pub spare: bool = false,
        /// The probability grows with the packet: it is that of a packet of `avpkt` bytes; an
        /// extension (`bytemode`, as PIE's), so in ns-2 (`bytes_`) and ns-3 where thresholds are
        /// bytes.
        pub bytemode: bool = false,
    }
}

words! {
    /// What DualPI2 does when the L queue's probability would be above 1.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DualOverload {
        /// It drops in both queues, so that the L queue's delay stays short.
        #[default]
        Drop = "drop_on_overload",
        /// It marks and lets the queue fill.
        Overflow = "overflow",
    }
}

words! {
    /// Where DualPI2 drops and marks by its probability.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DualDrop {
        /// At the head, when the packet leaves.
        #[default]
        Dequeue = "drop_dequeue",
        /// At the tail, when it arrives.
        Enqueue = "drop_enqueue",
    }
}

words! {
    /// Which packets DualPI2 puts into the L queue.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DualMask {
        /// ECT(1) and CE (RFC 9331 section 5.1).
        #[default]
        L4s = "l4s_ect",
        /// ECT(0) too: for DCTCP.
        Any = "any_ect",
    }
}

/// Above what DualPI2 marks every packet of the L queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepThreshold {
    /// A sojourn time.
    Time(Span),
    /// Packets that wait behind it in the L queue.
    Packets(u32),
}

params! {
    /// DualPI2 (RFC 9332; Linux 7.3's `sch_dualpi2`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DualPi2Params {
        /// Packets held at most, in both queues. Default 10 000.
        pub limit: u32 = 10_000,
        /// Memory held at most, as [`truesize`](crate::truesize) counts it, in bytes. Default
        /// `limit` packets of twice the link's MTU.
        pub memlimit: Option<u64> = None,
        /// Delay of the C queue that the controller steers to. Default 15 ms.
        pub target: Span = Span::from_millis(15),
        /// Interval of the probability's updates. Default 16 ms.
        pub tupdate: Span = Span::from_millis(16),
        /// Weight of the delay's deviation, in 1/256 Hz. Default 41 (0.16 Hz).
        pub alpha: u32 = 41,
        /// Weight of the delay's trend, in 1/256 Hz. Default 819 (3.2 Hz).
        pub beta: u32 = 819,
        /// Above this every packet of the L queue is marked. Default 1 ms.
        pub step_thresh: StepThreshold = StepThreshold::Time(Span::from_millis(1)),
        /// Only a packet that finds so many in the L queue is marked by the step. Default 0.
        pub min_qlen_step: u32 = 0,
        /// By how much the L queue's probability is above the base one, 1 to 255. Default 2.
        pub coupling_factor: u32 = 2,
        /// What happens where that would be above 1.
        pub overload: DualOverload = DualOverload::Drop,
        /// Where packets are dropped and marked.
        pub at: DualDrop = DualDrop::Dequeue,
        /// The C queue's weight in per cent while both wait, 0 to 100. Default 10.
        pub classic_protection: u32 = 10,
        /// Which packets are in the L queue.
        pub mask: DualMask = DualMask::L4s,
        /// Super-packets are cut into their segments on arrival. Default on.
        pub split_gso: bool = true,
        /// Whose rules; an extension.
        pub law: DualLaw = DualLaw::Linux,
        /// Delay from which RFC 9332's ramp rises. Default 800 µs.
        pub ramp: Span = Span::from_micros(800),
        /// Delay in which it rises to its end. Default 400 µs.
        pub ramp_range: Span = Span::from_micros(400),
        /// What moves the target (`steer over dualpi2`); an extension. None: nothing.
        pub steer: Option<SteerParams> = None,
    }
}

words! {
    /// What is a flow, and between whom capacity is shared first, with tc's words.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Isolation {
        /// One queue for all.
        FlowBlind = "flowblind",
        /// A queue for each source host.
        SrcHost = "srchost",
        /// A queue for each destination host.
        DstHost = "dsthost",
        /// A queue for each pair of hosts.
        Hosts = "hosts",
        /// A queue for each flow, whatever its hosts.
        Flows = "flows",
        /// Sources share first, then their flows.
        DualSrcHost = "dual-srchost",
        /// Destinations share first, then their flows.
        DualDstHost = "dual-dsthost",
        /// Both share first, then the flows.
        #[default]
        TripleIsolate = "triple-isolate",
    }
}

impl Isolation {
    /// Whether it asks for packets' hosts.
    pub const fn asks_hosts(self) -> bool {
        !matches!(self, Self::FlowBlind | Self::Flows)
    }

    /// Whether each flow has a queue of its own.
    pub(crate) const fn tells_flows(self) -> bool {
        !matches!(
            self,
            Self::FlowBlind | Self::SrcHost | Self::DstHost | Self::Hosts
        )
    }

    pub(crate) const fn is_by_source(self) -> bool {
        matches!(self, Self::DualSrcHost | Self::TripleIsolate)
    }

    pub(crate) const fn is_by_destination(self) -> bool {
        matches!(self, Self::DualDstHost | Self::TripleIsolate)
    }
}

params! {
    /// A flow queue around an AQM (RFC 8290; `tc-fq_codel(8)`, `tc-fq_pie(8)`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FlowParams {
        /// Packets in all queues. Default 10240.
        pub limit: u32 = 10_240,
        /// Number of queues, 1 to 65536. Default 1024.
        pub flows: u32 = 1024,
        /// Bytes a queue may send in its turn, at least 256. None: the link's MTU with its header.
        pub quantum: Option<u32> = None,
        /// Bytes that the packets in all queues hold. Default 32 MiB.
        pub memory_limit: u64 = 32 << 20,
        /// Most packets dropped at once from the fattest queue. Default 64.
        pub drop_batch: u32 = 64,
        /// CAKE's parts under it. Default none of them.
        pub parts: FlowParts = FlowParts::NONE,
    }
}

/// Parts of CAKE that work under any flow queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowParts {
    /// What is a flow, and between whom capacity is shared first. Default flows.
    pub isolation: Isolation,
    /// A flow may stand in any of eight queues.
    pub set_associative: bool,
    /// Take the addresses inside a network address translation.
    pub nat: bool,
    /// Which acknowledgements are dropped. Default none.
    pub ack_filter: AckFilter,
}

impl FlowParts {
    /// RFC 8290 without any of them.
    pub const NONE: Self = Self {
        isolation: Isolation::Flows,
        set_associative: false,
        nat: false,
        ack_filter: AckFilter::Off,
    };
}

params! {
    /// The policy of AQM Steering (Bless, Hock and Zitterbart 2018).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SteerParams {
        /// Rate of the link. None: measured while packets wait.
        pub rate: Option<Rate> = None,
        /// Utilisation wanted at least, in percent of the link's rate. Default 99.
        pub util: u32 = 99,
        /// Highest target. Default 30 ms.
        pub delay: Span = Span::from_millis(30),
        /// Utilisation wanted at most, in percent. Default 100, which is no ceiling.
        pub ceiling: u32 = 100,
    }
}

/// Parameters of an AQM that is steered, and of what steers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteeredParams<P> {
    /// The policy to meet.
    pub steer: SteerParams,
    /// The AQM's own, from whose target it begins.
    pub aim: P,
}
