//! Window growth against numbers worked out by hand from the rules.

use super::*;
use proptest::prelude::*;

const MSS: u16 = 1448;
/// 64 KiB less a segment.
const FIRST: u64 = 65_536 - 1448;

fn millis(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

fn window() -> Window {
    let mut window = Window::new(&Config::default());
    window.start(1, Time::ZERO);
    window
}

fn echo(at: u64) -> Segment {
    Segment {
        payload: MSS,
        ts_echo: millis(at),
        ..Segment::default()
    }
}

/// Segments in order, acknowledged and read at once, `per_round` in each round trip of 50 ms.
fn read(window: &mut Window, next: &mut u64, round: u64, per_round: u64) -> u32 {
    let mut grown = 0;
    for index in 0..per_round {
        let now = millis(50 * round + 50 * index / per_round);
        window.note_echo(&echo(50 * (round - 1) + 1), MSS, now);
        grown += u32::from(window.grow(MSS, true, 0, 0));
        *next += u64::from(MSS);
        window.note_progress(*next, now);
        window.on_read(*next, now);
    }
    grown
}

/// 64 KiB less a segment are offered. The first round trip brings 10 segments, which is no reason to
/// grow. In the second, of 20, it was 14480 bytes more: 2·28960 + 16·1448 = 81088, and twice that
/// for the rise of one half: 243264 of window, for which 501312 bytes of memory are reckoned. Half
/// of it is payload's, and each segment earns 2896 bytes of that.
#[test]
fn the_buffer_follows_what_is_read_and_the_window_what_arrives() {
    let mut window = window();
    let mut next = 1;
    assert_eq!(read(&mut window, &mut next, 1, 10), 0);
    assert_eq!(read(&mut window, &mut next, 2, 20), 0);
    // In units of 128 bytes.
    assert_eq!(window.select(0, 0, MSS), (501 * 128, false));
    // The first segment of the third round trip ends the second.
    assert_eq!(read(&mut window, &mut next, 3, 1), 0);
    assert_eq!(window.space, 28_960);
    // 168 whole segments.
    let rise = 168 * 2984;
    assert_eq!((window.buffer, window.clamp), (rise, rise / 2));
    assert_eq!(window.rtt(), Span::from_millis(49));
    assert_eq!(read(&mut window, &mut next, 4, 40), 40);
    assert_eq!(window.earned(), FIRST + 40 * 2896);
    // It cannot be larger than the buffer is good for; the last step is what is left.
    let left = window.clamp - window.earned();
    let steps = u32::try_from(left.div_ceil(2896)).expect("a few");
    let mut grown = 0;
    while window.grow(MSS, true, 0, 0) {
        grown += 1;
    }
    // A segment that waits to be read takes its share.
    assert!(steps - 1 <= grown && grown <= steps, "{grown} {steps}");
}

/// The third segment of the handshake comes 50 ms after the SYN, the first data 2 ms later: the first
/// round trip that counts ends 52 ms after that, with eleven segments read. One more than ten: 38
/// segments and twice 3.8 are 45 whole ones, of 2984 bytes. The next brings twenty, nine more than
/// before: 56 and twice 45.8 are 147.
#[test]
fn what_is_read_counts_from_the_end_of_the_handshake() {
    let mut window = window();
    window.establish(millis(50));
    let mut next = 1;
    let mut read = |window: &mut Window, at: u64, segments: u64| {
        window.note_echo(&echo(at - 52), MSS, millis(at));
        next += segments * u64::from(MSS);
        window.on_read(next, millis(at));
        window.buffer
    };
    assert_eq!(read(&mut window, 52, 1), 131_072);
    assert_eq!(read(&mut window, 104, 10), 45 * 2984);
    assert_eq!(read(&mut window, 156, 20), 147 * 2984);
}

/// As long as the buffer can grow, a segment of it is kept in reserve; not of a window of two.
#[test]
fn only_a_window_that_grows_has_a_reserve() {
    let offered = |window: u32, most: u32| {
        let config = Config {
            receive_window: window,
            receive_window_max: most,
            ..Config::default()
        };
        Window::new(&config).select(0, 0, MSS).0
    };
    // Of a buffer of 2 MiB windows count in units of 64 bytes, of one of 128 KiB in units of 4.
    assert_eq!(offered(65_536, 1 << 20), FIRST.next_multiple_of(64));
    assert_eq!(offered(65_536, 65_536), 65_536);
    assert_eq!(offered(4000, 1 << 20), 46 * 64);
    assert_eq!(offered(2000, 1 << 20), 32 * 64);
}

/// Linux offers 65160 bytes in a SYN-ACK, 45 segments of 1448 bytes, and 64240 in a SYN, 44 of 1460.
#[test]
fn a_syn_offers_whole_segments() {
    let offered = |window: u32, segment: u16| {
        let config = Config {
            receive_window: window,
            ..Config::default()
        };
        Window::new(&config).initial(segment)
    };
    assert_eq!(offered(65_536, 1448), 65_160);
    assert_eq!(offered(65_536, 1460), 64_240);
    assert_eq!(offered(1 << 20, 1448), 65_535);
    assert_eq!(offered(1000, 1448), 1000);
}

/// What a segment says is a whole number of units: more than there is, so that nothing is lost of it,
/// and less where room is short.
#[test]
fn windows_are_rounded_up_and_where_room_is_short_down() {
    let window = window();
    let whole = window.clamp.min(window.buffer / 2);
    let unread = whole - whole / 2 + 1500;
    let free = window.buffer / 2 - unread;
    assert_eq!(window.select(0, unread, MSS), (free / 128 * 128, true));
    assert_eq!(window.scaled(1), 128);
}

/// Segments below 128 bytes in order earn nothing; behind a gap all do, as far as there is room.
#[test]
fn short_segments_earn_nothing() {
    let mut window = window();
    (window.buffer, window.clamp) = (400_000, 200_000);
    assert!(!window.grow(127, true, 0, 0));
    assert!(window.grow(128, true, 0, 0));
    assert!(window.grow(127, false, 0, 0));
    assert_eq!(window.earned(), FIRST + 2 * 2896);
}

/// 60 segments of 2216 bytes are more than the 128 KiB of the buffer: it grows with them, but not
/// above its limit; then two segments are offered when they are gone.
#[test]
fn a_gap_fills_the_memory_of_more_than_its_payload() {
    let mut window = window();
    let gaps = |segments: u64| segments * u64::from(MSS);
    assert_eq!(window.space(gaps(10), 0), (131_072 - 10 * 2216) / 2);
    assert_eq!(window.select(gaps(20), 0, MSS), (43_392, false));
    // Less than half is left, less than a thirty-second at last.
    assert_eq!(window.select(gaps(31), 0, MSS), (31_104, true));
    assert_eq!(window.select(gaps(56), 0, MSS), (0, true));
    assert!(!window.is_overrun(gaps(59)));
    assert!(window.is_overrun(gaps(60)));
    assert_eq!((window.buffer, window.earned()), (60 * 2216, FIRST));
    window.buffer_max = 60 * 2216;
    assert!(window.is_overrun(gaps(61)));
    assert_eq!(window.earned(), 2896);
}

/// By timestamps, whole milliseconds: a shorter one counts at once, a longer one an eighth.
#[test]
fn the_receivers_round_trip_falls_at_once_and_rises_slowly() {
    let mut window = window();
    for (sent, at, expected) in [(10, 60, 50.0), (20, 110, 55.0), (30, 70, 40.0)] {
        window.note_echo(&echo(sent), MSS, millis(at));
        assert!((window.rtt().as_millis_f64() - expected).abs() < 1e-9);
    }
    // An echo of the same millisecond, and a short segment, say nothing.
    window.note_echo(&echo(30), MSS, millis(71));
    let later = Segment {
        ts_echo: millis(30) + Span::from_micros(900),
        ..echo(30)
    };
    window.note_echo(&later, MSS, millis(71));
    let short = Segment {
        payload: 100,
        ..echo(60)
    };
    window.note_echo(&short, MSS, millis(71));
    assert_eq!(window.rtt(), Span::from_millis(40));
}

proptest! {
    /// The product with the inverse against the division.
    #[test]
    fn segments_are_counted_exactly(mss: u16, count in 0..1_u64 << 30, rest in -2..3_i64) {
        let window = Window::new(&Config { mss, ..Config::default() });
        let mss = u64::from(window.mss);
        let bytes = (count * mss).saturating_add_signed(rest);
        prop_assert_eq!(window.segments(bytes), bytes.div_ceil(mss));
    }
}
