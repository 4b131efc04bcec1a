//! A link to put a bridge into: `a0 ═ a1 | bridge | b1 ═ b0`, in namespaces of threads of this
//! process, so that nothing is left behind however the test ends. The program's own tests
//! (`crates/cli/tests`) include this file too.
#![allow(dead_code, unreachable_pub)]
#![allow(unsafe_code, reason = "system calls")]
#![allow(clippy::disallowed_methods, reason = "real packets take real time")]
// The kernel's control messages are read unaligned.
#![allow(clippy::cast_ptr_alignment)]

use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity};
use sojourn_live::Live;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Whether this machine can run the live world.
pub fn available() -> bool {
    match Live::available() {
        Ok(()) => true,
        Err(reason) if std::env::var("CI").is_ok_and(|ci| ci == "true") => panic!("{reason}"),
        Err(reason) => {
            eprintln!("passed over: {reason}");
            false
        }
    }
}

/// For how long what has to come is waited for, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for what comes before long; for minutes, since the kernel of a busy machine takes that long
/// to put away a namespace.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        let is_late = start.elapsed() > Duration::from_secs(300);
        assert!(!is_late, "it does not come: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// How often what a busy machine may disturb is tried.
const TRIES: usize = 5;

/// Says that something is tried again, past the harness, which keeps what passing tests print to
/// itself.
fn tell(place: &panic::Location<'_>, what: &str, attempt: usize) {
    let told = format!("{place}: {what} ({attempt} of {})\n", TRIES - 1);
    let _ = io::stderr().write_all(told.as_bytes());
}

/// Measures times or rates and judges them; what `judge` refuses is measured again, up to five
/// times in all. Other work on a shared machine disturbs one measurement; a fault of ours is in each.
///
/// What must hold however slow the machine is, accounts of packets above all, is asserted in `run`,
/// which may not fail even once. One measurement at a time in a process, so that they do not
/// disturb each other.
#[track_caller]
pub fn measured<T>(run: impl Fn() -> T, judge: impl Fn(&T)) {
    static ONE: Mutex<()> = Mutex::new(());
    let place = panic::Location::caller();
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    for attempt in 1..TRIES {
        let value = run();
        if panic::catch_unwind(AssertUnwindSafe(|| judge(&value))).is_ok() {
            return;
        }
        tell(place, "disturbed, measured again", attempt);
    }
    judge(&run());
}

/// Runs `work` with a real-time priority below the bridge's, so that nothing else on the machine
/// comes between its frames.
pub fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    scheduled(libc::SCHED_FIFO, 5);
    let value = work();
    scheduled(libc::SCHED_OTHER, 0);
    value
}

/// Has this thread scheduled by a policy.
pub fn scheduled(policy: libc::c_int, priority: libc::c_int) {
    // SAFETY: plain old data for which all zeros is valid.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = priority;
    // SAFETY: the parameter outlives the call, and 0 means the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) };
    let error = io::Error::last_os_error();
    assert_eq!(result, 0, "a real-time priority takes root: {error}");
}

/// A network namespace held by an open file.
pub struct Net {
    handle: File,
    claims: Arc<Claims>,
}

/// Where bridges leave what they claim in a namespace. The kernel gives a namespace's number to a
/// later one, so whatever killed bridges have left goes with the namespace.
struct Claims(PathBuf);

impl Claims {
    fn of(handle: &File) -> Self {
        let number = handle.metadata().expect("an open file has them").ino();
        let claims = Self(Path::new(sojourn_bridge::STATE).join(format!("net-{number}")));
        // Of a test that was killed itself.
        claims.remove();
        claims
    }

    fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Net {
    pub fn new() -> Self {
        let handle = thread::spawn(|| {
            // SAFETY: no pointers are passed; only this thread moves.
            let result = unsafe { libc::unshare(libc::CLONE_NEWNET) };
            let error = io::Error::last_os_error();
            assert_eq!(
                result, 0,
                "these tests need root (CAP_SYS_ADMIN): unshare: {error}"
            );
            std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1").expect("IPv6 off");
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").expect("IPv6 off");
            File::open("/proc/thread-self/ns/net").expect("a namespace has a file")
        })
        .join()
        .expect("the namespace is made");
        let claims = Arc::new(Claims::of(&handle));
        Self { handle, claims }
    }

    /// Runs `work` on a thread inside.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let worker = scope.spawn(|| {
                self.enter();
                work()
            });
            match worker.join() {
                Ok(value) => value,
                Err(cause) => panic::resume_unwind(cause),
            }
        })
    }

    pub fn enter(&self) {
        // SAFETY: the descriptor is an open namespace.
        let result = unsafe { libc::setns(self.handle.as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(result, 0, "setns: {}", io::Error::last_os_error());
    }

    /// Where bridges that live here keep their claims.
    pub fn claims(&self) -> &Path {
        &self.claims.0
    }

    /// A path that leads here, for `ip link set … netns`.
    pub fn path(&self) -> String {
        format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            self.handle.as_raw_fd()
        )
    }

    /// Runs `ip` inside, one command a line.
    pub fn ip(&self, commands: &str) {
        self.run(|| {
            for line in commands
                .lines()
                .map(str::trim)
                .filter(|line| !line.is_empty())
            {
                let output = Command::new("ip")
                    .args(line.split_whitespace())
                    .output()
                    .expect("these tests need iproute2");
                let error = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "ip {line}: {error}");
            }
        });
    }

    /// Waits until these devices, which are up at both ends, send: until the kernel's worker has
    /// seen the carrier of a new cable, what they are given is lost.
    pub fn sends(&self, devices: &[&str]) {
        for device in devices {
            let show = ["-o", "link", "show", "dev", device];
            wait_for(&format!("{device} is operational"), || {
                let output = self
                    .run(|| Command::new("ip").args(show).output())
                    .expect("these tests need iproute2");
                String::from_utf8_lossy(&output.stdout).contains(" state UP ")
            });
        }
    }
}

/// Three namespaces in a row.
pub struct Link {
    pub client: Net,
    pub middle: Net,
    pub server: Net,
}

impl Link {
    pub fn new() -> Self {
        Self::with("")
    }

    /// With these words of `ip link add` for both ends of both cables.
    pub fn with(words: &str) -> Self {
        let (client, middle, server) = (Net::new(), Net::new(), Net::new());
        middle.ip(&format!(
            "link add a1 {words} type veth peer name a0 {words} netns {}
             link add b1 {words} type veth peer name b0 {words} netns {}
             link set a1 up
             link set b1 up",
            client.path(),
            server.path(),
        ));
        client.ip("link set a0 up\n address add 10.9.0.1/24 dev a0");
        server.ip("link set b0 up\n address add 10.9.0.2/24 dev b0");
        client.sends(&["a0"]);
        middle.sends(&["a1", "b1"]);
        server.sends(&["b0"]);
        Self {
            client,
            middle,
            server,
        }
    }

    /// Another cable each way to the same middle, whose devices there are `a2` and `b2`.
    pub fn beside(&self) -> Self {
        let (client, server) = (Net::new(), Net::new());
        let handle = self.middle.handle.try_clone().expect("one more descriptor");
        let claims = Arc::clone(&self.middle.claims);
        let middle = Net { handle, claims };
        for (device, net, end) in [("a2", &client, "a0"), ("b2", &server, "b0")] {
            let there = net.path();
            middle.ip(&format!(
                "link add {device} type veth peer name {end} netns {there}
                 link set {device} up"
            ));
            net.ip(&format!("link set {end} up"));
            net.sends(&[end]);
            middle.sends(&[device]);
        }
        Self {
            client,
            middle,
            server,
        }
    }

    /// All four devices get this MTU.
    pub fn mtu(&self, mtu: u32) {
        self.client.ip(&format!("link set a0 mtu {mtu}"));
        self.middle
            .ip(&format!("link set a1 mtu {mtu}\n link set b1 mtu {mtu}"));
        self.server.ip(&format!("link set b0 mtu {mtu}"));
    }
}

/// Tells a thread to stop also when the test fails.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A raw socket on one device.
pub struct Raw(File);

impl Raw {
    pub fn new(net: &Net, device: &str) -> Self {
        use std::os::fd::FromRawFd;
        net.run(|| {
            // SAFETY: plain system calls; the structures outlive them, lengths are their own.
            unsafe {
                let protocol = (libc::ETH_P_ALL as u16).to_be();
                let fd = libc::socket(libc::AF_PACKET, libc::SOCK_RAW, i32::from(protocol));
                assert!(fd >= 0, "these tests need CAP_NET_RAW");
                let name = std::ffi::CString::new(device).expect("a device name");
                let mut address: libc::sockaddr_ll = std::mem::zeroed();
                address.sll_family = libc::AF_PACKET as u16;
                address.sll_protocol = protocol;
                address.sll_ifindex = libc::if_nametoindex(name.as_ptr()).cast_signed();
                let len = size_of_val(&address) as u32;
                assert_eq!(libc::bind(fd, (&raw const address).cast(), len), 0);
                let one = 1_i32;
                // PACKET_IGNORE_OUTGOING
                libc::setsockopt(fd, libc::SOL_PACKET, 23, (&raw const one).cast(), 4);
                let auxdata = libc::PACKET_AUXDATA;
                libc::setsockopt(fd, libc::SOL_PACKET, auxdata, (&raw const one).cast(), 4);
                // Room for what comes while the test is kept from the processor.
                let room = 16 << 20_i32;
                let force = libc::SO_RCVBUFFORCE;
                libc::setsockopt(fd, libc::SOL_SOCKET, force, (&raw const room).cast(), 4);
                let wait = libc::timeval {
                    tv_sec: 0,
                    tv_usec: 20_000,
                };
                let len = size_of_val(&wait) as u32;
                let wait = (&raw const wait).cast();
                libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, wait, len);
                Self(File::from_raw_fd(fd))
            }
        })
    }

    pub fn send(&self, frame: &[u8]) {
        use std::io::Write;
        (&self.0).write_all(frame).expect("the frame is sent");
    }

    /// The next frame for which `wanted` holds; waits for it with patience.
    pub fn receive(&self, wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.read() {
                Some(frame) if wanted(&frame) => return Some(frame),
                // What has come is looked at, however late.
                None if Instant::now() > end => return None,
                _ => {}
            }
        }
    }

    /// Counts the wanted frames: waits with patience until the expected have come, and then until no
    /// more has for half a second.
    pub fn count(&self, expected: usize, wanted: impl Fn(&[u8]) -> bool) -> usize {
        let (start, mut count, mut last) = (Instant::now(), 0, Instant::now());
        loop {
            let is_over = || {
                if count < expected {
                    start.elapsed() > PATIENCE
                } else {
                    last.elapsed() > Duration::from_millis(500)
                }
            };
            match self.read() {
                Some(frame) if wanted(&frame) => (count, last) = (count + 1, Instant::now()),
                None if is_over() => return count,
                _ => {}
            }
        }
    }

    /// One frame, its VLAN tag put back; none when nothing comes for 20 ms.
    pub fn read(&self) -> Option<Vec<u8>> {
        let mut frame = vec![0; 70_000];
        let mut control = [0_u64; 16];
        // SAFETY: plain old data for which all zeros is valid; pointers lead to live buffers of
        // the lengths beside them; the control message is read as the kernel wrote it.
        unsafe {
            let mut part = libc::iovec {
                iov_base: frame.as_mut_ptr().cast(),
                iov_len: frame.len(),
            };
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut part;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control);
            let len = libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0);
            frame.truncate(usize::try_from(len).ok()?);
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            if !header.is_null() && (*header).cmsg_type == libc::PACKET_AUXDATA {
                let data = libc::CMSG_DATA(header)
                    .cast::<libc::tpacket_auxdata>()
                    .read_unaligned();
                if data.tp_status & libc::TP_STATUS_VLAN_VALID != 0 {
                    let tag = [
                        data.tp_vlan_tpid.to_be_bytes(),
                        data.tp_vlan_tci.to_be_bytes(),
                    ];
                    frame.splice(12..12, tag.concat());
                }
            }
        }
        Some(frame)
    }
}

/// A frame with this EtherType and payload.
pub fn frame(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 9]);
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// An EtherType for experiments (IEEE 802).
pub const OURS: u16 = 0x88b5;

/// Whether a frame has that type.
pub fn is_ours(frame: &[u8]) -> bool {
    frame[12..14] == OURS.to_be_bytes()
}

/// What an exchange yields where all frames pass.
pub const PASSES: [usize; 4] = [100, 0, 100, 0];

/// Sends a hundred frames of that type each way, ten at a time, and waits for them with patience;
/// returns how many arrived and how many came back. More at once could overflow the queue that the
/// kernel has for each processor (`net.core.netdev_max_backlog`), which all tests share.
pub fn exchange(link: &Link) -> [usize; 4] {
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let send = |from: &Raw, to: &Raw, payload: u8| {
        let mut arrived = 0;
        for sent in (10..=100).step_by(10) {
            for _ in 0..10 {
                from.send(&frame(OURS, &[payload; 100]));
            }
            while arrived < sent {
                if to.receive(is_ours).is_none() {
                    return arrived;
                }
                arrived += 1;
            }
        }
        arrived + to.count(0, is_ours)
    };
    let up = send(&left, &right, 1);
    let back = left.count(0, is_ours);
    let down = send(&right, &left, 2);
    [up, back, down, right.count(0, is_ours)]
}

/// The same a hundred at once, where so many are waited for.
pub fn exchange_expecting(link: &Link, expected: [usize; 4]) -> [usize; 4] {
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    for _ in 0..100 {
        left.send(&frame(OURS, &[1; 100]));
    }
    let up = right.count(expected[0], is_ours);
    let back = left.count(expected[1], is_ours);
    for _ in 0..100 {
        right.send(&frame(OURS, &[2; 100]));
    }
    let down = left.count(expected[2], is_ours);
    [up, back, down, right.count(expected[3], is_ours)]
}

/// All frames of an exchange pass a bridge, each once, and none comes back. One that a machine keeps
/// from the processor for longer than `watchdog` or `stale` may lose some (docs/bridge.md): then it
/// is tried again.
#[track_caller]
pub fn passes(link: &Link, what: &str) {
    let place = panic::Location::caller();
    for attempt in 1..TRIES {
        let found = exchange(link);
        let is_most = |(found, most): (&usize, &usize)| found <= most;
        let are_single = found.iter().zip(&PASSES).all(is_most);
        assert!(are_single, "{what}: twice or back: {found:?}");
        if found == PASSES {
            return;
        }
        tell(place, &format!("{what}: {found:?}, tried again"), attempt);
    }
    assert_eq!(exchange(link), PASSES, "{what}");
}

/// Keeps this thread on the processor it runs on. The kernel has a queue for each processor, and one
/// that is busy falls behind: frames of a thread that moves overtake each other there.
pub fn stay_on_a_processor() {
    let mut here = CpuSet::new();
    here.set(sched_getcpu());
    sched_setaffinity(None, &here).expect("it may stay where it is");
}

/// Sends numbered frames up through a link while `work` runs, which sees how many are on their way
/// so far; five thousand a second where the machine is quiet. Then some more, one after the other,
/// until the last of all has arrived: what has not by then is lost, however slow the machine is.
/// Returns how many, and the numbers that arrived, in their order.
pub fn numbered(link: &Link, work: impl FnOnce(&AtomicU32)) -> (u32, Vec<u32>) {
    let (left, right) = (Raw::new(&link.client, "a0"), Raw::new(&link.server, "b0"));
    let (done, sent) = (AtomicBool::new(false), AtomicU32::new(0));
    // One more than the latest that has arrived.
    let (all_sent, seen) = (AtomicBool::new(false), AtomicU32::new(0));
    let send = || {
        let number = sent.load(Ordering::Relaxed);
        let payload = [&number.to_be_bytes()[..], &[0; 50]].concat();
        left.send(&frame(OURS, &payload));
        sent.store(number + 1, Ordering::Relaxed);
    };
    let has_arrived = || seen.load(Ordering::Relaxed) == sent.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let sender = scope.spawn(|| {
            stay_on_a_processor();
            let _all_sent = StopOnDrop(&all_sent);
            while !done.load(Ordering::Relaxed) {
                send();
                thread::sleep(Duration::from_micros(200));
            }
            let end = Instant::now() + PATIENCE;
            while Instant::now() < end && !has_arrived() {
                send();
                (0..50).any(|_| {
                    thread::sleep(Duration::from_millis(20));
                    has_arrived()
                });
            }
        });
        let receiver = scope.spawn(|| {
            let (mut numbers, mut quiet) = (Vec::new(), false);
            while !quiet {
                quiet = all_sent.load(Ordering::Relaxed);
                while let Some(got) = right.read() {
                    if is_ours(&got) {
                        let number = got[14..18].try_into().expect("four bytes");
                        numbers.push(u32::from_be_bytes(number));
                        seen.fetch_max(numbers[numbers.len() - 1] + 1, Ordering::Relaxed);
                        quiet = false;
                    }
                }
            }
            numbers
        });
        {
            let _done = StopOnDrop(&done);
            work(&sent);
        }
        sender.join().expect("the sender ends");
        let received = receiver.join().expect("the receiver ends");
        (sent.load(Ordering::Relaxed), received)
    })
}

/// How many of `sent` numbers did not arrive; none did twice.
pub fn lost_but_not_doubled(sent: u32, received: &[u32]) -> usize {
    let mut seen = received.to_vec();
    seen.sort_unstable();
    let doubled: Vec<_> = seen.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(doubled.is_empty(), "frames seen twice: {doubled:?}");
    sent as usize - received.len()
}

/// The devices in the middle: name and master.
pub fn devices(link: &Link) -> Vec<String> {
    link.middle.run(|| {
        let output = Command::new("ip")
            .args(["-o", "link"])
            .output()
            .expect("ip runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.lines()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let master = words
                    .iter()
                    .position(|word| *word == "master")
                    .map_or("", |at| words[at + 1]);
                format!("{} {master}", words[1])
            })
            .collect()
    })
}

/// Whether GRO of a device is on, after it was turned so.
pub fn offload(net: &Net, device: &str, on: Option<bool>) -> bool {
    /// `struct ethtool_value`, its commands (linux/ethtool.h).
    const GET_GRO: u32 = 0x2b;
    const SET_GRO: u32 = 0x2c;
    net.run(|| {
        // SAFETY: plain system calls; the structures outlive them, and the name is terminated.
        unsafe {
            let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0);
            assert!(socket >= 0, "a socket");
            let mut request: libc::ifreq = std::mem::zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
                *to = from.cast_signed();
            }
            let mut ask = |command: u32, data: u32| {
                let mut value = [command, data];
                request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
                let command = libc::SIOCETHTOOL as _;
                assert_eq!(libc::ioctl(socket, command, &raw mut request), 0);
                value[1] != 0
            };
            if let Some(on) = on {
                ask(SET_GRO, on.into());
            }
            let is_on = ask(GET_GRO, 0);
            libc::close(socket);
            is_on
        }
    })
}
