//! Figures over seeds: mean, standard deviation and 95 % confidence interval.
//!
//! Source: Student's t for the mean of independent runs (Law, Simulation Modeling and Analysis,
//! section 4.5). Each run gives one value; samples within a run are not independent and are
//! never pooled.

use crate::json;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};
use sojourn_world::RunResult;
use sojourn_world::figure::{Part, Shape, Statistic};

/// A figure over several runs that differ in their seed only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverSeeds {
    /// Runs that have a value.
    pub n: usize,
    /// Mean of the runs' values.
    pub mean: f64,
    /// Standard deviation between runs (n − 1); none below two runs.
    pub sd: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean; none below two runs.
    pub ci95: Option<f64>,
}

impl OverSeeds {
    /// Of the values that are finite; none when there is none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let sd = (n > 1).then(|| {
            let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
            (squares / (n - 1) as f64).sqrt()
        });
        let ci95 = sd.map(|sd| student_t_975(n - 1) * sd / (n as f64).sqrt());
        Some(Self { n, mean, sd, ci95 })
    }

    fn json(self) -> Value {
        json!({ "n": self.n, "mean": self.mean, "sd": self.sd, "ci95": self.ci95 })
    }
}

/// The 97.5 % quantile of Student's t with `df` ≥ 1 degrees of freedom, within 0.001.
pub fn student_t_975(df: usize) -> f64 {
    // Published tables up to nine; above, the expansion of Fisher and Cornish (1960) in 1/df.
    const TABLE: [f64; 9] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622,
    ];
    const Z: f64 = 1.959_963_985;
    debug_assert!(df > 0, "a spread needs two values");
    if let Some(t) = TABLE.get(df.saturating_sub(1)) {
        return *t;
    }
    let (n, z2) = (df as f64, Z * Z);
    let first = (z2 + 1.0) * Z / 4.0;
    let second = ((5.0 * z2 + 16.0) * z2 + 3.0) * Z / 96.0;
    let third = (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) * Z / 384.0;
    Z + first / n + second / (n * n) + third / (n * n * n)
}

/// Runs that differ in their seed only, in the order of their first one.
fn all_seeds(results: &[RunResult]) -> Vec<Vec<&RunResult>> {
    let mut groups: IndexMap<_, Vec<&RunResult>> = IndexMap::new();
    let mut last = 0;
    for run in results {
        let key = (&run.world, &run.params);
        // Mostly it differs from the one before in its seed only.
        match groups.get_index_mut(last) {
            Some((known, group)) if *known == key => group.push(run),
            _ => {
                let group = groups.entry(key);
                last = group.index();
                group.or_default().push(run);
            }
        }
    }
    groups.into_values().collect()
}

/// The same, and of those that went alike, event by event, the first: they are one measurement.
pub(crate) fn groups(results: &[RunResult]) -> Vec<Vec<&RunResult>> {
    let groups = all_seeds(results).into_iter();
    groups.map(|group| distinct(&group)).collect()
}

fn distinct<'a>(group: &[&'a RunResult]) -> Vec<&'a RunResult> {
    let mut seen = IndexSet::new();
    // A world that cannot repeat a run has no digests.
    let is_new = |run: &&&RunResult| run.digest == 0 || seen.insert(run.digest);
    group.iter().filter(is_new).copied().collect()
}

/// A sentence about the seeds that changed nothing; none when all did.
pub fn repeated(results: &[RunResult]) -> Option<String> {
    let cells = all_seeds(results);
    let alike = cells.iter().map(|cell| cell.len() - distinct(cell).len());
    let (runs, alike) = alike.fold((0, 0), |(runs, cells), more| {
        (runs + more, cells + usize::from(more > 0))
    });
    let of = match cells.len() {
        1 => "the cell".to_owned(),
        all => format!("{alike} of {all} cells"),
    };
    (runs > 0).then(|| {
        format!(
            "Another seed changed nothing in {of}: {runs} of {} runs repeat an earlier one, event \
             by event, and are counted once. Nothing there is random; a flow's `start_spread` or a \
             link's `jitter` or `loss` makes runs differ.",
            results.len()
        )
    })
}

/// The figures of every cell that was run with more than one seed.
pub(crate) fn over_seeds(results: &[RunResult]) -> Vec<Value> {
    let groups = all_seeds(results)
        .into_iter()
        .filter(|group| group.len() > 1);
    let cell = groups.map(|group| {
        let all: Vec<_> = group.iter().map(|run| &run.aggregate).collect();
        let seeds: Vec<u64> = group.iter().map(|run| run.seed).collect();
        json!({
            "world": group[0].world.as_str(),
            "seeds": seeds,
            "params": json::params(group[0]),
            "links": named(group.iter().flat_map(|run| &run.links)),
            "flows": named(group.iter().flat_map(|run| &run.flows)),
            "aggregate": spread(&all),
            "distinct": distinct(&group).len(),
        })
    });
    cell.collect()
}

/// Links or flows of several runs under their names.
fn named<'a, T: Part>(parts: impl Iterator<Item = &'a (String, T)>) -> Map<String, Value> {
    let mut runs: IndexMap<&String, Vec<&T>> = IndexMap::new();
    for (name, part) in parts {
        runs.entry(name).or_default().push(part);
    }
    json::map(runs.iter().map(|(name, list)| (name, spread(list))))
}

/// The figures of several runs that the first of them has, each with its spread.
fn spread<T: Part>(runs: &[&T]) -> Map<String, Value> {
    let rows = T::rows().filter(|row| runs.first().is_some_and(|run| row.content(run).is_some()));
    json::map(rows.map(|row| {
        let over = |statistic| {
            let values = runs.iter().map(|run| row.value(run, statistic));
            OverSeeds::of(values).map_or(Value::Null, OverSeeds::json)
        };
        let value = match row.figure.shape {
            Shape::Distribution => {
                json::map(Statistic::ALL.map(|one| (one.name(), over(Some(one))))).into()
            }
            _ => over(None),
        };
        (row.figure.key, value)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_agrees_with_published_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, column 0.975.
        for (df, t) in [
            (1, 12.706),
            (2, 4.303),
            (9, 2.262),
            (10, 2.228),
            (11, 2.201),
            (15, 2.131),
            (20, 2.086),
            (30, 2.042),
            (60, 2.000),
            (100, 1.984),
        ] {
            assert!(
                (student_t_975(df) - t).abs() < 0.001,
                "df {df}: {} instead of {t}",
                student_t_975(df)
            );
        }
    }

    #[test]
    fn runs_that_went_alike_are_one() {
        let run = |seed, digest| RunResult {
            seed,
            digest,
            ..crate::labels::tests::run(&[("q", "pie")])
        };
        let seeds = |list: &[RunResult]| -> Vec<u64> {
            let groups = groups(list);
            groups[0].iter().map(|run| run.seed).collect()
        };
        let list = [run(1, 7), run(2, 7), run(3, 9), run(4, 7)];
        assert_eq!(seeds(&list), [1, 3]);
        let said = repeated(&list).unwrap();
        assert!(said.contains("2 of 4 runs repeat an earlier one"), "{said}");
        assert_eq!(over_seeds(&list)[0]["distinct"], 2);
        let real = [run(1, 0), run(2, 0)];
        assert_eq!((seeds(&real), repeated(&real)), (vec![1, 2], None));
    }

    #[test]
    fn the_interval_of_three_values_by_hand() {
        // mean 2, sd 1, t(2) = 4.3027: 4.3027 / √3 = 2.4842.
        let over = OverSeeds::of([1.0, f64::NAN, 2.0, 3.0]).unwrap();
        assert_eq!((over.n, over.mean, over.sd), (3, 2.0, Some(1.0)));
        assert!((over.ci95.unwrap() - 2.4842).abs() < 1e-4);
        assert_eq!(OverSeeds::of([f64::NAN]), None);
        assert_eq!(OverSeeds::of([5.0]).unwrap().ci95, None);
    }
}
