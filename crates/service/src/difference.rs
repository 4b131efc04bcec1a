//! What differs between a running bridge and what is asked of it.

use crate::file::{Around, PcapFile};
use crate::pair::{Pair, queue, show_autorate, show_line_rate};
use sojourn_bridge::{Direction, FailOpen, PortChoice, Side};
use sojourn_capture::SNAP_LEN;
use sojourn_line::LineRate;
use sojourn_qdisc::{Spec, TreeClass, TreeSpec};
use sojourn_units::{Rate, Span, show_span};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// A key of the file with what it was and what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    key: String,
    old: String,
    new: String,
    /// Whether it is set up once, when the bridge starts.
    pub(crate) is_fixed: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} -> {}", self.key, self.old, self.new)
    }
}

/// Whether a key is set up once.
const FIXED: bool = true;

struct Found(Vec<Difference>);

impl Found {
    fn look<T: PartialEq>(
        &mut self,
        key: impl Into<String>,
        is_fixed: bool,
        [old, new]: [T; 2],
        show: impl Fn(&T) -> String,
    ) {
        if old != new {
            self.0.push(Difference {
                key: key.into(),
                old: show(&old),
                new: show(&new),
                is_fixed,
            });
        }
    }

    fn direction(&mut self, side: Side, [old, new]: [&Direction; 2]) {
        let key = |key: &str| format!("{}.{key}", side.name());
        let time = |time: &Span| show_span(*time);
        let [a, b] = [&old.line, &new.line];
        self.look(
            key("qdisc"),
            !FIXED,
            [queue(old), queue(new)],
            ToString::to_string,
        );
        if let (Spec::Tree(was), Spec::Tree(is)) = (&old.qdisc, &new.qdisc)
            && was != is
            && let Some(last) = self.0.last_mut()
        {
            last.new += &classes(was, is);
        }
        let addresses = [&old.circuits, &new.circuits];
        self.look(key("addresses"), !FIXED, addresses, |circuits| {
            let count = circuits.as_ref().map_or(0, |circuits| circuits.len());
            count.to_string()
        });
        let rates = [&a.rate, &b.rate];
        self.look(key("rate"), !FIXED, rates, |rate| show_line_rate(rate));
        if let (true, [LineRate::Trace(_), LineRate::Trace(_)], Some(last)) =
            (a.rate != b.rate, rates, self.0.last_mut())
        {
            "another trace".clone_into(&mut last.new);
        }
        self.look(
            key("autorate"),
            !FIXED,
            [old.autorate, new.autorate],
            show_autorate,
        );
        self.look(key("delay"), !FIXED, [a.delay, b.delay], time);
        self.look(key("jitter"), !FIXED, [a.jitter, b.jitter], time);
        self.look(
            key("reorder"),
            !FIXED,
            [a.reorder, b.reorder],
            ToString::to_string,
        );
        self.look(key("loss"), !FIXED, [a.loss, b.loss], ToString::to_string);
        self.look(
            key("duplicate"),
            !FIXED,
            [a.duplicate, b.duplicate],
            ToString::to_string,
        );
    }
}

/// Most classes that are named.
const NAMED: usize = 5;

/// Reports which classes were added, removed or changed, in words.
fn classes(old: &TreeSpec, new: &TreeSpec) -> String {
    let [was, is] = [old, new].map(by_name);
    let lists = [
        ("new", names(&is, &|key| !was.contains_key(key))),
        ("gone", names(&was, &|key| !is.contains_key(key))),
        (
            "other",
            names(&is, &|key| {
                was.get(key).is_some_and(|it| Some(it) != is.get(key))
            }),
        ),
    ];
    let mut text = String::new();
    for (word, names) in lists.iter().filter(|(_, names)| !names.is_empty()) {
        let more = if names.len() > NAMED { ", ..." } else { "" };
        let shown = names[..names.len().min(NAMED)].join(", ");
        let _ = write!(text, ", {} {word} ({shown}{more})", names.len());
    }
    text
}

fn names<'a>(of: &Classes<'a>, differs: &dyn Fn(&Key<'a>) -> bool) -> Vec<&'a str> {
    let found = of.keys().filter(|key| differs(key));
    found.map(|(_, name)| *name).collect()
}

/// Whether it is a leaf, and its name.
type Key<'a> = (bool, &'a str);

/// Of each class what it has: the class above, rates, queue.
type Classes<'a> = BTreeMap<Key<'a>, (Option<&'a str>, Rate, Option<Rate>, Option<&'a Spec>)>;

fn by_name(tree: &TreeSpec) -> Classes<'_> {
    let all = tree.classes();
    let of = |class: &'_ TreeClass| {
        let above = class.parent.map(|number| &*all[number as usize].name);
        let queue = class
            .queue
            .map(|number| &tree.queues()[usize::from(number)]);
        (above, class.rate, class.ceil, queue)
    };
    let key = |class: &TreeClass| class.queue.is_some();
    all.iter()
        .map(|class| ((key(class), &*class.name), of(class)))
        .collect()
}

/// What differs around the pairs; all of it is set up once.
pub(crate) fn around(running: &Around, wanted: &Around) -> Vec<Difference> {
    #[allow(clippy::ref_option, reason = "what is compared are options")]
    fn show<T: ToString>(value: &Option<T>) -> String {
        let value = value.as_ref();
        value.map_or("none".to_owned(), ToString::to_string)
    }
    let mut found = Found(Vec::new());
    let of = |around: &Around| {
        around
            .control
            .as_ref()
            .map(|path| path.display().to_string())
    };
    found.look("control", FIXED, [of(running), of(wanted)], show);
    let groups = [running.control_group, wanted.control_group];
    found.look("control_group", FIXED, groups, show);
    found.look("metrics", FIXED, [running.metrics, wanted.metrics], show);
    let pages = [running.status_page, wanted.status_page];
    found.look("status_page", FIXED, pages, ToString::to_string);
    found.0
}

/// All that differs, in the order of the reference.
pub(crate) fn differences(running: &Pair, wanted: &Pair) -> Vec<Difference> {
    let (old, new) = (&running.config, &wanted.config);
    let mut found = Found(Vec::new());
    let time = |time: &Span| show_span(*time);
    let names = [&running.name, &wanted.name];
    found.look("name", !FIXED, names, ToString::to_string);
    found.direction(Side::Up, [&old.up, &new.up]);
    found.direction(Side::Down, [&old.down, &new.down]);
    let ways = [old.fail_open, new.fail_open];
    found.look("fail_open", FIXED, ways, |way| {
        let word = match way {
            FailOpen::Off => "off",
            FailOpen::Prefer => "prefer",
            FailOpen::Require => "require",
        };
        word.to_owned()
    });
    let switch = bool::to_string;
    found.look(
        "keep_bridge",
        FIXED,
        [old.keep_bridge, new.keep_bridge],
        switch,
    );
    found.look("watchdog", !FIXED, [old.watchdog, new.watchdog], time);
    found.look("stale", !FIXED, [old.stale, new.stale], time);
    found.look("memory", !FIXED, [old.memory, new.memory], u64::to_string);
    found.look(
        "keep_offloads",
        FIXED,
        [old.keep_offloads, new.keep_offloads],
        switch,
    );
    found.look("port", FIXED, [old.port, new.port], |port| {
        let word = match port {
            PortChoice::Packet => "packet",
            PortChoice::Xdp => "xdp",
            PortChoice::Auto => "auto",
        };
        word.to_owned()
    });
    found.look(
        "qdisc_bypass",
        FIXED,
        [old.qdisc_bypass, new.qdisc_bypass],
        switch,
    );
    found.look("workers", FIXED, [old.workers, new.workers], u32::to_string);
    found.look("busy_poll", !FIXED, [old.busy_poll, new.busy_poll], switch);
    if wanted.seeded {
        found.look("seed", FIXED, [old.seed, new.seed], u64::to_string);
    }
    let asked = [&old.reflectors, &new.reflectors];
    found.look("reflectors", !FIXED, asked, |asked| {
        let all: Vec<_> = asked.iter().map(ToString::to_string).collect();
        if all.is_empty() {
            "none".to_owned()
        } else {
            all.join(", ")
        }
    });
    let pcaps = [&running.pcap, &wanted.pcap];
    found.look("pcap", !FIXED, pcaps, |pcap| match pcap {
        None => "none".to_owned(),
        Some(PcapFile { path, snap_len }) => {
            let kept = snap_len.unwrap_or(SNAP_LEN);
            format!("{} ({kept} bytes of a frame)", path.display())
        }
    });
    found.0
}
