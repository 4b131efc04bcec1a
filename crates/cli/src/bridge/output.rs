//! Output that nobody waits for: a reader that stops, a closed pipe or a full disk ends no
//! bridge.

use std::io::Write;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Texts that may wait for a slow reader; more are left out.
const WAITING: usize = 16;

/// An output with a thread of its own.
pub(super) struct Output {
    sender: SyncSender<Option<String>>,
    thread: JoinHandle<()>,
}

impl Output {
    /// Writes to `out` from now on. What it refuses is lost.
    pub(super) fn start(mut out: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (sender, texts) = sync_channel::<Option<String>>(WAITING);
        let thread = thread::Builder::new().name("output".into());
        let thread = thread.spawn(move || {
            while let Ok(Some(text)) = texts.recv() {
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            }
        })?;
        Ok(Self { sender, thread })
    }

    /// For other threads: hands a text over, or leaves it out when too many wait.
    pub(super) fn writer(&self) -> impl Fn(String) + Send + Clone + 'static {
        let sender = self.sender.clone();
        move |text| {
            let _ = sender.try_send(Some(text));
        }
    }

    /// Hands the last text over, and waits until all has been written. What comes later is lost.
    pub(super) fn finish(self, last: String) {
        // They fail only if the thread is gone.
        let _ = self.sender.send(Some(last));
        let _ = self.sender.send(None);
        let _ = self.thread.join();
    }
}
