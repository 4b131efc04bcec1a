//! Builds with programs that stand for the real ones, which would take their minutes: what `tar`
//! unpacks is a source with the places that the recipe changes, `make` makes a kernel that says its
//! version, and each can be told to go on for ever, with half of its work done.
#![allow(clippy::disallowed_methods, reason = "patience is in real time")]

use super::*;
use crate::recipe::{Tick, Version};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Child;
use std::time::Instant;

/// Where the child of a test finds its folder.
const FAKE: &str = "SOJOURN_TEST_BUILD";
/// Each program as text for the shell.
const TOOLS: [(&str, &str); 4] = [
    ("apt-get", "echo half > source.deb; stage fetch"),
    (
        "dpkg-deb",
        "mkdir -p package; echo half > package/x; stage open",
    ),
    (
        "tar",
        "for version in 6.1 6.12 7.3; do mkdir linux-source-$version; stage unpack
         cp -r \"$FAKE/$version/.\" linux-source-$version; done",
    ),
    (
        "make",
        "for target in \"$@\"; do :; done
         case $target in
         allnoconfig) echo CONFIG_64BIT=y > $2/.config; stage configure; cp settings $2/.config;;
         linux) echo half > $2/linux; chmod +x $2/linux; stage compile
                printf '#!/bin/sh\\necho 6.0.0\\n' > $2/linux;;
         esac",
    ),
];
/// Where a build can be interrupted.
const STAGES: [&str; 3] = ["unpack", "configure", "compile"];

#[test]
fn a_source_that_is_not_known_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "one two two").unwrap();
    let edit = |old| Edit {
        file: "file",
        old,
        new: "three",
    };
    change(dir.path(), &edit("two")).unwrap();
    let text = fs::read_to_string(dir.path().join("file")).unwrap();
    assert_eq!(text, "one three three");
    let error = change(dir.path(), &edit("four")).unwrap_err();
    assert!(error.to_string().contains("four"), "{error}");
}

#[test]
fn a_recipe_has_a_number_of_its_own() {
    let mut recipes: Vec<_> = Variant::all().map(Variant::recipe).collect();
    assert!(recipes.iter().all(|recipe| recipe.len() == 8));
    let count = recipes.len();
    recipes.sort_unstable();
    recipes.dedup();
    assert_eq!(recipes.len(), count);
}

/// Each version, with the usual tick: the source of the other one is the same.
fn usual() -> [Variant; 3] {
    Version::ALL.map(|version| Variant {
        version,
        tick: Tick::default(),
    })
}

/// A folder with programs and sources.
fn fake() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    fs::create_dir(path.join("tools")).unwrap();
    for (name, text) in TOOLS {
        let tool = path.join("tools").join(name);
        let stage = "stage() { if [ \"$(cat \"$FAKE/hang\")\" = $1 ]; then \
                     echo > \"$FAKE/hanging\"; sleep 1000; fi; }";
        let text = format!(
            "#!/bin/sh\nset -e\nFAKE='{}'\n{stage}\n{text}\n",
            path.display()
        );
        fs::write(&tool, text).unwrap();
        fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for kernel in usual() {
        let mut files = BTreeMap::<_, String>::new();
        for edit in edits(kernel) {
            let text = files.entry(edit.file).or_default();
            // What an earlier change has put there may be what this one looks for.
            if !text.contains(edit.old) {
                *text += edit.old;
            }
        }
        for (file, text) in files {
            let file = path.join(kernel.version.name()).join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }
    dir
}

/// The store's folder of a fake.
fn store(fake: &Path) -> Store {
    Store::at(fake.join("store"))
}

/// A process that builds until it comes to `hang`: this test's program with [`FAKE`] set, in which
/// the first test that calls this builds instead.
fn building(fake: &Path, kernel: Variant, hang: &str) -> Child {
    fs::write(fake.join("hang"), hang).unwrap();
    let tools = fake.join("tools");
    let path = std::env::var("PATH").unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "build::tests::a_build_after_one_that_was_killed_at_any_step_makes_a_whole_kernel",
            "--nocapture",
        ])
        .env("PATH", format!("{}:{path}", tools.display()))
        .env(
            FAKE,
            format!("{} {} {}", kernel.version, kernel.tick, fake.display()),
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What the process of [`building`] does, which is told a kernel and the fake's folder.
fn build_as_told(told: &str) {
    let told: Vec<&str> = told.splitn(3, ' ').collect();
    let kernel = Variant {
        version: Version::named(told[0]).unwrap(),
        tick: Tick::named(told[1]).unwrap(),
    };
    let mut say = |text: &str| println!("said: {text}");
    let fake = Path::new(told[2]);
    build_from(
        &fake.join("src"),
        &store(fake),
        kernel,
        None,
        false,
        &mut say,
    )
    .unwrap();
}

#[test]
fn a_build_after_one_that_was_killed_at_any_step_makes_a_whole_kernel() {
    if let Ok(told) = std::env::var(FAKE) {
        return build_as_told(&told);
    }
    let fake = fake();
    let store = store(fake.path());
    let slow = Variant {
        version: Version::V7_3,
        tick: Tick::Hz250,
    };
    for kernel in usual().into_iter().chain([slow]) {
        let dir = store.dir().join(format!("build-{kernel}"));
        for stage in STAGES {
            let mut killed = building(fake.path(), kernel, stage);
            let patience = Instant::now() + Duration::from_secs(60);
            while !fake.path().join("hanging").exists() {
                assert!(Instant::now() < patience, "{stage} is not reached");
                assert!(
                    killed.try_wait().unwrap().is_none(),
                    "{stage}: it has ended"
                );
                thread::sleep(Duration::from_millis(10));
            }
            killed.kill().unwrap();
            killed.wait().unwrap();
            fs::remove_file(fake.path().join("hanging")).unwrap();
            assert!(dir.exists(), "{stage}");
            assert!(store.find(kernel).is_err(), "{stage}: half a kernel");
        }
        let output = building(fake.path(), kernel, "")
            .wait_with_output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            said.contains("removing what an interrupted build has left"),
            "{said}"
        );
        let image = store.find(kernel).unwrap();
        assert_eq!(image.release().unwrap(), "6.0.0");
        assert!(!dir.exists());
        // It is there: nothing is built again.
        let output = building(fake.path(), kernel, "unpack")
            .wait_with_output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    assert_eq!(store.outdated().unwrap(), Vec::<PathBuf>::new());
}

/// Each place is looked for in the source as it is by then: a change must not hide another one's.
#[test]
fn changes_of_a_recipe_do_not_meet() {
    for kernel in Variant::all() {
        let version = kernel.version;
        let edits = edits(kernel);
        for (number, edit) in edits.iter().enumerate() {
            assert_ne!(edit.old, edit.new, "{version}: {edit:?}");
            let others = edits.iter().enumerate();
            for (_, other) in others.filter(|(n, o)| *n != number && o.file == edit.file) {
                let meet = edit.old.contains(other.old);
                assert!(!meet, "{version}: {edit:?} and {other:?}");
            }
        }
        let config = version.config();
        let mut lines: Vec<&str> = config.lines().collect();
        assert!(
            lines
                .iter()
                .all(|line| line.starts_with("CONFIG_") && line.ends_with("=y"))
        );
        let count = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(
            lines.len(),
            count,
            "{version}: a setting stands there twice"
        );
    }
}

/// A program that fails for want of room says so, and nothing on that disk is needed for it.
#[test]
fn a_step_that_fails_is_told_with_its_words() {
    let fake = fake();
    let tar = "#!/bin/sh\necho unpacking\necho 'tar: No space left on device' >&2\nexit 2\n";
    fs::write(fake.path().join("tools/tar"), tar).unwrap();
    let output = building(fake.path(), usual()[0], "")
        .wait_with_output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("unpack the source"), "{said}");
    assert!(said.contains("tar: No space left on device"), "{said}");
    assert!(!store(fake.path()).dir().join("build-6.1").exists());
}

/// Who builds on Debian 12 is told of the suite, and of the line that makes it known to apt.
#[test]
fn a_package_that_apt_does_not_know_is_told_with_its_suite() {
    let fake = fake();
    let apt = "#!/bin/sh\necho 'E: Unable to locate package' >&2\nexit 100\n";
    fs::write(fake.path().join("tools/apt-get"), apt).unwrap();
    for (kernel, line) in usual().into_iter().zip([
        "deb http://deb.debian.org/debian bookworm main",
        "deb http://deb.debian.org/debian-security bookworm-security main",
        "deb http://deb.debian.org/debian trixie-backports main",
    ]) {
        let output = building(fake.path(), kernel, "")
            .wait_with_output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let package = kernel.version.package();
        for part in [
            "fetch the source",
            "E: Unable to locate package",
            &format!("if apt does not know {package}: it is in "),
            &format!("`{line}`"),
            &format!("/usr/src/{package}.tar.xz, is taken as it is"),
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}

/// A source that is installed is unpacked where it is, and apt is not asked.
#[test]
fn an_installed_source_is_taken() {
    let fake = fake();
    fs::write(fake.path().join("tools/apt-get"), "#!/bin/sh\nexit 100\n").unwrap();
    let kernel = usual()[2];
    fs::create_dir(fake.path().join("src")).unwrap();
    fs::write(fake.path().join("src/linux-source-7.3.tar.xz"), "").unwrap();
    let output = building(fake.path(), kernel, "")
        .wait_with_output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(store(fake.path()).find(kernel).is_ok());
}
