//! What circuits and sites have counted, and what matches none, on a page of its own: there may be
//! many thousands.

use super::text::{Dialect, MetricType, Page};
use sojourn_bridge::{Circuits, Classes, Side};
use sojourn_qdisc::{ClassCounts, TreeClass};
use std::sync::Arc;

/// Name with its unit, whether it only grows, whether sites have it too, meaning, value.
type Counted = (
    &'static str,
    MetricType,
    bool,
    &'static str,
    fn(&ClassCounts) -> f64,
);

const COUNTED: [Counted; 7] = [
    (
        "circuit_sent_packets",
        MetricType::Counter,
        true,
        "Packets that left through a circuit or site.",
        |counts| counts.sent.packets as f64,
    ),
    (
        "circuit_sent_bytes",
        MetricType::Counter,
        true,
        "Bytes that left through a circuit or site.",
        |counts| counts.sent.bytes as f64,
    ),
    (
        "circuit_dropped_packets",
        MetricType::Counter,
        false,
        "Packets dropped by a circuit's queue.",
        |counts| counts.dropped.packets as f64,
    ),
    (
        "circuit_marked_packets",
        MetricType::Counter,
        false,
        "Packets marked CE by a circuit's queue.",
        |counts| counts.marked.packets as f64,
    ),
    (
        "circuit_backlog_bytes",
        MetricType::Gauge,
        false,
        "Bytes held by a circuit's queue.",
        |counts| counts.backlog.bytes as f64,
    ),
    (
        "circuit_waited_seconds",
        MetricType::Counter,
        false,
        "Time that a circuit's packets spent in its queue, all together.",
        |counts| counts.waited.as_secs_f64(),
    ),
    (
        "circuit_delay_seconds",
        MetricType::Gauge,
        false,
        "Time that a circuit's last packets spent in its queue, a moving mean.",
        |counts| counts.delay.as_secs_f64(),
    ),
];

/// All metrics of the circuits and sites of pairs, which come with their names.
pub(super) fn page(dialect: Dialect, pairs: &[(String, Classes, Arc<Circuits>)]) -> String {
    let mut page = Page::new(dialect);
    for (name, kind, of_sites, about, of) in COUNTED {
        page.family(name, kind, about);
        for (pair, classes, _) in pairs {
            for side in Side::BOTH {
                for (class, counts) in of_side(classes, side) {
                    let kind = match class {
                        Some(class) if class.queue.is_none() => "site",
                        Some(_) => "circuit",
                        None => "unmatched",
                    };
                    if kind == "site" && !of_sites {
                        continue;
                    }
                    let labels = [
                        ("pair", pair.as_str()),
                        ("direction", side.name()),
                        ("kind", kind),
                        ("name", class.map_or("", |class| &*class.name)),
                        ("site", site_of(classes, side, class)),
                    ];
                    page.sample(&labels, of(counts));
                }
            }
        }
    }
    page.family(
        "circuit_round_trip_seconds",
        MetricType::Gauge,
        "Round trip beyond the port where a direction goes out, a moving mean.",
    );
    for (pair, classes, addresses) in pairs {
        for side in Side::BOTH {
            let known = classes.trees[side as usize].iter();
            for (class, number) in known.flat_map(|tree| tree.classes()).zip(1..) {
                let Some(trip) = addresses.round_trip(number, side) else {
                    continue;
                };
                let labels = [
                    ("pair", pair.as_str()),
                    ("direction", side.name()),
                    ("kind", "circuit"),
                    ("name", &*class.name),
                    ("site", site_of(classes, side, Some(class))),
                ];
                page.sample(&labels, trip.as_secs_f64());
            }
        }
    }
    page.finish()
}

/// The site that a class stands below; empty: the link.
fn site_of<'a>(classes: &'a Classes, side: Side, class: Option<&TreeClass>) -> &'a str {
    let tree = classes.trees[side as usize].as_ref();
    let site = tree.zip(class.and_then(|class| class.parent));
    site.map_or("", |(tree, site)| &*tree.classes()[site as usize].name)
}

/// The classes of a direction with what they have counted, and behind them what matches none.
fn of_side(
    classes: &Classes,
    side: Side,
) -> impl Iterator<Item = (Option<&TreeClass>, &ClassCounts)> {
    let tree = classes.trees[side as usize].iter();
    let known = tree.flat_map(|tree| tree.classes()).map(Some).chain([None]);
    known.zip(&classes.counts[side as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_qdisc::{Spec, Tally, TreeSpec};
    use sojourn_units::{Rate, Span};

    #[test]
    fn circuits_have_a_line_for_each_direction() {
        let class = |name: &str, parent, queue| TreeClass {
            name: name.into(),
            parent,
            rate: Rate::from_bps(1_000_000),
            ceil: None,
            queue,
        };
        let list = vec![class("hill", None, None), class("1138", Some(0), Some(0))];
        let tree = TreeSpec::new(list, vec![Spec::pfifo(10)]).expect("a tree");
        let counts = ClassCounts {
            sent: Tally {
                packets: 3,
                bytes: 4500,
            },
            delay: Span::from_millis(7),
            ..ClassCounts::default()
        };
        let classes = Classes {
            trees: [Some(Arc::new(tree)), None],
            counts: [vec![counts; 3], Vec::new()],
        };
        let addresses = Arc::new(Circuits::default());
        let text = page(
            Dialect::Prometheus,
            &[("wan".to_owned(), classes, addresses)],
        );
        for (name, kind, called, site, value) in [
            ("sent_bytes_total", "site", "hill", "", "4500"),
            ("sent_packets_total", "circuit", "1138", "hill", "3"),
            ("delay_seconds", "circuit", "1138", "hill", "0.007"),
            ("sent_packets_total", "unmatched", "", "", "3"),
        ] {
            let of = format!("kind=\"{kind}\",name=\"{called}\",site=\"{site}\"");
            let labels = format!("{{pair=\"wan\",direction=\"up\",{of}}}");
            let line = format!("sojourn_circuit_{name}{labels} {value}");
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(!text.contains("\"down\""), "{text}");
        assert_eq!(text.matches("kind=\"site\"").count(), 2, "{text}");
        assert!(page(Dialect::OpenMetrics, &[]).ends_with("# EOF\n"));
    }
}
