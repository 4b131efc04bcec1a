//! `TCP_INFO` by the names that scripts have for it.
//! Source: `struct tcp_info` of Linux 7.3's `include/uapi/linux/tcp.h`; older kernels have less of
//! it.

use rustix::fd::AsFd;
use sojourn_bridge::option;
use sojourn_packetdrill::constant;
use std::io;

/// Fields with their place in the structure and their size, in bytes.
const FIELDS: [(&str, usize, usize); 60] = [
    ("state", 0, 1),
    ("ca_state", 1, 1),
    ("retransmits", 2, 1),
    ("probes", 3, 1),
    ("backoff", 4, 1),
    ("options", 5, 1),
    ("rto", 8, 4),
    ("ato", 12, 4),
    ("snd_mss", 16, 4),
    ("rcv_mss", 20, 4),
    ("unacked", 24, 4),
    ("sacked", 28, 4),
    ("lost", 32, 4),
    ("retrans", 36, 4),
    ("fackets", 40, 4),
    ("last_data_sent", 44, 4),
    ("last_data_recv", 52, 4),
    ("last_ack_recv", 56, 4),
    ("pmtu", 60, 4),
    ("rcv_ssthresh", 64, 4),
    ("rtt", 68, 4),
    ("rttvar", 72, 4),
    ("snd_ssthresh", 76, 4),
    ("snd_cwnd", 80, 4),
    ("advmss", 84, 4),
    ("reordering", 88, 4),
    ("rcv_rtt", 92, 4),
    ("rcv_space", 96, 4),
    ("total_retrans", 100, 4),
    ("pacing_rate", 104, 8),
    ("max_pacing_rate", 112, 8),
    ("bytes_acked", 120, 8),
    ("bytes_received", 128, 8),
    ("segs_out", 136, 4),
    ("segs_in", 140, 4),
    ("notsent_bytes", 144, 4),
    ("min_rtt", 148, 4),
    ("data_segs_in", 152, 4),
    ("data_segs_out", 156, 4),
    ("delivery_rate", 160, 8),
    ("busy_time", 168, 8),
    ("rwnd_limited", 176, 8),
    ("sndbuf_limited", 184, 8),
    ("delivered", 192, 4),
    ("delivered_ce", 196, 4),
    ("bytes_sent", 200, 8),
    ("bytes_retrans", 208, 8),
    ("dsack_dups", 216, 4),
    ("reord_seen", 220, 4),
    ("rcv_ooopack", 224, 4),
    ("snd_wnd", 228, 4),
    ("rcv_wnd", 232, 4),
    ("rehash", 236, 4),
    ("total_rto", 240, 2),
    ("total_rto_recoveries", 242, 2),
    ("total_rto_time", 244, 4),
    ("received_ce", 248, 4),
    ("delivered_e1_bytes", 252, 4),
    ("delivered_e0_bytes", 256, 4),
    ("delivered_ce_bytes", 260, 4),
];
/// Length of the structure up to there, and room for what comes after.
const ROOM: usize = 512;
/// Bits of `tcpi_options` that `packetdrill` does not have.
const OPTIONS: [(&str, i64); 5] = [
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
    ("TCPI_OPT_USEC_TS", 64),
    ("TCPI_OPT_TFO_CHILD", 128),
];

/// What the kernel says of a socket.
pub(crate) struct Info(Vec<u8>);

impl Info {
    /// Asks for it.
    pub(crate) fn of(socket: impl AsFd) -> io::Result<Self> {
        let mut bytes = vec![0; ROOM];
        let len = option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
        bytes.truncate(len);
        Ok(Self(bytes))
    }

    /// The value of a name; none if this kernel does not tell it.
    pub(crate) fn value(&self, name: &str) -> Option<i64> {
        let fixed = OPTIONS.iter().find(|&&(known, _)| known == name);
        if let Some(value) = fixed.map(|&(_, value)| value).or_else(|| constant(name)) {
            return Some(value);
        }
        let name = name.strip_prefix("tcpi_")?;
        let scales = self.0.get(6).copied();
        match name {
            "snd_wscale" => return Some((scales? & 15).into()),
            "rcv_wscale" => return Some((scales? >> 4).into()),
            _ => {}
        }
        let (_, at, size) = FIELDS.into_iter().find(|&(known, ..)| known == name)?;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(self.0.get(at..at + size)?);
        i64::try_from(u64::from_ne_bytes(bytes)).ok()
    }
}
