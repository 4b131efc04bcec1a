//! `sojourn bridge`: queues between interfaces.

mod args;
mod output;

use crate::name::{line, say};
use crate::{FAILED, INTERRUPTED, WRONG_INPUT, print};
use anyhow::Context as _;
use args::PairArgs;
use clap::Args;
use output::Output;
use serde_json::{Map, Value};
use sojourn_bridge::{Bridge, BridgeError};
use sojourn_bridge::{STATE, Signal, Signals};
use sojourn_service::{
    BridgeFile, ControlSocket, Ending, Fleet, Log, Metrics, News, Notify, Pair, Recorded, describe,
    show,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Put queues between two network interfaces
///
/// Frames that arrive at LEFT go up to RIGHT, and those that arrive at RIGHT go down to LEFT,
/// each direction through its own queue, transmitter and delay. Frames that are not IP pass
/// unchanged. Needs root. Ctrl-C ends it, a second one at once; SIGUSR1 prints statistics.
///
/// GRO and LRO of both interfaces are off while the bridge runs. With fail open, the default, a
/// kernel bridge over both interfaces takes over at once when this process dies, however it
/// dies; after a clean end it is removed.
///
/// With a file (--config) one process serves several pairs of interfaces. SIGHUP and `sojourn ctl
/// reload` apply changes of the file, and `sojourn check` checks it.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn bridge eth1 eth2 --up 'fq_codel' --up-rate 20mbit --down 'fq_codel' --down-rate 100mbit
  sojourn bridge eth1 eth2 --up 'tbf rate 20mbit burst 5kb over pie'
  sojourn bridge eth1 eth2 --control /run/sojourn/control
  sojourn bridge --config /etc/sojourn/bridge.toml
  sojourn ctl change up codel target 10ms")]
pub struct BridgeArgs {
    /// Read all settings from this file
    #[arg(long, value_name = "FILE", conflicts_with = "PairArgs")]
    config: Option<PathBuf>,

    /// Start no bridge: print what the file would start, and whether its interfaces exist
    #[arg(long, requires = "config")]
    dry_run: bool,

    /// Start no bridge: undo what killed bridges have changed in this network namespace
    #[arg(long, exclusive = true)]
    restore: bool,

    /// Print the statistics at the end as JSON, and nothing else on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    pair: PairArgs,
}

/// The outputs of a bridge, and its signals.
struct Outside {
    out: Output,
    errors: Output,
    signals: Signals,
}

impl Outside {
    fn start() -> anyhow::Result<Self> {
        // Before there is a second thread.
        let signals = Signals::block()?;
        Ok(Self {
            out: Output::start(std::io::stdout())?,
            errors: Output::start(std::io::stderr())?,
            signals,
        })
    }

    /// Takes lines for whoever looks after the bridge.
    fn log(&self) -> Log {
        let write = self.errors.writer();
        Arc::new(move |text| write(line(text)))
    }

    /// Does what signals ask for, to the end of the process.
    fn follow_signals(&self, fleet: Arc<Fleet>) -> anyhow::Result<()> {
        let (signals, log, report) = (self.signals, self.log(), self.out.writer());
        let thread = thread::Builder::new().name("signals".into());
        thread.spawn(move || {
            let mut stops = false;
            let reload = reloads(&fleet);
            loop {
                match signals.wait() {
                    // What hangs is left to the kernel bridge.
                    Signal::Stop if stops => std::process::exit(INTERRUPTED.into()),
                    Signal::Stop => {
                        stops = true;
                        let fleet = Arc::clone(&fleet);
                        aside("stop", move || fleet.stop());
                    }
                    Signal::Report => {
                        let (fleet, log, report) =
                            (Arc::clone(&fleet), log.clone(), report.clone());
                        aside("report", move || match fleet.text() {
                            Ok(text) => report(text),
                            Err(error) => log(error.to_string()),
                        });
                    }
                    // One that waits already reads what is in the file then.
                    Signal::Reload => drop(reload.as_ref().map(|it| it.try_send(()))),
                }
            }
        })?;
        Ok(())
    }
}

/// Does something on a thread of its own: whoever takes signals waits for nobody.
fn aside(name: &str, work: impl FnOnce() + Send + 'static) {
    // Without threads left the second signal ends the process.
    let _ = thread::Builder::new().name(name.into()).spawn(work);
}

/// A thread that has the bridges follow their file, once for each number of signals that come while
/// it does. None where there can be none.
fn reloads(fleet: &Arc<Fleet>) -> Option<SyncSender<()>> {
    let (sender, asked) = sync_channel(1);
    let fleet = Arc::clone(fleet);
    let thread = thread::Builder::new().name("reload".into()).spawn(move || {
        while asked.recv().is_ok() {
            // It logs what comes of it.
            drop(fleet.reload("SIGHUP", false));
        }
    });
    thread.ok().map(|_| sender)
}

/// What the file would start.
fn dry_run(path: Option<&Path>, file: BridgeFile) -> anyhow::Result<u8> {
    let mut status = 0;
    for pair in file.pairs.into_iter().map(Pair::from) {
        match Bridge::foresee(&pair.config) {
            Ok(foreseen) => {
                let (name, queues) = (&pair.name, describe(&pair.config));
                print(&format!("pair {name} starts: {queues}\n"))?;
                for what in foreseen {
                    print(&format!("pair {name}: {what}\n"))?;
                }
            }
            Err(error) => {
                tell(&error, path, &format!("pair {}: ", pair.name));
                status = WRONG_INPUT;
            }
        }
    }
    Ok(status)
}

/// Says why a bridge does not start, at the interface's place where a file names it.
fn tell(error: &BridgeError, path: Option<&Path>, who: &str) {
    match (path, error.interface()) {
        (Some(file), Some(interface)) => {
            let message = error.to_string();
            eprint!("{}", BridgeFile::complaint(file, interface, &message));
        }
        _ => say(format_args!("{who}{error}")),
    }
}

/// Starts all pairs of a file, or says why not.
fn start(
    args: &BridgeArgs,
    file: BridgeFile,
    outside: &Outside,
) -> anyhow::Result<Result<Started, u8>> {
    let control = file
        .around
        .control
        .as_deref()
        .map(|path| ControlSocket::listen(path, file.around.control_group))
        .transpose()?;
    let metrics = file.around.metrics.map(Metrics::listen).transpose()?;
    let pairs = file.pairs.into_iter().map(Pair::from).collect();
    let notify = Notify::from_environment().context("NOTIFY_SOCKET")?;
    let path = args.config.clone();
    let fleet = Fleet::start(pairs, path, file.around, outside.log(), notify);
    let (fleet, news) = match fleet {
        Ok(started) => started,
        Err(error) => {
            tell(&error, args.config.as_deref(), "");
            return Ok(Err(match error {
                BridgeError::NoSuchInterface { .. }
                | BridgeError::Same(_)
                | BridgeError::NotEthernet(_)
                | BridgeError::Down(_) => WRONG_INPUT,
                _ => FAILED,
            }));
        }
    };
    Ok(Ok(Started {
        fleet,
        news,
        control,
        metrics,
    }))
}

/// A fleet that forwards.
struct Started {
    fleet: Arc<Fleet>,
    news: Receiver<News>,
    control: Option<ControlSocket>,
    metrics: Option<Metrics>,
}

/// Runs `bridge`; yields the exit status.
///
/// # Errors
/// What went wrong while it ran, or cannot be done.
pub fn bridge(args: &BridgeArgs) -> anyhow::Result<u8> {
    if args.restore {
        let undone = sojourn_bridge::restore().with_context(|| format!("read {STATE}"))?;
        let lines = undone.iter().map(|line| format!("{line}\n"));
        print(&lines.collect::<String>())?;
        return Ok(0);
    }
    let file = match &args.config {
        Some(path) => BridgeFile::load(path)?,
        None => args.pair.file()?,
    };
    eprint!("{}", file.warnings);
    if args.dry_run {
        return dry_run(args.config.as_deref(), file);
    }
    let outside = Outside::start()?;
    let started = match start(args, file, &outside)? {
        Ok(started) => started,
        Err(status) => return Ok(status),
    };
    let fleet = started.fleet;
    outside.follow_signals(Arc::clone(&fleet))?;
    let control = started
        .control
        .map(|control| control.serve(Arc::clone(&fleet)))
        .transpose()
        .context("start the control thread")?;
    if let Some(metrics) = started.metrics {
        let served = metrics.serve(Arc::clone(&fleet));
        served.context("start the metrics' thread")?;
    }
    fleet
        .mind_memory()
        .context("start the thread that gives memory back")?;
    fleet
        .reassure()
        .context("start the thread that tells the service manager")?;
    fleet.ready();
    let ready = fleet
        .pairs()
        .into_iter()
        .map(|(_, config, state)| format!("ready: {}; {state}\n", describe(&config)))
        .collect::<Vec<String>>()
        .concat();
    if args.json {
        outside.errors.writer()(ready);
    } else {
        outside.out.writer()(ready);
    }
    let ended = fleet.wait(&started.news);
    drop(control);
    finish(args, ended, fleet.finish_captures(), outside)
}

/// Says what was counted, and tells of what went wrong.
fn finish(
    args: &BridgeArgs,
    ended: Vec<Ending>,
    recorded: Vec<Recorded>,
    outside: Outside,
) -> anyhow::Result<u8> {
    let counted = ended
        .iter()
        .filter_map(|end| Some((end.name.as_str(), end.last.as_ref()?)));
    outside.out.finish(if args.json {
        let stats: Map<String, Value> = counted
            .map(|(name, last)| (name.to_owned(), last.json()))
            .collect();
        format!("{}\n", Value::Object(stats))
    } else {
        show(counted)
    });
    let mut failed = None;
    for end in ended {
        let result = end.result.with_context(|| format!("pair {}", end.name));
        failed = failed.or(result.err());
    }
    let mut told = Vec::new();
    for Recorded { path, lost, result } in recorded {
        let path = path.display();
        if lost > 0 {
            let what = "frames were left out, the disk was too slow";
            told.push(line(format_args!("{path}: {lost} {what}")));
        }
        // It was told when it happened; the bridge has ended as it was asked to.
        if let Err(error) = result {
            told.push(line(error));
        }
    }
    let is_read = outside.errors.finish(told.concat());
    match failed {
        None => Ok(0),
        Some(error) if is_read => Err(error),
        // To be told would take as long as nobody reads.
        Some(_) => Ok(FAILED),
    }
}
