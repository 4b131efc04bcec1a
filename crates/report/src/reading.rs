//! A short reading of the results in plain sentences, derived from the figures alone.

use crate::agreement::{Agreement, Comparison, agreement_of};
use crate::headline::{Headline, headlines};
use crate::labels::Labels;
use crate::limited::held_of;
use crate::seeds::OverSeeds;
use crate::show::{Show, ms, ms_to, percent, rate};
use sojourn_units::significant;
use sojourn_world::{RunResult, WorldName};

/// Sentences about one world, or about the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// None for sentences about all worlds.
    pub world: Option<WorldName>,
    /// Most important first.
    pub sentences: Vec<String>,
}

/// A line per sentence, the world before each.
impl std::fmt::Display for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for sentence in &self.sentences {
            if let Some(world) = &self.world {
                write!(f, "{world}: ")?;
            }
            writeln!(f, "{sentence}")?;
        }
        Ok(())
    }
}

/// What the results say; empty without results.
pub fn reading(results: &[RunResult]) -> Vec<Reading> {
    let labels = Labels::of(results);
    reading_of(&labels, &headlines(&labels))
}

/// The same of runs whose labels and headlines are known.
pub(crate) fn reading_of(labels: &Labels<'_>, all: &[Headline]) -> Vec<Reading> {
    let cells = &labels.cells;
    let mut parts = Vec::new();
    for &world in &labels.worlds {
        let list: Vec<&Headline> = all.iter().filter(|h| h.world == *world).collect();
        let mut sentences = Vec::new();
        match list[..] {
            [] => {}
            [one] => single(&mut sentences, one),
            _ => {
                latency(&mut sentences, &list, cells);
                throughput(&mut sentences, &list, cells);
                fairness(&mut sentences, &list, cells);
                drops(&mut sentences, &list, cells);
            }
        }
        sentences.extend(held_of(labels, world));
        if !sentences.is_empty() {
            let world = Some(world.clone());
            parts.push(Reading { world, sentences });
        }
    }
    let mut sentences = Vec::new();
    let agreement = agreement_of(labels);
    sentences.extend(agreement.iter().map(|pair| worlds(pair, cells)));
    if all.len() > 1 && all.iter().all(|h| h.seeds == 1) {
        sentences.push(
            "Every cell was run with one seed: small differences between cells may be chance."
                .to_owned(),
        );
    }
    if !sentences.is_empty() {
        let world = None;
        parts.push(Reading { world, sentences });
    }
    parts
}

fn single(sentences: &mut Vec<String>, h: &Headline) {
    if let (Some(median), Some(p95)) = (h.median_ms, h.p95_ms) {
        sentences.push(format!(
            "The median induced RTT of {} is {}, its 95th percentile {}.",
            flows(&h.latency_of),
            with_interval(median, ms_to),
            ms(p95.mean),
        ));
    }
    if let (Some(goodput), Some(drops)) = (h.goodput_bps, h.drop_ratio) {
        sentences.push(format!(
            "The sum of goodputs is {}. The queues dropped {} of the packets offered to them.",
            rate(goodput.mean),
            percent(drops.mean),
        ));
    }
    if let Some(jain) = h.jain {
        sentences.push(format!(
            "Jain's index of the flows that share a bottleneck is {:.3}.",
            jain.mean
        ));
    }
}

/// The headlines that have the figure, lowest first.
fn ranked<'a>(
    list: &[&'a Headline],
    figure: fn(&Headline) -> Option<OverSeeds>,
) -> Vec<(&'a Headline, OverSeeds)> {
    let mut values: Vec<_> = list.iter().filter_map(|h| Some((*h, figure(h)?))).collect();
    values.sort_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    values
}

fn latency(sentences: &mut Vec<String>, list: &[&Headline], labels: &[String]) {
    let ranked = ranked(list, |h| h.median_ms);
    let [(low, least), .., (high, most)] = ranked[..] else {
        return;
    };
    let of = flows(&low.latency_of);
    let (low_label, high_label) = (&labels[low.cell], &labels[high.cell]);
    if most.mean < 1.1 * least.mean || most.mean - least.mean < 0.5 {
        sentences.push(format!(
            "The median induced RTT of {of} is about the same in all cells: {} to {}.",
            ms(least.mean),
            ms(most.mean)
        ));
        return;
    }
    let factor = match most.mean / least.mean {
        factor if factor.is_finite() && least.mean >= 0.01 => {
            format!(", {} times as much", significant(factor, 2))
        }
        _ => String::new(),
    };
    sentences.push(format!(
        "“{low_label}” has the lowest median induced RTT of {of}, {}; “{high_label}” has \
         the highest, {}{factor}.",
        with_interval(least, ms_to),
        with_interval(most, ms_to),
    ));
    let (second, next) = ranked[1];
    if let (Some(a), Some(b)) = (least.ci95, next.ci95)
        && least.mean + a >= next.mean - b
    {
        sentences.push(format!(
            "The 95 % intervals of “{low_label}” and “{}” overlap, so the order of \
             these two is not certain.",
            labels[second.cell]
        ));
    }
    if let (Some(a), Some(b)) = (low.p95_ms, high.p95_ms) {
        sentences.push(format!(
            "At the 95th percentile it is {} for “{low_label}” and {} for “{high_label}”.",
            ms(a.mean),
            ms(b.mean)
        ));
    }
}

fn throughput(sentences: &mut Vec<String>, list: &[&Headline], labels: &[String]) {
    let ranked = ranked(list, |h| h.goodput_bps);
    let [(low, least), .., (high, most)] = ranked[..] else {
        return;
    };
    if least.mean >= 0.97 * most.mean {
        sentences.push(format!(
            "The sum of goodputs is about the same in all cells: {} to {}.",
            rate(least.mean),
            rate(most.mean)
        ));
    } else {
        sentences.push(format!(
            "The sum of goodputs is highest with “{}”, {}, and lowest with “{}”, {} \
             ({} less).",
            labels[high.cell],
            rate(most.mean),
            labels[low.cell],
            rate(least.mean),
            percent(1.0 - least.mean / most.mean),
        ));
    }
}

fn fairness(sentences: &mut Vec<String>, list: &[&Headline], labels: &[String]) {
    let ranked = ranked(list, |h| h.jain);
    let [(low, least), .., (high, most)] = ranked[..] else {
        return;
    };
    let chance = match (least.ci95, most.ci95) {
        (Some(a), Some(b)) => libm::hypot(a, b),
        _ => 0.0,
    };
    if most.mean - least.mean >= chance.max(0.05) {
        sentences.push(format!(
            "Flows that share a bottleneck get the most equal goodputs with “{}” (Jain's index \
             {:.3}) and the least equal with “{}” ({:.3}).",
            labels[high.cell], most.mean, labels[low.cell], least.mean
        ));
    }
}

fn drops(sentences: &mut Vec<String>, list: &[&Headline], labels: &[String]) {
    let ranked = ranked(list, |h| h.drop_ratio);
    let [(low, least), .., (high, most)] = ranked[..] else {
        return;
    };
    if most.mean > 1.2 * least.mean {
        sentences.push(format!(
            "“{}” dropped the largest share of offered packets, {}; “{}” the smallest, {}.",
            labels[high.cell],
            percent(most.mean),
            labels[low.cell],
            percent(least.mean)
        ));
    }
    if most.mean > 0.0 && most.mean <= 1.2 * least.mean {
        sentences.push(format!(
            "The queues dropped about the same share of offered packets in all cells: {} to {}.",
            percent(least.mean),
            percent(most.mean)
        ));
    }
    if let Some((marks, share)) = self::ranked(list, |h| h.mark_ratio).last()
        && share.mean > 0.0
    {
        sentences.push(format!(
            "ECN marked packets instead of dropping them, at most {} (“{}”).",
            percent(share.mean),
            labels[marks.cell]
        ));
    }
}

fn worlds(pair: &Agreement, labels: &[String]) -> String {
    let Agreement { first, other, list } = pair;
    let far = |c: &&Comparison| c.relative().map_or(0.0, f64::abs);
    let apart = list.iter().filter(|c| !c.within);
    let furthest = apart.max_by(|a, b| far(a).total_cmp(&far(b))).map(|c| {
        let (figure, show) = c.shown();
        format!(
            "; furthest apart is the {figure} of “{}” in “{}”: {} in {first}, {} in {other}",
            c.flow,
            labels[c.cell],
            show(c.first),
            show(c.other)
        )
    });
    format!(
        "{first} and {other} agree in {} of {} comparisons{}.",
        pair.within(),
        list.len(),
        furthest.unwrap_or_default()
    )
}

fn flows(names: &[String]) -> String {
    match names {
        [one] => format!("the flow “{one}”"),
        many => format!("{} flows (their mean)", many.len()),
    }
}

fn with_interval(over: OverSeeds, show: Show) -> String {
    match over.ci95 {
        Some(ci) => format!(
            "{} (± {} over {} seeds)",
            show(over.mean, 3),
            show(ci, 2),
            over.n
        ),
        None => show(over.mean, 3),
    }
}
