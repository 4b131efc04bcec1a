//! Radio networks of any shape, with any queue, routing and traffic: nothing panics, a seed has
//! one result with and without observers, and no packet is lost without a place or counted
//! twice.

mod common;

use common::radio::{network, row};
use proptest::prelude::*;
use sojourn_apps::{Bulk, Cbr, File, Gaps, Ping, Spec as AppSpec, Steps};
use sojourn_qdisc::{Report, Value};
use sojourn_sim::Sim;
use sojourn_tcp::Config;
use sojourn_units::{Rate, Span, Time};
use sojourn_world::{
    AodvParams, Cell, Change, Flow, LinkResult, Medium, Place, Profile, Radio, Routing, Rules,
    RunResult, Tap, TapPoint, Taps, Transport, World,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Traffic stops here; what is under way gets the rest of the run to arrive, to be given up or to
/// be found without a way.
const STOP: u64 = 3;
const SECONDS: u64 = 60;

const QUEUES: [&str; 20] = [
    "pfifo limit 5",
    "pfifo_head_drop limit 3",
    "bfifo limit 5000",
    "red limit 60000 min 5000 max 15000 avpkt 1000 burst 10 probability 0.1",
    "codel",
    "cobalt",
    "pie",
    "gsp",
    "fq_codel limit 20",
    "fq_pie",
    "fq_gsp",
    "cake",
    "cake bandwidth 1mbit ack-filter",
    "adth target 20ms",
    "adth target 100ms limit 60 full head",
    "fq_adth target 50ms",
    "steer util 99% delay 30ms over gsp",
    "steer util 95% delay 20ms over fq_codel",
    "tbf rate 2mbit burst 5kb over fq_codel",
    "htb rate 1mbit over adth target 50ms",
];

/// Where the stations are: a chain, a grid, anywhere.
fn places() -> impl Strategy<Value = Vec<Place>> {
    let grid = (2..4_usize, 2..4_usize, 12.0..32.0_f64).prop_map(|(columns, rows, spacing)| {
        let place = |n: usize| Place {
            x: (n % columns) as f64 * spacing,
            y: (n / columns) as f64 * spacing,
        };
        (0..columns * rows).map(place).collect()
    });
    let anywhere = prop::collection::vec((0.0..110.0_f64, 0.0..70.0_f64), 2..9)
        .prop_map(|all| all.into_iter().map(|(x, y)| Place { x, y }).collect());
    prop_oneof![
        (1..6_usize, 10.0..34.0_f64).prop_map(|(hops, spacing)| row(hops, spacing)),
        grid,
        anywhere,
    ]
}

fn profile() -> impl Strategy<Value = Profile> {
    let all: Vec<Profile> = Profile::ALL.iter().map(|(_, profile)| *profile).collect();
    let sense = prop::sample::select(vec![30.0, 66.0, 318.0]);
    let rts = prop::sample::select(vec![None, None, Some(300)]);
    (prop::sample::select(all), sense, rts).prop_map(|(profile, sense, rts_above)| Profile {
        sense,
        rts_above,
        ..profile
    })
}

fn routing() -> impl Strategy<Value = Routing> {
    let hello = |params| AodvParams {
        hello: Some(Span::from_secs(1)),
        ..params
    };
    prop_oneof![
        2 => Just(Routing::Static { hop: None }),
        1 => Just(Routing::Static { hop: Some(20.0) }),
        1 => Just(Routing::Aodv(AodvParams::NS2)),
        1 => Just(Routing::Aodv(hello(AodvParams::NS2))),
        1 => Just(Routing::Aodv(AodvParams::RFC)),
        1 => Just(Routing::Aodv(hello(AodvParams::RFC))),
    ]
}

fn app() -> impl Strategy<Value = (AppSpec, bool)> {
    let interval = (2..60_u64).prop_map(Span::from_millis);
    let datagrams = prop_oneof![
        (20..1472_u16, interval.clone()).prop_map(|(size, interval)| AppSpec::from(Cbr {
            size,
            interval,
            gaps: Gaps::Even
        })),
        (40..600_u16, interval).prop_map(|(size, interval)| Ping { size, interval }.into()),
        (200..1200_u16, 1..40_u64).prop_map(|(size, rate)| {
            let rate = Rate::from_bps(rate * 100_000);
            let mut then = [None; Steps::MOST];
            then[0] = Some((Span::from_secs(1), 0.5));
            let size = [size, size + 200];
            Steps { size, rate, then }.into()
        }),
    ];
    let streams = prop_oneof![
        Just(AppSpec::from(Bulk)),
        (1000..200_000_u64).prop_map(|size| File { size }.into()),
    ];
    prop_oneof![
        3 => datagrams.prop_map(|app| (app, false)),
        1 => streams.prop_map(|app| (app, true)),
    ]
}

prop_compose! {
    fn cells()(
        places in places(),
        profile in profile(),
        routing in routing(),
        [routing_first, arp] in any::<[bool; 2]>(),
        queues in prop::collection::vec(prop::sample::select(QUEUES.to_vec()), 9),
        flows in prop::collection::vec(
            (any::<[prop::sample::Index; 2]>(), app(), 0..2000_u64),
            1..6,
        ),
        moves in prop::collection::vec(
            (any::<prop::sample::Index>(), 0..4000_u64, (-50.0..150.0_f64, -50.0..100.0_f64)),
            0..4,
        ),
        requeue in prop::option::of((prop::sample::select(QUEUES.to_vec()), 500..3000_u64)),
        seed in 0..1000_u64,
    ) -> Cell {
        let count = places.len();
        let mut network = network(profile, places, routing, "pfifo");
        for (interface, queue) in network.interfaces.iter_mut().zip(queues) {
            interface.qdisc = queue.parse().expect("a test's own spec");
        }
        if let Some(Medium::Radio(radio)) = network.media.first_mut() {
            (radio.routing_first, radio.arp) = (routing_first, arp);
        }
        let flow = |(number, (ends, (app, is_stream), start)): (usize, _)| {
            let [from, to]: [prop::sample::Index; 2] = ends;
            let from = from.index(count);
            let to = (from + 1 + to.index(count - 1)) % count;
            let transport = if is_stream {
                Transport::Tcp(Config { max_rto: Span::from_secs(2), ..Config::default() })
            } else {
                Transport::Udp
            };
            Flow {
                from,
                to,
                start: Time::ZERO + Span::from_millis(start),
                stop: Some(Time::ZERO + Span::from_secs(STOP)),
                ..Flow::new(&format!("f{number}"), transport, app)
            }
        };
        let flows = flows.into_iter().enumerate().map(flow).collect();
        let mut cell = Cell::new("any", network, flows, Span::from_secs(SECONDS));
        let moved = |(node, at, (x, y)): (prop::sample::Index, u64, (f64, f64))| Change {
            at: Time::ZERO + Span::from_millis(at),
            link: node.index(count),
            place: Some(Place { x, y }),
            ..Change::default()
        };
        cell.changes = moves.into_iter().map(moved).collect();
        cell.changes.extend(requeue.map(|(queue, at)| Change {
            at: Time::ZERO + Span::from_millis(at),
            link: 0,
            qdisc: Some(queue.parse().expect("a test's own spec")),
            ..Change::default()
        }));
        cell.changes.sort_by_key(|change| change.at);
        cell.seed = seed;
        cell
    }
}

/// A packet or frame at a place.
struct Seen {
    point: TapPoint,
    at: Time,
    outgoing: bool,
    bytes: Vec<u8>,
}

struct Eye(TapPoint, Arc<Mutex<Vec<Seen>>>);

impl Tap for Eye {
    fn frame(&mut self, at: Time, outgoing: bool, bytes: &[u8], _len: u32) {
        let (point, bytes) = (self.0, bytes.to_vec());
        self.1.lock().expect("one thread").push(Seen {
            point,
            at,
            outgoing,
            bytes,
        });
    }
}

/// Runs a cell, with what is seen at all nodes, queues and radios.
fn watch(cell: &Cell) -> (RunResult, Vec<Seen>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let nodes = 0..cell.network.nodes.len();
    let points = nodes
        .flat_map(|n| [TapPoint::Node(n), TapPoint::Offered(n), TapPoint::Air(n)])
        .map(|point| -> (TapPoint, Box<dyn Tap>) {
            (point, Box::new(Eye(point, Arc::clone(&seen))))
        });
    let taps = Taps {
        points: points.collect(),
        snap_len: 160,
    };
    let result = Sim.run(cell, taps, &mut |_| ControlFlow::Continue(()));
    let seen = std::mem::take(&mut *seen.lock().expect("one thread"));
    (result.expect("the cell can be run"), seen)
}

/// What tells datagrams apart: addresses, ports, number and time of sending. The bytes begin with
/// the IP header; none of a stream.
fn datagram(ip: &[u8]) -> Option<Vec<u8>> {
    (ip[9] == 17).then(|| [&ip[12..24], &ip[28..48]].concat())
}

/// What a station has done, by its radio's frames.
#[derive(Default)]
struct Spoken {
    /// Packets of flows that it had no ACK for in time, and messages of stations.
    unanswered: [u64; 2],
    /// Those of them that had come through.
    doubtful: u64,
    /// Packets that never came through, but an ACK did: late, of one before.
    mistaken: u64,
    /// Whether it was busy with one in the end.
    busy: u64,
}

/// A frame of IEEE 802.11 behind its radiotap header.
struct Heard<'a> {
    is_data: bool,
    is_ack: bool,
    is_again: bool,
    to: &'a [u8],
    /// Of data: LLC and the packet's headers.
    body: &'a [u8],
}

impl<'a> Heard<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let frame = &bytes[usize::from(bytes[2])..];
        let is_data = frame[0] == 0x08;
        Self {
            is_data,
            is_ack: frame[0] == 0xd4,
            is_again: frame[1] & 8 != 0,
            to: &frame[4..10],
            body: if is_data {
                &frame[24..frame.len().min(100)]
            } else {
                &[]
            },
        }
    }

    /// How long it takes, of data; of AODV's messages by the standard's lengths.
    fn airtime(&self, profile: &Profile) -> Span {
        let is_ip = self.body[6..8] == [8, 0];
        let packet = if is_ip {
            u16::from_be_bytes([self.body[10], self.body[11]])
        } else {
            28
        };
        let has_udp = is_ip && self.body[17] == 17;
        profile.airtime(profile.frame(packet.into(), has_udp), profile.data_rate)
    }

    /// Whether it is a packet of a flow, not of AODV nor ARP.
    fn is_of_flow(&self) -> bool {
        let is_ip = self.body[6..8] == [8, 0];
        is_ip && !(self.body[17] == 17 && self.body[28..30] == 654_u16.to_be_bytes())
    }
}

/// How much later than after a SIFS an ACK may begin.
fn patience(profile: &Profile) -> Span {
    match profile.rules {
        Rules::Ns2 => Span::from_micros(4),
        Rules::Standard => profile.slot + profile.receive_start(),
    }
}

/// What each station's unicast data frames came to, until the end of the run.
fn spoken(seen: &[Seen], stations: usize, profile: &Profile, end: Time) -> Vec<Spoken> {
    let mac = |station: usize| [2, 0, 0, 0, 0, station as u8 + 1];
    // What each has received of others' frames to it: by what stands in them.
    let mut received = vec![BTreeSet::new(); stations];
    let frames = || {
        seen.iter().filter_map(|one| match one.point {
            TapPoint::Air(station) => Some((station, one, Heard::new(&one.bytes))),
            _ => None,
        })
    };
    for (station, one, frame) in frames() {
        if !one.outgoing && frame.is_data && frame.to == mac(station) {
            received[station].insert(frame.body.to_vec());
        }
    }
    let mut all: Vec<Spoken> = (0..stations).map(|_| Spoken::default()).collect();
    // The frame that each has sent last, and until when its ACK must begin.
    let mut open: Vec<Option<(Heard<'_>, Time)>> = (0..stations).map(|_| None).collect();
    for (station, one, frame) in frames().filter(|(_, one, _)| one.at <= end) {
        let (own, open) = (&mut all[station], &mut open[station]);
        if !one.outgoing {
            // An ACK can come too late: the frame is sent again all the same, or given up.
            let is_answer = frame.is_ack && frame.to == mac(station);
            let answered = open.take_if(|(_, until)| is_answer && one.at <= *until);
            if let Some((frame, _)) = answered {
                let to = usize::from(frame.to[5]) - 1;
                own.mistaken += u64::from(!received[to].contains(frame.body));
            }
        } else if frame.is_data {
            if let Some((lost, _)) = open.take_if(|_| !frame.is_again) {
                own.unanswered[usize::from(!lost.is_of_flow())] += 1;
                let to = usize::from(lost.to[5]) - 1;
                own.doubtful += u64::from(received[to].contains(lost.body));
            }
            let until = one.at + frame.airtime(profile) + profile.sifs + patience(profile);
            *open = (frame.to != [0xff; 6]).then_some((frame, until));
        }
    }
    for (own, open) in all.iter_mut().zip(open) {
        own.busy = u64::from(open.is_some());
    }
    all
}

fn held(report: &Report) -> u64 {
    let queued = report.stats.iter().find(|field| field.name == "qlen");
    match queued.map(|field| &field.value) {
        Some(Value::Int(packets)) => *packets as u64,
        other => panic!("a queue tells its length: {other:?}"),
    }
}

fn signed(packets: u64) -> i64 {
    packets.try_into().expect("there are few")
}

/// A radio has given up what its frames say.
fn given_up_is_what_had_no_answer(
    radio: &Radio,
    link: &LinkResult,
    spoken: &Spoken,
) -> Result<(), TestCaseError> {
    let given_up = link.retry_drops.unwrap_or_default() as u64;
    let unanswered = spoken.unanswered.iter().sum::<u64>();
    // ns-2's AODV sends some of them once more.
    let sends_again = matches!(&radio.routing, Routing::Aodv(params) if params.rules == Rules::Ns2);
    let least = if sends_again { 0 } else { unanswered };
    let most = unanswered + spoken.busy;
    prop_assert!(
        (least..=most).contains(&given_up),
        "{} given up of {} to {}",
        given_up,
        least,
        most
    );
    Ok(())
}

/// Every packet of a flow has arrived, or was lost at a place that counts it, or is held.
fn accounts_balance(cell: &Cell, result: &RunResult, seen: &[Seen]) -> Result<(), TestCaseError> {
    let (nodes, end) = (cell.network.nodes.len() as u64, cell.end());
    let radio = cell.network.radio().expect("there is one");
    let spoken = spoken(seen, nodes as usize, &radio.profile, end);
    let of_node = |one: &&Seen| matches!(one.point, TapPoint::Node(_)) && one.at <= end;
    let count = |outgoing| {
        let here = seen.iter().filter(of_node);
        signed(here.filter(|one| one.outgoing == outgoing).count() as u64)
    };
    let (sent, arrived) = (count(true), count(false));
    let (mut lost, mut queued, mut told) = (0, 0, 0);
    for ((name, link), (station, spoken)) in result.links.iter().zip(spoken.iter().enumerate()) {
        let rest = held(&link.qdisc);
        prop_assert_eq!(
            link.offered_packets,
            link.dequeued_packets + link.dropped_packets + rest,
            "the queue of {}",
            name
        );
        queued += signed(rest);
        let places: f64 = [
            link.retry_drops,
            link.no_route_drops,
            link.routing_buffer_drops,
        ]
        .into_iter()
        .flatten()
        .sum();
        lost += signed(link.dropped_packets + places as u64);
        let offered = seen
            .iter()
            .filter(|one| one.point == TapPoint::Offered(station) && one.at <= end);
        told += signed(link.offered_packets) - signed(offered.count() as u64);
        if radio.profile.rts_above.is_none() {
            given_up_is_what_had_no_answer(radio, link, spoken)?;
        }
    }
    let sum = |of: fn(&Spoken) -> u64| signed(spoken.iter().map(of).sum());
    let is_aodv = matches!(radio.routing, Routing::Aodv(_));
    let has_streams = cell
        .flows
        .iter()
        .any(|flow| flow.transport != Transport::Udp);
    // A last packet may wait for each neighbour's address for ever; of a stream some are on their
    // way, or in a routing buffer.
    let addresses = if radio.arp { nodes * (nodes - 1) } else { 0 };
    let under_way = if has_streams && is_aodv {
        64 * nodes
    } else {
        0
    };
    let gone = sent - arrived;
    let most =
        lost + queued + sum(|one| one.busy + one.mistaken) + signed(addresses + under_way + nodes);
    prop_assert!(gone <= most, "{} are gone, {} have a place", gone, most);
    if !(has_streams || radio.arp) && queued == 0 {
        let most = lost + sum(|one| one.mistaken);
        prop_assert!(gone <= most, "{} are gone, {} have a place", gone, most);
    }
    // Losses that are none: what came through and was given up, what stations tell each other.
    // An answer of AODV can also be lost while it waits for an address.
    if !(is_aodv && radio.arp) && radio.profile.rts_above.is_none() {
        let not_lost = 2 * sum(|one| one.doubtful) + sum(|one| one.unanswered[1] + one.busy);
        let least = lost + queued - not_lost - told;
        prop_assert!(gone >= least, "{} are gone, {} were counted", gone, least);
    }
    Ok(())
}

/// Datagrams come as they were sent: none that was not, none twice but where AODV sends again, and
/// over routes that stay in their order.
fn datagrams_are_those_that_were_sent(cell: &Cell, seen: &[Seen]) -> Result<(), TestCaseError> {
    let radio = cell.network.radio().expect("there is one");
    let is_static = matches!(radio.routing, Routing::Static { .. });
    let (mut under_way, mut last) = (BTreeMap::new(), BTreeMap::new());
    for one in seen
        .iter()
        .filter(|one| matches!(one.point, TapPoint::Node(_)))
    {
        let Some(key) = datagram(&one.bytes[14..]) else {
            continue;
        };
        if one.outgoing {
            prop_assert_eq!(under_way.insert(key, 0), None, "each is sent once");
            continue;
        }
        let Some(copies) = under_way.get_mut(&key) else {
            return Err(TestCaseError::fail(format!("nobody has sent {key:?}")));
        };
        *copies += 1;
        prop_assert!(*copies == 1 || !is_static, "one came twice");
        if is_static {
            let (flow, number) = (key[..12].to_vec(), key[12..16].to_vec());
            let before = last.insert(flow, number.clone());
            prop_assert!(
                before.is_none_or(|before| before < number),
                "one overtook another"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_network_keeps_its_accounts(cell in cells()) {
        let plain = common::run(&cell);
        let (result, seen) = watch(&cell);
        prop_assert_eq!(plain.digest, result.digest);
        prop_assert_eq!(format!("{:?}", plain), format!("{:?}", result));
        accounts_balance(&cell, &result, &seen)?;
        datagrams_are_those_that_were_sent(&cell, &seen)?;
    }
}
