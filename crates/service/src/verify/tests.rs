//! The judgement, from numbers that were made up.

use super::*;

/// Ten seconds at a shaper of 20 Mbit/s, 25 MB: with so much sent, and packets waiting so often.
fn seen(sent_mbps: f64, busy: f64) -> Seen {
    let bytes = (sent_mbps * 1e6 / 8.0 * 10.0) as u64;
    Seen {
        seconds: 10.0,
        set: Some(20e6),
        offered: bytes,
        sent: bytes,
        interface: Some(bytes),
        busy,
        ..Seen::default()
    }
}

#[test]
fn a_queue_under_load_says_where_the_bottleneck_is() {
    for (mbps, busy, verdict) in [
        (19.6, 1.0, Verdict::InForce),
        (18.5, 0.3, Verdict::InForce),
        // Half the rate, and nothing ever waits: something else holds the senders back.
        (10.0, 0.0, Verdict::Elsewhere),
        (10.0, 0.05, Verdict::Elsewhere),
        (19.0, 0.0, Verdict::Elsewhere),
        (10.0, 0.3, Verdict::AtTimes),
        (10.0, 0.9, Verdict::Below),
        (1.0, 0.0, Verdict::Idle),
        (0.0, 0.0, Verdict::Idle),
        (25.0, 0.0, Verdict::Above),
    ] {
        let (found, sentence) = seen(mbps, busy).judge();
        assert_eq!(found, verdict, "{mbps} {busy}: {sentence}");
    }
    let (_, sentence) = seen(10.0, 0.0).judge();
    assert_eq!(
        sentence,
        "10Mbit of 20Mbit sent, packets waited in 0 % of the samples: the queue here is empty under \
         load, so that the bottleneck is elsewhere; a rate below 10Mbit would bring the queue here"
    );
}

#[test]
fn what_does_not_come_to_the_queue_is_found() {
    let shaped = seen(19.6, 1.0);
    let offloaded = Seen {
        interface: Some(shaped.offered * 4),
        ..shaped.clone()
    };
    let (verdict, sentence) = offloaded.judge();
    assert_eq!(verdict, Verdict::Bypassed);
    assert!(
        sentence.starts_with("75 % of what the interface receives"),
        "{sentence}"
    );
    // What was lost before the queue went nowhere else.
    let short = Seen {
        missed: 7,
        ..offloaded
    };
    assert_eq!(short.judge().0, Verdict::InForce);
    assert!(short.remarks()[0].starts_with("7 frames were lost before the queue"));
    let stood_still = Seen {
        by_kernel: 3,
        ..shaped.clone()
    };
    assert_eq!(stood_still.judge().0, Verdict::Bypassed);
    let unset = Seen {
        set: None,
        ..shaped.clone()
    };
    assert_eq!(unset.judge().0, Verdict::NotSet);
    let others = Seen {
        unmatched: Some(shaped.sent / 4),
        without_address: vec!["7".into(), "9".into()],
        gathering: vec!["gro".into()],
        ..shaped
    };
    assert_eq!(
        others.remarks(),
        [
            "gro gathers packets before the queue (`keep_offloads`): the queue sees bursts",
            "4900Kbit (25 %) match no circuit and share one queue",
            "circuits without an address are not shaped: 7, 9",
        ]
    );
}

#[test]
fn looks_become_what_was_seen_between_them() {
    let look = |sent: u64, backlog: u64| {
        json!({"ok": true, "pairs": [{
            "name": "wan",
            "up": {
                "set_bps": 8_000_000, "offered_bytes": sent, "sent_bytes": sent,
                "dropped_packets": 0, "backlog_packets": backlog, "missed_frames": 0,
                "by_kernel_frames": 0, "interface_bytes": sent + 7, "gathering": [],
            },
            "down": {"set_bps": null},
        }, {"name": "lan", "error": "it hangs"}]})
    };
    let mut looks = Looks::default();
    for (sent, backlog) in [(1000, 3), (501_000, 0), (1_001_000, 5), (1_001_000, 1)] {
        looks.add(look(sent, backlog));
    }
    let judged = looks.judge(1.0);
    let up = &judged["pairs"][0]["up"];
    assert_eq!(up["verdict"], "in_force");
    assert_eq!(up["sent_bps"], 8e6);
    assert_eq!(up["busy"], 0.75);
    assert_eq!(up["unmatched_bps"], Value::Null);
    assert_eq!(judged["pairs"][0]["down"]["verdict"], "not_set");
    assert_eq!(judged["pairs"][1]["error"], "it hangs");
}

/// From a Debian's `/proc/net/dev`.
#[test]
fn an_interface_says_what_it_has_received() {
    let text = "Inter-|   Receive\n face |bytes    packets\n    lo:     100       1\n\
                  eth0: 5000 9    0    0\n";
    assert_eq!(received(text, "eth0"), Some(5000));
    assert_eq!(received(text, "lo"), Some(100));
    assert_eq!(received(text, "eth"), None);
}
