#!/usr/bin/env python3
"""What a frame costs through a bridge on veth, by what the processors do for it.

    python3 benches/frame.py [--size 1514|100] [--rounds N] [--functions N] [--bench PROGRAM]

Records the whole machine (`perf record -a -g -e cpu-clock`, as root) while the bench `bridge` of
crates/live sends datagrams, through the kernel's bridge and through AF_XDP in turn, and counts
samples of the bench's threads, and those in others' time with `net_rx_action`: so that it holds on
a machine with other work too. Medians of the rounds, ns a frame; with --functions the ones that
take most, of one round.
"""
import argparse
import collections
import json
import statistics
import subprocess
import sys
import tempfile

CASES = ["kernel bridge", "pfifo, AF_XDP"]
HERTZ = 2000
# The first that a sample's calls have says what it was for.
PARTS = [
    ("veth's NAPI, XDP program", ["veth_poll"]),
    ("bridge in the kernel, far host", ["ip_rcv", "__netif_receive_skb"]),
    ("AF_XDP's sendto", ["xsk_generic_xmit", "__xsk_generic_xmit"]),
    ("sender's sendto", ["udp_sendmsg", "__x64_sys_sendto"]),
    ("waiting", ["hrtimer_nanosleep", "do_sys_poll"]),
    ("other system calls", ["do_syscall_64", "entry_SYSCALL_64"]),
    ("outside the kernel", [""]),
]


def built():
    """The bench's program."""
    command = ["cargo", "bench", "-p", "sojourn-live", "--bench", "bridge", "--no-run",
               "--message-format=json"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in lines.splitlines()]
    found = [message["executable"] for message in messages if message.get("executable")]
    return found[-1]


def samples(recorded):
    """The calls of each sample that counts, the innermost first."""
    fields = ["-F", "comm,tid,ip,sym"]
    command = ["perf", "script", "-i", recorded, *fields]
    script = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for sample in script.split("\n\n"):
        name, *calls = sample.strip().split("\n")
        calls = [(call.split(None, 1) + [""])[1] for call in calls]
        if name.strip().startswith("bridge-") or "net_rx_action" in calls:
            yield calls or [""]


def round_of(bench, case, size):
    """ns a frame of each part, and of each function in it."""
    with tempfile.NamedTemporaryFile() as recorded:
        record = ["perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-F", str(HERTZ),
                  "-o", recorded.name, bench, "--once", "--alone", "--halting", str(size), case]
        done = subprocess.run(record, capture_output=True, text=True)
        row = [line for line in done.stdout.splitlines() if line.startswith(case)]
        if done.returncode != 0 or not row:
            sys.exit(f"{case}: exit {done.returncode}:\n{done.stderr[-2000:]}")
        # Four figures of TCP, and five of each size.
        figures = [float(figure) for figure in row[0][23:].split()]
        nanos = 1e9 / HERTZ / (figures[4 if size == 100 else 9] * 1e3)
        parts = collections.defaultdict(collections.Counter)
        for calls in samples(recorded.name):
            part = next(part for part, starts in PARTS
                        if any(call.startswith(tuple(starts)) for call in calls))
            parts[part][calls[0]] += nanos
        return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, choices=[100, 1514], default=1514)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--functions", type=int, default=0)
    parser.add_argument("--bench")
    arguments = parser.parse_args()
    bench = arguments.bench or built()
    rounds = {case: [] for case in CASES}
    for _ in range(arguments.rounds):
        for case in CASES:
            rounds[case].append(round_of(bench, case, arguments.size))
    def median(case, values):
        return statistics.median(values(parts) for parts in rounds[case])
    print(f"{'':<32}" + "".join(f"{case:>16}" for case in CASES))
    for part, _ in PARTS:
        took = [median(case, lambda parts: parts[part].total()) for case in CASES]
        print(f"{part:<32}" + "".join(f"{nanos:>16.0f}" for nanos in took))
        for case in CASES if arguments.functions else []:
            first = rounds[case][0][part].most_common(arguments.functions)
            print(f"    {case}: " + ", ".join(f"{call} {nanos:.0f}" for call, nanos in first))
    total = [median(case, lambda parts: sum(part.total() for part in parts.values()))
             for case in CASES]
    print(f"{'all':<32}" + "".join(f"{nanos:>16.0f}" for nanos in total))
    print(f"{'to the kernel bridge':<32}" + "".join(f"{nanos / total[0]:>16.2f}" for nanos in total))


main()
