//! `docs/disciplines.md` is made from the catalogue; this is the check that it still is.

use sojourn_qdisc::{catalogue, list};
use sojourn_tidy::generated;

fn reference() -> String {
    let mut out = String::from(
        "\
# Queue disciplines

This page lists all queue disciplines with their options, defaults and statistics, as
`sojourn qdisc list` and `sojourn qdisc explain NAME` print them. Names, options, units and defaults
are those of `tc`. An option that `tc` does not have is marked `not in tc`.

On a bridge, every discipline also accepts `split-gso` or `no-split-gso`: whether super-packets
(GSO) are split before the queue ([bridge](bridge.md#super-packets)). `cake` accepts these two
options everywhere.

In a scenario or in a bridge's file, a `limit` (`memory_limit`, `memlimit`) may also be a time:
`limit 100ms` is the amount of data that the link, or a slower shaper before it, sends in 100 ms. In
a scenario it may also be a number of bandwidth-delay products, `limit 2bdp`. `sojourn check` prints
the result in full-size packets or in bytes.

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
