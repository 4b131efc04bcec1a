//! The link survives us. Needs root.

mod common;

use common::{Link, Raw, StopOnDrop, frame, plain};
use sojourn_live::bridge::{Bridge, BridgeError, FailOpen, NoObserver};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const OURS: u16 = 0x88b5;

fn is_ours(frame: &[u8]) -> bool {
    frame[12..14] == OURS.to_be_bytes()
}

/// Not a test: the process that the tests below start and kill. Ends when its input ends.
#[test]
#[ignore = "a helper process of the other tests"]
fn child() {
    let mut config = plain();
    config.fail_open = FailOpen::Require;
    let mut bridge = Bridge::open(config).expect("the bridge opens");
    println!("ready: {}", bridge.fail_open_state());
    let stop = Arc::new(AtomicBool::new(false));
    let stopper = Arc::clone(&stop);
    thread::spawn(move || {
        let _ = std::io::stdin().read(&mut [0]);
        stopper.store(true, Ordering::Relaxed);
    });
    bridge.run(&stop, &mut NoObserver).expect("the bridge runs");
}

/// A bridge in a process of its own.
struct Process {
    child: Child,
    /// Held open: the child still writes to it.
    _output: BufReader<ChildStdout>,
}

impl Process {
    fn start(link: &Link) -> Self {
        link.middle.run(|| {
            let mut child = Command::new(std::env::current_exe().expect("this program"))
                .args(["--exact", "child", "--ignored", "--nocapture"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("it starts");
            let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
            let ready = output
                .by_ref()
                .lines()
                .map_while(Result::ok)
                .find(|line| line.contains("ready: "));
            assert!(ready.is_some(), "the child has ended early");
            Self {
                child,
                _output: output,
            }
        })
    }

    /// `kill -9`.
    fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
    }

    fn stop(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().expect("it ends").success());
    }
}

/// The devices in the middle: name and master.
fn devices(link: &Link) -> Vec<String> {
    link.middle.run(|| {
        let output = Command::new("ip")
            .args(["-o", "link"])
            .output()
            .expect("ip runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let master = words.iter().position(|word| *word == "master");
                let master = master.map_or("", |at| words[at + 1]);
                format!("{} {master}", words[1])
            })
            .collect()
    })
}

/// Sends a hundred frames each way; returns how many arrived and how many came back.
fn exchange(link: &Link) -> [usize; 4] {
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    for _ in 0..100 {
        left.send(&frame(OURS, &[1; 100]));
    }
    let (up, back) = (right.count(is_ours), left.count(is_ours));
    for _ in 0..100 {
        right.send(&frame(OURS, &[2; 100]));
    }
    [up, back, left.count(is_ours), right.count(is_ours)]
}

#[test]
fn a_killed_bridge_leaves_a_link_that_works_and_a_clean_stop_leaves_nothing() {
    let link = Link::new();
    let before = devices(&link);
    let process = Process::start(&link);
    assert_eq!(exchange(&link), [100, 0, 100, 0], "through us");
    process.kill();
    assert_eq!(
        exchange(&link),
        [100, 0, 100, 0],
        "through the kernel's bridge"
    );
    let mut expected = before.clone();
    expected.push("sojourn0: ".into());
    for port in expected
        .iter_mut()
        .filter(|device| !device.starts_with("lo"))
    {
        if port.starts_with("a1") || port.starts_with("b1") {
            port.push_str("sojourn0");
        }
    }
    let mut left_over = devices(&link);
    left_over.sort();
    expected.sort();
    assert_eq!(left_over, expected, "nothing else is left");
    // The next one takes over what the killed one left, and takes it away at the end.
    let process = Process::start(&link);
    assert_eq!(exchange(&link), [100, 0, 100, 0], "through us again");
    process.stop();
    assert_eq!(devices(&link), before);
    assert_eq!(exchange(&link), [0; 4], "there is no link any more");
}

#[test]
fn a_bridge_of_the_users_own_is_adopted_and_stays() {
    let link = Link::new();
    link.middle
        .ip("link add br9 type bridge forward_delay 0 mcast_snooping 0
         link set a1 master br9
         link set b1 master br9
         link set br9 up");
    assert_eq!(exchange(&link), [100, 0, 100, 0], "before us");
    let before = devices(&link);
    let process = Process::start(&link);
    assert_eq!(exchange(&link), [100, 0, 100, 0], "through us");
    process.stop();
    assert_eq!(exchange(&link), [100, 0, 100, 0], "after us");
    assert_eq!(devices(&link), before);
}

#[test]
fn no_frame_is_doubled_while_bridges_come_and_go() {
    let link = Link::new();
    link.middle
        .ip("link add br9 type bridge forward_delay 0 mcast_snooping 0
         link set a1 master br9
         link set b1 master br9
         link set br9 up");
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let done = AtomicBool::new(false);
    let (sent, received) = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut number = 0_u32;
            while !done.load(Ordering::Relaxed) {
                left.send(&frame(
                    OURS,
                    &[&number.to_be_bytes()[..], &[0; 50]].concat(),
                ));
                number += 1;
                thread::sleep(Duration::from_micros(200));
            }
            number
        });
        let receiver = scope.spawn(|| {
            let mut copies = BTreeMap::<u32, u32>::new();
            let mut quiet = false;
            while !quiet {
                quiet = done.load(Ordering::Relaxed);
                while let Some(got) = right.read() {
                    if is_ours(&got) {
                        let number = got[14..18].try_into().expect("four bytes");
                        *copies.entry(u32::from_be_bytes(number)).or_default() += 1;
                        quiet = false;
                    }
                }
            }
            copies
        });
        let _done = StopOnDrop(&done);
        for _ in 0..3 {
            let process = Process::start(&link);
            thread::sleep(Duration::from_millis(50));
            process.stop();
            let process = Process::start(&link);
            thread::sleep(Duration::from_millis(50));
            process.kill();
            thread::sleep(Duration::from_millis(50));
        }
        done.store(true, Ordering::Relaxed);
        let sent = sender.join().expect("the sender ends");
        (sent, receiver.join().expect("the receiver ends"))
    });
    let doubled: Vec<_> = received.iter().filter(|(_, copies)| **copies > 1).collect();
    assert!(doubled.is_empty(), "frames seen twice: {doubled:?}");
    // How many are lost is a matter of the machine's load, above all while a process dies.
    let lost = sent as usize - received.len();
    println!("{lost} of {sent} frames lost in nine changes of hands");
    assert!(lost < sent as usize / 2, "{lost} of {sent}");
}

#[test]
fn what_the_kernel_cannot_do_is_said() {
    let link = Link::new();
    link.middle.ip("address add 192.0.2.1/24 dev a1");
    let mut config = plain();
    config.fail_open = FailOpen::Require;
    link.middle.run(|| {
        let error = Bridge::open(config.clone()).err().expect("it refuses");
        assert!(matches!(error, BridgeError::FailOpen(_)), "{error}");
        assert!(
            error.to_string().contains("`a1` has an IP address"),
            "{error}"
        );
        config.fail_open = FailOpen::Prefer;
        let bridge = Bridge::open(config).expect("it goes on without");
        assert!(bridge.fail_open_state().contains("not possible"));
    });
}

#[test]
fn wrong_interfaces_are_named() {
    let link = Link::new();
    let error = |left: &str, right: &str| {
        let mut config = plain();
        (config.left, config.right) = (left.into(), right.into());
        link.middle
            .run(|| Bridge::open(config).err().expect("it refuses").to_string())
    };
    let missing = error("a1", "b2");
    assert!(
        missing.contains("no interface `b2`") && missing.contains("b1"),
        "{missing}"
    );
    assert!(error("a1", "a1").contains("named twice"));
    assert!(error("lo", "b1").contains("`lo` is not an Ethernet interface"));
    link.middle.ip("link set b1 down");
    assert!(error("a1", "b1").contains("ip link set b1 up"));
}
