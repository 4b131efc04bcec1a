//! What is wrong with a command line, in the form of all other messages.

use crate::WRONG_INPUT;
use crate::name::say;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error, FromArgMatches};
use sojourn_text::problem::{nearest, suggestion};
use std::error::Error as _;
use std::ffi::OsString;
use std::num::IntErrorKind;
use std::str::FromStr;

/// The program's arguments. Prints help or a message and ends the process if there are none.
pub fn arguments<P: FromArgMatches>(mut command: Command) -> P {
    let given: Vec<OsString> = std::env::args_os().collect();
    read(&mut command, &given).unwrap_or_else(|error| match wrong(&command, &given, &error) {
        Some(message) => {
            say(message);
            std::process::exit(i32::from(WRONG_INPUT))
        }
        None => error.exit(),
    })
}

fn read<P: FromArgMatches>(command: &mut Command, given: &[OsString]) -> Result<P, Error> {
    let mut matches = command.try_get_matches_from_mut(given)?;
    P::from_arg_matches_mut(&mut matches)
}

/// The message for a wrong command line. `None` for help, the version, and the few errors that
/// `clap` describes well enough.
///
/// `command` has been built, as reading `given` does.
pub fn wrong(command: &Command, given: &[OsString], error: &Error) -> Option<String> {
    let called = called(command, given);
    let context = |kind| error.get(kind).map(plain).unwrap_or_default();
    let name = bare(&context(ContextKind::InvalidArg));
    let value = context(ContextKind::InvalidValue);
    Some(match error.kind() {
        ErrorKind::ValueValidation => format!("{name}: {}", error.source()?),
        ErrorKind::InvalidValue if value.is_empty() => {
            format!("{name} needs a value: {}", context(ContextKind::InvalidArg))
        }
        ErrorKind::InvalidValue => {
            let valid = strings(error.get(ContextKind::ValidValue)?);
            format!(
                "{name}: unknown value `{value}`; {}",
                suggestion(&value, &valid)
            )
        }
        ErrorKind::UnknownArgument if name.starts_with('-') => {
            let found = called.option(&name).or_else(|| {
                let found = context(ContextKind::SuggestedArg);
                (!found.is_empty()).then_some(found)
            });
            match found {
                Some(found) => format!("unknown option `{name}`; did you mean `{found}`?"),
                None => format!("unknown option `{name}`; {}", called.help()),
            }
        }
        ErrorKind::UnknownArgument => {
            format!("unexpected argument `{name}`; {}", called.help())
        }
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand);
            format!("unknown command `{word}`; {}", called.meant(&word))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = strings(error.get(ContextKind::InvalidArg)?).join(", ");
            let shown = context(ContextKind::Usage);
            let usage = shown.trim_start_matches("Usage: ");
            format!("{missing} is missing; usage: {usage}")
        }
        ErrorKind::ArgumentConflict => {
            let others: Vec<String> = strings(error.get(ContextKind::PriorArg)?)
                .into_iter()
                .map(bare)
                .collect();
            if others == [name.as_str()] {
                format!("{name} is given twice")
            } else {
                format!("{name} cannot be used with {}", others.join(", "))
            }
        }
        _ => return None,
    })
}

/// A value of an error's context as text.
fn plain(value: &ContextValue) -> String {
    match value {
        ContextValue::StyledStr(text) => text.to_string(),
        other => strings(other).join(", "),
    }
}

/// The texts of an error's context.
fn strings(value: &ContextValue) -> Vec<&str> {
    match value {
        ContextValue::String(text) => vec![text],
        ContextValue::Strings(texts) => texts.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// An argument's name without what stands for its value: `--seed` of `--seed <N>`.
fn bare(argument: &str) -> String {
    let option = argument.starts_with('-');
    let end = argument.find(|char| option && " =[".contains(char));
    let name = &argument[..end.unwrap_or(argument.len())];
    name.trim_matches(|char| "<>[].".contains(char)).to_owned()
}

/// The command that a command line calls.
struct Called<'a> {
    command: &'a Command,
    path: String,
}

fn called<'a>(program: &'a Command, given: &[OsString]) -> Called<'a> {
    let (mut command, mut path) = (program, program.get_name().to_owned());
    for word in given.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(found) = command.find_subcommand(word) {
            path = format!("{path} {word}");
            command = found;
        }
    }
    Called { command, path }
}

impl Called<'_> {
    /// The option whose name is nearest to a wrong one.
    fn option(&self, name: &str) -> Option<String> {
        let shown = self
            .command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set());
        let known: Vec<&str> = shown.filter_map(|arg| arg.get_long()).collect();
        let found = nearest(name.trim_start_matches('-'), known)?;
        Some(format!("--{found}"))
    }

    /// What may have been meant by an unknown command.
    fn meant(&self, word: &str) -> String {
        let runs = self.command.find_subcommand("run").is_some();
        if runs && (word.contains('/') || word.contains('.')) {
            return format!("did you mean `{} run {word}`?", self.path);
        }
        let commands = self.command.get_subcommands();
        let shown = commands.filter(|command| !command.is_hide_set());
        let known: Vec<&str> = shown.map(Command::get_name).collect();
        suggestion(word, &known)
    }

    fn help(&self) -> String {
        format!("`{} --help` shows what it takes", self.path)
    }
}

/// A parser of whole numbers from `min` to `max`.
pub fn whole<T: FromStr>(
    min: u64,
    max: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let wrong = || match (min, max) {
            (0, u64::MAX) => format!("`{text}` is not a whole number"),
            (_, u64::MAX) => format!("`{text}` is not a whole number from {min} on"),
            _ => format!("`{text}` is not a whole number from {min} to {max}"),
        };
        match text.parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => text.parse().map_err(|_| wrong()),
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
                Err(format!("`{text}` is too large; the most is {max}"))
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Parser, Subcommand};
    use std::num::NonZeroUsize;

    #[derive(Debug, Parser)]
    #[command(name = "box")]
    struct Program {
        #[command(subcommand)]
        command: Commands,
    }

    #[derive(Debug, Subcommand)]
    enum Commands {
        Run(Run),
        Check,
    }

    #[derive(Args, Debug)]
    struct Run {
        file: String,
        #[arg(long, value_name = "N", value_parser = whole::<NonZeroUsize>(1, u64::MAX))]
        jobs: Option<NonZeroUsize>,
        #[arg(long, value_name = "WORLD", value_parser = ["sim", "live"])]
        world: Option<String>,
        #[arg(long, conflicts_with = "jobs")]
        alone: bool,
    }

    fn said(line: &str) -> String {
        let given: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let mut command = <Program as clap::CommandFactory>::command();
        let error = read::<Program>(&mut command, &given).expect_err(line);
        wrong(&command, &given, &error).unwrap_or_else(|| error.to_string())
    }

    #[test]
    fn a_wrong_command_line_has_one_sentence() {
        for (line, expected) in [
            (
                "box run --jobs x a",
                "--jobs: `x` is not a whole number from 1 on",
            ),
            (
                "box run --jobs 0 a",
                "--jobs: `0` is not a whole number from 1 on",
            ),
            ("box run --jobs", "--jobs needs a value: --jobs <N>"),
            (
                "box run --jbos 1 a",
                "unknown option `--jbos`; did you mean `--jobs`?",
            ),
            (
                "box run --quiet a",
                "unknown option `--quiet`; `box run --help` shows what it takes",
            ),
            (
                "box run --world sin a",
                "--world: unknown value `sin`; did you mean `sim`?",
            ),
            (
                "box run --world moon a",
                "--world: unknown value `moon`; available: sim, live",
            ),
            (
                "box run --alone --jobs 1 a",
                "--alone cannot be used with --jobs",
            ),
            ("box run --jobs 1 --jobs 2 a", "--jobs is given twice"),
            ("box run", "<FILE> is missing; usage: box run <FILE>"),
            (
                "box run a b",
                "unexpected argument `b`; `box run --help` shows what it takes",
            ),
            ("box rnu", "unknown command `rnu`; did you mean `run`?"),
            (
                "box turn",
                "unknown command `turn`; available: run, check, help",
            ),
            (
                "box a.toml",
                "unknown command `a.toml`; did you mean `box run a.toml`?",
            ),
        ] {
            assert_eq!(said(line), expected, "{line}");
        }
        assert!(said("box run --help").contains("Usage"));
    }

    #[test]
    fn whole_numbers_have_their_bounds() {
        let few = whole::<u8>(2, 100);
        assert_eq!(few("2"), Ok(2));
        assert_eq!(few("100"), Ok(100));
        let wrong = |text: &str| few(text).expect_err(text);
        for text in ["1", "101", "-3", "1.5", "", "1e1"] {
            assert_eq!(
                wrong(text),
                format!("`{text}` is not a whole number from 2 to 100")
            );
        }
        let large = "99999999999999999999";
        assert_eq!(
            wrong(large),
            format!("`{large}` is too large; the most is 100")
        );
        let any = whole::<u64>(0, u64::MAX);
        assert_eq!(any("x"), Err("`x` is not a whole number".into()));
    }
}
