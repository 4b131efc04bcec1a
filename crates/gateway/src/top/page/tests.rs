//! Pages of fixed samples beside what they are to be: `src/top/page/golden/`.

use super::*;
use crate::top::sample::Sample;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use serde_json::{Value, json};
use sojourn_tidy::generated;

/// A direction with this many packets through it.
fn way(queue: &str, tins: &[&str], packets: u64) -> Value {
    let tin = |(number, name): (usize, &&str)| {
        let share = if number == 1 { packets } else { packets / 100 };
        json!({
            "name": name, "offered_packets": share, "offered_bytes": share * 1500,
            "dropped_packets": share / 1000, "filtered_acks": 0, "marked_packets": share / 200,
            "backlog_bytes": if number == 1 { 18_168 } else { 0 }, "delay_ms": 4.87,
            "peak_delay_ms": 11.2, "sparse_flows": 2, "bulk_flows": number,
        })
    };
    let flow = |number: u64| {
        let share = packets / (number + 1);
        json!({
            "protocol": if number == 2 { "udp" } else { "tcp" },
            "source": if number == 1 { "2001:db8::1" } else { "192.168.100.20" },
            "source_port": 40_000 + number, "destination": "203.0.113.250",
            "destination_port": 443, "tin": tins.get(1),
            "rate_bps": share as f64 * 12_000.0, "packets_per_s": share,
            "drops_per_s": 1.5 * number as f64, "marks_per_s": 0.0,
            "delay_ms": 5.0 + number as f64, "peak_delay_ms": 20.0,
            "sent_packets": share, "sent_bytes": share * 1500,
            "dropped_packets": 1, "marked_packets": 0,
        })
    };
    let mut counts = vec![0; 16];
    (counts[6], counts[7], counts[8]) = (packets / 2, packets / 2, packets / 200);
    json!({
        "queue": queue, "rate": "20Mbit",
        "offered_packets": packets, "offered_bytes": packets * 1500,
        "sent_packets": packets, "sent_bytes": packets * 1500,
        "dropped_packets": packets / 1000, "marked_packets": packets / 200,
        "backlog_packets": 12, "backlog_bytes": 18_168,
        "delay_sum_ms": packets as f64 * 4.9, "delay_counts": counts,
        "tins": tins.iter().enumerate().map(tin).collect::<Vec<_>>(),
        "flows": (0..3).map(flow).collect::<Vec<_>>(), "flows_known": 14,
    })
}

/// A view of two samples, a second apart.
fn view(queue: &str, tins: &[&str]) -> View {
    let sample = |second: u64| {
        let pair = json!({
            "name": "wan", "left": "eth1", "right": "eth2",
            "up": way(queue, tins, 1650 * second), "down": way(queue, tins, 8000 * second),
        });
        let gone = json!({"name": "dsl", "error": "the bridge has ended"});
        let bounds: [f64; 15] = [
            0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0,
            2500.0,
        ];
        let answer = json!({
            "ok": true, "time": 1_700_000_000 + second, "delay_bounds_ms": bounds,
            "pairs": [pair, gone],
        });
        Sample::read(answer).expect("it is what a bridge answers")
    };
    let mut view = View::new(sample(1));
    view.add(sample(2));
    view
}

fn press(view: &mut View, keys: &[KeyCode]) {
    for key in keys {
        view.press(KeyEvent::from(*key));
    }
}

/// The characters of a page, without blanks at the ends of lines.
fn drawn(view: &mut View, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("it is memory");
    terminal.draw(|frame| draw(frame, view)).expect("as above");
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(width));
    let text = |row: &[ratatui::buffer::Cell]| {
        let text: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        format!("{}\n", text.trim_end())
    };
    rows.map(text).collect()
}

fn golden(name: &str, page: &str) {
    generated::file(
        &format!("crates/gateway/src/top/page/golden/{name}.txt"),
        page,
    );
}

const FOUR: [&str; 4] = ["Bulk", "Best Effort", "Video", "Voice"];
const EIGHT: [&str; 8] = [
    "Tin 0", "Tin 1", "Tin 2", "Tin 3", "Tin 4", "Tin 5", "Tin 6", "Tin 7",
];

#[test]
fn a_small_terminal_shows_both_directions() {
    let mut view = view("cake bandwidth 20Mbit diffserv4 docsis", &FOUR);
    golden("diffserv4", &drawn(&mut view, 80, 24));
}

#[test]
fn a_queue_without_tins_leaves_room_for_flows() {
    let mut view = view("fq_codel", &[]);
    press(&mut view, &[KeyCode::Char('s'), KeyCode::Char('p')]);
    golden("fq_codel", &drawn(&mut view, 80, 24));
}

#[test]
fn tins_that_find_no_room_are_counted() {
    let mut view = view("cake diffserv8", &EIGHT);
    golden("diffserv8", &drawn(&mut view, 80, 24));
    press(&mut view, &[KeyCode::Char('d'), KeyCode::Char('d')]);
    golden("diffserv8-down", &drawn(&mut view, 80, 24));
}

#[test]
fn a_wide_terminal_shows_more_of_flows() {
    let mut view = view("cake diffserv4", &FOUR);
    golden("wide", &drawn(&mut view, 120, 30));
}

#[test]
fn what_matches_no_circuit_has_a_row() {
    let sample = |second: u64| {
        let mut up = way("htb", &[], 1650 * second);
        up["unmatched"] = json!({
            "sent_packets": 40 * second, "sent_bytes": 40 * second * 1500,
            "dropped_packets": second, "marked_packets": 0, "backlog_packets": 3,
            "backlog_bytes": 4500, "delay_ms": 1.2, "address": "100.64.0.77",
        });
        let down = way("htb", &[], 8000 * second);
        let pair = json!({"name": "wan", "left": "eth1", "right": "eth2", "up": up, "down": down});
        let answer = json!({
            "ok": true, "time": 1_700_000_000 + second, "delay_bounds_ms": [5.0, 10.0],
            "pairs": [pair],
        });
        Sample::read(answer).expect("it is what a bridge answers")
    };
    let mut view = View::new(sample(1));
    view.add(sample(2));
    golden("unmatched", &drawn(&mut view, 100, 24));
    assert!(drawn(&mut view, 80, 24).contains("  unmatched      480Kbit    40.0  1.20ms"));
}

#[test]
fn both_queues_of_dualpi2_have_a_row() {
    let sample = |second: u64| {
        let queue = |name: &str, packets: u64, bin: usize, mean_ms: f64| {
            let mut counts = vec![0; 3];
            counts[bin] = packets * second;
            json!({
                "name": name, "sent_packets": packets * second,
                "sent_bytes": packets * second * 1500, "dropped_packets": second,
                "marked_packets": packets / 10 * second,
                "came_marked_packets": if name == "L" { 30 * second } else { 0 },
                "backlog_packets": 3, "backlog_bytes": 4500,
                "delay_sum_ms": packets as f64 * second as f64 * mean_ms, "delay_counts": counts,
            })
        };
        let mut up = way("dualpi2", &[], 1650 * second);
        up["queues"] = json!([queue("C", 650, 2, 16.0), queue("L", 1000, 0, 0.9)]);
        let down = way("fq_codel", &[], 8000 * second);
        let pair = json!({"name": "wan", "left": "eth1", "right": "eth2", "up": up, "down": down});
        let answer = json!({
            "ok": true, "time": 1_700_000_000 + second, "delay_bounds_ms": [5.0, 10.0],
            "pairs": [pair],
        });
        Sample::read(answer).expect("it is what a bridge answers")
    };
    let mut view = View::new(sample(1));
    view.add(sample(2));
    golden("dualpi2", &drawn(&mut view, 80, 24));
}

#[test]
fn a_pair_that_is_gone_says_why() {
    let mut view = view("pfifo", &[]);
    press(&mut view, &[KeyCode::Right]);
    view.silence = 3;
    golden("gone", &drawn(&mut view, 80, 10));
}

#[test]
fn no_size_is_too_small() {
    for (width, height) in [(1, 1), (10, 3), (40, 8), (80, 12)] {
        let mut view = view("cake diffserv8", &EIGHT);
        press(&mut view, &[KeyCode::PageDown]);
        drawn(&mut view, width, height);
    }
}

#[test]
fn keys_do_what_the_last_line_says() {
    use crate::top::view::Asked;
    let mut view = view("pfifo", &[]);
    let mut press = |code| view.press(KeyEvent::from(code));
    assert_eq!(press(KeyCode::Char('x')), Asked::Nothing);
    assert_eq!(press(KeyCode::Char('s')), Asked::Order);
    assert_eq!(press(KeyCode::Char('q')), Asked::End);
    assert_eq!(press(KeyCode::Esc), Asked::End);
    for _ in 0..3 {
        press(KeyCode::Char('s'));
    }
    press(KeyCode::Left);
    assert_eq!((view.order, view.index()), (Order::Rate, 1));
    // A page that stands still takes nothing.
    view.press(KeyEvent::from(KeyCode::Char('p')));
    let time = view.last().time;
    let mut later = view.last().clone();
    later.time += 1.0;
    view.add(later);
    assert!((view.last().time - time).abs() < f64::EPSILON);
}

#[test]
fn numbers_have_three_digits() {
    assert_eq!(
        [0.0, 999.4, 999.5, 19_812_345.0].map(rate),
        ["0bit", "999bit", "1.00Kbit", "19.8Mbit"]
    );
    assert_eq!(
        [0.0, 0.85, 4.123, 1250.0].map(delay),
        ["0us", "850us", "4.12ms", "1.25s"]
    );
    assert_eq!(
        [0.0, 0.3, 12.34, 1650.0].map(number),
        ["0", "0.300", "12.3", "1.65k"]
    );
    assert_eq!([0, 18_168].map(bytes), ["0B", "18.2kB"]);
}
