//! Which choice, and why, from the results.

use super::line::{Choice, Line};
use sojourn_fit::{DOWN, UP};
use sojourn_gateway::Table;
use sojourn_units::Unit;
use sojourn_world::RunResult;
use sojourn_world::figure::Statistic;

/// A 95th percentile is near the lowest one when it is at most this share above it ...
const NEAR: f64 = 0.5;
/// ... or by this many ms.
const NEAR_MS: f64 = 5.0;
/// Throughputs that differ by less than this share are alike.
const ALIKE: f64 = 0.01;

/// A choice with its figures, means over the seeds.
#[derive(Clone, Debug)]
struct Tried {
    choice: Choice,
    p50_ms: f64,
    p95_ms: f64,
    /// Goodput by direction, in bit/s.
    goodput: [f64; 2],
}

/// All choices with their figures, and the best.
#[derive(Debug)]
pub(super) struct Advice<'a> {
    line: &'a Line,
    all: Vec<Tried>,
    best: usize,
}

impl<'a> Advice<'a> {
    /// Of the results of the line's scenario; none where a choice has no figures.
    pub(super) fn of(line: &'a Line, choices: &[Choice], results: &[RunResult]) -> Option<Self> {
        let all = choices
            .iter()
            .map(|choice| tried(choice, results))
            .collect::<Option<Vec<Tried>>>()?;
        let best = best(line, &all)?;
        Some(Self { line, all, best })
    }

    pub(super) fn best(&self) -> &Choice {
        &self.all[self.best].choice
    }

    /// Which, what it brings, and what others bring: three sentences.
    pub(super) fn sentences(&self) -> [String; 3] {
        let best = &self.all[self.best];
        let none = &self.all[0];
        let share = |way: usize| 100.0 * best.goodput[way] / self.line.rate[way];
        let [up, down] = [UP, DOWN]
            .map(|way| Unit::Bps.show(self.line.kbit(way, best.choice.share) as f64 * 1e3));
        let which = match best.choice.queue {
            Some(queue) => format!(
                "Use {queue} at {} % of the line: {down} down and {up} up.",
                best.choice.share
            ),
            None => "Use no shaper: the modem's own buffer adds no more latency than the best \
                     queue before it."
                .to_owned(),
        };
        let against = match best.choice.queue {
            Some(_) => format!(", where without a shaper it is {}", ms(none.p95_ms)),
            None => String::new(),
        };
        let brings = format!(
            "Under four uploads and four downloads the 95th percentile of the induced RTT is {} \
             (median {}){against}, and {:.0} % of the line carry data down, {:.0} % up.",
            ms(best.p95_ms),
            ms(best.p50_ms),
            share(DOWN),
            share(UP),
        );
        [which, brings, self.others()]
    }

    /// The next queue at the same share, and the same queue at the next shares.
    fn others(&self) -> String {
        let best = &self.all[self.best];
        let is_shaped = |tried: &&Tried| tried.choice.queue.is_some();
        let shaped = || self.all.iter().filter(is_shaped);
        let share = best.choice.share;
        let next = shaped()
            .filter(|tried| tried.choice.queue != best.choice.queue)
            .filter(|tried| best.choice.queue.is_none() || tried.choice.share == share)
            .min_by(|a, b| a.p95_ms.total_cmp(&b.p95_ms));
        let of_share = |share: Option<u32>| {
            let same = shaped().filter(|tried| tried.choice.queue == best.choice.queue);
            share.and_then(|share| same.clone().find(|tried| tried.choice.share == share))
        };
        let shares = || shaped().map(|tried| tried.choice.share);
        let faster = of_share(shares().filter(|other| *other > share).min());
        let slower = of_share(shares().filter(|other| *other < share).max());
        let mut parts = Vec::new();
        if let Some(next) = next {
            let name = next.choice.queue.unwrap_or_default();
            let at = match best.choice.queue {
                Some(_) => "at the same rate".to_owned(),
                None => format!("at {} %", next.choice.share),
            };
            parts.push(format!("{name} {at} has {}", ms(next.p95_ms)));
        }
        for other in [slower, faster].into_iter().flatten() {
            let carried = Unit::Bps.show(other.goodput.iter().sum());
            parts.push(format!(
                "{} % of the line gives {} and {carried} in both directions together",
                other.choice.share,
                ms(other.p95_ms)
            ));
        }
        let own = Unit::Bps.show(best.goodput.iter().sum());
        format!(
            "Of the others, {} (the advice carries {own}).",
            parts.join("; ")
        )
    }

    /// The sentences, and a table of all choices.
    pub(super) fn text(&self) -> String {
        let mut table = Table::new([
            "queue",
            ">% of the line",
            ">induced RTT p50",
            ">p95",
            ">down",
            ">up",
        ]);
        for tried in &self.all {
            let (queue, share) = match tried.choice.queue {
                Some(queue) => (queue, tried.choice.share.to_string()),
                None => ("no shaper", "-".to_owned()),
            };
            let rate = |way: usize| Unit::Bps.show(tried.goodput[way]);
            table.row(vec![
                queue.to_owned(),
                share,
                ms(tried.p50_ms),
                ms(tried.p95_ms),
                rate(DOWN),
                rate(UP),
            ]);
        }
        format!("{}\n\n{}", self.sentences().join("\n"), table.show())
    }
}

fn ms(value: f64) -> String {
    Unit::Ms.show(value)
}

/// The means of a choice's runs.
fn tried(choice: &Choice, results: &[RunResult]) -> Option<Tried> {
    let is_own = |run: &&RunResult| {
        let up = run.params.iter().find(|(key, _)| key == "link.up.qdisc");
        up.is_some_and(|(_, value)| *value == choice.qdisc[UP])
    };
    let runs: Vec<&RunResult> = results.iter().filter(is_own).collect();
    let mean = |of: &dyn Fn(&RunResult) -> f64| {
        let sum: f64 = runs.iter().map(|run| of(run)).sum();
        let mean = sum / runs.len() as f64;
        mean.is_finite().then_some(mean)
    };
    let goodput = |prefix: &'static str| {
        mean(&|run| {
            let flows = run
                .flows
                .iter()
                .filter(|(name, _)| name.starts_with(prefix));
            flows.map(|(_, flow)| flow.goodput.as_bps() as f64).sum()
        })
    };
    Some(Tried {
        choice: choice.clone(),
        p50_ms: mean(&|run| run.induced_rtt(Statistic::P50))?,
        p95_ms: mean(&|run| run.induced_rtt(Statistic::P95))?,
        goodput: [goodput("upload")?, goodput("download")?],
    })
}

/// The fastest of those with a low 95th percentile; of those that are as fast, the lowest.
fn best(line: &Line, all: &[Tried]) -> Option<usize> {
    let lowest = all.iter().map(|tried| tried.p95_ms).reduce(f64::min)?;
    let is_near = |tried: &Tried| tried.p95_ms <= (lowest * (1.0 + NEAR)).max(lowest + NEAR_MS);
    // Both directions count alike, whatever their rates.
    let carried = |tried: &Tried| {
        let share = |way: usize| tried.goodput[way] / line.rate[way];
        share(UP) + share(DOWN)
    };
    let near = || all.iter().enumerate().filter(|(_, tried)| is_near(tried));
    let most = near().map(|(_, tried)| carried(tried)).reduce(f64::max)?;
    let fast = near().filter(|(_, tried)| carried(tried) >= most * (1.0 - ALIKE));
    let lowest = fast.min_by(|(_, a), (_, b)| a.p95_ms.total_cmp(&b.p95_ms));
    lowest.map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::super::line::Given;
    use super::*;
    use sojourn_units::Span;

    fn advice(line: &Line, change: impl Fn(&mut Tried)) -> Advice<'_> {
        let tried = |choice: Choice| {
            // Each rate carries what it is, and the whole line brings the modem's buffer back.
            let goodput = [UP, DOWN].map(|way| line.kbit(way, choice.share) as f64 * 920.0);
            let p95_ms = match (choice.queue, choice.share) {
                (None, _) => 180.0,
                (_, 100) => 60.0,
                (Some("cake"), _) => 4.0,
                _ => 6.0,
            };
            let mut tried = Tried {
                choice,
                p50_ms: p95_ms / 2.0,
                p95_ms,
                goodput,
            };
            change(&mut tried);
            tried
        };
        let all: Vec<Tried> = line.choices().into_iter().map(tried).collect();
        let best = best(line, &all).unwrap();
        Advice { line, all, best }
    }

    fn line() -> Line {
        let given = Given::parse("50/10").unwrap();
        given.line(Span::from_millis(25), Span::from_millis(200))
    }

    #[test]
    fn the_fastest_of_the_low_ones_is_the_advice() {
        let line = line();
        let advice = advice(&line, |_| {});
        assert_eq!(
            advice.sentences(),
            [
                "Use cake at 95 % of the line: 47.5 Mbit/s down and 9.50 Mbit/s up.",
                "Under four uploads and four downloads the 95th percentile of the induced RTT is \
                 4.00 ms (median 2.00 ms), where without a shaper it is 180 ms, and 87 % of the \
                 line carry data down, 87 % up.",
                "Of the others, fq_codel at the same rate has 6.00 ms; 90 % of the line gives 4.00 \
                 ms and 49.7 Mbit/s in both directions together; 100 % of the line gives 60.0 ms \
                 and 55.2 Mbit/s in both directions together (the advice carries 52.4 Mbit/s).",
            ]
        );
    }

    #[test]
    fn a_modem_with_a_short_buffer_needs_no_shaper() {
        let line = line();
        let advice = advice(&line, |tried| {
            if tried.choice.queue.is_none() {
                tried.p95_ms = 5.0;
            }
        });
        let [which, brings, _] = advice.sentences();
        assert!(which.starts_with("Use no shaper"), "{which}");
        assert!(!brings.contains("without"), "{brings}");
    }
}
