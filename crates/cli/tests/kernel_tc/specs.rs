//! The words that tc and we are asked about: every option of the catalogue that is tc's, at the ends
//! of its range and beyond, with values of other units and without one; pairs of neighbours; every
//! word of CAKE's link layers after another; and lines that people paste.

use sojourn_qdisc::{Kind, Opt, Unit, catalogue};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Words without which a discipline is refused, whatever else is said.
fn needed(kind: &Kind) -> &'static [(&'static str, &'static str)] {
    match kind.name {
        "red" => &[("limit", "400000"), ("avpkt", "1000")],
        "tbf" => &[("rate", "20mbit"), ("burst", "5kb"), ("latency", "50ms")],
        _ => &[],
    }
}

/// Values for an option, right ones and wrong ones.
fn values(opt: &Opt) -> Vec<String> {
    let (min, max) = (opt.min, opt.max);
    let mut edges = vec![min, max, max.saturating_add(1), min.saturating_sub(1)];
    let words: &[&str] = match opt.unit {
        Unit::Packets => &["17", "17p", "0x11", "1.5", "1k"],
        Unit::Count => &["17", "0x11", "1.5", "1k", "1500b"],
        Unit::Mask => &["0xff", "255", "0x", "ff"],
        Unit::Bytes => &["9000b", "64kb", "64kbit", "1.5mb", "0.1mb", "1g", "9 kb"],
        Unit::BytesOrPackets => &["60kb", "0.1mb", "480kbit"],
        Unit::Time | Unit::TimeOrPackets => {
            edges.clear();
            &[
                "1.5s", "250us", "1500", "7msec", "2secs", "0ms", "1ns", "4294s", "5m", "1min",
            ]
        }
        Unit::Rate => {
            edges.clear();
            &[
                "20mbit",
                "1.5mbit",
                "300kbit",
                "12345678bit",
                "2mbps",
                "1gibit",
                "800",
                "8Kbit",
                "100gbit",
                "0",
                "7bit",
                "5mb",
                "1tbit",
            ]
        }
        Unit::Percent => &["10", "10%", "1.5"],
        Unit::Fraction => {
            edges.clear();
            &["0.02", "1", ".5", "1e-2", "0", "1.5", "2%"]
        }
        Unit::Signed(least, most) => {
            edges.clear();
            let edges = [least, most, least - 1, most + 1, 44];
            return (edges.iter().map(i32::to_string))
                .chain(["x".into(), "1.5".into(), String::new()])
                .collect();
        }
        Unit::Word(words) => {
            edges.clear();
            words
        }
        Unit::Choice(_) | Unit::Switch(_) | Unit::Discipline => return Vec::new(),
    };
    let numbers = edges.iter().map(u64::to_string);
    let words = words.iter().map(|&word| word.to_owned());
    let wrong = ["x", "-1", ""].map(str::to_owned);
    numbers.chain(words).chain(wrong).collect()
}

/// Every way to say an option, without what it needs beside it.
fn said(opt: &Opt) -> Vec<String> {
    let names = [opt.name].into_iter().chain(opt.aliases.iter().copied());
    match opt.unit {
        Unit::Choice(words) => words.iter().map(|&word| word.to_owned()).collect(),
        Unit::Switch(off) => names.chain(off).map(str::to_owned).collect(),
        _ => {
            let all = values(opt)
                .into_iter()
                .map(|value| format!("{} {value}", opt.name));
            // Other names with one value only.
            let first = values(opt).first().cloned().unwrap_or_default();
            let others = names.skip(1).map(move |name| format!("{name} {first}"));
            all.map(|said| said.trim_end().to_owned())
                .chain(others)
                .collect()
        }
    }
}

/// A discipline with these words, and what it needs unless they say it.
fn line(kind: &Kind, words: &[&str]) -> String {
    let first = |words: &str| words.split(' ').next().unwrap_or_default().to_owned();
    let named: Vec<&str> = words
        .iter()
        .filter_map(|said| Some(kind.option(&first(said))?.0.name))
        .collect();
    let says =
        |name: &str| named.contains(&name) || (name == "latency" && named.contains(&"limit"));
    let mut line = kind.name.to_owned();
    for (name, value) in needed(kind).iter().filter(|(name, _)| !says(name)) {
        let _ = write!(line, " {name} {value}");
    }
    for said in words {
        let _ = write!(line, " {said}");
    }
    line
}

/// One ordinary way to say an option.
fn ordinary(opt: &Opt) -> String {
    let value = match opt.unit {
        Unit::Packets | Unit::Count => "300",
        Unit::Mask => "0xf0",
        Unit::Bytes | Unit::BytesOrPackets => "30kb",
        Unit::Time | Unit::TimeOrPackets => "7ms",
        Unit::Rate => "30mbit",
        Unit::Percent => "20",
        Unit::Fraction => "0.04",
        Unit::Signed(..) => "18",
        Unit::Word(words) => words[words.len() - 1],
        Unit::Choice(words) => return words[words.len() - 1].to_owned(),
        Unit::Switch(_) | Unit::Discipline => return opt.name.to_owned(),
    };
    format!("{} {value}", opt.name)
}

/// Lines of scripts, manuals and forums, and words in unusual orders.
const PASTED: &[&str] = &[
    "cake bandwidth 20mbit besteffort dual-srchost nat wash ack-filter ingress",
    "cake bandwidth 19Mbit diffserv3 diffserv4 dual-dsthost nat overhead 44 mpu 84",
    "cake unlimited bandwidth 20mbit",
    "cake bandwidth 20mbit unlimited",
    "cake bandwidth 20mbit autorate-ingress",
    "cake autorate-ingress bandwidth 20mbit",
    "cake bandwidth 20mbit autorate-ingress autorate-ingress",
    "cake nat nonat",
    "cake ingress egress",
    "cake internet rtt 50ms",
    "cake rtt 50ms lan",
    "cake rtt 50ms rtt 20ms",
    "cake lan metro",
    "cake overhead 44 overhead 8",
    "cake ether-vlan ether-vlan ethernet",
    "cake pppoe-ptm ether-vlan via-ethernet",
    "cake conservative raw",
    "cake raw conservative",
    "cake raw overhead 10",
    "cake overhead 10 raw",
    "cake atm noatm ptm",
    "cake docsis mpu 10",
    "cake mpu 10 docsis",
    "cake bandwidth 1500kbit memlimit 1mb rtt 300ms diffserv8",
    "cake bandwidth 10gbit split-gso no-split-gso",
    "cake ack-filter no-ack-filter ack-filter-aggressive",
    "cake wash nowash fwmark 0x1",
    "cake flows hosts",
    "cake bandwith 20mbit",
    "cake 20mbit",
    "fq_codel limit 1001 target 4ms interval 100ms quantum 300 noecn",
    "fq_codel limit 1001 limit 2002",
    "fq_codel ecn noecn",
    "fq_codel quantum 1514 flows 64 memory_limit 4mb drop_batch 32 ce_threshold 1ms",
    "codel ecn noecn",
    "codel target 20ms target 10ms",
    "codel limit 100 interval 50ms target 2ms ecn ce_threshold 2500us",
    "pie limit 200 target 20ms tupdate 30ms alpha 4 beta 25 ecn bytemode",
    "pie ecn noecn bytemode nobytemode",
    "pie dq_rate_estimator",
    "fq_pie limit 500 flows 16 quantum 9000 ecn_prob 30 ecn bytemode",
    "fq_pie quantum 300 memory_limit 1mb",
    "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn adaptive bandwidth 10Mbit",
    "red limit 60kb min 15kb avpkt 1000 probability .1 harddrop",
    "red limit 400000 avpkt 1000 burst 1",
    "red limit 400000 min 90000 max 30000 avpkt 1000",
    "red limit 400000 avpkt 1000 adaptive harddrop ecn nodrop",
    "red limit 400000 avpkt 1000 nodrop",
    "red limit 400000",
    "red avpkt 1000",
    "tbf rate 1mbit burst 10kb latency 70ms peakrate 2mbit minburst 1540",
    "tbf rate 1mbit burst 10kb latency 70ms peakrate 2mbit",
    "tbf rate 1mbit burst 10kb latency 70ms peakrate 1mbit mtu 1540",
    "tbf rate 1mbit burst 10kb latency 70ms limit 10kb",
    "tbf rate 1mbit burst 10kb",
    "tbf rate 1mbit latency 70ms",
    "tbf burst 10kb latency 70ms",
    "tbf rate 1mbit burst 10kb burst 20kb latency 70ms",
    "tbf rate 1mbit buffer 10kb/8 lat 70ms",
    "tbf rate 8mbit burst 10kb limit 20kb overhead 20 linklayer atm mpu 64",
    "tbf rate 8mbit burst 10kb limit 20kb linklayer adsl",
    "tbf rate 8mbit burst 10kb limit 20kb linklayer wifi",
    "pfifo limit 10 limit 20",
    "bfifo",
    "pfifo",
    "pfifo_head_drop",
    "pfifo_fast",
    "pye",
];

/// Disciplines that the guest's kernel has not, or whose words are a class's.
const BEYOND: [&str; 3] = ["htb", "cake_mq", "dualpi2"];

/// All of them, each once.
pub(crate) fn all() -> Vec<String> {
    let mut lines = Vec::new();
    let kinds = catalogue().iter();
    for kind in kinds.filter(|kind| kind.linux.is_some() && !BEYOND.contains(&kind.name)) {
        let is_tcs = |opt: &&Opt| !opt.ours && opt.unit != Unit::Discipline;
        let options: Vec<&Opt> = kind.options.iter().filter(is_tcs).collect();
        lines.push(line(kind, &[]));
        lines.push(kind.example.to_owned());
        lines.push(line(kind, &["wondrous"]));
        for opt in &options {
            lines.extend(said(opt).iter().map(|said| line(kind, &[said])));
            let once = ordinary(opt);
            lines.push(line(kind, &[&once, &once]));
        }
        for pair in options.windows(2) {
            let [first, second] = [pair[0], pair[1]].map(ordinary);
            lines.push(line(kind, &[&first, &second]));
        }
        for opt in &options {
            if let Unit::Choice(words) = opt.unit {
                let pairs = words.windows(2);
                lines.extend(pairs.map(|pair| line(kind, &["bandwidth 9mbit", pair[0], pair[1]])));
            }
        }
    }
    lines.extend(PASTED.iter().map(|&line| line.to_owned()));
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}
