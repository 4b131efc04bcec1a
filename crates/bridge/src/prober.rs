//! Asks reflectors how long the link beyond the bridge takes, for rates that follow it.
//!
//! The host asks by sockets of its own, on a thread of its own: whether its probes pass the slow
//! link its routes say. Which reflector is asked when [`sojourn_autorate::Prober`] says; what is
//! sent stands in `prober/wire.rs`. Samples wait until the forwarding thread takes its next step.

mod wire;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use sojourn_autorate::{How, Probe, Prober, Reflector, Way};
use sojourn_units::{Span, Time};
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use wire::{Answer, DAY};

/// Samples that may wait. There are up to forty a second, taken twenty times a second.
const WAITING: usize = 256;
/// Sources of samples, beyond the hashes of hosts: a round trip, and each way of its own.
const SOURCES: u64 = 1 << 40;

/// What a reflector's answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// Which delays may be compared.
    pub(crate) source: u64,
    /// Of which way it tells; none: of both together.
    pub(crate) way: Option<Way>,
    pub(crate) delay: Span,
}

/// A thread that asks reflectors until this is dropped.
#[derive(Debug)]
pub(crate) struct Probing {
    samples: Receiver<Sample>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    ends: AtomicBool,
    asked: AtomicUsize,
    answer: AtomicUsize,
    failed: OnceLock<String>,
}

/// How many reflectors are asked, and how many of those answer. In words by its `Display`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reflectors {
    /// Those that are asked.
    pub asked: usize,
    /// Those that have answered in the last second.
    pub answer: usize,
    /// Why nobody is asked.
    pub failed: Option<String>,
}

impl fmt::Display for Reflectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failed {
            Some(why) => write!(f, "no reflector is asked: {why}"),
            None => write!(f, "{} of {} reflectors answer", self.answer, self.asked),
        }
    }
}

impl Probing {
    /// Begins, in the calling thread's network namespace; none: there are no reflectors.
    pub(crate) fn of(reflectors: &[Reflector]) -> Option<Self> {
        if reflectors.is_empty() {
            return None;
        }
        let (tell, samples) = sync_channel(WAITING);
        let state = Arc::new(State::default());
        let (list, shared) = (reflectors.to_vec(), Arc::clone(&state));
        let ask = move || {
            let asking = Asking::new(list, tell);
            if let Err(error) = asking.and_then(|mut it| it.run(&shared)) {
                let _ = shared.failed.set(error.to_string());
            }
        };
        let thread = thread::Builder::new().name("prober".to_owned());
        if let Err(error) = thread.spawn(ask) {
            let _ = state.failed.set(error.to_string());
        }
        Some(Self { samples, state })
    }

    /// The next sample that waits.
    pub(crate) fn take(&self) -> Option<Sample> {
        self.samples.try_recv().ok()
    }

    /// What is asked and answers now.
    pub(crate) fn reflectors(&self) -> Reflectors {
        Reflectors {
            asked: self.state.asked.load(Ordering::Relaxed),
            answer: self.state.answer.load(Ordering::Relaxed),
            failed: self.state.failed.get().cloned(),
        }
    }
}

impl Drop for Probing {
    /// Nobody waits for the thread: it looks at this with each probe.
    fn drop(&mut self) {
        self.state.ends.store(true, Ordering::Relaxed);
    }
}

/// The thread's side.
struct Asking {
    reflectors: Vec<Reflector>,
    /// What the first timestamps of each said, from which the others are seen.
    anchors: Vec<Option<[u32; 2]>>,
    prober: Prober,
    sockets: [Option<UdpSocket>; 4],
    /// Tells our probes from those of others.
    token: u64,
    tell: SyncSender<Sample>,
    start: Instant,
}

/// Which of the sockets a reflector is asked by: ICMP and UDP, each in both families.
fn socket_of(reflector: &Reflector) -> usize {
    let six = usize::from(reflector.address.is_ipv6());
    match reflector.how {
        How::Echo | How::Timestamp => six,
        How::Udp(_) => 2 + six,
    }
}

fn open(number: usize) -> io::Result<UdpSocket> {
    let raw = |family, protocol| {
        let flags = SocketFlags::CLOEXEC;
        socket_with(family, SocketType::RAW, flags, Some(protocol)).map(UdpSocket::from)
    };
    let socket = match number {
        0 => raw(AddressFamily::INET, ipproto::ICMP)?,
        1 => raw(AddressFamily::INET6, ipproto::ICMPV6)?,
        2 => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
        _ => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
    };
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Milliseconds since midnight UTC, as ICMP has them.
fn time_of_day() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    (since.unwrap_or_default().as_millis() % u128::from(DAY)) as u32
}

impl Asking {
    fn new(reflectors: Vec<Reflector>, tell: SyncSender<Sample>) -> io::Result<Self> {
        let mut sockets = [const { None }; 4];
        for reflector in &reflectors {
            let number = socket_of(reflector);
            if sockets[number].is_none() {
                sockets[number] = Some(open(number)?);
            }
        }
        Ok(Self {
            anchors: vec![None; reflectors.len()],
            prober: Prober::new(reflectors.len()),
            reflectors,
            sockets,
            token: crate::forwarding::random_word(),
            tell,
            start: Instant::now(),
        })
    }

    fn now(&self) -> Time {
        let nanos = self.start.elapsed().as_nanos();
        Time::ZERO + Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn run(&mut self, state: &State) -> io::Result<()> {
        while !state.ends.load(Ordering::Relaxed) {
            let now = self.now();
            if let Some(probe) = self.prober.ask(now) {
                self.send(probe);
                let [asked, answer] = self.prober.answering(now);
                state.asked.store(asked, Ordering::Relaxed);
                state.answer.store(answer, Ordering::Relaxed);
            }
            let left = self.prober.due() - self.now();
            let left = Timespec::try_from(Duration::from_nanos(left.as_nanos())).ok();
            let sockets = self.sockets.iter().flatten();
            let mut ready: Vec<_> = { sockets }
                .map(|socket| PollFd::new(socket, PollFlags::IN))
                .collect();
            match poll(&mut ready, left.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.receive();
        }
        Ok(())
    }

    /// What cannot be sent is not answered, and a reflector that does not answer is given up.
    fn send(&self, probe: Probe) {
        let reflector = &self.reflectors[probe.reflector];
        let bytes = wire::request(reflector, self.token, probe, time_of_day());
        let port = match reflector.how {
            How::Udp(port) => port,
            How::Echo | How::Timestamp => 0,
        };
        if let Some(socket) = &self.sockets[socket_of(reflector)] {
            let _ = socket.send_to(&bytes, SocketAddr::new(reflector.address, port));
        }
    }

    fn receive(&mut self) {
        let mut bytes = [0; 256];
        for number in 0..self.sockets.len() {
            while let Some(Ok((len, from))) = self.sockets[number]
                .as_ref()
                .map(|it| it.recv_from(&mut bytes))
            {
                let at = self.now();
                self.take(number, from.ip(), &bytes[..len], at);
            }
        }
    }

    /// A packet of a socket's, which may be anybody's.
    fn take(&mut self, socket: usize, from: IpAddr, bytes: &[u8], at: Time) {
        let of = |it: &Reflector| socket_of(it) == socket && it.address == from.to_canonical();
        let from: Vec<usize> = { self.reflectors.iter().enumerate() }
            .filter_map(|(number, it)| of(it).then_some(number))
            .collect();
        for number in from {
            let answer = wire::answer(&self.reflectors[number], self.token, number, bytes);
            let Some(Answer { sequence, times }) = answer else {
                continue;
            };
            let probe = Probe {
                reflector: number,
                sequence,
            };
            if let Some(trip) = self.prober.answered(probe, at) {
                self.sample(number, trip, times);
            }
            return;
        }
    }

    fn sample(&mut self, number: usize, trip: Span, times: Option<[u32; 3]>) {
        let source = SOURCES + 3 * number as u64;
        let tell = |sample| {
            // Whoever does not take them has stopped, or stands still.
            let _ = self.tell.try_send(sample);
        };
        let Some(ways) = times.and_then(|times| wire::ways(times, time_of_day())) else {
            return tell(Sample {
                source,
                way: None,
                delay: trip,
            });
        };
        let anchors = *self.anchors[number].get_or_insert(ways);
        for ((way, now), first) in Way::BOTH.into_iter().zip(ways).zip(anchors) {
            tell(Sample {
                source: source + 1 + way as u64,
                way: Some(way),
                delay: wire::seen_from(first, now),
            });
        }
    }
}

#[cfg(test)]
mod tests;
