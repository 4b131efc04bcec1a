//! Each built-in study holds with one seed: what its claims ask for, or a mark with its bound.

mod common;

use common::sojourn;
use std::path::Path;

fn holds(study: &str) {
    // Away from the tree, so that it is the one the program carries.
    let output = sojourn(&["reproduce", study, "--quick"], Path::new("/"));
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}{errors}");
}

#[test]
fn adth_holds_quickly() {
    holds("adth");
}

#[test]
fn cake_holds_quickly() {
    holds("cake");
}

#[test]
fn codel_red_holds_quickly() {
    holds("codel-red");
}

#[test]
fn home_broadband_holds_quickly() {
    holds("home-broadband");
}

#[test]
fn l4s_holds_quickly() {
    holds("l4s");
}

#[test]
fn steering_holds_quickly() {
    holds("steering");
}
