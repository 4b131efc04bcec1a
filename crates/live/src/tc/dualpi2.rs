//! DualPI2 without tc: Debian 12's iproute2 (6.1) does not know the queue, Linux has it since 6.17.
//!
//! Source: `struct tcmsg` of `linux/rtnetlink.h`; `TCA_DUALPI2_*` and `struct tc_dualpi2_xstats` of
//! `linux/pkt_sched.h` in Linux 7.3. A line for tc is read here, told to the kernel by rtnetlink,
//! and read back from it. What a queue counts while it runs is read in `counters.rs`.

use super::request::{Asked, TCA_OPTIONS, refused};
use super::{LEAF, RTM_GETQDISC, tcmsg, unknown_to_kernel};
use sojourn_bridge::Interface;
use sojourn_bridge::netlink::{
    ECHO, ERROR, HEADER, NESTED, attribute, connect, find, message, messages,
    protocols::NETLINK_ROUTE, word,
};
use sojourn_qdisc::{
    DualDrop, DualMask, DualOverload, DualPi2Params, Field, Report, Spec, StepThreshold, Value,
};
use sojourn_units::Span;
use std::io;

/// The queue's name.
pub(super) const KIND: &str = "dualpi2";
/// The attribute with its own statistics, of a message about a queue.
const TCA_XSTATS: u16 = 4;
/// The kernel's probability of 1: a word, all of its bits.
const CERTAIN: f64 = u32::MAX as f64;

/// The queue's attributes.
mod option {
    pub(super) const LIMIT: u16 = 1;
    pub(super) const MEMORY_LIMIT: u16 = 2;
    pub(super) const TARGET: u16 = 3;
    pub(super) const TUPDATE: u16 = 4;
    pub(super) const ALPHA: u16 = 5;
    pub(super) const BETA: u16 = 6;
    pub(super) const STEP_THRESH_PKTS: u16 = 7;
    pub(super) const STEP_THRESH_US: u16 = 8;
    pub(super) const MIN_QLEN_STEP: u16 = 9;
    pub(super) const COUPLING: u16 = 10;
    pub(super) const DROP_OVERLOAD: u16 = 11;
    pub(super) const DROP_EARLY: u16 = 12;
    pub(super) const C_PROTECTION: u16 = 13;
    pub(super) const ECN_MASK: u16 = 14;
    pub(super) const SPLIT_GSO: u16 = 15;
}

/// Carries such a line out, in the calling thread's namespace.
pub(super) fn run(line: &str) -> io::Result<()> {
    let (asked, params) =
        read_line(line).ok_or_else(|| refused(line, "it is not a line about dualpi2"))?;
    let done = asked.carry_out(KIND, attribute(TCA_OPTIONS | NESTED, &options(&params)));
    done.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => refused(line, &unknown_to_kernel(KIND)),
        _ => refused(line, &error.to_string()),
    })
}

/// A line about such a queue, and its parameters.
fn read_line(line: &str) -> Option<(Asked<'_>, DualPi2Params)> {
    let asked = Asked::read(line)?;
    match asked.queue.parse() {
        Ok(Spec::DualPi2(params)) => Some((asked, params)),
        _ => None,
    }
}

/// All parameters as attributes, but for a limit of memory that follows from the one in packets.
fn options(params: &DualPi2Params) -> Vec<u8> {
    let long = |kind: u16, value: u32| attribute(kind, &value.to_ne_bytes());
    let byte = |kind: u16, value: u8| attribute(kind, &[value]);
    let micros = |span: Span| u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
    let small = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
    let mut all = long(option::LIMIT, params.limit);
    if let Some(bytes) = params.memlimit {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        all.extend(long(option::MEMORY_LIMIT, bytes));
    }
    let step = match params.step_thresh {
        StepThreshold::Time(span) => long(option::STEP_THRESH_US, micros(span)),
        StepThreshold::Packets(packets) => long(option::STEP_THRESH_PKTS, packets),
    };
    let rest = [
        long(option::TARGET, micros(params.target)),
        long(option::TUPDATE, micros(params.tupdate)),
        long(option::ALPHA, params.alpha),
        long(option::BETA, params.beta),
        step,
        long(option::MIN_QLEN_STEP, params.min_qlen_step),
        byte(option::COUPLING, small(params.coupling_factor)),
        byte(
            option::DROP_OVERLOAD,
            (params.overload == DualOverload::Drop).into(),
        ),
        byte(option::DROP_EARLY, (params.at == DualDrop::Enqueue).into()),
        byte(option::C_PROTECTION, small(params.classic_protection)),
        byte(option::ECN_MASK, mask(params.mask)),
        byte(option::SPLIT_GSO, params.split_gso.into()),
    ];
    all.extend(rest.concat());
    all
}

const fn mask(mask: DualMask) -> u8 {
    match mask {
        DualMask::L4s => 1,
        DualMask::Any => 3,
    }
}

/// The parameters that the kernel says a queue has: its law is Linux's. None when one is missing.
fn params(options: &[u8]) -> Option<DualPi2Params> {
    let long = |kind: u16| word(find(options, kind)?, 0);
    let byte = |kind: u16| find(options, kind)?.first().copied();
    let span = |kind: u16| long(kind).map(|micros| Span::from_micros(micros.into()));
    let step = match long(option::STEP_THRESH_PKTS) {
        Some(packets) => StepThreshold::Packets(packets),
        None => StepThreshold::Time(span(option::STEP_THRESH_US)?),
    };
    Some(DualPi2Params {
        limit: long(option::LIMIT)?,
        memlimit: Some(long(option::MEMORY_LIMIT)?.into()),
        target: span(option::TARGET)?,
        tupdate: span(option::TUPDATE)?,
        alpha: long(option::ALPHA)?,
        beta: long(option::BETA)?,
        step_thresh: step,
        min_qlen_step: long(option::MIN_QLEN_STEP)?,
        coupling_factor: byte(option::COUPLING)?.into(),
        overload: match byte(option::DROP_OVERLOAD)? {
            0 => DualOverload::Overflow,
            _ => DualOverload::Drop,
        },
        at: match byte(option::DROP_EARLY)? {
            0 => DualDrop::Dequeue,
            _ => DualDrop::Enqueue,
        },
        classic_protection: byte(option::C_PROTECTION)?.into(),
        mask: match byte(option::ECN_MASK)? {
            1 => DualMask::L4s,
            _ => DualMask::Any,
        },
        split_gso: byte(option::SPLIT_GSO)? != 0,
        ..DualPi2Params::default()
    })
}

/// `tc`'s JSON without what it says of options that it does not know, which is no JSON.
pub(super) fn without_unknown(json: &str) -> String {
    const START: &str = "[Unknown qdisc, optlen=";
    let mut parts = json.split(START);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(']').map_or(part, |(_, rest)| rest);
    }
    text
}

/// Adds options and statistics of the queue [`LEAF`] at a device of the calling thread's namespace
/// to what tc says of it.
pub(super) fn complete(report: &mut Report, device: &str) -> io::Result<()> {
    let socket = connect(NETLINK_ROUTE)?;
    let index = Interface::index_of(device)?;
    // Without ECHO the answer goes to a multicast group alone.
    socket.send(&message(RTM_GETQDISC, ECHO, &tcmsg(index, LEAF), &[]), 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let told = read(&answer);
    let (options, stats) =
        told.ok_or_else(|| io::Error::other("the kernel does not describe its dualpi2"))?;
    report.options = options;
    report.stats.extend(stats);
    Ok(())
}

fn read(answer: &[u8]) -> Option<(Vec<Field>, Vec<Field>)> {
    let (kind, _) = messages(answer).next()?;
    if kind == ERROR {
        return None;
    }
    let all = answer.get(HEADER + 20..)?;
    let params = params(find(all, TCA_OPTIONS)?)?;
    let options = Report::options_of(&Spec::DualPi2(params));
    Some((options, statistics(find(all, TCA_XSTATS)?)?))
}

/// The base probability in the queue's own statistics.
pub(super) fn base_probability(own: &[u8]) -> Option<f64> {
    Some(f64::from(word(own, 0)?) / CERTAIN)
}

/// The queue's own statistics, with the names and in the order of tc's JSON.
fn statistics(own: &[u8]) -> Option<Vec<Field>> {
    let number = |at: usize| word(own, at).map(|word| Value::Int(word.into()));
    let probability = base_probability(own)?;
    let credit = word(own, 8)?.cast_signed();
    let fields = [
        ("prob", Value::Float(probability)),
        ("delay-c", number(1)?),
        ("delay-l", number(2)?),
        ("pkts-in-c", number(3)?),
        ("pkts-in-l", number(4)?),
        ("maxq", number(5)?),
        ("ecn-mark", number(6)?),
        ("step-mark", number(7)?),
        ("credit", Value::Int(credit.into())),
        ("memory-used", number(9)?),
        ("max-memory-used", number(10)?),
        ("memory-limit", number(11)?),
    ];
    let fields = fields.map(|(name, value)| Field {
        name: name.into(),
        value,
    });
    Some(fields.into())
}

#[cfg(test)]
mod tests {
    use super::super::RTM_NEWQDISC;
    use super::super::request::TCA_KIND;
    use super::*;

    const LINE: &str = "qdisc add dev d parent 1:1 handle 10: dualpi2 limit 50 target 7ms \
                        step_thresh 12p any_ect overflow drop_enqueue";

    #[test]
    fn a_line_becomes_a_message() {
        let request_of = |text| {
            let (line, params) = read_line(text).unwrap();
            line.message(7, KIND, attribute(TCA_OPTIONS | NESTED, &options(&params)))
        };
        let request = request_of(LINE);
        let (kind, body) = messages(&request).next().unwrap();
        assert_eq!(kind, RTM_NEWQDISC);
        // To be made, where nothing is, and acknowledged.
        assert_eq!(request[6..8], 0x605_u16.to_ne_bytes());
        let at = |number| word(body, number).unwrap();
        assert_eq!([at(1), at(2), at(3)], [7, 0x10_0000, 0x1_0001]);
        assert_eq!(find(&body[20..], TCA_KIND).unwrap(), b"dualpi2\0");
        let request = request_of("qdisc change dev d root handle 10: dualpi2");
        assert_eq!(request[6..8], 0x5_u16.to_ne_bytes());
        assert_eq!(request[28..32], u32::MAX.to_ne_bytes());
        assert!(read_line("qdisc add dev d root handle 10: dualpi2 limit").is_none());
    }

    /// By `linux/pkt_sched.h`: the numbers of the attributes and of the words in them.
    #[test]
    fn parameters_are_attributes_and_come_back() {
        let (_, asked) = read_line(LINE).unwrap();
        let told = options(&asked);
        let long = |kind| word(find(&told, kind).unwrap(), 0);
        let byte = |kind| find(&told, kind).unwrap()[0];
        assert_eq!(
            (long(1), long(3), long(4)),
            (Some(50), Some(7_000), Some(16_000))
        );
        assert_eq!((long(5), long(6), long(7)), (Some(41), Some(819), Some(12)));
        assert_eq!((find(&told, 2), find(&told, 8)), (None, None));
        let bytes = [10, 11, 12, 13, 14, 15].map(byte);
        assert_eq!(bytes, [2, 0, 1, 10, 3, 1]);
        // The kernel says a limit of memory too.
        let answer = [told, attribute(2, &9_000_u32.to_ne_bytes())].concat();
        let memlimit = Some(9_000);
        assert_eq!(params(&answer), Some(DualPi2Params { memlimit, ..asked }));
        let usual = DualPi2Params::default();
        let answer = [options(&usual), attribute(2, &9_000_u32.to_ne_bytes())].concat();
        assert_eq!(params(&answer), Some(DualPi2Params { memlimit, ..usual }));
        assert_eq!(params(&options(&usual)), None);
    }

    /// What iproute2 6.1 says.
    #[test]
    fn unknown_options_are_taken_out() {
        let said = r#"[{"kind":"dualpi2","options":{[Unknown qdisc, optlen=112] },"drops":3}]"#;
        let json: serde_json::Value = serde_json::from_str(&without_unknown(said)).unwrap();
        assert_eq!(json[0]["drops"], 3);
        assert_eq!(without_unknown("[]"), "[]");
    }

    #[test]
    fn statistics_have_tcs_names() {
        let words = [
            u32::MAX,
            2,
            3,
            4,
            5,
            6,
            7,
            1,
            (-9_i32).cast_unsigned(),
            9,
            10,
            11,
        ];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let told = statistics(&bytes).unwrap();
        assert_eq!(told[0].value, Value::Float(1.0));
        assert_eq!(
            (&*told[6].name, &told[6].value),
            ("ecn-mark", &Value::Int(7))
        );
        assert_eq!(told[8].value, Value::Int(-9));
        assert_eq!(statistics(&bytes[..44]), None);
    }
}
