//! A queue beside those that a study compares.

use super::{SIM, parse, study};
use sojourn_study::NoPlace;

const CLAIM: &str = "id = \"X\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\nseeds = 1\n\
                     check = [\"for aqm: link.utilisation > 0\"]\n";

#[test]
fn another_queue_has_runs_behind_the_studys_own() {
    let before = parse(&study(CLAIM)).expect("it is right");
    let spec = "pie limit 50".parse().expect("it is one");
    let after = before.clone().with_queue(&spec).expect("it has a place");
    let text = spec.to_string();
    assert_eq!(after.another_queue(), Some(&*text));
    let [old, new] = [&before, &after].map(|study| study.settings[0].scenario());
    let (kept, added) = new.cells.split_at(old.cells.len());
    assert_eq!(kept, old.cells);
    assert_eq!(added.len(), kept.len() / 2, "one more queue beside two");
    for (cell, own) in added.iter().zip(kept) {
        assert_eq!(
            cell.params,
            [("dumbbell.up.qdisc".to_owned(), text.clone())]
        );
        assert_eq!(cell.seed, own.seed);
    }
    let axis = &new.info.axes[0];
    assert_eq!(axis.values, ["codel", "pfifo limit 100", &*text]);
    assert!(after.testable(&[0], &SIM) == [0]);
}

#[test]
fn a_queue_without_a_place_is_refused() {
    let here = parse(&study(CLAIM)).expect("it is right");
    // The same queue in other words.
    let known = "pfifo limit 100p".parse().expect("it is one");
    let refused = here.clone().with_queue(&known).expect_err("it is there");
    assert_eq!(
        refused.to_string(),
        "small has the queue `pfifo limit 100` already, as `fifo`"
    );
    let one = study(
        "id = \"X\"\nsetting = \"A\"\nstatement = \"s\"\npublished = \"p\"\ncheck = [\"1 < 2\"]",
    )
    .replace("fifo.\"dumbbell.up.qdisc\" = \"pfifo limit 100\"\n", "");
    let scenario = super::SCENARIO.replace("[\"codel\", \"pfifo limit 100\"]", "[\"codel\"]");
    let alone = super::read(&[("study.toml", &one), ("a.toml", &scenario)]).expect("it is right");
    let refused = alone.with_queue(&known).expect_err("nothing is compared");
    assert!(matches!(refused, NoPlace::Nowhere(_)), "{refused}");
    assert!(refused.to_string().starts_with("small compares no queues"));
}
