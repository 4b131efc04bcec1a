//! What a radio is: its timing, its rules of access, its reach.
//!
//! Sources: IEEE 802.11-2007 clauses 9 (access), 18 (802.11b: DSSS and CCK), 19 (802.11g: OFDM);
//! for the rules of ns-2 its `mac-802_11.cc` (2.35), by what it does.

use sojourn_units::{Rate, Span};

sojourn_units::words! {
    /// Whose rules of access hold where ns-2 differs from the standard.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Rules {
        /// IEEE 802.11-2007: a packet that finds the medium idle for DIFS starts at once; backoff
        /// is drawn from 0 to CW; after a frame in error EIFS takes the place of DIFS; a station
        /// that hears energy below its reception threshold only waits for its end; durations are
        /// whole microseconds.
        Standard = "standard",
        /// ns-2: every packet waits DIFS and a backoff of 0 to CW − 1; after a frame in error or
        /// below the reception threshold the medium counts as reserved for EIFS, and DIFS follows;
        /// a frame that is captured over another reserves it likewise; durations are not rounded.
        Ns2 = "ns2",
    }
}

sojourn_units::words! {
    /// How power falls with distance.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Propagation {
        /// In free space: with the square (Friis).
        Friis = "friis",
        /// Over the ground: free space up to the crossover distance 4π h² / λ, beyond that with
        /// the fourth power.
        TwoRay = "two-ray",
    }
}

/// Constants of a radio, of all stations of a medium alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Whose rules of access hold.
    pub rules: Rules,
    /// Slot of the backoff.
    pub slot: Span,
    /// Time between a frame and its answer.
    pub sifs: Span,
    /// Smallest contention window, in slots.
    pub cw_min: u32,
    /// Largest contention window, in slots.
    pub cw_max: u32,
    /// Attempts of a frame that needs no RTS, and of an RTS.
    pub short_retries: u32,
    /// Attempts of a frame that follows an RTS.
    pub long_retries: u32,
    /// Rate of data frames to one station.
    pub data_rate: Rate,
    /// Rate of frames to all stations.
    pub basic_rate: Rate,
    /// Rate of ACK, RTS and CTS: the highest basic one that is not above the data rate (9.6).
    pub answer_rate: Rate,
    /// Preamble and PLCP header of DSSS and CCK frames: 192 µs long, 96 µs short.
    pub preamble: Span,
    /// Bytes that a data frame has beside its packet.
    pub header: u32,
    /// Data frames longer than this follow an RTS; None: none does.
    pub rts_above: Option<u32>,
    /// Time in each station between the radio and its queue, both ways together.
    pub relay: Span,
    /// How power falls.
    pub propagation: Propagation,
    /// Carrier frequency in Hz.
    pub frequency: f64,
    /// Height of all antennas in m.
    pub height: f64,
    /// Distance up to which a frame can be received, in m.
    pub range: f64,
    /// Distance up to which a frame is heard as energy, in m; at least the range.
    pub sense: f64,
    /// By pairs, as in ns-2: a frame that is being received survives one that is weaker by this
    /// factor of power, at every rate. None: by SINR, each rate with its own errors.
    pub capture: Option<f64>,
}

impl Profile {
    /// 802.11b as ns-2.35 has it, with 11 Mbit/s, ACK at 1 Mbit/s, long preamble, no RTS.
    pub const NS2_B: Self = Self {
        rules: Rules::Ns2,
        slot: Span::from_micros(20),
        sifs: Span::from_micros(10),
        cw_min: 31,
        cw_max: 1023,
        short_retries: 7,
        long_retries: 4,
        data_rate: Rate::from_bps(11_000_000),
        basic_rate: Rate::from_bps(1_000_000),
        answer_rate: Rate::from_bps(1_000_000),
        preamble: LONG_PREAMBLE,
        // MAC header with four addresses and FCS.
        header: 34,
        rts_above: None,
        relay: Span::from_micros(50),
        propagation: Propagation::TwoRay,
        frequency: 2.4e9,
        height: 1.5,
        range: 30.0,
        sense: 66.0,
        capture: Some(10.0),
    };

    /// 802.11b as on the devices of ADTH's testbed: ns-2's access with short preambles, ACKs and
    /// frames to all at the basic rate of 2 Mbit/s, eight attempts (the paper, 5.3.4). Preamble
    /// and basic rate are a fit: with them FIFO's delay jumps where the paper says (18 to 19
    /// sessions of voice).
    pub const TESTBED_B: Self = Self {
        preamble: Span::from_micros(96),
        basic_rate: Rate::from_bps(2_000_000),
        answer_rate: Rate::from_bps(2_000_000),
        short_retries: 8,
        long_retries: 8,
        ..Self::NS2_B
    };

    /// 802.11b: IEEE 802.11-2007 clause 18.
    pub const STANDARD_B: Self = Self {
        rules: Rules::Standard,
        // 28 bytes of MAC header and FCS, 8 of LLC and SNAP.
        header: 36,
        relay: Span::ZERO,
        capture: None,
        ..Self::NS2_B
    };

    /// 802.11g without 802.11b around: IEEE 802.11-2007 clause 19, short slots, OFDM.
    pub const STANDARD_G: Self = Self {
        slot: Span::from_micros(9),
        cw_min: 15,
        data_rate: Rate::from_bps(54_000_000),
        basic_rate: Rate::from_bps(6_000_000),
        // 6, 12 and 24 Mbit/s are basic.
        answer_rate: Rate::from_bps(24_000_000),
        ..Self::STANDARD_B
    };

    /// The profiles by name.
    pub const ALL: [(&'static str, Self); 4] = [
        ("ns2-802.11b", Self::NS2_B),
        ("testbed-802.11b", Self::TESTBED_B),
        ("standard-802.11b", Self::STANDARD_B),
        ("standard-802.11g", Self::STANDARD_G),
    ];

    /// The rates that the standards have, in kbit/s.
    pub const RATES: [u64; 12] = [
        1000, 2000, 5500, 11_000, 6000, 9000, 12_000, 18_000, 24_000, 36_000, 48_000, 54_000,
    ];

    /// Whether frames of DSSS and CCK have the short preamble at a rate.
    pub fn has_short_preamble(&self, rate: Rate) -> bool {
        !Self::is_ofdm(rate) && self.preamble_at(rate) < LONG_PREAMBLE
    }

    /// Whether a rate is one of OFDM (802.11g).
    pub fn is_ofdm(rate: Rate) -> bool {
        let kbps = rate.as_bps() / 1000;
        Self::RATES[4..].contains(&kbps)
    }

    /// Bytes of the data frame of a packet; `has_udp`: with a UDP header, which ns-2 does not
    /// count.
    pub fn frame(&self, packet: u32, has_udp: bool) -> u32 {
        let uncounted = if has_udp && self.rules == Rules::Ns2 {
            8
        } else {
            0
        };
        (packet + self.header).saturating_sub(uncounted)
    }

    /// Bytes of the largest packet: 2304 are the most that a frame carries (7.1.2), of which LLC
    /// and SNAP take 8 by the standard.
    pub const fn largest_packet(&self) -> u32 {
        match self.rules {
            Rules::Standard => 2304 - 8,
            Rules::Ns2 => 2304,
        }
    }

    /// How long a frame of so many bytes takes.
    pub fn airtime(&self, bytes: u32, rate: Rate) -> Span {
        let bps = rate.as_bps().max(1);
        if Self::is_ofdm(rate) {
            // Preamble and SIGNAL, symbols of 4 µs with 16 service and 6 tail bits, extension.
            let bits = u64::from(bytes) * 8 + 22;
            let symbols = (bits * 250_000).div_ceil(bps);
            return Span::from_micros(20 + 4 * symbols + 6);
        }
        let bits = u64::from(bytes) * 8;
        let nanos = match self.rules {
            Rules::Ns2 => (bits * 1_000_000_000 + bps / 2) / bps,
            // The PLCP header says whole microseconds.
            Rules::Standard => (bits * 1_000_000).div_ceil(bps) * 1000,
        };
        self.preamble_at(rate) + Span::from_nanos(nanos)
    }

    /// Preamble and PLCP header of DSSS and CCK at a rate: a short one has 1 Mbit/s in ns-2 alone
    /// (clause 18.2.2.2).
    fn preamble_at(&self, rate: Rate) -> Span {
        match self.rules {
            Rules::Standard if rate.as_bps() <= 1_000_000 => self.preamble.max(LONG_PREAMBLE),
            _ => self.preamble,
        }
    }

    /// How long an answer has begun when the PHY tells of it (aPHY-RX-START-Delay: 17.4.4,
    /// 18.3.3).
    pub fn receive_start(&self) -> Span {
        if Self::is_ofdm(self.answer_rate) {
            Span::from_micros(25)
        } else {
            self.preamble_at(self.answer_rate)
        }
    }

    /// Time that an idle medium must stay idle before backoff counts.
    pub fn difs(&self) -> Span {
        self.sifs + self.slot * 2
    }

    /// The same after a frame in error: room for the slowest ACK that may follow it, whatever the
    /// rate of ACKs here (9.2.10). ns-2 takes an ACK at the rate of preamble and PLCP header,
    /// which are 192 bits long, 120 short.
    pub fn eifs(&self) -> Span {
        let bits = u64::from(ACK) * 8;
        let ack = match self.rules {
            _ if Self::is_ofdm(self.answer_rate) => self.airtime(ACK, Rate::from_bps(6_000_000)),
            Rules::Standard => LONG_PREAMBLE + Span::from_micros(bits),
            Rules::Ns2 => {
                let header = if self.preamble < LONG_PREAMBLE {
                    120
                } else {
                    192
                };
                self.preamble + self.preamble * bits / header
            }
        };
        self.sifs + self.difs() + ack
    }

    /// Least SINR, as a factor of power, at which what OFDM sends at a rate comes through: the
    /// sensitivities of IEEE 802.11-2007 table 17-13 over what the table assumes: the noise of 20
    /// MHz (−101 dBm), a noise figure of 10 dB and an implementation margin of 5 dB.
    pub(crate) fn threshold(rate: Rate) -> f64 {
        let decibels = match rate.as_bps() / 1000 {
            0..=6000 => 4.0,
            6001..=9000 => 5.0,
            9001..=12_000 => 7.0,
            12_001..=18_000 => 9.0,
            18_001..=24_000 => 12.0,
            24_001..=36_000 => 16.0,
            36_001..=48_000 => 20.0,
            _ => 21.0,
        };
        Self::ratio(decibels)
    }

    /// The highest of the profile's basic rates that is not above this data rate: answers are sent
    /// at it (9.6). OFDM's basic rates are 6, 12 and 24 Mbit/s (17.3.2.2, 19.8.2).
    pub fn answers_at(&self, data: Rate) -> Rate {
        let mandatory = [24, 12, 6].map(|mbps| Rate::from_bps(mbps * 1_000_000));
        let mut below = mandatory.into_iter().filter(|rate| *rate <= data);
        if Self::is_ofdm(self.basic_rate) && Self::is_ofdm(data) {
            below.next().unwrap_or(self.basic_rate)
        } else {
            self.basic_rate
        }
    }

    /// How long preamble and PLCP header take at a rate, and at which rate they are sent.
    pub(crate) fn header_at(&self, rate: Rate) -> (Span, Rate) {
        if Self::is_ofdm(rate) {
            (Span::from_micros(20), Rate::from_bps(6_000_000))
        } else {
            (self.preamble_at(rate), Rate::from_bps(1_000_000))
        }
    }

    /// The factor of power that so many dB are.
    pub fn ratio(decibels: f64) -> f64 {
        libm::pow(10.0, decibels / 10.0)
    }

    /// How many dB such a factor of power is.
    pub fn decibels(ratio: f64) -> f64 {
        10.0 * libm::log10(ratio)
    }

    /// Received power of a distance in m over sent power.
    pub fn power(&self, distance: f64) -> f64 {
        let wavelength = SPEED_OF_LIGHT / self.frequency;
        let crossover = 4.0 * core::f64::consts::PI * self.height * self.height / wavelength;
        let distance = distance.max(1e-3);
        if self.propagation == Propagation::TwoRay && distance >= crossover {
            let ratio = self.height / distance;
            return ratio * ratio * ratio * ratio;
        }
        let ratio = wavelength / (4.0 * core::f64::consts::PI * distance);
        ratio * ratio
    }
}

/// Of DSSS and CCK frames, with the PLCP header; the only one at 1 Mbit/s.
const LONG_PREAMBLE: Span = Span::from_micros(192);
/// Bytes of an ACK or a CTS.
pub(crate) const ACK: u32 = 14;
/// Bytes of an RTS.
pub(crate) const RTS: u32 = 20;
/// m/s.
pub(crate) const SPEED_OF_LIGHT: f64 = 299_792_458.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tables of ns-2's constants and IEEE 802.11-2007 (18.2.2, 19.8.3).
    #[test]
    fn airtimes_are_those_of_the_tables() {
        let b = Profile::NS2_B;
        let nanos = |bytes, mbps: u64| b.airtime(bytes, Rate::from_bps(mbps)).as_nanos();
        assert_eq!(nanos(1054, 11_000_000), 958_545, "1000 B of UDP in ns-2");
        assert_eq!(nanos(14, 1_000_000), 304_000, "ACK");
        assert_eq!(nanos(14, 2_000_000), 248_000);
        assert_eq!(nanos(82, 1_000_000), 848_000, "RREQ");
        assert_eq!(b.eifs(), Span::from_micros(364));
        let short = Profile {
            preamble: Span::from_micros(96),
            answer_rate: Rate::from_bps(11_000_000),
            ..b
        };
        // 120 bits in 96 us, and 112 of the ACK at this rate.
        assert_eq!(short.eifs(), Span::from_nanos(60_000 + 96_000 + 89_600));
        let standard_short = Profile {
            rules: Rules::Standard,
            ..short
        };
        assert_eq!(standard_short.eifs(), Span::from_micros(364));
        let airtime = |mbps| standard_short.airtime(14, Rate::from_bps(mbps));
        // Only 1 Mbit/s has the long one.
        let short = [1_000_000, 2_000_000, 11_000_000].map(airtime);
        assert_eq!(short, [192 + 112, 96 + 56, 96 + 11].map(Span::from_micros));
        assert_eq!(standard_short.receive_start(), Span::from_micros(96));
        let standard = Profile::STANDARD_B;
        let rate = Rate::from_bps(11_000_000);
        assert_eq!(standard.airtime(1064, rate), Span::from_micros(192 + 774));
        let g = Profile::STANDARD_G;
        // 1500 bytes at 54 Mbit/s: 12022 bits, 56 symbols of 216 bits.
        assert_eq!(
            g.airtime(1500, g.data_rate),
            Span::from_micros(20 + 224 + 6)
        );
        assert_eq!(g.airtime(14, g.basic_rate), Span::from_micros(20 + 24 + 6));
        // An ACK at 24 Mbit/s: 134 bits, two symbols of 96 bits.
        assert_eq!(g.airtime(14, g.answer_rate), Span::from_micros(20 + 8 + 6));
        assert_eq!(g.receive_start(), Span::from_micros(25));
        assert_eq!(g.difs(), Span::from_micros(28));
        assert_eq!(g.eifs(), Span::from_micros(10 + 28 + 50));
    }

    /// ns-2's thresholds for 15 dBm at 2.4 GHz (`anchors`: 3.472e-9 W at 30 m).
    #[test]
    fn power_falls_as_friis_and_over_the_ground() {
        let profile = Profile::NS2_B;
        let watts = |distance| 31.62e-3 * profile.power(distance);
        assert!((watts(30.0) / 3.472e-9 - 1.0).abs() < 1e-3);
        assert!((watts(66.0) / 7.173e-10 - 1.0).abs() < 1e-3);
        assert!((watts(318.0) / 1.559e-11 - 1.0).abs() < 0.01);
        let crossover = 226.35;
        let step = profile.power(crossover - 0.5) / profile.power(crossover + 0.5);
        assert!((1.0..1.02).contains(&step), "{step}");
    }
}
