//! `sojourn packetdrill`: scripts of packetdrill against our TCP.

use crate::{FAILED, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use sojourn_gateway::Table;
use sojourn_packetdrill::{Outcome, Script, Verdict};
use sojourn_scenario::problem::suggestion;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Run packetdrill scripts against the TCP of the simulator, in virtual time
///
/// A script says which packets arrive at a host, which system calls a program makes there, and
/// which packets the host must send at which time. Each script gets a verdict: `passes`, `ours`
/// (our TCP does something else, which is shown), `not modelled` (it needs a feature that our TCP
/// does not have) or `socket only` (it tests the socket interface). Linux's scripts are in its
/// source, in tools/testing/selftests/net/packetdrill.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn packetdrill linux/tools/testing/selftests/net/packetdrill
  sojourn packetdrill tcp_sack.pkt                 one script, with what came instead
  sojourn packetdrill scripts --only ours          what our TCP does in another way

Exit status: 0 when no script is `ours`, 1 when one is, 2 when a script cannot be read (nothing is
run).")]
pub(crate) struct PacketdrillArgs {
    /// Scripts, or folders of them: all files below that end in .pkt
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Show only scripts with this verdict; may be repeated [default: all that do not pass]
    #[arg(long, value_name = "VERDICT", value_parser = verdict)]
    only: Vec<Verdict>,

    /// Print JSON: an array with every script's file, verdict, line and reason
    #[arg(long)]
    json: bool,
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
    let files = files(&args.paths)?;
    let mut problems = String::new();
    let mut scripts = Vec::new();
    for file in &files {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
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
    let outcomes: Vec<(&Path, Outcome)> = files
        .iter()
        .zip(&scripts)
        .map(|(file, script)| (file.as_path(), script.run(folder(file))))
        .collect();
    if args.json {
        print(&format!("{:#}\n", as_json(&outcomes)))?;
    } else {
        print(&as_text(&outcomes, &args.only))?;
    }
    let ours = outcomes
        .iter()
        .any(|(_, outcome)| outcome.verdict == Verdict::Ours);
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

fn as_json(outcomes: &[(&Path, Outcome)]) -> serde_json::Value {
    outcomes
        .iter()
        .map(|(file, outcome)| {
            json!({
                "file": file.display().to_string(),
                "verdict": outcome.verdict.word(),
                "line": outcome.line,
                "why": outcome.why,
            })
        })
        .collect()
}

fn as_text(outcomes: &[(&Path, Outcome)], only: &[Verdict]) -> String {
    let mut text = String::new();
    let shown = |verdict: Verdict| match only {
        [] => verdict != Verdict::Passes,
        only => only.contains(&verdict),
    };
    for (file, outcome) in outcomes
        .iter()
        .filter(|(_, outcome)| shown(outcome.verdict))
    {
        let file = file.display();
        let _ = match outcome.line {
            None => writeln!(text, "{file}: {outcome}"),
            Some(line) => {
                let why = outcome.why.replace('\n', "\n    ");
                writeln!(text, "{file}:{line}: {}\n    {why}", outcome.verdict.word())
            }
        };
    }
    let mut table = Table::new(["verdict", ">scripts"]);
    for verdict in Verdict::ALL {
        let count = outcomes
            .iter()
            .filter(|(_, outcome)| outcome.verdict == verdict)
            .count();
        table.row(vec![verdict.word().to_owned(), count.to_string()]);
    }
    table.row(vec!["all".to_owned(), outcomes.len().to_string()]);
    if !text.is_empty() {
        text.push('\n');
    }
    text + &table.show()
}
