//! The kernel bridge that takes over: what happens to it while the bridge runs is seen and mended.
//! Needs root. That it takes over when the process is killed is tested with the program itself, in
//! `crates/cli/tests/fail_open.rs`.

mod common;

use common::{
    Link, OURS, PASSES, PATIENCE, Raw, StopOnDrop, exchange, frame, is_ours, passes, plain,
};
use sojourn_bridge::netlink::{
    ACK, CREATE, ERROR, NESTED, attribute, connect, message, messages, outcome,
    protocols::NETLINK_NETFILTER,
};
use sojourn_bridge::{Bridge, BridgeConfig, FailOpen, Hook, NoObserver, Remote, Request, restore};
use sojourn_units::Span;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// `ETHTOOL_SGRO`.
const SET_GRO: u32 = 0x2c;

fn kept() -> BridgeConfig {
    let mut config = plain();
    config.fail_open = FailOpen::Require;
    config.keep_bridge = true;
    config
}

/// Runs a bridge that looks after its way round while `work` runs, which hears what it tells.
fn looked_after<T>(
    link: &Link,
    config: BridgeConfig,
    work: impl FnOnce(&Remote, &Receiver<String>) -> T,
) -> T {
    let stop = AtomicBool::new(false);
    let (ready, is_ready) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let runner = scope.spawn(|| {
            link.middle.enter();
            let mut bridge = Bridge::open(config).expect("the bridge opens");
            let tell = move |text| drop(tell.send(text));
            bridge.look_after_fail_open(tell).expect("a thread more");
            ready.send(bridge.remote()).expect("the test waits");
            bridge.run(&stop, &mut NoObserver).expect("the bridge runs");
        });
        let _stop = StopOnDrop(&stop);
        let remote = is_ready.recv().expect("the bridge is open");
        let value = work(&remote, &told);
        stop.store(true, Ordering::Relaxed);
        runner.join().expect("the bridge does not panic");
        value
    })
}

/// Runs a command of iproute2 in the middle.
fn does(link: &Link, command: &str) {
    let mut words = command.split_whitespace();
    let program = words.next().expect("it has a name");
    let status = link
        .middle
        .run(|| Command::new(program).args(words).status());
    assert!(
        status.expect("these tests need iproute2").success(),
        "{command}"
    );
}

/// All that iproute2 shows of a device in the middle.
fn shown(link: &Link, device: &str) -> String {
    let show = ["-d", "link", "show", device];
    let run = || Command::new("ip").args(show).output();
    let output = link.middle.run(run).expect("these tests need iproute2");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Does some harm to the way round, and looks whether it is told, mended and of use afterwards.
fn is_mended(harm: &str, told: &str) {
    let link = Link::new();
    looked_after(&link, kept(), |remote, heard| {
        assert!(remote.fail_open().ready, "{:?}", remote.fail_open());
        // A kernel may be without (CONFIG_BRIDGE_IGMP_SNOOPING).
        if told == "snooping" && !shown(&link, "sojourn0").contains("mcast_snooping") {
            return;
        }
        does(&link, harm);
        let said = heard.recv_timeout(PATIENCE).expect(harm);
        assert!(said.contains(told), "{harm}: {said}");
        assert!(remote.fail_open().ready, "{harm}: {said}");
        // It is not the way while we are.
        passes(&link, &format!("{harm}: through us"));
    });
    assert_eq!(exchange(&link), PASSES, "{harm}: without us");
}

#[test]
fn a_way_round_that_vanishes_is_mended() {
    let harms = [
        ("ip link delete sojourn0", "`sojourn0` is gone"),
        ("ip link set b1 nomaster", "`b1` has left `sojourn0`"),
        ("ip link set sojourn0 down", "`sojourn0` is down"),
        (
            "ip link set a1 type bridge_slave learning on",
            "`a1` learns",
        ),
        ("bridge link set dev b1 state 0", "`b1` does not forward"),
        ("bridge link set dev a1 bcast_flood off", "does not pass"),
        ("bridge link set dev b1 mcast_flood off", "does not pass"),
        ("bridge link set dev b1 hairpin on", "does not pass"),
        ("bridge link set dev b1 locked on", "does not pass"),
        ("bridge link set dev a1 neigh_suppress on", "does not pass"),
        (
            "ip link set sojourn0 type bridge stp_state 1",
            "a spanning tree",
        ),
        (
            "ip link set sojourn0 type bridge mcast_snooping 1",
            "snooping",
        ),
        (
            "bridge fdb add 02:00:00:00:00:07 dev a1 master static",
            "an address in its table",
        ),
        (
            "sysctl -q net.ipv6.conf.sojourn0.disable_ipv6=0",
            "`sojourn0` speaks IPv6",
        ),
        ("ip link set sojourn0 alias other", "has another alias"),
    ];
    // Each has namespaces of its own.
    thread::scope(|scope| {
        for (harm, told) in harms {
            scope.spawn(move || is_mended(harm, told));
        }
    });
}

/// What filters and qdiscs there are at the ingress in the middle.
fn at_ingress(link: &Link) -> String {
    let asked = ["filter show dev a1 ingress", "qdisc show dev b1"];
    let told = asked.map(|words| {
        let run = || Command::new("tc").args(words.split(' ')).output();
        let output = link.middle.run(run).expect("these tests need iproute2");
        String::from_utf8_lossy(&output.stdout).into_owned()
    });
    told.concat()
}

/// Where there is no tcx a filter keeps frames from the kernel bridge. After a kill it stays, and
/// does nothing.
#[test]
fn without_tcx_a_filter_keeps_frames_from_the_kernel_bridge() {
    let link = Link::new();
    let config = BridgeConfig {
        hook: Hook::Clsact,
        claim: true,
        watchdog: Span::from_millis(200),
        ..kept()
    };
    looked_after(&link, config.clone(), |remote, _| {
        assert!(remote.fail_open().ready, "{:?}", remote.fail_open());
        assert!(
            at_ingress(&link).contains("sojourn"),
            "{}",
            at_ingress(&link)
        );
        passes(&link, "through us");
    });
    assert_eq!(at_ingress(&link).trim_end().lines().count(), 1, "no queue");
    assert_eq!(exchange(&link), PASSES, "without us");
    // As after a kill: nothing is undone.
    link.middle.run(|| {
        let mut bridge = Bridge::open(config.clone()).expect("the bridge opens");
        let stop = AtomicBool::new(true);
        bridge.run(&stop, &mut NoObserver).expect("the bridge runs");
        std::mem::forget(bridge);
    });
    assert!(at_ingress(&link).contains("sojourn"));
    thread::sleep(Duration::from_millis(300));
    assert_eq!(exchange(&link), PASSES, "behind the filter");
    let told = link.middle.run(|| restore().expect("claims are there"));
    assert_eq!(told.len(), 2, "{told:?}");
}

/// Whoever deletes the qdisc takes the filter along, and another program may take its place.
#[test]
fn a_filter_that_vanishes_is_put_back() {
    /// A filter that matches no frame.
    const OTHER: &str = "bpf bytecode '1,6 0 0 0,'";
    let link = Link::new();
    let config = BridgeConfig {
        hook: Hook::Clsact,
        ..kept()
    };
    let tc = |words: &str| {
        let run = || {
            Command::new("sh")
                .args(["-c", &format!("tc {words}")])
                .status()
        };
        let status = link.middle.run(run).expect("there is a shell");
        assert!(status.success(), "tc {words}");
    };
    looked_after(&link, config, |remote, heard| {
        passes(&link, "before");
        for (repairs, (harm, lost)) in (1..).zip([
            ("qdisc delete dev a1 clsact", "`a1` has lost"),
            ("filter delete dev b1 ingress", "`b1` has lost"),
            (
                &format!("filter replace dev a1 ingress pref 29546 handle 1 {OTHER}"),
                "`a1` has lost",
            ),
        ]) {
            tc(harm);
            let said = heard.recv_timeout(PATIENCE).expect(harm);
            assert!(said.contains(lost), "{harm}: {said}");
            assert_eq!(remote.fail_open().repairs, repairs, "{harm}");
            assert!(remote.fail_open().well, "{harm}: {said}");
            passes(&link, harm);
        }
        // A filter of another's in our qdisc, which then stays.
        tc(&format!("filter add dev a1 egress pref 1 {OTHER}"));
    });
    assert_eq!(exchange(&link), PASSES, "without us");
    let left = link.middle.run(|| {
        let asked = ["-c", "tc qdisc show dev a1; tc filter show dev a1 ingress"];
        Command::new("sh").args(asked).output().expect("a shell")
    });
    let left = String::from_utf8_lossy(&left.stdout).into_owned();
    assert!(
        left.contains("clsact") && !left.contains("sojourn"),
        "{left}"
    );
}

/// A clean end takes away what was made anew, too.
#[test]
fn what_was_made_anew_goes_at_the_end() {
    let link = Link::new();
    let mut config = kept();
    config.keep_bridge = false;
    looked_after(&link, config, |_, heard| {
        link.middle.ip("link delete sojourn0");
        heard.recv_timeout(PATIENCE).expect("it is told");
    });
    let left = link
        .middle
        .run(|| fs::read_to_string("/proc/thread-self/net/dev").unwrap());
    assert!(!left.contains("sojourn"), "{left}");
}

#[test]
fn addresses_and_bridges_of_others_are_told() {
    let link = Link::new();
    looked_after(&link, kept(), |remote, heard| {
        link.middle.ip("address add 192.0.2.1/24 dev a1");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(said.contains("`a1` has an IP address"), "{said}");
        assert!(remote.fail_open().ready && !remote.fail_open().well);
        link.middle.ip("address delete 192.0.2.1/24 dev a1");
        heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(remote.fail_open().well);
        // It would exchange frames with both interfaces.
        link.middle
            .ip("link add x0 type veth peer name x1\n link set x1 master sojourn0");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(said.contains("`x1` is in it too"), "{said}");
        assert!(remote.fail_open().ready && !remote.fail_open().well);
        link.middle.ip("link delete x0");
        heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(remote.fail_open().well);
        // One interface in a bridge of the user's: none of ours to mend.
        link.middle
            .ip("link add br9 type bridge\n link set a1 master br9");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(said.contains("`a1` belongs to `br9`"), "{said}");
        assert!(!remote.fail_open().ready);
        link.middle.ip("link delete br9");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(remote.fail_open().ready, "{said}");
    });
    let mut off = kept();
    off.fail_open = FailOpen::Off;
    let link = Link::new();
    looked_after(&link, off, |remote, heard| {
        assert!(remote.fail_open().well && !remote.fail_open().ready);
        link.middle
            .ip("link add br9 type bridge\n link set a1 master br9\n link set b1 master br9");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(said.contains("every frame passes twice: `br9`"), "{said}");
        link.middle.ip("link delete br9");
        heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(remote.fail_open().well, "{:?}", remote.fail_open());
    });
}

/// A VLAN's packets come to the interface below it, and so to us.
#[test]
fn an_address_of_a_vlan_counts_as_one_of_its_interface() {
    let link = Link::new();
    let made = link.middle.run(|| {
        let words = "link add link a1 name a1.5 up type vlan id 5";
        Command::new("ip").args(words.split(' ')).status()
    });
    if !made.expect("these tests need iproute2").success() {
        return eprintln!("passed over: this kernel has no VLANs");
    }
    looked_after(&link, kept(), |remote, heard| {
        assert!(remote.fail_open().well, "{:?}", remote.fail_open());
        link.middle.ip("address add 192.0.2.1/24 dev a1.5");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(said.contains("`a1.5` has an IP address"), "{said}");
    });
    let error = link.middle.run(|| Bridge::open(kept()).err());
    let why = error.expect("it refuses").to_string();
    assert!(why.contains("`a1.5` has an IP address"), "{why}");
}

/// Everything is about an interface, not about what it is called.
#[test]
fn interfaces_may_get_other_names() {
    let link = Link::new();
    let gro = |name: &str, on: bool| {
        let of = |name| sojourn_bridge::gathering(name).expect("it is there");
        assert_eq!(
            !link.middle.run(|| of(name)).is_empty(),
            on,
            "GRO of {name}"
        );
    };
    link.middle.run(|| {
        let mut asked = Request::about("a1").expect("it is there");
        asked.ethtool(SET_GRO, 1).expect("veth has GRO");
    });
    let name = looked_after(&link, kept(), |remote, heard| {
        gro("a1", false);
        let renamed = link.middle.run(|| {
            let words = "link set a1 name a9";
            Command::new("ip").args(words.split(' ')).status()
        });
        if !renamed.expect("these tests need iproute2").success() {
            eprintln!("passed over: below Linux 6.2 an interface that is up keeps its name");
            return "a1";
        }
        link.middle
            .ip("link set sojourn0 name other\n address add 192.0.2.1/24 dev a9");
        // In one look or in two.
        let mut said = String::new();
        while !["`a9` has an IP address", "kernel bridge `other`"]
            .iter()
            .all(|it| said.contains(it))
        {
            said += &heard.recv_timeout(PATIENCE).expect(&said);
        }
        assert!(remote.fail_open().ready, "{said}");
        "a9"
    });
    gro(name, true);
}

/// What is lost is told before it is, and what will happen is known before the start.
#[test]
fn what_is_odd_is_told_before_the_start_and_while_it_runs() {
    let link = Link::new();
    let foreseen_by = |hook| {
        let config = BridgeConfig { hook, ..kept() };
        let foresee = || Bridge::foresee(&config).expect("the interfaces are there");
        link.middle.run(foresee).join("; ")
    };
    let foreseen = || foreseen_by(Hook::Newest);
    assert_eq!(
        foreseen_by(Hook::Clsact),
        "fail open: possible, a kernel bridge takes over (without tcx (Linux 6.6), by a clsact \
         filter)"
    );
    assert!(
        foreseen().starts_with("fail open: possible, a kernel bridge takes over"),
        "{}",
        foreseen()
    );
    looked_after(&link, kept(), |remote, heard| {
        link.middle.ip("link set b1 mtu 1400");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(said.contains("larger than 1400 bytes"), "{said}");
        assert!(remote.fail_open().well);
    });
    let said = foreseen();
    assert!(
        said.contains("kernel bridge `sojourn0` takes over"),
        "{said}"
    );
    assert!(said.contains("`a1` has an MTU of 1500 bytes"), "{said}");
    link.middle.ip("address add 192.0.2.1/24 dev a1");
    let said = foreseen();
    assert!(
        said.contains("not possible, because `a1` has an IP"),
        "{said}"
    );
}

/// A host on the left that sends with the address of one on the right does not get its frames, and
/// what is for the nearest bridge reaches the other side.
#[test]
fn the_kernel_bridge_learns_nothing_and_passes_groups_on() {
    let link = Link::new();
    looked_after(&link, kept(), |_, _| ());
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let gateway = [2, 0, 0, 0, 0, 1];
    let mut forged = frame(OURS, &[1; 50]);
    forged[6..12].copy_from_slice(&gateway);
    left.send(&forged);
    assert_eq!(right.count(1, is_ours), 1, "the forged frame passes");
    let to = |address: [u8; 6], expected| {
        let mut sent = frame(OURS, &[2; 50]);
        sent[..6].copy_from_slice(&address);
        for _ in 0..50 {
            left.send(&sent);
        }
        right.count(expected, is_ours)
    };
    assert_eq!(to(gateway, 50), 50, "frames for the gateway");
    for last in [0x00, 0x02, 0x03, 0x0e] {
        let group = [0x01, 0x80, 0xc2, 0, 0, last];
        assert_eq!(to(group, 50), 50, "group {last:#x}");
    }
    assert_eq!(
        to([0x01, 0x80, 0xc2, 0, 0, 1], 0),
        0,
        "pause frames, which docs/bridge.md names"
    );
}

/// A chain of nf_tables that drops what is forwarded, as Docker makes it.
fn drop_forwarded() {
    const NF_TABLES: u16 = 10;
    const NAME: &[u8] = b"filter\0";
    let ask = |kind: u16, resource: u16, attributes: &[u8]| {
        // `struct nfgenmsg`: IPv4, version 0, and the subsystem of a batch.
        let [high, low] = resource.to_be_bytes();
        let flags = if resource == 0 { ACK | CREATE } else { 0 };
        message(kind, flags, &[2, 0, high, low], attributes)
    };
    let hook = [
        attribute(1, &2_u32.to_be_bytes()),
        attribute(2, &0_u32.to_be_bytes()),
    ];
    let chain = [
        attribute(1, NAME),
        attribute(3, b"FORWARD\0"),
        attribute(4 | NESTED, &hook.concat()),
        attribute(5, &0_u32.to_be_bytes()),
        attribute(7, b"filter\0"),
    ];
    let batch = [
        ask(0x10, NF_TABLES, &[]),
        ask(NF_TABLES << 8, 0, &attribute(1, NAME)),
        ask(NF_TABLES << 8 | 3, 0, &chain.concat()),
        ask(0x11, NF_TABLES, &[]),
    ];
    let socket = connect(NETLINK_NETFILTER).expect("a socket");
    socket.send(&batch.concat(), 0).expect("it is sent");
    let mut acknowledged = 0;
    while acknowledged < 2 {
        let (answers, _) = socket.recv_from_full().expect("an answer");
        for (_, body) in messages(&answers).filter(|(kind, _)| *kind == ERROR) {
            outcome(body).expect("the chain is made");
            acknowledged += 1;
        }
    }
}

#[test]
fn rules_that_would_drop_what_the_kernel_forwards_are_told() {
    const CALL: &str = "/proc/sys/net/bridge/bridge-nf-call-iptables";
    let link = Link::new();
    link.middle.run(|| {
        let has_module = fs::write(CALL, "1");
        if has_module.is_err() && std::env::var("CI").is_err() {
            return eprintln!("passed over: br_netfilter is not loaded");
        }
        has_module.expect("`modprobe br_netfilter`");
        drop_forwarded();
        let error = Bridge::open(kept()).err().expect("it refuses").to_string();
        assert!(error.contains("bridge-nf-call-iptables"), "{error}");
        assert!(error.contains("the chain `filter FORWARD`"), "{error}");
        let mut prefers = kept();
        prefers.fail_open = FailOpen::Prefer;
        let bridge = Bridge::open(prefers).expect("it goes on");
        let state = bridge.remote().fail_open();
        assert!(!state.ready && state.text.contains("may drop"), "{state:?}");
        drop(bridge);
        fs::write(CALL, "0").expect("it is a sysctl of the namespace");
        let bridge = Bridge::open(kept()).expect("nothing is in the way");
        assert!(bridge.remote().fail_open().ready);
    });
}

/// Rules and sysctls tell no news; they are seen all the same, also where interfaces change all the
/// time.
#[test]
fn rules_that_come_while_it_runs_are_told() {
    const CALL: &str = "/proc/sys/net/bridge/bridge-nf-call-iptables";
    let link = Link::new();
    looked_after(&link, kept(), |remote, heard| {
        assert!(remote.fail_open().ready, "{:?}", remote.fail_open());
        // Some looks at nothing.
        thread::sleep(Duration::from_secs(2));
        let has_module = link.middle.run(|| {
            let has_module = fs::write(CALL, "1");
            drop_forwarded();
            has_module
        });
        if has_module.is_err() && std::env::var("CI").is_err() {
            return eprintln!("passed over: br_netfilter is not loaded");
        }
        has_module.expect("`modprobe br_netfilter`");
        let mut news = (0..1000).map(|_| {
            link.middle.ip("address add 192.0.2.1/32 dev lo");
            link.middle.ip("address delete 192.0.2.1/32 dev lo");
            heard.recv_timeout(Duration::from_millis(20))
        });
        let said = news.find_map(Result::ok).expect("it is told");
        assert!(said.contains("the chain `filter FORWARD`"), "{said}");
        assert!(!remote.fail_open().ready);
        link.middle.run(|| fs::write(CALL, "0")).expect("as before");
        let said = heard.recv_timeout(PATIENCE).expect("it is told");
        assert!(remote.fail_open().ready, "{said}");
    });
}
