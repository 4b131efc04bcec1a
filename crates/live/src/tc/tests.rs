//! What tc is told of queues and lines, word for word.

use super::*;

fn spec(text: &str) -> Spec {
    text.parse().unwrap()
}

#[test]
fn a_queue_holds_packets_back_at_the_rate_of_its_link() {
    let at = |text: &str, mbit: u64| {
        let rate = LineRate::Fixed(Rate::from_bps(mbit * 1_000_000));
        queue(Whose::Linux, "d", &spec(text), &rate, false)
    };
    let (lines, majors) = at("codel", 10);
    assert_eq!(
        lines,
        [
            "qdisc add dev d root handle 1: htb default 1",
            "class add dev d parent 1: classid 1:1 htb rate 10000000bit ceil 10000000bit \
             burst 25b cburst 25b quantum 1514",
            "qdisc add dev d parent 1:1 handle 10: codel limit 1000 target 5ms interval 100ms",
        ]
    );
    assert_eq!(majors, [LEAF]);
    for (line, without) in [
        ("qdisc add dev d root handle 10: dualpi2 limit 50", true),
        ("qdisc change dev d root handle 10: dualpi2", true),
        ("qdisc add dev d root handle 10: pie limit 50", false),
        ("class add dev d parent 1: classid 1:1 htb rate 1bit", false),
    ] {
        assert_eq!(without_tc(line).is_some(), without, "{line}");
    }
    // A shaper that is not faster than the link stands alone.
    let (lines, _) = at("cake bandwidth 10mbit", 10);
    assert!(lines.len() == 1 && lines[0].starts_with("qdisc add dev d root handle 10: cake"));
    let (lines, majors) = at("htb rate 1mbit over pie", 10);
    assert_eq!((lines.len(), majors), (3, vec![1, LEAF]));
    let (lines, majors) = at("tbf rate 1mbit burst 5kb over pie", 10);
    assert_eq!((lines.len(), majors), (2, vec![1, LEAF]));
    assert!(lines[1].contains("parent 1:1 handle 10: pie "), "{lines:?}");
    let (lines, _) = queue(Whose::Linux, "d", &spec("pie"), &LineRate::Infinite, false);
    assert!(lines.len() == 1 && lines[0].starts_with("qdisc add dev d root handle 10: pie "));
}

/// Ours is one queue with its whole string, behind the same class of HTB; a change tells it all.
#[test]
fn our_queue_in_the_kernel_has_the_string_as_it_is() {
    let at = |text: &str| {
        let rate = LineRate::Fixed(Rate::from_bps(10_000_000));
        queue(Whose::Ours, "d", &spec(text), &rate, false)
    };
    let (lines, majors) = at("gsp");
    assert_eq!((lines.len(), &majors[..]), (3, &[LEAF][..]));
    let (linux, _) = queue(
        Whose::Linux,
        "d",
        &spec("pfifo"),
        &LineRate::Fixed(Rate::from_bps(10_000_000)),
        false,
    );
    assert_eq!(lines[..2], linux[..2]);
    assert!(lines[2].starts_with("qdisc add dev d parent 1:1 handle 10: sojourn gsp"));
    assert!(without_tc(&lines[2]).is_some() && without_tc(&lines[1]).is_none());
    let text = "tbf rate 1mbit burst 5kb over fq_codel flows 16";
    let (shaped, majors) = at(text);
    let whole = format!("qdisc add dev d root handle 10: sojourn {}", spec(text));
    assert_eq!((shaped, majors), (vec![whole], vec![LEAF]));
    let (other, _) = at("fq_codel flows 16 target 9ms");
    let change = changed(&lines, &other).unwrap();
    let whole = spec("fq_codel flows 16 target 9ms");
    let told = format!("qdisc change dev d parent 1:1 handle 10: sojourn {whole}");
    assert_eq!(change, [told]);
}

#[test]
fn a_queue_changes_by_its_parameters_alone() {
    let at = |text: &str, mbit: u64| {
        let rate = LineRate::Fixed(Rate::from_bps(mbit * 1_000_000));
        queue(Whose::Linux, "d", &spec(text), &rate, false).0
    };
    let rate = changed(&at("fq_codel", 10), &at("fq_codel", 5)).unwrap();
    assert_eq!(
        rate,
        [
            "class change dev d parent 1: classid 1:1 htb rate 5000000bit ceil 5000000bit \
             burst 13b cburst 13b quantum 1514"
        ]
    );
    let target = changed(&at("fq_codel", 10), &at("fq_codel target 9ms", 10)).unwrap();
    assert_eq!(target.len(), 1);
    assert!(target[0].starts_with("qdisc change dev d parent 1:1 handle 10: fq_codel "));
    assert!(target[0].contains(" target 9ms") && !target[0].contains("flows"));
    assert_eq!(changed(&at("codel", 10), &at("fq_codel", 10)), None);
    // The kernel keeps what a change does not name.
    for (before, after, off) in [
        ("codel ecn", "codel", " noecn"),
        (
            "pie ecn bytemode dq_rate_estimator",
            "pie",
            " noecn nobytemode no_dq_rate_estimator",
        ),
        ("fq_pie ecn bytemode", "fq_pie ecn", " nobytemode"),
        (
            "fq_codel ce_threshold 1ms",
            "fq_codel",
            " ce_threshold 4294s",
        ),
        (
            "cake ingress fwmark 0xff mpu 64",
            "cake",
            " egress mpu 0 fwmark 0",
        ),
        ("codel ecn", "codel ecn target 9ms", " ecn"),
    ] {
        let change = changed(&at(before, 10), &at(after, 10)).unwrap();
        assert!(change[0].ends_with(off), "{change:?}");
    }
    let cake = |rate| at(&format!("cake bandwidth {rate}mbit"), 10);
    assert_eq!(
        changed(&cake(9), &cake(8)).map(|lines| lines.len()),
        Some(1)
    );
    assert_eq!(changed(&cake(9), &cake(20)), None);
}

#[test]
fn a_line_is_told_as_netem_has_it() {
    let mut wire = Line::new(LineRate::Infinite);
    assert!(line("d", "root", &wire, Span::ZERO).is_empty());
    wire.delay = Span::from_millis(5);
    wire.jitter = Span::from_millis(2);
    wire.loss = 0.01.into();
    let words = line("d", "root", &wire, Span::from_millis(4));
    assert_eq!(
        words,
        [
            "qdisc add dev d root netem limit 1000000 delay 10000us 1000us loss random 1% \
          rate 1tbit"
        ]
    );
    wire.reorder = Reorder::Allowed;
    wire.rate = LineRate::Fixed(Rate::from_bps(5_000_000));
    assert_eq!(
        line("d", "root", &wire, Span::ZERO),
        [
            "qdisc add dev d root handle 1: netem limit 1000000 rate 5000000bit",
            "qdisc add dev d parent 1:1 handle 2: netem limit 1000000 delay 6000us 1000us \
             loss random 1% rate 0bit"
        ]
    );
}

#[test]
fn netem_gets_its_own_words() {
    let mut wire = Line::new(LineRate::Fixed(Rate::from_bps(5_000_000)));
    wire.delay = Span::from_millis(5);
    wire.loss = "gemodel 1% 10% 70% 0.5%".parse().unwrap();
    wire.reorder = "25% 50% gap 3".parse().unwrap();
    assert_eq!(
        line("d", "root", &wire, Span::from_millis(4)),
        [
            "qdisc add dev d root handle 1: netem limit 1000000 delay 4000us rate 5000000bit",
            "qdisc add dev d parent 1:1 handle 2: netem limit 1000000 delay 5000us \
             loss gemodel 1% 10% 70% 0.5% reorder 25% 50% gap 3 rate 0bit",
        ]
    );
}

#[test]
fn losses_of_four_states_are_netems() {
    let mut wire = Line::new(LineRate::Fixed(Rate::from_bps(5_000_000)));
    wire.loss = "state 1% 25% p14 0.5%".parse().unwrap();
    assert_eq!(
        line("d", "root", &wire, Span::ZERO),
        ["qdisc add dev d root netem limit 1000000 loss state 1% 25% 0% 100% 0.5% rate 5000000bit"]
    );
}

#[test]
fn a_link_may_have_an_end_before_its_queue_and_one_behind_it() {
    let (lines, majors) = queue(
        Whose::Linux,
        "d",
        &spec("cake bandwidth 1mbit"),
        &LineRate::Infinite,
        true,
    );
    assert_eq!(lines[0], "qdisc add dev d root handle 1: link_start");
    assert!(
        lines[1].starts_with("qdisc add dev d parent 1:1 handle 10: cake "),
        "{lines:?}"
    );
    assert_eq!(majors, [LEAF]);
    let other = queue(Whose::Linux, "d", &spec("pie"), &LineRate::Infinite, true).0;
    assert_eq!(changed(&lines, &other), None);
    let pie = anew("d", other);
    assert_eq!(pie[0], "qdisc del dev d parent 1:1");
    assert!(
        pie.len() == 2 && pie[1].starts_with("qdisc add dev d parent 1:1 handle 10: pie "),
        "{pie:?}"
    );
    let mut wire = Line::new(LineRate::Fixed(Rate::from_bps(5_000_000)));
    wire.delay = Span::from_millis(5);
    assert_eq!(
        line_in_parts("d", &wire, Span::ZERO, false, true),
        [
            "qdisc add dev d root handle 1: link_end",
            "qdisc add dev d parent 1:1 handle 2: netem limit 1000000 delay 5000us rate 1tbit"
        ]
    );
}

/// What iproute2 6.1 and Linux 6.18 say.
#[test]
fn who_does_not_know_a_queue_is_named() {
    let line = "qdisc add dev lo root handle 10: cake_mq bandwidth 10mbit";
    let tc =
        "Unknown qdisc \"cake_mq\", hence option \"bandwidth\" is unparsable\nCommand failed -:1\n";
    let said = lacking(tc, line).unwrap();
    assert!(said.starts_with("this tc does not know cake_mq: a newer iproute2"));
    let kernel = "Error: Specified qdisc kind is unknown.\nCommand failed -:1\n";
    let said = lacking(kernel, "qdisc add dev lo root handle 10: cake_mq").unwrap();
    assert!(said.starts_with("this kernel has no cake_mq: --kernel-version takes another one"));
    let other = "Error: Exclusivity flag on, cannot modify.\nCommand failed -:1\n";
    assert_eq!(lacking(other, line), None);
}
