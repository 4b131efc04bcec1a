//! A connection to a running bridge's control socket.

use anyhow::{Context as _, bail};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a bridge may take: its own patience with its forwarding thread, and some more.
const PATIENCE: Duration = Duration::from_secs(5);

/// Somebody who answers.
pub(crate) struct Connection {
    path: PathBuf,
    reader: BufReader<UnixStream>,
}

impl Connection {
    /// Connects to whoever listens at `path`.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(path).with_context(|| {
            let path = path.display();
            format!("no bridge answers at {path} (`--socket` names another bridge's socket)")
        })?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            path: path.to_owned(),
            reader: BufReader::new(stream),
        })
    }

    /// The answer to a request.
    pub(crate) fn ask(&mut self, request: &Value) -> anyhow::Result<Value> {
        let path = self.path.display();
        if let Err(error) = writeln!(self.reader.get_ref(), "{request}") {
            // Not as a cause: a closed pipe would be taken for that of our own output.
            bail!("{path} has hung up: {error}");
        }
        let mut answer = String::new();
        let read = match self.reader.read_line(&mut answer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => bail!(
                "{path} has not answered for {} s: the process stands still or is overloaded",
                PATIENCE.as_secs()
            ),
            read => read.with_context(|| format!("{path} does not answer"))?,
        };
        if read == 0 {
            bail!("{path} has hung up");
        }
        let answer = serde_json::from_str(&answer);
        answer.with_context(|| format!("{path} is not the socket of a bridge"))
    }

    /// What comes behind the answers.
    pub(crate) fn into_rest(self) -> BufReader<UnixStream> {
        self.reader
    }
}
