//! `sojourn bridge`: a queue between two interfaces.

mod output;

use crate::pcap::{BridgeCapture, SNAP_LEN};
use crate::{FAILED, INTERRUPTED, WRONG_INPUT, WrongInput, print};
use anyhow::Context as _;
use clap::Args;
use output::Output;
use sojourn_live::bridge::{
    Bridge, BridgeConfig, BridgeError, Capture, Control, Direction, FailOpen, Log, NoObserver,
    Remote, parse_link_rate,
};
use sojourn_live::{Clock, STATE, Signal, Signals};
use sojourn_qdisc::{Spec, SpecError};
use sojourn_units::{Rate, Span, Time, parse_size, parse_span, show_rate};
use sojourn_world::{Line, LineRate, RateTrace};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

/// Put queues between two network interfaces
///
/// Frames that arrive at LEFT go up to RIGHT, and those that arrive at RIGHT go down to LEFT,
/// each direction through its own queue, transmitter and delay. Frames that are not IP pass as
/// they are. Needs root. Ends with Ctrl-C, at once with a second one; SIGUSR1 prints statistics.
///
/// GRO and LRO of both interfaces are off while the bridge runs. With fail open, the default, a
/// kernel bridge over both interfaces takes over at once when this process dies, however it
/// dies; after a clean end it is removed.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn bridge eth1 eth2 --up 'fq_codel' --up-rate 20mbit --down 'fq_codel' --down-rate 100mbit
  sojourn bridge eth1 eth2 --up 'tbf rate 20mbit burst 5kb over pie'
  sojourn bridge eth1 eth2 --control /run/sojourn.sock
  sojourn ctl --socket /run/sojourn.sock change up codel target 10ms")]
pub(crate) struct BridgeArgs {
    /// The clients' interface
    #[arg(required_unless_present = "restore")]
    left: Option<String>,

    /// The servers' interface
    #[arg(required_unless_present = "restore")]
    right: Option<String>,

    /// Start no bridge: undo what killed ones have left at interfaces of this network namespace
    #[arg(long, exclusive = true)]
    restore: bool,

    /// Queue from left to right, in tc's notation
    #[arg(long, value_name = "SPEC", default_value = "pfifo", value_parser = spec)]
    up: Spec,

    /// Queue from right to left
    #[arg(long, value_name = "SPEC", default_value = "pfifo", value_parser = spec)]
    down: Spec,

    /// Rate from left to right [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = parse_link_rate)]
    up_rate: Option<Rate>,

    /// Rate from right to left [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = parse_link_rate)]
    down_rate: Option<Rate>,

    /// mahimahi trace as the rate from left to right
    #[arg(long, value_name = "FILE", conflicts_with = "up_rate")]
    up_trace: Option<PathBuf>,

    /// mahimahi trace as the rate from right to left
    #[arg(long, value_name = "FILE", conflicts_with = "down_rate")]
    down_trace: Option<PathBuf>,

    /// Delay after the queue, from left to right
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_span)]
    up_delay: Span,

    /// Delay after the queue, from right to left
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_span)]
    down_delay: Span,

    /// Extra delay in both directions, uniform from zero to this
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_span)]
    jitter: Span,

    /// Let jitter reorder packets
    #[arg(long)]
    reorder: bool,

    /// Probability that a packet is lost after the queue, in both directions
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    loss: f64,

    /// Do not start if no kernel bridge can take over when this process dies
    #[arg(long, conflicts_with = "no_fail_open")]
    require_fail_open: bool,

    /// No kernel bridge: the link goes down with this process
    #[arg(long)]
    no_fail_open: bool,

    /// Let the kernel bridge take over when this process stands still for so long; 0: never
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_span)]
    watchdog: Span,

    /// Drop what is held and what waits when this process has stood still for longer
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_span)]
    stale: Span,

    /// Leave the kernel bridge in place after a clean end
    #[arg(long, conflicts_with = "no_fail_open")]
    keep_bridge: bool,

    /// Leave GRO and LRO of the interfaces as they are
    #[arg(long)]
    keep_offloads: bool,

    /// Most memory that the frames of one direction may hold, in queues and on the way
    #[arg(long, value_name = "SIZE", default_value = "144mb", value_parser = parse_size)]
    memory: u64,

    /// Cut super-packets before both queues [default: behind a rate of up to 1 Gbit/s, a trace or
    /// tbf]
    #[arg(long, conflicts_with = "no_split_gso")]
    split_gso: bool,

    /// Let super-packets pass both queues whole
    #[arg(long)]
    no_split_gso: bool,

    /// Never sleep; costs one processor
    #[arg(long)]
    busy_poll: bool,

    /// Hand frames to the driver past the interface's own qdisc
    #[arg(long)]
    qdisc_bypass: bool,

    /// Listen for requests at this Unix socket, which its owner alone may open
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,

    /// Let this group open the control socket too
    #[arg(long, value_name = "GROUP", requires = "control", value_parser = group)]
    control_group: Option<u32>,

    /// Seed of the queues', losses' and jitter's dice and of the hash of flows [default: random, so
    /// that nobody knows which flows share a queue]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Capture what the hosts beyond both ports send and get, with the ports as two interfaces
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,

    /// Bytes of each frame that --pcap keeps, at most 256
    #[arg(long, value_name = "BYTES", default_value_t = SNAP_LEN, requires = "pcap")]
    snap_len: u32,

    /// Print the statistics at the end as JSON, and nothing else on standard output
    #[arg(long)]
    json: bool,
}

fn spec(text: &str) -> Result<Spec, WrongInput> {
    let parsed = text.parse();
    parsed.map_err(|error: SpecError| WrongInput(error.pretty()))
}

fn probability(text: &str) -> Result<f64, WrongInput> {
    let number = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    number.ok_or_else(|| WrongInput("a probability is a number from 0 to 1".into()))
}

impl BridgeArgs {
    /// Left and right; the parser has seen to it that they are there.
    fn ports(&self) -> [&str; 2] {
        [&self.left, &self.right].map(|port| port.as_deref().unwrap_or_default())
    }

    fn config(&self) -> anyhow::Result<BridgeConfig> {
        let [left, right] = self.ports();
        let mut config = BridgeConfig::new(left, right);
        config.claim = true;
        let line = |rate, trace: &Option<PathBuf>, delay| {
            anyhow::Ok(Line {
                rate: line_rate(rate, trace.as_ref())?,
                delay,
                jitter: self.jitter,
                reorder: self.reorder,
                loss: self.loss,
            })
        };
        config.up.qdisc = self.up.clone();
        config.up.line = line(self.up_rate, &self.up_trace, self.up_delay)?;
        config.down.qdisc = self.down.clone();
        config.down.line = line(self.down_rate, &self.down_trace, self.down_delay)?;
        config.seed = self.seed.unwrap_or(config.seed);
        config.busy_poll = self.busy_poll;
        config.qdisc_bypass = self.qdisc_bypass;
        config.keep_bridge = self.keep_bridge;
        let split_gso = match (self.split_gso, self.no_split_gso) {
            (false, false) => None,
            (asked, _) => Some(asked),
        };
        (config.up.split_gso, config.down.split_gso) = (split_gso, split_gso);
        config.memory = self.memory;
        config.watchdog = self.watchdog;
        config.stale = self.stale;
        config.keep_offloads = self.keep_offloads;
        config.fail_open = match (self.no_fail_open, self.require_fail_open) {
            (true, _) => FailOpen::Off,
            (_, true) => FailOpen::Require,
            _ => FailOpen::Prefer,
        };
        Ok(config)
    }
}

/// A capture under way: its file, and what copies frames for it.
type Captured = (BridgeCapture, Capture);

impl BridgeArgs {
    #[expect(clippy::disallowed_methods, reason = "captures say the time of day")]
    /// Begins the capture, if one is wanted; `clock` is the bridge's.
    fn capture(&self, clock: Clock, log: Log) -> anyhow::Result<Option<Captured>> {
        let Some(path) = &self.pcap else {
            return Ok(None);
        };
        let day = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let epoch = Span::from_nanos(day.as_nanos() as u64) - (clock.now() - Time::ZERO);
        let (file, taps) = BridgeCapture::create(path, self.ports(), epoch, self.snap_len, log)?;
        let capture = Capture::start(taps).context("start the capture's thread")?;
        Ok(Some((file, capture)))
    }
}

/// Runs the bridge to its end, and ends the capture.
fn forward(
    bridge: &mut Bridge,
    stop: &AtomicBool,
    capture: Option<Captured>,
) -> anyhow::Result<()> {
    let Some((file, mut capture)) = capture else {
        return Ok(bridge.run(stop, &mut NoObserver)?);
    };
    let result = bridge.run(stop, &mut capture);
    let lost = capture.lost();
    drop(capture);
    if lost > 0 {
        eprintln!("sojourn: --pcap: {lost} frames were left out, the disk was too slow");
    }
    result?;
    file.finish()
}

fn line_rate(rate: Option<Rate>, trace: Option<&PathBuf>) -> anyhow::Result<LineRate> {
    if let Some(path) = trace {
        let name = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("read {name}"))?;
        let trace: RateTrace = sojourn_scenario::parse_trace(&text)
            .map_err(|problem| anyhow::anyhow!("{name}:{problem}"))?;
        return Ok(LineRate::Trace(Arc::new(trace)));
    }
    Ok(rate.map_or(LineRate::Infinite, LineRate::Fixed))
}

fn describe(direction: &Direction) -> String {
    let rate = match &direction.line.rate {
        LineRate::Infinite => "no limit".to_owned(),
        LineRate::Fixed(rate) => show_rate(*rate),
        LineRate::Trace(_) => "trace".to_owned(),
    };
    format!("{} at {rate}", direction.qdisc)
}

/// The outputs of a bridge, and its threads beside the one that forwards.
struct Around {
    out: Output,
    errors: Output,
    signals: Signals,
}

impl Around {
    fn start() -> anyhow::Result<Self> {
        // Before there is a second thread.
        let signals = Signals::block()?;
        Ok(Self {
            out: Output::start(std::io::stdout())?,
            errors: Output::start(std::io::stderr())?,
            signals,
        })
    }

    /// A line for whoever looks after the bridge.
    fn log(&self) -> impl Fn(String) + Send + Clone + 'static {
        let write = self.errors.writer();
        move |text| write(format!("sojourn: {text}\n"))
    }

    /// Does what signals ask for, to the end of the process.
    fn follow_signals(&self, bridge: Remote, stop: Arc<AtomicBool>) -> anyhow::Result<()> {
        let (signals, log, report) = (self.signals, self.log(), self.out.writer());
        let thread = thread::Builder::new().name("signals".into());
        thread.spawn(move || {
            loop {
                match signals.wait() {
                    // What hangs is left to the kernel bridge.
                    Signal::Stop if stop.swap(true, Ordering::Relaxed) => {
                        std::process::exit(INTERRUPTED.into());
                    }
                    Signal::Stop => bridge.wake(),
                    Signal::Report => match bridge.snapshot() {
                        Ok(snapshot) => report(snapshot.text()),
                        Err(error) => log(error.to_string()),
                    },
                    Signal::Reload => log("SIGHUP: there is nothing to read anew".into()),
                }
            }
        })?;
        Ok(())
    }
}

/// Opens everything that can be refused.
fn open(args: &BridgeArgs, config: BridgeConfig) -> Result<(Bridge, Option<Control>), BridgeError> {
    let control = args.control.as_deref();
    let control = control.map(|path| Control::listen(path, args.control_group));
    let control = control.transpose()?;
    Ok((Bridge::open(config)?, control))
}

pub(crate) fn bridge(args: &BridgeArgs) -> anyhow::Result<u8> {
    if args.restore {
        let undone = sojourn_live::restore().with_context(|| format!("read {STATE}"))?;
        print(
            &undone
                .iter()
                .fold(String::new(), |all, line| all + line + "\n"),
        )?;
        return Ok(0);
    }
    let config = args.config()?;
    let [up, down] = [&config.up, &config.down].map(describe);
    let around = Around::start()?;
    let capture = args.capture(config.clock, Box::new(around.log()))?;
    let (mut bridge, control) = match open(args, config) {
        Ok(opened) => opened,
        Err(error) => {
            eprintln!("sojourn: {error}");
            return Ok(match error {
                BridgeError::NoSuchInterface { .. }
                | BridgeError::Same(_)
                | BridgeError::NotEthernet(_)
                | BridgeError::Down(_) => WRONG_INPUT,
                _ => FAILED,
            });
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    around.follow_signals(bridge.remote(), Arc::clone(&stop))?;
    let log = Box::new(around.log());
    let control = control.map(|control| control.serve(bridge.remote(), log));
    let control = control.transpose().context("start the control thread")?;
    let state = bridge.fail_open_state();
    let [left, right] = args.ports();
    let ready = format!("ready: {left} <-> {right}; up: {up}; down: {down}; {state}\n");
    if args.json {
        around.errors.writer()(ready);
    } else {
        around.out.writer()(ready);
    }
    let result = forward(&mut bridge, &stop, capture);
    let last = bridge.snapshot();
    // The interfaces are as they were before anybody is told, who may not listen.
    drop((control, bridge));
    around.out.finish(if args.json {
        format!("{}\n", last.json())
    } else {
        last.text()
    });
    around.errors.finish(String::new());
    result?;
    Ok(0)
}

/// A group by its name or number.
fn group(text: &str) -> Result<u32, WrongInput> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    // group(5): name, password, number, members.
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let found = groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        fields.nth(1)?.parse().ok().filter(|_| name == text)
    });
    found.ok_or_else(|| WrongInput(format!("there is no group `{text}` in /etc/group")))
}
