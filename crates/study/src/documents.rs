//! The pages of studies in `docs/studies`: their tables of claims and reasons are the study files'.

use crate::claims::{Cells, Evaluator};
use crate::status::{Status, tally};
use crate::study::{Claim, Expected};
use crate::{Extent, Study};
use indexmap::{IndexMap, IndexSet};
use sojourn_scenario::Options;
use sojourn_tidy::generated;
use sojourn_world::WorldName;

static WORLDS: [(WorldName, &str); 2] = [
    (WorldName::new("sim"), "simulated"),
    (WorldName::new("live"), "live"),
];

pub(crate) fn load(name: &str) -> Study {
    let worlds = [0, 1].map(|index: usize| WORLDS[index].0.clone());
    let study = Study::load(name, &Options::default(), &worlds);
    study.unwrap_or_else(|problems| panic!("{problems}"))
}

/// The worlds that the study has a scenario for.
fn worlds(study: &Study) -> Vec<&'static (WorldName, &'static str)> {
    let has = |world| {
        study
            .settings
            .iter()
            .any(|s| s.scenarios.get(world).is_some())
    };
    WORLDS.iter().filter(|(world, _)| has(world)).collect()
}

/// A row of a table.
fn row(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// How many claims have which verdict, then each claim and what is recorded of it in each world.
fn claims(study: &Study) -> String {
    let worlds = worlds(study);
    let mut titles = vec!["claim".to_owned(), "finding".to_owned()];
    titles.push("published".to_owned());
    titles.extend(worlds.iter().map(|(_, title)| (*title).to_owned()));
    let rule = vec!["---".to_owned(); titles.len()];
    let mut rows = vec![row(&titles), row(&rule)];
    for claim in &study.claims {
        let statement = claim.statement.replace('|', "\\|");
        let published = claim.published.replace('|', "\\|");
        let id = if claim.own {
            format!("{} (ours)", claim.id)
        } else {
            claim.id.clone()
        };
        let mut cells = vec![id, statement, published];
        cells.extend(
            worlds
                .iter()
                .map(|(world, _)| expected(study, claim, world)),
        );
        rows.push(row(&cells));
    }
    format!("{}\n\n{}", headline(study), rows.join("\n"))
}

/// What the study records of a claim in a world, by the seeds that its scenario has there.
fn expected(study: &Study, claim: &Claim, world: &WorldName) -> String {
    match recorded(study, claim, world) {
        (Status::NotJudged, why) => format!("not judged: {why}"),
        (status, checks) if checks.is_empty() => status.title().to_owned(),
        (status, checks) => format!("**{}** ({checks})", status.title()),
    }
}

/// The verdict, and of how many checks it is or why there is none.
fn recorded(study: &Study, claim: &Claim, world: &WorldName) -> (Status, String) {
    let none = || (Status::NotJudged, "no such cells".to_owned());
    let Some(scenario) = study.settings[claim.setting].scenarios.get(world) else {
        return none();
    };
    if !claim.finds(scenario, &study.words) {
        return none();
    }
    let seeds = Evaluator::new(&study.words, &Cells::planned(&scenario.cells)).seeds();
    if !claim.worlds.is_empty() && !claim.worlds.contains(world) {
        return (Status::NotJudged, "not in this world".to_owned());
    }
    if seeds < claim.seeds {
        let said = format!("{} of {} seeds", seeds, claim.seeds);
        return (Status::NotJudged, said);
    }
    let of = |check: &Expected| {
        let mut marks = check.marks.iter();
        let mark = marks.find(|mark| mark.applies(world));
        mark.map_or(Status::Published, |mark| mark.cause.status())
    };
    let checks = claim.checks.iter().map(of);
    let worst = checks.clone().max().unwrap_or(Status::Published);
    let count = checks.clone().filter(|status| *status == worst).count();
    let said = if count == checks.len() {
        String::new()
    } else {
        format!("{count} of {} checks", checks.len())
    };
    (worst, said)
}

/// How many claims have which verdict, in a world.
fn headline(study: &Study) -> String {
    let line = |(world, title): &(WorldName, &str)| {
        let all: Vec<(Status, bool)> = study
            .claims
            .iter()
            .map(|claim| (recorded(study, claim, world).0, claim.own))
            .collect();
        let counts = tally(&all).into_iter();
        counts
            .map(|it| format!("- {title}, {it}"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let worlds = worlds(study).into_iter();
    worlds.map(line).collect::<Vec<_>>().join("\n")
}

/// Why claims deviate, each reason once: the claims that share it, what it is put down to, how far
/// it may go, and what a reference says.
fn reasons(study: &Study) -> String {
    let mut reasons: IndexMap<String, IndexSet<String>> = IndexMap::new();
    for claim in &study.claims {
        for mark in claim.checks.iter().flat_map(|check| &check.marks) {
            let titles = WORLDS
                .iter()
                .filter(|(world, _)| mark.worlds.contains(world));
            let mut place = vec![claim.id.clone()];
            place.extend(titles.map(|(_, title)| (*title).to_owned()));
            let says = match &mark.reference {
                Some(reference) => format!(" *Reference:* {reference}"),
                None => String::new(),
            };
            let up_to = match &mark.bound {
                Some(bound) => format!(" Accepted: `{bound}`."),
                None => String::new(),
            };
            let status = mark.cause.status().title();
            let reason = format!("*{status}.* {}{up_to}{says}", mark.why);
            let places = reasons.entry(reason).or_default();
            places.insert(place.join(", "));
        }
    }
    let line = |(reason, places): (String, IndexSet<String>)| {
        let places: Vec<String> = places.into_iter().collect();
        format!("- **{}**: {reason}\n", places.join("; "))
    };
    reasons.into_iter().map(line).collect()
}

pub(crate) const NAMES: [&str; 6] = [
    "adth",
    "cake",
    "codel-red",
    "home-broadband",
    "l4s",
    "steering",
];

#[test]
fn the_pages_of_studies_are_current() {
    for name in NAMES {
        let study = load(name);
        let page = format!("docs/studies/{name}.md");
        generated::part(&page, "claims", &claims(&study));
        generated::part(&page, "deviations", &reasons(&study));
    }
}

/// How many runs `sojourn reproduce NAME` has in the simulator, and how many seconds they simulate.
fn effort(name: &str, seeds: Option<u64>, ids: &[String], quick: bool) -> (usize, u64) {
    let options = Options {
        seeds: seeds.or(quick.then_some(1)),
        ..Options::default()
    };
    let worlds = [0, 1].map(|index: usize| WORLDS[index].0.clone());
    let study =
        Study::load(name, &options, &worlds).unwrap_or_else(|problems| panic!("{problems}"));
    let extent = if quick { Extent::Quick } else { Extent::Usual };
    let choice = study.choose(ids, extent).expect("the page names claims");
    let cells = study.runs(&choice, &worlds[0]).cells;
    let simulated = cells
        .iter()
        .map(|cell| cell.duration.as_nanos() / 1_000_000_000);
    (cells.len(), simulated.sum())
}

/// The page of a study, each white space one blank.
fn page(name: &str) -> String {
    let file = sojourn_tidy::root().join(format!("docs/studies/{name}.md"));
    let text = std::fs::read_to_string(file).expect("each study has a page");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A number as the pages write it: `7200`, `40 140`.
fn grouped(number: u64) -> String {
    match number {
        0..10_000 => number.to_string(),
        _ => format!("{} {:03}", number / 1000, number % 1000),
    }
}

#[test]
fn pages_say_how_many_runs_their_study_has() {
    for name in ["adth", "cake", "codel-red", "home-broadband", "steering"] {
        let (text, of) = (page(name), |quick| effort(name, None, &[], quick).0);
        // What takes hours of Steering is run on request.
        let whole = match name {
            "steering" => "`sojourn reproduce steering`",
            _ => "The whole study",
        };
        for said in [
            format!("{whole} ({} runs)", of(false)),
            format!("`--quick` (one seed, {} runs)", of(true)),
        ] {
            assert!(text.contains(&said), "docs/studies/{name}.md lacks: {said}");
        }
    }
}

#[test]
fn the_page_of_steering_says_how_many_runs_its_claims_take() {
    let text = page("steering");
    let mut seen = 0;
    for row in text.split("| ").filter(|cell| cell.contains("`--claims ")) {
        let (_, ids) = row.split_once("`--claims ").expect("filtered");
        let (ids, _) = ids.split_once('`').expect("code ends");
        let ids: Vec<String> = ids.split(',').map(str::to_owned).collect();
        let said = ["one seed", "three seeds", "ten seeds"].map(|seeds| {
            let number = match seeds {
                "one seed" => 1,
                "three seeds" => 3,
                _ => 10,
            };
            let (runs, simulated) = effort("steering", Some(number), &ids, false);
            format!("| {row}| {seeds}: {runs} runs, {} s |", grouped(simulated))
        });
        let right = said.iter().any(|said| text.contains(said));
        assert!(right, "one of these would be right:\n{}", said.join("\n"));
        seen += 1;
    }
    assert_eq!(seen, 2, "rows with claims");
}

#[test]
fn each_statement_of_a_paper_says_where_it_stands() {
    let names = ["figure", "table", "section", "algorithm"];
    for name in NAMES.into_iter().filter(|name| *name != "l4s") {
        for claim in load(name).claims.iter().filter(|claim| !claim.own) {
            let said = format!("{} {}", claim.statement, claim.published).to_lowercase();
            let says = names.iter().any(|place| said.contains(place));
            assert!(says, "{name}, {}: in which section or figure?", claim.id);
        }
    }
}

/// What a check allows. "About" is 15 % each way, also where the bound is a reference's.
fn tolerance(text: &str) -> Option<f64> {
    let (_, said) = text.rsplit_once(" within ")?;
    let number = said.strip_suffix('%').expect("tolerances are in per cent");
    Some(number.parse().expect("a number"))
}

#[test]
fn no_tolerance_of_a_paper_s_claims_is_wider_than_about() {
    // Two counts of few flows, whose errors are computed beside claim C1.
    let counted = [
        "shared_plain[n=64] ~ 3.015% within 30%",
        "shared_ways[n=512] ~ 0.8175% within 20%",
    ];
    let mut seen = 0;
    for name in NAMES.into_iter().filter(|name| *name != "l4s") {
        for check in load(name).claims.iter().flat_map(|claim| &claim.checks) {
            let bounds = check.marks.iter().filter_map(|mark| mark.bound.as_deref());
            for text in std::iter::once(check.text.as_str()).chain(bounds) {
                let wide = tolerance(text).is_some_and(|percent| percent > 15.0);
                seen += usize::from(tolerance(text).is_some());
                assert!(!wide || counted.contains(&text), "{name}: {text}");
            }
        }
    }
    assert!(seen > 80, "only {seen} tolerances were found");
}
