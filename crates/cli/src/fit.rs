//! `sojourn fit`: the line behind measurements, as a scenario.

use crate::out::check_out;
use crate::progress::Bar;
use crate::run::run_cells;
use crate::worlds::{Setup, WORLDS, world};
use crate::{FAILED, INTERRUPTED, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use indicatif::ProgressBar;
use sojourn_batch::{Results, clear};
use sojourn_fit::{
    DOWN, Figures, Fit, FitError, Grade, MOST_ROUNDS, Measurement, UP, name, read_flent, run_of,
};
use sojourn_gateway::Table;
use sojourn_gateway::stop_on_signal;
use sojourn_scenario::{Options, Scenario};
use sojourn_units::Unit;
use sojourn_world::WorldError;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The name of the line's scenario.
const LINE: &str = "line";
/// Seeds that stand beside a measurement.
const SEEDS: u64 = 5;
/// Exit status of a line that is fair.
const FAIR: u8 = 3;

/// Find the line behind a measurement: its rates, base RTT and buffers, as a scenario
///
/// Fitting varies the line until the simulator gives the measured figures with the same number of
/// TCP streams. The line has a FIFO in each direction or, if none fits, managed flow queues. A
/// grade (good, fair, none) says how well it fits, with the figures side by side. The scenario
/// contains the load of the first file, so that you can try other queues in it.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn fit rrul-2026.home.flent.gz --out line.toml
  sojourn run line.toml --sweep 'dumbbell.up.qdisc=[\"fq_codel\", \"cake\"]' --out out/line
  sojourn fit tcp_nup.flent.gz tcp_ndown.flent.gz     each shows the buffer of its direction
  sojourn fit upload.pcapng --client 192.168.1.7      captured at the client
  sojourn fit iperf3.json irtt.json.gz                a load, and probes of the same time

Supported files are .flent.gz files of any test with TCP streams and a ping, iperf3's JSON of TCP
tests (alone or with irtt's), and pcapng or pcap files (also .gz) that were made at the client and
contain the start of its transfers. In captures, round-trip times are those of TCP's timestamps. If
a test loads both directions at once, the delay is divided equally. The load must last at least 3 s.

Exit status: 0 when the line is good, 3 when it is fair, 1 when no line gives the figures (nothing
is written), 2 when a file cannot be used, 130 after Ctrl-C.")]
pub(crate) struct FitArgs {
    /// Measurements on one line: .flent.gz, .pcapng, .pcap, iperf3's .json, irtt's .json
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Address of the client in captures [default: the host that opens the first connection]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    client: Option<IpAddr>,

    /// Congestion control of the streams [default: what the file says, or cubic]
    #[arg(long, value_name = "NAME")]
    cc: Option<String>,

    /// Write the scenario here, and print how well it fits [default: print the scenario]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

fn address(text: &str) -> Result<IpAddr, String> {
    let read = text.parse();
    read.map_err(|_| format!("`{text}` is not an address, such as `192.0.2.1` or `2001:db8::1`"))
}

pub(crate) fn fit(args: &FitArgs) -> anyhow::Result<u8> {
    let read = Measurement::read_all(&args.files, args.client);
    let mut measurements = read.map_err(WrongInput::from)?;
    for measurement in measurements.iter_mut().filter(|_| args.cc.is_some()) {
        measurement.congestion_control.clone_from(&args.cc);
    }
    let stop = stop_on_signal()?;
    let Some(found) = search(&measurements, &stop, args.quiet)? else {
        return Ok(INTERRUPTED);
    };
    let table = table(&measurements, &found);
    let Some(status) = status(&found, &table) else {
        return Ok(FAILED);
    };
    let how = graded(&found);
    let comment = commented(&args.files, &format!("{how}\n{table}"));
    let scenario = comment + &found.line.scenario(&measurements[0]);
    let Some(out) = &args.out else {
        print(&scenario)?;
        return Ok(status);
    };
    std::fs::write(out, scenario).with_context(|| format!("--out {}", out.display()))?;
    print(&format!(
        "{}\n{how}\n{table}\n{}\n",
        found.line,
        out.display()
    ))?;
    Ok(status)
}

/// The exit status of a line; none where there is no line, which is said.
pub(crate) fn status(found: &Fit, table: &str) -> Option<u8> {
    match found.grade() {
        Grade::Good => Some(0),
        Grade::Fair => Some(FAIR),
        Grade::None => {
            let _ = writeln!(
                std::io::stderr(),
                "sojourn: no line gives these figures (grade: none); nothing was written. The \
                 nearest:\n\n{table}{}",
                found
                    .doubts
                    .iter()
                    .fold(String::new(), |text, doubt| text + "\n" + doubt + "\n")
            );
            None
        }
    }
}

/// The grade in a line, and what makes it doubtful in others.
pub(crate) fn graded(found: &Fit) -> String {
    let meaning = match found.grade() {
        Grade::Good => "the figures agree",
        Grade::Fair => "a figure is off or doubtful; take the line as rough",
        Grade::None => "no line gives these figures",
    };
    let mut text = format!("Grade: {} ({meaning}).\n", found.grade());
    for doubt in &found.doubts {
        let _ = writeln!(text, "Doubt: {doubt}.");
    }
    text
}

/// The line of measurements; none after Ctrl-C, which is said.
pub(crate) fn search(
    measurements: &[Measurement],
    stop: &AtomicBool,
    quiet: bool,
) -> anyhow::Result<Option<Fit>> {
    let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new_spinner()
    };
    bar.enable_steady_tick(Duration::from_millis(100));
    let watch =
        |round: usize| bar.set_message(format!("round {} of up to {MOST_ROUNDS}", round + 1));
    let world = world(&WORLDS[0], Setup::default())?;
    let found = sojourn_fit::fit(measurements, world.as_ref(), jobs, stop, &watch);
    bar.finish_and_clear();
    match found {
        Ok(found) => Ok(Some(found)),
        Err(FitError::World(WorldError::Interrupted)) => {
            eprintln!("sojourn: interrupted; nothing was written");
            Ok(None)
        }
        Err(error) => Err(WrongInput::from(error).into()),
    }
}

/// Writes the report of a data file of Flent's into a folder: what was measured beside the same
/// test on the simulated line, whose scenario is put there too.
pub(crate) fn side_by_side(file: &Path, out: &Path, overwrite: bool) -> anyhow::Result<u8> {
    check_out(out, &Results::Scenario(LINE.to_owned()), overwrite)?;
    let data = read_flent(file).map_err(WrongInput::from)?;
    let measurement = Measurement::of_flent(&name(file), &data);
    let stop = stop_on_signal()?;
    let Some(found) = search(std::slice::from_ref(&measurement), &stop, false)? else {
        return Ok(INTERRUPTED);
    };
    let measurements = [measurement];
    let table = table(&measurements, &found);
    let Some(status) = status(&found, &table) else {
        return Ok(FAILED);
    };
    let how = graded(&found);
    let text = commented(&[file.to_owned()], &format!("{how}\n{table}"))
        + &found.line.scenario(&measurements[0]);
    let options = Options {
        seeds: Some(SEEDS),
        ..Options::default()
    };
    let scenario = Scenario::parse("the line's scenario", &text, Path::new(""), &options)?;
    let world = world(&WORLDS[0], Setup::default())?;
    let bar = Bar::new(&scenario.cells, false);
    let jobs = WORLDS[0].jobs(None);
    let outcomes = run_cells(world.as_ref(), &scenario.cells, jobs, &stop, &bar);
    bar.clear();
    let (good, mut notes) = sojourn_scenario::split(&scenario.cells, outcomes);
    let mut results = vec![run_of(&data).map_err(WrongInput::from)?];
    results.extend(good);
    notes.push(format!(
        "World measured is {}; sim is the line that fits it best, over {SEEDS} seeds. {} {}",
        name(file),
        found.line,
        how.trim_end().replace('\n', " ")
    ));
    let cannot = || format!("--out {}", out.display());
    sojourn_report::write(out, &scenario.info, &results, &notes).with_context(cannot)?;
    let place = PathBuf::from(format!("{LINE}.toml"));
    sojourn_report::write_files(out, &[(place, &text)]).with_context(cannot)?;
    clear(out, &Results::Scenario(LINE.to_owned()))?;
    let page = out.join(sojourn_report::PAGE);
    print(&format!(
        "{}\n{how}\n{table}\n{}\n",
        found.line,
        page.display()
    ))?;
    Ok(status)
}

/// What a line's figures are called, with their units and where they stand.
type LineFigure = (&'static str, Unit, fn(&Figures) -> Option<f64>);
const ROWS: [LineFigure; 7] = [
    ("round trip, idle", Unit::Ms, |figures| {
        Some(figures.idle_ms)
    }),
    ("up", Unit::Bps, |figures| figures.throughput[UP]),
    ("down", Unit::Bps, |figures| figures.throughput[DOWN]),
    ("up when full", Unit::Bps, |figures| {
        figures.throughput[DOWN].and(figures.full[UP])
    }),
    ("down when full", Unit::Bps, |figures| {
        figures.throughput[UP].and(figures.full[DOWN])
    }),
    ("load adds, median", Unit::Ms, |figures| {
        Some(figures.added_p50_ms)
    }),
    ("load adds, p95", Unit::Ms, |figures| {
        Some(figures.added_p95_ms)
    }),
];

/// The figures of each measurement beside those of the line.
pub(crate) fn table(measurements: &[Measurement], found: &Fit) -> String {
    let mut table = Table::new(["file", "figure", ">measured", ">simulated"]);
    let figures = found.measured.iter().zip(&found.simulated);
    for (measurement, (measured, simulated)) in measurements.iter().zip(figures) {
        for (name, unit, of) in ROWS {
            if let (Some(measured), Some(simulated)) = (of(measured), of(simulated)) {
                let file = measurement.name.clone();
                let shown = [measured, simulated].map(|value| unit.show(value));
                let [measured, simulated] = shown;
                table.row(vec![file, name.to_owned(), measured, simulated]);
            }
        }
    }
    table.show()
}

/// Where the scenario comes from, as comments at its head.
fn commented(files: &[PathBuf], table: &str) -> String {
    let files = files
        .iter()
        .map(|file| file.display().to_string())
        .collect::<Vec<_>>()
        .join(" ");
    let mut text =
        format!("# Made by `sojourn fit {files}`: the simulator's line nearest to them.\n#\n");
    for line in table.lines() {
        text += format!("# {line}").trim_end();
        text.push('\n');
    }
    text + "\n"
}
