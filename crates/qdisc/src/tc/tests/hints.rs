//! What people bring from elsewhere, and what they are told; limits in time and in BDP.

use super::{read, refuse};
use crate::{Entrance, LinkPath, explain};
use sojourn_units::{Rate, Span};
use std::string::ToString;

#[test]
fn words_of_netem_are_told_as_keys_of_a_link() {
    for (text, keys) in [
        (
            "netem delay 50ms loss 1%",
            "write the link's own keys: delay = \"50ms\", loss = \"1%\"",
        ),
        // Around the delay: from 90 to 110 ms, and later packets overtake.
        (
            "tc qdisc add dev eth0 root netem delay 100ms 10ms",
            "write the link's own keys: delay = \"90ms\", jitter = \"20ms\", reorder = true",
        ),
        (
            "netem delay 100ms 10ms 25% rate 10mbit loss random 2% duplicate 1% limit 500",
            "write the link's own keys: delay = \"90ms\", jitter = \"20ms\", rate = \"10mbit\", \
             loss = \"2%\", duplicate = \"1%\", qdisc = \"pfifo limit 500\" (no link has a \
             correlation of its delays)",
        ),
        (
            "netem delay 10ms reorder 25% 50% gap 5 corrupt 1%",
            "write the link's own keys: delay = \"10ms\", reorder = \"25% 50% gap 5\" (no link has \
             `corrupt`)",
        ),
        (
            "netem",
            "write the link's own keys: delay = \"50ms\", loss = \"1%\"",
        ),
    ] {
        let error = refuse(text);
        assert_eq!(&text[error.at.clone()], "netem");
        assert_eq!(
            error.what,
            "`netem` is not a queue here: every link does what it does"
        );
        assert_eq!(error.wanted.as_deref(), Some(keys), "{text}");
        assert_eq!(explain(text).unwrap_err(), error);
    }
}

#[test]
fn a_value_without_its_option_is_told_which() {
    for (text, sentence) in [
        (
            "cake 20mbit",
            "`20mbit` is not an option of cake; did you mean `bandwidth 20mbit`?",
        ),
        (
            "fq_codel limit 100 8ms",
            "`8ms` is not an option of fq_codel; did you mean one of `target 8ms`, \
             `ce_threshold 8ms`, `interval 8ms`?",
        ),
        (
            "htb rate 20mbit ceil 30mbit",
            "`ceil` of htb is not in Sojourn; one class cannot borrow, so its rate is its \
             ceiling; leave it out",
        ),
    ] {
        assert_eq!(refuse(text).to_string(), sentence, "{text}");
    }
}

#[test]
fn a_rate_in_bytes_is_noted() {
    let taken = crate::Reading::default()
        .read("cake bandwidth 20Mbps")
        .unwrap();
    assert_eq!(
        taken.notes,
        ["`bandwidth 20Mbps` is 160Mbit: `bps` are bytes per second, as in tc"]
    );
}

#[test]
fn a_rate_is_read_as_results_show_it() {
    assert_eq!(
        read("cake bandwidth 20 Mbit/s"),
        read("cake bandwidth 20mbit")
    );
    assert_eq!(
        read("tbf rate 1.5 Mbit/s burst 5 kb latency 50 ms"),
        read("tbf rate 1500kbit burst 5kb latency 50ms")
    );
    // An option that is also a unit's name would be the option.
    assert!(
        refuse("pfifo limit 5 Mbit/s")
            .to_string()
            .contains("`5 Mbit/s`")
    );
}

#[test]
fn options_are_explained_with_their_discipline() {
    let text = explain("cake bandwidth 20mbit").unwrap();
    assert!(
        text.starts_with("cake bandwidth 20mbit\nmeans\ncake bandwidth 20Mbit diffserv3 "),
        "{text}"
    );
    assert!(text.contains("\ncake: shaper without bursts"), "{text}");
    assert!(
        explain("fq_codel")
            .unwrap()
            .starts_with("fq_codel: flow queues")
    );
    let wrong = explain("cake bandwith 20mbit").unwrap_err().to_string();
    assert!(wrong.ends_with("did you mean `bandwidth`?"), "{wrong}");
    assert_eq!(
        explain("fq_coddle 5ms").unwrap_err().suggestion,
        Some("fq_codel")
    );
}

/// By hand: 10 Mbit/s carry 125 000 bytes in 100 ms, 82.6 frames of 1514 bytes; with 40 ms a BDP
/// has 50 000 bytes, 33.03 frames.
#[test]
fn limits_in_time_and_bdp_follow_from_the_link() {
    let path = LinkPath {
        rate: Some(Rate::from_bps(10_000_000)),
        rtt: Some(Span::from_millis(40)),
        frame: 1514,
    };
    for (text, shown) in [
        ("pfifo limit 100ms", "pfifo limit 83"),
        ("bfifo limit 100ms", "bfifo limit 125000b"),
        ("pfifo_head_drop limit 1BDP", "pfifo_head_drop limit 34"),
        ("bfifo limit 0.5bdp", "bfifo limit 25000b"),
        (
            "bfifo limit 100 ms split-gso",
            "bfifo limit 125000b split-gso",
        ),
        // What it holds leaves at the shaper's rate.
        (
            "htb rate 1mbit over bfifo limit 100ms",
            "htb rate 1Mbit burst 1600b over bfifo limit 12500b",
        ),
        (
            "tbf rate 20mbit burst 5kb over bfifo limit 100ms",
            "tbf rate 20Mbit burst 5Kb over bfifo limit 125000b",
        ),
        ("pfifo limit 1us", "pfifo limit 1"),
        ("pfifo limit 490", "pfifo limit 490"),
    ] {
        let queue = Entrance::for_link(text, path).unwrap();
        let shown: Entrance = shown.parse().unwrap();
        assert_eq!(queue, shown, "{text}");
    }
    let queue = Entrance::for_link("cake bandwidth 2mbit memlimit 1s", path).unwrap();
    assert!(queue.to_string().contains("memlimit 250000b"), "{queue}");
}

#[test]
fn a_limit_that_follows_from_nothing_is_refused() {
    let rate = Some(Rate::from_bps(10_000_000));
    let path = |rate, rtt| LinkPath {
        rate,
        rtt,
        frame: 1514,
    };
    let refused = |text, path| Entrance::for_link(text, path).unwrap_err().to_string();
    assert_eq!(
        refused("pfifo limit 100ms", path(None, None)),
        "`limit 100ms` needs a constant rate, and the link has none; give the link a `rate`, or \
         give packets (`limit 1000`)"
    );
    assert_eq!(
        refused("bfifo limit 2bdp", path(rate, None)),
        "`limit 2bdp` needs a base RTT, and there is none; give the scenario an `rtt`, or write a \
         time, or give bytes (`limit 64kb`)"
    );
    assert_eq!(
        refuse("pfifo limit 100ms").to_string(),
        "`limit 100ms` needs the rate of the link, which is not known here; write it in the file \
         of a scenario or of a bridge, or give packets (`limit 1000`)"
    );
    assert_eq!(
        refused("codel target 2bdp", path(rate, None)),
        "`2bdp` is not what `target` takes; a time with s, ms, us or ns, for example `target 5ms`"
    );
    for text in [
        "pfifo limit -1bdp",
        "pfifo limit 0bdp",
        "pfifo limit 1e3bdp",
        "pfifo limit 0ms",
    ] {
        assert!(
            Entrance::for_link(text, path(rate, None)).is_err(),
            "{text}"
        );
    }
}
