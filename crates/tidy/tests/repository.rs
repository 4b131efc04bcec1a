//! The house rules over this repository.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;
use sojourn_tidy::edges::{self, Edges};
use sojourn_tidy::purity::{self, PURE};
use sojourn_tidy::text;
use sojourn_tidy::{
    Finding, Source, bindings, circles, docs, expect_none, modules, packages, root, sources,
};
use sojourn_tidy::{prose, release};

fn for_each(rule: impl Fn(&Source) -> Vec<Finding>) {
    expect_none(&sources(&root()).iter().flat_map(rule).collect::<Vec<_>>());
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .expect("cargo started this test, so it can be started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

fn cargo_edges() -> Edges {
    edges::actual(&metadata())
}

fn architecture() -> Source {
    let path = "ARCHITECTURE.md";
    let text = std::fs::read_to_string(root().join(path)).expect("the repository has it");
    Source::new(path, &text)
}

#[test]
fn crates_depend_on_each_other_as_the_architecture_says() {
    let documented = edges::documented(&architecture()).unwrap_or_else(|e| panic!("{e}"));
    expect_none(&edges::compare(&documented, &cargo_edges(), &PURE));
}

#[test]
fn the_program_for_gateways_has_no_test_bed() {
    let test_bed = [
        "sim", "world", "tcp", "apps", "radio", "live", "kernel", "scenario", "study", "report",
        "parquet",
    ];
    expect_none(&edges::unwanted(&cargo_edges(), "gateway", &test_bed));
}

#[test]
fn declared_dependencies_are_used() {
    expect_none(&edges::unused(&cargo_edges(), &sources(&root())));
}

#[test]
fn every_crate_is_on_the_code_map() {
    let crates: Vec<String> = cargo_edges().into_keys().collect();
    expect_none(&docs::code_map(&architecture(), &crates));
}

/// Crates with their features, as cargo would build them for these packages.
fn built(packages: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--offline",
            "--prefix",
            "none",
            "--format",
            "{p} {f}",
        ])
        .args(packages)
        .current_dir(root())
        .output()
        .expect("cargo started this test, so it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let lines = String::from_utf8(output.stdout).expect("names are text");
    lines
        .lines()
        .map(|line| line.trim_end_matches(" (*)").trim_end().to_owned())
        .collect()
}

/// Else `make python` would build all below it once more, which takes minutes. `worlds` has but
/// the names there, on purpose.
#[test]
fn the_python_package_links_what_tests_have_built() {
    let tested = built(&["--workspace", "--edges", "normal,build,dev"]);
    let package = built(&["--package", "sojourn-python", "--edges", "normal,build"]);
    let finding = |other: &String| {
        let problem = format!("`{other}` has other features in the workspace's tests");
        let instead = "enable those in crates/python/Cargo.toml too";
        Finding::new("crates/python/Cargo.toml", 0, problem, instead)
    };
    let other = package
        .difference(&tested)
        .filter(|line| !line.starts_with("sojourn-worlds "));
    expect_none(&other.map(finding).collect::<Vec<_>>());
}

#[test]
fn crates_are_ready_for_their_registry() {
    expect_none(&packages::lacking(&metadata(), &root()));
    for_each(packages::included);
}

#[test]
fn deterministic_crates_know_no_machine() {
    for_each(purity::machine);
}

#[test]
fn crates_say_what_they_are() {
    for_each(purity::crate_roots);
}

#[test]
fn every_file_is_compiled() {
    let sources = sources(&root());
    expect_none(&modules::orphans(&sources));
    expect_none(&modules::tests_that_never_run(&sources));
}

#[test]
fn files_can_be_read_alone() {
    expect_none(&circles::circles(&sources(&root())));
}

#[test]
fn a_name_has_one_value() {
    for_each(bindings::bound_twice);
}

#[test]
fn parameters_are_no_tuples() {
    for_each(bindings::tuple_parameters);
}

#[test]
fn files_are_short() {
    for_each(text::file_length);
}

#[test]
fn lines_are_short() {
    for_each(text::line_length);
}

#[test]
fn nothing_is_left_unfinished() {
    for_each(text::unfinished);
}

#[test]
fn whitespace_is_clean() {
    for_each(text::whitespace);
}

#[test]
fn scenarios_and_studies_name_their_schema() {
    for_each(docs::schema_line);
}

#[test]
fn links_in_documents_resolve() {
    let root = root();
    for_each(|source| docs::links(source, &root));
}

#[test]
fn scenarios_that_are_named_exist() {
    let root = root();
    for_each(|source| docs::scenarios(source, &root));
}

#[test]
fn test_programs_that_are_named_exist() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("cargo lists them");
    let targets = packages
        .iter()
        .filter_map(|package| package["targets"].as_array())
        .flatten();
    let programs = targets
        .filter(|target| target["kind"][0] == "test")
        .filter_map(|target| target["name"].as_str().map(str::to_owned))
        .collect();
    for_each(|source| docs::tests(source, &programs));
}

#[test]
fn documents_have_short_sentences_and_lines() {
    for_each(prose::long_sentences);
    for_each(prose::long_lines);
}

#[test]
fn documents_have_words_of_today() {
    for_each(prose::unplain_words);
    for_each(prose::unplain_comments);
    for_each(prose::negated_nouns);
    for_each(prose::bare_subjects);
    for_each(prose::american_spellings);
}

#[test]
fn a_release_is_named_alike_everywhere() {
    expect_none(&release::differing(&root()));
}
