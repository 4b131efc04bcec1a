//! Shows the frames of a run to its taps.

use crate::lab::graph::hosts_of;
use sojourn_bridge::{CapturePoint, Frame, Observer, Point, Probe, Side, View, Watch, probes};
use sojourn_units::Time;
use sojourn_world::{TapPoint, Taps};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// An observer that shows frames to taps. Dropping the last of a run's ends their thread once it
/// has seen all.
pub(crate) struct Capture {
    // Dropped before the thread is waited for.
    probe: Probe,
    _viewer: Arc<Viewer>,
}

/// The thread, which ends with the last of its captures.
struct Viewer(Option<JoinHandle<()>>);

/// Which links and nodes a bridge is between, by its sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub(crate) links: [Option<usize>; 2],
    pub(crate) nodes: [usize; 2],
    /// Whether nodes pass on what is not theirs, which their taps do not see.
    pub(crate) routed: bool,
}

impl Between {
    /// Where in this bridge a tap sees frames, if it does.
    fn watch(&self, number: usize, tap: TapPoint) -> Option<Watch> {
        let of = |link: usize| self.links.iter().position(|&here| here == Some(link));
        let (point, hosts) = match tap {
            TapPoint::Offered(link) => (CapturePoint::Offered(Side::BOTH[of(link)?]), None),
            TapPoint::Dequeued(link) => (CapturePoint::Dequeued(Side::BOTH[of(link)?]), None),
            // The bridge has no radio.
            TapPoint::Air(_) => return None,
            TapPoint::Node(node) => {
                let leaves = self.nodes.iter().position(|&here| here == node)?;
                let hosts = self.routed.then(|| hosts_of(node));
                (CapturePoint::Beyond(Side::BOTH[leaves]), hosts)
            }
        };
        Some(Watch {
            number,
            point,
            hosts,
        })
    }
}

impl Capture {
    /// One for each bridge of a run, all with one thread.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(crate) fn of(taps: Taps, bridges: &[Between]) -> io::Result<Vec<Self>> {
        let watched = |bridge: &Between| {
            let points = taps.points.iter().enumerate();
            let watched = points.filter_map(|(number, (tap, _))| bridge.watch(number, *tap));
            watched.collect::<Vec<Watch>>()
        };
        let bridges: Vec<_> = bridges.iter().map(watched).collect();
        let (probes, view) = probes(taps.points.len(), taps.snap_len, &bridges);
        let thread = thread::Builder::new()
            .name("capture".into())
            .spawn(move || show(taps, view))?;
        let viewer = Arc::new(Viewer(Some(thread)));
        let of = |probe| Self {
            probe,
            _viewer: Arc::clone(&viewer),
        };
        Ok(probes.into_iter().map(of).collect())
    }
}

impl Observer for Capture {
    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        self.probe.frame(point, side, now, frame);
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // All probes are gone: the thread ends when it has emptied the queue.
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

fn show(mut taps: Taps, mut view: View) {
    while let Some(shown) = view.next(Duration::MAX) {
        let (_, tap) = &mut taps.points[shown.point];
        tap.frame(shown.at, shown.outgoing, shown.bytes(), shown.len);
    }
    for (number, (_, tap)) in taps.points.iter_mut().enumerate() {
        tap.lost(view.lost(number));
    }
}
