//! The faults, by what they are planted in. A hunt knows the family alone: all faults of one are
//! looked for with the same space and the same properties, which today's code must hold.

use crate::acks::{self, Acks};
use crate::codel::{self, Codel};
use crate::control::StuckAtTwo;
use crate::fair::{self, Fair};
use crate::fin::{Ends, Fins};
use crate::paced::Paced;
use crate::pie::{self, Pie};
use sojourn_qdisc::{Limit, Qdisc, Setting, SingleQueue, Spec};
use sojourn_sim::{Instead, Packet, Sim};
use sojourn_tcp::{Config, CongestionControl};
use sojourn_units::Time;
use sojourn_world::{
    Cell, Flow, Interface, LineRate, Medium, Progress, RunResult, Taps, World, WorldError,
    WorldName,
};

/// What faults are planted in.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) space: &'static str,
    pub(crate) properties: &'static [&'static str],
    pub(crate) faults: &'static [Fault],
}

/// What stands in a run in the place of what its scenario says.
#[derive(Clone, Copy)]
pub(crate) enum Planted {
    /// Nothing.
    Today,
    Codel(codel::Flaw),
    Pie(pie::Flaw),
    Fair(fair::Flaw),
    /// A shaper, in ticks or not.
    Shaper(bool),
    StuckAtTwo,
    /// A FIFO for ACKs on the way back.
    Acks(acks::Flaw),
    /// A receiver whose SACK blocks never cover a FIN.
    UncoveredFin,
    /// Another of our own queues: some faults of others are options here.
    Ours(&'static str),
}

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) history: &'static str,
    pub(crate) planted: Planted,
    /// No fault: the same code without one, which must hold the properties.
    pub(crate) is_sound: bool,
}

const fn fault(name: &'static str, planted: Planted, history: &'static str) -> Fault {
    Fault {
        name,
        history,
        planted,
        is_sound: false,
    }
}

const fn sound(name: &'static str, planted: Planted) -> Fault {
    Fault {
        name,
        history: "none: the code that the family's faults are planted in",
        planted,
        is_sound: true,
    }
}

macro_rules! space {
    ($name:literal) => {
        include_str!(concat!("spaces/", $name, ".toml"))
    };
}

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        name: "codel",
        space: space!("one-queue"),
        properties: &["link.utilisation >= 75%"],
        faults: &[
            sound("codel-sound", Planted::Codel(codel::Flaw::Sound)),
            fault(
                "codel-count",
                Planted::Codel(codel::Flaw::KeepsCount),
                "the count of drops outlives its dropping state",
            ),
            fault(
                "codel-last-packet",
                Planted::Codel(codel::Flaw::SparesNothing),
                "the last packet is dropped too, so that slow links run empty",
            ),
            fault(
                "codel-interval",
                Planted::Codel(codel::Flaw::NoInterval),
                "a burst is taken for a standing queue",
            ),
            fault(
                "codel-stale",
                Planted::Codel(codel::Flaw::StaleFirstAbove),
                "`first_above_time` stays when the delay falls",
            ),
        ],
    },
    Family {
        name: "pie",
        space: space!("one-pie"),
        properties: &["link.utilisation >= 75%", "link.sojourn_ms.p95 <= 200"],
        faults: &[
            sound("pie-sound", Planted::Pie(pie::Flaw::Sound)),
            fault(
                "pie-unsigned",
                Planted::Pie(pie::Flaw::Unsigned),
                "DPDK: the delay less the target is unsigned",
            ),
            fault(
                "pie-integer",
                Planted::Pie(pie::Flaw::Integer),
                "DPDK: an integer division makes the controller's error zero",
            ),
            fault(
                "pie-burst",
                Planted::Pie(pie::Flaw::KeepsBurst),
                "the burst allowance never ends",
            ),
            fault(
                "pie-stale",
                Planted::Pie(pie::Flaw::StaleDelay),
                "an empty queue keeps the delay of its last packet",
            ),
        ],
    },
    Family {
        name: "red",
        space: space!("red"),
        properties: &["link.backlog_packets_mean <= 45", "link.utilisation >= 70%"],
        faults: &[fault(
            "red-adaptive",
            Planted::Ours("red limit 400p min 15p max 45p probability 0.02 adaptive law linux"),
            "Linux with today's tc: adaptive RED never adapts",
        )],
    },
    Family {
        name: "sparse",
        space: space!("sparse"),
        properties: &["flow.loss_ratio[flow=sparse] <= 1%"],
        faults: &[fault(
            "fq-codel-stale",
            Planted::Ours("fq_codel law linux-3.5"),
            "Linux 3.5 to 2026: `first_above_time` of a flow that ran empty stays",
        )],
    },
    Family {
        name: "shares",
        space: space!("shares"),
        properties: &[
            "flow.loss_ratio[flow=sparse] <= 1%",
            "flow.delay_ms.p95[flow=sparse] <= 60",
            "flow.goodput_bps[flow=small-*] >= 50% * flow.goodput_bps[flow=large-*]",
            "flow.goodput_bps[flow=large-*] >= 1000000",
        ],
        faults: &[
            sound("fair-sound", Planted::Fair(fair::Flaw::Sound)),
            fault(
                "fair-deficit",
                Planted::Fair(fair::Flaw::LeaksDeficit),
                "a deficit leaks, so that shares go by packets and not by bytes",
            ),
            fault(
                "fair-new",
                Planted::Fair(fair::Flaw::StaysNew),
                "a flow that runs empty comes back as a new one each time, and starves the old",
            ),
            fault(
                "fair-overflow",
                Planted::Fair(fair::Flaw::DropsArrival),
                "a full queue drops what arrives, not from the fattest flow",
            ),
            fault(
                "fair-hash",
                Planted::Fair(fair::Flaw::OneBucket),
                "the hash leaves out what tells flows apart",
            ),
        ],
    },
    Family {
        name: "overload",
        space: space!("overload"),
        properties: &["link.backlog_packets_mean <= 110"],
        faults: &[fault(
            "fq-codel-batch",
            Planted::Ours("fq_codel limit 128 drop_batch 1"),
            "FQ-CoDel before Linux 4.7: a full queue drops one packet, not half of the fattest flow",
        )],
    },
    Family {
        name: "acks",
        space: space!("acks"),
        properties: &["flow.goodput_bps >= 1500000"],
        faults: &[
            sound("acks-sound", Planted::Acks(acks::Flaw::Sound)),
            fault(
                "acks-sack",
                Planted::Acks(acks::Flaw::EatsSack),
                "an ACK filter eats ACKs whose number is known, with the SACK blocks in them",
            ),
        ],
    },
    Family {
        name: "files",
        space: space!("files"),
        properties: &["flow.completion_ms.p95 <= 350"],
        faults: &[fault(
            "fin-sack",
            Planted::UncoveredFin,
            "no SACK block covers a FIN, so that the end of a file waits for a timeout",
        )],
    },
    Family {
        name: "shaper",
        space: space!("shaper"),
        properties: &["link.utilisation >= 80%"],
        faults: &[
            sound("shaper-sound", Planted::Shaper(false)),
            fault(
                "shaper-ticks",
                Planted::Shaper(true),
                "a scheduler's clock is coarser than its packets",
            ),
        ],
    },
    Family {
        name: "cubic",
        space: space!("outage"),
        properties: &["flow.series.goodput.mean(20, 30) >= 3"],
        faults: &[fault(
            "cubic-two",
            Planted::StuckAtTwo,
            "CUBIC stays at two packets after heavy loss",
        )],
    },
];

impl World for Planted {
    fn name(&self) -> WorldName {
        Sim::NAME
    }

    fn run(&self, cell: &Cell, _: Taps, told: Progress<'_>) -> Result<RunResult, WorldError> {
        let mut in_run = InRun {
            planted: *self,
            cell,
            fins: Ends::default(),
        };
        Sim.run_with(cell, Taps::default(), told, &mut in_run)
    }
}

/// It in one run.
struct InRun<'a> {
    planted: Planted,
    cell: &'a Cell,
    /// Where the FINs of this run end.
    fins: Ends,
}

impl Instead for InRun<'_> {
    fn queue(&mut self, at: &Interface, setting: Setting<'_>) -> Option<Box<dyn Qdisc<Packet>>> {
        let is_back = match at.name.as_str() {
            "up" => false,
            "down" => true,
            _ => return None,
        };
        let limit = Limit::Packets(1000);
        Some(match self.planted {
            Planted::Acks(flaw) if is_back => Box::new(Acks::new(flaw)),
            Planted::UncoveredFin => Box::new(Fins {
                inner: Spec::pfifo(1000).build(setting),
                ends: Ends::clone(&self.fins),
                is_back,
            }),
            Planted::Today | Planted::StuckAtTwo | Planted::Acks(_) => return None,
            _ if is_back => return None,
            Planted::Codel(flaw) => Box::new(SingleQueue::new(limit, Codel(flaw))),
            Planted::Pie(flaw) => {
                let dice = setting.dice("pie");
                Box::new(SingleQueue::new(limit, Pie { flaw, dice }))
            }
            Planted::Fair(flaw) => Box::new(Fair::new(flaw)),
            Planted::Shaper(in_ticks) => {
                let Medium::Wire(wire) = &self.cell.network.media[at.medium] else {
                    unreachable!("a dumbbell has wires");
                };
                let LineRate::Fixed(rate) = wire.line.rate else {
                    unreachable!("its space has rates");
                };
                Box::new(Paced {
                    inner: Spec::pfifo(1000).build(setting),
                    rate,
                    in_ticks,
                    next: Time::ZERO,
                })
            }
            Planted::Ours(words) => {
                let spec: Spec = words.parse().expect("words of ours");
                spec.build(setting)
            }
        })
    }

    fn control(&mut self, _: &Flow, config: &Config) -> Option<Box<dyn CongestionControl + Send>> {
        match self.planted {
            Planted::StuckAtTwo => Some(Box::new(StuckAtTwo::new(config))),
            _ => None,
        }
    }
}
