//! What was measured: means over seeds, by cell and world; a CSV table.

use crate::figure::FIGURES;
use crate::square::{Square, rank};
use sojourn_report::{OverSeeds, student_t_975};
use sojourn_world::{RunResult, WorldName};
use std::fmt::Write as _;

/// What a cell is told apart by within its phase: the table's column, and the scenario's field or
/// fields that come into it, with a `+` between them.
const AXES: [(&str, &[&str]); 5] = [
    ("rate", &["dumbbell.rate"]),
    ("rtt", &["dumbbell.rtt"]),
    ("queue", &["dumbbell.qdisc"]),
    ("cc", &["tcp.cc", "flow.one.tcp.cc", "flow.two.tcp.cc"]),
    ("flows", &["flow.bulk.count"]),
];

/// The phase whose cells differ in the words behind a queue's first one.
const OPTIONS: &str = "options";

/// A cell of the grid, or of another scenario.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatrixCell {
    /// Name of its phase, or of its scenario.
    pub phase: String,
    /// Rate, round-trip time, queue, congestion control, number of flows; empty where the phase
    /// has but one.
    pub values: [String; 5],
    /// What tells a cell of another scenario from others: a field's path and its value each.
    /// None for the grid's.
    pub params: Option<Vec<(String, String)>>,
}

impl MatrixCell {
    /// The place of a cell with these parameters.
    pub fn of(phase: &str, params: &[(String, String)]) -> Self {
        let value = |(_, fields): (&str, &[&str])| {
            let of = |field: &&str| params.iter().find(|(key, _)| key == field);
            let found = fields.iter().filter_map(of);
            let values: Vec<&str> = found.map(|(_, value)| value.as_str()).collect();
            values.join("+")
        };
        Self {
            phase: phase.to_owned(),
            values: AXES.map(value),
            params: None,
        }
    }

    /// Phase and values with `/` between them, the queue by its first word:
    /// `steady/10mbit/50ms/codel/cubic/4`. Where options tell cells apart all its words are there:
    /// `options/4mbit/80ms/cake_rtt_20ms`. Of another scenario its parameters:
    /// `demo dumbbell.qdisc=fq_codel`.
    pub fn name(&self) -> String {
        let mut name = self.phase.clone();
        for (key, value) in self.params.iter().flatten() {
            let _ = write!(name, " {key}={value}");
        }
        for value in self.values.iter().filter(|value| !value.is_empty()) {
            let word = match &*self.phase {
                OPTIONS => value.replace(' ', "_"),
                _ => value.split(' ').next().unwrap_or_default().to_owned(),
            };
            let _ = write!(name, "/{word}");
        }
        name
    }
}

/// The mean of a figure over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// In the figure's unit.
    pub mean: f64,
    /// Half the width of its 95 % confidence interval; none of one seed.
    pub ci95: Option<f64>,
}

impl Mean {
    /// The standard error of a mean over `seeds`; none of one seed.
    pub(crate) fn error(self, seeds: usize) -> Option<f64> {
        let freedom = seeds.checked_sub(1).filter(|&freedom| freedom > 0)?;
        Some(self.ci95? / student_t_975(freedom))
    }

    /// The mean over `seeds` and over `more` of `other`, which are different ones: as if the means
    /// had been taken at once.
    fn and(self, seeds: usize, other: Self, more: usize) -> Self {
        let (n, m) = (seeds as f64, more as f64);
        let all = n + m;
        let squares = |mean: Self, of: usize| {
            let error = mean.error(of).unwrap_or(0.0);
            error * error * (of * of.saturating_sub(1)) as f64
        };
        let apart = self.mean - other.mean;
        let sum = squares(self, seeds) + squares(other, more) + n * m / all * apart * apart;
        let freedom = seeds + more - 1;
        Self {
            mean: (n * self.mean + m * other.mean) / all,
            ci95: Some(student_t_975(freedom) * (sum / freedom as f64 / all).sqrt()),
        }
    }
}

/// What a world made of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The cell.
    pub place: MatrixCell,
    /// The world.
    pub world: WorldName,
    /// Over how many seeds, 1, 2 and so on.
    pub seeds: usize,
    /// In the order of [`FIGURES`].
    pub figures: [Option<Mean>; FIGURES.len()],
}

impl Entry {
    /// With the seeds of `more`, too. A figure that one of the two lacks is lacking.
    fn and(&self, more: &Self) -> Self {
        let mut all = self.clone();
        all.seeds += more.seeds;
        for (value, other) in all.figures.iter_mut().zip(more.figures) {
            let both = value.zip(other);
            *value = both.map(|(value, other)| value.and(self.seeds, other, more.seeds));
        }
        all
    }

    /// The same with the means of these runs, one for each seed.
    fn over(self, runs: &[&RunResult]) -> Self {
        Self {
            seeds: runs.len(),
            figures: FIGURES.map(|figure| {
                let over = OverSeeds::of(runs.iter().map(|run| (figure.of)(run)))?;
                let (mean, ci95) = (over.mean, over.ci95);
                Some(Mean { mean, ci95 })
            }),
            ..self
        }
    }
}

/// What all worlds made of the grid's cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    /// The worlds that may stand in it, the one that the others are meant to be like last.
    pub squares: &'static [Square],
    /// By cell in the grid's order, then by world.
    pub entries: Vec<Entry>,
}

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    /// It is no CSV, or a line has too few or too many fields.
    #[error("{0}")]
    Csv(#[from] csv::Error),
    /// It has no line.
    #[error("it is empty: its first line is to be `{0}`")]
    Empty(String),
    /// Its first line names other columns.
    #[error("line 1: the columns are `{found}`, expected `{expected}`")]
    Columns {
        /// As they stand there.
        found: String,
        /// As this program writes them.
        expected: String,
    },
    /// A field cannot be read.
    #[error("line {line}: {column}: `{found}` is not a {expected}")]
    Field {
        /// From 1.
        line: u64,
        /// The column's name.
        column: &'static str,
        /// What stands there.
        found: String,
        /// What should.
        expected: &'static str,
    },
}

impl Matrix {
    /// The table of the repository, as built into the program.
    ///
    /// # Errors
    /// When it cannot be read: a fault of the program.
    pub fn recorded(squares: &'static [Square]) -> Result<Self, MatrixError> {
        Self::parse(squares, include_str!("../scenarios/matrix.csv"))
    }

    /// The means over the seeds of `results`, all of one phase and one world, in their order.
    pub fn of(squares: &'static [Square], phase: &str, results: &[RunResult]) -> Self {
        let mut entries = Vec::new();
        for runs in results.chunk_by(|a, b| a.params == b.params) {
            let entry = Entry {
                place: MatrixCell::of(phase, &runs[0].params),
                world: runs[0].world.clone(),
                seeds: 0,
                figures: [None; FIGURES.len()],
            };
            entries.push(entry.over(&runs.iter().collect::<Vec<_>>()));
        }
        Self { squares, entries }
    }

    /// The means over the seeds of `results`, of any scenario and of several worlds. Parameters
    /// that all of its cells have alike are not named.
    pub fn of_scenario(squares: &'static [Square], name: &str, results: &[RunResult]) -> Self {
        let alike = |param: &&(String, String)| results.iter().all(|r| r.params.contains(param));
        let place = |run: &RunResult| MatrixCell {
            params: Some((run.params.iter().filter(|p| !alike(p))).cloned().collect()),
            ..MatrixCell::of(name, &[])
        };
        let mut runs: Vec<&RunResult> = results.iter().collect();
        // Stable, so that seeds and parameters stay in their order.
        runs.sort_by_key(|run| rank(squares, &run.world));
        let mut entries: Vec<(Entry, Vec<&RunResult>)> = Vec::new();
        for run in runs {
            let (place, world) = (place(run), &run.world);
            let same = |(entry, _): &&mut (Entry, _)| entry.place == place && entry.world == *world;
            if let Some((_, seeds)) = entries.iter_mut().find(same) {
                seeds.push(run);
                continue;
            }
            let entry = Entry {
                place,
                world: world.clone(),
                seeds: 0,
                figures: [None; FIGURES.len()],
            };
            entries.push((entry, vec![run]));
        }
        let entries = entries
            .into_iter()
            .map(|(entry, runs)| entry.over(&runs))
            .collect();
        Self { squares, entries }
    }

    /// Adds the seeds of `other`, which come after those that are here of the same cell and world.
    pub fn add(&mut self, other: Self) {
        for entry in other.entries {
            let same = |old: &&mut Entry| old.place == entry.place && old.world == entry.world;
            match self.entries.iter_mut().find(same) {
                Some(old) => *old = old.and(&entry),
                None => self.entries.push(entry),
            }
        }
    }

    /// Puts `other` in; what it has of the same cell and world takes the older one's place.
    pub fn merge(&mut self, other: Self) {
        for entry in other.entries {
            let same = |old: &&mut Entry| old.place == entry.place && old.world == entry.world;
            match self.entries.iter_mut().find(same) {
                Some(old) => *old = entry,
                None => self.entries.push(entry),
            }
        }
    }

    /// Only what it has of these cells, in their order and that of the worlds.
    #[must_use]
    pub fn only(&self, places: &[MatrixCell]) -> Self {
        let mut entries = Vec::new();
        for place in places {
            let of = self.entries.iter().filter(|entry| entry.place == *place);
            let start = entries.len();
            entries.extend(of.cloned());
            entries[start..].sort_by_key(|entry| rank(self.squares, &entry.world));
        }
        Self {
            squares: self.squares,
            entries,
        }
    }

    /// What a world made of a cell.
    pub fn get(&self, place: &MatrixCell, world: &WorldName) -> Option<&Entry> {
        let mut entries = self.entries.iter();
        entries.find(|entry| entry.place == *place && entry.world == *world)
    }

    /// Its cells, each once.
    pub fn places(&self) -> Vec<&MatrixCell> {
        let mut places: Vec<&MatrixCell> = Vec::new();
        for entry in &self.entries {
            if !places.contains(&&entry.place) {
                places.push(&entry.place);
            }
        }
        places
    }

    /// As a table: a line for each cell and world, numbers with the digits of their figure.
    pub fn csv(&self) -> String {
        let mut text = columns().join(",") + "\n";
        for entry in &self.entries {
            let mut fields = vec![entry.place.phase.clone()];
            fields.extend(entry.place.values.iter().cloned());
            fields.extend([entry.world.to_string(), entry.seeds.to_string()]);
            for (figure, value) in FIGURES.iter().zip(&entry.figures) {
                let show = |number: Option<f64>| {
                    number.map_or_else(String::new, |number| format!("{number:.*}", figure.digits))
                };
                fields.push(show(value.map(|mean| mean.mean)));
                fields.push(show(value.and_then(|mean| mean.ci95)));
            }
            let _ = writeln!(text, "{}", fields.join(","));
        }
        text
    }

    /// Reads a table of these worlds.
    ///
    /// # Errors
    /// When it is none of [`Matrix::csv`]; the message names line and column.
    pub fn parse(squares: &'static [Square], text: &str) -> Result<Self, MatrixError> {
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = columns();
        if reader.headers()?.is_empty() {
            return Err(MatrixError::Empty(columns.join(",")));
        }
        if reader.headers()?.iter().ne(columns.iter().copied()) {
            return Err(MatrixError::Columns {
                found: reader.headers()?.iter().collect::<Vec<_>>().join(","),
                expected: columns.join(","),
            });
        }
        let mut entries = Vec::new();
        for record in reader.records() {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            let wrong = |index: usize, expected| MatrixError::Field {
                line,
                column: columns[index],
                found: record[index].to_owned(),
                expected,
            };
            let number = |index: usize| -> Result<Option<f64>, MatrixError> {
                let text = &record[index];
                if text.is_empty() {
                    return Ok(None);
                }
                let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
                number.map(Some).ok_or_else(|| wrong(index, "number"))
            };
            let mut figures = [None; FIGURES.len()];
            for (index, figure) in figures.iter_mut().enumerate() {
                let at = KEYS.len() + 2 * index;
                let ci95 = number(at + 1)?;
                *figure = number(at)?.map(|mean| Mean { mean, ci95 });
            }
            entries.push(Entry {
                place: MatrixCell {
                    phase: record[0].to_owned(),
                    values: std::array::from_fn(|index| record[1 + index].to_owned()),
                    params: None,
                },
                world: WorldName::parse(&record[6]).ok_or_else(|| wrong(6, NAME))?,
                seeds: record[7].parse().map_err(|_| wrong(7, "number of seeds"))?,
                figures,
            });
        }
        Ok(Self { squares, entries })
    }
}

/// What a world is called.
const NAME: &str = "name of small letters, digits and `-`";

/// The columns before the figures.
const KEYS: [&str; 8] = [
    "phase", AXES[0].0, AXES[1].0, AXES[2].0, AXES[3].0, AXES[4].0, "world", "seeds",
];

/// The table's columns; behind each figure half the width of its interval.
fn columns() -> Vec<&'static str> {
    let figures = FIGURES.iter().flat_map(|figure| [figure.key, "ci95"]);
    KEYS.into_iter().chain(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::square::KNOWN;
    use sojourn_units::Span;
    use sojourn_world::{Cell, Network};
    use std::iter;

    fn one() -> Matrix {
        let params = [
            ("dumbbell.rate", "10mbit"),
            ("dumbbell.qdisc", "red limit 9"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let mut figures = [None; FIGURES.len()];
        figures[0] = Some(Mean {
            mean: 9.25,
            ci95: Some(0.5),
        });
        figures[3] = Some(Mean {
            mean: 12.0,
            ci95: None,
        });
        Matrix {
            squares: &KNOWN,
            entries: vec![Entry {
                place: MatrixCell::of("steady", &params),
                world: WorldName::new("sim"),
                seeds: 2,
                figures,
            }],
        }
    }

    #[test]
    fn a_table_comes_back() {
        let matrix = one();
        assert_eq!(matrix.entries[0].place.name(), "steady/10mbit/red");
        assert_eq!(
            Matrix::parse(&KNOWN, &matrix.csv()).expect("it is one"),
            matrix
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |from: &str, to: &str| {
            let text = one().csv().replace(from, to);
            Matrix::parse(&KNOWN, &text)
                .expect_err("it is wrong")
                .to_string()
        };
        assert_eq!(
            error("9.2500", "x"),
            "line 2: goodput_mbps: `x` is not a number"
        );
        assert_eq!(
            error("sim,2", "sim,two"),
            "line 2: seeds: `two` is not a number of seeds"
        );
        assert_eq!(
            error("sim,", "Sim!,"),
            "line 2: world: `Sim!` is not a name of small letters, digits and `-`"
        );
        assert!(error("phase", "Phase").starts_with("line 1: the columns are `Phase,rate"));
        assert!(
            error("9.2500,", "").contains("21 fields"),
            "{}",
            error("9.2500,", "")
        );
    }

    #[test]
    fn cells_of_any_scenario_are_told_apart_by_what_differs() {
        let run = |world, queue: &str, seed: u64| {
            let params = [("duration", "9s"), ("dumbbell.qdisc", queue)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()));
            let network = Network::new(["one"]);
            let mut cell = Cell::new("home", network, Vec::new(), Span::from_secs(9));
            (cell.params, cell.seed) = (params.to_vec(), seed);
            RunResult::of(WorldName::new(world), &cell, Vec::new(), iter::empty())
        };
        let results = [
            run("kernel-tc", "pie", 1),
            run("sim", "pie", 1),
            run("sim", "tbf rate 1mbit", 1),
            run("sim", "pie", 2),
        ];
        let matrix = Matrix::of_scenario(&KNOWN, "home", &results);
        let told: Vec<_> = matrix
            .entries
            .iter()
            .map(|entry| (entry.place.name(), entry.world.as_str(), entry.seeds))
            .collect();
        let name = |queue: &str| format!("home dumbbell.qdisc={queue}");
        assert_eq!(
            told,
            [
                (name("pie"), "sim", 2),
                (name("tbf rate 1mbit"), "sim", 1),
                (name("pie"), "kernel-tc", 1),
            ]
        );
    }

    /// By hand: 1, 2, 4 have the mean 7/3 and the standard deviation √(14/6); 3, 7 have 5 and √8. All
    /// five have 3.4 and √5.3, so that the interval is 2.7764·√(5.3/5).
    #[test]
    fn more_seeds_are_as_if_all_had_run_at_once() {
        let of = |seeds: usize, mean: f64, ci95: Option<f64>| {
            let mut matrix = one();
            matrix.entries[0].seeds = seeds;
            matrix.entries[0].figures = [None; FIGURES.len()];
            matrix.entries[0].figures[0] = Some(Mean { mean, ci95 });
            matrix
        };
        let three = of(3, 7.0 / 3.0, Some(4.3027 * (14.0_f64 / 18.0).sqrt()));
        let mut all = three.clone();
        all.add(of(2, 5.0, Some(12.7062 * 2.0)));
        let check = |matrix: &Matrix, seeds: usize, mean: f64, ci95: f64| {
            let entry = &matrix.entries[0];
            let found = entry.figures[0].expect("both have it");
            assert_eq!((entry.seeds, matrix.entries.len()), (seeds, 1));
            assert!((found.mean - mean).abs() < 1e-9, "{found:?}");
            let interval = found.ci95.expect("there are several seeds");
            assert!((interval - ci95).abs() < 1e-3, "{interval}");
        };
        check(&all, 5, 3.4, 2.7764 * 1.06_f64.sqrt());
        // One seed has no interval of its own: 1, 2, 4, 7 have 3.5 and √7.
        let mut all = three;
        all.add(of(1, 7.0, None));
        check(&all, 4, 3.5, 3.1824 * (7.0_f64 / 4.0).sqrt());
        // Another world's is another entry, and a figure that one lacks is lacking.
        let mut other = of(1, 7.0, None);
        other.entries[0].world = WorldName::new("kernel");
        all.add(other);
        assert_eq!(all.entries.len(), 2);
        let mut lacking = of(1, 7.0, None);
        lacking.entries[0].figures[0] = None;
        all.add(lacking);
        assert_eq!((all.entries[0].seeds, all.entries[0].figures[0]), (5, None));
    }

    #[test]
    fn the_newer_entry_stands() {
        let (mut matrix, mut newer) = (one(), one());
        newer.entries[0].seeds = 5;
        matrix.merge(newer.clone());
        assert_eq!(matrix, newer);
    }
}
