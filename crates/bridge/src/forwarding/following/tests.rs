use super::*;
use crate::forwarding::Pool;
use sojourn_autorate::{Params, Why};
use sojourn_line::LineRate;
use sojourn_wire::build::{Envelope, TcpSegment};

/// Bytes of a full frame, and of the payload in it.
const FULL: u32 = 1514;
const PAYLOAD: u16 = 1448;
/// Frames that a sender has under way at most that fills queues.
const LARGE: usize = 150;

fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// From 20 Mbit/s between 5 and 40 up; down stays at 100.
fn config() -> BridgeConfig {
    let mut config = BridgeConfig::new("a", "b");
    // By chance two values of a capture may have one place in the memory of round trips.
    config.seed = 1;
    config.up.line.rate = LineRate::Fixed(mbps(20));
    config.up.autorate = Some(Params {
        min: mbps(5),
        base: mbps(20),
        max: mbps(40),
        threshold: Params::THRESHOLD,
    });
    config.down.line.rate = LineRate::Fixed(mbps(100));
    config
}

/// An upload that sends all that its window and the bridge let pass, over a link beyond with a long queue and a
/// round trip of 20 ms. Its timestamps are milliseconds, as Linux's are.
struct Upload {
    following: Box<Following>,
    pool: Pool,
    /// Frames have a VLAN tag.
    tagged: bool,
    /// Frames that the sender has under way at most.
    window: usize,
    /// In ms.
    now: u64,
    /// Bits that the bridge may send.
    credit: f64,
    /// When the link has sent all that it has, in ms.
    free: f64,
    /// When an acknowledgement comes, and its echo.
    acks: VecDeque<(f64, u32)>,
}

impl Upload {
    fn new(tagged: bool, window: usize) -> Self {
        Self {
            following: Following::of(&config()).expect("a rate follows"),
            pool: Pool::new(4),
            tagged,
            window,
            now: 1,
            credit: 0.0,
            free: 0.0,
            acks: VecDeque::new(),
        }
    }

    fn pass(&mut self, point: Point, side: Side, timestamps: (u32, u32), payload: u16) {
        let ends = match side {
            Side::Up => ([10, 0, 0, 1], [10, 0, 0, 2], 5001, 80),
            Side::Down => ([10, 0, 0, 2], [10, 0, 0, 1], 80, 5001),
        };
        let envelope = Envelope {
            addresses: [ends.0, ends.1],
            ports: [ends.2, ends.3],
            ..Envelope::default()
        };
        let headers = envelope.tcp(&TcpSegment {
            flags: 0x10,
            timestamps: Some(timestamps),
            payload,
            ..TcpSegment::default()
        });
        let mut bytes = headers.bytes().to_vec();
        bytes.resize(headers.frame_len(), 0);
        if self.tagged {
            bytes.splice(12..12, [0x81, 0, 0, 7]);
        }
        let now = Time::ZERO + Span::from_millis(self.now);
        let frame = Frame::from_bytes(&mut self.pool, &bytes, now).expect("there is room");
        self.following.frame(point, side, now, &frame);
        self.pool.give(frame);
    }

    fn rate(&self) -> f64 {
        let followed = self.following.followed(Side::Up).expect("it follows");
        followed.rate.as_bps() as f64 / 1e6
    }

    /// So many seconds with a link of so many Mbit/s; the mean rate in the last two.
    fn run(&mut self, seconds: u64, link: f64) -> f64 {
        let mut sum = 0.0;
        for ms in 0..seconds * 1000 {
            // Of the highest rate a ms is more than three packets.
            self.credit = (self.credit + self.rate() * 1e3).min(f64::from(FULL * 8 * 5));
            while self.credit >= f64::from(FULL * 8) && self.acks.len() < self.window {
                self.credit -= f64::from(FULL * 8);
                self.following.sent(Side::Up, FULL);
                let value = self.now as u32;
                self.pass(Point::Sent, Side::Up, (value, 7), PAYLOAD);
                self.free = self.free.max(self.now as f64) + f64::from(FULL * 8) / link / 1e3;
                self.acks.push_back((self.free + 20.0, value));
            }
            while let Some(&(_, echo)) = self.acks.front().filter(|ack| ack.0 <= self.now as f64) {
                self.acks.pop_front();
                self.pass(Point::Offered, Side::Down, (9, echo), 0);
            }
            let now = Time::ZERO + Span::from_millis(self.now);
            if now >= self.following.due() {
                let [up, down] = self.following.step(now);
                assert!(down.is_none(), "it stays");
                assert!(
                    up.is_none_or(|rate| rate == self.following.followed(Side::Up).unwrap().rate)
                );
            }
            self.now += 1;
            if ms >= (seconds - 2) * 1000 {
                sum += self.rate() / 2000.0;
            }
        }
        sum
    }
}

fn told(following: &Following) -> Vec<Told> {
    let mut told = Vec::new();
    following.tell_all(&mut told);
    told
}

#[test]
fn the_rate_follows_the_link_by_the_timestamps_of_real_frames() {
    for tagged in [false, true] {
        let mut upload = Upload::new(tagged, LARGE);
        let alike = upload.run(5, 20.0);
        assert!((15.0..25.0).contains(&alike), "{alike}");
        let slow = upload.run(5, 8.0);
        assert!((5.0..9.0).contains(&slow), "{slow}");
        let fast = upload.run(6, 30.0);
        assert!((24.0..36.0).contains(&fast), "{fast}");
        let told = told(&upload.following);
        assert!(told.len() <= KEPT);
        assert!(told.is_sorted_by_key(|told| told.since));
        let is_cut = |told: &&Told| matches!(told.decision.why, Why::Queue { .. });
        let cut = told.iter().find(is_cut).expect("there was a queue");
        assert!(cut.decision.to < cut.decision.from, "{cut}");
        let text = cut.to_string();
        assert!(text.starts_with("up: "), "{text}");
        assert!(text.contains(" Mbit/s: delay "), "{text}");
    }
}

/// As BBR does: 40 % of the shaper's rate is all of the link's, and there is no queue to follow.
#[test]
fn a_sender_that_fills_no_queue_leaves_the_rate_where_it_is() {
    let mut upload = Upload::new(false, 14);
    let stays = upload.run(5, 8.0);
    assert!((stays - 20.0).abs() < 0.1, "{stays}");
    let followed = upload.following.followed(Side::Up).expect("it follows");
    assert!(
        followed.delay < Span::from_millis(5),
        "{:?}",
        followed.delay
    );
    assert!(told(&upload.following).is_empty());
}

#[test]
fn decisions_of_one_kind_are_one() {
    let mut following = Following::of(&config()).expect("a rate follows");
    let at = |ms| Time::ZERO + Span::from_millis(ms);
    let step = |from, to| Decision {
        from: mbps(from),
        to: mbps(to),
        why: Why::Blind,
    };
    following.tell(Side::Up, at(1000), step(30, 29));
    following.tell(Side::Down, at(1500), step(9, 8));
    following.tell(Side::Up, at(2000), step(29, 28));
    // After a while it is another one.
    following.tell(Side::Up, at(5000), step(28, 27));
    let shown: Vec<String> = told(&following).iter().map(Told::to_string).collect();
    let why = "no delay seen for a second, towards the base";
    assert_eq!(
        shown,
        [
            format!("up: 30.0 -> 28.0 Mbit/s: {why} (2 steps in 1.0 s)"),
            format!("down: 9.00 -> 8.00 Mbit/s: {why}"),
            format!("up: 28.0 -> 27.0 Mbit/s: {why}"),
        ]
    );
    for number in 0..2 * KEPT as u64 {
        following.tell(Side::Up, at(10_000 + 3000 * number), step(28, 27));
    }
    assert_eq!(told(&following).len(), KEPT);
    assert_eq!(following.told.capacity(), KEPT);
}

#[test]
fn no_rate_that_follows_costs_nothing() {
    assert!(Following::of(&BridgeConfig::new("a", "b")).is_none());
}

/// Round trips of a real connection, against a script's.
#[test]
fn a_capture_tells_its_round_trips() {
    let mut following = Following::of(&config()).expect("a rate follows");
    let mut passive = sojourn_autorate::Passive::default();
    let mut pool = Pool::new(4);
    let lines = include_str!("upload.txt").lines();
    let (mut expected, mut told) = (Vec::new(), Vec::new());
    for line in lines.filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<u64>().expect("a number");
        let now = Time::ZERO + Span::from_micros(number(0));
        let digits = words[3]
            .as_bytes()
            .chunks(2)
            .map(|two| std::str::from_utf8(two).expect("hexadecimal"));
        let mut bytes: Vec<u8> = digits
            .map(|two| u8::from_str_radix(two, 16).expect("hexadecimal"))
            .collect();
        bytes.resize(number(2) as usize, 0);
        let frame = Frame::from_bytes(&mut pool, &bytes, now).expect("there is room");
        let (point, side) = match words[1] {
            ">" => (Point::Sent, Side::Up),
            _ => (Point::Offered, Side::Down),
        };
        following.frame(point, side, now, &frame);
        if now >= following.due() {
            following.step(now);
        }
        let seen = following.seen(side, &frame);
        pool.give(frame);
        // Those that open the connection tell nothing.
        let Some(seen) = seen else {
            assert!(number(0) < 30, "{line}");
            continue;
        };
        if side == Side::Up {
            passive.departs(&seen, now);
        } else if let Some(round) = passive.returns(&seen, now) {
            told.push(round.as_nanos() / 1000);
        }
        if words.len() > 4 {
            expected.push(number(4));
        }
    }
    assert_eq!((told.len(), &told), (19, &expected));
    // The first is 15 µs, and of each step the least counts: 15, 30 and more ms of a queue.
    let followed = following.followed(Side::Up).expect("it follows");
    assert!(
        followed.delay > Span::from_millis(15),
        "{:?}",
        followed.delay
    );
}
