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

/// Whether a claim must hold in a world, or is marked.
fn expected(study: &Study, claim: &Claim, world: &WorldName) -> String {
    let scenario = study.settings[claim.setting].scenarios.get(world);
    if !scenario.is_some_and(|scenario| claim.finds(scenario, &study.words)) {
        return "not run".to_owned();
    }
    let all = claim.deviations.get(world).is_some();
    let known = |check: &&Expected| all || check.deviations.get(world).is_some();
    let checks = claim.checks.len();
    match claim.checks.iter().filter(known).count() {
        0 => "holds".to_owned(),
        known if known == checks => "marked".to_owned(),
        known => format!("{known} of {checks} checks marked"),
    }
}

/// Why claims deviate, each reason once: the claims that share it, and the worlds it is for.
fn reasons(study: &Study) -> String {
    let worlds = worlds(study);
    let mut reasons: IndexMap<&str, IndexSet<String>> = IndexMap::new();
    for claim in &study.claims {
        let own = std::iter::once(&claim.deviations);
        for deviations in own.chain(claim.checks.iter().map(|check| &check.deviations)) {
            let mut shared: IndexMap<&str, Vec<&str>> = IndexMap::new();
            for (world, title) in &worlds {
                if let Some(reason) = deviations.get(world) {
                    shared.entry(reason).or_default().push(title);
                }
            }
            for (reason, titles) in shared {
                let everywhere = titles.len() == worlds.len();
                let titles = if everywhere {
                    vec![]
                } else {
                    vec![titles.join(", ")]
                };
                let place = [vec![claim.id.clone()], titles].concat().join(", ");
                reasons.entry(reason).or_default().insert(place);
            }
        }
    }
    let line = |(reason, places): (&str, IndexSet<String>)| {
        let places: Vec<String> = places.into_iter().collect();
        format!("- **{}**: {reason}\n", places.join(", "))
    };
    reasons.into_iter().map(line).collect()
}

#[test]
fn the_pages_of_studies_are_current() {
    for name in ["cake", "codel-red", "home-broadband", "steering"] {
        let study = load(name);
        let page = format!("docs/studies/{name}.md");
        generated::part(&page, "claims", &claims(&study));
        generated::part(&page, "deviations", &reasons(&study));
    }
}
