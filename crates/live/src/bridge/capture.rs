//! Shows frames of a running bridge to taps, which may be slow.
//!
//! The bridge copies a frame's first bytes into a queue of fixed length and goes on; a thread of
//! its own hands them to the taps. When the queue is full the copy is left out and counted: the
//! bridge never waits, and its memory does not grow.

use super::config::Side;
use super::frame::Frame;
use super::observer::{Observer, Point};
use crate::lab::graph::node_of;
use crate::ordered::Ordered;
use sojourn_units::Time;
use sojourn_world::{TapPoint, Taps};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Most bytes of a frame that are shown.
pub const CAPTURED: usize = 256;
/// Frames that may wait for the taps: 5 MB, a tenth of a second at 400 000 packets/s.
const WAITING: usize = 16 << 10;

/// A frame's first bytes.
struct Copy {
    tap: usize,
    at: Time,
    outgoing: bool,
    len: u32,
    kept: u16,
    bytes: [u8; CAPTURED],
}

/// An observer that shows frames to taps. Dropping it ends the thread once it has seen all.
pub struct Capture {
    // Dropped before the thread is waited for.
    sender: SyncSender<Copy>,
    viewer: Arc<Viewer>,
    /// Taps with their places, as the bridge names these.
    places: Vec<Place>,
    snap_len: usize,
}

/// The thread, which ends with the last of its captures.
struct Viewer {
    thread: Option<JoinHandle<Taps>>,
    /// By tap: what was left out.
    lost: Vec<AtomicU64>,
}

/// Which links and nodes a bridge is between, by its sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    pub(crate) links: [Option<usize>; 2],
    pub(crate) nodes: [usize; 2],
    /// Whether nodes pass on what is not theirs, which their taps do not see.
    pub(crate) routed: bool,
}

/// Where a tap sits, and whether frames go out of the node or queue there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    tap: usize,
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
    /// Starts the thread. Links 0 and 1 are up and down, nodes 0 and 1 what is beyond the left and
    /// the right port. Call it before the bridge takes its priority.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(taps: Taps) -> io::Result<Self> {
        let alone = Between {
            links: [Some(0), Some(1)],
            nodes: [0, 1],
            routed: false,
        };
        let capture = Self::of(taps, &[alone])?.pop();
        Ok(capture.expect("there is one for each bridge"))
    }

    /// One for each bridge of a run, all with one thread.
    pub(crate) fn of(taps: Taps, bridges: &[Between]) -> io::Result<Vec<Self>> {
        let (sender, receiver) = sync_channel(WAITING);
        let points: Vec<TapPoint> = taps.points.iter().map(|(point, _)| *point).collect();
        let lost = points.iter().map(|_| AtomicU64::new(0)).collect();
        let snap_len = taps.snap_len.min(CAPTURED);
        let ordered = Ordered::of(bridges.len());
        let thread = thread::Builder::new()
            .name("capture".into())
            .spawn(move || show(taps, &receiver, ordered))?;
        let thread = Some(thread);
        let viewer = Arc::new(Viewer { thread, lost });
        let of = |bridge: &Between| {
            let points = points.iter().enumerate();
            Self {
                sender: sender.clone(),
                viewer: Arc::clone(&viewer),
                places: (points.flat_map(|(tap, point)| places(tap, *point, *bridge))).collect(),
                snap_len,
            }
        };
        Ok(bridges.iter().map(of).collect())
    }

    /// Packets that were left out because the taps were too slow.
    pub fn lost(&self) -> u64 {
        let lost = self.viewer.lost.iter();
        lost.map(|lost| lost.load(Ordering::Relaxed)).sum()
    }

    fn copy(&mut self, place: Place, at: Time, frame: &Frame) {
        let (head, tail) = frame.parts();
        let kept = head.len().min(self.snap_len);
        let mut copy = Copy {
            tap: place.tap,
            at,
            outgoing: place.outgoing,
            len: (head.len() + tail.len()) as u32,
            kept: kept as u16,
            bytes: [0; CAPTURED],
        };
        copy.bytes[..kept].copy_from_slice(&head[..kept]);
        let lost = u64::from(self.sender.try_send(copy).is_err());
        self.viewer.lost[place.tap].fetch_add(lost, Ordering::Relaxed);
    }
}

impl Observer for Capture {
    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        for index in 0..self.places.len() {
            let place = self.places[index];
            if (place.point, place.side) == (point, side) && place.sees(frame) {
                self.copy(place, now, frame);
            }
        }
    }
}

impl Observer for Option<Capture> {
    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        if let Some(capture) = self {
            capture.frame(point, side, now, frame);
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        // All captures are gone: the thread ends when it has emptied the queue.
        let taps = self.thread.take().map(JoinHandle::join);
        if let Some(Ok(mut taps)) = taps {
            for ((_, tap), lost) in taps.points.iter_mut().zip(&self.lost) {
                tap.lost(lost.load(Ordering::Relaxed));
            }
        }
    }
}

fn show(mut taps: Taps, receiver: &Receiver<Copy>, mut ordered: Ordered<Copy>) -> Taps {
    let mut show = |copy: &Copy| {
        let bytes = &copy.bytes[..usize::from(copy.kept)];
        let (_, tap) = &mut taps.points[copy.tap];
        tap.frame(copy.at, copy.outgoing, bytes, copy.len);
    };
    for copy in receiver {
        ordered.put(copy.at, copy);
        while let Some((_, copy)) = ordered.take() {
            show(&copy);
        }
    }
    while let Some((_, copy)) = ordered.rest() {
        show(&copy);
    }
    taps
}

/// The places in a bridge where a point's frames are seen.
fn places(tap: usize, point: TapPoint, bridge: Between) -> Vec<Place> {
    let place = |side: usize, point, outgoing, hosts| Place {
        tap,
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
    use sojourn_world::Tap;
    use std::sync::{Arc, Mutex, PoisonError};

    type Seen = Arc<Mutex<Vec<(Time, bool, usize, u32)>>>;

    /// Waits for the lock at each frame, and so for whoever holds it.
    struct Slow(Seen, Arc<Mutex<u64>>);

    impl Tap for Slow {
        fn frame(&mut self, at: Time, outgoing: bool, bytes: &[u8], len: u32) {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((at, outgoing, bytes.len(), len));
        }

        fn lost(&mut self, packets: u64) {
            *self.1.lock().unwrap() = packets;
        }
    }

    #[test]
    fn a_slow_tap_loses_frames_and_the_bridge_goes_on() {
        let (seen, lost) = (Seen::default(), Arc::new(Mutex::new(0)));
        let tap = Slow(Arc::clone(&seen), Arc::clone(&lost));
        let taps = Taps {
            points: vec![(TapPoint::Node(0), Box::new(tap))],
            snap_len: 60,
        };
        let mut capture = Capture::start(taps).unwrap();
        let mut pool = Pool::new(1);
        let at = Time::from_nanos(9);
        let frame = Frame::from_bytes(&mut pool, &[0; 100], at).unwrap();
        let many = WAITING as u64 + 100;
        {
            let _held = seen.lock().unwrap();
            capture.frame(Point::Left, Side::Down, at, &frame);
            capture.frame(Point::Dequeued, Side::Up, at, &frame);
            for _ in 0..many {
                capture.frame(Point::Left, Side::Up, at, &frame);
            }
            // One may be in the thread's hands.
            assert!((99..=100).contains(&capture.lost()), "{}", capture.lost());
        }
        capture.frame(Point::Sent, Side::Down, at, &frame);
        let left_out = capture.lost();
        drop(capture);
        assert_eq!(*lost.lock().unwrap(), left_out);
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len() as u64 + left_out, many + 1);
        assert_eq!(seen[0], (at, true, 60, 100));
        pool.give(frame);
    }
}
