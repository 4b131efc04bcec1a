//! The E-model: what a talker and a listener think of a connection, from its delay and loss.
//! Source: ITU-T G.107 (06/2015) with its default values; codec values from ITU-T G.113
//! Appendix I. Echo is taken as cancelled (Idte = Idle = 0), loss as random (BurstR = 1).
//! Not here: wideband speech (G.107.1), pictures (G.1070).

/// Rating with all parameters at their defaults, no delay and no loss.
const BEST: f64 = 93.2;

/// How a codec bears loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Impairment without loss (Ie).
    pub impairment: f64,
    /// Robustness against loss (Bpl): the loss in per cent that costs half of what is left.
    pub robustness: f64,
}

/// G.711 with its packet loss concealment (G.113 Appendix I, table I.4).
pub const G711: Codec = Codec {
    impairment: 0.0,
    robustness: 25.1,
};

/// The delay impairment of an echo-free connection, Idd (G.107, equation 7-27 f.).
pub fn delay_impairment(delay_ms: f64) -> f64 {
    if delay_ms <= 100.0 {
        return 0.0;
    }
    let x = libm::log2(delay_ms / 100.0);
    let root = |y: f64| libm::pow(1.0 + libm::pow(y, 6.0), 1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// The equipment impairment with this share of packets missing, Ie,eff (equation 7-29).
pub fn loss_impairment(codec: Codec, missing: f64) -> f64 {
    let percent = missing.clamp(0.0, 1.0) * 100.0;
    codec.impairment + (95.0 - codec.impairment) * percent / (percent + codec.robustness)
}

/// The rating factor R, from 0 to 93.2, of a one-way delay from mouth to ear and a share of
/// packets missing. With all of them missing there is no connection to rate: 0, where the formula,
/// made for shares up to a fifth, would still see 17.
pub fn rating(codec: Codec, delay_ms: f64, missing: f64) -> f64 {
    if missing >= 1.0 {
        return 0.0;
    }
    (BEST - delay_impairment(delay_ms) - loss_impairment(codec, missing)).max(0.0)
}

/// The mean opinion score of a rating, 1 to 4.5 (G.107 Annex B).
pub fn opinion(rating: f64) -> f64 {
    match rating {
        r if r <= 0.0 => 1.0,
        r if r >= 100.0 => 4.5,
        // The cubic dips below 1 under R = 6.5.
        r => (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opinions_are_those_of_the_published_table() {
        // G.107 Annex B, table B.1: lower limits of R and MOS.
        for (r, mos) in [
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ] {
            assert!((opinion(r) - mos).abs() < 0.01, "R {r}: {}", opinion(r));
        }
        assert_eq!(
            (opinion(-3.0), opinion(0.0), opinion(120.0)),
            (1.0, 1.0, 4.5)
        );
        assert!(opinion(3.0) <= 1.0);
    }

    #[test]
    fn impairments_are_those_computed_by_hand() {
        // X = 1 at 200 ms: 25·(2^(1/6) − 3·(1 + 3⁻⁶)^(1/6) + 2) = 25·(1.122462 − 3.000685 + 2).
        assert!((delay_impairment(200.0) - 3.0444).abs() < 0.001);
        // X = 2 at 400 ms: 25·(65^(1/6) − 3·(1 + (2/3)⁶)^(1/6) + 2) = 25·(2.005175 − 3.042371 + 2).
        assert!((delay_impairment(400.0) - 24.0701).abs() < 0.001);
        assert!(delay_impairment(100.0) <= 0.0);
        // 25.1 % missing costs half of 95.
        assert!((loss_impairment(G711, 0.251) - 47.5).abs() < 1e-9);
        assert!((rating(G711, 50.0, 0.0) - 93.2).abs() < 1e-9);
        assert!(rating(G711, 1e9, 1.0) <= 0.0);
    }
}
