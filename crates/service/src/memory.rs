//! Gives memory back to the system once a flood is over.
//!
//! Frames that a pool does not keep go to the allocator, which keeps them too. It is told to give
//! them back when there are many of them and no more come: a forwarding thread that allocated or
//! freed meanwhile would wait for it. What its pool keeps lasts for 7000 frames.

use crate::Fleet;
use sojourn_bridge::give_memory_back;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// How often it looks.
const PERIOD: Duration = Duration::from_secs(1);
/// So many bytes are worth it.
const WORTH: u64 = 16 << 20;

impl Fleet {
    /// Gives memory back from time to time, to the end of the process.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn mind_memory(self: &Arc<Self>) -> io::Result<()> {
        let fleet = Arc::clone(self);
        let thread = thread::Builder::new().name("memory".into());
        let mind = thread.spawn(move || {
            let (mut given_back, mut last) = (0, 0);
            loop {
                thread::sleep(PERIOD);
                let pairs = fleet.all_stats();
                let snapshots = pairs.iter().filter_map(|pair| pair.snapshot.as_ref());
                let sides = snapshots.flat_map(|snapshot| &snapshot.stats);
                let freed: u64 = sides.map(|side| side.freed).sum();
                // Less than before when a pair has gone.
                given_back = freed.min(given_back);
                if freed == last && freed - given_back >= WORTH {
                    give_memory_back();
                    given_back = freed;
                }
                last = freed;
            }
        });
        mind.map(drop)
    }
}
