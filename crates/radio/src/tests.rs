//! The access to the medium against Bianchi's model, against what ns-2.35 answers on the same
//! cells, and against arithmetic.

use crate::{Air, FrameKind, Outgoing, Place, Profile, Propagation, Taken, Upper};
use sojourn_random::Stream;
use sojourn_units::{Rate, Span, Time};
use std::collections::VecDeque;
use std::format;
use std::vec;
use std::vec::Vec;

/// A packet: its source's number in the bed, when it was made, its number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Parcel {
    source: u32,
    made: Time,
}

/// What sends at one station.
#[derive(Clone, Debug)]
struct Source {
    to: Option<u32>,
    /// Of its packets, with IP and UDP headers.
    bytes: u32,
    /// Between packets; none: there is always one.
    gap: Option<Span>,
    next: Time,
    /// Of gaps that are longer or shorter by up to a half.
    jitter: Option<Stream>,
    /// Packets that wait, by the time at which they were made.
    waiting: VecDeque<Time>,
}

/// Stations with sources and a calendar.
struct Bed {
    profile: Profile,
    /// By station.
    sources: Vec<Option<Source>>,
    received: Vec<(Parcel, Time)>,
    failed: Vec<(u32, Time)>,
    frames: Vec<(FrameKind, u32, Time, Span)>,
}

impl Upper for Bed {
    type Packet = Parcel;

    fn take(&mut self, station: u32, now: Time) -> Taken<Parcel> {
        let Some(source) = &mut self.sources[station as usize] else {
            return Taken::Nothing;
        };
        let made = match source.gap {
            None => now,
            Some(_) => match source.waiting.pop_front() {
                Some(made) => made,
                None => return Taken::Nothing,
            },
        };
        Taken::Packet(Outgoing {
            packet: Parcel {
                source: station,
                made,
            },
            bytes: self.profile.frame(source.bytes, true),
            to: source.to,
        })
    }

    fn deliver(&mut self, _from: u32, _to: u32, packet: Parcel, at: Time) {
        self.received.push((packet, at));
    }

    fn fail(&mut self, station: u32, _to: u32, _packet: Parcel, now: Time) {
        self.failed.push((station, now));
    }

    fn sent(&mut self, frame: &crate::Frame<'_, Parcel>) {
        if self.frames.len() < 100 {
            self.frames
                .push((frame.kind, frame.from, frame.start, frame.airtime));
        }
    }
}

impl Bed {
    fn new(stations: usize) -> Self {
        Self {
            profile: Profile::NS2_B,
            sources: vec![None; stations],
            received: Vec::new(),
            failed: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Runs to `end`.
    fn run(&mut self, air: &mut Air<Parcel>, end: Time) {
        self.profile = *air.profile();
        for station in 0..self.sources.len() as u32 {
            air.waited_for(station, Time::ZERO, self);
        }
        loop {
            let due = air.due_before(Time::MAX).unwrap_or(Time::MAX);
            let made = (self.sources.iter().enumerate())
                .filter_map(|(at, source)| Some((source.as_ref()?, at)))
                .filter(|(source, _)| source.gap.is_some())
                .map(|(source, at)| (source.next, at))
                .min();
            let (make, station) = made.unwrap_or((Time::MAX, 0));
            if due.min(make) > end {
                return;
            }
            if make <= due {
                let source = self.sources[station].as_mut().expect("it makes packets");
                source.waiting.push_back(make);
                let gap = source.gap.expect("it has a gap");
                let more = source.jitter.as_mut().map(|dice| dice.span_below(gap));
                source.next = make + more.map_or(gap, |more| gap / 2 + more);
                air.waited_for(station as u32, make, self);
                continue;
            }
            air.run(due, self);
        }
    }

    /// Payload bits per second of what a source's packets bring.
    fn goodput(&self, source: u32, payload: u32, seconds: f64) -> f64 {
        let count = self
            .received
            .iter()
            .filter(|(p, _)| p.source == source)
            .count();
        count as f64 * f64::from(payload) * 8.0 / seconds
    }
}

fn air(profile: Profile, places: &[(f64, f64)], seed: u64) -> Air<Parcel> {
    let places: Vec<Place> = places.iter().map(|&(x, y)| Place { x, y }).collect();
    Air::new(profile, &places, &[], |station| {
        Stream::named(seed, &format!("radio.{station}"))
    })
}

fn always(to: u32, payload: u32) -> Source {
    Source {
        to: Some(to),
        bytes: payload + 28,
        gap: None,
        next: Time::MAX,
        jitter: None,
        waiting: VecDeque::new(),
    }
}

fn every(to: u32, payload: u32, gap: Span, start: Time) -> Source {
    Source {
        gap: Some(gap),
        next: start,
        ..always(to, payload)
    }
}

/// Receiver 0 in the middle of a circle of 5 m; Mbit/s of all the others together.
fn saturated(profile: Profile, senders: usize, payload: u32, seed: u64) -> f64 {
    let around = |n: usize| {
        let angle = core::f64::consts::TAU * n as f64 / senders as f64;
        (
            100.0 + 5.0 * libm::cos(angle),
            100.0 + 5.0 * libm::sin(angle),
        )
    };
    let places: Vec<(f64, f64)> = core::iter::once((100.0, 100.0))
        .chain((0..senders).map(around))
        .collect();
    let mut air = air(profile, &places, seed);
    let mut bed = Bed::new(places.len());
    for sender in 1..=senders {
        bed.sources[sender] = Some(always(0, payload));
    }
    bed.run(&mut air, Time::ZERO + Span::from_secs(20));
    bed.received.len() as f64 * f64::from(payload) * 8.0 / 20e6
}

/// Bianchi's model (IEEE JSAC 18(3), 2000) with a limit of attempts: Mbit/s of `n` stations that
/// always have a packet. `ns2`: by its rules.
fn bianchi(profile: &Profile, n: usize, payload: u32, ns2: bool, attempts: i32) -> f64 {
    let us = |span: Span| span.as_secs_f64() * 1e6;
    let windows: Vec<f64> = (0..attempts)
        .map(|k| {
            let cw = f64::from((profile.cw_min + 1) << k.min(10)) - 1.0;
            cw.min(f64::from(profile.cw_max)) + if ns2 { 0.0 } else { 1.0 }
        })
        .collect();
    let tau = |p: f64| {
        let (mut num, mut den, mut q) = (0.0, 0.0, 1.0);
        for window in &windows {
            num += q;
            den += q * (window + 1.0) / 2.0;
            q *= p;
        }
        num / den
    };
    let none = |t: f64, n: usize| libm::pow(1.0 - t, n as f64);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let p = f64::midpoint(low, high);
        if 1.0 - none(tau(p), n - 1) > p {
            low = p;
        } else {
            high = p;
        }
    }
    let t = tau(if n == 1 { 0.0 } else { low });
    let some = 1.0 - none(t, n);
    let one = n as f64 * t * none(t, n - 1) / some;
    let data = us(profile.airtime(profile.frame(payload + 28, true), profile.data_rate));
    let ack = us(profile.airtime(14, profile.answer_rate));
    let (slot, sifs, difs) = (us(profile.slot), us(profile.sifs), us(profile.difs()));
    let success = data + sifs + ack + difs;
    let collision = data + us(profile.eifs()) + if ns2 { difs } else { 0.0 };
    let bits = one * some * f64::from(payload) * 8.0;
    bits / ((1.0 - some) * slot + some * one * success + some * (1.0 - one) * collision)
}

#[test]
fn saturated_stations_carry_what_bianchi_s_model_says() {
    for payload in [1500, 218] {
        for n in [1, 2, 3, 5, 10, 20] {
            let got = saturated(Profile::STANDARD_B, n, payload, 1);
            let model = bianchi(&Profile::STANDARD_B, n, payload, false, 7);
            let off = got / model - 1.0;
            assert!(
                off.abs() < 0.03,
                "{payload} B, {n}: {got:.3} for {model:.3} Mbit/s"
            );
        }
    }
}

#[test]
fn saturated_stations_carry_what_ns2_measured() {
    let fast_acks = Profile {
        answer_rate: Rate::from_bps(2_000_000),
        ..Profile::NS2_B
    };
    let table = [
        (1500, 1, 6.036, 6.210),
        (1500, 2, 6.245, 6.439),
        (1500, 5, 6.034, 6.218),
        (1500, 10, 5.643, 5.808),
        (1500, 20, 5.177, 5.304),
        (218, 1, 1.653, 1.745),
        (218, 2, 1.829, 1.944),
        (218, 5, 1.858, 1.971),
        (218, 10, 1.768, 1.877),
        (218, 20, 1.646, 1.734),
    ];
    for (payload, n, slow, fast) in table {
        for (profile, wanted) in [(Profile::NS2_B, slow), (fast_acks, fast)] {
            let got = saturated(profile, n, payload, 1);
            let off: f64 = got / wanted - 1.0;
            assert!(
                off.abs() < 0.03,
                "{payload} B, {n}: {got:.3} for {wanted:.3} Mbit/s"
            );
        }
    }
}

#[test]
fn an_idle_hop_takes_what_its_parts_take() {
    for (payload, least) in [
        (100, 404.1),
        (218, 489.9),
        (512, 703.7),
        (1000, 1058.6),
        (1500, 1422.3),
    ] {
        let mut air = air(Profile::NS2_B, &[(0.0, 0.0), (25.0, 0.0)], 2);
        let mut bed = Bed::new(2);
        let gap = Span::from_micros(10_130);
        bed.sources[0] = Some(every(1, payload, gap, Time::ZERO));
        bed.run(&mut air, Time::ZERO + Span::from_secs(20));
        let micros: Vec<f64> = (bed.received.iter())
            .map(|(parcel, at)| (*at - parcel.made).as_secs_f64() * 1e6)
            .collect();
        for delay in &micros {
            let slots = (delay - least) / 20.0;
            assert!((slots - libm::round(slots)).abs() * 20.0 < 0.1, "{delay}");
            assert!((-0.01..30.01).contains(&slots), "{delay}");
        }
        let mean = micros.iter().sum::<f64>() / micros.len() as f64;
        assert!((mean - least - 300.0).abs() < 12.0, "{payload}: {mean}");
    }
    // By the standard a packet that finds the medium idle starts after DIFS, at once here.
    let mut air = air(Profile::STANDARD_B, &[(0.0, 0.0), (25.0, 0.0)], 1);
    let mut bed = Bed::new(2);
    let start = Time::ZERO + Span::from_millis(10);
    bed.sources[0] = Some(every(1, 1000, Span::from_millis(10), start));
    bed.run(&mut air, Time::ZERO + Span::from_millis(15));
    let (parcel, at) = bed.received[0];
    assert_eq!((at - parcel.made).as_nanos(), 966_000 + 83);
}

/// A and C send 1000 bytes to B in the middle, 20 s, at intervals that are random by half: medians
/// of nine seeds against those of eight in ns-2 (`wireless.tcl` of `anchors/wireless`, cells b).
#[test]
fn hidden_and_sensed_pairs_share_as_in_ns2() {
    let hears = |sense| Profile {
        sense,
        ..Profile::NS2_B
    };
    let (even, near) = ([25.0, 25.0], [8.0, 28.0]);
    // Distance of A and of C from B in m, sense in m, Mbit/s that each offers, goodput of A and of
    // C.
    let cells = [
        (even, hears(66.0), 0.5, [0.499, 0.5]),
        (even, hears(66.0), 1.0, [0.997, 0.996]),
        (even, hears(66.0), 2.0, [1.998, 2.002]),
        (even, hears(66.0), 6.0, [2.655, 2.663]),
        (even, hears(36.0), 0.5, [0.5, 0.5]),
        (even, hears(36.0), 1.0, [0.990, 0.994]),
        (even, hears(36.0), 2.0, [1.718, 1.704]),
        (even, hears(36.0), 6.0, [1.704, 1.737]),
        // A is received although C sends too: 10.9 dB.
        (near, hears(33.0), 0.5, [0.499, 0.5]),
        (near, hears(33.0), 1.0, [1.0, 1.0]),
        (near, hears(33.0), 2.0, [1.980, 1.014]),
        (near, hears(33.0), 6.0, [4.247, 0.244]),
    ];
    for ([a, c], profile, offered, ns2) in cells {
        let pair = |seed| {
            let mut air = air(profile, &[(-a, 0.0), (0.0, 0.0), (c, 0.0)], seed);
            let mut bed = Bed::new(3);
            let gap = Span::from_secs_f64(8000.0 / (offered * 1e6));
            for (station, start) in [(0, 0), (2, 1777)] {
                let start = Time::ZERO + Span::from_micros(start);
                let dice = Stream::named(seed, &format!("source.{station}"));
                bed.sources[station] = Some(Source {
                    jitter: Some(dice),
                    ..every(1, 1000, gap, start)
                });
            }
            bed.run(&mut air, Time::ZERO + Span::from_secs(20));
            let collided = air.counts(0).collided + air.counts(2).collided;
            let goodputs = [0, 2].map(|source| bed.goodput(source, 1000, 20e6));
            (goodputs, collided)
        };
        let runs = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(pair);
        for (index, wanted) in ns2.into_iter().enumerate() {
            let mut got = runs.map(|(goodputs, _)| goodputs[index]);
            got.sort_by(f64::total_cmp);
            std::println!(
                "{a} m, {c} m, {offered} Mbit/s, {index}: {} for {wanted}",
                got[4]
            );
            let off: f64 = got[4] / wanted - 1.0;
            assert!(
                off.abs() < 0.05,
                "{a} m, {c} m, {offered} Mbit/s, {index}: {got:?} for {wanted}"
            );
        }
        if profile.sense > a + c {
            // ns-2's collide 0 to 4 times, where two packets happen to come together.
            let most = runs.iter().map(|(_, collided)| *collided).max();
            assert!(most <= Some(4), "{offered} Mbit/s: {most:?} collisions");
        }
    }
}

/// The nearer of two hidden stations is received although the other one sends, from 10 dB on.
#[test]
fn capture_begins_at_ten_decibels() {
    let survives = |decibels: f64| {
        let profile = Profile {
            sense: 31.0,
            ..Profile::NS2_B
        };
        // In free space: 20 dB for ten times the distance.
        let near = 30.0 / libm::pow(10.0, decibels / 20.0);
        let mut air = air(profile, &[(-near, 0.0), (0.0, 0.0), (30.0, 0.0)], 1);
        let mut bed = Bed::new(3);
        bed.sources[0] = Some(always(1, 1000));
        bed.sources[2] = Some(always(1, 1000));
        bed.run(&mut air, Time::ZERO + Span::from_secs(2));
        bed.goodput(0, 1000, 2e6)
    };
    assert!(survives(9.97) < 2.5, "{}", survives(9.97));
    assert!(survives(10.02) > 3.0, "{}", survives(10.02));
}

/// Seven attempts: DIFS and backoffs of growing windows after each ACK timeout.
#[test]
fn a_vanished_neighbour_costs_seven_attempts() {
    let mut sum = 0.0;
    for seed in 1..=40 {
        let mut air = air(Profile::NS2_B, &[(0.0, 0.0), (25.0, 0.0)], seed);
        air.put(1, Place { x: 1e6, y: 0.0 });
        let mut bed = Bed::new(2);
        bed.sources[0] = Some(every(1, 1000, Span::from_secs(100), Time::ZERO));
        bed.run(&mut air, Time::ZERO + Span::from_secs(1));
        assert_eq!(bed.failed.len(), 1);
        assert_eq!((air.counts(0).sent, air.counts(0).given_up), (7, 1));
        sum += (bed.failed[0].1 - Time::ZERO).as_secs_f64() * 1e3;
        // It comes back, and everything is as before.
        air.put(1, Place { x: 25.0, y: 0.0 });
        let start = Time::ZERO + Span::from_secs(1);
        bed.sources[0] = Some(every(1, 1000, Span::from_secs(100), start));
        bed.run(&mut air, Time::ZERO + Span::from_secs(2));
        assert_eq!(bed.received.len(), 1);
    }
    // 7 · (50 + 958.5 + 318) µs, and mean backoffs of 15, 31, 63, 127, 255, 511 and 511 slots.
    let mean = sum / 40.0;
    assert!((mean - 39.5).abs() < 3.0, "{mean} ms");
}

/// A station that goes away within a frame, its own or one that it hears, leaves nobody deaf:
/// neither those that it was heard by, however near it was, nor itself where it comes to.
#[test]
fn a_frame_that_is_left_behind_ends() {
    for mover in [0, 1] {
        let places = [(0.0, 0.0), (2.0, 0.0), (27.0, 0.0), (1e6, 25.0), (1e6, 0.0)];
        let mut air = air(Profile::NS2_B, &places, 1);
        let mut bed = Bed::new(5);
        bed.sources[0] = Some(every(1, 1000, Span::from_secs(100), Time::ZERO));
        let mut now = Time::ZERO;
        while bed.frames.is_empty() {
            now += Span::from_micros(10);
            bed.run(&mut air, now);
        }
        air.put(mover, Place { x: 1e6, y: 0.5 });
        let later = Time::ZERO + Span::from_millis(100);
        let (to, from) = if mover == 0 { (2, 1) } else { (3, 1) };
        bed.sources[0] = None;
        bed.sources[from] = Some(every(to, 500, Span::from_secs(100), later));
        bed.sources[to as usize] = Some(every(from as u32, 500, Span::from_secs(100), later));
        bed.run(&mut air, later + Span::from_millis(100));
        let came: Vec<u32> = bed
            .received
            .iter()
            .map(|(parcel, _)| parcel.source)
            .collect();
        assert!(came.contains(&to) && came.contains(&1), "{mover}: {came:?}");
    }
}

#[test]
fn rts_and_cts_save_hidden_stations_long_frames() {
    let goodput = |rts_above| {
        let profile = Profile {
            sense: 45.0,
            rts_above,
            ..Profile::STANDARD_B
        };
        let mut air = air(profile, &[(0.0, 0.0), (25.0, 0.0), (50.0, 0.0)], 1);
        let mut bed = Bed::new(3);
        bed.sources[0] = Some(always(1, 1500));
        bed.sources[2] = Some(always(1, 1500));
        bed.run(&mut air, Time::ZERO + Span::from_secs(5));
        (
            bed.goodput(0, 1500, 5e6) + bed.goodput(2, 1500, 5e6),
            bed.frames,
        )
    };
    let (without, _) = goodput(None);
    let (with, frames) = goodput(Some(500));
    assert!(with > without, "{with} and {without} Mbit/s");
    let whole = frames
        .windows(4)
        .find(|four| {
            use FrameKind::{Ack, Cts, Data, Rts};
            [Rts, Cts, Data, Ack] == [four[0].0, four[1].0, four[2].0, four[3].0]
        })
        .expect("an exchange without a collision");
    for pair in whole.windows(2) {
        let pause = pair[1].2 - (pair[0].2 + pair[0].3);
        assert_eq!(pause, Span::from_nanos(10_000 + 83), "SIFS and the way");
    }
}

/// Stations 1 cm from each other answer each other as others do.
#[test]
fn stations_side_by_side_lose_no_acks() {
    for profile in [Profile::NS2_B, Profile::STANDARD_B] {
        for (sender, to) in [(0, 1), (1, 0)] {
            let mut air = air(profile, &[(0.0, 0.0), (0.01, 0.0)], 1);
            let mut bed = Bed::new(2);
            bed.sources[sender] = Some(always(to, 1000));
            bed.run(&mut air, Time::ZERO + Span::from_secs(1));
            let counts = air.counts(sender as u32);
            assert_eq!((counts.repeated, air.counts(to).duplicates), (0, 0));
            assert!(bed.received.len() > 500, "{}", bed.received.len());
        }
    }
}

/// By SINR: at 11 Mbit/s half of the frames of 1036 bytes survive 6.1 dB, at 1 and 2 Mbit/s all
/// that their preamble survives, from 4 dB on. The other station's pauses save some.
#[test]
fn each_rate_has_its_errors() {
    let survivors = |decibels: f64, mbps: u64| {
        let rate = Rate::from_bps(mbps * 1_000_000);
        let profile = Profile {
            sense: 45.0,
            data_rate: rate,
            ..Profile::STANDARD_B
        };
        // The receiver in the middle hears a hidden station 40 m off, which sends to another one.
        let near = 40.0 / libm::pow(10.0, decibels / 20.0);
        let places = [(-near, 0.0), (0.0, 0.0), (40.0, 0.0), (60.0, 0.0)];
        let mut air = air(profile, &places, 1);
        let mut bed = Bed::new(4);
        bed.sources[0] = Some(always(1, 1000));
        bed.sources[2] = Some(always(3, 1000));
        bed.run(&mut air, Time::ZERO + Span::from_secs(5));
        let counts = air.counts(0);
        1.0 - counts.collided as f64 / counts.sent as f64
    };
    for (decibels, mbps, least, most) in [
        (8.0, 11, 0.99, 1.0),
        (6.1, 11, 0.45, 0.75),
        (4.5, 11, 0.0, 0.4),
        (4.1, 1, 0.999, 1.0),
        (4.1, 2, 0.999, 1.0),
        (3.9, 1, 0.0, 0.9),
    ] {
        let share = survivors(decibels, mbps);
        std::println!("{decibels} dB, {mbps} Mbit/s: {share:.3}");
        assert!(
            (least..=most).contains(&share),
            "{decibels} dB, {mbps} Mbit/s: {share}"
        );
    }
}

/// Two hidden stations send to the one in the middle, one of them with 12 dB more: its frames
/// survive the other's, by SINR (11 Mbit/s needs 6 dB) and by pairs (10 dB), and the other's do not.
#[test]
fn the_stronger_of_two_hidden_stations_gets_through() {
    for profile in [Profile::STANDARD_B, Profile::NS2_B] {
        let profile = Profile {
            range: 15.0,
            sense: 15.0,
            ..profile
        };
        let places = [(-10.0, 0.0), (0.0, 0.0), (10.0, 0.0)].map(|(x, y)| Place { x, y });
        // 20 m apart: what the strong one sends reaches 15 m · 4, and its own ear 15 m only.
        let lost = |powers: &[f64]| {
            let dice = |n: usize| Stream::named(1, &std::format!("station {n}"));
            let mut air = Air::new(profile, &places, powers, dice);
            let mut bed = Bed::new(3);
            bed.sources[0] = Some(always(1, 1000));
            bed.sources[2] = Some(always(1, 1000));
            bed.run(&mut air, Time::ZERO + Span::from_secs(2));
            [0, 2].map(|n| {
                let counts = air.counts(n);
                counts.collided as f64 / counts.sent as f64
            })
        };
        let even = lost(&[1.0, 1.0, 1.0]);
        let uneven = lost(&[16.0, 1.0, 1.0]);
        assert!(even[0] > 0.2 && even[1] > 0.2, "{even:?}");
        assert!(uneven[0] < even[0] / 2.0, "{even:?} {uneven:?}");
        assert!(uneven[1] > 2.0 * uneven[0], "{uneven:?}");
    }
}

#[test]
fn broadcasts_reach_all_in_range_once() {
    let mut air = air(
        Profile::STANDARD_B,
        &[(0.0, 0.0), (25.0, 0.0), (0.0, 20.0), (50.0, 0.0)],
        1,
    );
    let mut bed = Bed::new(4);
    bed.sources[0] = Some(every(9, 100, Span::from_secs(1), Time::ZERO));
    if let Some(source) = &mut bed.sources[0] {
        source.to = None;
    }
    bed.run(&mut air, Time::ZERO + Span::from_millis(2500));
    assert_eq!(bed.received.len(), 6);
    assert_eq!(air.counts(0).sent, 3);
}

#[test]
fn free_space_and_runs_repeat() {
    let profile = Profile {
        propagation: Propagation::Friis,
        ..Profile::STANDARD_G
    };
    let run = |seed| saturated(profile, 5, 1000, seed);
    assert_eq!(run(7).to_bits(), run(7).to_bits());
    assert_ne!(run(7).to_bits(), run(8).to_bits());
    assert!((20.0..32.0).contains(&run(7)), "{}", run(7));
}

/// So many stations that memory is asked for ahead, most of them out of hearing, change nothing.
#[test]
fn stations_out_of_hearing_change_nothing() {
    let run = |stations: usize| {
        let far = |n: usize| (1e6 + 1e4 * n as f64, 0.0);
        let near = [(0.0, 0.0), (25.0, 0.0), (50.0, 0.0)];
        let places: Vec<_> = near.into_iter().chain((3..stations).map(far)).collect();
        let mut air = air(Profile::NS2_B, &places, 3);
        let mut bed = Bed::new(stations);
        bed.sources[0] = Some(always(1, 500));
        bed.sources[2] = Some(always(1, 500));
        bed.run(&mut air, Time::ZERO + Span::from_secs(2));
        assert_eq!(air.is_large(), stations > 3);
        (
            bed.frames,
            bed.received.len(),
            [0, 1, 2].map(|n| air.counts(n)),
        )
    };
    let alone = run(3);
    assert!(alone.1 > 500, "{} packets", alone.1);
    assert_eq!(run(300), alone);
}
