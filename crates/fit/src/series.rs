//! Series with gaps, made whole.
//!
//! A tool such as netperf reports a stream's rate when something has been sent, for the time since
//! its last report. On a fixed grid of times most steps then hold nothing, without the stream
//! having stood still.

use std::ops::RangeInclusive;

/// How far a filled series may be from what its tool reports of the whole stream, as a share,
/// before it is scaled to that: reports are rounded.
const ROUNDED: f64 = 0.05;

/// When the first and the last value of several series stand.
pub(crate) fn span<'a>(
    times: &[f64],
    series: impl Iterator<Item = &'a [Option<f64>]>,
) -> RangeInclusive<f64> {
    let there = series
        .flat_map(|values| times.iter().zip(values))
        .filter_map(|(&t, value)| value.map(|_| t));
    let (from, to) = there.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), t| {
        (from.min(t), to.max(t))
    });
    from..=to
}

/// Values with the gaps between them interpolated. The first value holds for the time before it,
/// and the last one for the time after it, as long as a usual gap (the median) lasts and another
/// series has values (`within`).
pub(crate) fn filled(
    times: &[f64],
    values: &[Option<f64>],
    within: &RangeInclusive<f64>,
) -> Vec<Option<f64>> {
    let there: Vec<(f64, f64)> = times
        .iter()
        .zip(values)
        .filter_map(|(&t, value)| Some((t, (*value)?)))
        .collect();
    let (Some(&first), Some(&last)) = (there.first(), there.last()) else {
        return values.to_vec();
    };
    let mut gaps: Vec<f64> = there.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_by(f64::total_cmp);
    // Times are not exact: the step a whole gap away is no longer in it.
    let gap = gaps.get(gaps.len() / 2).map_or(0.0, |gap| gap * 0.999);
    let mut next = 0;
    let value = |&t: &f64| {
        if !within.contains(&t) {
            return None;
        }
        if t <= first.0 {
            // A step that is a gap before it belongs to what was reported before.
            return (first.0 - t <= gap).then_some(first.1);
        }
        if t >= last.0 {
            return (t - last.0 <= gap).then_some(last.1);
        }
        while there[next].0 < t {
            next += 1;
        }
        let (from, to) = (there[next - 1], there[next]);
        let share = (t - from.0) / (to.0 - from.0);
        Some(from.1 + share * (to.1 - from.1))
    };
    times.iter().map(value).collect()
}

/// The values scaled to the mean that the stream's tool reports, where they are further off than
/// rounding explains; and by what share they were off.
pub(crate) fn held(values: Vec<Option<f64>>, mean: Option<f64>) -> (Vec<Option<f64>>, f64) {
    let there = values.iter().flatten();
    let found = there.clone().sum::<f64>() / there.count().max(1) as f64;
    let Some(mean) = mean.filter(|mean| *mean > 0.0 && found > 0.0) else {
        return (values, 0.0);
    };
    let ratio = mean / found;
    let off = (ratio.max(1.0 / ratio)) - 1.0;
    if off <= ROUNDED {
        return (values, 0.0);
    }
    let scaled = values.iter().map(|value| value.map(|value| value * ratio));
    (scaled.collect(), off)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_interpolated_and_the_ends_last_a_gap() {
        let times: Vec<f64> = (0..10).map(f64::from).collect();
        let mut values = vec![None; 10];
        (values[3], values[5], values[7]) = (Some(1.0), Some(3.0), Some(3.0));
        let of = |within| {
            filled(&times, &values, &within)
                .iter()
                .map(|value| value.unwrap_or(0.0))
                .collect::<Vec<f64>>()
        };
        let expected = [0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 0.0];
        assert_eq!(of(0.0..=9.0), expected);
        // Not beyond what any other series has.
        let expected = [0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 0.0, 0.0];
        assert_eq!(of(2.0..=7.0), expected);
        let other = [None, None, Some(1.0), None];
        let all = [&values[..4], &other[..]].into_iter();
        assert_eq!(span(&times[..4], all), 2.0..=3.0);
    }

    #[test]
    fn a_series_without_gaps_and_one_without_values_stay() {
        let times = [0.0, 0.2, 0.4];
        let whole = [None, Some(1.0), Some(2.0)];
        assert_eq!(filled(&times, &whole, &(0.0..=1.0)), whole);
        assert_eq!(filled(&times, &[None; 3], &(0.0..=1.0)), [None; 3]);
    }

    #[test]
    fn a_series_is_scaled_to_what_its_tool_reports() {
        let values = vec![None, Some(1.0), Some(3.0)];
        let (scaled, off) = held(values.clone(), Some(1.0));
        assert_eq!((scaled, off), (vec![None, Some(0.5), Some(1.5)], 1.0));
        assert_eq!(held(values.clone(), Some(2.05)), (values.clone(), 0.0));
        assert_eq!(held(values.clone(), None), (values, 0.0));
    }
}
