//! Names of numbers in calls, as the kernel's headers have them.

/// Names that libc has under the same name.
macro_rules! names {
    ($($name:ident),* $(,)?) => {
        [$((stringify!($name), libc::$name as i64)),*]
    };
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the constants have several types, some of them this one"
)]
const NAMES: [(&str, i64); 55] = names![
    EPOLLERR,
    EPOLLET,
    EPOLLEXCLUSIVE,
    EPOLLHUP,
    EPOLLIN,
    EPOLLONESHOT,
    EPOLLOUT,
    EPOLLRDHUP,
    IP_FREEBIND,
    IP_MTU_DISCOVER,
    IP_PMTUDISC_DO,
    IP_PMTUDISC_DONT,
    IP_RECVERR,
    IP_TOS,
    MSG_DONTWAIT,
    MSG_EOR,
    MSG_ERRQUEUE,
    MSG_FASTOPEN,
    MSG_MORE,
    MSG_NOSIGNAL,
    MSG_OOB,
    MSG_PEEK,
    MSG_TRUNC,
    MSG_WAITALL,
    O_NONBLOCK,
    O_RDONLY,
    O_RDWR,
    O_WRONLY,
    SHUT_RD,
    SHUT_RDWR,
    SHUT_WR,
    SOL_IP,
    SOL_IPV6,
    SOL_SOCKET,
    SOL_TCP,
    SO_ERROR,
    SO_KEEPALIVE,
    SO_MARK,
    SO_PRIORITY,
    SO_RCVBUF,
    SO_REUSEADDR,
    SO_SNDBUF,
    SO_TIMESTAMPING,
    SO_ZEROCOPY,
    TCP_CONGESTION,
    TCP_CORK,
    TCP_FASTOPEN,
    TCP_FASTOPEN_CONNECT,
    TCP_FASTOPEN_KEY,
    TCP_INQ,
    TCP_KEEPCNT,
    TCP_KEEPIDLE,
    TCP_KEEPINTVL,
    TCP_MAXSEG,
    TCP_NODELAY,
];
/// Names that libc does not have (`linux/tcp.h`, `linux/socket.h`, `linux/net_tstamp.h`,
/// `linux/errqueue.h`, `linux/in.h`).
const OTHERS: [(&str, i64); 23] = [
    ("MSG_ZEROCOPY", 0x400_0000),
    ("TCP_CM_INQ", 36),
    ("TCP_DEFER_ACCEPT", 9),
    ("TCP_FASTOPEN_NO_COOKIE", 34),
    ("TCP_NOTSENT_LOWAT", 25),
    ("TCP_QUICKACK", 12),
    ("TCP_RTO_MAX_MS", 44),
    ("TCP_TIMESTAMP", 24),
    ("TCP_USER_TIMEOUT", 18),
    ("TCP_WINDOW_CLAMP", 10),
    ("SOF_TIMESTAMPING_TX_SOFTWARE", 1 << 1),
    ("SOF_TIMESTAMPING_RX_SOFTWARE", 1 << 3),
    ("SOF_TIMESTAMPING_SOFTWARE", 1 << 4),
    ("SOF_TIMESTAMPING_OPT_ID", 1 << 7),
    ("SOF_TIMESTAMPING_TX_SCHED", 1 << 8),
    ("SOF_TIMESTAMPING_TX_ACK", 1 << 9),
    ("SCM_TIMESTAMPING", 37),
    ("SCM_TSTAMP_SND", 0),
    ("SCM_TSTAMP_SCHED", 1),
    ("SCM_TSTAMP_ACK", 2),
    ("SO_EE_CODE_ZEROCOPY_COPIED", 1),
    ("SO_EE_ORIGIN_TIMESTAMPING", 4),
    ("SO_EE_ORIGIN_ZEROCOPY", 5),
];

/// The number of a name, or of several joined by `|`; none if one is not known.
pub(crate) fn number(words: &str) -> Option<i64> {
    let mut numbers = words.split('|').map(|word| {
        let all = NAMES.iter().chain(&OTHERS);
        let mut found = all.filter(|&&(name, _)| name == word);
        found.next().map(|&(_, number)| number)
    });
    numbers.try_fold(0, |all, number| Some(all | number?))
}
