//! What the package for Python does for this program: `sojourn figures`, and whatever names classes
//! of Python (`python:FILE:CLASS`): scenarios that are run or checked, queues and congestion
//! controls that are evaluated, a queue that is run beside those of a study. Results of a scenario
//! come back in a folder, so that this program shows and writes them like any others.

use crate::worlds::{WORLDS, WorldRow};
use crate::{INTERRUPTED, Overrides, WrongInput};
use anyhow::Context as _;
use clap::Args;
use sojourn_scenario::named_text;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable of the environment that names the interpreter.
const VARIABLE: &str = "SOJOURN_PYTHON";

/// What the name of a class begins with.
const PREFIX: &str = "python:";

/// Draw print-ready figures of results
///
/// Figures are white, as wide as a column of a paper, and contain their fonts. `--list` says what
/// to draw; without it there is one figure of each kind that the results have data for. The Python
/// package `sojourn` draws them with matplotlib: `pip install 'sojourn[plot]'`.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn run scenarios/demo.toml --out out/sim
  sojourn figures out/sim                      PDF files beside the results
  sojourn figures out/sim --svg --out figures
  sojourn figures out/sim out/live --list figures.toml --pgf

SOJOURN_PYTHON names the interpreter that has the package. The default is that of the virtual
environment in which this program is installed, or else `python3`.

Exit status: 0 when all are drawn, 2 when the input is wrong or the package is missing.")]
pub(crate) struct FiguresArgs {
    /// Folders of results
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// What to draw, in TOML: tables `[[figure]]` with `name` and `kind` (cdf, box, series,
    /// tradeoff, heatmap or winners)
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,

    /// Write into this folder [default: the first DIR]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Write SVG
    #[arg(long)]
    svg: bool,

    /// Write PDF; the default
    #[arg(long)]
    pdf: bool,

    /// Write PGF, for LaTeX
    #[arg(long)]
    pgf: bool,
}

pub(crate) fn figures(args: &FiguresArgs) -> anyhow::Result<u8> {
    let options = [("--list", &args.list), ("--out", &args.out)];
    let given = options.iter().filter_map(|(name, path)| {
        let path = path.as_ref()?;
        Some([OsString::from(name), path.into()])
    });
    let formats = [
        ("--svg", args.svg),
        ("--pdf", args.pdf),
        ("--pgf", args.pgf),
    ]
    .into_iter()
    .filter(|(_, wanted)| *wanted);
    let mut words = vec![OsString::from("figures")];
    words.extend(given.flatten());
    words.extend(formats.map(|(name, _)| name.into()));
    words.push("--".into());
    words.extend(args.dirs.iter().map(Into::into));
    package("`sojourn figures`", "sojourn[plot]", &words)
}

/// The class of Python that a scenario or an option names; none if they name none.
pub(crate) fn class(file: &Path, overrides: &Overrides) -> Option<String> {
    // The reader of the scenario reports a file that cannot be read.
    let (_, text) = named_text(file).unwrap_or_default();
    let given = overrides.sets.iter().chain(&overrides.sweeps);
    let found = text.lines().find_map(named_in_a_line).or_else(|| {
        given
            .filter_map(|one| one.split_once('='))
            .find_map(|(_, value)| named(value))
    });
    found.map(str::to_owned)
}

/// Has the package check a scenario that names classes of Python; none if it names none.
pub(crate) fn check(file: &Path, overrides: &Overrides) -> Option<anyhow::Result<u8>> {
    class(file, overrides).map(|name| as_given(&name))
}

/// Has the package run a scenario that names this class, and write the results into a folder for
/// this program, which shows them. Returns the package's exit status.
pub(crate) fn run(
    name: &str,
    file: &Path,
    overrides: &Overrides,
    jobs: Option<NonZeroUsize>,
    quiet: bool,
    into: &Path,
) -> anyhow::Result<u8> {
    let Overrides {
        sets,
        sweeps,
        seed,
        seeds,
    } = overrides;
    let jobs = jobs.map(|jobs| jobs.to_string());
    let numbers = [
        ("--seed", seed.map(|seed| seed.to_string())),
        ("--seeds", seeds.map(|seeds| seeds.to_string())),
        ("--jobs", jobs),
    ];
    let mut words = vec![OsString::from("run"), "--into".into(), into.into()];
    for (option, values) in [("--set", sets), ("--sweep", sweeps)] {
        words.extend(
            values
                .iter()
                .map(|value| format!("{option}={value}").into()),
        );
    }
    let given = numbers.into_iter().filter_map(|(option, value)| {
        let value = value?;
        Some([option.into(), value.into()])
    });
    words.extend(given.flatten());
    words.extend(quiet.then(|| "--quiet".into()));
    words.extend(["--".into(), file.into()]);
    package(&format!("`{name}`"), "sojourn", &words)
}

/// Whether a text names a class of Python.
pub(crate) fn is_named(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Has the package run the command of this process, in which an option names a class. It can do so
/// in the simulator.
pub(crate) fn hand_over(option: &str, name: &str, worlds: &[&WorldRow]) -> anyhow::Result<u8> {
    only_simulated(&format!("{option} {name}"), worlds)?;
    as_given(name)
}

/// Refuses other worlds than the simulator for what is `named`.
pub(crate) fn only_simulated(named: &str, worlds: &[&WorldRow]) -> Result<(), WrongInput> {
    let sim = &WORLDS[0].name;
    match worlds.iter().find(|row| row.name != *sim) {
        Some(other) => Err(WrongInput(format!(
            "{named}: a Python class runs in the world `{sim}` only, not in `{}`",
            other.name
        ))),
        None => Ok(()),
    }
}

/// Has the package do what the command line of this process says.
fn as_given(name: &str) -> anyhow::Result<u8> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    package(&format!("`{name}`"), "sojourn", &words)
}

/// The class that a line of a scenario names.
fn named_in_a_line(line: &str) -> Option<&str> {
    let quoted = |quote| {
        let (_, after) = line.split_once(&format!("{quote}{PREFIX}"))?;
        let inside = after.split(quote).next()?;
        let start = line.len() - after.len() - PREFIX.len();
        Some(&line[start..start + PREFIX.len() + inside.len()])
    };
    let is_remark = line.trim_start().starts_with('#');
    if is_remark {
        return None;
    }
    quoted('"').or_else(|| quoted('\''))
}

/// The class that a value of `--set` or `--sweep` names.
fn named(value: &str) -> Option<&str> {
    let values = value.trim().trim_matches(['[', ']']).split(',');
    values
        .map(|one| one.trim().trim_matches(['"', '\'']))
        .find(|one| is_named(one))
}

/// The interpreter that is asked for the package.
fn interpreter() -> OsString {
    let of_environment = || {
        let program = std::env::current_exe().ok()?;
        let bin = program.parent()?;
        let is_environment = bin.parent()?.join("pyvenv.cfg").is_file();
        is_environment.then(|| bin.join("python").into_os_string())
    };
    std::env::var_os(VARIABLE)
        .or_else(of_environment)
        .unwrap_or_else(|| "python3".into())
}

/// Has the package do what the words say. `why` it is asked, and what pip would install.
fn package(why: &str, extra: &str, words: &[OsString]) -> anyhow::Result<u8> {
    let interpreter = interpreter();
    let shown = interpreter.to_string_lossy().into_owned();
    let lacking = |what: &str| {
        WrongInput(format!(
            "{why} needs the Python package `sojourn`, and {what}: run `pip install '{extra}'`, or \
             set {VARIABLE} to an interpreter that has it"
        ))
    };
    // `-P`: no file of the working directory passes for the package.
    let asked = Command::new(&interpreter)
        .args(["-P", "-c", "import sojourn.__main__"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match asked {
        Err(error) => return Err(lacking(&format!("`{shown}` cannot be run ({error})")).into()),
        Ok(status) if !status.success() => {
            return Err(lacking(&format!("`{shown}` does not have it")).into());
        }
        Ok(_) => {}
    }
    let status = Command::new(&interpreter)
        .args(["-P", "-m", "sojourn"])
        .args(words)
        .status()
        .with_context(|| shown.clone())?;
    if let Some(signal) = status.signal() {
        anyhow::ensure!(signal == 2, "{shown} ended by signal {signal}");
        return Ok(INTERRUPTED);
    }
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_found_where_a_scenario_names_one() {
        let found = [
            ("qdisc = \"python:own.py:Own n=3\"", "python:own.py:Own n=3"),
            ("tcp = { cc = 'python:cc.py:Calm' }", "python:cc.py:Calm"),
            (
                "dumbbell.qdisc = [\"codel\", \"python:a.py:A\"]",
                "python:a.py:A",
            ),
        ];
        for (line, name) in found {
            assert_eq!(named_in_a_line(line), Some(name));
        }
        for line in [
            "# qdisc = \"python:own.py:Own\"",
            "title = \"by python: a\"",
            "[a]",
        ] {
            assert_eq!(named_in_a_line(line), None, "{line}");
        }
        let value = |given| named(given);
        assert_eq!(value("python:a.py:A"), Some("python:a.py:A"));
        assert_eq!(
            value("[codel, python:a.py:A n=2]"),
            Some("python:a.py:A n=2")
        );
        assert_eq!(value("[codel, pie]"), None);
    }
}
