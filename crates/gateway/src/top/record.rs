//! Samples as a table: a row for each direction, tin and flow of each sample, and for what matches
//! no circuit.
//!
//! Not here: how a table is written ([`Recording`]); a program for gateways writes none.

use super::sample::{DualQueue, Flow, Pace, Sample, Tin, Unmatched, Waited, Way};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Words.
    Text,
    /// Whole numbers.
    Count,
    /// Numbers.
    Number,
    /// Microseconds since 1970, UTC.
    Time,
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Field<'a> {
    /// There is none.
    Empty,
    /// Words.
    Text(&'a str),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// Microseconds since 1970, UTC.
    Time(i64),
}

/// A table that is being written.
pub trait Recording {
    /// Adds a row, with a value for each of [`COLUMNS`].
    ///
    /// # Errors
    /// Why it cannot be written.
    fn row(&mut self, fields: &[Field<'_>]) -> anyhow::Result<()>;

    /// Puts the table in its place, and yields how many rows it has.
    ///
    /// # Errors
    /// Why it cannot be written.
    fn finish(self: Box<Self>) -> anyhow::Result<u64>;
}

/// The columns; `docs/bridge.md` explains them.
pub const COLUMNS: [(&str, ColumnType); 18] = [
    ("time", ColumnType::Time),
    ("pair", ColumnType::Text),
    ("direction", ColumnType::Text),
    ("kind", ColumnType::Text),
    ("name", ColumnType::Text),
    ("tin", ColumnType::Text),
    ("packets", ColumnType::Count),
    ("bytes", ColumnType::Count),
    ("dropped_packets", ColumnType::Count),
    ("marked_packets", ColumnType::Count),
    ("backlog_packets", ColumnType::Count),
    ("backlog_bytes", ColumnType::Count),
    ("rate_bps", ColumnType::Number),
    ("packets_per_s", ColumnType::Number),
    ("drops_per_s", ColumnType::Number),
    ("marks_per_s", ColumnType::Number),
    ("delay_ms", ColumnType::Number),
    ("high_delay_ms", ColumnType::Number),
];

/// A recording under way.
pub(super) struct Recorder {
    table: Box<dyn Recording>,
    last: Option<Sample>,
    samples: u64,
}

/// A record without its time and place.
struct Record<'a> {
    kind: &'static str,
    name: &'a str,
    tin: Option<&'a str>,
    /// Packets, bytes, drops and marks.
    counts: [u64; 4],
    /// Packets and bytes.
    backlog: [Option<u64>; 2],
    pace: Option<Pace>,
    waited: Option<Waited>,
}

impl<'a> Record<'a> {
    fn queue(way: &'a Way, old: Option<(&Way, f64)>, bounds_ms: &[f64]) -> Self {
        Self {
            kind: "queue",
            name: &way.queue,
            tin: None,
            counts: way.queued.counts(),
            backlog: way.queued.backlog(),
            pace: old.and_then(|(old, seconds)| way.queued.pace(&old.queued, seconds)),
            waited: old.and_then(|(old, _)| way.delays.waited(&old.delays, bounds_ms)),
        }
    }

    /// One queue of a pair, `C` or `L`.
    fn dual(queue: &'a DualQueue, old: Option<(&DualQueue, f64)>, bounds_ms: &[f64]) -> Self {
        Self {
            kind: "dual",
            name: &queue.name,
            tin: None,
            counts: queue.queued.counts(),
            backlog: queue.queued.backlog(),
            pace: old.and_then(|(old, seconds)| queue.queued.pace(&old.queued, seconds)),
            waited: old.and_then(|(old, _)| queue.delays.waited(&old.delays, bounds_ms)),
        }
    }

    fn tin(tin: &'a Tin, old: Option<(&Tin, f64)>) -> Self {
        Self {
            kind: "tin",
            name: &tin.name,
            tin: Some(&tin.name),
            counts: tin.counts(),
            backlog: [None, Some(tin.backlog_bytes)],
            pace: old.and_then(|(old, seconds)| tin.pace(old, seconds)),
            waited: Some(Waited {
                mean_ms: tin.delay_ms,
                high_ms: tin.peak_delay_ms,
            }),
        }
    }

    /// Its name is the address whose most of it is.
    fn unmatched(unmatched: &'a Unmatched, old: Option<(&Unmatched, f64)>) -> Self {
        Self {
            kind: "unmatched",
            name: unmatched.address.as_deref().unwrap_or_default(),
            tin: None,
            counts: unmatched.queued.counts(),
            backlog: unmatched.queued.backlog(),
            pace: old.and_then(|(old, seconds)| unmatched.queued.pace(&old.queued, seconds)),
            waited: Some(Waited {
                mean_ms: unmatched.delay_ms,
                high_ms: f64::INFINITY,
            }),
        }
    }

    fn flow(flow: &'a Flow, name: &'a str) -> Self {
        Self {
            kind: "flow",
            name,
            tin: flow.tin.as_deref(),
            counts: [
                flow.sent_packets,
                flow.sent_bytes,
                flow.dropped_packets,
                flow.marked_packets,
            ],
            backlog: [None, None],
            pace: Some(Pace {
                rate_bps: flow.rate_bps,
                packets: flow.packets_per_s,
                drops: flow.drops_per_s,
                marks: flow.marks_per_s,
            }),
            waited: Some(Waited {
                mean_ms: flow.delay_ms,
                high_ms: flow.peak_delay_ms,
            }),
        }
    }
}

impl Recorder {
    /// Into this table.
    pub(super) fn begin(table: Box<dyn Recording>) -> Self {
        Self {
            table,
            last: None,
            samples: 0,
        }
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, sample: &Sample) -> anyhow::Result<()> {
        let last = self.last.take();
        let seconds = last.as_ref().map_or(0.0, |last| sample.time - last.time);
        let time = (sample.time * 1e6) as i64;
        for pair in &sample.pairs {
            let before = last
                .as_ref()
                .filter(|_| seconds > 0.0)
                .and_then(|last| last.pair(&pair.name)?.ways());
            for (side, (direction, way)) in pair.ways().into_iter().flatten().enumerate() {
                let old = before.map(|ways| (ways[side].1, seconds));
                let at = [Field::Time(time), Field::Text(&pair.name)];
                self.way([at[0], at[1], Field::Text(direction)], way, old, sample)?;
            }
        }
        self.samples += 1;
        self.last = Some(sample.clone());
        Ok(())
    }

    fn way(
        &mut self,
        place: [Field<'_>; 3],
        way: &Way,
        old: Option<(&Way, f64)>,
        sample: &Sample,
    ) -> anyhow::Result<()> {
        self.row(place, &Record::queue(way, old, &sample.delay_bounds_ms))?;
        for queue in &way.queues {
            let old = old.and_then(|(old, seconds)| Some((old.queue_named(&queue.name)?, seconds)));
            self.row(place, &Record::dual(queue, old, &sample.delay_bounds_ms))?;
        }
        for tin in &way.tins {
            let old = old.and_then(|(old, seconds)| Some((old.tin(&tin.name)?, seconds)));
            self.row(place, &Record::tin(tin, old))?;
        }
        if let Some(unmatched) = &way.unmatched {
            let old = old.and_then(|(old, seconds)| Some((old.unmatched.as_ref()?, seconds)));
            self.row(place, &Record::unmatched(unmatched, old))?;
        }
        for flow in &way.flows {
            self.row(place, &Record::flow(flow, &flow.name()))?;
        }
        Ok(())
    }

    fn row(&mut self, [time, pair, way]: [Field<'_>; 3], row: &Record<'_>) -> anyhow::Result<()> {
        let count = |count: Option<u64>| count.map_or(Field::Empty, Field::Count);
        let number = |number: Option<f64>| number.map_or(Field::Empty, Field::Number);
        let [packets, bytes, drops, marks] = row.counts.map(Field::Count);
        let [backlog_packets, backlog_bytes] = row.backlog.map(count);
        self.table.row(&[
            time,
            pair,
            way,
            Field::Text(row.kind),
            Field::Text(row.name),
            row.tin.map_or(Field::Empty, Field::Text),
            packets,
            bytes,
            drops,
            marks,
            backlog_packets,
            backlog_bytes,
            number(row.pace.map(|pace| pace.rate_bps)),
            number(row.pace.map(|pace| pace.packets)),
            number(row.pace.map(|pace| pace.drops)),
            number(row.pace.map(|pace| pace.marks)),
            number(row.waited.map(|waited| waited.mean_ms)),
            number(row.waited.map(|waited| waited.high_ms)),
        ])
    }

    /// Puts the table in its place; yields how many samples and rows it has.
    pub(super) fn finish(self) -> anyhow::Result<(u64, u64)> {
        Ok((self.samples, self.table.finish()?))
    }
}
