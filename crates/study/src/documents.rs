//! The pages of studies in `docs/studies`: their tables of claims and reasons are the study files'.

use crate::Study;
use crate::study::{Claim, Expected};
use indexmap::{IndexMap, IndexSet};
use sojourn_scenario::Options;
use sojourn_tidy::generated;
use sojourn_world::WorldName;

static WORLDS: [(WorldName, &str); 2] = [
    (WorldName::new("sim"), "simulated"),
    (WorldName::new("live"), "live"),
];

fn load(name: &str) -> Study {
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

/// Each claim, and what is expected of it in each world.
fn claims(study: &Study) -> String {
    let worlds = worlds(study);
    let mut titles = vec!["claim".to_owned(), "finding".to_owned()];
    titles.extend(worlds.iter().map(|(_, title)| (*title).to_owned()));
    let rule = vec!["---".to_owned(); titles.len()];
    let mut rows = vec![row(&titles), row(&rule)];
    for claim in &study.claims {
        let statement = claim.statement.replace('|', "\\|");
        let mut cells = vec![claim.id.clone(), statement];
        cells.extend(
            worlds
                .iter()
                .map(|(world, _)| expected(study, claim, world)),
        );
        rows.push(row(&cells));
    }
    rows.join("\n")
}

/// Whether a claim must hold in a world, or is marked. A mark for few seeds alone counts as none.
fn expected(study: &Study, claim: &Claim, world: &WorldName) -> String {
    let scenario = study.settings[claim.setting].scenarios.get(world);
    if !scenario.is_some_and(|scenario| claim.finds(scenario, &study.words)) {
        return "not run".to_owned();
    }
    let known = |check: &&Expected| {
        let mut marks = check.marks.iter();
        marks.any(|mark| mark.applies(world, usize::MAX))
    };
    let checks = claim.checks.len();
    match claim.checks.iter().filter(known).count() {
        0 => "holds".to_owned(),
        known if known == checks => "marked".to_owned(),
        known => format!("{known} of {checks} checks marked"),
    }
}

/// Why claims deviate, each reason once: the claims that share it, what it is for, how far it may
/// go, and what a reference says.
fn reasons(study: &Study) -> String {
    let mut reasons: IndexMap<String, IndexSet<String>> = IndexMap::new();
    for claim in &study.claims {
        for mark in claim.checks.iter().flat_map(|check| &check.marks) {
            let titles = WORLDS
                .iter()
                .filter(|(world, _)| mark.worlds.contains(world));
            let mut place = vec![claim.id.clone()];
            place.extend(titles.map(|(_, title)| (*title).to_owned()));
            place.extend(Some(mark.condition()).filter(|condition| !condition.is_empty()));
            let says = match &mark.reference {
                Some(reference) => format!(" *Reference:* {}", reference.says),
                None => String::new(),
            };
            let reason = format!("{} Up to: `{}`.{says}", mark.why, mark.bound);
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

#[test]
fn the_pages_of_studies_are_current() {
    for name in ["adth", "cake", "codel-red", "home-broadband", "steering"] {
        let study = load(name);
        let page = format!("docs/studies/{name}.md");
        generated::part(&page, "claims", &claims(&study));
        generated::part(&page, "deviations", &reasons(&study));
    }
}
