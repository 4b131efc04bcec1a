//! Words laid over what runs, as `tc qdisc change` does, and words read as tc does.

use super::{kind, read};
use crate::tc::{Entrance, Reading, Taken};
use crate::{Spec, catalogue};
use proptest::prelude::*;
use std::string::ToString;

fn queue(text: &str) -> Entrance {
    text.parse().expect(text)
}

fn laid_over(running: &str, words: &str) -> Result<Entrance, crate::SpecError> {
    let running = queue(running);
    let reading = Reading {
        running: Some(&running),
        ..Reading::default()
    };
    reading.read(words).map(|taken| taken.queue)
}

/// What runs, what is said, and what is meant by both.
const LAID: &[(&str, &str, &str)] = &[
    (
        "cake bandwidth 20mbit overhead 44 atm dual-srchost nat",
        "cake rtt 50ms",
        "cake bandwidth 20mbit overhead 44 atm dual-srchost nat rtt 50ms",
    ),
    (
        "cake bandwidth 20mbit overhead 44 atm dual-srchost nat",
        "cake unlimited nonat",
        "cake overhead 44 atm dual-srchost",
    ),
    // tc adds up the overheads of one command, not those of two.
    (
        "cake overhead 44 atm mpu 96",
        "cake pppoe-ptm ether-vlan",
        "cake overhead 34 ptm mpu 96",
    ),
    ("cake overhead 44 atm", "cake noatm", "cake overhead 44"),
    ("cake overhead 44 atm mpu 64", "cake raw", "cake mpu 64"),
    ("cake atm", "cake mpu 64", "cake atm mpu 64"),
    (
        "cake bandwidth 9mbit autorate-ingress",
        "cake nat",
        "cake bandwidth 9mbit autorate-ingress nat",
    ),
    // As in tc, a rate switches it off.
    (
        "cake bandwidth 9mbit autorate-ingress",
        "cake bandwidth 5mbit",
        "cake bandwidth 5mbit",
    ),
    (
        "cake_mq queues 4 bandwidth 1gbit",
        "cake_mq diffserv4",
        "cake_mq queues 4 bandwidth 1gbit diffserv4",
    ),
    (
        "fq_codel limit 500 noecn quantum 300",
        "fq_codel target 10ms",
        "fq_codel limit 500 noecn quantum 300 target 10ms",
    ),
    ("pfifo limit 70", "pfifo", "pfifo limit 70"),
    (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn",
        "red probability 0.1 nodrop",
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55 ecn probability 0.1 nodrop",
    ),
    (
        "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55",
        "red weight 0.002",
        "red limit 400000 min 30000 max 90000 avpkt 1000 weight 0.002",
    ),
    (
        "tbf rate 20mbit burst 5kb overhead 18 limit 90kb",
        "tbf rate 30mbit",
        "tbf rate 30mbit burst 5kb overhead 18 limit 90kb",
    ),
    (
        "tbf rate 20mbit burst 5kb limit 90kb",
        "tbf latency 50ms",
        "tbf rate 20mbit burst 5kb latency 50ms",
    ),
    (
        "tbf rate 20mbit burst 5kb over fq_codel quantum 300",
        "tbf burst 9kb",
        "tbf rate 20mbit burst 9kb over fq_codel quantum 300",
    ),
    (
        "tbf rate 20mbit burst 5kb over fq_codel quantum 300",
        "tbf rate 20mbit over fq_codel target 9ms",
        "tbf rate 20mbit burst 5kb over fq_codel quantum 300 target 9ms",
    ),
    (
        "htb rate 20mbit over fq_codel quantum 300",
        "htb rate 30mbit",
        "htb rate 30mbit over fq_codel quantum 300",
    ),
    (
        "steer util 90% over codel interval 50ms",
        "steer delay 9ms over codel target 4ms",
        "steer util 90% delay 9ms over codel interval 50ms target 4ms",
    ),
    (
        "fq_codel split-gso limit 500",
        "fq_codel target 9ms",
        "fq_codel split-gso limit 500 target 9ms",
    ),
    // Another kind begins with its own defaults.
    ("codel limit 5 ecn", "pie target 9ms", "pie target 9ms"),
    (
        "tbf rate 1mbit burst 5kb over codel ecn",
        "tbf over pie",
        "tbf rate 1mbit burst 5kb over pie",
    ),
];

#[test]
fn what_is_not_said_stays() {
    for (running, words, wanted) in LAID {
        let found = laid_over(running, words).unwrap_or_else(|error| panic!("{}", error.pretty()));
        assert_eq!(
            found.to_string(),
            queue(wanted).to_string(),
            "{words} over {running}"
        );
    }
}

#[test]
fn rules_hold_between_old_and_new() {
    let running = "red limit 400000 min 30000 max 90000 avpkt 1000 burst 55";
    let error = laid_over(running, "red max 20000").unwrap_err();
    assert_eq!(
        error.to_string(),
        "`max` of red must not be below `min`, which is 30000; give `min` and `max` with 0 < min \
         <= max"
    );
    assert!(laid_over(running, "red nodrop").is_err());
    assert!(laid_over(running, "red limit").is_err());
}

/// SQM's lines, in its own words and as they are meant.
#[test]
fn the_words_of_a_log_are_taken_as_tc_takes_them() {
    for (text, wanted, notes) in [
        (
            "SQM: cmd_wrapper: COMMAND: /sbin/tc qdisc add dev eth1 root cake bandwidth 20000kbit \
             besteffort diffserv3 dual-srchost nat rtt 80000 diffserv4 overhead 44 atm",
            "cake bandwidth 20mbit diffserv4 dual-srchost nat rtt 80ms overhead 44 atm",
            &[
                "`besteffort` is overridden: `diffserv3` comes later",
                "`rtt 80000` has no unit: tc takes it for 80000us",
                "`diffserv3` is overridden: `diffserv4` comes later",
            ][..],
        ),
        (
            "tc qdisc replace dev ifb4eth0 root fq_codel limit 1001 target 5000 interval 100000 \
             noecn ecn",
            "fq_codel limit 1001 target 5ms interval 100ms",
            &[
                "`target 5000` has no unit: tc takes it for 5000us",
                "`interval 100000` has no unit: tc takes it for 100000us",
                "`noecn` is overridden: `ecn` comes later",
            ],
        ),
        (
            "cake bandwidth 20000000 unlimited bandwidth 9mbit",
            "cake bandwidth 9mbit",
            &[
                "`bandwidth 20000000` has no unit: tc takes it for 20000000bit",
                "`bandwidth 20Mbit` is overridden: `bandwidth` comes later",
            ],
        ),
        (
            "cake autorate-ingress bandwidth 9mbit",
            "cake bandwidth 9mbit",
            &[],
        ),
    ] {
        let reading = Reading {
            as_tc: true,
            ..Reading::default()
        };
        let taken = reading
            .read(text)
            .unwrap_or_else(|error| panic!("{}", error.pretty()));
        let Taken {
            queue: found,
            notes: told,
        } = taken;
        assert_eq!(found, queue(wanted), "{text}");
        assert_eq!(told, notes, "{text}");
        let strictly = Reading::default().read(text);
        assert!(strictly.is_err(), "{text}");
    }
    // What tc refuses is refused.
    let reading = Reading {
        as_tc: true,
        ..Reading::default()
    };
    for text in [
        "tbf rate 1mbit rate 2mbit burst 5kb latency 50ms",
        "cake internet lan",
        "fq_codel target 5x",
    ] {
        assert!(reading.read(text).is_err(), "{text}");
    }
}

#[test]
fn a_rate_is_found_below_others() {
    for (text, wanted) in [
        ("cake", None),
        ("cake bandwidth 20mbit", Some("20mbit")),
        ("fq_codel", None),
        ("htb rate 9mbit over cake bandwidth 5mbit", Some("5mbit")),
        ("tbf rate 9mbit burst 5kb over pfifo", Some("9mbit")),
    ] {
        let wanted = wanted.map(|rate| sojourn_units::parse_rate(rate).expect(rate));
        assert_eq!(read(text).shapes_to(), wanted, "{text}");
    }
}

proptest! {
    /// A name alone changes nothing, and all options together change all.
    #[test]
    fn over_itself_and_over_others(old in super::properties::any_spec(),
                                   new in super::properties::any_spec()) {
        let name = old.name();
        let running = Entrance::from(old.clone());
        let reading = Reading { running: Some(&running), ..Reading::default() };
        prop_assert_eq!(&reading.read(name).unwrap().queue.spec, &old);
        let whole = reading.read(&old.to_string()).unwrap().queue.spec;
        prop_assert_eq!(&whole, &old);
        if new.name() != name {
            let whole = reading.read(&new.to_string()).unwrap().queue.spec;
            prop_assert_eq!(&whole, &new);
        }
    }
}

/// Otherwise a group would be looked for in vain.
#[test]
fn what_rules_derive_are_options() {
    for row in catalogue() {
        let names = row
            .derived
            .iter()
            .flat_map(|group| group.iter())
            .chain(row.once);
        for name in names {
            assert!(
                kind(row.name).and_then(|kind| kind.option(name)).is_some(),
                "{name}"
            );
        }
        for (other, word) in row.synonyms {
            assert_eq!(
                row.option(other).map(|(opt, _)| opt.name),
                row.option(word).map(|(opt, _)| opt.name)
            );
        }
    }
    let _: Spec = read("cake diffserv");
}
