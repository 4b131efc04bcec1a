"""Packets of other kinds than plain frames, in a guest with the module: super-packets, devices
without an Ethernet header.

    python3 packets.py SOJOURN

Prints a line for each check and ends with 1 if one has failed. Two network namespaces: this one,
and `other` behind a veth pair.
"""

import ctypes
import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time

SOJOURN = sys.argv[1]
UDP_SEGMENT = 103
SO_SNDBUFFORCE, SO_RCVBUFFORCE = 32, 33
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
ECT0, CE = 2, 3
failed = []


def check(what, found, wanted):
    good = wanted(found) if callable(wanted) else found == wanted
    print(f"{'ok     ' if good else 'FAILED '} {what}: {str(found)[:200]}")
    if not good:
        failed.append(what)


def run(line):
    return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout


def inside(namespace, make):
    """What `make` makes in a namespace: a socket stays there."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/ns/net") as here, open(f"/run/netns/{namespace}") as there:
        assert libc.setns(there.fileno(), CLONE_NEWNET) == 0
        made = make()
        assert libc.setns(here.fileno(), CLONE_NEWNET) == 0
    return made


def queue(device, text):
    """Puts a queue in the place of the one before: ours, or Linux's own after `linux`."""
    subprocess.run(["tc", "qdisc", "del", "dev", device, "root"], capture_output=True)
    if text.startswith("linux "):
        run(f"tc qdisc add dev {device} root handle 1: {text[6:]}")
    else:
        run(f"{SOJOURN} qdisc add {device} '{text}'")


def counted(device):
    """The kernel's counters of our queue of a device, and the report of its last part."""
    shown = json.loads(run(f"{SOJOURN} qdisc show -j {device}"))[0]
    return shown, shown["report"][-1]


class Ear:
    """Hears what arrives at the other end of the pair: lengths, and TOS bytes of IPv4."""

    def __init__(self):
        arrives = lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket = inside("other", arrives)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.bind(("far", 0))

    def heard(self):
        """All frames of the pair's near end until a second is quiet."""
        frames = []
        while select.select([self.socket], [], [], 1)[0]:
            frame, place = self.socket.recvfrom(1 << 17)
            if place[2] != socket.PACKET_OUTGOING:
                frames.append(frame)
        return frames


def pair():
    run("ip link set lo up; ip netns add other")
    run("ip link add near type veth peer name far netns other")
    for name, address, prefix in [("near", 1, ""), ("far", 2, "ip netns exec other ")]:
        run(f"{prefix}sysctl -qw net.ipv6.conf.{name}.disable_ipv6=1 net.ipv4.tcp_ecn=1")
        run(f"{prefix}ip address add 10.0.0.{address}/24 dev {name}")
        run(f"{prefix}ip link set {name} up address 02:00:00:00:00:0{address}")
    run("ip neighbour add 10.0.0.2 lladdr 02:00:00:00:00:02 dev near")
    run("ip netns exec other ip neighbour add 10.0.0.1 lladdr 02:00:00:00:00:01 dev far")
    time.sleep(2)


def tcp(length, tos=0):
    """Sends so many bytes; returns the segments that TCP says it has sent."""

    def segments():
        lines = [line.split() for line in open("/proc/net/snmp") if line.startswith("Tcp:")]
        counters = dict(zip(*lines))
        return int(counters["OutSegs"]) + int(counters["RetransSegs"])

    before = segments()
    listener = inside("other", lambda: socket.create_server(("10.0.0.2", 5001)))
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    sender.connect(("10.0.0.2", 5001))
    taker, _ = listener.accept()
    sender.setblocking(False)
    sent = got = 0
    while got < length:
        writing = [sender] if sent < length else []
        ready, writable, _ = select.select([taker], writing, [], 30)
        if writable:
            sent += sender.send(bytes(min(length - sent, 1 << 18)))
        if ready:
            got += len(taker.recv(1 << 20))
    for one in (sender, taker, listener):
        one.close()
    time.sleep(1)
    return segments() - before


def udp(packets, segments, tos=ECT0):
    """Sends so many super-packets of so many segments of 1000 bytes."""
    sender = socket.socket(type=socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 64 << 20)
    sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, 1000)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    for _ in range(packets):
        sender.sendto(bytes(1000 * segments), ("10.0.0.2", 9))


def tos_of(frames):
    return [frame[15] for frame in frames if frame[12:14] == b"\x08\x00"]


def super_packets():
    ear = Ear()
    queue("near", "linux pfifo limit 1000")
    udp(10, 20)
    frames = ear.heard()
    check("Linux's pfifo passes super-packets on", [len(frame) for frame in frames], [20042] * 10)
    tcp(200_000)
    check("and TCP makes some", max(map(len, ear.heard())), lambda longest: longest > 1514)

    queue("near", "pfifo limit 1000")
    udp(10, 20)
    shown, _ = counted("near")
    check("ours cuts them", [len(frame) for frame in ear.heard()], [1042] * 200)
    check("and counts their segments", (shown["packets"], shown["bytes"]), (200, 200 * 1042))

    # The words that keep them whole in other places.
    for text in ["cake no-split-gso", "dualpi2 no_split_gso"]:
        queue("near", text)
        udp(10, 20)
        check(f"{text} gets them cut", [len(frame) for frame in ear.heard()], [1042] * 200)

    # A long standing queue, and more than it holds.
    queue("near", "tbf rate 1mbit burst 5kb over pfifo limit 100")
    udp(50, 20)
    shown, _ = counted("near")
    fates = [shown["packets"], shown["drops"], shown["qlen"]]
    check("segments sent, dropped and held are all that came", sum(fates), 1000)
    check("some of each", fates, lambda fates: min(fates) > 0)
    check("what is held has its length", shown["backlog"], shown["qlen"] * 1042)
    frames = ear.heard()
    shown, _ = counted("near")
    check("in the end all have left", (shown["packets"], shown["qlen"]), (len(frames), 0))

    # TCP counts each segment that it sends, also those of super-packets.
    for text in [
        "tbf rate 20mbit burst 5kb over pfifo limit 30",
        "tbf rate 20mbit burst 5kb over fq_codel",
        "cake bandwidth 20mbit",
        "htb rate 20mbit over pie",
    ]:
        queue("near", text)
        sent = tcp(2_000_000)
        frames = ear.heard()
        shown, _ = counted("near")
        fates = [shown["packets"], shown["drops"], shown["qlen"]]
        check(f"TCP's segments add up in {text}", sum(fates), sent)
        check("those that left arrive, none longer than the wire takes",
              (len(frames), max(map(len, frames))), (shown["packets"], 1514))
        check("with their bytes", shown["bytes"], sum(map(len, frames)))

    # Marks, on segments of what came as one.
    queue("near", "tbf rate 2mbit burst 5kb over codel target 2ms interval 20ms ecn")
    udp(10, 40)
    tos = tos_of(ear.heard())
    _, report = counted("near")
    check("each mark arrives", tos.count(CE), report["ecn_mark"])
    check("on some of the segments", tos.count(CE), lambda marks: 5 < marks < 395)
    check("and nothing else changes", sorted(set(tos)), [ECT0, CE])

    # DSCP EF in all segments: sorted by it, kept or washed.
    for wash, dscp in [("nowash", 46), ("wash", 0)]:
        queue("near", f"cake bandwidth 20mbit diffserv4 {wash}")
        udp(5, 20, 46 << 2 | ECT0)
        tos = tos_of(ear.heard())
        _, report = counted("near")
        check(f"CAKE with {wash} has segments in the tin of voice",
              [tin["sent_packets"] for tin in report["tins"]], [0, 0, 0, 100])
        check("their DSCP", {one >> 2 for one in tos}, {dscp})
        marks = sum(tin["ecn_mark"] for tin in report["tins"])
        ecn = [one & CE for one in tos]
        check("their marks", (ecn.count(CE), ecn.count(ECT0)), (marks, 100 - marks))


def without_ethernet():
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"bare", IFF_TUN | IFF_NO_PI))
    run("sysctl -qw net.ipv6.conf.bare.disable_ipv6=1")
    run("ip address add 10.1.0.1 peer 10.1.0.2 dev bare; ip link set bare up")
    sockets = {}

    def send(port, count, tos=0, length=972):
        if port not in sockets:
            sockets[port] = socket.socket(type=socket.SOCK_DGRAM)
            sockets[port].bind(("10.1.0.1", port))
        sockets[port].setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        for _ in range(count):
            sockets[port].sendto(bytes(length), ("10.1.0.2", 9))

    def left():
        packets = []
        while select.select([tun], [], [], 2)[0]:
            packets.append(os.read(tun, 1 << 16))
        return packets

    def ports(packets):
        return [struct.unpack_from(">H", packet, 20)[0] for packet in packets]

    left()
    queue("bare", "tbf rate 1mbit burst 2kb over fq_codel target 1s")
    send(5001, 40)
    send(5002, 4)
    packets = left()
    check("flows are told apart without Ethernet", ports(packets).index(5002), lambda at: at < 20)
    check("and none is lost", (len(packets), {len(packet) for packet in packets}), (44, {1000}))

    queue("bare", "tbf rate 1mbit burst 2kb over codel target 2ms interval 20ms ecn")
    send(5001, 60, 46 << 2 | ECT0)
    tos = [packet[1] for packet in left()]
    _, report = counted("bare")
    marks = tos.count(46 << 2 | CE)
    check("marks arrive", marks, report["ecn_mark"])
    check("on some packets", (marks, len(tos)), lambda both: 2 < both[0] < both[1] == 60)

    # As Linux's own, which charges from the network header on.
    figures = []
    for text in ["linux cake bandwidth 1mbit diffserv4 overhead 30 mpu 100",
                 "cake bandwidth 1mbit diffserv4 overhead 30 mpu 100"]:
        queue("bare", text)
        for dscp, length in [(0, 972), (46, 172), (34, 572), (8, 2)]:
            send(5001, 10, dscp << 2, length)
        left()
        if text.startswith("linux "):
            report = json.loads(run("tc -s -j qdisc show dev bare"))[0]
        else:
            _, report = counted("bare")
        lengths = ["max_network_size", "max_adj_size", "min_network_size", "min_adj_size",
                   "avg_hdr_offset"]
        figures.append([report[name] for name in lengths]
                       + [tin["sent_packets"] for tin in report["tins"]])
    check("CAKE's lengths and tins are Linux's", figures[1], figures[0])


pair()
super_packets()
without_ethernet()
print(f"{len(failed)} failed")
sys.exit(bool(failed))
