//! Measurements from a capture that was made at the client.
//!
//! Round-trip times are those of TCP's timestamps (RFC 7323 section 4): from the first packet out
//! with a value to the first one back that echoes it, as `pping` takes them (Nichols, "Listening to
//! Networks", 2014).

use crate::measurement::{DOWN, Measurement, Stream, UP};
use sojourn_capture::{LinkType, ReadError, Reader, Record};
use sojourn_units::Time;
use sojourn_wire::{FlowKey, ack_facts, parse, protocol};
use sojourn_world::Point;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Length of the intervals of the series, in seconds: Flent's.
const EVERY: f64 = 0.2;
/// A flow with this share of its direction's bytes is one of the load's streams.
const STREAM: f64 = 0.02;
/// Longest capture in seconds, a day: a clock that was set in between makes one of years.
const LONGEST: f64 = 86_400.0;
/// Most values of timestamps that wait for their echo.
const WAITING: usize = 1 << 20;

/// Why a capture shows no line.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file is no capture, or damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Something else than Ethernet, bare IP or a cooked header.
    #[error(
        "has packets of link type {0}; Ethernet, bare IP and Linux cooked captures (`-i any`) can \
         be read"
    )]
    LinkType(LinkType),
    /// Nobody says which end is the client.
    #[error(
        "does not say which end is the client's: no connection begins in it; `--client ADDRESS` \
         says it"
    )]
    WhoIsClient,
    /// Its packets are too far apart in time.
    #[error("lasts more than a day: was the clock set meanwhile? `editcap -A` and `-B` cut it")]
    TooLong,
    /// No packet of the client's.
    #[error("has no TCP packets of {0}")]
    NobodyThere(IpAddr),
}

/// A full frame, and the headers of each frame that a super-packet becomes.
const FRAME: u32 = 1514;
const HEADERS: u32 = 66;

/// A TCP packet as it matters here.
struct Packet {
    at: Time,
    flow: FlowKey,
    /// Bytes on the link.
    len: u32,
    dscp: u8,
    stamps: Option<(u32, u32)>,
    /// Where it was seen.
    on: (usize, u32),
}

impl Measurement {
    /// What a capture holds that was made at the client, whose address is `client`, or whoever
    /// opens the first connection in it; `name` is shown to people.
    ///
    /// # Errors
    /// When the file cannot be read, or the client is not in it.
    pub fn of_capture(
        name: &str,
        file: impl Read,
        client: Option<IpAddr>,
    ) -> Result<Self, CaptureError> {
        let (packets, opener) = load(file)?;
        let client = client.or(opener).ok_or(CaptureError::WhoIsClient)?;
        let start = packets
            .iter()
            .map(|packet| packet.at)
            .min()
            .ok_or(CaptureError::NobodyThere(client))?;
        let mut bytes: [Vec<f64>; 2] = Default::default();
        let mut flows: [BTreeMap<Connection, (u64, u8)>; 2] = Default::default();
        let mut stamps = Stamps::default();
        let mut trips = Trips::default();
        for packet in &packets {
            let [src, dst] = ends(&packet.flow);
            let way = if src == client {
                UP
            } else if dst == client {
                DOWN
            } else {
                continue;
            };
            let since = packet.at.since(start).as_secs_f64();
            if since > LONGEST {
                return Err(CaptureError::TooLong);
            }
            let interval = (since / EVERY) as usize;
            for bytes in &mut bytes {
                bytes.resize(bytes.len().max(interval + 1), 0.0);
            }
            bytes[way][interval] += f64::from(packet.len);
            let connection = connection(&packet.flow, way);
            let of_flow = flows[way].entry(connection).or_insert((0, packet.dscp));
            of_flow.0 += u64::from(packet.len);
            let Some((value, echo)) = packet.stamps else {
                continue;
            };
            if way == UP {
                stamps.sent(Stamp { connection, value }, packet.at);
                continue;
            }
            if let Some(trip) = stamps.echoed(
                Stamp {
                    connection,
                    value: echo,
                },
                packet.at,
            ) {
                trips.add(interval, connection.0, trip);
            }
        }
        if bytes[UP].is_empty() {
            return Err(CaptureError::NobodyThere(client));
        }
        let load = load_of(&flows);
        let far: BTreeSet<IpAddr> = load.iter().map(|(connection, _)| connection.0).collect();
        let round_trips = trips.all.iter().map(|(interval, mean)| Point {
            t: end(*interval),
            value: mean.value(),
        });
        Ok(Self {
            name: name.to_owned(),
            streams: load.iter().map(|(_, stream)| *stream).collect(),
            throughput: bytes.map(|bytes| rates(&bytes)),
            counts_headers: true,
            round_trips: round_trips.collect(),
            least_round_trip: trips.least.is_finite().then_some(trips.least),
            paths: trips.paths(&far),
            ..Self::default()
        })
    }
}

/// When an interval ends, in seconds.
fn end(interval: usize) -> f64 {
    (interval + 1) as f64 * EVERY
}

/// Bit/s of the bytes in each interval.
fn rates(bytes: &[f64]) -> Vec<Point> {
    let point = |(interval, bytes): (usize, &f64)| Point {
        t: end(interval),
        value: bytes * 8.0 / EVERY,
    };
    bytes.iter().enumerate().map(point).collect()
}

/// Round-trip times in ms by interval.
#[derive(Default)]
struct Trips {
    all: BTreeMap<usize, Mean>,
    least: f64,
    /// By far end, with the least of each.
    far: BTreeMap<IpAddr, (f64, BTreeMap<usize, Mean>)>,
}

/// A mean as it grows.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        (self.sum, self.count) = (self.sum + value, self.count + 1);
    }

    fn value(self) -> f64 {
        self.sum / f64::from(self.count)
    }
}

impl Trips {
    fn add(&mut self, interval: usize, far: IpAddr, trip: f64) {
        self.least = if self.all.is_empty() {
            trip
        } else {
            self.least.min(trip)
        };
        self.all.entry(interval).or_default().add(trip);
        let (least, of_far) = self.far.entry(far).or_insert((trip, BTreeMap::new()));
        *least = least.min(trip);
        of_far.entry(interval).or_default().add(trip);
    }

    /// Base RTTs of these far ends. They share a queue, which may never have been empty while a
    /// later one's packets passed: a far end's base is then that of the first one, and by how much
    /// their round trips at the same times differ (the median).
    fn paths(&self, wanted: &BTreeSet<IpAddr>) -> Vec<(String, f64)> {
        let mut ends = wanted
            .iter()
            .filter_map(|far| Some((far, self.far.get(far)?)));
        let Some((first, (base, trips))) = ends.next() else {
            return Vec::new();
        };
        let mut paths = vec![(first.to_string(), *base)];
        for (far, (least, theirs)) in ends {
            let mut both: Vec<f64> = theirs
                .iter()
                .filter_map(|(interval, mean)| Some(mean.value() - trips.get(interval)?.value()))
                .collect();
            both.sort_by(f64::total_cmp);
            let later = both
                .get(both.len() / 2)
                .map(|later| (base + later).max(0.0));
            paths.push((
                far.to_string(),
                later.map_or(*least, |later| later.min(*least)),
            ));
        }
        paths
    }
}

/// The streams of the load, of the bytes and the class of each connection by direction.
fn load_of(flows: &[BTreeMap<Connection, (u64, u8)>; 2]) -> Vec<(Connection, Stream)> {
    let total = |way: usize| flows[way].values().map(|(bytes, _)| bytes).sum::<u64>();
    // ACKs are no load: a direction counts from a quarter of the other's bytes on.
    let is_load = |way: &usize| total(*way) * 4 > total(1 - way);
    let mut streams = Vec::new();
    for way in [UP, DOWN].into_iter().filter(is_load) {
        let least = total(way) as f64 * STREAM;
        let of_load = flows[way]
            .iter()
            .filter(|(_, (bytes, _))| *bytes as f64 > least);
        let stream = |(&connection, &(_, dscp)): (&Connection, &(u64, u8))| {
            (connection, Stream { way, dscp })
        };
        streams.extend(of_load.map(stream));
    }
    streams
}

/// A connection: the far end and both ports, the client's first.
type Connection = (IpAddr, u16, u16);

fn connection(flow: &FlowKey, way: usize) -> Connection {
    let [src, dst] = ends(flow);
    match way {
        UP => (dst, flow.src_port, flow.dst_port),
        _ => (src, flow.dst_port, flow.src_port),
    }
}

/// Source and destination.
fn ends(flow: &FlowKey) -> [IpAddr; 2] {
    const IPV6: u16 = 0x86dd;
    [flow.src, flow.dst].map(|address| {
        if flow.ether_type == IPV6 {
            return Ipv6Addr::from(address).into();
        }
        let [.., a, b, c, d] = address;
        Ipv4Addr::new(a, b, c, d).into()
    })
}

/// All TCP packets, and who opens the first connection. What several interfaces have seen counts
/// on the one with most bytes: they may have seen the same packets.
fn load(file: impl Read) -> Result<(Vec<Packet>, Option<IpAddr>), CaptureError> {
    const SYN: u8 = 0x02;
    const ACK: u8 = 0x10;
    let mut reader = Reader::new(file)?;
    let (mut packets, mut opener) = (Vec::new(), None);
    let mut seen: BTreeMap<(usize, u32), u64> = BTreeMap::new();
    while let Some(record) = reader.next_record()? {
        let frame = record.ethernet().map_err(CaptureError::LinkType)?;
        let parsed = parse(&frame);
        let (Some(at), protocol::TCP) = (record.at, parsed.flow.protocol) else {
            continue;
        };
        let flags = frame.get(usize::from(parsed.transport_offset) + 13);
        if flags.is_some_and(|flags| flags & (SYN | ACK) == SYN) {
            opener.get_or_insert(ends(&parsed.flow)[0]);
        }
        let on = record.seen_on();
        *seen.entry(on).or_default() += u64::from(record.len);
        packets.push(Packet {
            at,
            flow: parsed.flow,
            len: on_link(&record),
            dscp: parsed.dscp(),
            stamps: ack_facts(&frame, &parsed).and_then(|facts| facts.timestamp),
            on,
        });
    }
    let most = seen.iter().max_by_key(|(_, bytes)| **bytes);
    if let Some((&most, _)) = most {
        packets.retain(|packet| packet.on == most);
    }
    Ok((packets, opener))
}

/// Bytes of the frames that a packet becomes on a link: a sender with TSO shows them as one.
fn on_link(record: &Record) -> u32 {
    let len = record.ethernet_len();
    let more = len
        .saturating_sub(HEADERS)
        .div_ceil(FRAME - HEADERS)
        .saturating_sub(1);
    len.saturating_add(more * HEADERS)
}

/// A timestamp of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    connection: Connection,
    value: u32,
}

/// Timestamps under way.
#[derive(Default)]
struct Stamps {
    sent: BTreeMap<Stamp, Time>,
    /// Those that came back: a value that is echoed again says nothing new.
    done: BTreeSet<Stamp>,
}

impl Stamps {
    /// The first packet with a value counts.
    fn sent(&mut self, stamp: Stamp, at: Time) {
        if self.sent.len() >= WAITING {
            // What has waited longest will not come back; which it is costs more than it is worth.
            self.sent.clear();
        }
        if !self.done.contains(&stamp) {
            self.sent.entry(stamp).or_insert(at);
        }
    }

    /// The round trip in ms, if this is the first echo.
    fn echoed(&mut self, stamp: Stamp, at: Time) -> Option<f64> {
        let sent = self.sent.remove(&stamp)?;
        if self.done.len() >= WAITING {
            self.done.clear();
        }
        self.done.insert(stamp);
        Some(at.since(sent).as_millis_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A classic capture of bare IPv4 with a TCP packet at each of these seconds.
    fn capture(seconds: &[u32]) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
            file.extend(word.to_le_bytes());
        }
        let mut packet = [0; 40];
        (packet[0], packet[3], packet[8], packet[9]) = (0x45, 40, 64, protocol::TCP);
        packet[12..20].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        (packet[32], packet[33]) = (0x50, 0x10);
        for second in seconds {
            for word in [*second, 0, 40, 40] {
                file.extend(word.to_le_bytes());
            }
            file.extend(packet);
        }
        file
    }

    /// What the packets of `capture` are on a cooked interface of this number (SLL2).
    fn cooked(seconds: &[u32], index: u32) -> Vec<u8> {
        let plain = capture(seconds);
        let mut file = plain[..20].to_vec();
        file.extend(276_u32.to_le_bytes());
        for record in plain[24..].chunks(56) {
            file.extend(&record[..8]);
            file.extend([60_u32.to_le_bytes(), 60_u32.to_le_bytes()].concat());
            file.extend([8, 0, 0, 0]);
            file.extend(index.to_be_bytes());
            file.extend([0, 1, 4, 6, 0, 0, 0, 0, 0, 0, 0, 0]);
            file.extend(&record[16..]);
        }
        file
    }

    #[test]
    fn a_cooked_capture_says_what_the_plain_one_says() {
        let client = Some("192.0.2.1".parse().unwrap());
        let of = |file: &[u8]| Measurement::of_capture("a", file, client).unwrap();
        let plain = of(&capture(&[5, 6, 7]));
        assert_eq!(of(&cooked(&[5, 6, 7], 2)), plain);
        // What two interfaces have seen is counted once.
        let twice = [cooked(&[5, 6, 7], 2), cooked(&[5, 6], 3)[24..].to_vec()].concat();
        assert_eq!(of(&twice), plain);
    }

    #[test]
    fn base_rtts_are_told_apart_by_round_trips_at_the_same_time() {
        let [near, far, alike] = [1, 2, 3].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut trips = Trips::default();
        for interval in 0..20 {
            // All wait in one queue, which is empty in the first interval only.
            let queue = if interval == 0 { 0.0 } else { 100.0 };
            trips.add(interval, near, 10.0 + queue);
            if interval > 0 {
                trips.add(interval, far, 60.0 + queue);
                trips.add(interval, alike, 11.0 + queue);
            }
        }
        let paths = trips.paths(&[near, far, alike].into());
        let bases: Vec<f64> = paths.iter().map(|(_, base)| *base).collect();
        assert_eq!(bases, [10.0, 60.0, 11.0]);
        assert_eq!(paths[1].0, "192.0.2.2");
    }

    #[test]
    fn a_clock_that_was_set_takes_no_memory() {
        let client = Some("192.0.2.1".parse().unwrap());
        let of = |seconds: &[u32]| Measurement::of_capture("a", &capture(seconds)[..], client);
        assert!(matches!(of(&[0, u32::MAX]), Err(CaptureError::TooLong)));
        assert_eq!(of(&[5, 9]).unwrap().throughput[UP].len(), 21);
    }
}
