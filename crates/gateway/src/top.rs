//! `top`: what a running bridge does, on the terminal, and as a recording where the program can
//! write one.
#![allow(clippy::disallowed_methods, reason = "the user watches in real time")]

mod page;
mod record;
mod sample;
mod screen;
mod view;

use crate::connection::Connection;
use crate::signal::on_signals;
use crate::{WrongInput, print, whole};
use anyhow::Context as _;
use clap::Args;
use record::Recorder;
pub use record::{COLUMNS, ColumnType, Field, Recording};
use sample::Sample;
use screen::{Screen, give_back};
use serde_json::{Value, json};
use sojourn_service::{CONTROL, Order as FlowOrder};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use view::{Asked, View};

/// How often the bridge is asked.
const PERIOD: Duration = Duration::from_millis(100);

/// Watch a running bridge: rates, delays, drops, marks and the top flows, ten times a second
///
/// The bridge listens where its `--control` says, the service's at the default. Its flows are
/// counted while somebody watches. Keys: q ends, p pauses, d chooses directions, s what flows are
/// sorted by, left and right the pair; up and down scroll the flows.
#[derive(Args)]
#[group(id = "watching")]
#[command(after_help = "Examples:
  sojourn top
  sojourn top --pair wan --seconds 60")]
pub struct TopArgs {
    /// The bridge's control socket
    #[arg(long, value_name = "PATH", default_value = CONTROL)]
    socket: PathBuf,

    /// Which pair of interfaces, for a bridge with several [default: all]
    #[arg(long, value_name = "NAME")]
    pair: Option<String>,

    /// Stop after this many seconds
    #[arg(long, value_name = "N", value_parser = whole::<u64>(1, u64::MAX))]
    seconds: Option<u64>,

    /// Number of flows of each direction to show and record
    #[arg(long, value_name = "N", default_value_t = 20,
          value_parser = whole::<u64>(1, 100))]
    flows: u64,
}

impl TopArgs {
    /// As the bridge reads it.
    fn request(&self) -> Value {
        json!({"command": "top", "pair": self.pair, "flows": self.flows})
    }
}

/// A recording that is asked for.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// Where it will be.
    pub file: &'a Path,
    /// Begins the table there.
    pub open: fn(&Path) -> anyhow::Result<Box<dyn Recording>>,
}

type Samples = Receiver<anyhow::Result<Sample>>;

/// Asks from now on, on a thread of its own, so that no key waits for a bridge that does not
/// answer. What the other side has not taken yet is left out.
fn watch(
    mut connection: Connection,
    mut request: Value,
) -> anyhow::Result<(Samples, Sender<FlowOrder>)> {
    let (sender, samples) = sync_channel(8);
    let (ordering, orders) = channel::<FlowOrder>();
    let thread = thread::Builder::new().name("samples".into());
    let ask = move || {
        let mut due = Instant::now() + PERIOD;
        loop {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            due = (due + PERIOD).max(Instant::now());
            if let Some(order) = orders.try_iter().last() {
                request["order"] = order.word().into();
            }
            let sample = connection.ask(&request).and_then(Sample::read);
            let is_last = sample.is_err();
            if sender.send(sample).is_err() || is_last {
                return;
            }
        }
    };
    thread.spawn(ask).context("start the thread that asks")?;
    Ok((samples, ordering))
}

/// What is under way.
struct Session {
    samples: Samples,
    recorder: Option<Recorder>,
    stop: Arc<AtomicBool>,
    end: Option<Instant>,
}

impl Session {
    fn is_over(&self) -> bool {
        let end = self.end.is_some_and(|end| Instant::now() >= end);
        end || self.stop.load(Ordering::Relaxed)
    }

    /// The next sample, recorded, if one comes before `patience` is over.
    fn next(&mut self, patience: Duration) -> anyhow::Result<Option<Sample>> {
        let sample = match self.samples.recv_timeout(patience) {
            Ok(sample) => sample.context("the bridge answers no more")?,
            // The thread that asks has said why it ends.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return Ok(None),
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.add(&sample).context("--record")?;
        }
        Ok(Some(sample))
    }

    /// Records to the end.
    fn record(&mut self) -> anyhow::Result<()> {
        while !self.is_over() {
            self.next(PERIOD)?;
        }
        Ok(())
    }

    /// Shows, and records beside it, to the end.
    fn show(&mut self, mut view: View, ordering: &Sender<FlowOrder>) -> anyhow::Result<()> {
        let mut screen = Screen::open().context("the terminal")?;
        let mut heard = Instant::now();
        while !self.is_over() {
            while let Some(sample) = self.next(Duration::ZERO)? {
                heard = Instant::now();
                view.add(sample);
            }
            view.silence = heard.elapsed().as_secs();
            let drawn = screen.draw(|frame| page::draw(frame, &mut view));
            drawn.context("the terminal")?;
            let Some(key) = Screen::key(PERIOD / 2).context("the terminal")? else {
                continue;
            };
            match view.press(key) {
                Asked::Nothing => {}
                // A bridge that is gone needs to know nothing.
                Asked::Order => drop(ordering.send(view.order)),
                Asked::End => break,
            }
        }
        Ok(())
    }
}

/// Runs `top`, and records beside it where that is asked for; yields the exit status.
///
/// # Errors
/// Why the bridge cannot be asked, the terminal cannot be drawn on, or the table not be written.
pub fn top(args: &TopArgs, record: Option<&Record<'_>>) -> anyhow::Result<u8> {
    let is_terminal = io::stdout().is_terminal();
    if !is_terminal && record.is_none() {
        return Err(WrongInput("there is no terminal to draw on".into()).into());
    }
    let mut connection = Connection::open(&args.socket)?;
    let first = Sample::read(connection.ask(&args.request())?)?;
    let mut recorder = record
        .map(|record| (record.open)(record.file).map(Recorder::begin))
        .transpose()
        .context("--record")?;
    if let Some(recorder) = &mut recorder {
        recorder.add(&first).context("--record")?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let last = if is_terminal { give_back } else { || {} };
    on_signals(move || flag.store(true, Ordering::Relaxed), last)?;
    let end = args.seconds.map(Duration::from_secs);
    let (samples, ordering) = watch(connection, args.request())?;
    let mut session = Session {
        samples,
        recorder,
        stop,
        end: end.and_then(|end| Instant::now().checked_add(end)),
    };
    let ended = if is_terminal {
        session.show(View::new(first), &ordering)
    } else {
        session.record()
    };
    if let (Some(recorder), Some(record)) = (session.recorder, record) {
        let (samples, rows) = recorder.finish().context("--record")?;
        let file = record.file.display();
        print(&format!("{file}: {samples} samples, {rows} rows\n"))?;
    }
    ended.map(|()| 0)
}
