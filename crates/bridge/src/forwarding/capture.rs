//! Shows frames of a running bridge to viewers, which may be slow.
//!
//! A [`Probe`] of the forwarding thread copies a frame's first bytes into a queue of fixed length
//! and goes on; a [`View`] on another thread has them. When the queue is full the copy is left out
//! and counted: the bridge never waits, and its memory does not grow.

use super::frame::Frame;
use super::observer::{Observer, Point};
use super::side::Side;
use crate::ordered::Ordered;
use sojourn_units::Time;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Most bytes of a frame that are shown.
pub const CAPTURED: usize = 256;
/// Frames that may wait for a viewer: 5 MB, a tenth of a second at 400 000 packets/s.
const WAITING: usize = 16 << 10;

/// A place in a bridge where frames are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePoint {
    /// What leaves and reaches the hosts beyond a port: that at which this direction begins.
    Beyond(Side),
    /// Frames that are offered to the queue of a direction, also those that it drops.
    Offered(Side),
    /// Frames as they leave the queue of a direction.
    Dequeued(Side),
}

/// What a probe looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// By which the viewer knows it ([`Shown::point`]).
    pub number: usize,
    /// Where it is.
    pub point: CapturePoint,
    /// Beyond a port: the hosts whose frames alone are seen.
    pub hosts: Option<Hosts>,
}

/// The IPv4 addresses of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The first of them.
    pub network: Ipv4Addr,
    /// Bits that all have in common, 1 to 32.
    pub prefix: u8,
}

impl Hosts {
    fn have(self, address: Ipv4Addr) -> bool {
        let differ = self.network.to_bits() ^ address.to_bits();
        differ.leading_zeros() >= u32::from(self.prefix)
    }
}

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
    /// Where the points are on the path of frames.
    spots: Vec<Spot>,
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

/// Both ends, of one bridge. At most [`CAPTURED`] bytes of a frame are shown.
pub fn probe(points: &[CapturePoint], snap_len: usize) -> (Probe, View) {
    let watch = |(number, &point): (usize, _)| Watch {
        number,
        point,
        hosts: None,
    };
    let watched: Vec<Watch> = points.iter().enumerate().map(watch).collect();
    let (mut probes, view) = probes(points.len(), snap_len, &[watched]);
    (probes.pop().expect("there is one for each bridge"), view)
}

/// A probe for each of several bridges by what it looks at, all with one view of `points` points.
pub fn probes(points: usize, snap_len: usize, bridges: &[Vec<Watch>]) -> (Vec<Probe>, View) {
    let (sender, receiver) = sync_channel(WAITING);
    let lost: Arc<[AtomicU64]> = (0..points).map(|_| AtomicU64::new(0)).collect();
    let of = |watched: &Vec<Watch>| Probe {
        sender: sender.clone(),
        lost: Arc::clone(&lost),
        spots: watched.iter().flat_map(|watch| spots(*watch)).collect(),
        snap_len: snap_len.min(CAPTURED),
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
    fn copy(&mut self, spot: Spot, at: Time, frame: &Frame) {
        let mut copy = Shown {
            point: spot.number,
            at,
            outgoing: spot.outgoing,
            len: frame.size(),
            kept: 0,
            bytes: [0; CAPTURED],
        };
        copy.kept = frame.copy_front(&mut copy.bytes[..self.snap_len]) as u16;
        let lost = u64::from(self.sender.try_send(copy).is_err());
        self.lost[spot.number].fetch_add(lost, Ordering::Relaxed);
    }
}

impl Observer for Probe {
    fn frame(&mut self, point: Point, side: Side, now: Time, frame: &Frame) {
        for index in 0..self.spots.len() {
            let spot = self.spots[index];
            if (spot.point, spot.side) == (point, side) && spot.sees(frame) {
                self.copy(spot, now, frame);
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

/// Where a point is, and whether frames go out of the node or queue there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spot {
    number: usize,
    side: Side,
    point: Point,
    outgoing: bool,
    /// Whose frames alone are seen.
    hosts: Option<Hosts>,
}

impl Spot {
    fn sees(self, frame: &Frame) -> bool {
        let flow = &frame.parsed().flow;
        let address = if self.outgoing { flow.src } else { flow.dst };
        let [.., a, b, c, d] = address;
        self.hosts
            .is_none_or(|hosts| hosts.have([a, b, c, d].into()))
    }
}

/// Where on the path of frames a point sees them.
fn spots(watch: Watch) -> Vec<Spot> {
    let Watch { number, hosts, .. } = watch;
    let spot = |side, point, outgoing, hosts| Spot {
        number,
        side,
        point,
        outgoing,
        hosts,
    };
    match watch.point {
        CapturePoint::Offered(side) => vec![spot(side, Point::Offered, false, None)],
        CapturePoint::Dequeued(side) => vec![spot(side, Point::Dequeued, true, None)],
        CapturePoint::Beyond(side) => vec![
            spot(side, Point::Left, true, hosts),
            spot(Side::BOTH[side.other()], Point::Sent, false, hosts),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forwarding::Pool;

    #[test]
    fn hosts_are_those_of_a_network() {
        let hosts = Hosts {
            network: Ipv4Addr::new(198, 18, 16, 0),
            prefix: 20,
        };
        for (address, has) in [
            ([198, 18, 16, 0], true),
            ([198, 18, 31, 255], true),
            ([198, 18, 32, 0], false),
            ([198, 18, 15, 255], false),
        ] {
            assert_eq!(hosts.have(address.into()), has, "{address:?}");
        }
    }

    #[test]
    fn a_slow_viewer_loses_frames_and_the_bridge_goes_on() {
        let (mut probe, mut view) = probe(&[CapturePoint::Beyond(Side::Up)], 60);
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
        let (probe, view) = probe(&[CapturePoint::Beyond(Side::Up)], 60);
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
