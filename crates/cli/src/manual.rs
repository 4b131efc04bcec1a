//! `sojourn completions` and `sojourn man`: what packages install beside the program, made from
//! its own arguments.

use crate::{Cli, WrongInput};
use anyhow::Context as _;
use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use std::path::PathBuf;

/// Print the completions for a shell
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn completions bash > /etc/bash_completion.d/sojourn
  sojourn completions zsh > ~/.zfunc/_sojourn
  sojourn completions fish > ~/.config/fish/completions/sojourn.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

/// Write the manual pages, one for each command, into a folder
#[derive(Args)]
#[command(after_help = "Example:
  sojourn man ~/.local/share/man/man1 && man sojourn-run")]
pub(crate) struct ManArgs {
    /// The folder, which is made when it is missing
    dir: PathBuf,
}

pub(crate) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sojourn", &mut script);
    crate::print(&String::from_utf8(script).context("the script is text")?)?;
    Ok(0)
}

pub(crate) fn man(args: &ManArgs) -> anyhow::Result<u8> {
    let dir = &args.dir;
    let refused = |error| WrongInput(format!("{}: {error}", dir.display()));
    std::fs::create_dir_all(dir).map_err(refused)?;
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("cannot write into {}", dir.display()))?;
    Ok(0)
}
