//! `completions` and `man`: what packages install beside a program, made from its own arguments.

use crate::{WrongInput, print};
use anyhow::Context as _;
use clap::{Args, Command};
use clap_complete::Shell;
use std::path::PathBuf;

/// Print the completions for a shell
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn completions bash > /etc/bash_completion.d/sojourn
  sojourn completions zsh > ~/.zfunc/_sojourn
  sojourn completions fish > ~/.config/fish/completions/sojourn.fish")]
pub struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

/// Write the manual pages, one for each command, into a folder
#[derive(Args)]
#[command(after_help = "Example:
  sojourn man ~/.local/share/man/man1 && man sojourn-run")]
pub struct ManArgs {
    /// The folder to write into; created if it is missing
    dir: PathBuf,
}

/// Runs `completions` of a program; yields the exit status.
///
/// # Errors
/// When nobody reads.
pub fn completions(args: &CompletionsArgs, mut program: Command) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    let name = program.get_name().to_owned();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    print(&String::from_utf8(script).context("the script is text")?)?;
    Ok(0)
}

/// Runs `man` of a program; yields the exit status.
///
/// # Errors
/// When the folder cannot be written into.
pub fn man(args: &ManArgs, program: Command) -> anyhow::Result<u8> {
    let dir = &args.dir;
    let refused = |error| WrongInput(format!("{}: {error}", dir.display()));
    std::fs::create_dir_all(dir).map_err(refused)?;
    clap_mangen::generate_to(program, dir)
        .with_context(|| format!("cannot write into {}", dir.display()))?;
    Ok(0)
}
