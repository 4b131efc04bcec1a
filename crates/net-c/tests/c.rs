//! The header and the library as C has them: the example with ngtcp2 is compiled and run, and what
//! is wrong is told.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder that has the shared library, which is built with this test.
fn library() -> PathBuf {
    let own = env::current_exe().expect("a test has a file");
    let folder = own.parent().expect("it is in a folder").to_owned();
    assert!(
        folder.join("libsojourn_net_c.so").is_file(),
        "{}: no libsojourn_net_c.so",
        folder.display()
    );
    folder
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles these files, strictly, and runs the program with the words.
fn ran(dir: &Path, files: &[PathBuf], libraries: &[&str], words: &[&str]) -> Output {
    let (library, program) = (library(), dir.join("program"));
    let compiled = Command::new("cc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-O1",
        ])
        .args(files)
        .args(["-I", "include", "-I", "stacks", "-L"])
        .arg(&library)
        .arg("-lsojourn_net_c")
        .args(libraries)
        .arg("-o")
        .arg(&program)
        .current_dir(here())
        .output()
        .expect("there is a compiler for C");
    assert!(compiled.status.success(), "{compiled:?}");
    Command::new(&program)
        .args(words)
        .env("LD_LIBRARY_PATH", &library)
        .current_dir(here())
        .output()
        .expect("it starts")
}

#[test]
fn quic_of_ngtcp2_goes_through_and_repeats_whatever_keys_it_draws() {
    let dir = tempfile::tempdir().expect("a folder");
    let files = ["examples/quic.c", "stacks/ngtcp2.c"].map(PathBuf::from);
    let libraries = ["-lngtcp2_crypto_gnutls", "-lngtcp2", "-lgnutls"];
    let run = || {
        let output = ran(dir.path(), &files, &libraries, &["../net/tests/data"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("it is text")
    };
    let text = run();
    let mbit = |line: &str| -> f64 {
        let words: Vec<_> = line.split_whitespace().collect();
        let at = words.iter().position(|word| *word == "quic");
        let number = words[at.expect("its share") + 1];
        number.parse().expect("a number")
    };
    let shares: Vec<_> = text.lines().map(mbit).collect();
    assert_eq!(shares.len(), 3, "{text}");
    // Half of 20 Mbit/s under fair queueing, and a share of it elsewhere.
    assert!((7.0..11.0).contains(&shares[0]), "{text}");
    assert!(shares.iter().all(|share| *share > 3.0), "{text}");
    assert_eq!(run(), text);
}

#[test]
fn the_example_is_short() {
    let text = std::fs::read_to_string(here().join("examples/quic.c")).expect("it is there");
    assert!(text.lines().count() <= 60);
}

#[test]
fn a_copied_run_goes_on_alike_and_packets_are_captured() {
    let dir = tempfile::tempdir().expect("a folder");
    let capture = dir.path().join("run.pcapng");
    let words = [capture.to_str().expect("a plain path")];
    let output = ran(dir.path(), &[PathBuf::from("tests/fork.c")], &[], &words);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("it is text");
    let lines: Vec<_> = text.lines().collect();
    // A round trip each 40 ms, but for what is lost.
    let heard: u32 = lines[0].split(' ').next().unwrap().parse().expect(&text);
    assert!((60..=100).contains(&heard), "{text}");
    assert!(lines.len() == 2 && lines[0] == lines[1], "{text}");
    let bytes = std::fs::read(capture).expect("it was written");
    assert_eq!(bytes[..4], 0x0a0d_0d0a_u32.to_ne_bytes());
    assert!(bytes.len() > 500_000, "{} bytes", bytes.len());
}

#[test]
fn what_is_wrong_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let output = ran(dir.path(), &[PathBuf::from("tests/wrong.c")], &[], &[]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stdout);
    for part in [
        "fq_codel",
        "no flow `none`",
        "all 1 instances",
        "a text is NULL",
        "the network is NULL",
        "the stack at the `from` end of flow `outside` cannot be copied: its `fork` is NULL",
        "no stack of the network has this self",
        "nothing was recorded",
        "/none/of.pcapng",
        "must be later",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
