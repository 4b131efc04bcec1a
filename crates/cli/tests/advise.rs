//! `sojourn advise` says which queue and rate, and shows where that comes from.

mod common;

use common::sojourn;

/// A slow line, so that the test is quick.
const LINE: [&str; 3] = ["advise", "4/1", "20ms"];

#[test]
fn an_advice_has_its_page_and_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let output = sojourn(
        &[&LINE[..], &["--out", "out", "--wan", "wan0"]].concat(),
        dir,
    );
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let sentences: Vec<&str> = shown.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(sentences.len(), 3, "{shown}");
    // A modem's buffer of 200 ms calls for a shaper below the line's rate, with flow queues.
    let which = sentences[0];
    assert!(
        which.starts_with("Use cake at ") || which.starts_with("Use fq_"),
        "{which}"
    );
    assert!(!which.contains("100 %"), "{which}");
    for part in [
        "no shaper",
        "tc qdisc replace dev wan0 root",
        "redirect dev ifb-wan0",
        "option interface 'wan0'",
        "out/report.html",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let page = std::fs::read_to_string(dir.join("out/report.html")).unwrap();
    let (advice, _) = which.split_once(':').expect("rates follow");
    assert!(page.contains(advice), "the page has the advice");
    // The scenario beside it gives the same runs.
    let print = sojourn(&[&LINE[..], &["--print-scenario"]].concat(), dir);
    let scenario = std::fs::read_to_string(dir.join("out/advice.toml")).unwrap();
    assert_eq!(String::from_utf8_lossy(&print.stdout), scenario);
    let check = sojourn(&["check", "out/advice.toml"], dir);
    assert!(check.status.success(), "{check:?}");
    // Others' results stay.
    std::fs::write(dir.join("out/summary.json"), "{}").unwrap();
    let again = sojourn(&[&LINE[..], &["--out", "out"]].concat(), dir);
    assert_eq!(again.status.code(), Some(2), "{again:?}");
}

#[test]
fn what_is_no_line_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    std::fs::write(dir.join("a.json"), "{}").unwrap();
    for (arguments, part) in [
        (&["50", "25ms"][..], "`50` is one rate"),
        (&["50/10"], "<RTT>"),
        (&["50/10", "25"], "needs a unit"),
        (&["50/10", "25s"], "must be from 100us to 2s"),
        (&["50/0", "25ms"], "`0` is not a possible rate"),
        (
            &["50/10", "25ms", "--wan", "eth0; reboot"],
            "is not an interface name",
        ),
        (&["50/10", "25ms", "--fit", "a.json"], "cannot be used with"),
        (&["--fit", "a.json"], "a.json: is not a Flent data file"),
        (&["--fit", "missing.pcap"], "missing.pcap: No such file"),
    ] {
        let output = sojourn(&[&["advise"], arguments].concat(), dir);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}
