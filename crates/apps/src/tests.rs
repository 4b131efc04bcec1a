//! What holds of all models, and the table of `docs/apps.md`.

pub(crate) mod harness;

use crate::{Metric, Spec, Transport};
use sojourn_tidy::generated;
use std::format;
use std::string::String;
use std::vec::Vec;

#[test]
fn kinds_have_names_of_their_own_and_metrics_in_the_order_of_results() {
    let mut names: Vec<_> = Spec::KINDS.iter().map(|kind| kind.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Spec::KINDS.len());
    let place = |metric| Metric::ALL.iter().position(|other| *other == metric);
    for kind in Spec::KINDS {
        assert!(
            kind.metrics.is_sorted_by_key(|metric| place(*metric)),
            "{}",
            kind.name
        );
    }
}

#[test]
fn the_table_of_kinds_is_current() {
    let mut table =
        String::from("| `kind` | over | what it is | measures |\n| --- | --- | --- | --- |\n");
    for kind in Spec::KINDS {
        let over = match kind.transport {
            Some(Transport::Tcp) => "TCP",
            Some(Transport::Udp) => "UDP",
            None => "both",
        };
        let metrics: Vec<_> = (kind.metrics.iter())
            .map(|metric| format!("`{}`", metric.measure().key))
            .collect();
        let row = format!(
            "| `{}` | {over} | {} | {} |\n",
            kind.name,
            kind.about,
            metrics.join(", ")
        );
        table.push_str(&row);
    }
    generated::part("docs/apps.md", "kinds", &table);
}
