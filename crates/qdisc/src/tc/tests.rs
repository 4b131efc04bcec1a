//! Strings from the field, refusals word for word, and properties.

mod hints;
mod laid_over;
mod properties;
mod strings;

use super::{Entrance, Initial, Unit, catalogue, kind, list};
use crate::{Spec, SpecError, red_wlog};
use std::format;
use std::string::{String, ToString};
use strings::{REFUSED, TAKEN};

fn read(text: &str) -> Spec {
    text.parse()
        .unwrap_or_else(|error: SpecError| panic!("{}", error.pretty()))
}

fn refuse(text: &str) -> SpecError {
    text.parse::<Spec>().expect_err(text)
}

#[test]
fn strings_from_the_field() {
    for (text, shown) in TAKEN {
        let spec = read(text);
        assert_eq!(spec.to_string(), *shown, "{text}");
        assert_eq!(read(shown), spec, "{text}");
    }
}

#[test]
fn refusals_say_where_and_what_would_be_right() {
    for (text, sentence, place) in REFUSED {
        let error = refuse(text);
        assert_eq!(error.to_string(), *sentence, "{text}");
        assert_eq!(&text[error.at.clone()], *place, "{text}");
        if place.is_empty() {
            assert_eq!(error.at.start, text.len(), "{text}");
        }
    }
}

#[test]
fn an_error_has_its_parts() {
    let error = refuse("codel  targte 5ms");
    assert_eq!(error.what, "`targte` is not an option of codel");
    assert_eq!(error.suggestion, Some("target"));
    assert_eq!(error.at, 7..13);
    assert_eq!(error.field, None);
    let error = refuse("codel target 5mbit");
    assert_eq!(error.field, Some("target"));
    assert_eq!(
        error.wanted.as_deref(),
        Some("a time with s, ms, us or ns, for example `target 5ms`")
    );
    assert_eq!(
        refuse("tbf rate 1mbit").pretty(),
        "tbf needs `burst`; for example `burst 5kb`\n  tbf rate 1mbit\n                ^\n"
    );
    // Wide and control characters keep the caret under its word.
    assert!(
        refuse("codel\té 1")
            .pretty()
            .contains("  codel é 1\n        ^\n")
    );
}

/// By hand from tc's formula. First case, needed are 55 + 1 − 30 = 26 packets: W = 1/16 gives
/// (1 − (15/16)^55)·16 = 15.5, W = 1/32 gives (1 − (31/32)^55)·32 = 26.4.
#[test]
fn the_weight_of_red_is_tcs() {
    assert_eq!(red_wlog(30.0, 55), Some(5));
    assert_eq!(red_wlog(30.0, 29), None);
    assert_eq!(red_wlog(0.9, 5), None);
    // burst = min, one packet is needed: W = 1/2 gives 2·(1 − 2⁻⁵) = 1.9.
    assert_eq!(red_wlog(5.0, 5), Some(1));
}

/// What the table says of defaults is what the parser does: every default written out gives
/// the same as none.
#[test]
fn the_catalogue_tells_the_truth_about_defaults() {
    for kind in catalogue() {
        let (mut short, mut long) = (String::from(kind.name), String::new());
        for opt in kind.options {
            match (opt.name, opt.initial) {
                ("limit", Initial::Required(_)) => short += " limit 400000",
                ("avpkt", _) => short += " avpkt 1000",
                ("rate", _) => short += " rate 1mbit",
                ("burst", Initial::Required(_)) => short += " burst 5kb",
                ("latency", _) => short += " latency 50ms",
                // A switch without a word for off is off when it is not there.
                (_, Initial::Value) if opt.unit == Unit::Switch(None) => {}
                (_, Initial::Value) => {
                    let value = kind.default_of(opt);
                    long.extend(value.map(|value| [" ", &value].concat()));
                }
                _ => {}
            }
        }
        assert_eq!(
            read(&(short.clone() + &long)),
            read(&short),
            "{}",
            kind.name
        );
    }
}

#[test]
fn every_example_is_valid_and_every_row_is_explained() {
    for row in catalogue() {
        assert_eq!(read(row.example).name(), row.name);
        let text = row.explain();
        for opt in row.options {
            assert!(text.contains(opt.meaning), "{} {}", row.name, opt.name);
            assert_eq!(
                row.option(opt.name).map(|(found, _)| found.name),
                Some(opt.name)
            );
        }
        assert!(list().contains(row.summary));
        assert!(core::ptr::eq(kind(row.name).unwrap(), row));
    }
    assert!(kind("qfq").is_none());
}

#[test]
fn every_queue_has_the_word_on_super_packets() {
    for (text, split_gso, shown) in [
        ("pfifo", None, "pfifo limit 1000"),
        ("split-gso pfifo", Some(true), "pfifo limit 1000 split-gso"),
        (
            "tc qdisc add dev eth0 root pfifo no-split-gso limit 5",
            Some(false),
            "pfifo limit 5 no-split-gso",
        ),
        (
            "htb rate 20mbit over pfifo limit 9 split-gso",
            Some(true),
            "htb rate 20Mbit burst 1600b split-gso over pfifo limit 9",
        ),
    ] {
        let entrance: Entrance = text.parse().unwrap();
        assert_eq!(entrance.split_gso, split_gso, "{text}");
        let printed = entrance.to_string();
        if !shown.contains("burst") {
            assert_eq!(printed, shown);
        }
        assert_eq!(printed.parse(), Ok(entrance), "{printed}");
    }
    for kind in catalogue() {
        for word in ["split-gso", "no-split-gso"] {
            let text = format!("{word} {}", kind.example);
            let entrance: Entrance = text.parse().unwrap();
            assert_eq!(entrance.split_gso, Some(word == "split-gso"), "{text}");
            assert_eq!(entrance.to_string().parse(), Ok(entrance), "{text}");
        }
    }
    // Behind cake it is cake's own.
    let own: Entrance = "htb rate 1gbit over cake no-split-gso".parse().unwrap();
    assert_eq!(own.split_gso, None);
    assert!(own.to_string().contains("no-split-gso"), "{own}");
    let twice = "pfifo split-gso no-split-gso"
        .parse::<Entrance>()
        .unwrap_err();
    assert_eq!(twice.at, 16..28);
    let wrong = "pfifo split-gso limit x".parse::<Entrance>().unwrap_err();
    assert_eq!(
        (wrong.at, &*wrong.text),
        (22..23, "pfifo split-gso limit x")
    );
}

#[test]
fn what_linux_lacks_is_found_by_name() {
    for (text, what) in [
        ("fq_codel", None),
        ("pfifo_head_drop", None),
        ("cake bandwidth 10mbit nat", None),
        ("cake ce_threshold 1ms", Some("ce_threshold 1ms of cake")),
        ("red limit 60000 avpkt 1000 ecn adaptive", None),
        ("tbf rate 1mbit burst 5kb over pie", None),
        ("gsp", Some("gsp")),
        ("fq_gsp", Some("fq_gsp")),
        ("adth", Some("adth")),
        ("cobalt", Some("cobalt")),
        ("cake_mq bandwidth 10mbit", Some("cake_mq")),
        ("steer util 99% delay 30ms over codel", Some("steer")),
        (
            "htb rate 1mbit over fq_pie triple-isolate",
            Some("triple-isolate of fq_pie"),
        ),
        ("fq_codel ack-filter", Some("ack-filter of fq_codel")),
        ("codel law ns2", Some("law ns2 of codel")),
        ("fq_pie law dummynet", Some("law dummynet of fq_pie")),
        ("pie ecn ecn_prob 20", Some("ecn_prob 20 of pie")),
        ("fq_pie ecn ecn_prob 20", None),
        (
            "red limit 1000p min 5p max 15p avpkt 500",
            Some("limit 1000p of red"),
        ),
        ("red limit 60000 avpkt 1000 gentle", Some("gentle of red")),
        ("red limit 60000 avpkt 1000 adaptive law linux", None),
    ] {
        assert_eq!(read(text).beyond_linux().as_deref(), what, "{text}");
    }
}

#[test]
fn a_module_of_linux_stands_in_the_rows_that_tc_has() {
    for kind in catalogue() {
        let in_manual = kind.source.contains(&format!("tc-{}(8)", kind.name));
        // CAKE's several queues came with Linux 7.0, the head drop without a page of its own.
        let expected = match kind.name {
            "cake_mq" => false,
            "pfifo_head_drop" => true,
            _ => in_manual,
        };
        assert_eq!(kind.linux.is_some(), expected, "{}", kind.name);
    }
}

#[test]
fn all_that_can_be_steered_is_named() {
    let said = refuse("steer over pfifo").to_string();
    for kind in catalogue() {
        let steered = format!("steer over {}", kind.example);
        let is_taken = kind.name != "steer" && steered.parse::<Spec>().is_ok();
        let named = said.rsplit("it can be ").next().unwrap().split(", ");
        assert_eq!(
            named.into_iter().any(|name| name == kind.name),
            is_taken,
            "{said}"
        );
    }
}
