//! The command line's pair of interfaces, as a bridge's file would ask for it.

use crate::name::say;
use crate::{WrongInput, whole};
use clap::{Args, ValueEnum};
use sojourn_bridge::{FailOpen, PortChoice};
use sojourn_capture::SNAP_LEN;
use sojourn_line::{Chance, Line, LineRate, Loss, NotNetem, Reorder};
use sojourn_qdisc::{Entrance, Reading, WORKERS};
use sojourn_service::parse_link_rate;
use sojourn_service::{Around, BridgeFile, BridgePair, PcapFile};
use sojourn_text::{Warnings, load_trace};
use sojourn_units::{Rate, Span, parse_size, parse_span};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// The words of `--port`.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum Port {
    Packet,
    Xdp,
    Auto,
}

impl From<Port> for PortChoice {
    fn from(port: Port) -> Self {
        match port {
            Port::Packet => Self::Packet,
            Port::Xdp => Self::Xdp,
            Port::Auto => Self::Auto,
        }
    }
}

/// Two interfaces and what is between them.
#[derive(Args)]
pub(super) struct PairArgs {
    /// The clients' interface
    #[arg(required_unless_present_any = ["restore", "config"])]
    pub(super) left: Option<String>,

    /// The servers' interface
    #[arg(required_unless_present_any = ["restore", "config"])]
    pub(super) right: Option<String>,

    /// Queue from left to right, in tc's syntax; each may have `split-gso` or `no-split-gso`
    #[arg(long, value_name = "SPEC", default_value = "pfifo")]
    pub(super) up: String,

    /// Queue from right to left
    #[arg(long, value_name = "SPEC", default_value = "pfifo")]
    pub(super) down: String,

    /// Parse both queues as tc does, so that a line of SQM's log can be pasted: the last of several
    /// alternatives counts, and numbers may lack units; prints how it was understood
    #[arg(long)]
    tc: bool,

    /// Rate from left to right [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = parse_link_rate)]
    pub(super) up_rate: Option<Rate>,

    /// Rate from right to left [default: no limit]
    #[arg(long, value_name = "RATE", value_parser = parse_link_rate)]
    pub(super) down_rate: Option<Rate>,

    /// mahimahi trace as the rate from left to right
    #[arg(long, value_name = "FILE", conflicts_with = "up_rate")]
    pub(super) up_trace: Option<PathBuf>,

    /// mahimahi trace as the rate from right to left
    #[arg(long, value_name = "FILE", conflicts_with = "down_rate")]
    pub(super) down_trace: Option<PathBuf>,

    /// Delay after the queue, from left to right
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_span)]
    pub(super) up_delay: Span,

    /// Delay after the queue, from right to left
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_span)]
    pub(super) down_delay: Span,

    /// Extra delay in both directions, uniform from zero to this
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = parse_span)]
    pub(super) jitter: Span,

    /// Let jitter reorder packets
    #[arg(long)]
    pub(super) reorder: bool,

    /// Packets lost after the queue, in both directions: a fraction, or in netem's words such as
    /// "1%", "gemodel 1% 10%" or "state 1% 10%"
    #[arg(long, value_name = "LOSS", default_value = "0", value_parser = loss)]
    pub(super) loss: Loss,

    /// Packets that arrive twice, in both directions: a fraction, or as "1%"
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = chance)]
    pub(super) duplicate: Chance,

    /// Do not start if no kernel bridge can take over when this process dies
    #[arg(long, conflicts_with = "no_fail_open")]
    pub(super) require_fail_open: bool,

    /// No kernel bridge: the link goes down with this process
    #[arg(long)]
    pub(super) no_fail_open: bool,

    /// Let the kernel bridge take over when this process has stalled for this long; 0: never
    /// [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(super) watchdog: Option<Span>,

    /// Drop all queued frames when this process has stalled for longer than this [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    pub(super) stale: Option<Span>,

    /// Leave the kernel bridge in place after a clean end
    #[arg(long, conflicts_with = "no_fail_open")]
    pub(super) keep_bridge: bool,

    /// Leave GRO and LRO of the interfaces as they are
    #[arg(long)]
    pub(super) keep_offloads: bool,

    /// Memory limit for the frames of one direction, queued and in flight [default: 144mb]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(super) memory: Option<u64>,

    /// Cut super-packets before queues that do not say otherwise [default: behind a rate of up to 1
    /// Gbit/s, a trace or tbf]
    #[arg(long, conflicts_with = "no_split_gso")]
    pub(super) split_gso: bool,

    /// Let super-packets pass such queues whole
    #[arg(long)]
    pub(super) no_split_gso: bool,

    /// Number of forwarding threads, which divide the flows and share the rate of `cake`
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = whole::<u32>(1, u64::from(WORKERS)))]
    pub(super) workers: u32,

    /// Never sleep; costs one processor for each worker
    #[arg(long)]
    pub(super) busy_poll: bool,

    /// Sockets that receive and send frames: AF_PACKET, AF_XDP (experimental; AF_PACKET where it is
    /// refused), or AF_XDP if the drivers have zero-copy, otherwise AF_PACKET
    #[arg(long, value_enum, default_value = "packet")]
    pub(super) port: Port,

    /// Send frames past the interface's own qdisc; AF_XDP always does
    #[arg(long)]
    pub(super) qdisc_bypass: bool,

    /// Listen for requests at this Unix socket, which only its owner may open; `sojourn ctl` and
    /// `top` use /run/sojourn/control by default
    #[arg(long, value_name = "PATH")]
    pub(super) control: Option<PathBuf>,

    /// Let this group open the control socket too
    #[arg(long, value_name = "GROUP", requires = "control", value_parser = group)]
    pub(super) control_group: Option<u32>,

    /// Serve metrics for Prometheus at http://ADDRESS/metrics
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    metrics: Option<SocketAddr>,

    /// Also serve a status page at http://ADDRESS/
    #[arg(long, requires = "metrics")]
    status_page: bool,

    /// Seed of all random decisions and of the flow hash [default: random, so that nobody can know
    /// which flows share a queue]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0, u64::MAX))]
    pub(super) seed: Option<u64>,

    /// Capture what the hosts beyond both ports send and receive, with the ports as two interfaces
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,

    /// Bytes of each frame that --pcap keeps, at most 256
    #[arg(long, value_name = "BYTES", default_value_t = SNAP_LEN, requires = "pcap",
          allow_negative_numbers = true, value_parser = whole::<u32>(1, 256))]
    snap_len: u32,
}

/// Reads a queue; says what it is taken for, if tc's reading decides.
fn queue(option: &str, text: &str, as_tc: bool) -> Result<Entrance, WrongInput> {
    let reading = Reading {
        as_tc,
        ..Reading::default()
    };
    let taken = reading.read(text).map_err(|error| {
        let pretty = error.pretty();
        WrongInput(format!("{option}: {}", pretty.trim_end()))
    })?;
    if as_tc {
        say(format_args!("{option} is taken for: {}", taken.queue));
    }
    for note in &taken.notes {
        say(format_args!("{option}: {note}"));
    }
    Ok(taken.queue)
}

/// A fraction, or else netem's words.
fn share<T: From<f64> + FromStr<Err = NotNetem>>(text: &str) -> Result<T, WrongInput> {
    let Ok(number) = text.parse::<f64>() else {
        let words = text.parse::<T>();
        return words.map_err(|error| WrongInput(error.to_string()));
    };
    if !(0.0..=1.0).contains(&number) {
        let message = format!("`{text}` is not a number from 0 to 1, or a share such as `1%`");
        return Err(WrongInput(message));
    }
    Ok(number.into())
}

fn loss(text: &str) -> Result<Loss, WrongInput> {
    share(text)
}

fn chance(text: &str) -> Result<Chance, WrongInput> {
    share(text)
}

/// An address with a port.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is not an address with a port, such as `127.0.0.1:9100` or `[::1]:9100`")
    })
}

/// A group by its name or number.
fn group(text: &str) -> Result<u32, WrongInput> {
    let found = sojourn_text::group(text);
    found.ok_or_else(|| WrongInput(format!("there is no group `{text}` on this machine")))
}

impl PairArgs {
    /// As a file would say it.
    pub(super) fn file(&self) -> anyhow::Result<BridgeFile> {
        // The parser has seen to it that they are there.
        let [left, right] = [&self.left, &self.right].map(|port| port.clone().unwrap_or_default());
        let way = |queue: Entrance, rate, trace: &Option<PathBuf>, delay| {
            let line = Line {
                rate: line_rate(rate, trace.as_ref())?,
                delay,
                jitter: self.jitter,
                reorder: if self.reorder {
                    Reorder::Allowed
                } else {
                    Reorder::Never
                },
                loss: self.loss,
                duplicate: self.duplicate,
            };
            anyhow::Ok((line, queue))
        };
        let up = queue("--up", &self.up, self.tc)?;
        let down = queue("--down", &self.down, self.tc)?;
        let pair = BridgePair {
            name: BridgePair::default_name(&left, &right),
            left,
            right,
            up: way(up, self.up_rate, &self.up_trace, self.up_delay)?,
            down: way(down, self.down_rate, &self.down_trace, self.down_delay)?,
            autorates: [None; 2],
            reflectors: Vec::new(),
            split_gso: match (self.split_gso, self.no_split_gso) {
                (false, false) => None,
                (asked, _) => Some(asked),
            },
            fail_open: match (self.no_fail_open, self.require_fail_open) {
                (true, _) => FailOpen::Off,
                (_, true) => FailOpen::Require,
                _ => FailOpen::Prefer,
            },
            keep_bridge: self.keep_bridge,
            watchdog: self.watchdog,
            stale: self.stale,
            memory: self.memory,
            keep_offloads: self.keep_offloads,
            port: self.port.into(),
            qdisc_bypass: self.qdisc_bypass,
            workers: self.workers,
            busy_poll: self.busy_poll,
            seed: self.seed,
            pcap: self.pcap.clone().map(|path| PcapFile {
                path,
                snap_len: Some(self.snap_len),
            }),
            subscribers: None,
        };
        Ok(BridgeFile {
            around: Around {
                control: self.control.clone(),
                control_group: self.control_group,
                metrics: self.metrics,
                status_page: self.status_page,
            },
            pairs: vec![pair],
            warnings: Warnings::default(),
        })
    }
}

fn line_rate(rate: Option<Rate>, trace: Option<&PathBuf>) -> anyhow::Result<LineRate> {
    if let Some(path) = trace {
        return Ok(LineRate::Trace(load_trace(path).map_err(WrongInput::from)?));
    }
    Ok(rate.map_or(LineRate::Infinite, LineRate::Fixed))
}
