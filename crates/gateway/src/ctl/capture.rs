//! `sojourn ctl capture`: frames of a running bridge.

use crate::signal::on_signal;
use crate::{WrongInput, whole};
use anyhow::Context as _;
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use sojourn_capture::SNAP_LEN;
use sojourn_service::CapturePlace;
use sojourn_units::{Span, parse_span, show_span};
use std::fs::File;
use std::io::{self, BufReader, IsTerminal as _, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Capture frames of a running bridge, as pcapng on standard output or to a file
///
/// Ctrl-C, --packets or --duration end it. The bridge never waits: frames lost to a slow reader are
/// counted in the capture and in `history`.
#[derive(Args)]
#[command(after_help = "Examples:
  sojourn ctl capture | tshark -r -
  sojourn ctl capture --write slow.pcapng --duration 10s
  sojourn ctl --pair wan capture --at up:in,up --packets 1000 | \\
    tcpdump -r -
  ssh router sojourn ctl capture | wireshark -k -i -")]
pub(super) struct CaptureArgs {
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    write: Option<PathBuf>,

    /// Where to capture: what the hosts beyond the left and right port send and receive (left,
    /// right), frames offered to a queue (up:in, down:in), and frames that leave it (up, down)
    #[arg(
        long,
        value_name = "PLACE",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(CapturePlace::WORDS),
        default_value = "left,right",
    )]
    at: Vec<String>,

    /// Bytes of each frame that are kept, at most 256
    #[arg(long, value_name = "BYTES", default_value_t = SNAP_LEN,
          value_parser = whole::<u32>(1, 256))]
    snap_len: u32,

    /// Stop after this many frames
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0, u64::MAX))]
    packets: Option<u64>,

    /// Stop after this time
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    duration: Option<Span>,
}

impl CaptureArgs {
    /// As the bridge reads it.
    pub(super) fn request(&self) -> Value {
        json!({
            "command": "capture",
            "places": self.at,
            "snap_len": self.snap_len,
            "frames": self.packets,
            "duration": self.duration.map(show_span),
        })
    }

    /// Whether there is somebody to read it.
    pub(super) fn check(&self) -> Result<(), WrongInput> {
        if self.write.is_none() && io::stdout().is_terminal() {
            return Err(WrongInput(
                "a capture is nothing for a terminal: give `--write FILE`, or a pipe to tshark or \
                 wireshark"
                    .into(),
            ));
        }
        Ok(())
    }

    /// Takes what comes to where it shall go, until it ends or a signal does that.
    pub(super) fn copy(&self, mut connection: BufReader<UnixStream>) -> anyhow::Result<u8> {
        let (mut out, name): (Box<dyn Write>, _) = match &self.write {
            Some(path) => {
                let name = path.display().to_string();
                let file = File::create(path).with_context(|| format!("create {name}"))?;
                (Box::new(file), name)
            }
            None => (Box::new(io::stdout()), "standard output".to_owned()),
        };
        let stream = connection.get_ref();
        stream.set_read_timeout(None)?;
        let ends = stream.try_clone()?;
        // The bridge writes how it ended, and then ends too.
        on_signal(move || drop(ends.shutdown(Shutdown::Write)))?;
        let mut bytes = vec![0; 64 << 10];
        loop {
            let len = connection.read(&mut bytes).context("the bridge is gone")?;
            if len == 0 {
                return Ok(0);
            }
            let written = out.write_all(&bytes[..len]).and_then(|()| out.flush());
            written.with_context(|| format!("cannot write {name}"))?;
        }
    }
}
