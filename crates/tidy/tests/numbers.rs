//! Figures that two documents show are the same in both.

use std::fs;

/// The figure before ` ns` in each row of the comparison's table of speed, and the simulator.
fn compared() -> Vec<(String, String)> {
    let path = sojourn_tidy::root().join("docs/comparison.md");
    let text = fs::read_to_string(path).expect("the repository has it");
    text.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" ns |"))
        .filter_map(|row| row.split_once(" | "))
        .map(|(name, figure)| (name.to_lowercase(), figure.to_owned()))
        .collect()
}

#[test]
fn the_comparison_shows_the_readme_s_speed() {
    let path = sojourn_tidy::root().join("README.md");
    let readme = fs::read_to_string(path).expect("the repository has it");
    let (_, speed) = readme.split_once("## Speed").expect("a section");
    // The rows of the first case: up to that of the next one.
    let (first, _) = speed.split_once("| 10 Gbit/s").expect("a second case");
    let rows = compared();
    assert_eq!(rows.len(), 3);
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
