//! `sojourn top` with `--record`: the samples of a running bridge as a Parquet table.

use crate::WrongInput;
use clap::Args;
use sojourn_gateway::top::{
    self, COLUMNS, ColumnType, Field, Record, Recording, TopArgs as Watching,
};
use sojourn_report as report;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// Watch a running bridge: rates, delays, drops, marks and the top flows, ten times a second
///
/// The bridge listens at its `--control` socket; the service uses the default. Keys: q quits, p
/// pauses, d selects directions, s sorts the flows, left and right select the pair, up and down
/// scroll the flows. Without a terminal it only records.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn top
  sojourn top --pair wan --record evening.parquet
  sojourn top --record minute.parquet --seconds 60 </dev/null | cat")]
pub(crate) struct TopArgs {
    #[command(flatten)]
    watching: Watching,

    /// Write all samples to this file, as a Parquet table; it is complete when the program ends
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// A value as Parquet tables have it.
fn field<'a>(field: &Field<'a>) -> report::Field<'a> {
    match *field {
        Field::Empty => report::Field::Empty,
        Field::Text(text) => report::Field::Text(text),
        Field::Count(count) => report::Field::Count(count),
        Field::Number(number) => report::Field::Number(number),
        Field::Time(time) => report::Field::Time(time),
    }
}

/// A Parquet table of samples.
struct Parquet(report::Recording);

impl Parquet {
    fn begin(file: &Path) -> anyhow::Result<Box<dyn Recording>> {
        let column = |(name, kind): (&'static str, ColumnType)| {
            let kind = match kind {
                ColumnType::Text => report::ColumnType::Text,
                ColumnType::Count => report::ColumnType::Count,
                ColumnType::Number => report::ColumnType::Number,
                ColumnType::Time => report::ColumnType::Time,
            };
            (name, kind)
        };
        let table = report::Recording::begin(file, &COLUMNS.map(column))?;
        Ok(Box::new(Self(table)))
    }
}

impl Recording for Parquet {
    fn row(&mut self, fields: &[Field<'_>]) -> anyhow::Result<()> {
        let fields: Vec<report::Field<'_>> = fields.iter().map(field).collect();
        Ok(self.0.row(&fields)?)
    }

    fn finish(self: Box<Self>) -> anyhow::Result<u64> {
        Ok(self.0.finish()?)
    }
}

pub(crate) fn top(args: &TopArgs) -> anyhow::Result<u8> {
    let record = args.record.as_deref().map(|file| Record {
        file,
        open: Parquet::begin,
    });
    if record.is_none() && !io::stdout().is_terminal() {
        let message = "there is no terminal to draw on: give `--record FILE` to record only";
        return Err(WrongInput(message.into()).into());
    }
    top::top(&args.watching, record.as_ref())
}
