//! Figures for terminals: the main ones of every run, and of a single run its links and flows.
//!
//! Titles, units and values are those of the list (`world::figure`).

use sojourn_gateway::Table;
use sojourn_units::Unit;
use sojourn_world::RunResult;
use sojourn_world::figure::{Aggregate, FlowResult, LinkResult, Part, Row, Statistic};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A figure, or a statistic of it, with so many digits behind the point.
struct Column<T: 'static> {
    row: &'static Row<T>,
    statistic: Option<Statistic>,
    digits: usize,
}

/// The columns of figures by their keys.
fn columns<T: Part, const N: usize>(
    wanted: [(&str, Option<Statistic>, usize); N],
) -> [Column<T>; N] {
    wanted.map(|(key, statistic, digits)| Column {
        row: T::rows()
            .find(|row| row.figure.key == key)
            .expect("the key stands in the list"),
        statistic,
        digits,
    })
}

impl<T: Part> Column<T> {
    /// Its title, statistic and unit, flush right. A further statistic of the figure `before` it
    /// goes without the title.
    fn heading(&self, before: Option<&Self>) -> String {
        let figure = self.row.figure;
        let is_further = before.is_some_and(|before| before.row.figure.key == figure.key);
        let unit = match figure.unit {
            Unit::Packets => "",
            unit => unit.on_axis_name(),
        };
        let statistic = self.statistic.map_or("", Statistic::name);
        let parts = [if is_further { "" } else { figure.title }, statistic, unit]
            .into_iter()
            .filter(|part| !part.is_empty());
        format!(">{}", parts.collect::<Vec<_>>().join(" "))
    }

    /// As results name it: `induced_rtt_ms.p50`.
    fn key(&self) -> String {
        let key = self.row.figure.key;
        let statistic = self.statistic.map(Statistic::name);
        statistic.map_or(key.to_owned(), |statistic| format!("{key}.{statistic}"))
    }

    fn value(&self, part: &T) -> f64 {
        self.row.value(part, self.statistic)
    }

    fn show(&self, part: &T) -> String {
        self.number(self.value(part))
    }

    fn number(&self, value: f64) -> String {
        if value.is_finite() {
            let value = self.row.figure.unit.on_axis(value);
            format!("{value:.*}", self.digits)
        } else {
            "-".to_owned()
        }
    }
}

fn headings<T: Part>(columns: &[Column<T>]) -> impl Iterator<Item = String> {
    let before = std::iter::once(None).chain(columns.iter().map(Some));
    let columns = columns.iter().zip(before);
    columns.map(|(column, before)| column.heading(before))
}

/// The main figures: a line for each run, and for a single run its links and flows.
pub(crate) fn text(results: &[RunResult]) -> String {
    let mut text = runs(results).show();
    text += "\nInduced RTT: the measured round-trip time minus the base RTT: of the pings if there \
             are any,\nelse of all connections; the mean of several flows. Utilisation, Dropped \
             and Marked: of the\nlongest queue.\n";
    for sentence in held_by_their_ends(results) {
        let _ = writeln!(text, "{sentence}");
    }
    if let [result] = results {
        let links = parts("link", &result.links, &links(), |_| Vec::new());
        let flows = parts("flow", &result.flows, &flows(), |flow| {
            vec![("app", flow.app.to_string())]
        });
        let _ = write!(text, "\n{}\n", links.show());
        if let Some(queues) = pairs(&result.links) {
            let _ = writeln!(text, "{}", queues.show());
        }
        text += &flows.show();
    }
    text
}

/// Which flows of which world no queue makes faster.
fn held_by_their_ends(results: &[RunResult]) -> Vec<String> {
    let mut worlds: Vec<_> = results.iter().map(|run| &run.world).collect();
    worlds.dedup();
    let of = |world| sojourn_report::held_flows(results, world);
    let several = worlds.len() > 1;
    let sentences = worlds.into_iter().flat_map(|world| {
        let named = move |text| {
            if several {
                format!("{world}: {text}")
            } else {
                text
            }
        };
        of(world).into_iter().map(named)
    });
    sentences.collect()
}

fn links() -> [Column<LinkResult>; 7] {
    columns([
        ("utilisation", None, 1),
        ("dequeued_packets", None, 0),
        ("dropped_packets", None, 0),
        ("marked_packets", None, 0),
        ("sojourn_ms", Some(Statistic::P50), 2),
        ("sojourn_ms", Some(Statistic::P95), 2),
        ("backlog_packets_mean", None, 1),
    ])
}

fn flows() -> [Column<FlowResult>; 6] {
    columns([
        ("goodput_bps", None, 3),
        ("sent_packets", None, 0),
        ("retransmitted_packets", None, 0),
        ("rtt_ms", Some(Statistic::P50), 1),
        ("rtt_ms", Some(Statistic::P95), 1),
        ("loss_ratio", None, 2),
    ])
}

/// Of each link whose queue is a pair, the L and the C queue.
fn pairs(links: &[(String, LinkResult)]) -> Option<Table> {
    let of = |[dequeued, dropped, marked, sojourn]: [&'static str; 4]| {
        columns::<LinkResult, 7>([
            (dequeued, None, 0),
            (dropped, None, 0),
            (marked, None, 0),
            (sojourn, Some(Statistic::P50), 2),
            (sojourn, Some(Statistic::P95), 2),
            (sojourn, Some(Statistic::P99), 2),
            (sojourn, Some(Statistic::Max), 2),
        ])
    };
    let queues = [
        (
            "L",
            of([
                "l_dequeued_packets",
                "l_dropped_packets",
                "l_marked_packets",
                "l_sojourn_ms",
            ]),
        ),
        (
            "C",
            of([
                "c_dequeued_packets",
                "c_dropped_packets",
                "c_marked_packets",
                "c_sojourn_ms",
            ]),
        ),
    ];
    // The titles of a whole link, which say the same of a part of it.
    let whole = of([
        "dequeued_packets",
        "dropped_packets",
        "marked_packets",
        "sojourn_ms",
    ]);
    let probability = columns::<LinkResult, 1>([("base_probability", Some(Statistic::Mean), 2)]);
    let titles: Vec<_> = ["link", "queue"]
        .map(str::to_owned)
        .into_iter()
        .chain(headings(&whole))
        .chain(headings(&probability))
        .collect();
    let mut table = Table::new(titles.iter().map(String::as_str));
    let mut is_empty = true;
    for (name, link) in links
        .iter()
        .filter(|(_, link)| link.l_dequeued_packets.is_some())
    {
        is_empty = false;
        for (queue, columns) in &queues {
            let mut row = vec![name.clone(), (*queue).to_owned()];
            row.extend(
                columns
                    .iter()
                    .chain(&probability)
                    .map(|column| column.show(link)),
            );
            table.row(row);
        }
    }
    (!is_empty).then_some(table)
}

/// The figures of a run's line: those over all flows, the induced RTT, and those of the link that
/// held most packets.
struct Line {
    all: Vec<Column<Aggregate>>,
    induced: [Column<FlowResult>; 2],
    link: [Column<LinkResult>; 3],
}

impl Line {
    fn new() -> Self {
        Self {
            all: columns([("goodput_bps", None, 3), ("jain", None, 3)]).into(),
            induced: columns([
                ("induced_rtt_ms", Some(Statistic::P50), 1),
                ("induced_rtt_ms", Some(Statistic::P95), 1),
            ]),
            link: columns([
                ("utilisation", None, 1),
                ("dropped_packets", None, 0),
                ("marked_packets", None, 0),
            ]),
        }
    }
}

/// What tells the runs apart: titles, and for each run a value under each of them.
struct Identity {
    titles: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Identity {
    /// For programs: the world where there are several, every parameter, the seed.
    fn whole(results: &[RunResult]) -> Self {
        let mut identity = Self::of_worlds(results);
        for field in fields(results) {
            let values = results.iter().map(|run| param(run, field).to_owned());
            identity.push(field.to_owned(), values);
        }
        identity.with_seeds(results)
    }

    /// For people: the same, but fields that change together have one column and one short value.
    fn short(results: &[RunResult]) -> Self {
        let mut identity = Self::of_worlds(results);
        let parts = sojourn_report::varied(results);
        for field in fields(results) {
            match parts.iter().find(|part| part.fields.contains(&field)) {
                Some(part) if part.fields[0] != field => {}
                Some(part) => identity.push(part.name(), part.values.iter().cloned()),
                None => {
                    let values = results.iter().map(|run| param(run, field).to_owned());
                    identity.push(field.to_owned(), values);
                }
            }
        }
        identity.with_seeds(results)
    }

    fn of_worlds(results: &[RunResult]) -> Self {
        let mut identity = Self {
            titles: Vec::new(),
            rows: vec![Vec::new(); results.len()],
        };
        if results.iter().any(|run| run.world != results[0].world) {
            let worlds = results.iter().map(|run| run.world.to_string());
            identity.push("world".to_owned(), worlds);
        }
        identity
    }

    fn with_seeds(mut self, results: &[RunResult]) -> Self {
        let seeds = results.iter().map(|run| run.seed.to_string());
        self.push("seed".to_owned(), seeds);
        self
    }

    fn push(&mut self, title: String, values: impl Iterator<Item = String>) {
        self.titles.push(title);
        for (row, value) in self.rows.iter_mut().zip(values) {
            row.push(value);
        }
    }
}

/// The parameters that occur, in the order of their first occurrence.
fn fields(results: &[RunResult]) -> Vec<&str> {
    let mut fields: Vec<&str> = Vec::new();
    for (field, _) in results.iter().flat_map(|result| &result.params) {
        if !fields.contains(&field.as_str()) {
            fields.push(field);
        }
    }
    fields
}

/// A parameter of a run; empty where it has none of this name.
fn param<'a>(run: &'a RunResult, field: &str) -> &'a str {
    let found = run.params.iter().find(|(key, _)| key == field);
    found.map_or("", |(_, value)| value)
}

/// The link that held most packets. Not by utilisation: a link that follows a trace may have none.
fn longest(run: &RunResult) -> Option<&(String, LinkResult)> {
    let backlog = |link: &LinkResult| link.backlog_packets_mean;
    let links = run.links.iter();
    links.max_by(|(_, a), (_, b)| backlog(a).total_cmp(&backlog(b)))
}

/// The first run of each row of the table, and the seeds of the row: runs that repeat another one,
/// event by event, share its row.
fn distinct(results: &[RunResult]) -> Vec<(usize, Vec<u64>)> {
    let mut rows: Vec<(usize, Vec<u64>)> = Vec::new();
    let mut known = BTreeMap::new();
    for (index, run) in results.iter().enumerate() {
        // A world that cannot repeat a run has no digests.
        let alone = (run.digest == 0).then_some(index);
        let key = (run.world.as_str(), &run.params, run.digest, alone);
        let row = *known.entry(key).or_insert_with(|| {
            rows.push((index, Vec::new()));
            rows.len() - 1
        });
        rows[row].1.push(run.seed);
    }
    rows
}

/// `1-5, 7`.
fn ranges(seeds: &[u64]) -> String {
    let parts = seeds.chunk_by(|a, b| a + 1 == *b).map(|range| match range {
        [first, .., last] => format!("{first}-{last}"),
        other => other.iter().map(u64::to_string).collect(),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// A line for each run. A figure that no run has gets no column.
fn runs(results: &[RunResult]) -> Table {
    let mut line = Line::new();
    line.all.retain(|column| {
        let mut values = results.iter().map(|run| column.value(&run.aggregate));
        values.any(f64::is_finite)
    });
    let identity = Identity::short(results);
    let mut titles = identity.titles;
    if let Some(seed) = titles.last_mut() {
        seed.insert(0, '>');
    }
    titles.extend(headings(&line.all).chain(headings(&line.induced)));
    titles.push("longest queue".to_owned());
    titles.extend(headings(&line.link));
    let mut table = Table::new(titles.iter().map(String::as_str));
    for (index, seeds) in distinct(results) {
        let (result, mut row) = (&results[index], identity.rows[index].clone());
        if let Some(seed) = row.last_mut() {
            *seed = ranges(&seeds);
        }
        row.extend(line.all.iter().map(|column| column.show(&result.aggregate)));
        row.extend(line.induced.iter().map(|column| {
            let statistic = column.statistic.expect("it is a statistic");
            column.number(result.induced_rtt(statistic))
        }));
        match longest(result) {
            Some((name, busiest)) => {
                row.push(name.clone());
                row.extend(line.link.iter().map(|column| column.show(busiest)));
            }
            None => row.extend(["-"; 4].map(str::to_owned)),
        }
        table.row(row);
    }
    table
}

/// A number for programs to read, to twelve digits: a difference of two times is 1.244 ms, not
/// 1.2439999999999998. What is not known is empty.
pub(crate) fn plain(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let rounded = format!("{value:.11e}").parse::<f64>();
    rounded
        .expect("what a number is written as is one")
        .to_string()
}

/// The same as CSV: figures by their keys, in the units that the keys name.
pub(crate) fn csv(results: &[RunResult]) -> String {
    let line = Line::new();
    let identity = Identity::whole(results);
    let mut titles = identity.titles;
    titles.extend(line.all.iter().map(Column::key));
    titles.extend(line.induced.iter().map(Column::key));
    titles.push("longest_queue".to_owned());
    titles.extend(line.link.iter().map(Column::key));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let memory = "memory takes whatever is written";
    writer.write_record(&titles).expect(memory);
    for (result, mut row) in results.iter().zip(identity.rows) {
        let all = line.all.iter();
        row.extend(all.map(|column| plain(column.value(&result.aggregate))));
        row.extend(line.induced.iter().map(|column| {
            let statistic = column.statistic.expect("it is a statistic");
            plain(result.induced_rtt(statistic))
        }));
        let busiest = longest(result);
        row.push(busiest.map_or_else(String::new, |(name, _)| name.clone()));
        row.extend(line.link.iter().map(|column| {
            let value = busiest.map(|(_, link)| column.value(link));
            value.map_or_else(String::new, plain)
        }));
        writer.write_record(&row).expect(memory);
    }
    let bytes = writer.into_inner().expect(memory);
    String::from_utf8(bytes).expect("all that was written is text")
}

/// A line for each link or flow: its name, what stands `beside` figures, and its figures.
fn parts<T: Part>(
    kind: &str,
    list: &[(String, T)],
    columns: &[Column<T>],
    beside: impl Fn(&T) -> Vec<(&'static str, String)>,
) -> Table {
    let mut titles = vec![kind.to_owned()];
    let empty = T::default();
    titles.extend(beside(&empty).iter().map(|(title, _)| (*title).to_owned()));
    titles.extend(headings(columns));
    let mut table = Table::new(titles.iter().map(String::as_str));
    for (name, part) in list {
        let mut row = vec![name.clone()];
        row.extend(beside(part).into_iter().map(|(_, text)| text));
        row.extend(columns.iter().map(|column| column.show(part)));
        table.row(row);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{plain, ranges};

    #[test]
    fn seeds_of_equal_runs_are_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8]), "1-3, 5, 7-8");
        assert_eq!(ranges(&[4]), "4");
    }

    #[test]
    fn numbers_for_programs_have_no_digits_of_rounding() {
        for (value, shown) in [
            (1.243_999_999_999_999_8, "1.244"),
            (-0.1 - 0.2, "-0.3"),
            (9_999_999_999.0, "9999999999"),
            (1.0 / 3.0, "0.333333333333"),
            (0.0, "0"),
            (f64::NAN, ""),
        ] {
            assert_eq!(plain(value), shown);
        }
    }
}
