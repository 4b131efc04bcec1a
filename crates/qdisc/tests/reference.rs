//! `docs/disciplines.md` is made from the catalogue; this is the check that it still is.

use sojourn_qdisc::{catalogue, list};
use sojourn_tidy::generated;

fn reference() -> String {
    let mut out = String::from(
        "\
# Queue disciplines

This page lists all disciplines with their options, defaults and statistics. Names, options, units
and defaults are those of `tc`; an option that `tc` does not have says `not in tc`. `sojourn qdisc
list` and `sojourn qdisc explain NAME` print the same.

On a bridge each discipline also accepts `split-gso` or `no-split-gso`, which say whether
super-packets are cut before the queue ([bridge](bridge.md#super-packets)); `cake` accepts them
everywhere.

In the file of a scenario or of a bridge a `limit` (`memory_limit`, `memlimit`) may also be a time:
`limit 100ms` is the amount that the link, or a slower shaper before it, sends in 100 ms. In a
scenario it may also be a number of bandwidth-delay products, `limit 2bdp`. `sojourn check` shows
the result in packets (of a full frame) or bytes.

```text
",
    );
    out += &list();
    out += "```\n";
    for kind in catalogue() {
        let explained = [
            "\n## ",
            kind.name,
            "\n\n```text\n",
            &kind.explain(),
            "```\n",
        ];
        out.extend(explained);
    }
    out
}

#[test]
fn the_reference_is_up_to_date() {
    generated::file("docs/disciplines.md", &reference());
}
