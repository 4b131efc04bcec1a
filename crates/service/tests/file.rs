//! A bridge's file: what it means, and that what is wrong is refused with its place, its field and
//! what would be right.

use sojourn_bridge::FailOpen;
use sojourn_line::LineRate;
use sojourn_qdisc::{Entrance, Spec};
use sojourn_service::BridgeFile;
use sojourn_units::{Rate, Span};
use std::path::Path;

const GOOD: &str = r#"version = 1
control = "/run/wan.sock"

[[pair]]
name = "wan"
left = "eth1"
right = "eth2"
qdisc = "fq_codel no-split-gso"
delay = "5ms"
fail_open = "require"
watchdog = "50ms"
up = { rate = "20mbit" }
down = { rate = "100mbit", qdisc = "cake" }

[[pair]]
left = "eth3"
right = "eth4"
pcap = "dsl.pcapng"
snap_len = 60
"#;

fn parse(text: &str) -> Result<BridgeFile, String> {
    BridgeFile::parse("test.toml", text, Path::new("/etc/sojourn"))
        .map_err(|problems| problems.to_string())
}

#[test]
fn a_key_of_the_pair_counts_for_both_directions() {
    let file = parse(GOOD).unwrap_or_else(|problems| panic!("{problems}"));
    let [wan, other] = &file.pairs[..] else {
        panic!("{file:?}");
    };
    assert_eq!(
        file.around.control.as_deref(),
        Some(Path::new("/run/wan.sock"))
    );
    let spec = |text: &str| text.parse::<Entrance>().unwrap();
    let rate = |mbit: u64| LineRate::Fixed(Rate::from_bps(mbit * 1_000_000));
    assert_eq!(
        (&wan.up.0.rate, &wan.up.1),
        (&rate(20), &spec("fq_codel no-split-gso"))
    );
    assert_eq!((&wan.down.0.rate, &wan.down.1), (&rate(100), &spec("cake")));
    assert_eq!(
        [wan.up.0.delay, wan.down.0.delay],
        [Span::from_millis(5); 2]
    );
    assert_eq!(wan.fail_open, FailOpen::Require);
    assert_eq!(wan.watchdog, Some(Span::from_millis(50)));
    assert_eq!(wan.pcap, None);
    let pcap = other.pcap.as_ref().expect("it is captured");
    assert_eq!(pcap.path, Path::new("/etc/sojourn/dsl.pcapng"));
    assert_eq!(pcap.snap_len, Some(60));
    // Everything has a default.
    assert_eq!(other.name, "eth3-eth4");
    assert_eq!(
        (&other.up.0.rate, &other.up.1),
        (&LineRate::Infinite, &Spec::pfifo(1000).into())
    );
    assert_eq!(
        (other.fail_open, other.watchdog, other.seed),
        (FailOpen::Prefer, None, None)
    );
}

/// What replaces what, and what is said of it.
const WRONG: &[(&str, &str, &[&str])] = &[
    (
        "version = 1",
        "version = 2",
        &[
            "test.toml:1:11: version: 2 is not a version",
            "= help: for example `version = 1`",
        ],
    ),
    ("version = 1\n", "", &["missing key `version`"]),
    (
        "left = \"eth3\"",
        "left = \"eth1\"",
        &["test.toml:16:8: pair[2].left: `eth1` is in the pair `wan` already"],
    ),
    (
        "left = \"eth3\"",
        "left = \"eth4\"",
        &["pair[2].right: a pair needs two different"],
    ),
    (
        "name = \"wan\"",
        "name = \"eth3-eth4\"",
        &["pair[2].name: another pair has the name `eth3-eth4` already"],
    ),
    (
        "name = \"wan\"",
        "name = \"wan\"\nworkers = 0",
        &["pair.wan.workers: there can be 1 to 64 workers"],
    ),
    (
        "name = \"wan\"",
        "name = \"wan\"\nworkers = 65",
        &["pair.wan.workers: there can be 1 to 64 workers"],
    ),
    (
        "name = \"wan\"",
        "name = \"up\"",
        &["pair[1].name: `up` is the name of a direction"],
    ),
    (
        "left = \"eth3\"",
        "left = \"a name that is much too long\"",
        &["pair[2].left: `a name that is much too long` is not the name of an interface"],
    ),
    (
        "rate = \"20mbit\"",
        "rate = 20",
        &[
            "test.toml:12:15: pair.wan.up.rate: `20` needs a unit",
            "\"12mbit\"",
        ],
    ),
    (
        "qdisc = \"cake\"",
        "qdisc = \"cake rtt\"",
        &["pair.wan.down.qdisc: "],
    ),
    (
        "watchdog",
        "watchdgo",
        &[
            "pair.wan: unknown key `watchdgo`",
            "did you mean `watchdog`?",
        ],
    ),
    (
        "control = ",
        "control_group = \"no such group\" #",
        &["test.toml:2:17: control_group: there is no group `no such group` on this machine"],
    ),
    (
        "control = ",
        "control_group = 0 #",
        &["control_group: there is no `control` to let it open"],
    ),
    (
        "control = ",
        "metrics = \"localhost\" #",
        &[
            "test.toml:2:11: metrics: `localhost` is not an address with a port",
            "127.0.0.1:9817",
        ],
    ),
    (
        "rate = \"20mbit\"",
        "trace = \"there-is-none\"",
        &[
            "test.toml:12:16: pair.wan.up.trace: the trace /etc/sojourn/there-is-none cannot be read: ",
        ],
    ),
    (
        "rate = \"20mbit\"",
        "rate = \"20mbit\", autorate = { min = \"5mbit\", max = \"40mbit\", beyond = \"to\" }",
        &[
            "test.toml:12:78: pair.wan.up.autorate.beyond: a bridge's slow link is always beyond",
            "= help: leave the key out",
        ],
    ),
    (
        "delay = \"5ms\"",
        "autorate = { min = \"30mbit\", max = \"40mbit\" }",
        &["pair.wan.autorate.min: 30Mbit is above the link's `rate`, 20Mbit"],
    ),
    (
        "rate = \"100mbit\", ",
        "autorate = { min = \"5mbit\", max = \"40mbit\" }, ",
        &["pair.wan.down.autorate: the link has no constant `rate`, from which it could begin"],
    ),
    (
        "up = { rate",
        "delay = \"1ms\"\nup = { rate",
        &["test.toml:12:1: not TOML: duplicate key"],
    ),
    (
        "name = \"wan\"",
        "name = \"wan\"\npcap = \"./dsl.pcapng\"",
        &["test.toml:19:8: pair[2].pcap: the pair `wan` is captured to this file"],
    ),
    (
        "pcap = \"dsl.pcapng\"\n",
        "",
        &["pair[2].snap_len: there is no `pcap` to keep them"],
    ),
    (
        "snap_len = 60",
        "snap_len = 257",
        &["test.toml:19:12: pair[2].snap_len: of a frame 1 to 256 bytes can be kept"],
    ),
    (
        "pcap = \"dsl.pcapng\"",
        "pcap = \"\"",
        &["pair[2].pcap: is the path of a file"],
    ),
    ("[[pair]]\n", "[pair]\n", &["not TOML: "]),
];

#[test]
fn what_is_wrong_is_refused_at_its_place() {
    for (from, to, wanted) in WRONG {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let problems = parse(&text).expect_err(to);
        for part in *wanted {
            assert!(problems.contains(part), "{to}: {part}\n{problems}");
        }
    }
    assert!(parse("version = 1\npair = []\n").is_err_and(|text| text.contains("at least one")));
}

#[test]
fn bridges_files_are_told_from_scenarios() {
    assert!(BridgeFile::is_meant(GOOD));
    assert!(BridgeFile::is_meant("version = 2\n"));
    assert!(!BridgeFile::is_meant(
        "format = \"sojourn-scenario/1\"\nversion = 1\n"
    ));
    assert!(!BridgeFile::is_meant(
        "name = \"a scenario without a format\"\n"
    ));
}

#[test]
fn a_rate_follows_the_link() {
    let autorate = "rate = \"20mbit\", autorate = { min = \"5mbit\", max = \"40mbit\" }";
    let file = parse(&GOOD.replace("rate = \"20mbit\"", autorate))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let mbit = |rate: u64| Rate::from_bps(rate * 1_000_000);
    let [up, down] = file.pairs[0].autorates;
    let up = up.expect("it follows");
    assert_eq!((up.min, up.base, up.max), (mbit(5), mbit(20), mbit(40)));
    assert_eq!(up.threshold, Span::from_millis(30));
    assert_eq!(down, None);
    assert_eq!(file.pairs[1].autorates, [None; 2]);
}

#[test]
fn reflectors_are_asked_where_a_rate_follows() {
    let with = |list: &str, autorate: &str| {
        let pair = "version = 1\n[[pair]]\nleft = \"a\"\nright = \"b\"\n";
        parse(&format!("{pair}reflectors = {list}\n{autorate}"))
    };
    let follows = "rate = \"20mbit\"\nautorate = { min = \"5mbit\", max = \"40mbit\" }\n";
    let list = r#"["9.9.9.9", "timestamp 192.0.2.7", "udp [2001:db8::1]:7"]"#;
    let file = with(list, follows).unwrap_or_else(|problems| panic!("{problems}"));
    let shown = file.pairs[0].reflectors.iter().map(ToString::to_string);
    let expected = ["9.9.9.9", "timestamp 192.0.2.7", "udp [2001:db8::1]:7"];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    for (list, autorate, part) in [
        (list, "", "has no effect: no rate has `autorate`"),
        (
            r#"["9.9.9.9", "dns.quad9.net"]"#,
            follows,
            "reflectors[2]: `dns.quad9.net`",
        ),
        (
            r#"["9.9.9.9", "9.9.9.9"]"#,
            follows,
            "reflectors[2]: is named twice",
        ),
        (
            r#"["timestamp 2620:fe::fe"]"#,
            follows,
            "ICMPv6 has no timestamps",
        ),
        ("\"9.9.9.9\"", follows, "an array"),
    ] {
        let problems = with(list, autorate).expect_err(part);
        for part in [part, "test.toml:5:"] {
            assert!(problems.contains(part), "{problems}");
        }
    }
}

/// One that starts is one that `check` accepts, and the other way round: what several workers cannot
/// do has its place, once where it counts for both directions.
#[test]
fn what_several_workers_cannot_do_has_its_place() {
    const PAIR: &str = "version = 1\n[[pair]]\nleft = \"eth1\"\nright = \"eth2\"\nworkers = 2\n";
    let autorate = "rate = \"20mbit\", autorate = { min = \"5mbit\", max = \"40mbit\" }";
    for (keys, place, why) in [
        ("rate = \"20mbit\"", "6:8: pair[1].rate", "a rate is cake's"),
        (
            "down = { rate = \"20mbit\" }",
            "6:17: pair[1].down.rate",
            "a rate is cake's",
        ),
        (
            &format!("up = {{ {autorate} }}"),
            "6:25: pair[1].up.autorate",
            "no `autorate`",
        ),
        (
            "qdisc = \"htb rate 5mbit over cake\"",
            "6:9: pair[1].qdisc",
            "htb and tbf",
        ),
        (
            "up = { qdisc = \"tbf rate 5mbit burst 5kb latency 9ms\" }",
            "6:16: pair[1].up.qdisc",
            "htb and tbf",
        ),
        (
            "qdisc = \"cake bandwidth 5mbit autorate-ingress\"",
            "6:9: pair[1].qdisc",
            "`autorate-ingress`",
        ),
        (
            "qdisc = \"cake_mq queues 2\"",
            "6:9: pair[1].qdisc",
            "write `cake`",
        ),
        ("port = \"xdp\"", "6:8: pair[1].port", "AF_PACKET"),
    ] {
        let refused = parse(&format!("{PAIR}{keys}\n")).expect_err(keys);
        let place = format!("test.toml:{place}: with several workers ");
        assert!(refused.contains(&place), "{keys}: {refused}");
        assert!(refused.contains(why), "{keys}: {refused}");
        assert!(refused.contains("leave out `workers = 2`"), "{refused}");
        assert_eq!(
            refused.matches("several workers").count(),
            1,
            "{keys}: {refused}"
        );
        let alone = PAIR.replace("workers = 2", "workers = 1");
        assert!(parse(&format!("{alone}{keys}\n")).is_ok(), "{keys}");
    }
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/bridge"));
    let text = format!("{PAIR}subscribers = \"subscribers.toml\"\n");
    let refused = BridgeFile::parse("test.toml", &text, folder)
        .unwrap_err()
        .to_string();
    let place = "test.toml:6:15: pair[1].subscribers: with several workers no `subscribers`";
    assert!(refused.contains(place), "{refused}");
    let fine =
        format!("{PAIR}port = \"auto\"\ndelay = \"5ms\"\nqdisc = \"cake bandwidth 9mbit\"\n");
    assert!(parse(&fine).is_ok());
}

#[test]
fn what_is_right_and_not_meant_is_warned_of() {
    let warned = |keys: &str| {
        let text = format!("version = 1\n[[pair]]\nleft = \"a\"\nright = \"b\"\n{keys}\n");
        parse(&text).unwrap().warnings.to_string()
    };
    assert_eq!(
        warned("rate = \"20mbit\"\nqdisc = \"cake bandwidth 18mbit\""),
        ""
    );
    for (keys, wanted) in [
        (
            "rate = \"20Mbps\"",
            "test.toml:5:8: warning: pair[1].rate: `20Mbps` is 160 Mbit/s",
        ),
        (
            "rate = \"20mbit\"\nqdisc = \"cake bandwidth 30mbit\"",
            "warning: pair[1].qdisc: the shaper of 30Mbit never shapes: the link sends at 20Mbit",
        ),
        (
            "down = { rate = \"20mbit\", qdisc = \"bfifo limit 1000\" }",
            "warning: pair[1].down.qdisc: a limit of 1000b passes no full packet",
        ),
    ] {
        let shown = warned(keys);
        assert!(shown.contains(wanted), "{shown}");
    }
}

/// By hand: 8 Mbit/s carry 10 000 bytes in 10 ms.
#[test]
fn a_limit_in_time_is_what_the_pair_sends_in_it() {
    let pair = |keys: &str| {
        parse(&format!(
            "version = 1\n[[pair]]\nleft = \"a\"\nright = \"b\"\n{keys}\n"
        ))
    };
    let file = pair("rate = \"8mbit\"\nqdisc = \"bfifo limit 10ms\"").unwrap();
    assert_eq!(file.pairs[0].up.1.to_string(), "bfifo limit 10000b");
    for (keys, wanted) in [
        (
            "qdisc = \"pfifo limit 10ms\"",
            "test.toml:5:22: pair[1].qdisc: `limit 10ms` needs a constant rate, and the link has none",
        ),
        (
            "rate = \"8mbit\"\nqdisc = \"pfifo limit 1bdp\"",
            "test.toml:6:22: pair[1].qdisc: `limit 1bdp` needs a base RTT",
        ),
    ] {
        let refused = pair(keys).unwrap_err();
        assert!(refused.contains(wanted), "{refused}");
    }
}
