//! Figures for terminals: the main ones of every run, and of a single run its links and flows.
//!
//! Titles, units and values are those of the list (`world::figure`).

use crate::table::Table;
use sojourn_units::Unit;
use sojourn_world::RunResult;
use sojourn_world::figure::{Aggregate, FlowResult, LinkResult, Part, Row, Statistic};
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
        let parts = [if is_further { "" } else { figure.title }, statistic, unit];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
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
    text += "\nInduced RTT: round-trip time less the base RTT, of the latency probes where there \
             are any,\notherwise of all connections; of several flows their mean.\n";
    if let [result] = results {
        let links = parts("link", &result.links, &links(), |_| Vec::new());
        let flows = parts("flow", &result.flows, &flows(), |flow| {
            vec![("app", flow.app.to_string())]
        });
        let _ = write!(text, "\n{}\n{}", links.show(), flows.show());
    }
    text
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

/// The figures of a run's line: those over all flows, the induced RTT, and those of the link that
/// held most packets.
struct Line {
    all: [Column<Aggregate>; 2],
    induced: [Column<FlowResult>; 2],
    link: [Column<LinkResult>; 3],
}

impl Line {
    fn new() -> Self {
        Self {
            all: columns([("goodput_bps", None, 3), ("jain", None, 3)]),
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

/// What tells the runs apart: the world where there are several, the parameters, the seed.
fn identity(results: &[RunResult]) -> (Vec<&str>, impl Fn(&RunResult) -> Vec<String>) {
    let mut params: Vec<&str> = Vec::new();
    for (key, _) in results.iter().flat_map(|result| &result.params) {
        if !params.contains(&key.as_str()) {
            params.push(key);
        }
    }
    let several = results.iter().any(|run| run.world != results[0].world);
    let world = several.then_some("world");
    let titles = world.into_iter().chain(params.iter().copied());
    let titles = titles.chain(["seed"]).collect();
    let values = move |run: &RunResult| {
        let param = |param: &&str| {
            let found = run.params.iter().find(|(key, _)| key == param);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        let world = several.then(|| run.world.to_string());
        let values = world.into_iter().chain(params.iter().map(param));
        values.chain([run.seed.to_string()]).collect()
    };
    (titles, values)
}

/// The link that held most packets. Not by utilisation: a link that follows a trace may have none.
fn longest(run: &RunResult) -> Option<&(String, LinkResult)> {
    let backlog = |link: &LinkResult| link.backlog_packets_mean;
    let links = run.links.iter();
    links.max_by(|(_, a), (_, b)| backlog(a).total_cmp(&backlog(b)))
}

/// A line for each run.
fn runs(results: &[RunResult]) -> Table {
    let line = Line::new();
    let (titles, identity) = identity(results);
    let mut titles: Vec<String> = titles.into_iter().map(str::to_owned).collect();
    if let Some(seed) = titles.last_mut() {
        seed.insert(0, '>');
    }
    titles.extend(headings(&line.all).chain(headings(&line.induced)));
    titles.push("longest queue".to_owned());
    titles.extend(headings(&line.link));
    let mut table = Table::new(titles.iter().map(String::as_str));
    for result in results {
        let mut row = identity(result);
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
    let (titles, identity) = identity(results);
    let mut titles: Vec<String> = titles.into_iter().map(str::to_owned).collect();
    titles.extend(line.all.iter().map(Column::key));
    titles.extend(line.induced.iter().map(Column::key));
    titles.push("longest_queue".to_owned());
    titles.extend(line.link.iter().map(Column::key));
    let mut writer = csv::Writer::from_writer(Vec::new());
    let memory = "memory takes whatever is written";
    writer.write_record(&titles).expect(memory);
    for result in results {
        let mut row = identity(result);
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
    use super::plain;

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
