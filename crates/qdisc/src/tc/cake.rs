//! CAKE's language: bare words in any order, the table of tins, and the rows of the catalogue.
//!
//! Source: iproute2 `tc/q_cake.c`, `tc-cake(8)`.

use super::catalogue::{Initial, Kind, Opt, Stat, Style, Unit};
use super::error::SpecError;
use super::kinds::{
    CODEL_INTERVAL, CODEL_TARGET, ECN_ON, RATE, SIZE, TIME, first, opt, packet_limit, stat, styled,
    switch,
};
use super::parse::{Amount, Given};
use super::report::{rate, size, time};
use crate::params::CakeParams;
use crate::report::{Field, Value, int, micros};
use crate::{AckFilter, DiffServ, Framing, Isolation};
use Initial::{From, Is, Off, On};
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};
use sojourn_units::{Rate, Span, show_rate, show_size, show_span};

/// tc's presets for `rtt`.
const RTTS: &[&str] = &[
    "internet",
    "datacentre",
    "lan",
    "metro",
    "regional",
    "oceanic",
    "satellite",
    "interplanetary",
];
const RTT_MICROS: [u64; 8] = [
    100_000,
    100,
    1000,
    10_000,
    30_000,
    300_000,
    1_000_000,
    1_000_000_000,
];

const FRAMING: [&str; 3] = ["noatm", "atm", "ptm"];
pub(super) const ACK_FILTER: [&str; 3] = ["no-ack-filter", "ack-filter", "ack-filter-aggressive"];

const LINKS: &[&str] = &[
    "raw",
    "conservative",
    "via-ethernet",
    "ethernet",
    "ether-vlan",
    "docsis",
    "pppoa-vcmux",
    "pppoa-llc",
    "pppoe-vcmux",
    "pppoe-llcsnap",
    "bridged-vcmux",
    "bridged-llcsnap",
    "ipoa-vcmux",
    "ipoa-llcsnap",
    "pppoe-ptm",
    "bridged-ptm",
];

pub(super) const COBALT: Kind = Kind {
    name: "cobalt",
    summary: "CAKE's AQM on one queue: CoDel, and BLUE against flows that do not respond",
    source: "Piece of CAKE (2018); ns-3 CobaltQueueDisc; not a discipline of tc",
    example: "cobalt limit 1000 target 5ms interval 100ms",
    options: &[packet_limit("1000"), CODEL_TARGET, CODEL_INTERVAL, ECN_ON],
    absent: &[],
    stats: &[
        first(stat("count", "signals of CoDel's law, decaying")),
        styled(
            stat("dropping", "the delay is over the target"),
            Style::Flag,
        ),
        styled(
            stat("blue_prob", "probability of BLUE's drops"),
            Style::Float,
        ),
        first(stat("maxpacket", "largest packet so far, bytes")),
        stat("ecn_mark", "packets marked instead of dropped"),
        stat("blue_drop", "packets dropped by BLUE"),
        stat("drop_overlimit", "packets dropped at the limit"),
    ],
};

pub(super) const CAKE: Kind = Kind {
    name: "cake",
    summary: "shaper without bursts, DiffServ tins, host-fair flow queues and COBALT in one",
    source: "Piece of CAKE (2018); tc-cake(8)",
    example: "cake bandwidth 20mbit diffserv4 docsis ack-filter",
    options: &[
        opt(
            "bandwidth",
            Unit::Rate,
            (0, RATE),
            From("unlimited"),
            "rate of the shaper",
        ),
        switch(
            "unlimited",
            None,
            Off,
            "no shaper: the link below holds packets back",
        ),
        switch(
            "autorate-ingress",
            None,
            Off,
            "follow the rate at which packets arrive",
        ),
        opt(
            "diffserv3",
            Unit::Choice(&DiffServ::WORDS),
            (0, 0),
            From("diffserv3"),
            "tins by DSCP; a tin keeps its priority up to its share of the rate",
        ),
        opt(
            "triple-isolate",
            Unit::Choice(&Isolation::WORDS),
            (0, 0),
            From("triple-isolate"),
            "what is a flow, and which hosts share fairly before their flows do",
        ),
        switch(
            "nat",
            Some("nonat"),
            Off,
            "take the addresses inside a network address translation, where the world knows them",
        ),
        switch(
            "wash",
            Some("nowash"),
            Off,
            "clear the DSCP of every packet",
        ),
        switch(
            "ingress",
            Some("egress"),
            Off,
            "packets have crossed the link before: count dropped ones too",
        ),
        opt(
            "no-ack-filter",
            Unit::Choice(&ACK_FILTER),
            (0, 0),
            From("no-ack-filter"),
            "drop acknowledgements that a newer one makes superfluous",
        ),
        switch(
            "split-gso",
            Some("no-split-gso"),
            On,
            "cut super-packets into their segments",
        ),
        opt(
            "rtt",
            Unit::Time,
            (1000, TIME),
            Is("100ms"),
            "round-trip time that the AQM is made for; its target is a twentieth",
        ),
        opt(
            "internet",
            Unit::Choice(RTTS),
            (0, 0),
            From("internet"),
            "the same by name, 100us to 1000s",
        ),
        opt(
            "raw",
            Unit::Choice(LINKS),
            (0, 0),
            From("raw"),
            "overhead of common links; words may follow each other, and overheads add up",
        ),
        opt(
            "noatm",
            Unit::Choice(&FRAMING),
            (0, 0),
            From("noatm"),
            "cells of the link: 48 bytes in 53 or 64 in 65",
        ),
        opt(
            "overhead",
            Unit::Signed(-64, 256),
            (0, 0),
            From("0"),
            "bytes added to each packet, from its network header",
        ),
        opt(
            "mpu",
            Unit::Count,
            (0, 256),
            Is("0"),
            "least size of a packet on the link",
        ),
        opt(
            "memlimit",
            Unit::Bytes,
            (1, SIZE),
            From("4 times rate and rtt, at least 4Mb"),
            "memory at most; above it the longest queue of all tins loses its head",
        ),
        opt(
            "fwmark",
            Unit::Count,
            (0, u32::MAX as u64),
            From("0: the DSCP alone chooses"),
            "bits of the firewall's mark that choose a tin: 1 is the first one shown",
        ),
    ],
    absent: &[],
    stats: &[
        stat("memory_used", "most memory used so far, bytes"),
        stat("memory_limit", "memory at most, bytes"),
        stat(
            "capacity_estimate",
            "rate of the shaper, or of arrivals with autorate-ingress",
        ),
        stat("min_network_size", "smallest packet before compensation"),
        stat("max_network_size", "largest packet before compensation"),
        stat("min_adj_size", "smallest packet on the link"),
        stat("max_adj_size", "largest packet on the link"),
        stat("avg_hdr_offset", "bytes before the network header"),
        TINS,
    ],
};

const TINS: Stat = stat(
    "tins",
    "for each tin: threshold_rate, delays (peak, average, base), packets, bytes, ways, drops, \
     marks, flows, quantum",
);

/// Overheads of several layers add up.
pub(super) fn may_repeat(opt: &Opt) -> bool {
    opt.unit == Unit::Choice(LINKS)
}

impl Given<'_> {
    /// As tc does, in the order of the words: a later one changes what earlier ones have set.
    pub(super) fn cake(&self) -> Result<CakeParams, SpecError> {
        let mut cake = CakeParams::default();
        let mut is_raw = false;
        for (opt, amount, at) in &self.options {
            let number = match *amount {
                Amount::Number(number) => number,
                Amount::Signed(bytes) => {
                    cake.link.overhead = bytes;
                    cake.link.raw = is_raw;
                    continue;
                }
                Amount::Packets(_) | Amount::Fraction(_) => continue,
            };
            let (choice, on) = (number as usize, number == 1);
            match opt.name {
                "bandwidth" => {
                    cake.bandwidth = (number > 0).then(|| Rate::from_bps(number));
                }
                "unlimited" => cake.bandwidth = None,
                "autorate-ingress" => cake.autorate = true,
                "diffserv3" => cake.diffserv = DiffServ::ALL[choice],
                "triple-isolate" => cake.isolation = Isolation::ALL[choice],
                "nat" => cake.nat = on,
                "fwmark" => cake.fwmark = number as u32,
                "wash" => cake.wash = on,
                "ingress" => cake.ingress = on,
                "no-ack-filter" => cake.ack_filter = FILTERS[choice],
                "split-gso" => cake.split_gso = on,
                "rtt" => cake.rtt = Span::from_nanos(number),
                "internet" => cake.rtt = Span::from_micros(RTT_MICROS[choice]),
                "raw" => {
                    is_raw = LINKS[choice] == "raw";
                    cake.link.apply(&self.text[at.clone()]);
                }
                "noatm" => cake.link.framing = FRAMINGS[choice],
                "mpu" => cake.link.mpu = number as u32,
                "memlimit" => cake.memlimit = Some(number),
                _ => {}
            }
        }
        if self.find("unlimited").is_some() && self.find("bandwidth").is_some() {
            return Err(self.wrong(
                "unlimited",
                "`bandwidth` and `unlimited` contradict each other".to_string(),
                "give one of them".to_string(),
            ));
        }
        Ok(cake)
    }
}

pub(super) const FILTERS: [AckFilter; 3] =
    [AckFilter::Off, AckFilter::Normal, AckFilter::Aggressive];
const FRAMINGS: [Framing; 3] = [Framing::None, Framing::Atm, Framing::Ptm];

fn either(on: bool, yes: &'static str, no: &'static str) -> &'static str {
    if on { yes } else { no }
}

/// The options after the name.
pub(super) fn show(f: &mut fmt::Formatter<'_>, cake: &CakeParams) -> fmt::Result {
    match cake.bandwidth {
        Some(rate) => write!(f, " bandwidth {}", show_rate(rate))?,
        None => f.write_str(" bandwidth unlimited")?,
    }
    if cake.autorate {
        f.write_str(" autorate-ingress")?;
    }
    write!(f, " {} {}", cake.diffserv.word(), cake.isolation.word())?;
    write!(f, " {}", either(cake.nat, "nat", "nonat"))?;
    write!(f, " {}", either(cake.wash, "wash", "nowash"))?;
    if cake.ingress {
        f.write_str(" ingress")?;
    }
    write!(f, " {}", ACK_FILTER[cake.ack_filter as usize])?;
    write!(
        f,
        " {}",
        either(cake.split_gso, "split-gso", "no-split-gso")
    )?;
    write!(f, " rtt {}", show_span(cake.rtt))?;
    let link = &cake.link;
    if link.raw {
        f.write_str(" raw")?;
    }
    if !link.raw || link.framing != Framing::None {
        write!(f, " {}", FRAMING[link.framing as usize])?;
    }
    write!(f, " overhead {}", link.overhead)?;
    if link.mpu > 0 {
        write!(f, " mpu {}", link.mpu)?;
    }
    if let Some(bytes) = cake.memlimit {
        write!(f, " memlimit {}", show_size(bytes))?;
    }
    if cake.fwmark != 0 {
        write!(f, " fwmark {:#x}", cake.fwmark)?;
    }
    Ok(())
}

fn text(name: &'static str, word: &str) -> Field {
    Field {
        name: name.into(),
        value: Value::Text(word.to_string()),
    }
}

/// The fields of tc's JSON.
pub(super) fn options(fields: &mut alloc::vec::Vec<Field>, cake: &CakeParams) {
    fields.push(match cake.bandwidth {
        Some(rate) => int("bandwidth", rate.bytes_per_sec()),
        None => text("bandwidth", "unlimited"),
    });
    if cake.autorate {
        fields.push(Field::switch("autorate", true));
    }
    let filter = ["disabled", "enabled", "aggressive"][cake.ack_filter as usize];
    fields.extend([
        text("diffserv", cake.diffserv.word()),
        text("flowmode", cake.isolation.word()),
        Field::switch("nat", cake.nat),
        Field::switch("wash", cake.wash),
        Field::switch("ingress", cake.ingress),
        text("ack-filter", filter),
        Field::switch("split_gso", cake.split_gso),
        micros("rtt", cake.rtt),
    ]);
    fields.push(if cake.link.raw {
        Field::switch("raw", true)
    } else {
        text("atm", FRAMING[cake.link.framing as usize])
    });
    fields.push(Field {
        name: "overhead".into(),
        value: Value::Int(i64::from(cake.link.overhead)),
    });
    if cake.link.mpu > 0 {
        fields.push(int("mpu", cake.link.mpu));
    }
    fields.extend(cake.memlimit.map(|bytes| int("memlimit", bytes)));
    // Hexadecimal, as text, and zero without a prefix: tc's way.
    let mark = match cake.fwmark {
        0 => "0".to_string(),
        mask => format!("{mask:#x}"),
    };
    fields.push(text("fwmark", &mark));
}

/// The first line of `tc qdisc show`, made from the fields of the JSON.
pub(super) fn text_options(out: &mut String, options: &[Field]) {
    for field in options {
        let _ = match (&*field.name, &field.value) {
            ("bandwidth", Value::Int(bytes)) => {
                write!(out, "bandwidth {} ", rate(bytes.unsigned_abs()))
            }
            ("bandwidth", _) => write!(out, "bandwidth unlimited "),
            ("autorate", _) => write!(out, "autorate-ingress "),
            ("ack-filter", Value::Text(how)) => {
                let words = match how.as_str() {
                    "enabled" => ACK_FILTER[1],
                    "aggressive" => ACK_FILTER[2],
                    _ => ACK_FILTER[0],
                };
                write!(out, "{words} ")
            }
            ("diffserv" | "flowmode" | "atm", Value::Text(word)) => write!(out, "{word} "),
            ("nat", Value::Bool(on)) => write!(out, "{} ", either(*on, "nat", "nonat")),
            ("wash", Value::Bool(on)) => write!(out, "{} ", either(*on, "wash", "nowash")),
            ("ingress" | "raw", Value::Bool(true)) => write!(out, "{} ", field.name),
            ("split_gso", Value::Bool(on)) => {
                write!(out, "{} ", either(*on, "split-gso", "no-split-gso"))
            }
            ("rtt", Value::Int(micros)) => write!(out, "rtt {} ", time(*micros)),
            ("overhead" | "mpu", Value::Int(bytes)) => write!(out, "{} {bytes} ", field.name),
            ("memlimit", Value::Int(bytes)) => {
                write!(out, "memlimit {} ", size(bytes.unsigned_abs()))
            }
            ("fwmark", Value::Text(mask)) if mask != "0" => write!(out, "fwmark {mask} "),
            _ => Ok(()),
        };
    }
    out.push('\n');
}

fn number(fields: &[Field], name: &str) -> i64 {
    let field = fields.iter().find(|field| field.name == name);
    match field.map(|field| &field.value) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    }
}

/// A row of the table: tc's label, the field of the JSON, and how it is shown.
type Row = (&'static str, &'static str, fn(i64) -> String);

const ROWS: [Row; 20] = [
    ("thresh", "threshold_rate", |n| rate(n.unsigned_abs())),
    ("target", "target_us", time),
    ("interval", "interval_us", time),
    ("pk_delay", "peak_delay_us", time),
    ("av_delay", "avg_delay_us", time),
    ("sp_delay", "base_delay_us", time),
    ("backlog", "backlog_bytes", |n| size(n.unsigned_abs())),
    ("pkts", "sent_packets", |n| n.to_string()),
    ("bytes", "sent_bytes", |n| n.to_string()),
    ("way_inds", "way_indirect_hits", |n| n.to_string()),
    ("way_miss", "way_misses", |n| n.to_string()),
    ("way_cols", "way_collisions", |n| n.to_string()),
    ("drops", "drops", |n| n.to_string()),
    ("marks", "ecn_mark", |n| n.to_string()),
    ("ack_drop", "ack_drops", |n| n.to_string()),
    ("sp_flows", "sparse_flows", |n| n.to_string()),
    ("bk_flows", "bulk_flows", |n| n.to_string()),
    ("un_flows", "unresponsive_flows", |n| n.to_string()),
    ("max_len", "max_pkt_len", |n| n.to_string()),
    ("quantum", "flow_quantum", |n| n.to_string()),
];

/// What follows the backlog in `tc -s qdisc show`: sizes, then the table of tins.
pub(super) fn text_stats(out: &mut String, stats: &[Field]) {
    let of = |name| number(stats, name);
    let memory = |name| size(of(name).unsigned_abs());
    let _ = write!(
        out,
        " memory used: {} of {}\n capacity estimate: {}\n \
         min/max network layer size: {:>12} /{:>8}\n \
         min/max overhead-adjusted size: {:>8} /{:>8}\n \
         average network hdr offset: {:>12}\n\n",
        memory("memory_used"),
        memory("memory_limit"),
        rate(of("capacity_estimate").unsigned_abs()),
        of("min_network_size"),
        of("max_network_size"),
        of("min_adj_size"),
        of("max_adj_size"),
        of("avg_hdr_offset"),
    );
    let tins = stats.iter().find_map(|field| match &field.value {
        Value::Groups(tins) if field.name == "tins" => Some(tins),
        _ => None,
    });
    let Some(tins) = tins else { return };
    let names = DiffServ::ALL.iter().find(|mode| mode.tins() == tins.len());
    out.push_str("          ");
    for name in names.map_or(&[][..], |mode| mode.names()) {
        let _ = write!(out, "{name:>13}");
    }
    out.push('\n');
    for (label, name, shown) in ROWS {
        let _ = write!(out, "  {label:8}");
        for tin in tins {
            let _ = write!(out, "{:>13}", shown(number(tin, name)));
        }
        out.push('\n');
    }
    out.push('\n');
}
