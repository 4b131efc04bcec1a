//! `sojourn packetdrill`: scripts of packetdrill against our TCP, and against Linux's.

mod referee;

use crate::kernel::KernelChoice;
use crate::{FAILED, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use sojourn_gateway::Table;
use sojourn_packetdrill::{Outcome, Script, Verdict};
use sojourn_scenario::explained;
use sojourn_scenario::problem::suggestion;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

pub(crate) use referee::inside;

/// Run packetdrill scripts against the TCP of the simulator, in virtual time
///
/// A script says which packets arrive at a host, which system calls a program makes there, and
/// which packets the host must send at which time. Each script gets a verdict: `passes`, `ours`
/// (our TCP does something else, which is shown), `not modelled` (it needs a feature that our TCP
/// does not have) or `socket only` (it tests the socket interface). Linux's scripts are in its
/// source, in tools/testing/selftests/net/packetdrill.
///
/// `--linux` also runs each script against the real kernel, in a guest in virtual time, and says
/// whether Linux agrees with the script.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn packetdrill linux/tools/testing/selftests/net/packetdrill
  sojourn packetdrill tcp_sack.pkt                 one script, and what our TCP sent instead
  sojourn packetdrill scripts --only ours          those in which our TCP differs
  sojourn packetdrill scripts --linux --kernel-version 7.3
                                                   and whether Linux 7.3 agrees with each script

Exit status: 0 when no script is `ours`, 1 when one is, 2 when a script cannot be read (nothing is
run).")]
pub(crate) struct PacketdrillArgs {
    /// Scripts, or folders of them: all files below that end in .pkt
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Show only scripts with this verdict; may be repeated [default: all that do not pass]
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    only: Vec<Verdict>,

    /// Run the scripts against the real kernel too, in a guest (after `sojourn kernel build`)
    #[arg(long)]
    linux: bool,

    #[command(flatten)]
    kernel: KernelChoice,

    /// Print JSON: an array with every script's file, verdict, line and reason, with --linux the
    /// kernel's too
    #[arg(long)]
    json: bool,
}

/// A script, what became of it with our TCP, and with the kernel's.
struct Tried<'a> {
    file: &'a Path,
    ours: Outcome,
    linux: Option<Outcome>,
}

/// Verdicts on the kernel, by the word for each: what stops a script that our TCP could not run
/// stops the referee's own program here.
const LINUX: [(&str, &[Verdict]); 3] = [
    ("agrees", &[Verdict::Passes]),
    ("differs", &[Verdict::Ours]),
    ("not run", &[Verdict::NotModelled, Verdict::SocketOnly]),
];

fn linux_word(verdict: Verdict) -> &'static str {
    let found = LINUX
        .iter()
        .find(|(_, verdicts)| verdicts.contains(&verdict));
    found.map_or("not run", |(word, _)| word)
}

fn verdict(word: &str) -> Result<Verdict, String> {
    Verdict::ALL
        .into_iter()
        .find(|verdict| verdict.word() == word)
        .ok_or_else(|| {
            format!(
                "unknown verdict `{word}`; {}",
                suggestion(word, &Verdict::WORDS)
            )
        })
}

pub(crate) fn packetdrill(args: &PacketdrillArgs) -> anyhow::Result<u8> {
    for (_, word) in args.kernel.words().into_iter().filter(|(given, _)| *given) {
        if !args.linux {
            return Err(WrongInput(format!("{word} needs --linux")).into());
        }
    }
    let files = files(&args.paths)?;
    let mut problems = String::new();
    let mut scripts = Vec::new();
    for file in &files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| explained(file, error))
            .with_context(|| format!("cannot read {name}"))
            .map_err(WrongInput::from)?;
        match Script::read(&name, &text) {
            Ok(script) => scripts.push(script),
            Err(problem) => {
                let _ = writeln!(problems, "{problem}");
            }
        }
    }
    if !problems.is_empty() {
        return Err(WrongInput(problems.trim_end().to_owned()).into());
    }
    let mut linux: Vec<Option<Outcome>> = vec![None; files.len()];
    if args.linux {
        let said = referee::ask(&files, args.kernel.wanted())?;
        linux = said.into_iter().map(Some).collect();
    }
    let tried: Vec<Tried<'_>> = files
        .iter()
        .zip(&scripts)
        .zip(linux)
        .map(|((file, script), linux)| Tried {
            file,
            ours: script.run(folder(file)),
            linux,
        })
        .collect();
    if args.json {
        let all: serde_json::Value = tried.iter().map(about).collect();
        print(&format!("{all:#}\n"))?;
    } else {
        print(&as_text(&tried, &args.only, args.linux))?;
    }
    let ours = tried
        .iter()
        .any(|tried| tried.ours.verdict == Verdict::Ours);
    Ok(if ours { FAILED } else { 0 })
}

fn folder(file: &Path) -> &Path {
    file.parent().unwrap_or(Path::new("."))
}

/// The scripts, in the order of their names below each folder.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, WrongInput> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            collect(path, &mut files)?;
            files[before..].sort();
            if files.len() == before {
                return Err(WrongInput(format!(
                    "{}: no file below it ends in .pkt",
                    path.display()
                )));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), WrongInput> {
    let unreadable = |error| WrongInput(format!("{}: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        // Not through links, which may lead back.
        if entry.file_type().map_err(unreadable)?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            files.push(path);
        }
    }
    Ok(())
}

fn as_json(outcome: &Outcome) -> serde_json::Value {
    json!({
        "verdict": outcome.verdict.word(),
        "line": outcome.line,
        "why": outcome.why,
    })
}

fn about(tried: &Tried<'_>) -> serde_json::Value {
    let mut about = as_json(&tried.ours);
    about["file"] = tried.file.display().to_string().into();
    if let Some(linux) = &tried.linux {
        about["linux"] = as_json(linux);
        about["linux"]["verdict"] = linux_word(linux.verdict).into();
    }
    about
}

/// A reason of several lines, below the line that it belongs to.
fn below(why: &str) -> String {
    format!("    {}\n", why.replace('\n', "\n    "))
}

fn show(tried: &Tried<'_>) -> String {
    let file = tried.file.display();
    let mut text = match tried.ours.line {
        None => format!("{file}: {}\n", tried.ours),
        Some(line) => {
            let word = tried.ours.verdict.word();
            format!("{file}:{line}: {word}\n{}", below(&tried.ours.why))
        }
    };
    if let Some(linux) = &tried.linux {
        let word = linux_word(linux.verdict);
        let _ = match linux.line {
            None => writeln!(text, "    Linux {word}"),
            Some(line) => write!(
                text,
                "    Linux {word}, line {line}:\n{}",
                below(&linux.why)
            ),
        };
    }
    text
}

fn as_text(all: &[Tried<'_>], only: &[Verdict], with_linux: bool) -> String {
    let shown = |tried: &Tried<'_>| match only {
        [] => {
            let mut both = std::iter::once(&tried.ours).chain(&tried.linux);
            both.any(|outcome| outcome.verdict != Verdict::Passes)
        }
        only => only.contains(&tried.ours.verdict),
    };
    let mut text: String = all.iter().filter(|tried| shown(tried)).map(show).collect();
    let words = LINUX.map(|(word, _)| format!(">Linux {word}"));
    let mut heads = vec!["verdict", ">scripts"];
    if with_linux {
        heads.extend(words.iter().map(String::as_str));
    }
    let mut table = Table::new(heads);
    let row = |name: &str, ours: &[Verdict]| {
        let mine: Vec<_> = all
            .iter()
            .filter(|tried| ours.contains(&tried.ours.verdict))
            .collect();
        let mut row = vec![name.to_owned(), mine.len().to_string()];
        for (_, verdicts) in LINUX.iter().filter(|_| with_linux) {
            let said = mine.iter().filter_map(|tried| tried.linux.as_ref());
            let count = said
                .filter(|linux| verdicts.contains(&linux.verdict))
                .count();
            row.push(count.to_string());
        }
        row
    };
    for verdict in Verdict::ALL {
        table.row(row(verdict.word(), &[verdict]));
    }
    table.row(row("all", &Verdict::ALL));
    if !text.is_empty() {
        text.push('\n');
    }
    text + &table.show()
}
