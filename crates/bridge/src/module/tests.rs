//! Messages by hand from `linux/netlink.h`, `rtnetlink.h` and `gen_stats.h`.

use super::*;
use crate::netlink::{NESTED, attribute};

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_ne_bytes()).collect()
}

/// Length, kind, flags (request, and acknowledgement), sequence and sender; `tcmsg` of interface 7;
/// the kind; the string with its zero, filled up to a word.
#[test]
fn requests_have_the_kernels_layout() {
    let kind = [&words(&[0x1_000c])[..], b"sojourn\0"].concat();
    let string = [&words(&[0x2_0008])[..], b"pie\0"].concat();
    let longer = [&words(&[0x2_000d])[..], b"fq_codel\0\0\0\0"].concat();
    let place = |parent| words(&[0, 7, 0, parent, 0]);
    let head = |len: u32, kind: u32, flags: u32| words(&[len, flags << 16 | kind, 0, 0]);
    assert_eq!(
        request(Verb::Add, 7, Parent::Root, "pie"),
        [head(56, 36, 0x605), place(u32::MAX), kind.clone(), string].concat()
    );
    assert_eq!(
        request(Verb::Change, 7, Parent::Class(0x10, 0x1a), "fq_codel"),
        [head(64, 36, 5), place(0x10_001a), kind.clone(), longer].concat()
    );
    assert_eq!(
        request(Verb::Delete, 7, Parent::Root, ""),
        [head(48, 37, 5), place(u32::MAX), kind].concat()
    );
}

/// A qdisc `8001:` of interface 3 that has sent 2³² + 5 packets.
fn told(report: &str) -> Vec<u8> {
    let basic = [&9_876_u64.to_ne_bytes()[..], &words(&[5, 0])].concat();
    let stats = [
        attribute(1, &basic),
        attribute(3, &words(&[2, 3028, 11, 1, 12])),
        attribute(8, &((1_u64 << 32) + 5).to_ne_bytes()),
        text(4, report),
    ];
    [
        words(&[0, 3, 0x8001_0000, u32::MAX, 2]),
        text(TCA_KIND, KIND),
        text(TCA_OPTIONS, "tbf rate 10Mbit over pie"),
        attribute(7 | NESTED, &stats.concat()),
    ]
    .concat()
}

const REPORT: &str = r#"[{"kind":"tbf","handle":"8001:","root":true,"refcnt":2,"options":{"rate":1250000},"bytes":9000,"packets":6,"drops":11,"overlimits":12,"requeues":0,"backlog":3028,"qlen":2},{"kind":"pie","handle":"8002:","parent":"8001:1","options":{},"bytes":9000,"packets":6,"drops":11,"overlimits":0,"requeues":0,"backlog":3028,"qlen":2,"prob":0.25}]"#;

#[test]
fn what_the_kernel_tells_is_shown_as_tc_does() {
    let mut qdisc = Installed::read(&told(REPORT)).expect("it is whole");
    qdisc.device = "eth0".to_owned();
    let shown = qdisc.text();
    let expected = "\
qdisc sojourn 8001: dev eth0 root refcnt 2 tbf rate 10Mbit over pie
 Sent 9876 bytes 4294967301 pkt (dropped 11, overlimits 12 requeues 1)
 backlog 3028b 2p requeues 1
  qdisc tbf 8001: root refcnt 2 rate 10Mbit
   Sent 9000 bytes 6 pkt (dropped 11, overlimits 12 requeues 0)
";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(
        shown.contains("\n  qdisc pie 8002: parent 8001:1"),
        "{shown}"
    );
    assert!(shown.contains("prob 0.25"), "{shown}");
    let json = qdisc.json();
    assert_eq!(json["options"]["discipline"], "tbf rate 10Mbit over pie");
    assert_eq!(json["packets"], 4_294_967_301_u64);
    assert_eq!(
        (&json["root"], &json["handle"]),
        (&true.into(), &"8001:".into())
    );
    assert_eq!(json["report"][1]["prob"], 0.25);
}

/// The kernel leaves the report out when its message has no room; and nothing panics.
#[test]
fn a_message_without_a_report_or_cut_off_is_shown_so_far() {
    let whole = told("");
    let mut qdisc = Installed::read(&whole).expect("it is whole");
    qdisc.device = "eth0".to_owned();
    assert_eq!(qdisc.text().lines().count(), 3);
    assert_eq!(qdisc.json()["report"], serde_json::Value::Null);
    for cut in 0..whole.len() {
        let _ = Installed::read(&whole[..cut]).map(|qdisc| (qdisc.text(), qdisc.json()));
    }
}

/// The code, the header of the request, then the kernel's words.
#[test]
fn a_refusal_says_what_would_help() {
    let answer = |code: i32, words: &str| {
        [
            &(-code).to_ne_bytes()[..],
            &[0; 16],
            &text(NLMSGERR_ATTR_MSG, words),
        ]
        .concat()
    };
    let told = |code, words: &str| {
        let body = answer(code, words);
        let error = outcome(&body).expect_err("it is refused");
        ModuleError::refused("`eth0` (root)", &error, why(&body)).to_string()
    };
    let missing = told(libc::ENOENT, "Specified qdisc kind is unknown");
    assert!(missing.contains("insmod"), "{missing}");
    let class = told(libc::ENOENT, "Parent Qdisc doesn't exists");
    assert!(class.contains("Parent Qdisc"), "{class}");
    let wrong = told(libc::EINVAL, "sch_sojourn: not a discipline's string");
    assert!(wrong.contains("not a discipline's string"), "{wrong}");
    assert!(told(libc::EPERM, "").contains("CAP_NET_ADMIN"));
    // Linux before its words.
    let body = (-libc::ENOENT).to_ne_bytes();
    let error = outcome(&body).expect_err("it is refused");
    let said = ModuleError::refused("`eth0` (root)", &error, why(&body)).to_string();
    assert!(said.contains("insmod"), "{said}");
}

#[test]
fn classes_are_tcs() {
    assert_eq!("root".parse(), Ok(Parent::Root));
    assert_eq!("1:1a".parse(), Ok(Parent::Class(1, 0x1a)));
    assert_eq!("8001:".parse(), Ok(Parent::Class(0x8001, 0)));
    for wrong in ["", "1", "x:1", "1:x", "10000:1"] {
        let said = wrong.parse::<Parent>().expect_err("it is wrong");
        assert!(said.contains("1:10"), "{said}");
    }
    assert_eq!(Parent::Class(0x10, 0x1a).to_string(), "parent 10:1a");
}
