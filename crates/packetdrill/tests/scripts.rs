//! Scripts of our own: each construct of the language, and each verdict.

use sojourn_packetdrill::{Outcome, Script, Verdict};
use std::path::Path;

/// A server with an open connection: its descriptor is 4, its segments hold 1000 bytes.
const SERVER: &str = "
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32000 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
";

fn run(text: &str) -> Outcome {
    let script = Script::read("own.pkt", text).unwrap_or_else(|problem| panic!("{problem}"));
    script.run(Path::new("."))
}

/// What becomes of events after [`SERVER`]'s.
fn server(events: &str) -> Outcome {
    run(&format!("{SERVER}{events}"))
}

#[track_caller]
fn passes(outcome: &Outcome) {
    assert_eq!(outcome.verdict, Verdict::Passes, "{outcome}");
}

#[track_caller]
fn stops(outcome: &Outcome, verdict: Verdict, line: u32, why: &str) {
    assert_eq!(
        (outcome.verdict, outcome.line),
        (verdict, Some(line)),
        "{outcome}"
    );
    assert!(outcome.why.contains(why), "{outcome}");
}

#[test]
fn a_server_answers_reads_and_closes() {
    passes(&server(
        "+0 < P. 1:1001(1000) ack 1 win 257
+0 > . 1:1(0) ack 1001
+0 ioctl(4, SIOCINQ, [1000]) = 0
+0 read(4, ..., 300) = 300
+0 recv(4, ..., 9000, 0) = 700
+0 write(4, ..., 2500) = 2500
* > P. 1:2501(2500) ack 1001
+.02 < . 1001:1001(0) ack 2501 win 257
+0 shutdown(4, SHUT_WR) = 0
+0 > F. 2501:2501(0) ack 1001
+.02 < F. 1001:1001(0) ack 2502 win 257
+0 > . 2502:2502(0) ack 1002
+0 read(4, ..., 1) = 0
+0 close(4) = 0",
    ));
}

#[test]
fn a_client_asks_for_what_it_gets() {
    // The SYN offers all; what the answer lacks is not used. Two tries, then an answer.
    passes(&run(
        "--tcp_ts_tick_usecs=1000
--tolerance_usecs=2000
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
+1~+1.01 > S 0:0(0) <mss 1460,sackOK,TS val 1100 ecr 0,nop,wscale 7>
+.05 < S. 0:0(0) ack 1 win 30000 <mss 500,sackOK,TS val 700 ecr 1100>
+0 > . 1:1(0) ack 1 <nop,nop,TS val 1150 ecr 700>
+0 getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0
+0 write(3, ..., 488) = 488
+0 > P. 1:489(488) ack 1 <nop,nop,TS val 1150 ecr 700>
+0 %{ assert tcpi_snd_mss == 488 and (tcpi_options & TCPI_OPT_WSCALE) == 0 }%",
    ));
}

/// packetdrill's rule: numbers of packets with SYN are absolute, others count from the SYN.
#[test]
fn numbers_count_from_the_syn() {
    passes(&run("
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 999000:999000(0) win 32000 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 1234:1234(0) ack 999001 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.1 < P. 1:101(100) ack 1001 win 257
+0 > . 1001:1001(0) ack 101
"));
    passes(&run("--tcp_ts_tick_usecs=1000
--tolerance_usecs=2000
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0 > S 500:500(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
+.05 < S. 123:123(0) ack 501 win 30000 <mss 500,sackOK,TS val 700 ecr 100>
+0 > . 1:1(0) ack 1 <nop,nop,TS val 150 ecr 700>"));
    // A number that counts from elsewhere is another number.
    let wrong = SERVER.replace("S 0:0(0)", "S 7:7(0)");
    stops(&run(&wrong), Verdict::Ours, 6, "ack 8");
}

#[test]
fn calls_that_wait_return_when_they_should() {
    passes(&run("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.1 connect(3, ..., ...) = 0
+0 > S 0:0(0) <...>
+.1 < S. 0:0(0) ack 1 win 3000 <mss 1000>
+0 > . 1:1(0) ack 1
+.1...0.3 read(3, ..., 500) = 200
+.2 < P. 1:201(200) ack 1 win 3000
* > . 1:1(0) ack 201"));
    let late = server("+0...0.2 read(4, ..., 10) = 10\n+.3 < P. 1:11(10) ack 1 win 257");
    stops(&late, Verdict::Ours, 9, "read to return at 0.300000 s");
    let never = server("+0...0.2 read(4, ..., 10) = 10");
    stops(&never, Verdict::Ours, 9, "it to wait");
}

#[test]
fn a_packet_must_be_the_one_that_is_expected() {
    let sent = |packet: &str| server(&format!("+0 write(4, ..., 1500) = 1500\n{packet}"));
    passes(&sent("+0 > P. 1:1501(1500) ack 1"));
    for wrong in [
        "+0 > P. 2:1502(1500) ack 1",
        "+0 > P. 1:1401(1400) ack 1",
        "+0 > PE. 1:1501(1500) ack 1",
        "+0 > P. 1:1501(1500) ack 2",
        "+0 > P. 1:1501(1500) ack 1 win 5",
        "+0 > [ect0] P. 1:1501(1500) ack 1",
        "+0 > P. 1:1501(1500) ack 1 <nop,nop>",
        "+.1 > P. 1:1501(1500) ack 1",
        "+.1~+.2 > P. 1:1501(1500) ack 1",
    ] {
        let outcome = sent(wrong);
        stops(&outcome, Verdict::Ours, 10, "got [noecn]");
        assert!(outcome.why.contains("at 0.100000 s"), "{outcome}");
    }
    stops(&server("+0 > . 1:1(0) ack 1"), Verdict::Ours, 9, "got none");
    // 4 ms are tolerated if the script says nothing else.
    passes(&sent("+.004 > P. 1:1501(1500) ack 1"));
    // Linux offers 502: it reckons with its own MSS, ours with the smaller one of the peer.
    passes(&sent("* > P. 1:1501(1500) ack 1 win 508"));
}

#[test]
fn several_segments_are_one_packet_until_the_interface_takes_one_at_a_time() {
    passes(&server(
        "+0 `ethtool -K tun0 tso off gso off`
+0 write(4, ..., 1500) = 1500
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:1501(500) ack 1",
    ));
    let outcome = server(
        "+0 `ethtool -K tun0 tso off`
+0 write(4, ..., 1500) = 1500
+0 > P. 1:1501(1500) ack 1",
    );
    stops(&outcome, Verdict::Ours, 11, "1:1001(1000)");
}

#[test]
fn losses_are_repaired_and_seen_in_tcp_info() {
    passes(&server(
        "+0 write(4, ..., 10000) = 10000
+0 > P. 1:10001(10000) ack 1
+.01 < . 1:1(0) ack 1 win 257 <sack 1001:4001,nop,nop>
+0 > . 1:1001(1000) ack 1
+0 %{
assert tcpi_ca_state == TCP_CA_Recovery, tcpi_ca_state
assert tcpi_unacked == 10; assert 0 < tcpi_sacked <= 3  # three of ten
assert not (tcpi_lost + 1 != 2 or tcpi_retrans * 3 - 2 > 1) \\
   and tcpi_snd_cwnd / 7 == 1
}%
+.01 < . 1:1(0) ack 10001 win 257
+0 %{ assert tcpi_ca_state == TCP_CA_Open and tcpi_bytes_acked == 10000 }%",
    ));
    let outcome = server("+0 %{ assert tcpi_snd_cwnd == 11, 'cwnd=%d' % tcpi_snd_cwnd }%");
    stops(&outcome, Verdict::Ours, 9, "got tcpi_snd_cwnd = 10");
    stops(
        &server("+0 %{ assert tcpi_pmtu == 1500 }%"),
        Verdict::NotModelled,
        9,
        "tcpi_pmtu",
    );
    stops(
        &server("+0 %{ print(tcpi_rtt) }%"),
        Verdict::NotModelled,
        9,
        "print(tcpi_rtt)",
    );
}

#[test]
fn accurate_ecn_is_spoken() {
    passes(&run(
        "`sysctl -q net.ipv4.tcp_ecn=3`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < [ect0] SEWA 0:0(0) win 32000 <mss 1012,nop,nop,sackOK,nop,wscale 8>
+0 > [noecn] SA. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,nop,nop,sackOK,nop,wscale 7>
+.05 < W. 1:1(0) ack 1 win 264 <ECN e0b 1 ceb 0 e1b 1,nop>
+0 accept(3, ..., ...) = 4
+0 < [ce] P.5 1:101(100) ack 1 win 264
+0 > [ect0] .6 1:1(0) ack 101 <ECN e1b 1 ceb 100 e0b 1,nop>
+0 write(4, ..., 1000) = 1000
+0 > [ect0] PWA. 1:1001(1000) ack 101 <ECN e1b 1 ceb 100 e0b 1,nop>
+.05 < .6 101:101(0) ack 1001 win 264 <ECN e0b 1 ceb 1000 e1b 1,nop>
+0 %{ assert tcpi_delivered_ce == 1; assert tcpi_delivered_ce_bytes == 1000 }%",
    ));
}

/// A server that speaks AccECN, without timestamps, before it has accepted; then `rest`.
fn accurate(settings: &str, ace: &str, rest: &str) -> Outcome {
    run(&format!(
        "`sysctl -q net.ipv4.tcp_ecn=3 {settings}`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < SEWA 0:0(0) win 32000 <mss 1012,nop,nop,sackOK,nop,wscale 8>
+0 > [noecn] SW. 0:0(0) ack 1 <mss 1460,ECN e1b 1 ceb 0 e0b 1,nop,nop,nop,sackOK,nop,wscale 7>
+.05 < [ect0] {ace}. 1:1(0) ack 1 win 264 <ECN e0b 1 ceb 0 e1b 1,nop>
+0 accept(3, ..., ...) = 4
{rest}"
    ))
}

#[test]
fn three_blocks_stand_beside_the_whole_option() {
    passes(&accurate(
        "",
        "W",
        "+0 < [ect1] EAP. 101:201(100) ack 1 win 264
+0 > [ect0] EA. 1:1(0) ack 1 <ECN e1b 101 ceb 0 e0b 1,nop,nop,nop,sack 101:201>
+0 < [ect0] EAP. 301:401(100) ack 1 win 264
+0 > [ect0] EA. 1:1(0) ack 1 <ECN e1b 101 ceb 0 e0b 101,nop,nop,nop,sack 301:401 101:201>
+0 < [ce] EAP. 501:601(100) ack 1 win 264
+0 > [ect0] WA. 1:1(0) ack 1 <ECN e1b 101 ceb 100 e0b 101,nop,nop,nop,sack 501:601 301:401 101:201>",
    ));
}

/// Two segments are one packet to Linux, at this rate, and the last of them has PSH.
#[test]
fn push_stands_where_linux_ends_a_packet() {
    passes(&accurate(
        "",
        "W",
        "+0 write(4, ..., 2500) = 2500
+0 > [ect0] EA. 1:1001(1000) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>
+0 > [ect0] EAP. 1001:2001(1000) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>
+0 > [ect0] EAP. 2001:2501(500) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>",
    ));
}

/// An open connection leaves the option out from then on, and its segments are longer.
#[test]
fn the_option_ends_when_a_script_says_so() {
    passes(&accurate(
        "",
        "W",
        "+0 `sysctl -q net.ipv4.tcp_ecn_option=0`
+0 write(4, ..., 1012) = 1012
+0 > [ect0] EAP. 1:1013(1012) ack 1",
    ));
}

/// A mark on a SYN-ACK that was sent without ECN ends it, unless nothing is checked.
#[test]
fn an_impossible_mark_is_believed_when_nothing_is_checked() {
    let mark = |settings: &str, sent: &str| {
        let rest =
            format!("+0 write(4, ..., 100) = 100\n+0 > [{sent}] EAP. 1:101(100) ack 1 <...>");
        accurate(settings, "WA", &rest)
    };
    passes(&mark("net.ipv4.tcp_ecn_fallback=0", "ect0"));
    passes(&mark("", "noecn"));
}

/// Linux's TIME-WAIT has forgotten the counter.
#[test]
fn the_last_ack_has_no_counter() {
    passes(&accurate(
        "",
        "W",
        "+0 close(4) = 0
+0 > [ect0] EAF. 1:1(0) ack 1 <ECN e1b 1 ceb 0 e0b 1,nop>
+.01 < [ect0] EA. 1:1(0) ack 2 win 264
+0 < [ect0] EAF. 1:1(0) ack 2 win 264
+0 > [ect0] . 2:2(0) ack 2 <...>",
    ));
}

#[test]
fn what_no_connection_wants_is_reset() {
    passes(&run("0 < . 1:1(0) ack 77 win 100
+0 > R 77:77(0)
+0 < F 5:10(5) win 100
+0 > R. 0:0(0) ack 11
+0 < R 1:1(0) win 0"));
    // A program that leaves data unread breaks off, and one that is gone cannot read.
    passes(&server(
        "+0 < P. 1:101(100) ack 1 win 257
+0 > . 1:1(0) ack 101
+0 close(4) = 0
+0 > R. 1:1(0) ack 101",
    ));
    passes(&server(
        "+0 close(4) = 0
+0 > F. 1:1(0) ack 1
+0 < P. 1:101(100) ack 1 win 257
+0 > R 1:1(0)",
    ));
}

#[test]
fn a_socket_keeps_what_it_was_told() {
    passes(&run(
        "0 socket(..., SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_TCP) = 3
+0 setsockopt(3, SOL_SOCKET, SO_RCVBUF, [20000], 4) = 0
+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, \"reno\", 4) = 0
+0 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 accept(3, ..., ...) = -1 EAGAIN (Resource temporarily unavailable)
+0 < S 0:0(0) win 32000 <mss 1000,nop,wscale 7>
+0 > S. 0:0(0) ack 1 win 20000 <mss 1460,nop,wscale 0>
+.1 < . 1:1(0) ack 1 win 257
+0 accept(3, ..., ...) = 4
+0 setsockopt(4, SOL_SOCKET, SO_SNDBUF, [50000], 4) = 0
+0 getsockopt(4, SOL_SOCKET, SO_SNDBUF, [100000], [4]) = 0
+0 fcntl(4, F_GETFL) = 0x2 (flags O_RDWR)
+0 write(4, ..., 10) = 10
+0 > P. 1:11(10) ack 1
+0 send(4, ..., 20, MSG_NOSIGNAL) = 20
+0 > P. 11:31(20) ack 1
+0 sendmsg(4, {msg_name(...)=..., msg_iov(2)=[{..., 30}, {..., 5}], msg_flags=0}, 0) = 35
+0 > P. 31:66(35) ack 1
+0 recv(4, ..., 10, MSG_DONTWAIT) = -1 EAGAIN (Resource temporarily unavailable)
+0 read(3, ..., 10) = -1 ENOTCONN (Transport endpoint is not connected)
+.01 < R. 1:1(0) ack 66 win 0
+0 read(4, ..., 10) = -1 ECONNRESET (Connection reset by peer)
+0 write(4, ..., 10) = -1 EPIPE (Broken pipe)",
    ));
}

#[test]
fn what_stops_a_script_says_what_it_is() {
    for (events, why) in [
        (
            "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0",
            "TCP_CORK",
        ),
        ("+0 send(4, ..., 10, MSG_EOR) = 10", "MSG_EOR"),
        ("+0 < . 1:1(0) ack 1 win 257 <md5 00,nop>", "md5"),
        (
            "+0 < icmp unreachable frag_needed mtu 1200 [1:1(0)]",
            "icmp",
        ),
        ("+0 < U. 1:2(1) ack 1 win 257 urg 1", "urgent"),
        ("+0 `nstat | grep TcpExtBeyondWindow`", "nstat"),
        ("+0 `sysctl -q net.ipv4.tcp_ecn=3`", "open connection"),
        ("+0 < P. 1:70001(70000) ack 1 win 257", "64 KiB"),
    ] {
        stops(&server(events), Verdict::NotModelled, 9, why);
    }
    for events in [
        "+0 setsockopt(4, SOL_SOCKET, SO_ZEROCOPY, [1], 4) = 0",
        "+0 setsockopt(4, SOL_TCP, TCP_USER_TIMEOUT, [3000], 4) = 0",
        "+0 send(4, ..., 10, MSG_ZEROCOPY) = 10",
        "+0 epoll_create(1) = 5",
        "+0 read(4, NULL, 10) = -1 EFAULT (Bad address)",
        "+0 recvmsg(4, {msg_name(...)=..., msg_control=[{cmsg_level=SOL_TCP}]}, 0) = 10",
    ] {
        let why = events.split(['(', ' ']).nth(1).unwrap();
        stops(&server(events), Verdict::SocketOnly, 9, why);
    }
    // What comes first counts.
    let outcome = server("+0 > . 1:1(0) ack 1\n+0 epoll_create(1) = 5");
    stops(&outcome, Verdict::Ours, 9, "got none");
}

#[test]
fn commands_set_what_connections_begin_with() {
    let dir = tempfile::tempdir().unwrap();
    let settings = "# Defaults.\nsysctl -q net.ipv4.tcp_rmem=\"4096 131072 $((32*1024*1024))\"\n\
                    sysctl -q net.ipv4.tcp_sack=0 > /dev/null 2>&1\nip tcp_metrics flush all\n";
    std::fs::write(dir.path().join("defaults.sh"), settings).unwrap();
    let text = "`./defaults.sh
./set_sysctls.py /proc/sys/net/ipv4/tcp_timestamps=0 \\
    /proc/sys/net/ipv4/tcp_min_tso_segs=10; nstat -n`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0 connect(3, ..., ...) = 0
+0 > S 0:0(0) <mss 1460,nop,wscale 10>
+0 < S. 0:0(0) ack 1 win 3000 <mss 1000,sackOK>
+0 > . 1:1(0) ack 1
`/tmp/sysctl_restore_${PPID}.sh`";
    let script = Script::read("own.pkt", text).unwrap();
    passes(&script.run(dir.path()));
    let missing = script.run(&dir.path().join("elsewhere"));
    stops(
        &missing,
        Verdict::NotModelled,
        1,
        "`./defaults.sh`: no such file",
    );
    for (command, why) in [
        (
            "sysctl -q net.ipv4.tcp_dsack=0",
            "sysctl net.ipv4.tcp_dsack=0",
        ),
        ("sysctl -q net.core.somaxconn=5", "somaxconn"),
        ("tc qdisc add dev tun0 root netem delay 5ms", "netem"),
    ] {
        stops(&run(&format!("`{command}`")), Verdict::NotModelled, 1, why);
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, expected) in [
        ("", "own.pkt:1:1: the script has no event"),
        (
            "--speed_of_light=3",
            "own.pkt:1:1: unknown option `--speed_of_light`",
        ),
        (
            "--tolerance_usecs=much\n0 close(3) = 0",
            "own.pkt:1:1: `much` where",
        ),
        (
            "0 close(3) = 0\nsoon close(3) = 0",
            "own.pkt:2:1: `soon` where a time belongs",
        ),
        ("0 < X 0:0(0) win 1", "own.pkt:1:5: `X` where flags belong"),
        (
            "0 > . 1:1001(100) ack 1",
            "own.pkt:1:9: 1 and 100 bytes end at 101, not at 1001",
        ),
        (
            "0 > . 1:1(0) ack 1 <nop,mss>",
            "own.pkt:1:28: `>` where a segment size belongs",
        ),
        (
            "0 > . 1:1(0) ack 1 <ECN ceb 1>",
            "own.pkt:1:25: `ceb` where a field of the AccECN",
        ),
        (
            "0 > . 1:1(0) ack x",
            "own.pkt:1:18: `x` where an acknowledgement number belongs",
        ),
        ("0 close 3", "own.pkt:1:3: `close` where a packet"),
        (
            "0 bnd(3) = 0",
            "own.pkt:1:3: unknown call `bnd`; available: accept, bind,",
        ),
        ("0 close(3)", "own.pkt:1:11: the end where `=` belongs"),
        ("0 `sysctl", "own.pkt:1:4: no ``` ends what begins here"),
        ("0~1 close(3) = 0", "own.pkt:1:17: a range of time before"),
        ("+0...1 > . 1:1(0) ack 1", "own.pkt:1:24: a duration"),
        (
            "+0~1 > . 1:1(0) ack 1",
            "own.pkt:1:4: a range from a relative",
        ),
    ] {
        let problem = Script::read("own.pkt", text).unwrap_err().to_string();
        assert!(problem.starts_with(expected), "{text:?}: {problem}");
    }
}

#[test]
fn comments_and_lines_are_free() {
    passes(&run("// Of the language's three kinds of comments
/* this one
   has lines */
0 socket(...,
         SOCK_STREAM,   // and this
         IPPROTO_TCP) = 3
# one
+0 close(3) = 0"));
}
