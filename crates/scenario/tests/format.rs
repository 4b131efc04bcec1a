//! The documents of the format are current, and no input breaks the loader.

mod common;

use common::{GOOD, parse};
use proptest::prelude::*;
use sojourn_tidy::generated;
use std::path::Path;

#[test]
fn the_schema_is_current() {
    generated::file("docs/scenario.schema.json", &sojourn_scenario::schema());
}

#[test]
fn the_reference_is_current() {
    generated::part(
        "docs/scenario.md",
        "reference",
        &sojourn_scenario::reference(),
    );
}

#[test]
fn the_examples_of_the_guide_are_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    let guide = std::fs::read_to_string(path).unwrap();
    let whole = guide.split("```toml\n").skip(1).filter_map(|block| {
        let example = block.split("```").next()?;
        example.starts_with("format").then_some(example)
    });
    let mut count = 0;
    for example in whole {
        count += 1;
        if let Err(problems) = parse(example, &[]) {
            panic!("{problems}");
        }
    }
    assert!(count >= 2, "{count} whole examples");
}

/// A piece of the good scenario, or of something else.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(GOOD.split_inclusive(['\n', ' ', '"']).collect::<Vec<_>>())
            .prop_map(str::to_owned),
        prop::sample::select(vec![
            "[sweep]\n",
            "[[sweep.zip]]\n",
            "[[link]]\n",
            "[[node]]\n",
            "[tcp]\n",
            "name = ",
            "[1, 2]",
            "{ }",
            "1e308",
            "-1",
            "\"\\u00e9%\"",
            "dumbbell.qdisc = [\"pfifo limit é\"]\n",
            "count = 10000\n",
            "seeds = ",
            "99999999999999999999",
            "'''\n",
            "nan",
            "1979-05-27",
        ])
        .prop_map(str::to_owned),
        ".{0,6}",
    ]
}

proptest! {
    #[test]
    fn no_text_panics_the_loader(text in ".{0,200}", set in ".{0,40}") {
        let _ = parse(&text, &[&set]).map_err(|problems| problems.to_string());
    }

    #[test]
    fn no_shuffled_scenario_panics_the_loader(pieces in prop::collection::vec(piece(), 0..60)) {
        let _ = parse(&pieces.concat(), &[]).map_err(|problems| problems.to_string());
    }

    #[test]
    fn no_cut_or_damaged_scenario_panics_the_loader(
        at in 0..GOOD.len(),
        cut in 0..40_usize,
        with in piece(),
        set in piece(),
    ) {
        // The good scenario is ASCII: every byte is a boundary.
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{with}{}", &GOOD[..at], &GOOD[end..]);
        let set = format!("dumbbell.{set}");
        let _ = parse(&text, &[&set]).map_err(|problems| problems.to_string());
    }
}
