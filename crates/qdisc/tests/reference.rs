//! `docs/disciplines.md` is made from the catalogue; this is the check that it still is.

use sojourn_qdisc::{catalogue, list};
use sojourn_tidy::generated;

fn reference() -> String {
    let mut out = String::from(
        "# Queue disciplines\n\n\
         Names, options, units and defaults are those of `tc`; what is not in `tc` says so. Made \
         from the\ncatalogue in `crates/qdisc`, which `sojourn qdisc list` and `sojourn qdisc \
         explain NAME` print too.\n\nBefore the queues of a bridge each also takes \
         `split-gso` or `no-split-gso`, which say whether\nsuper-packets are cut before it \
         ([bridge](bridge.md#super-packets)); cake has them everywhere.\n\nIn the file of a \
         scenario or of a bridge a `limit` (`memory_limit`, `memlimit`) may also be a time,\n\
         `limit 100ms`: what the link sends in it, or behind a slower shaper what that sends. In \
         a scenario\nalso a number of bandwidth-delay products, `limit 2bdp`. The queue has it in \
         packets (of a full\nframe) or bytes, as `sojourn check` shows.\n\n```text\n",
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
