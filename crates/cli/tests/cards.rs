//! The cards of all disciplines and congestion controls (`cards/`), and the gallery that sets them
//! side by side (`docs/cards.md`).
//!
//! Runs repeat bit for bit, so a card is held by equality: each runs a few of its cases again, and
//! together the cards run every case. `make cards` makes all of them anew (`SOJOURN_WRITE=1`);
//! `SOJOURN_WRITE=page` writes the gallery only.

mod common;

#[path = "cards/data.rs"]
mod data;
#[path = "cards/gallery.rs"]
mod gallery;

use data::{CardData, Subject};
use std::path::Path;
use std::sync::LazyLock;

/// Disciplines that are not what their name alone says, or need more than it. A shaper stands below
/// the line's 10 Mbit/s.
const QUEUES: &[(&str, &str)] = &[
    ("htb", "htb rate 9500kbit over fq_codel"),
    (
        "red",
        "red limit 400kb min 30kb max 90kb avpkt 1500 burst 30 adaptive bandwidth 10mbit",
    ),
    ("tbf", "tbf rate 9500kbit burst 5kb latency 50ms"),
];

/// What has a card, by the file's name and what is evaluated.
fn subjects(kind: Subject) -> Vec<(String, String)> {
    let queue = |name: &'static str| {
        let own = QUEUES.iter().find(|(other, _)| *other == name);
        (name, own.map_or(name, |(_, spec)| spec))
    };
    let listed: Vec<_> = match kind {
        Subject::Queue => {
            let all = sojourn_qdisc::catalogue();
            all.iter().map(|kind| queue(kind.name)).collect()
        }
        Subject::Control => {
            let all = sojourn_tcp::Algorithm::ALL;
            all.map(|control| (control.name(), control.name())).to_vec()
        }
    };
    let owned = |(name, spec): (&str, &str)| (name.to_owned(), spec.to_owned());
    listed.into_iter().map(owned).collect()
}

/// The cards of a kind as the tree has them, in the order of the catalogue. With `SOJOURN_WRITE=1`
/// they are made first.
fn cards(kind: Subject) -> &'static [CardData] {
    static ALL: LazyLock<[Vec<CardData>; 2]> = LazyLock::new(|| Subject::ALL.map(read));
    &ALL[kind as usize]
}

fn read(kind: Subject) -> Vec<CardData> {
    let read = |(name, spec): (String, String)| {
        if std::env::var_os(sojourn_tidy::generated::WRITE).is_some_and(|it| it == "1") {
            let card = CardData::run(kind, &name, &spec, &[]);
            std::fs::write(card.path(), card.text()).expect("the folder is there");
        }
        CardData::read(kind, &name, &spec).unwrap_or_else(|problem| panic!("{problem}"))
    };
    subjects(kind).into_iter().map(read).collect()
}

#[test]
fn every_discipline_and_every_control_has_a_card_and_no_other_has() {
    for kind in Subject::ALL {
        let mut known: Vec<_> = cards(kind).iter().map(CardData::path).collect();
        let folder = std::fs::read_dir(kind.folder()).expect("the folder is there");
        let mut found: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        known.sort();
        found.sort();
        assert_eq!(found, known, "cards of nothing that the program has");
    }
}

#[test]
fn a_missing_card_is_told_with_the_command_that_makes_it() {
    let told = CardData::read(Subject::Queue, "fq_new", "fq_new").expect_err("there is none");
    for part in ["cards/queue/fq_new.json", "make cards"] {
        assert!(told.contains(part), "{told}");
    }
    // An edited card is not what its digest says.
    let card = &cards(Subject::Queue)[0];
    let edited = card.text().replacen("\"utilization", "\"utilisation", 1);
    let told = CardData::parse(Path::new("x.json"), &edited).expect_err("it was edited");
    assert!(told.contains("digest"), "{told}");
}

#[test]
fn all_cards_have_the_cases_of_today() {
    for kind in Subject::ALL {
        let own = &cards(kind)[0];
        for card in cards(kind) {
            assert_eq!(card.cases(), own.cases(), "{}", card.path().display());
        }
    }
}

/// Each card runs a case again, and each case is run by a card.
#[test]
fn a_card_is_what_the_program_says() {
    for kind in Subject::ALL {
        let cards = cards(kind);
        let cases = cards[0].cases();
        for index in 0..cards.len().max(cases.len()) {
            let (card, case) = (&cards[index % cards.len()], &cases[index % cases.len()]);
            let now = CardData::run(kind, &card.name, &card.spec, &[case]);
            assert_eq!(
                now.case(case),
                card.case(case),
                "{}, case {case}: if the code is right, `make cards` makes all cards anew",
                card.path().display()
            );
        }
    }
}

#[test]
fn the_gallery_shows_the_cards() {
    let text = gallery::page(cards(Subject::Queue), cards(Subject::Control));
    sojourn_tidy::generated::file("docs/cards.md", &text);
}
