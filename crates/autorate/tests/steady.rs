//! Where the rate stays on a link that stays: a model of a sender that always fills the shaper, and
//! of the link behind it.

use sojourn_autorate::{Monitor, Params, Setting, Way};
use sojourn_units::{Rate, Span, Time};
use std::collections::VecDeque;

fn mbps(rate: f64) -> Rate {
    Rate::from_bps((rate * 1e6) as u64)
}

/// A shaper that follows, before a link with a FIFO that loses nothing.
struct Path {
    monitor: Monitor,
    /// In ms.
    now: u64,
    /// Bits that may leave the shaper, and that wait before the link.
    credit: f64,
    queue: f64,
    /// Round trips that are seen later: when, and how long.
    seen: VecDeque<(f64, f64)>,
    /// Of each ms: the rate in Mbit/s, the wait at the link in ms, Mbit/s that it has sent.
    points: Vec<[f64; 3]>,
}

impl Path {
    fn new([min, base, max]: [f64; 3]) -> Self {
        let params = Params {
            min: mbps(min),
            base: mbps(base),
            max: mbps(max),
            threshold: Params::THRESHOLD,
        };
        Self {
            monitor: Monitor::new([Setting::Follows(params), Setting::Stays(None)]),
            now: 1,
            credit: 0.0,
            queue: 0.0,
            seen: VecDeque::new(),
            points: Vec::new(),
        }
    }

    fn rate(&self) -> f64 {
        let control = self.monitor.control(Way::Out).expect("it follows");
        control.rate().as_bps() as f64 / 1e6
    }

    /// So many seconds over a link of so many Mbit/s and ms of round trip, whatever is offered.
    fn run(&mut self, seconds: f64, link: impl Fn(u64) -> (f64, f64)) {
        const PACKET: f64 = 1514.0 * 8.0;
        for _ in 0..(seconds * 1e3) as u64 {
            let time = |ms: u64| Time::ZERO + Span::from_millis(ms);
            let (rate, round) = link(self.now);
            self.credit += self.rate() * 1e3;
            let sent = self.queue.min(rate * 1e3);
            self.queue -= sent;
            while self.credit >= PACKET {
                self.credit -= PACKET;
                self.queue += PACKET;
                self.monitor.sent(Way::Out, 1514);
                let round = round + self.queue / rate / 1e3;
                self.seen.push_back((self.now as f64 + round, round));
            }
            while let Some(&(_, round)) = self.seen.front().filter(|it| it.0 <= self.now as f64) {
                self.seen.pop_front();
                let round = Span::from_nanos((round * 1e6) as u64);
                self.monitor.sample(1, round, time(self.now));
            }
            if time(self.now) >= self.monitor.due() {
                self.monitor.step(time(self.now));
            }
            self.points
                .push([self.rate(), self.queue / rate / 1e3, sent / 1e3]);
            self.now += 1;
        }
    }

    /// Of a time: quantiles of a column.
    fn at(&self, seconds: std::ops::Range<usize>, column: usize, share: f64) -> f64 {
        let points = &self.points[seconds.start * 1000..seconds.end * 1000];
        let mut values: Vec<f64> = points.iter().map(|point| point[column]).collect();
        values.sort_by(f64::total_cmp);
        values[((values.len() - 1) as f64 * share) as usize]
    }

    fn used(&self, seconds: std::ops::Range<usize>, link: f64) -> f64 {
        let points = &self.points[seconds.start * 1000..seconds.end * 1000];
        points.iter().map(|point| point[2]).sum::<f64>() / points.len() as f64 / link
    }
}

/// Within an eighth of the link, but for one step in fifty; nearly all of it is used, and what waits
/// for long is a queue that the next cut takes away.
#[test]
fn on_a_link_that_stays_the_rate_swings_little() {
    for (link, round) in [(8.0, 20.0), (8.0, 60.0), (20.0, 20.0), (100.0, 30.0)] {
        let mut path = Path::new([link / 4.0, link * 1.5, link * 3.0]);
        path.run(60.0, |_| (link, round));
        let [low, high] = [0.02, 0.98].map(|share| path.at(10..60, 0, share) / link);
        let [half, most] = [0.5, 0.95].map(|share| path.at(10..60, 1, share));
        let used = path.used(10..60, link);
        let shown = format!(
            "{link} Mbit/s, {round} ms: {low:.2} to {high:.2} of it, waits {half:.0} and \
             {most:.0} ms, {used:.3} used"
        );
        println!("{shown}");
        assert!(low > 0.84 && high < 1.14, "{shown}");
        assert!(half < 20.0 && most < 60.0, "{shown}");
        assert!(used > 0.97, "{shown}");
    }
}

/// As behind a satellite: every 15 s another path, which is up to 40 ms longer than the shortest.
#[test]
fn a_path_that_wanders_costs_little() {
    const ROUNDS: [f64; 8] = [40.0, 62.0, 48.0, 80.0, 44.0, 71.0, 40.0, 56.0];
    let mut path = Path::new([5.0, 20.0, 100.0]);
    path.run(240.0, |ms| (50.0, ROUNDS[(ms / 15_000) as usize % 8]));
    let used = path.used(15..240, 50.0);
    let most = path.at(15..240, 1, 0.95);
    let low = path.at(15..240, 0, 0.05) / 50.0;
    println!("wandering: {used:.3} used, {most:.0} ms, 95 % of the time {low:.2} of it and more");
    assert!(used > 0.85 && low > 0.5 && most < 60.0);
}

/// 20, 8, 30 and 12 Mbit/s for ten seconds each.
#[test]
fn a_rate_that_moves_is_followed() {
    const RATES: [f64; 4] = [20.0, 8.0, 30.0, 12.0];
    let mut path = Path::new([5.0, 20.0, 40.0]);
    path.run(120.0, |ms| (RATES[(ms / 10_000) as usize % 4], 30.0));
    let used = path.used(40..120, 17.5);
    let most = path.at(40..120, 1, 0.9);
    println!("moving: {used:.3} used, nine tenths of the time it waits up to {most:.0} ms");
    assert!(used > 0.9 && most < 70.0);
}
