//! `docs/disciplines.md` is made from the catalogue; this is the check that it still is.
//!
//!     SOJOURN_WRITE=1 cargo test -p sojourn-qdisc --test reference      writes it

use sojourn_qdisc::{catalogue, list};
use std::path::Path;

fn reference() -> String {
    let mut out = String::from(
        "# Queue disciplines\n\n\
         Names, options, units and defaults are those of `tc`; what is not in `tc` says so. Made \
         from the\ncatalogue in `crates/qdisc`, which `sojourn qdisc list` and `sojourn qdisc \
         explain NAME` print too.\n\n```text\n",
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
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/disciplines.md");
    if std::env::var_os("SOJOURN_WRITE").is_some() {
        std::fs::write(&path, reference()).expect("docs can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == reference(),
        "docs/disciplines.md is not what the catalogue says: run this test with SOJOURN_WRITE=1"
    );
}
