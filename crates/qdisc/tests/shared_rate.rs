//! The atomics of a shared rate under every interleaving of two workers (loom): the file itself,
//! with loom's atomics in the place of the machine's.

use loom::sync::{Arc, atomic};
use loom::thread;

#[path = "../src/share/link.rs"]
mod link;

use link::Link;

/// What a packet takes.
const SPAN: u64 = 10;

/// Sends while the link is due, `times` at most, and yields when.
fn send(link: &Link, times: usize, now: u64) -> u64 {
    let mut sent = 0;
    for _ in 0..times {
        if link.due() <= now {
            link.charge(SPAN);
            sent += 1;
        }
    }
    sent
}

/// Runs `work` as two workers side by side, and yields what both did.
fn both(link: &Arc<Link>, work: impl Fn(&Link) -> u64 + Clone + Send + Sync + 'static) -> u64 {
    let other = {
        let (link, work) = (Arc::clone(link), work.clone());
        thread::spawn(move || work(&link))
    };
    work(link) + other.join().expect("it does not panic")
}

/// At one moment both together send what is due by then, and one packet each at most; all that was
/// sent is charged.
#[test]
fn two_workers_never_send_more_than_a_packet_each_above_the_rate() {
    loom::model(|| {
        let link = Arc::new(Link::new());
        link.charge(SPAN);
        let now = 2 * SPAN;
        let sent = both(&link, move |link| send(link, 2, now));
        assert!((2..=3).contains(&sent), "{sent}");
        assert_eq!(link.due(), SPAN * (1 + sent), "a charge was lost");
    });
}

/// Workers that begin and end at once: the sum of needs is what is left, and the past gives no
/// credit, whoever begins first.
#[test]
fn needs_add_up_and_an_idle_link_saves_nothing_up() {
    loom::model(|| {
        let link = Arc::new(Link::new());
        let now = 50;
        let sent = both(&link, move |link| {
            link.wake(now);
            link.change_need(0, 3);
            let sent = send(link, 1, now);
            link.change_need(3, 1);
            sent
        });
        assert_eq!(link.need(), 2);
        assert!((1..=2).contains(&sent));
        // A wake beside a charge may take that in, never more.
        assert!(link.due() >= now + SPAN && link.due() <= now + SPAN * sent);
        let rest = both(&link, |link| {
            link.change_need(1, 0);
            0
        });
        assert_eq!((link.need(), rest), (0, 0));
    });
}

/// A worker that looks away while another needs the link does not give the other credit.
#[test]
fn a_busy_link_is_not_set_forward() {
    loom::model(|| {
        let link = Arc::new(Link::new());
        link.change_need(0, 1);
        both(&link, |link| {
            link.wake(1000);
            link.charge(SPAN);
            0
        });
        assert_eq!(link.due(), 2 * SPAN);
    });
}
