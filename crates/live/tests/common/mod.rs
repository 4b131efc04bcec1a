//! What tests of the live world share.
// Each of them uses a part.
#![allow(dead_code, unreachable_pub, unused_imports)]

pub mod cells;
pub mod flood;
mod rig;
mod stamped;
mod tags;
mod taken;

pub use rig::{
    Link, Net, OURS, PASSES, PATIENCE, Raw, StopOnDrop, available, exchange, frame, is_ours,
    measured, passes, scheduled, stay_on_a_processor, undisturbed, wait_for,
};
pub use stamped::Stamped;
pub use tags::tag_what_leaves;
pub use taken::taken;

use sojourn_bridge::{Bridge, BridgeConfig, NoObserver, Observer, Remote, Side, SideStats};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

/// What a bridge counted.
pub struct Stats {
    pub up: SideStats,
    pub down: SideStats,
}

impl Link {
    /// Runs a bridge while `work` runs.
    pub fn bridged<T>(&self, config: BridgeConfig, work: impl FnOnce() -> T) -> (T, Stats) {
        let (value, stats, NoObserver) = self.observed(config, NoObserver, work);
        (value, stats)
    }

    /// As `bridged`, with an observer.
    pub fn observed<T, O: Observer + Send>(
        &self,
        config: BridgeConfig,
        observer: O,
        work: impl FnOnce() -> T,
    ) -> (T, Stats, O) {
        self.asked(config, observer, |_| work())
    }

    /// As `observed`, with a bridge that can be asked while it runs.
    pub fn asked<T, O: Observer + Send>(
        &self,
        config: BridgeConfig,
        mut observer: O,
        work: impl FnOnce(&Remote) -> T,
    ) -> (T, Stats, O) {
        let stop = AtomicBool::new(false);
        let (ready, is_ready) = mpsc::channel();
        thread::scope(|scope| {
            let runner = scope.spawn(|| {
                self.middle.enter();
                let mut bridge = Bridge::open(config).expect("the bridge opens");
                ready.send(bridge.remote()).expect("the test waits");
                bridge.run(&stop, &mut observer).expect("the bridge runs");
                (Side::BOTH.map(|side| bridge.stats(side)), observer)
            });
            let _stop = StopOnDrop(&stop);
            let remote = is_ready.recv().expect("the bridge is open");
            let value = work(&remote);
            stop.store(true, Ordering::Relaxed);
            let ([up, down], observer) = runner.join().expect("the bridge does not panic");
            (value, Stats { up, down }, observer)
        })
    }
}

/// A bridge over the link that passes everything at once. With a seed of its own: by chance two
/// flows may have one place in a flow queue.
pub fn plain() -> BridgeConfig {
    BridgeConfig {
        seed: 1,
        ..BridgeConfig::new("a1", "b1")
    }
}
