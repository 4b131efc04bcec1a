//! DiffServ classes in tins: which DSCP goes where, and each tin's share.
//!
//! Source: `tc-cake(8)`; RFC 2474, RFC 4594, RFC 5865 (VA), RFC 8622 (LE); the tables of Linux
//! `sch_cake.c` since 5.17.

use sojourn_units::{Rate, words};

words! {
    /// How many tins, and what goes into each, with tc's words.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DiffServ {
        /// Three: Best Effort, Bulk (CS1, LE), Voice (TOS4, VA, EF, CS6, CS7).
        #[default]
        DiffServ3 = "diffserv3",
        /// Four: Best Effort, Bulk, Video (AF2x to AF4x, CS2, CS3, TOS4), Voice.
        DiffServ4 = "diffserv4",
        /// Eight, from background to network control.
        DiffServ8 = "diffserv8",
        /// One.
        BestEffort = "besteffort",
        /// Eight, by the three bits of the obsolete precedence.
        Precedence = "precedence",
    }
}

const DIFFSERV8: [u8; 64] = [
    2, 0, 1, 2, 4, 2, 2, 2, // CS0, LE, TOS2, TOS4
    0, 2, 1, 2, 1, 2, 1, 2, // CS1, AF1x
    5, 2, 4, 2, 4, 2, 4, 2, // CS2, AF2x
    3, 2, 3, 2, 3, 2, 3, 2, // CS3, AF3x
    6, 2, 3, 2, 3, 2, 3, 2, // CS4, AF4x
    6, 2, 2, 2, 6, 2, 6, 2, // CS5, VA, EF
    7, 2, 2, 2, 2, 2, 2, 2, // CS6
    7, 2, 2, 2, 2, 2, 2, 2, // CS7
];

const BULK_ORDER: [usize; 4] = [1, 0, 2, 3];
const PLAIN_ORDER: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

impl DiffServ {
    /// Number of tins.
    pub const fn tins(self) -> usize {
        match self {
            Self::BestEffort => 1,
            Self::DiffServ3 => 3,
            Self::DiffServ4 => 4,
            Self::DiffServ8 | Self::Precedence => 8,
        }
    }

    /// The tin of a packet. A higher number has the higher priority.
    pub fn tin(self, dscp: u8) -> usize {
        let dscp = dscp & 63;
        match self {
            Self::BestEffort => 0,
            Self::Precedence => usize::from(dscp >> 3),
            Self::DiffServ8 => usize::from(DIFFSERV8[usize::from(dscp)]),
            Self::DiffServ4 => match dscp {
                1 | 8 => 1,
                4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
                32 | 40 | 44 | 46 | 48 | 56 => 3,
                _ => 0,
            },
            Self::DiffServ3 => match dscp {
                1 | 8 => 1,
                4 | 44 | 46 | 48 | 56 => 2,
                _ => 0,
            },
        }
    }

    /// Rate up to which a tin keeps its priority, of a link with `rate`.
    pub fn threshold(self, tin: usize, rate: Rate) -> Rate {
        let mut bytes = rate.bytes_per_sec();
        match (self, tin) {
            (Self::DiffServ3, 2) | (Self::DiffServ4, 3) => bytes >>= 2,
            (Self::DiffServ4, 2) => bytes >>= 1,
            (Self::DiffServ3 | Self::DiffServ4, 1) => bytes >>= 4,
            (Self::DiffServ8 | Self::Precedence, _) => {
                for _ in 0..tin {
                    bytes = ((u128::from(bytes) * 7) >> 3) as u64;
                }
            }
            _ => return rate,
        }
        Rate::from_bps(bytes.saturating_mul(8))
    }

    /// Weight of a tin when there is no shaper, in bytes per round.
    pub const fn quantum(self, tin: usize) -> u32 {
        match (self, tin) {
            (Self::BestEffort, _) => 65_535,
            (Self::DiffServ3 | Self::DiffServ4, 0) => 1024,
            (Self::DiffServ3 | Self::DiffServ4, 1) => 64,
            (Self::DiffServ4, 2) => 512,
            (Self::DiffServ3 | Self::DiffServ4, _) => 256,
            (Self::DiffServ8 | Self::Precedence, tin) => {
                let mut quantum = 256;
                let mut i = 0;
                while i < tin {
                    quantum = (quantum * 7) >> 3;
                    i += 1;
                }
                quantum
            }
        }
    }

    /// The tins in the order in which tc shows them.
    pub fn shown(self) -> &'static [usize] {
        match self {
            Self::DiffServ3 | Self::DiffServ4 => &BULK_ORDER[..self.tins()],
            _ => &PLAIN_ORDER[..self.tins()],
        }
    }

    /// tc's names of the tins, in the order of [`DiffServ::shown`].
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::DiffServ3 => &["Bulk", "Best Effort", "Voice"],
            Self::DiffServ4 => &["Bulk", "Best Effort", "Video", "Voice"],
            Self::BestEffort => &["Tin 0"],
            Self::DiffServ8 | Self::Precedence => &[
                "Tin 0", "Tin 1", "Tin 2", "Tin 3", "Tin 4", "Tin 5", "Tin 6", "Tin 7",
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By class name, from tc-cake(8).
    #[test]
    fn classes_go_where_the_manual_says() {
        let tins = |dscp| {
            let [three, four, eight, one, old] = DiffServ::ALL.map(|mode| mode.tin(dscp));
            (three, four, eight, one, old)
        };
        assert_eq!(tins(0), (0, 0, 2, 0, 0), "CS0");
        assert_eq!(tins(1), (1, 1, 0, 0, 0), "LE");
        assert_eq!(tins(8), (1, 1, 0, 0, 1), "CS1");
        assert_eq!(tins(10), (0, 0, 1, 0, 1), "AF11");
        assert_eq!(tins(16), (0, 2, 5, 0, 2), "CS2");
        assert_eq!(tins(18), (0, 2, 4, 0, 2), "AF21");
        assert_eq!(tins(34), (0, 2, 3, 0, 4), "AF41");
        assert_eq!(tins(40), (0, 3, 6, 0, 5), "CS5");
        assert_eq!(tins(44), (2, 3, 6, 0, 5), "VA");
        assert_eq!(tins(46), (2, 3, 6, 0, 5), "EF");
        assert_eq!(tins(48), (2, 3, 7, 0, 6), "CS6");
        assert_eq!(tins(56), (2, 3, 7, 0, 7), "CS7");
    }

    #[test]
    fn every_code_point_has_a_tin() {
        for mode in DiffServ::ALL {
            let most = (0..=255).map(|dscp| mode.tin(dscp)).max();
            assert_eq!(most, Some(mode.tins() - 1));
            assert_eq!(mode.shown().len(), mode.names().len());
        }
    }

    #[test]
    fn shares_by_hand() {
        let rate = Rate::from_bps(10_000_000);
        let shares = |mode: DiffServ| -> std::vec::Vec<u64> {
            let share = |tin| mode.threshold(tin, rate).bytes_per_sec();
            (0..mode.tins()).map(share).collect()
        };
        assert_eq!(shares(DiffServ::DiffServ3), [1_250_000, 78_125, 312_500]);
        assert_eq!(
            shares(DiffServ::DiffServ4),
            [1_250_000, 78_125, 625_000, 312_500]
        );
        // 1250000·7/8 = 1093750, ·7/8 = 957031.25, then from the whole number on.
        assert_eq!(
            shares(DiffServ::DiffServ8)[..4],
            [1_250_000, 1_093_750, 957_031, 837_402]
        );
        assert_eq!(
            [0, 1, 2, 7].map(|tin| DiffServ::DiffServ8.quantum(tin)),
            [256, 224, 196, 98]
        );
    }
}
