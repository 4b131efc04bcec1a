//! Sockets as a flow's parameters want them.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::net::SocketAddrV4;
use std::time::Duration;

use crate::host::Machine;
use crate::unfit::UnfitFlow;
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use sojourn_bridge::{hear_ecn, option, set_option};
use sojourn_tcp::{Algorithm, Config, DelayedAck, Ecn, LimitedBy, Limits};
use sojourn_units::{Rate, Span};
use sojourn_world::{CongestionState, Flow};

/// Options of newer kernels than libc knows (linux/tcp.h, Linux 6.15 and later).
const TCP_RTO_MAX_MS: c_int = 44;
const TCP_RTO_MIN_US: c_int = 45;
const TCP_DELACK_MAX_US: c_int = 46;
/// What a congestion control tells of itself (linux/tcp.h).
const TCP_CC_INFO: c_int = 26;
/// Room for bursts that the reading thread has not fetched yet.
const DATAGRAM_BUFFER: usize = 1 << 20;

fn open(kind: SocketType, local: SocketAddrV4, tos: u8) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let fd = net::socket_with(AddressFamily::INET, kind, flags, None)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    // TCP keeps the two ECN bits to itself.
    sockopt::set_ip_tos(&fd, tos)?;
    net::bind(&fd, &local)?;
    Ok(fd)
}

/// A datagram socket between two fixed ends.
pub(super) fn datagram(
    local: SocketAddrV4,
    peer: SocketAddrV4,
    flow: &Flow,
) -> io::Result<OwnedFd> {
    let fd = open(SocketType::DGRAM, local, flow.tos())?;
    if flow.ecn.is_capable() {
        hear_ecn(&fd)?;
    }
    sockopt::set_socket_recv_buffer_size_force(&fd, DATAGRAM_BUFFER)?;
    sockopt::set_socket_send_buffer_size_force(&fd, DATAGRAM_BUFFER)?;
    net::connect(&fd, &peer)?;
    Ok(fd)
}

/// A stream socket with the parameters of `config`, to listen on or to connect.
pub(super) fn stream(local: SocketAddrV4, config: &Config, tos: u8) -> io::Result<OwnedFd> {
    let fd = open(SocketType::STREAM, local, tos)?;
    let name = config.algorithm.name();
    sockopt::set_tcp_congestion(&fd, name).map_err(|error| no_such_control(name, &error.into()))?;
    sockopt::set_tcp_nodelay(&fd, !config.nagle)?;
    let default = Config::default();
    // The option counts the timestamps as part of the segment.
    let mss = i32::from(config.mss) + if config.timestamps { 12 } else { 0 };
    let mss_differs = config.mss != natural_mss(config);
    let (min_rto, max_rto) = (config.min_rto, config.max_rto);
    let (timeout, ack_differs) = match config.delayed_ack {
        DelayedAck::On { timeout } => (timeout, config.delayed_ack != default.delayed_ack),
        DelayedAck::Off => (Span::ZERO, false),
    };
    let clamp = config.receive_window_max;
    let clamped = i32::try_from(clamp).unwrap_or(i32::MAX);
    for (field, differs, option, value) in [
        ("mss", mss_differs, libc::TCP_MAXSEG, mss),
        (
            "min_rto",
            min_rto != default.min_rto,
            TCP_RTO_MIN_US,
            micros(min_rto),
        ),
        (
            "max_rto",
            max_rto != default.max_rto,
            TCP_RTO_MAX_MS,
            micros(max_rto) / 1000,
        ),
        (
            "delayed_ack",
            ack_differs,
            TCP_DELACK_MAX_US,
            micros(timeout),
        ),
        (
            "receive_window_max",
            clamp != default.receive_window_max,
            libc::TCP_WINDOW_CLAMP,
            clamped,
        ),
    ] {
        if differs {
            set(&fd, libc::IPPROTO_TCP, option, &value.to_ne_bytes(), field)?;
        }
    }
    if config.send_buffer != default.send_buffer {
        // The kernel doubles the value: half of it pays for its own bookkeeping.
        let bytes = usize::try_from(config.send_buffer).unwrap_or(usize::MAX);
        sockopt::set_socket_send_buffer_size_force(&fd, bytes.min(i32::MAX as usize / 2))?;
    }
    if config.pacing {
        // Any limit turns TCP's own pacing on; this one is beyond every rate.
        let limit = (u64::MAX - 1).to_ne_bytes();
        let option = libc::SO_MAX_PACING_RATE;
        set(&fd, libc::SOL_SOCKET, option, &limit, "pacing")?;
    }
    Ok(fd)
}

/// Whether this kernel's `tcp_ecn` takes 3: from Linux 7.0 on. 6.18 has AccECN's other settings
/// already, and refuses that one.
fn has_accecn() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let major = release
        .split('.')
        .next()
        .and_then(|major| major.parse().ok());
    major.is_some_and(|major: u32| major >= 7)
}

/// Whether the kernel's TCP can do what `config` asks for; the reason why not.
pub(super) fn check(config: &Config, machine: Machine) -> Result<(), UnfitFlow> {
    let default = Config::default();
    let is = |algorithm| config.algorithm == algorithm;
    if config.mss > natural_mss(config) {
        let (mss, most) = (config.mss, natural_mss(config));
        return Err(UnfitFlow::Mss { mss, most });
    }
    // There is no module to load either.
    let offers = |name| offered().split(", ").any(|one| one == name);
    let has_prague = match machine {
        Machine::This => offers(config.algorithm.name()),
        Machine::Guest => true,
    };
    let is_there = config.algorithm.is_in_linux() || is(Algorithm::Prague) && has_prague;
    if !is_there {
        return Err(UnfitFlow::Algorithm {
            name: config.algorithm.name(),
            offered: offered(),
        });
    }
    let choices = [
        (
            config.wanted_ecn() == Ecn::Accurate && machine == Machine::This && !has_accecn(),
            "this kernel has no AccECN (Linux 7.0 has it)",
        ),
        (config.ns2.is_some(), "the kernel has no agent of ns-2"),
        (
            !config.tick.is_zero(),
            "the kernel's clock has a fixed tick",
        ),
        (
            config.rto_rule != default.rto_rule,
            "the kernel's timeout follows its own rule, not that of RFC 6298",
        ),
        (
            config.timed_segment,
            "the kernel measures every ACK, not one timed_segment at a time",
        ),
        (
            is(Algorithm::Vegas) && config.vegas != default.vegas,
            "the kernel's Vegas has its own thresholds",
        ),
        (
            config.initial_ssthresh.is_some(),
            "the kernel's TCP takes no initial_ssthresh",
        ),
        (
            config.initial_rto != default.initial_rto,
            "the kernel's first retransmission timeout is always 1 s",
        ),
        (
            is(Algorithm::Prague)
                && (!config.rtt_independence || config.ecn_fallback || !config.fractional_window),
            "the kernel's Prague has rtt_independence, a fractional_window and no ecn_fallback",
        ),
        (
            is(Algorithm::Dctcp) && config.dctcp != default.dctcp,
            "the kernel's DCTCP keeps alpha in 1024ths, not as in RFC 8257",
        ),
        (
            is(Algorithm::Cubic) && config.slow_start != default.slow_start,
            "the kernel's CUBIC always starts with HyStart",
        ),
    ];
    let refused = choices.into_iter().find(|(is_made, _)| *is_made);
    refused.map_or(Ok(()), |(_, what)| Err(UnfitFlow::Choice(what)))
}

/// A full segment on the lab's links.
pub(super) const fn natural_mss(config: &Config) -> u16 {
    crate::lab::MTU as u16 - 40 - if config.timestamps { 12 } else { 0 }
}

fn micros(span: Span) -> i32 {
    i32::try_from(span.as_micros()).unwrap_or(i32::MAX)
}

fn no_such_control(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("{} ({error})", lacks(name, &offered())),
    )
}

/// The congestion controls that the kernel offers, in words.
fn offered() -> String {
    let list = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let known = fs::read_to_string(list).unwrap_or_default();
    known.split_whitespace().collect::<Vec<_>>().join(", ")
}

fn lacks(name: &str, offered: &str) -> String {
    format!(
        "this kernel has no congestion control {name:?}; it offers {offered}. Load the module \
         tcp_{name}, or choose one of these"
    )
}

fn set(fd: &OwnedFd, level: c_int, option: c_int, value: &[u8], field: &str) -> io::Result<()> {
    set_option(fd, level, option, value).map_err(|error| {
        let text = format!("this kernel refuses the value of {field}: {error}; leave it out");
        io::Error::new(error.kind(), text)
    })
}

/// Makes closing a connection abrupt: what was not sent by then never will be.
pub(super) fn abort(fd: &OwnedFd) {
    // When it fails, the close is merely an orderly one.
    let _ = sockopt::set_socket_linger(fd, Some(Duration::ZERO));
}

/// What the sender's side of a connection knows, from `struct tcp_info`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TcpInfo {
    /// Smoothed round-trip time; zero before the first measurement.
    pub(super) smoothed_rtt: Span,
    /// Smallest round-trip time so far.
    pub(super) min_rtt: Span,
    /// Segments received: on the sending side of one-way traffic these are ACKs.
    pub(super) segments_received: u32,
    /// Window, threshold and pacing rate.
    pub(super) control: CongestionState,
    /// Bytes acknowledged.
    pub(super) acknowledged: u64,
    /// Segments with data sent, retransmissions included.
    pub(super) data_segments: u32,
    /// Retransmissions.
    pub(super) retransmitted: u32,
    /// Segments in the network, and bytes that have not been sent.
    pub(super) in_flight: u32,
    pub(super) unsent: u32,
    /// Microseconds in which there was something to send or to be acknowledged; of these, those in
    /// which the receive window and the send buffer were the limit.
    pub(super) busy: u64,
    pub(super) receive_window_limited: u64,
    pub(super) send_buffer_limited: u64,
}

/// What has limited a sender for so long, up to a reading.
///
/// The kernel's clocks tell of the send buffer, of the receive window and of idle times. What
/// remains of the time is that of what is the limit at the reading.
pub(super) fn limits(last: &TcpInfo, now: &TcpInfo, between: Span, paces: bool) -> Limits {
    let since = |clock: fn(&TcpInfo) -> u64| {
        Span::from_micros(clock(now).saturating_sub(clock(last))).min(between)
    };
    let busy = since(|info| info.busy);
    let buffer = since(|info| info.send_buffer_limited).min(busy);
    let receiver = since(|info| info.receive_window_limited).min(busy - buffer);
    let rest = if now.in_flight >= now.control.window {
        LimitedBy::Window
    } else if now.unsent == 0 {
        LimitedBy::Application
    } else if paces {
        LimitedBy::Pacing
    } else {
        LimitedBy::Window
    };
    let mut limits = Limits::default();
    limits.add(LimitedBy::SendBuffer, buffer);
    limits.add(LimitedBy::ReceiveWindow, receiver);
    limits.add(LimitedBy::Application, between - busy);
    limits.add(rest, busy - buffer - receiver);
    limits
}

/// Whether a sender with this configuration spaces its segments.
pub(super) const fn paces(config: &Config) -> bool {
    use Algorithm::{Bbr, Bbr3, Prague};
    config.pacing || matches!(config.algorithm, Bbr | Bbr3 | Prague)
}

/// Whether the control of this configuration reckons with a share of marks and tells it.
pub(super) const fn tells_share(config: &Config) -> bool {
    matches!(config.algorithm, Algorithm::Dctcp | Algorithm::Prague)
}

/// That share: `dctcp_alpha` of `struct tcp_dctcp_info` (linux/inet_diag.h), which the guests'
/// Prague fills too. None when the control has turned to Reno, or has seen no mark (Prague).
pub(super) fn marked_share(fd: impl AsFd) -> Option<f64> {
    let mut bytes = [0_u8; 16];
    let filled = option(fd, libc::IPPROTO_TCP, TCP_CC_INFO, &mut bytes).ok()?;
    share_told(&bytes[..filled])
}

fn share_told(bytes: &[u8]) -> Option<f64> {
    const ONE: f64 = 1024.0;
    let is_on = u16::from_ne_bytes(*bytes.first_chunk()?) > 0;
    let alpha = u32::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
    (is_on && bytes.len() >= 16).then_some(f64::from(alpha) / ONE)
}

/// What the ACKs between two readings measured on average, and how many there were.
///
/// The kernel shows only the smoothed round-trip time, but it smooths with a gain of exactly 1/8
/// for each ACK (RFC 6298 section 2.3), and that can be undone: `n` measurements of the same
/// value `r` take `s` to `r + (7/8)ⁿ·(s - r)`. Some segments (window updates, duplicate ACKs)
/// measure nothing; they make the result a little smoother than the truth, never biased.
pub(super) fn measured(last: &TcpInfo, now: &TcpInfo) -> Option<(Span, u32)> {
    let acks = now.segments_received.wrapping_sub(last.segments_received);
    if now.acknowledged == last.acknowledged || now.smoothed_rtt.is_zero() || acks == 0 {
        return None;
    }
    let new = now.smoothed_rtt.as_nanos() as f64;
    if last.smoothed_rtt.is_zero() {
        return Some((now.smoothed_rtt, 1));
    }
    let kept = 0.875_f64.powi(acks.min(1000).cast_signed());
    let mean = (new - kept * last.smoothed_rtt.as_nanos() as f64) / (1.0 - kept);
    let mean = Span::from_secs_f64(mean * 1e-9).max(now.min_rtt);
    Some((mean, acks))
}

/// The kernel's "no threshold yet" (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Reads `struct tcp_info` (linux/tcp.h; fields are only ever added at its end). None when the
/// connection is gone or the kernel is older than 4.10.
pub(super) fn tcp_info(fd: impl AsFd) -> Option<TcpInfo> {
    let mut bytes = [0_u8; 192];
    let filled = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes).ok()?;
    if filled < bytes.len() {
        return None;
    }
    let word = |at: usize| bytes[at..].first_chunk().map(|b| u32::from_ne_bytes(*b));
    let long = |at: usize| bytes[at..].first_chunk().map(|b| u64::from_ne_bytes(*b));
    let control = CongestionState {
        window: word(80)?,
        threshold: Some(word(76)?).filter(|&threshold| threshold < NO_THRESHOLD),
        pacing_rate: Some(long(104)?)
            .filter(|&bytes| bytes > 0)
            .and_then(|bytes| bytes.checked_mul(8))
            .map(Rate::from_bps),
        marked_share: None,
    };
    Some(TcpInfo {
        smoothed_rtt: Span::from_micros(word(68)?.into()),
        min_rtt: Span::from_micros(word(148)?.into()),
        segments_received: word(140)?,
        control,
        retransmitted: word(100)?,
        acknowledged: long(120)?,
        data_segments: word(156)?,
        // Unacknowledged, less what is sacked or lost, and what has been sent again.
        in_flight: word(24)?
            .saturating_sub(word(28)?.saturating_add(word(32)?))
            .saturating_add(word(36)?),
        unsent: word(144)?,
        busy: long(168)?,
        receive_window_limited: long(176)?,
        send_buffer_limited: long(184)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_tcp::RtoRule;

    fn info(smoothed_us: u64, segments_received: u32) -> TcpInfo {
        TcpInfo {
            smoothed_rtt: Span::from_micros(smoothed_us),
            segments_received,
            acknowledged: u64::from(segments_received),
            ..TcpInfo::default()
        }
    }

    #[test]
    fn controls_that_linux_lacks_are_refused_with_what_there_is() {
        let checked = |change: &dyn Fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            check(&config, Machine::This).map_err(|refusal| refusal.to_string())
        };
        for (algorithm, name) in [(Algorithm::Compound, "compound"), (Algorithm::Bbr3, "bbr3")] {
            let refusal = checked(&|config| config.algorithm = algorithm).unwrap_err();
            assert!(refusal.contains(name), "{refusal}");
            // Reno is in every kernel.
            assert!(refusal.contains("this kernel offers") && refusal.contains("reno"));
        }
        // A guest may have a Prague, and says so itself if it has none.
        let config = Config {
            algorithm: Algorithm::Prague,
            ..Config::default()
        };
        assert!(check(&config, Machine::This).is_err());
        assert!(check(&config, Machine::Guest).is_ok());
        for algorithm in [Algorithm::Reno, Algorithm::Bbr, Algorithm::Vegas] {
            assert_eq!(checked(&|config| config.algorithm = algorithm), Ok(()));
        }
        let ticking = checked(&|config| config.tick = Span::from_millis(10));
        assert!(ticking.unwrap_err().contains("tick"));
        let wheel = checked(&|config| config.timer_tick = Span::from_millis(1));
        assert_eq!(wheel, Ok(()));
        let timed = checked(&|config| config.timed_segment = true);
        assert!(timed.unwrap_err().contains("timed_segment"));
        let rfc = checked(&|config| config.rto_rule = RtoRule::Rfc6298);
        assert!(rfc.unwrap_err().contains("RFC 6298"));
        assert_eq!(lacks("vegas", "reno, cubic").matches("cubic").count(), 1);
    }

    #[test]
    fn the_kernels_clocks_and_the_state_at_a_reading_say_what_limits() {
        let mut info = TcpInfo {
            control: CongestionState {
                window: 10,
                ..CongestionState::default()
            },
            in_flight: 10,
            ..info(80_000, 1)
        };
        let before = info;
        (
            info.busy,
            info.send_buffer_limited,
            info.receive_window_limited,
        ) = (90_000, 50_000, 10_000);
        let shares = |info: &TcpInfo, paces| {
            let limits = limits(&before, info, Span::from_millis(100), paces);
            assert_eq!(limits.total(), Span::from_millis(100));
            LimitedBy::ALL.map(|what| limits.by(what).as_micros() / 1000)
        };
        // 100 ms, of which 10 idle, 50 at the send buffer, 10 at the receive window.
        assert_eq!(shares(&info, true), [30, 50, 10, 10, 0]);
        info.in_flight = 9;
        assert_eq!(shares(&info, true), [0, 50, 10, 40, 0]);
        info.unsent = 1;
        assert_eq!(shares(&info, true), [0, 50, 10, 10, 30]);
        assert_eq!(shares(&info, false), [30, 50, 10, 10, 0]);
        // A clock that the kernel reads later than we do.
        info.busy = 120_000;
        assert_eq!(shares(&info, false), [40, 50, 10, 0, 0]);
    }

    /// By the header: two halves of a word, alpha in 1024ths, two counts of bytes.
    #[test]
    fn the_share_of_marks_is_read_from_what_dctcp_tells() {
        let mut told = [0_u8; 16];
        told[4..8].copy_from_slice(&256_u32.to_ne_bytes());
        assert_eq!(share_told(&told), None, "it is off");
        told[..2].copy_from_slice(&1_u16.to_ne_bytes());
        assert_eq!(share_told(&told), Some(0.25));
        assert_eq!(share_told(&told[..12]), None, "another structure");
        assert_eq!(share_told(&[]), None, "the control tells nothing");
    }

    #[test]
    fn smoothing_is_undone() {
        // By hand, gain 1/8: 80 ms, then 160 ms once is 90 ms, twice 98.75 ms.
        let before = info(80_000, 10);
        assert_eq!(
            measured(&before, &info(90_000, 11)),
            Some((Span::from_millis(160), 1))
        );
        let (twice, acks) = measured(&before, &info(98_750, 12)).unwrap();
        assert!((twice.as_millis_f64() - 160.0).abs() < 0.001 && acks == 2);
        assert_eq!(measured(&before, &before), None);
        assert_eq!(
            measured(&TcpInfo::default(), &info(80_000, 1)),
            Some((Span::from_millis(80), 1))
        );
        // Rounding cannot push a value below what was ever seen.
        let mut floor = info(70_000, 11);
        floor.min_rtt = Span::from_millis(20);
        assert_eq!(measured(&before, &floor), Some((floor.min_rtt, 1)));
    }
}
