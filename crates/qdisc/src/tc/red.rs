//! How tc turns RED's `burst` into the weight of the average.
//!
//! Source: iproute2 `tc/tc_red.c`; the rule is Floyd and Jacobson 1993, equation 3: a burst of
//! that many packets into an idle queue must not lift the average above `min`.

/// The least w from 1 to 31 such that W = 2⁻ʷ lets `burst` packets arrive at once without
/// the average passing `min` (in packets): burst + 1 − min ≤ (1 − (1 − W)^burst) / W.
/// None when no weight does: `burst` is below `min`, or `min` below two packets or so.
pub(crate) fn least_ewma_log(min: f64, burst: u32) -> Option<u32> {
    let burst = f64::from(burst);
    let needed = burst + 1.0 - min;
    if needed < 1.0 {
        return None;
    }
    (1..32).find(|&log| {
        let weight = 1.0 / (1_u64 << log) as f64;
        needed <= (1.0 - libm::pow(1.0 - weight, burst)) / weight
    })
}
