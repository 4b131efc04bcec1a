//! What is read of files of subscribers, and what is told of wrong ones.

use super::*;

/// As LibreQoS's files look: comments, quotes, lists in a cell, several devices of a circuit, a
/// comment with a comma, a queue at the end.
const DEVICES: &str = "\
# People
Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment,sqm
1,\"1 Mill Lane, Elmbridge\",1,A,East,,\"100.64.0.1, 100.64.0.14\",2001:db8:1::/56,5,2,155,20,,
2,2 Mill Lane,2,B,East,,100.64.0.2,,0.5,0.5,2.5,1.0,Slow, and cheap,cake/
1,\"1 Mill Lane, Elmbridge\",3,C,East,,100.64.9.7/24,,5,2,100,25,,
3,3 Mill Lane,4,D,,,,2001:db8:3::1,1,1,10,10,,none
";

const NETWORK: &str = r#"{
    "Hill": {
        "downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 500, "type": "Site",
        "children": {
            "Row": { "virtual": true, "children": {
                "East": { "downloadBandwidthMbps": 200, "uploadBandwidthMbps": "100.5" }
            }}
        }
    }
}"#;

const OWN: &str = r#"
version = 1

[[site]]
name = "east"
parent = "hill"
up = "100mbit"
down = "200mbit"

[[site]]
name = "hill"
up = "500mbit"
down = "1gbit"

[[circuit]]
name = "1"
addresses = ["100.64.0.1", "2001:db8:1::/56"]
parent = "east"
up = "20mbit"
down = "155mbit"
down_min = "5mbit"

[[circuit]]
name = "2"
addresses = ["100.64.0.0/24"]
up = "1mbit"
down = "2mbit"
qdisc = "cake"
"#;

fn mbit(rate: f64) -> Rate {
    Rate::from_bps((rate * 1e6) as u64)
}

fn libreqos(devices: &str, network: &str) -> Result<Subscribers, String> {
    let devices = NamedText {
        name: "ShapedDevices.csv",
        text: devices,
    };
    let network = NamedText {
        name: "network.json",
        text: network,
    };
    let read = Subscribers::parse_libreqos(devices, Some(network));
    read.map_err(|problems| problems.to_string())
}

fn own(text: &str) -> Result<Subscribers, String> {
    Subscribers::parse("own.toml", text).map_err(|problems| problems.to_string())
}

fn prefixes(read: &Subscribers) -> Vec<String> {
    let all = read.prefixes();
    all.map(|(address, len, number)| format!("{address}/{len} {number}"))
        .collect()
}

#[test]
fn files_of_libreqos_are_read_as_they_are() {
    let read = libreqos(DEVICES, NETWORK).unwrap();
    assert_eq!(read.counts(), (2, 3));
    assert_eq!(
        prefixes(&read),
        [
            "100.64.0.1/32 3",
            "100.64.0.14/32 3",
            "2001:db8:1::/56 3",
            "100.64.9.0/24 3",
            "100.64.0.2/32 4",
            "2001:db8:3::1/128 5",
        ]
    );
    let usual = "fq_codel".parse().unwrap();
    let [up, down] = [0, 1].map(|direction| read.tree(direction, &usual).unwrap());
    let shown = |tree: &TreeSpec| -> Vec<_> {
        let all = tree.classes().iter();
        all.map(|it| (it.name.to_string(), it.parent, it.rate, it.ceil.unwrap()))
            .collect()
    };
    let row = |name: &str, parent, least, most| (name.to_owned(), parent, mbit(least), mbit(most));
    assert_eq!(
        shown(&up),
        [
            row("Hill", None, 500.0, 500.0),
            row("East", Some(0), 100.5, 100.5),
            // The highest of its devices.
            row("1", Some(1), 2.0, 25.0),
            row("2", Some(1), 0.5, 1.0),
            row("3", None, 1.0, 10.0),
        ]
    );
    assert_eq!(shown(&down)[2], row("1", Some(1), 5.0, 155.0));
    let queue = |tree: &TreeSpec, class: usize| {
        let number = tree.classes()[class].queue.unwrap();
        tree.queues()[usize::from(number)].to_string()
    };
    assert!(queue(&down, 3).starts_with("cake"));
    assert!(queue(&up, 3).starts_with("fq_codel"));
    assert!(queue(&down, 4).starts_with("pfifo"));
}

/// The layout of LibreQoS v2: sites have an `id`, which goes before their name.
const ENTRIES: &str = "\
CircuitID,Circuit Name,Device ID,DeviceName,ParentNode,Parent Node ID,AnchorNodeID,MAC,IPv4,IPv6,\
Download Min,Upload Min,DownloadMaxMbps,Upload Max Mbps,Comment
1,Mill Lane,1,Roof,Somewhere,ap-7,,,100.64.0.1,,1,1,50,10,
1,Mill Lane,2,Shed,,ap-7,,,,,1,1,50,10,
2,Hill Road,3,Attic,Core,gone,,,100.64.0.2,,1,1,50,10,
3,Beach,4,Mast,,,core,,100.64.0.3,,1,1,50,10,
4,Wood,5,Pole,none,,,,,,1,1,50,10,
";

const CORE: &str = r#"{"Core": {"id": "core", "downloadBandwidthMbps": 100,
    "uploadBandwidthMbps": 100, "children": {
        "Mast": {"id": "v-1", "virtual": true, "children": {
            "Sector": {"id": "ap-7", "downloadBandwidthMbps": 10, "uploadBandwidthMbps": 10}}}}}}"#;

#[test]
fn sites_are_found_by_their_id_and_what_has_no_address_is_told() {
    let read = libreqos(ENTRIES, CORE).unwrap();
    let found: Vec<_> = read.circuits().map(|it| (it.name, it.parent)).collect();
    assert_eq!(
        found,
        [
            ("1", Some("Sector")),
            ("2", Some("Core")),
            ("3", Some("Core")),
            ("4", None)
        ]
    );
    let told: Vec<_> = read.unshaped().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "circuit `4`: has no address",
            "device `Shed` of circuit `1`: has no address"
        ]
    );
    // Below a site without a rate is below the one above it.
    let moved = ENTRIES.replace("ap-7", "v-1");
    let read = libreqos(&moved, CORE).unwrap();
    assert_eq!(read.circuits().next().unwrap().parent, Some("Core"));
    let lost = ENTRIES.replace("Core,gone", ",gone");
    let problems = libreqos(&lost, CORE).unwrap_err();
    assert!(problems.contains("there is no site `gone`"), "{problems}");
}

/// One complaint, not one for each field that is then another's.
#[test]
fn a_line_with_too_few_fields_is_told_as_that() {
    let short = "5,Short,6,Hut,,,100.64.0.5,,1,1,50,10,\n";
    let problems = libreqos(&format!("{ENTRIES}{short}"), CORE).unwrap_err();
    let told = "ShapedDevices.csv:7:1: this line has 13 fields, and the header has 15";
    assert!(problems.contains(told), "{problems}");
    assert_eq!(
        problems.matches("ShapedDevices.csv:").count(),
        1,
        "{problems}"
    );
}

#[test]
fn our_own_file_says_the_same() {
    let read = own(OWN).unwrap();
    assert_eq!(read.counts(), (2, 2));
    let found = ["100.64.0.1/32 3", "2001:db8:1::/56 3", "100.64.0.0/24 4"];
    assert_eq!(prefixes(&read), found);
    let down = read.tree(1, &"fq_codel".parse().unwrap()).unwrap();
    let one = &down.classes()[2];
    assert_eq!((one.rate, one.ceil), (mbit(5.0), Some(mbit(155.0))));
    assert_eq!((one.parent, &*down.classes()[1].name), (Some(1), "east"));
    let two = &down.classes()[3];
    assert_eq!((two.rate, two.parent), (mbit(2.0), None));
    assert!(Subscribers::is_meant(OWN));
}

/// Each with what is said of it, the line and what would be right.
#[test]
fn wrong_files_say_what_is_wrong_and_where() {
    for (from, to, said) in [
        (
            "\"hill\"\nup = \"100",
            "\"hil\"\nup = \"100",
            "did you mean `hill`?",
        ),
        (
            "\"hill\"\nup = \"100",
            "\"hil\"\nup = \"100",
            "own.toml:6:10: site[1]",
        ),
        (
            "up = \"500mbit\"",
            "parent = \"east\"\nup = \"500mbit\"",
            "is below itself",
        ),
        ("\"5mbit\"", "\"156mbit\"", "is above the most"),
        ("\"5mbit\"", "\"0mbit\"", "must be above zero"),
        ("\"5mbit\"", "\"5\"", "needs a unit"),
        (
            "name = \"2\"",
            "name = \"1\"",
            "another circuit is called `1`",
        ),
        (
            "name = \"hill\"",
            "name = \"east\"",
            "another site is called `east`",
        ),
        ("100.64.0.0/24", "100.64.0.1", "of the circuit `1` too"),
        ("100.64.0.0/24", "100.64.0.1/24", "`100.64.0.0/24`"),
        (
            "100.64.0.0/24",
            "100.64.0.0/33",
            "neither an address nor a prefix",
        ),
        ("[\"100.64.0.0/24\"]", "[]", "has no address"),
        (
            "qdisc = \"cake\"",
            "qdisc = \"cak\"",
            "did you mean `cake`?",
        ),
        ("down_min", "down_mni", "did you mean `down_min`?"),
    ] {
        let text = OWN.replacen(from, to, 1);
        assert_ne!(text, OWN, "{from}");
        let problems = own(&text).unwrap_err();
        assert!(problems.contains(said), "{said}: {problems}");
    }
}

#[test]
fn wrong_devices_say_what_is_wrong_and_where() {
    for (from, to, said) in [
        ("B,East", "B,Eats", "did you mean `East`?"),
        ("B,East", "B,Eats", "ShapedDevices.csv:4:1: circuit 2: "),
        (
            "C,East",
            "C,Hill",
            "below different sites: `East` and `Hill`",
        ),
        (
            "0.5,0.5,2.5",
            "0.5,0.5,0",
            "Download Max Mbps: `0` is not a rate",
        ),
        ("0.5,0.5,2.5", "5,0.5,2.5", "above the most"),
        (
            "0.5,0.5,2.5",
            "0.5,inf,2.5",
            "Upload Min Mbps: `inf` is not",
        ),
        ("100.64.0.2", "100.64.0.14", "of the circuit `1` too"),
        ("100.64.0.2", "100.64.0", "neither an address"),
        ("100.64.0.2", "2001:db8::", "neither an address"),
        ("Parent Node", "Parent", "there is no column `Parent Node`"),
        ("cake/", "coke/", "`coke` is not a queue"),
        ("2,2 Mill", ",2 Mill", "Circuit ID: is empty"),
        (
            "2,2 Mill",
            "\u{1b}[2J,2 Mill",
            "Circuit ID: the control character \\u{1b} in a name",
        ),
    ] {
        let text = DEVICES.replacen(from, to, 1);
        assert_ne!(text, DEVICES, "{from}");
        let problems = libreqos(&text, NETWORK).unwrap_err();
        assert!(problems.contains(said), "{said}: {problems}");
    }
}

#[test]
fn wrong_networks_say_what_is_wrong_and_where() {
    for (from, to, said) in [
        ("200,", "0,", "East: needs `downloadBandwidthMbps`"),
        ("\"East\"", "\"Hill\"", "another site is called `Hill`"),
        ("1000,", "1000", "network.json:3:39: not JSON"),
        (
            "{ \"downloadBandwidthMbps\": 200",
            "7, \"x\": { \"y\": 1",
            "a site is an object",
        ),
    ] {
        let text = NETWORK.replacen(from, to, 1);
        assert_ne!(text, NETWORK, "{from}");
        let problems = libreqos(DEVICES, &text).unwrap_err();
        assert!(problems.contains(said), "{said}: {problems}");
    }
}

proptest::proptest! {
    /// Whatever stands in the files: pieces of right ones, put together at random.
    #[test]
    fn no_text_is_too_wrong(
        pieces in proptest::collection::vec((0usize..3, 0usize..1200, 0usize..300), 0..6),
        noise in ".{0,40}",
    ) {
        let sources = [DEVICES, NETWORK, OWN];
        let mut text = noise;
        for (source, start, len) in pieces {
            text.extend(sources[source].chars().skip(start).take(len));
        }
        let _ = own(&text);
        let _ = libreqos(&text, NETWORK);
        let _ = libreqos(DEVICES, &text);
    }
}

/// `::ffff:10.0.0.1` is 10.0.0.1: no frame has it in the other form.
#[test]
fn addresses_of_ipv4_in_the_form_of_ipv6_are_those_of_ipv4() {
    use super::prefix::Prefix;
    for (text, expected) in [
        ("::ffff:10.0.0.1", "10.0.0.1/32"),
        ("::ffff:10.0.0.0/120", "10.0.0.0/24"),
        ("::ffff:0:0/64", "::/64"),
        ("2001:db8::1", "2001:db8::1/128"),
    ] {
        let (prefix, _) = Prefix::parse(text).expect(text);
        assert_eq!(prefix.to_string(), expected);
    }
}
