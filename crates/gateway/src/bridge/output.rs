//! Output that nobody waits for: a reader that stops, a closed pipe or a full disk ends no
//! bridge, and keeps none that ends.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// Texts that may wait for a slow reader; more are left out.
const WAITING: usize = 16;

/// How long a reader may take for what waits at the end.
const PATIENCE: Duration = Duration::from_secs(2);

/// An output with a thread of its own.
pub(super) struct Output {
    sender: Sender<Option<String>>,
    /// Texts that wait.
    waiting: Arc<AtomicUsize>,
    /// Closed when the thread ends.
    end: Receiver<()>,
}

impl Output {
    /// Writes to `out` from now on. What it refuses is lost.
    pub(super) fn start(mut out: impl Write + Send + 'static) -> std::io::Result<Self> {
        let (sender, texts) = channel::<Option<String>>();
        let (ends, end) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&waiting);
        let thread = thread::Builder::new().name("output".into());
        thread.spawn(move || {
            let _ends = ends;
            while let Ok(Some(text)) = texts.recv() {
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
                count.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
        Ok(Self {
            sender,
            waiting,
            end,
        })
    }

    /// For other threads: hands a text over, or leaves it out when too many wait.
    pub(super) fn writer(&self) -> impl Fn(String) + Send + Sync + Clone + 'static {
        let (sender, waiting) = (self.sender.clone(), Arc::clone(&self.waiting));
        move |text| {
            if waiting.fetch_add(1, Ordering::Relaxed) >= WAITING
                || sender.send(Some(text)).is_err()
            {
                waiting.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Hands the last text over, and waits until all has been written, two seconds at most. What
    /// comes later is lost. Tells whether somebody reads.
    pub(super) fn finish(self, last: String) -> bool {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // They fail only if the thread is gone.
        let _ = self.sender.send(Some(last));
        let _ = self.sender.send(None);
        self.end.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout)
    }
}
