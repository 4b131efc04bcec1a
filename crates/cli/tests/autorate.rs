//! A bridge's rate follows the link beyond it, a `tbf` of the kernel whose rate falls and comes
//! back. Needs root; without it these are passed over, except in CI (`CI=true`), where a machine
//! that cannot run them fails them.
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]

mod common;

use common::process::{bridge, ctl, told};
use common::rig::{Link, Net, StopOnDrop, available, measured};
use rustix::net::sockopt;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// `client ═ bridge ═ modem ═ far`: the modem routes, and its way to the far end is slow.
struct Bed {
    link: Link,
    far: Net,
}

impl Bed {
    fn new() -> Self {
        let (link, far) = (Link::new(), Net::new());
        link.server.ip(&format!(
            "link add m1 type veth peer name m0 netns {}
             link set m1 up
             address add 10.9.1.1/24 dev m1",
            far.path()
        ));
        far.ip("link set m0 up
             address add 10.9.1.2/24 dev m0
             route add default via 10.9.1.1");
        link.server.sends(&["m1"]);
        far.sends(&["m0"]);
        link.client.ip("route add 10.9.1.0/24 via 10.9.0.2");
        link.server.run(|| {
            fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("the modem routes");
        });
        let bed = Self { link, far };
        bed.tc("add", 20);
        bed
    }

    /// The slow way has so many Mbit/s, and a queue of 400 KB.
    fn tc(&self, verb: &str, mbit: u32) {
        let words = format!("qdisc {verb} dev m1 root tbf rate {mbit}mbit burst 6kb limit 400kb");
        self.link.server.run(|| {
            let output = Command::new("tc")
                .args(words.split(' '))
                .output()
                .expect("these tests need iproute2");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "tc {words}: {error}");
        });
    }

    /// Has an upload go on, and echoes come back, while `work` runs.
    fn loaded<T>(&self, work: impl FnOnce(&Probe) -> T) -> T {
        let (sink, echo) = self.far.run(|| {
            let sink = TcpListener::bind("10.9.1.2:5001").expect("a socket");
            (sink, UdpSocket::bind("10.9.1.2:5002").expect("a socket"))
        });
        let wait = Some(Duration::from_millis(100));
        echo.set_read_timeout(wait).expect("it can wait");
        let (mut upload, probe) = self.link.client.run(|| {
            let upload = TcpStream::connect("10.9.1.2:5001").expect("it is reached");
            let socket = UdpSocket::bind("10.9.0.1:0").expect("a socket");
            socket.connect("10.9.1.2:5002").expect("an address");
            socket.set_nonblocking(true).expect("it need not wait");
            let zero = Instant::now();
            (upload, Probe { socket, zero })
        });
        upload.set_write_timeout(wait).expect("it can wait");
        // BBR, which some machines have by default, fills no queue and needs no shaper.
        sockopt::set_tcp_congestion(&upload, "cubic").expect("the kernel has CUBIC");
        let (mut arrived, _) = sink.accept().expect("it has come");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let _done = StopOnDrop(&done);
            let goes_on = || !done.load(Ordering::Relaxed);
            scope.spawn(move || while arrived.read(&mut [0; 8192]).is_ok_and(|n| n > 0) {});
            scope.spawn(move || {
                while goes_on() {
                    match upload.write(&[0; 8192]) {
                        Err(error) if error.kind() != ErrorKind::WouldBlock => break,
                        _ => {}
                    }
                }
            });
            scope.spawn(move || {
                let mut buffer = [0; 64];
                while goes_on() {
                    if let Ok((len, from)) = echo.recv_from(&mut buffer) {
                        let _ = echo.send_to(&buffer[..len], from);
                    }
                }
            });
            work(&probe)
        })
    }
}

/// Who sends stamps and gets them back.
struct Probe {
    socket: UdpSocket,
    /// What stamps count from.
    zero: Instant,
}

impl Probe {
    /// Round-trip times for so long, in ms, fifty a second, sorted.
    fn waits(&self, seconds: u64) -> Vec<f64> {
        let nanos = || self.zero.elapsed().as_nanos();
        let start = Instant::now();
        let mut times = Vec::new();
        for number in 1..=seconds * 50 {
            // One that is lost is one less.
            let _ = self.socket.send(&nanos().to_le_bytes());
            while start.elapsed() < Duration::from_millis(20 * number) {
                let mut stamp = [0; 16];
                if self.socket.recv(&mut stamp).is_ok() {
                    times.push((nanos() - u128::from_le_bytes(stamp)) as f64 / 1e6);
                }
                thread::sleep(Duration::from_micros(500));
            }
        }
        times.sort_by(f64::total_cmp);
        times
    }
}

/// A share of sorted times is up to this.
fn quantile(times: &[f64], share: f64) -> f64 {
    assert!(times.len() > 40, "{} answers", times.len());
    times[((times.len() - 1) as f64 * share) as usize]
}

/// A bridge of 10 ms each way, with these words for the way up.
fn file(dir: &Path, up: &str) {
    let text = format!(
        "version = 1\ncontrol = \"control\"\n[[pair]]\nname = \"wan\"\nleft = \"a1\"\n\
         right = \"b1\"\nqdisc = \"fq_codel\"\ndelay = \"10ms\"\nfail_open = \"off\"\n\
         up = {{ {up} }}\n"
    );
    fs::write(dir.join("bridge.toml"), text).unwrap();
}

/// The rate up of the moment, in Mbit/s.
fn rate(dir: &Path) -> f64 {
    let stats = told(dir, "--json stats");
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("it is JSON");
    let rate = &stats["stats"]["wan"]["up"]["autorate_bps"];
    rate.as_f64().expect("the rate follows") / 1e6
}

/// What the way up is in the middle of a run in which the link falls from 20 to 8 Mbit/s for six
/// seconds: the probe's waits in the last four of these.
fn falls(bed: &Bed, probe: &Probe) -> Vec<f64> {
    probe.waits(3);
    bed.tc("change", 8);
    probe.waits(2);
    probe.waits(4)
}

/// Some seconds after the link's rate has changed the rate that follows is near that, and a probe
/// waits no longer than 50 ms beyond its 20; a rate that stays fills the modem's queue.
#[test]
fn the_rate_follows_the_link_down_and_up() {
    if !available() {
        return;
    }
    let run = || {
        let [dir, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [dir, other] = [dir.path(), other.path()];
        let beds = [Bed::new(), Bed::new()];
        file(
            dir,
            "rate = \"20mbit\", autorate = { min = \"4mbit\", max = \"40mbit\" }",
        );
        file(other, "rate = \"20mbit\"");
        let follows = bridge(&beds[0].link, "--config bridge.toml", dir);
        let stays = bridge(&beds[1].link, "--config bridge.toml", other);
        let (fixed, (followed, slow, fast)) = thread::scope(|scope| {
            let fixed = scope.spawn(|| beds[1].loaded(|probe| falls(&beds[1], probe)));
            let followed = beds[0].loaded(|probe| {
                let waits = falls(&beds[0], probe);
                let slow = rate(dir);
                beds[0].tc("change", 20);
                probe.waits(3);
                (waits, slow, rate(dir))
            });
            (fixed.join().expect("it does not panic"), followed)
        });
        let history = told(dir, "history");
        println!("{slow:.1}, {fast:.1}\n{history}");
        for line in history.lines().filter(|line| line.contains("autorate: ")) {
            assert!(line.contains("autorate: pair wan: up: "), "{line}");
        }
        let (code, refused) = ctl(dir, "rate up 9mbit");
        assert_eq!(code, Some(2), "{refused}");
        assert!(
            refused.contains("the up rate follows its link"),
            "{refused}"
        );
        follows.interrupt();
        stays.interrupt();
        (fixed, followed, slow, fast, history)
    };
    measured(run, |(fixed, followed, slow, fast, history)| {
        let [fixed, followed] =
            [fixed, followed].map(|waits| [0.5, 0.95].map(|share| quantile(waits, share)));
        println!("fixed {fixed:.0?}, followed {followed:.0?}");
        assert!((0.6..1.6).contains(&(slow / 8.0)), "{slow}");
        // A load of 75 % would be enough for 1.33.
        assert!((0.6..1.3).contains(&(fast / 20.0)), "{fast}");
        assert!(followed[0] < 55.0 && followed[1] < 70.0, "{followed:?}");
        assert!(fixed[0] > 1.5 * followed[0], "{fixed:?} {followed:?}");
        let said = |word: &str| history.lines().any(|line| line.contains(word));
        assert!(said(" Mbit/s: delay "), "it has fallen: {history}");
        assert!(said(" Mbit/s: load ") && said(" steps in "), "{history}");
    });
}

/// Another delay leaves the rate where it is; other bounds begin anew; without any it is the file's.
#[test]
fn a_reload_changes_how_the_rate_follows() {
    if !available() {
        return;
    }
    let run = || {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let bed = Bed::new();
        bed.tc("change", 60);
        let autorate = |max: u32, delay: u32| {
            let bounds = format!("autorate = {{ min = \"4mbit\", max = \"{max}mbit\" }}");
            file(
                dir,
                &format!("rate = \"20mbit\", {bounds}, delay = \"{delay}ms\""),
            );
        };
        autorate(40, 10);
        let process = bridge(&bed.link, "--config bridge.toml", dir);
        let rates = bed.loaded(|probe| {
            probe.waits(2);
            let at_first = rate(dir);
            autorate(40, 12);
            assert_eq!(told(dir, "reload"), "pair wan: up.delay: 10ms -> 12ms\n");
            let same_bounds = rate(dir);
            autorate(24, 12);
            let changed = "4Mbit to 40Mbit, threshold 30ms -> 4Mbit to 24Mbit, threshold 30ms\n";
            assert_eq!(
                told(dir, "reload"),
                format!("pair wan: up.autorate: {changed}")
            );
            assert!(rate(dir) <= 24.0, "{}", rate(dir));
            probe.waits(2);
            [at_first, same_bounds, rate(dir)]
        });
        let history = told(dir, "history");
        file(dir, "rate = \"20mbit\", delay = \"12ms\"");
        assert!(told(dir, "reload").contains("up.autorate: 4Mbit to 24Mbit"));
        assert!(!told(dir, "stats").contains("autorate"));
        assert_eq!(
            told(dir, "rate up 9mbit"),
            "up before: 20Mbit\nup after:  9Mbit\n"
        );
        process.interrupt();
        (rates, history)
    };
    measured(run, |(rates, history)| {
        let [at_first, same_bounds, lower] = *rates;
        assert!(at_first > 30.0 && same_bounds > 30.0, "{rates:?}");
        assert!((22.0..=24.0).contains(&lower), "{rates:?}");
        // What was done before the reload is still known.
        assert!(history.contains(" -> 40.0 Mbit/s: load "), "{history}");
    });
}
