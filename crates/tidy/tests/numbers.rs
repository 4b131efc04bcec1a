//! Figures that two documents show are the same in both, and counts those of what they count.

use std::fs;

fn read(path: &str) -> String {
    fs::read_to_string(sojourn_tidy::root().join(path)).expect("the repository has it")
}

/// The figure before ` ns` in each row of the comparison's table of speed, and the simulator.
fn compared() -> Vec<(String, String)> {
    read("docs/comparison.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" ns |"))
        .filter_map(|row| row.split_once(" | "))
        .map(|(name, figure)| (name.to_lowercase(), figure.to_owned()))
        .collect()
}

#[test]
fn the_comparison_shows_the_readme_s_speed() {
    let readme = read("README.md");
    let (_, speed) = readme.split_once("## Speed").expect("a section");
    // The rows of the first case: up to that of the next one.
    let (first, _) = speed.split_once("| 10 Gbit/s").expect("a second case");
    let rows = compared();
    assert_eq!(rows.len(), 4);
    for (name, figure) in rows {
        let (name, _) = name.split_once('(').unwrap_or((&name, ""));
        let row = first
            .lines()
            .find(|line| line.contains(&format!("| {}", name.trim_end())))
            .unwrap_or_else(|| panic!("README.md has no row of {name}"));
        assert!(
            row.contains(&format!("| {figure} |")),
            "docs/comparison.md says {figure} ns of {name}; README.md says\n{row}"
        );
    }
}

#[test]
fn the_benchmarks_count_the_cases_of_cards() {
    let text = read("docs/benchmarks.md");
    for (of, folder) in [("queue", "queue"), ("control", "control")] {
        let folder = sojourn_tidy::root().join("scenarios/evaluate").join(folder);
        let cases = fs::read_dir(folder).expect("the repository has it").count();
        let said = format!("a card of a {of}, {cases} cases");
        assert!(text.contains(&said), "docs/benchmarks.md: {said}");
    }
}

#[test]
fn the_page_of_the_hunt_counts_the_planted_faults() {
    let code = read("crates/hunt/tests/planted/faults.rs");
    let faults = code.matches("fault(\n").count();
    let said = format!("plants {faults} historical bugs");
    assert!(read("docs/hunt.md").contains(&said), "docs/hunt.md: {said}");
}
