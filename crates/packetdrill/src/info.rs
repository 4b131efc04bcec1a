//! `TCP_INFO` by the names that Python has for it in scripts.
//! Source: Linux `include/uapi/linux/tcp.h`, `include/net/tcp_states.h`.

use crate::host::Conn;
use sojourn_tcp::{LimitedBy, Recovery, State};
use sojourn_units::{Span, Time};

/// Values of names that are the same in any state.
const CONSTANTS: [(&str, i64); 19] = [
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
];
/// Linux `tcp_reordering` and `tcp_max_reordering`.
const REORDERING: (u32, u32) = (3, 300);
/// Linux `TCP_INFINITE_SSTHRESH`.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

const fn state(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

/// The value of a name that is the same in any state: of states, and of bits of options.
pub fn constant(name: &str) -> Option<i64> {
    let found = CONSTANTS.iter().find(|&&(known, _)| known == name);
    found.map(|&(_, value)| value)
}

/// The value of a name for a connection; none if it is not modelled.
pub(crate) fn value(name: &str, conn: Option<&Conn>, now: Time) -> Option<i64> {
    if let Some(value) = constant(name) {
        return Some(value);
    }
    let conn = conn?;
    let info = conn.tcp.info();
    let limited = |what| conn.tcp.limits(now).by(what).as_micros();
    let micros = match name {
        "tcpi_rtt" => Some(info.srtt.as_micros()),
        "tcpi_rttvar" => Some(info.rttvar.as_micros()),
        "tcpi_rto" => Some(info.rto.as_micros()),
        "tcpi_min_rtt" => info.min_rtt.map(Span::as_micros),
        "tcpi_rwnd_limited" => Some(limited(LimitedBy::ReceiveWindow)),
        "tcpi_sndbuf_limited" => Some(limited(LimitedBy::SendBuffer)),
        "tcpi_bytes_acked" => Some(info.acked_bytes),
        "tcpi_bytes_received" => Some(info.delivered_bytes + conn.tcp.unread()),
        "tcpi_total_retrans" => Some(info.counters.retransmitted),
        _ => None,
    };
    if micros.is_some() {
        return micros.and_then(|value| i64::try_from(value).ok());
    }
    if let Some(ce) = info.ce {
        let [ect0, marked, ect1] = ce.told_bytes;
        let count = match name {
            "tcpi_delivered_ce" => Some(ce.told),
            "tcpi_delivered_ce_bytes" => Some(marked),
            "tcpi_delivered_e0_bytes" => Some(ect0),
            "tcpi_delivered_e1_bytes" => Some(ect1),
            "tcpi_received_ce" => Some(ce.received),
            _ => None,
        };
        if count.is_some() {
            return count.and_then(|value| i64::try_from(value).ok());
        }
    }
    let agreed = &conn.agreed;
    let value = match name {
        "tcpi_state" => return Some(state(info.state)),
        "tcpi_ca_state" => match info.recovery {
            Recovery::Open => 0,
            Recovery::Disorder => 1,
            Recovery::Reduced => 2,
            Recovery::Recovering => 3,
            Recovery::Loss => 4,
        },
        "tcpi_snd_cwnd" => info.window_segments,
        "tcpi_snd_ssthresh" => info.ssthresh_segments.unwrap_or(NO_THRESHOLD),
        "tcpi_unacked" => info.outstanding,
        "tcpi_sacked" => info.sacked,
        "tcpi_lost" => info.lost,
        "tcpi_retrans" => info.retransmissions,
        "tcpi_reordering" => info
            .counters
            .reorder_distance
            .clamp(REORDERING.0, REORDERING.1),
        "tcpi_snd_mss" => u32::from(conn.mss),
        "tcpi_snd_wscale" => agreed.scales.map_or(0, |(_, peer)| peer.into()),
        "tcpi_rcv_wscale" => agreed.scales.map_or(0, |(ours, _)| ours.into()),
        "tcpi_options" => {
            u32::from(agreed.timestamps)
                | u32::from(agreed.sack) << 1
                | u32::from(agreed.scales.is_some()) << 2
        }
        _ => return None,
    };
    Some(value.into())
}
