//! What tc makes of a queue's words on the real kernel, and what we make of them: whether they are
//! taken, and what `tc -s qdisc show` says of the queue, as text and as JSON.
//!
//! One guest has a device for each line of words, fifty at a time. Its answers are compared
//! with ours when the test runs; nothing of them is stored. Where we differ on purpose,
//! `kernel_tc/differences.rs` says so and why.
//!
//! Takes the user's guest kernel, as `kernel.rs` does, and Debian's tc.
#![cfg(target_arch = "x86_64")]

mod common;
#[path = "kernel_tc/differences.rs"]
mod differences;
#[path = "kernel_tc/specs.rs"]
mod specs;

use common::guest::{program, text};
use serde_json::Value as Json;
use sojourn_qdisc::{Field, Place, Reading, Report, Setting, Value, kind};
use sojourn_sim::Packet;
use sojourn_units::Time;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The JSON of a queue that was asked for in words, without where it is. None of words that are
/// refused.
type Answer = Option<Json>;

/// What tc says of a queue.
struct Said {
    json: Json,
    /// Options and statistics of `tc -s qdisc show`.
    text: String,
}

/// How many queues a guest has at a time. `cake` takes a megabyte each, of the guest's 512.
const AT_A_TIME: usize = 50;

/// The answers of tc in a guest.
fn theirs(specs: &[String]) -> Vec<Option<Said>> {
    let mut script = String::new();
    for specs in specs.chunks(AT_A_TIME) {
        script += "i=0\nwhile read -r spec; do\nip link add q$i group 7 type dummy || exit\n";
        script += "tc qdisc add dev q$i root $spec > /dev/null 2>&1\n";
        script += "i=$((i + 1))\ndone <<END\n";
        for spec in specs {
            let _ = writeln!(script, "{spec}");
        }
        script += "END\necho TEXT; tc -s qdisc show\necho JSON; tc -s -j qdisc show\necho NEXT\n";
        script += "ip link del group 7 || exit\n";
    }
    let dir = tempfile::tempdir().unwrap();
    // Not a run's --client-command: that ends with the run, and shares the console with it.
    let output = program(dir.path(), &["kernel", "exec", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = text(&output.stdout).replace('\r', "");
    let parts: Vec<&str> = said.split("TEXT\n").skip(1).collect();
    assert_eq!(parts.len(), specs.len().div_ceil(AT_A_TIME), "{said}");
    parts
        .into_iter()
        .zip(specs.chunks(AT_A_TIME))
        .flat_map(|(part, specs)| answers(part, specs.len()))
        .collect()
}

/// What tc said of some queues at a time: a queue that was refused is not shown.
fn answers(part: &str, count: usize) -> Vec<Option<Said>> {
    let (shown, rest) = part.split_once("JSON\n").expect("it has both");
    let (jsons, _) = rest.split_once("NEXT\n").expect("it is whole");
    let texts = texts(shown);
    let jsons: Vec<Json> = serde_json::from_str(jsons).expect("it is JSON");
    let of = |index: usize| {
        let device = format!("q{index}");
        let json = jsons.iter().find(|one| one["dev"] == *device)?;
        Some(Said {
            text: texts[&device].clone(),
            json: body(json),
        })
    };
    (0..count).map(of).collect()
}

/// What tc prints of each device, without where its queue is.
fn texts(whole: &str) -> BTreeMap<String, String> {
    let blocks = whole.split("qdisc ").skip(1).filter_map(|block| {
        let (place, rest) = block.split_once(" root refcnt ")?;
        let (_, options) = rest.split_once(' ')?;
        let device = place.split(' ').next_back()?;
        Some((device.to_owned(), options.trim_end().to_owned()))
    });
    blocks.collect()
}

/// A queue's JSON without where it is.
fn body(json: &Json) -> Json {
    let mut json = json.clone();
    let fields = json.as_object_mut().expect("a queue is an object");
    for place in ["kind", "handle", "dev", "root", "parent", "refcnt"] {
        fields.remove(place);
    }
    json
}

/// Our answer, read as tc reads.
fn ours(words: &str) -> Answer {
    let reading = Reading {
        as_tc: true,
        ..Reading::default()
    };
    let spec = reading.read(words).ok()?.queue.spec;
    let setting = Setting {
        seed: 1,
        name: "q",
        mtu: 1514,
        link_header: 14,
    };
    let report = spec.build::<Packet>(setting).report(Time::ZERO);
    let json: Vec<Json> = serde_json::from_str(&report.tc_json(PLACE)).expect("it is JSON");
    Some(body(&json[0]))
}

const PLACE: Place<'static> = Place {
    dev: Some("q"),
    handle: 1,
};

/// What we print of a queue of which tc's JSON says this.
fn printed(json: &Json) -> String {
    let fields = |json: &Json| -> Vec<Field> {
        let fields = json.as_object().into_iter().flatten();
        fields
            .filter_map(|(name, value)| field(name, value))
            .collect()
    };
    let kind = json["kind"].as_str().unwrap_or_default().to_owned();
    let report = Report {
        kind: kind.into(),
        options: fields(&json["options"]),
        stats: fields(&body(json)),
        inner: None,
    };
    texts(&report.tc_text(PLACE))
        .remove("q")
        .expect("it is printed")
}

fn field(name: &str, json: &Json) -> Option<Field> {
    let value = match json {
        Json::Bool(on) => Value::Bool(*on),
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) if name == "prob" => Value::Float(number.as_f64()?),
        Json::Number(number) => Value::Int(number.as_i64()?),
        Json::Array(groups) => {
            let group = |group: &Json| -> Option<Vec<Field>> {
                Some(
                    group
                        .as_object()?
                        .iter()
                        .filter_map(|(n, v)| field(n, v))
                        .collect(),
                )
            };
            Value::Groups(groups.iter().filter_map(group).collect())
        }
        Json::Null | Json::Object(_) => return None,
    };
    let name = name.to_owned().into();
    Some(Field { name, value })
}

#[test]
fn tc_on_the_real_kernel_and_we_say_the_same_of_every_queue() {
    let specs = specs::all();
    let mut wrong = String::new();
    let mut used = differences::Used::default();
    for (words, theirs) in specs.iter().zip(theirs(&specs)) {
        let answer = theirs.as_ref().map(|said| body(&said.json));
        if let Some(difference) = used.found(words, &answer, &ours(words)) {
            let _ = writeln!(wrong, "{words}\n{difference}");
        }
        // tc's JSON lacks the peak rate, which its text has.
        let Some(said) = theirs.filter(|said| !said.text.contains(" peakrate ")) else {
            continue;
        };
        let text = printed(&said.json);
        if text != said.text && kind(said.json["kind"].as_str().unwrap_or_default()).is_some() {
            let _ = writeln!(wrong, "{words}\n  tc prints\n{}\n  we\n{text}", said.text);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    used.check();
}
