//! The documents of the formats are current.

use sojourn_tidy::generated;

#[test]
fn the_schemas_are_current() {
    generated::file("docs/bridge.schema.json", &sojourn_service::bridge_schema());
    generated::file(
        "docs/subscribers.schema.json",
        &sojourn_service::subscribers_schema(),
    );
}

#[test]
fn the_reference_is_current() {
    let reference = sojourn_service::bridge_reference();
    generated::part("docs/bridge.md", "reference", &reference);
}
