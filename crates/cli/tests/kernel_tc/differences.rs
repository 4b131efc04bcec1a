//! Where we differ from tc and the kernel on purpose, and why; and how far their arithmetic rounds.

use crate::Answer;
use serde_json::Value as Json;

/// Words that one side takes and the other refuses.
struct Difference {
    who: Who,
    why: &'static str,
    /// Whether a word, behind the name of an option, is of the kind.
    is_such: fn(option: &str, value: &str) -> bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Who {
    /// tc takes what we refuse.
    Tc,
    /// We take what tc or the kernel refuses.
    We,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        who: Who::Tc,
        why: "tc takes a zero for what runs already, or for a queue that holds nothing",
        is_such: |_, value| matches!(value, "0" | "0ms"),
    },
    Difference {
        who: Who::Tc,
        why: "a number below zero wraps around in tc",
        is_such: |_, value| value == "-1",
    },
    Difference {
        who: Who::Tc,
        why: "tc reads a number of packets as a size in bytes",
        is_such: |option, value| option == "limit" && matches!(value, "1.5" | "1k"),
    },
    Difference {
        who: Who::Tc,
        why: "the kernel raises a quantum below 256 in silence",
        is_such: |option, value| option == "quantum" && matches!(value, "17" | "0x11" | "255"),
    },
    Difference {
        who: Who::Tc,
        why: "tc does not look whether a probability is one",
        is_such: |option, value| option == "probability" && matches!(value, "1.5" | "2%"),
    },
    Difference {
        who: Who::Tc,
        why: "the kernel keeps 16 bits of it",
        is_such: |option, value| {
            option == "mpu" && matches!(value, "65536" | "64kb" | "0.1mb" | "1.5mb" | "1g")
        },
    },
    Difference {
        who: Who::Tc,
        why: "less than a byte per second is no rate in tc",
        is_such: |option, value| option == "peakrate" && value == "7bit",
    },
    Difference {
        who: Who::Tc,
        why: "Linux has it, and Sojourn has not",
        is_such: |option, _| option == "pfifo_fast",
    },
    Difference {
        who: Who::We,
        why: "a limit with `p`, as tc prints it",
        is_such: |option, value| option == "limit" && value == "17p",
    },
    Difference {
        who: Who::We,
        why: "our sizes have more than 32 bits",
        is_such: |_, value| value == "1099511627776",
    },
    Difference {
        who: Who::We,
        why: "a unit may stand behind a blank, as results print it",
        is_such: |option, value| option == "9" && value == "kb",
    },
    Difference {
        who: Who::We,
        why: "the kernel's table of idle times ends below it",
        is_such: |option, value| {
            (option == "avpkt" && matches!(value, "1" | "30kb"))
                || (option == "bandwidth" && matches!(value, "100gbit" | "1tbit"))
        },
    },
    Difference {
        who: Who::We,
        why: "tc's times are whole microseconds",
        is_such: |_, value| value == "1ns",
    },
    Difference {
        who: Who::We,
        why: "a percentage may have its sign",
        is_such: |option, value| option == "ecn_prob" && value == "10%",
    },
    Difference {
        who: Who::We,
        why: "any number may be hexadecimal",
        is_such: |option, value| option == "mpu" && value == "0x11",
    },
    Difference {
        who: Who::We,
        why: "bytes may have a unit",
        is_such: |option, value| {
            option == "overhead" && matches!(value, "9000b" | "64kbit" | "30kb")
        },
    },
];

/// Values that both take, and that the kernel has no room for.
const OVERFLOWS: &[&str] = &[
    "pie target 4294s",
    "fq_pie target 4294s",
    "latency 4294s",
    "burst 1g",
    "rate 1tbit",
];

/// tc sends these only when they are not zero.
const UNSENT: &[&str] = &["alpha 0", "beta 0"];

/// Which of the differences were met.
#[derive(Default)]
pub(crate) struct Used {
    met: Vec<usize>,
}

impl Used {
    /// What is different and should not be.
    pub(crate) fn found(&mut self, words: &str, theirs: &Answer, ours: &Answer) -> Option<String> {
        let (who, said) = match (theirs, ours) {
            (None, None) => return None,
            (Some(_), None) => (Who::Tc, "tc takes it, we do not"),
            (None, Some(_)) => (Who::We, "we take it, tc does not"),
            (Some(theirs), Some(ours)) => {
                let is_known = OVERFLOWS
                    .iter()
                    .chain(UNSENT)
                    .any(|end| words.ends_with(end));
                return match fields(words, "", theirs, ours) {
                    wrong if wrong.is_empty() || is_known => None,
                    wrong => Some(wrong.join("\n")),
                };
            }
        };
        let parts: Vec<&str> = words.split(' ').collect();
        let is_it = |it: &Difference| {
            let is_first = (it.is_such)(parts[0], "");
            it.who == who && (is_first || parts.windows(2).any(|two| (it.is_such)(two[0], two[1])))
        };
        match DIFFERENCES.iter().position(is_it) {
            Some(place) => self.met.push(place),
            None => return Some(format!("  {said}")),
        }
        None
    }

    /// A difference that there is no more has to go.
    pub(crate) fn check(&self) {
        for (place, difference) in DIFFERENCES.iter().enumerate() {
            let why = difference.why;
            assert!(
                self.met.contains(&place),
                "no line of words shows that {why}"
            );
        }
    }
}

/// Fields of JSON that are not the same, beyond what the kernel rounds.
fn fields(words: &str, name: &str, theirs: &Json, ours: &Json) -> Vec<String> {
    match (theirs, ours) {
        (Json::Object(a), Json::Object(b)) => {
            // tc has the peak rate as text alone.
            let names = a
                .keys()
                .chain(b.keys().filter(|key| !a.contains_key(*key)))
                .filter(|name| *name != "peakrate");
            let of = |json: &serde_json::Map<_, _>, key: &String| {
                json.get(key).cloned().unwrap_or_default()
            };
            names
                .flat_map(|key| fields(words, key, &of(a, key), &of(b, key)))
                .collect()
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            let pairs = a.iter().zip(b);
            pairs.flat_map(|(a, b)| fields(words, name, a, b)).collect()
        }
        _ if theirs == ours || is_near(words, name, theirs.as_i64(), ours.as_i64()) => Vec::new(),
        _ => vec![format!("  {name}: tc has {theirs}, we {ours}")],
    }
}

/// Whether the kernel's clocks and rates make this of our value.
fn is_near(words: &str, name: &str, theirs: Option<i64>, ours: Option<i64>) -> bool {
    let (Some(theirs), Some(ours)) = (theirs, ours) else {
        return false;
    };
    let kind = words.split(' ').next().unwrap_or_default();
    let in_ticks = |bits: u32| ((ours * 1000) >> bits << bits) / 1000;
    match (kind, name) {
        // CoDel's clock ticks in 1024 ns, PIE's in 64 ns.
        ("codel" | "fq_codel", "target" | "interval" | "ce_threshold") => theirs == in_ticks(10),
        ("pie" | "fq_pie", "target") => theirs == in_ticks(6),
        // Its timer in jiffies of a millisecond.
        ("pie" | "fq_pie", "tupdate") => theirs == (ours + 999) / 1000 * 1000,
        ("cake", "target_us" | "interval_us") => theirs.abs_diff(ours) <= 1,
        // tc tells the kernel how many microseconds a bucket takes.
        ("tbf", "burst" | "minburst") => theirs.abs_diff(ours) <= 1 + bytes_in_a_microsecond(words),
        ("tbf", "lat") => theirs.abs_diff(ours) <= 2,
        _ => false,
    }
}

/// What the faster of its rates sends in a microsecond.
fn bytes_in_a_microsecond(words: &str) -> u64 {
    let rates = words
        .split(' ')
        .filter_map(|word| sojourn_units::parse_rate(word).ok());
    rates
        .map(|rate| rate.as_bps() / 8_000_000)
        .max()
        .unwrap_or(0)
}
