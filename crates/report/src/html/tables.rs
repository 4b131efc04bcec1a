//! The tables that stand in the page without a script.

use crate::agreement::{Comparison, Tolerance, agreement_of};
use crate::aims::{Aims, Choice};
use crate::headline::Headline;
use crate::labels::Labels;
use crate::reading::reading_of;
use crate::seeds::OverSeeds;
use crate::show::{Show, index_to, ms_to, percent, percent_to, rate_to};
use minijinja::{Value, context};
use sojourn_world::WorldName;
use std::collections::BTreeSet;

/// Which choice for which aim, by world.
pub(super) fn aims(labels: &Labels<'_>, all: Vec<Aims>) -> Vec<Value> {
    let choice = |choice: &Choice, all: usize| {
        let wins = (all > 1).then(|| format!("best in {} of {all}", choice.wins));
        context! {
            name => choice.name.clone(),
            colour => choice.colour % 8,
            figure => unbroken(&choice.figure),
            range => choice.range.as_deref().map(unbroken),
            wins => wins,
        }
    };
    let seeds = labels
        .results
        .iter()
        .map(|run| run.seed)
        .collect::<BTreeSet<_>>()
        .len();
    let parts = all.into_iter().map(|part| {
        let all = part.conditions;
        let list = part.list.iter().map(|aim| {
            context! {
                aim => aim.name,
                by => aim.by,
                best => aim.best.iter().map(|one| choice(one, all)).collect::<Vec<_>>(),
                worst => aim.worst.as_ref().map(|worst| choice(worst, 1)),
                alike => aim.alike.as_deref().map(|range| alike(range, all)),
            }
        });
        context! {
            world => part.world.as_str(),
            title => title(&part),
            field => part.field.clone(),
            conditions => all,
            seeds => seeds,
            list => list.collect::<Vec<_>>(),
        }
    });
    parts.collect()
}

/// The question that the table answers.
fn title(part: &Aims) -> String {
    if part.is_queue {
        "Which queue is best for what?".to_owned()
    } else {
        format!("Which {} is best for what?", part.field)
    }
}

/// That no choice is clearly better than another, and what they reach.
fn alike(range: &str, conditions: usize) -> String {
    let range = unbroken(range);
    if conditions == 1 {
        format!("No clear difference: {range}")
    } else {
        format!("No clear difference in any combination ({range})")
    }
}

/// What the figures say, by world.
pub(super) fn readings(labels: &Labels<'_>, all: &[Headline]) -> Vec<Value> {
    let parts = reading_of(labels, all).into_iter();
    let part = parts.map(|part| {
        context! {
            world => part.world.as_ref().map(WorldName::as_str),
            sentences => part.sentences.iter().map(|s| unbroken(s)).collect::<Vec<_>>(),
        }
    });
    part.collect()
}

/// The sentence with its numbers tied to their units.
fn unbroken(sentence: &str) -> String {
    let units = [
        "± ", " %", " ms", " s ", " s,", " s.", " s)", " kbit/s", " Mbit/s", " Gbit/s",
    ];
    units.iter().fold(sentence.to_owned(), |text, unit| {
        text.replace(unit, &unit.replacen(' ', "\u{a0}", 1))
    })
}

/// Cells and worlds with the figures that they are compared by.
pub(super) fn overview(labels: &Labels<'_>, mut list: Vec<Headline>) -> Value {
    // Worlds of a cell beside each other.
    let worlds = &labels.worlds;
    list.sort_by_key(|h| (h.cell, worlds.get_index_of(&h.world)));
    let medians = list.iter().filter_map(|h| Some(h.median_ms?.mean));
    let most = medians.fold(0.0, f64::max);
    let goodputs = list.iter().filter_map(|h| Some(h.goodput_bps?.mean));
    let most_goodput = goodputs.fold(0.0, f64::max);
    let mut last = None;
    let rows: Vec<Value> = list
        .iter()
        .map(|h| {
            let first = last.replace(h.cell) != Some(h.cell);
            let median = h.median_ms.map_or(0.0, |over| over.mean);
            let goodput = h.goodput_bps.map_or(0.0, |over| over.mean);
            context! {
                first => first,
                cell => &labels.cells[h.cell],
                colour => labels.colours[h.cell] % 8,
                world => h.world.as_str(),
                median => with_interval(h.median_ms, ms_to),
                median_bar => bar_of_decades(median, most),
                p95 => with_interval(h.p95_ms, ms_to),
                goodput => with_interval(h.goodput_bps, rate_to),
                goodput_bar => format!("{:.1}", 100.0 * goodput / most_goodput.max(1.0)),
                jain => with_interval(h.jain, index_to),
                drops => with_interval(h.drop_ratio, percent_to),
                marks => with_interval(h.mark_ratio, percent_to),
            }
        })
        .collect();
    let marked = list
        .iter()
        .any(|h: &Headline| h.mark_ratio.is_some_and(|over| over.mean > 0.0));
    context! {
        long => rows.len() > 24,
        rows => rows,
        worlds => worlds.len() > 1,
        marked => marked,
        interval => list.iter().any(|h| h.seeds > 1),
        latency => list.iter().any(|h| h.median_ms.is_some()),
        fairness => list.iter().any(|h| h.jain.is_some()),
        latency_of => match list.first().map(|h| &h.latency_of[..]) {
            Some([one]) => format!("flow {one}"),
            Some([]) | None => "the flows that measure it".to_owned(),
            Some(few) if few.len() <= 4 => format!("flows {} (their mean)", few.join(", ")),
            Some(many) => format!("{} flows (their mean)", many.len()),
        },
    }
}

fn with_interval(over: Option<OverSeeds>, show: Show) -> Value {
    match over {
        None => context! { value => "–" },
        Some(over) => context! {
            value => show(over.mean, 3),
            interval => over.ci95.map(|ci| format!("± {}", show(ci, 2))),
        },
    }
}

/// Length of a bar on an axis of four decades up to `most`, in percent.
fn bar_of_decades(value: f64, most: f64) -> String {
    let share = if value > 0.0 && most > 0.0 {
        1.0 + libm::log10(value / most) / 4.0
    } else {
        0.0
    };
    format!("{:.1}", 100.0 * share.clamp(0.01, 1.0))
}

/// The first world against each of the others.
pub(super) fn agreement_tables(labels: &Labels<'_>) -> Value {
    let row = |c: &Comparison, first: &WorldName| {
        let (figure, show) = c.shown();
        let difference = c.first - c.other;
        context! {
            cell => &labels.cells[c.cell],
            flow => c.flow.clone(),
            figure => figure,
            first => show(c.first),
            other => show(c.other),
            difference => format!("{}{}", sign(difference), show(difference.abs())),
            relative => c.relative().map_or("–".to_owned(), |share| {
                format!("{}{}", sign(share), percent(share.abs()))
            }),
            within => c.within,
            why => why(c, first),
        }
    };
    let all = agreement_of(labels);
    let pairs = all.iter().map(|pair| {
        context! {
            first => pair.first.as_str(),
            other => pair.other.as_str(),
            rows => pair.list.iter().map(|c| row(c, &pair.first)).collect::<Vec<_>>(),
            total => pair.list.len(),
            within => pair.within(),
        }
    });
    context! {
        pairs => pairs.collect::<Vec<_>>(),
        latency_share => whole_percent(Tolerance::LATENCY.share),
        latency_ms => format!("{}", Tolerance::LATENCY.least),
        goodput_share => whole_percent(Tolerance::GOODPUT.share),
    }
}

fn sign(x: f64) -> &'static str {
    match x {
        _ if x < 0.0 => "−",
        _ if x > 0.0 => "+",
        _ => "",
    }
}

/// A share of one as a whole percentage.
fn whole_percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The verdict in words.
fn why(c: &Comparison, first: &WorldName) -> String {
    let share = c.relative().map_or(f64::INFINITY, f64::abs);
    let agrees = |within: Tolerance| format!("agrees: within {}", whole_percent(within.share));
    match (c.figure, c.within) {
        ("goodput_bps", true) => agrees(Tolerance::GOODPUT),
        (_, true) if share <= Tolerance::LATENCY.share => agrees(Tolerance::LATENCY),
        (_, true) => format!("agrees: within {} ms", Tolerance::LATENCY.least),
        (_, false) if c.first > c.other => format!("differs: higher in {first}"),
        (_, false) => format!("differs: lower in {first}"),
    }
}
