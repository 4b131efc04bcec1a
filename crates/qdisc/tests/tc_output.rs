//! What we print against what tc prints: `golden/tc.txt` says where it was observed.

use crate::common::{Log, TestPacket};
use serde_json::Value as Json;
use sojourn_qdisc::{
    Dequeue, Field, Place, Qdisc, Report, Setting, Spec, Style, Value, catalogue, kind,
};
use sojourn_units::{Span, Time};

const SETTING: Setting<'static> = Setting {
    seed: 1,
    name: "d0",
    mtu: 1514,
    link_header: 14,
};
const ROOT: Place<'static> = Place {
    dev: None,
    handle: 1,
};

/// Where the kernel's arithmetic differs from ours, and nothing else.
const DIFFERENCES: &[(&str, &str)] = &[
    // A veth has several references to its root discipline.
    ("refcnt 3", "refcnt 2"),
    ("\"refcnt\":3", "\"refcnt\":2"),
    // CoDel's clock ticks in 1024 ns and rounds down.
    ("\"target\":4999", "\"target\":5000"),
    ("\"interval\":99999", "\"interval\":100000"),
    ("\"ce_threshold\":999,", "\"ce_threshold\":1000,"),
    ("\"ce_threshold\":2499,", "\"ce_threshold\":2500,"),
    ("ce_threshold 999us", "ce_threshold 1ms"),
    // PIE's in jiffies, here of 10 ms.
    ("tupdate 20ms", "tupdate 15ms"),
    ("\"tupdate\":20000", "\"tupdate\":15000"),
    // tc's JSON forgets the peak rate (it prints it only as text).
    (
        "\"burst\":10240,\"minburst\"",
        "\"burst\":10240,\"peakrate\":250000,\"minburst\"",
    ),
];

struct Block {
    spec: String,
    text: String,
    json: String,
}

fn blocks() -> Vec<Block> {
    let file = include_str!("golden/tc.txt");
    let blocks = file.split("\n## ").skip(1).map(|block| {
        let mut lines: Vec<&str> = block.lines().collect();
        let json = lines.pop().expect("a block has a spec, text and JSON");
        Block {
            spec: lines.remove(0).to_owned(),
            text: lines.join("\n") + "\n",
            json: json.to_owned(),
        }
    });
    blocks.collect()
}

fn with_our_arithmetic(text: &str) -> String {
    let mut text = text.to_owned();
    for (theirs, ours) in DIFFERENCES {
        text = text.replace(theirs, ours);
    }
    text
}

#[test]
fn a_new_instance_prints_as_tc_does() {
    let mut seen = 0;
    for block in blocks() {
        if block.spec.starts_with("after ") {
            continue;
        }
        let spec: Spec = block.spec.parse().expect(&block.spec);
        let report = spec.build::<TestPacket>(SETTING).report(Time::ZERO);
        assert_eq!(report.tc_text(ROOT), with_our_arithmetic(&block.text));
        assert_eq!(report.tc_json(ROOT), with_our_arithmetic(&block.json));
        seen += 1;
    }
    assert!(seen >= 15, "{seen}");
}

/// tc's text of a loaded discipline follows from tc's JSON by our rules.
#[test]
fn the_text_of_a_loaded_instance_is_tcs() {
    let mut seen = 0;
    for block in blocks() {
        let array: Json = serde_json::from_str(&block.json).expect("JSON");
        let report = read(&array[0]);
        let text = report.tc_text(ROOT);
        let theirs = block
            .text
            .replace("refcnt 3", "refcnt 2")
            .replace(" 10: parent 1:1 ", " 1: root refcnt 2 ")
            // PIE's timer ran between the two commands.
            .replace("prob 0.837327", "prob 0.737598");
        if !theirs.contains("peakrate") {
            assert_eq!(text, theirs);
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen}");
}

/// A report from tc's JSON.
fn read(json: &Json) -> Report {
    let fields = |json: &Json| -> Vec<Field> {
        let object = json.as_object().expect("an object").iter();
        let field = object.map(|(name, value)| Field {
            name: name.clone().into(),
            value: match value {
                Json::Bool(on) => Value::Bool(*on),
                Json::String(text) => Value::Text(text.clone()),
                Json::Number(number) if number.is_i64() && name != "prob" => {
                    Value::Int(number.as_i64().expect("checked"))
                }
                number => Value::Float(number.as_f64().unwrap_or(0.0)),
            },
        });
        field.collect()
    };
    let known = kind(json["kind"].as_str().expect("text")).expect("known");
    let mut stats = fields(json);
    stats.retain(|field| !["kind", "handle", "root", "refcnt", "parent"].contains(&&*field.name));
    stats.retain(|field| field.name != "options");
    Report {
        kind: known.name.into(),
        options: fields(&json["options"]),
        stats,
        inner: None,
    }
}

fn keys(json: &Json) -> Vec<String> {
    let keys = json.as_object().expect("an object").keys().cloned();
    keys.filter(|key| !["handle", "root", "refcnt", "parent"].contains(&key.as_str()))
        .collect()
}

/// An instance of ours that has dropped and marked and still holds packets.
fn worn(text: &str) -> (Box<dyn Qdisc<TestPacket>>, Time) {
    let spec: Spec = text.parse().expect(text);
    let mut qdisc = spec.build::<TestPacket>(SETTING);
    let mut now = Time::ZERO;
    for id in 0..4000 {
        now += Span::from_millis(1);
        let packet = TestPacket::of_flow(id, 1042, (id % 5) as u32, 1024);
        let packet = if id % 2 == 0 {
            packet
        } else {
            packet.capable()
        };
        qdisc.enqueue(packet, now, &mut Log::default());
        if id % 3 == 0 {
            qdisc.dequeue(now, &mut Log::default());
        }
    }
    (qdisc, now)
}

/// The same fields in the same order as tc has them. Fields that tc prints only when they are
/// not zero, or only in a state, are there exactly then.
#[test]
fn a_loaded_instance_has_tcs_fields() {
    for block in blocks() {
        let Some(spec) = block.spec.strip_prefix("after ") else {
            continue;
        };
        let theirs: Json = serde_json::from_str(&block.json).expect("JSON");
        let (qdisc, now) = worn(spec);
        let ours: Json = serde_json::from_str(&qdisc.report(now).json()).expect("JSON");
        let mut sometimes = vec!["dropping", "ce_mark", "memory_used", "drop_overmemory"];
        sometimes.retain(|name| theirs[0].get(name).is_none());
        let mut names = keys(&ours);
        names.retain(|name| !sometimes.contains(&name.as_str()));
        assert_eq!(names, keys(&theirs[0]), "{spec}");
        assert_eq!(
            keys(&ours["options"]),
            keys(&theirs[0]["options"]),
            "{spec}"
        );
    }
}

/// The fields of R1 of the kernel reference runs (6.1.192, fq_codel with packets held), and of
/// fq_pie by iproute2's source, which no kernel at hand has.
#[test]
fn the_fields_of_flow_queues() {
    let fields = |text: &str| {
        let (qdisc, now) = worn(text);
        let json: Json = serde_json::from_str(&qdisc.report(now).json()).expect("JSON");
        (keys(&json["options"]).join(" "), keys(&json).join(" "))
    };
    let common = "kind options bytes packets drops overlimits requeues backlog qlen";
    assert_eq!(
        fields("fq_codel"),
        (
            "limit flows quantum target interval memory_limit ecn drop_batch".to_owned(),
            format!(
                "{common} maxpacket drop_overlimit new_flow_count ecn_mark memory_used \
                 new_flows_len old_flows_len"
            )
        )
    );
    assert_eq!(
        fields("fq_pie ecn bytemode dq_rate_estimator"),
        (
            "limit flows target tupdate alpha beta quantum memory_limit ecn_prob ecn bytemode \
             dq_rate_estimator"
                .to_owned(),
            format!(
                "{common} pkts_in overlimit overmemory dropped ecn_mark new_flow_count \
                 new_flows_len old_flows_len memory_used"
            )
        )
    );
}

#[test]
fn codel_shows_its_state_while_it_drops() {
    let (qdisc, now) = worn("codel limit 1000");
    let text = qdisc.report(now).tc_text(ROOT);
    assert!(text.contains(" dropping drop_next "), "{text}");
    let later = qdisc.report(now + Span::from_secs(2)).tc_text(ROOT);
    assert!(later.contains(" dropping drop_next -"), "{later}");
}

#[test]
fn a_child_is_listed_below_its_shaper() {
    let spec: Spec = "tbf rate 20mbit burst 5kb over fq_codel"
        .parse()
        .expect("valid");
    let report = spec.build::<TestPacket>(SETTING).report(Time::ZERO);
    let place = Place {
        dev: Some("eth\"0"),
        handle: 0x8001,
    };
    let text = report.tc_text(place);
    assert!(
        text.starts_with("qdisc tbf 8001: dev eth\"0 root refcnt 2 rate 20Mbit burst 5Kb \n"),
        "{text}"
    );
    assert!(
        text.contains("\nqdisc fq_codel 8002: dev eth\"0 parent 8001:1 limit 10240p "),
        "{text}"
    );
    let json: Json = serde_json::from_str(&report.tc_json(place)).expect("JSON");
    assert_eq!(json[0]["dev"], "eth\"0");
    assert_eq!(json[1]["parent"], "8001:1");
    let alone: Json = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!(alone["inner"]["options"]["flows"], 1024);
}

#[test]
fn json_is_valid_whatever_the_values() {
    let field = |name: &'static str, value| Field {
        name: name.into(),
        value,
    };
    let report = Report {
        kind: "\u{1}\\\"é".into(),
        options: vec![],
        stats: vec![
            field("nan", Value::Float(f64::NAN)),
            field("tiny", Value::Float(1e-300)),
            field("least", Value::Int(i64::MIN)),
            field("text", Value::Text("a\nb\t".to_owned())),
            field(
                "tins",
                Value::Groups(vec![vec![], vec![field("x", Value::Bool(true))]]),
            ),
        ],
        inner: None,
    };
    let json: Json = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!(json["kind"], "\u{1}\\\"é");
    assert!(json["nan"].is_null());
    assert_eq!(json["tiny"], 1e-300);
    assert_eq!(json["least"], i64::MIN);
    assert_eq!(json["text"], "a\nb\t");
    assert_eq!(json["tins"][1]["x"], true);
}

/// Every statistic that a discipline reports is in the catalogue, with its style.
#[test]
fn the_catalogue_knows_every_statistic() {
    const COMMON: [&str; 7] = [
        "bytes",
        "packets",
        "drops",
        "overlimits",
        "requeues",
        "backlog",
        "qlen",
    ];
    for row in catalogue() {
        let (qdisc, now) = worn(row.example);
        assert!(matches!(
            qdisc
                .spec()
                .expect("of words")
                .build::<TestPacket>(SETTING)
                .dequeue(now, &mut Log::default()),
            Dequeue::Empty
        ));
        for field in qdisc.report(now).stats {
            let stat = row.stats.iter().find(|stat| stat.name == field.name);
            match (stat, &field.value) {
                (None, _) => assert!(COMMON.contains(&&*field.name), "{}", field.name),
                (Some(stat), Value::Float(_)) => assert_eq!(stat.style, Style::Float),
                (Some(stat), Value::Bool(_)) => assert_eq!(stat.style, Style::Flag),
                (Some(_), _) => {}
            }
        }
    }
}
