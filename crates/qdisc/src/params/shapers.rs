//! Parameters of the disciplines with a rate of their own: CAKE, `htb`, `tbf`.

use super::{CeSelector, Isolation};
use crate::{AckFilter, DiffServ, LinkLayer};
use sojourn_units::{Rate, Span};

params! {
    /// CAKE (`tc-cake(8)`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(clippy::struct_excessive_bools)] // tc's own switches
    pub struct CakeParams {
        /// Rate of the shaper. None: unlimited, the default.
        pub bandwidth: Option<Rate> = None,
        /// Follow the rate of what arrives (`autorate-ingress`).
        pub autorate: bool = false,
        /// Tins. Default diffserv3.
        pub diffserv: DiffServ = DiffServ::default(),
        /// Between whom capacity is shared first. Default triple-isolate.
        pub isolation: Isolation = Isolation::default(),
        /// Take the addresses inside a network address translation.
        pub nat: bool = false,
        /// Clear the DSCP of every packet.
        pub wash: bool = false,
        /// Charge dropped packets to the shaper too: they have used the link before.
        pub ingress: bool = false,
        /// Which acknowledgements are dropped. Default none.
        pub ack_filter: AckFilter = AckFilter::default(),
        /// Cut super-packets (`split-gso`). Default on.
        pub split_gso: bool = true,
        /// Round-trip time that the AQM is made for; its target is a twentieth. Default 100 ms.
        pub rtt: Span = Span::from_millis(100),
        /// Bytes held at most. None: four times what the rate brings in `rtt`, at least 4 MiB.
        pub memlimit: Option<u64> = None,
        /// Overhead of the link.
        pub link: LinkLayer = LinkLayer::default(),
        /// Bits of the firewall's mark that choose a tin, counted from 1 as tc shows them; none by
        /// default.
        pub fwmark: u32 = 0,
        /// Mark every ECN-capable packet that waited longer than this, beside COBALT's signals; an
        /// extension. Default off.
        pub ce_threshold: Option<Span> = None,
        /// Which of them alone: ECT(1) is a step for L4S. Default all.
        pub ce_selector: CeSelector = CeSelector::All,
    }
}

params! {
    /// CAKE on several queues that share its rate (`tc-cake_mq(8)`), beside those of each.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CakeMqParams {
        /// Queues; in Linux as many as the device has. Default 2.
        pub queues: u32 = 2,
    }
}

params! {
    /// One class of HTB (`tc-htb(8)`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HtbParams {
        /// Rate, which is the ceiling too.
        pub rate: Rate = Rate::ZERO,
        /// Bytes that an idle class may send at once, beside the packet that makes the debt.
        /// Default 1600, which `tc` takes on a kernel with exact timers.
        pub burst: u64 = 1600,
    }
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
    /// Charge for cells of ATM: 53 bytes for each 48 begun (`linklayer atm`). Default off.
    pub atm: bool,
}

impl TbfParams {
    /// Size on the link of a packet of `len` bytes.
    pub(crate) fn size(&self, len: u64) -> u64 {
        // At least zero: a negative overhead may exceed a short packet.
        let framed = len
            .saturating_add_signed(self.overhead.into())
            .max(self.mpu.into());
        if self.atm {
            framed.div_ceil(48).saturating_mul(53)
        } else {
            framed
        }
    }
}
