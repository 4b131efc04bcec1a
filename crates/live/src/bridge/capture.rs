//! Shows frames of a running bridge to viewers, which may be slow.
//!
//! A [`Probe`] of the forwarding thread copies a frame's first bytes into a queue of fixed length
//! and goes on; a [`View`] on another thread has them. When the queue is full the copy is left out
//! and counted: the bridge never waits, and its memory does not grow.

use super::frame::Frame;
use super::observer::{Observer, Point};
use super::side::Side;
use crate::lab::graph::node_of;
use crate::ordered::Ordered;
use sojourn_units::Time;
use sojourn_world::{TapPoint, Taps};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Most bytes of a frame that are shown.
pub const CAPTURED: usize = 256;
/// Frames that may wait for a viewer: 5 MB, a tenth of a second at 400 000 packets/s.
const WAITING: usize = 16 << 10;

/// A frame that has passed a point.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Which of the points it is, by its number.
    pub point: usize,
    /// When it passed, on the bridge's clock.
    pub at: Time,
    /// Whether it went out of the node or the queue there.
    pub outgoing: bool,
    /// Bytes that it had.
    pub len: u32,
    kept: u16,
    bytes: [u8; CAPTURED],
}

impl Shown {
    /// The first of its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.kept)]
    }
}

/// The forwarding thread's end.
#[derive(Clone, Debug)]
pub struct Probe {
    sender: SyncSender<Shown>,
    /// By point: what was left out.
    lost: Arc<[AtomicU64]>,
    /// Points with their places, as the bridge names these.
    places: Vec<Place>,
    snap_len: usize,
}

/// The viewer's end.
#[derive(Debug)]
pub struct View {
    receiver: Receiver<Shown>,
    lost: Arc<[AtomicU64]>,
    /// What several threads have told; of one alone it comes in order.
    ordered: Option<Ordered<Shown>>,
    /// Nothing has come for as long as was waited.
    is_quiet: bool,
}

/// Both ends, of a bridge for itself: its links 0 and 1 are up and down, its nodes 0 and 1 what is
/// beyond the left and the right port. At most [`CAPTURED`] bytes of a frame are shown.
pub fn probe(points: &[TapPoint], snap_len: usize) -> (Probe, View) {
    let alone = Between {
        links: [Some(0), Some(1)],
        nodes: [0, 1],
        routed: false,
    };
    let (mut probes, view) = probes(points, snap_len, &[alone]);
    (probes.pop().expect("there is one for each bridge"), view)
}

/// One for each bridge of a run, all with one view.
fn probes(points: &[TapPoint], snap_len: usize, bridges: &[Between]) -> (Vec<Probe>, View) {
    let (sender, receiver) = sync_channel(WAITING);
    let lost: Arc<[AtomicU64]> = points.iter().map(|_| AtomicU64::new(0)).collect();
    let of = |bridge: &Between| {
        let points = points.iter().enumerate();
        Probe {
            sender: sender.clone(),
            lost: Arc::clone(&lost),
            places: (points.flat_map(|(number, point)| places(number, *point, *bridge))).collect(),
            snap_len: snap_len.min(CAPTURED),
        }
    };
    let probes = bridges.iter().map(of).collect();
    let view = View {
        receiver,
        lost,
        ordered: None,
        is_quiet: false,
    };
    (probes, view.of_threads(bridges.len()))
}

impl Probe {
    fn copy(&mut self, place: Place, at: Time, frame: &Frame) {
        let mut copy = Shown {
            point: place.number,
            at,
            outgoing: place.outgoing,
            len: frame.size(),
            kept: 0,
            bytes: [0; CAPTURED],
        };
        copy.kept = frame.copy_front(&mut copy.bytes[..self.snap_len]) as u16;
        let lost = u64::from(self.sender.try_send(copy).is_err());
        self.lost[place.number].fetch_add(lost, Ordering::Relaxed);
    }
}

impl Observer for Probe {
    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        for index in 0..self.places.len() {
            let place = self.places[index];
            if (place.point, place.side) == (point, side) && place.sees(frame) {
                self.copy(place, now, frame);
            }
        }
    }
}

impl View {
    /// The same of a bridge with so many forwarding threads: frames come in the order of their
    /// times, up to half a second later, or when for a while none has come.
    #[must_use]
    pub fn of_threads(mut self, threads: usize) -> Self {
        self.ordered = (threads > 1).then(|| Ordered::of(threads));
        self
    }

    /// The next frame; waits up to `patience` for one. None also when no more can come.
    pub fn next(&mut self, patience: Duration) -> Option<Shown> {
        let Some(ordered) = &mut self.ordered else {
            return self.receiver.recv_timeout(patience).ok();
        };
        loop {
            let due = if self.is_quiet {
                ordered.rest()
            } else {
                ordered.take()
            };
            if let Some((_, shown)) = due {
                return Some(shown);
            }
            self.is_quiet = false;
            match self.receiver.recv_timeout(patience) {
                Ok(shown) => ordered.put(shown.at, shown),
                Err(RecvTimeoutError::Timeout) if patience.is_zero() => return None,
                Err(_) => {
                    self.is_quiet = true;
                    return ordered.rest().map(|(_, shown)| shown);
                }
            }
        }
    }

    /// Frames of a point, by its number, that were left out because the viewer was too slow.
    pub fn lost(&self, point: usize) -> u64 {
        self.lost[point].load(Ordering::Relaxed)
    }
}

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

/// Where a point is, and whether frames go out of the node or queue there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    number: usize,
    side: Side,
    point: Point,
    outgoing: bool,
    /// The node whose hosts' frames alone are seen.
    hosts: Option<usize>,
}

impl Place {
    fn sees(self, frame: &Frame) -> bool {
        let flow = &frame.parsed().flow;
        let address = if self.outgoing { flow.src } else { flow.dst };
        let [.., a, b, c, d] = address;
        self.hosts
            .is_none_or(|node| node_of([a, b, c, d].into()) == node)
    }
}

impl Capture {
    /// One for each bridge of a run, all with one thread.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(crate) fn of(taps: Taps, bridges: &[Between]) -> io::Result<Vec<Self>> {
        let points: Vec<TapPoint> = taps.points.iter().map(|(point, _)| *point).collect();
        let (probes, view) = probes(&points, taps.snap_len, bridges);
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

/// The places in a bridge where a point's frames are seen.
fn places(number: usize, point: TapPoint, bridge: Between) -> Vec<Place> {
    let place = |side: usize, point, outgoing, hosts| Place {
        number,
        side: Side::BOTH[side],
        point,
        outgoing,
        hosts,
    };
    let of = |link: usize| (bridge.links.iter()).position(|&here| here == Some(link));
    match point {
        TapPoint::Offered(link) => {
            let side = of(link);
            Vec::from_iter(side.map(|side| place(side, Point::Offered, false, None)))
        }
        TapPoint::Dequeued(link) => {
            let side = of(link);
            Vec::from_iter(side.map(|side| place(side, Point::Dequeued, true, None)))
        }
        // The bridge has no radio.
        TapPoint::Air(_) => Vec::new(),
        TapPoint::Node(node) => {
            let hosts = bridge.routed.then_some(node);
            let leaves = bridge.nodes.iter().position(|&here| here == node);
            leaves
                .into_iter()
                .flat_map(|leaves| {
                    [
                        place(leaves, Point::Left, true, hosts),
                        place(1 - leaves, Point::Sent, false, hosts),
                    ]
                })
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::Pool;

    #[test]
    fn a_slow_viewer_loses_frames_and_the_bridge_goes_on() {
        let (mut probe, mut view) = probe(&[TapPoint::Node(0)], 60);
        let mut pool = Pool::new(1);
        let at = Time::from_nanos(9);
        let frame = Frame::from_bytes(&mut pool, &[0; 100], at).unwrap();
        probe.frame(Point::Left, Side::Down, at, &frame);
        probe.frame(Point::Dequeued, Side::Up, at, &frame);
        for _ in 0..WAITING + 100 {
            probe.frame(Point::Left, Side::Up, at, &frame);
        }
        assert_eq!(view.lost(0), 100);
        let shown = view.next(Duration::ZERO).unwrap();
        assert_eq!((shown.point, shown.at, shown.outgoing), (0, at, true));
        assert_eq!((shown.bytes().len(), shown.len), (60, 100));
        // There is room again, for one.
        probe.frame(Point::Sent, Side::Down, at, &frame);
        probe.frame(Point::Sent, Side::Down, at, &frame);
        assert_eq!(view.lost(0), 101);
        drop(probe);
        assert_eq!(view.receiver.iter().count(), WAITING);
        pool.give(frame);
    }

    /// As of the workers of a bridge, which tell of their frames when they come to it.
    #[test]
    fn frames_of_several_threads_come_in_the_order_of_their_times() {
        let (probe, view) = probe(&[TapPoint::Node(0)], 60);
        let mut view = view.of_threads(2);
        let mut pool = Pool::new(1);
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let frame = Frame::from_bytes(&mut pool, &[0; 100], at(0)).unwrap();
        let mut workers = [probe.clone(), probe];
        for (worker, ms) in [(0, 10), (1, 5), (0, 20), (1, 15), (0, 700)] {
            workers[worker].frame(Point::Left, Side::Up, at(ms), &frame);
        }
        let mut times = |patience| {
            let shown = std::iter::from_fn(|| view.next(patience));
            shown.map(|shown| shown.at).collect::<Vec<_>>()
        };
        // One that comes now may be from before the last.
        assert_eq!(times(Duration::ZERO), [5, 10, 15, 20].map(at));
        // Nor when it is quiet does anything wait.
        assert_eq!(times(Duration::from_millis(1)), [at(700)]);
        workers[1].frame(Point::Left, Side::Up, at(800), &frame);
        drop(workers);
        assert_eq!(times(Duration::ZERO), [at(800)]);
        pool.give(frame);
    }
}
