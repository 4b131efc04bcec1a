//! Parameters of the parts, with tc's names and defaults.

use crate::{AckFilter, DiffServ, Isolation, LinkLayer};
use sojourn_units::{Rate, Span};

/// First in, first out (`tc-pfifo(8)`): what is limited, and what a full queue drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FifoParams {
    /// `pfifo`: packets, default 1000. A full queue drops what arrives.
    Packets(u32),
    /// `bfifo`: bytes, default 1000 full frames. A full queue drops what arrives.
    Bytes(u64),
    /// `pfifo_head_drop`: packets, default 1000. A full queue drops the oldest for each arrival.
    HeadDrop(u32),
}

/// CoDel (RFC 8289 section 4; `tc-codel(8)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelParams {
    /// Acceptable standing delay. Default 5 ms.
    pub target: Span,
    /// Window in which the delay must fall below the target once. Default 100 ms.
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Mark every ECN-capable packet that waited longer than this. Default off.
    pub ce_threshold: Option<Span>,
}

/// COBALT ("Piece of CAKE"; ns-3's `CobaltQueueDisc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CobaltParams {
    /// Acceptable standing delay. Default 5 ms.
    pub target: Span,
    /// Pace of the first signals. Default 100 ms.
    pub interval: Span,
    /// Mark ECN-capable packets instead of dropping them. Default on.
    pub ecn: bool,
    /// Time that the longest packet takes on the link: up to four of them are no standing
    /// queue. Default zero.
    pub mtu_time: Span,
}

/// PIE (RFC 8033; `tc-pie(8)`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PieParams {
    /// Delay target. Default 15 ms.
    pub target: Span,
    /// Interval of the probability's updates. Default 15 ms.
    pub tupdate: Span,
    /// Weight of the deviation, in 1/16 Hz, 0 to 32. Default 2 (RFC 8033: 1/8 Hz).
    pub alpha: u32,
    /// Weight of the trend, in 1/16 Hz, 0 to 32. Default 20 (RFC 8033: 1¼ Hz).
    pub beta: u32,
    /// Mark ECN-capable packets instead of dropping them, up to `ecn_limit`.
    pub ecn: bool,
    /// Above this probability packets are dropped even if they are ECN-capable. Default 0.1.
    pub ecn_limit: f64,
    /// Scale the probability by packet size.
    pub bytemode: bool,
    /// Estimate the delay from the departure rate (RFC 8033 section 5.2) and not from time
    /// stamps.
    pub dq_rate_estimator: bool,
}

/// GSP (Lautenschlaeger and Francini 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GspParams {
    /// Delay above which an arrival is dropped. Default 5 ms (ours).
    pub threshold: Span,
    /// Pause after a drop, at rest. Default 200 ms.
    pub interval: Span,
    /// Weight of the time above the threshold against the time below, at least 1. Default 2.
    pub alpha: u32,
    /// Surplus of time above the threshold that halves the interval. Default 1 s.
    pub tau: Span,
    /// Pause after a drop at least. Default 1 ms (ours).
    pub min_interval: Span,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
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

/// RED (Floyd and Jacobson 1993; `tc-red(8)`).
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // tc's own switches
pub struct RedParams {
    /// Unit of `min` and `max`, as of the queue's limit.
    pub unit: RedUnit,
    /// Average below which nothing is signalled. Default max/3.
    pub min: u64,
    /// Average at which `probability` is reached. Default limit/4.
    pub max: u64,
    /// Mean packet in bytes.
    pub avpkt: u32,
    /// Weight of the average. Default burst (2·min + max)/(3·avpkt).
    pub weight: RedWeight,
    /// Signalling probability at `max`. Default 0.02.
    pub probability: f64,
    /// Link rate, for the decay of the average while idle. Default 10 Mbit/s.
    pub bandwidth: Rate,
    /// Adapt `probability` (Floyd, Gummadi, Shenker 2001).
    pub adaptive: bool,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
    /// Above `max`, drop ECN-capable packets too.
    pub harddrop: bool,
    /// With `ecn`: never drop packets that are not ECN-capable, except at the limit.
    pub nodrop: bool,
    /// Raise the probability from `probability` at max to 1 at 2·max, and do not drop
    /// everything above max; an extension (`gentle`), as ns-2 and ns-3 have it.
    pub gentle: bool,
    /// Never signal twice within 1/probability packets: the distance between signals is uniform
    /// from there to twice that; an extension (`wait`), as `wait_` of ns-2 and ns-3, on there.
    pub wait: bool,
    /// Never signal a packet that finds at most one packet (or byte) waiting, however large the
    /// average is; an extension (`spare`), always so in ns-2 and ns-3.
    pub spare: bool,
    /// The probability grows with the packet: it is that of a packet of `avpkt` bytes; an extension
    /// (`bytemode`, as PIE's), so in ns-2 (`bytes_`) and ns-3 where thresholds are bytes.
    pub bytemode: bool,
}

/// A flow queue around an AQM (RFC 8290; `tc-fq_codel(8)`, `tc-fq_pie(8)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowParams {
    /// Packets in all queues. Default 10240.
    pub limit: u32,
    /// Number of queues, 1 to 65536. Default 1024.
    pub flows: u32,
    /// Bytes a queue may send in its turn, at least 256. None: the link's MTU with its header.
    pub quantum: Option<u32>,
    /// Bytes in all queues. Default 32 MiB.
    pub memory_limit: u64,
    /// Most packets dropped at once from the fattest queue. Default 64.
    pub drop_batch: u32,
    /// CAKE's parts under it. Default none of them.
    pub parts: FlowParts,
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

/// The policy of AQM Steering (Bless, Hock and Zitterbart 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteerParams {
    /// Rate of the link. None: measured while packets wait.
    pub rate: Option<Rate>,
    /// Utilisation wanted at least, in percent of the link's rate. Default 99.
    pub util: u32,
    /// Highest target. Default 30 ms.
    pub delay: Span,
    /// Utilisation wanted at most, in percent. Default 100, which is no ceiling.
    pub ceiling: u32,
}

/// CAKE (`tc-cake(8)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // tc's own switches
pub struct CakeParams {
    /// Rate of the shaper. None: unlimited, the default.
    pub bandwidth: Option<Rate>,
    /// Follow the rate of what arrives (`autorate-ingress`).
    pub autorate: bool,
    /// Tins. Default diffserv3.
    pub diffserv: DiffServ,
    /// Between whom capacity is shared first. Default triple-isolate.
    pub isolation: Isolation,
    /// Take the addresses inside a network address translation.
    pub nat: bool,
    /// Clear the DSCP of every packet.
    pub wash: bool,
    /// Charge dropped packets to the shaper too: they have used the link before.
    pub ingress: bool,
    /// Which acknowledgements are dropped. Default none.
    pub ack_filter: AckFilter,
    /// Cut super-packets (`split-gso`). Default on.
    pub split_gso: bool,
    /// Round-trip time that the AQM is made for; its target is a twentieth. Default 100 ms.
    pub rtt: Span,
    /// Bytes held at most. None: four times what the rate brings in `rtt`, at least 4 MiB.
    pub memlimit: Option<u64>,
    /// Overhead of the link.
    pub link: LinkLayer,
    /// Bits of the firewall's mark that choose a tin, counted from 1 as tc shows them; none by
    /// default.
    pub fwmark: u32,
}

/// One class of HTB (`tc-htb(8)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbParams {
    /// Rate, which is the ceiling too.
    pub rate: Rate,
    /// Bytes that an idle class may send at once, beside the packet that makes the debt. Default
    /// 1600.
    pub burst: u64,
}

/// Token bucket (`tc-tbf(8)`). What has no default in tc is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TbfParams {
    /// Rate at which tokens come.
    pub rate: Rate,
    /// Bucket in bytes.
    pub burst: u64,
    /// Rate of the second bucket.
    pub peakrate: Option<Rate>,
    /// Second bucket in bytes (`mtu`, `minburst`). Default 2047 when there is a peak rate.
    pub mtu: Option<u64>,
    /// Smallest size a packet is charged with.
    pub mpu: u32,
    /// Bytes added to every packet before it is charged.
    pub overhead: i32,
}

impl Default for HtbParams {
    fn default() -> Self {
        Self {
            rate: Rate::ZERO,
            // What `tc` takes on a kernel with exact timers.
            burst: 1600,
        }
    }
}

impl Default for RedParams {
    /// Without thresholds, which follow from the queue's limit.
    fn default() -> Self {
        Self {
            unit: RedUnit::Bytes,
            min: 0,
            max: 0,
            avpkt: 500,
            weight: RedWeight::Burst(0),
            probability: 0.02,
            bandwidth: Rate::from_bps(10_000_000),
            adaptive: false,
            ecn: false,
            harddrop: false,
            nodrop: false,
            gentle: false,
            wait: false,
            spare: false,
            bytemode: false,
        }
    }
}

impl Default for CodelParams {
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: false,
            ce_threshold: None,
        }
    }
}

impl Default for CobaltParams {
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            ecn: true,
            mtu_time: Span::ZERO,
        }
    }
}

impl Default for PieParams {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            tupdate: Span::from_millis(15),
            alpha: 2,
            beta: 20,
            ecn: false,
            ecn_limit: 0.1,
            bytemode: false,
            dq_rate_estimator: false,
        }
    }
}

impl Default for GspParams {
    fn default() -> Self {
        Self {
            threshold: Span::from_millis(5),
            interval: Span::from_millis(200),
            alpha: 2,
            tau: Span::from_secs(1),
            min_interval: Span::from_millis(1),
            ecn: false,
        }
    }
}

impl Default for SteerParams {
    fn default() -> Self {
        Self {
            rate: None,
            util: 99,
            delay: Span::from_millis(30),
            ceiling: 100,
        }
    }
}

impl Default for CakeParams {
    fn default() -> Self {
        Self {
            bandwidth: None,
            autorate: false,
            diffserv: DiffServ::default(),
            isolation: Isolation::default(),
            nat: false,
            wash: false,
            ingress: false,
            ack_filter: AckFilter::default(),
            split_gso: true,
            rtt: Span::from_millis(100),
            memlimit: None,
            link: LinkLayer::default(),
            fwmark: 0,
        }
    }
}

impl Default for FlowParams {
    fn default() -> Self {
        Self {
            limit: 10_240,
            flows: 1024,
            quantum: None,
            memory_limit: 32 << 20,
            drop_batch: 64,
            parts: FlowParts::NONE,
        }
    }
}
