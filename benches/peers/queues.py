#!/usr/bin/env python3
"""CPU cost of our queues beside DPDK's hierarchical scheduler (rte_sched): one packet in and out.

    python3 benches/peers/queues.py [--rounds N] [--flows 32,1024] [--cost PROGRAM]

One packet of each flow waits; one enters and one leaves. Contestants run in turn (A B C A B C), each
twice, with few packets and with many, and the difference counts. Medians are compared, and shown as
a ratio to our fq_codel. All flows of ours belong to one host, the worst case for CAKE's host
isolation; with `own` each has a host of its own.

rte_sched is Debian's (dpdk-dev), called by rte_sched.c: each flow is a pipe of its own. It has token
buckets, strict and weighted queues, but it hashes no headers, keeps no time and has no AQM: packets
are classified before the clock starts. It is made for bursts, so that it is shown with one packet a
call and with 32.
"""
import argparse
import json
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import instructions

OURS = ["fq_codel", "cake besteffort", "cake besteffort own", "cake diffserv4"]
LIBRARIES = ["-lrte_sched", "-lrte_mbuf", "-lrte_mempool", "-lrte_ring", "-lrte_eal"]
PACKETS = (200_000, 2_200_000)


def execute(command):
    """What a program says, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}:\n{done.stderr[-1000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout, cpu


def dpdk():
    """Compiles rte_sched.c, again when it has changed; None where DPDK is missing."""
    source, program = HERE / "rte_sched.c", instructions.HERE / "peers/build/rte_sched"
    if not pathlib.Path("/usr/include/dpdk/rte_sched.h").exists() or not shutil.which("pkg-config"):
        print("left out: rte_sched: not installed (Debian: libdpdk-dev, pkg-config)")
        return None
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(exist_ok=True)
        flags, _ = execute(["pkg-config", "--cflags", "libdpdk"])
        execute(["gcc", "-O3", "-w", *flags.split(), str(source), "-o", str(program), *LIBRARIES])
    return str(program)


def contestants(cost, program, flows):
    """Each by name: nanoseconds a packet of one run."""

    def ours(spec):
        bare, own = spec.removesuffix(" own"), ["own"] if spec.endswith(" own") else []

        def run():
            # CPU time of whole processes: building the queue is in both runs.
            few, many = (
                execute([cost, "packets", str(count), bare, str(flows), *own])[1]
                for count in PACKETS
            )
            return (many - few) * 1e9 / (PACKETS[1] - PACKETS[0])

        return run

    def theirs(burst):
        def run():
            said, _ = execute([program, str(flows), str(burst), str(PACKETS[1])])
            told = json.loads(said.splitlines()[-1])
            return told["cpu_s"] * 1e9 / told["packets"]

        return run

    all_of_them = {spec: ours(spec) for spec in OURS}
    if program:
        all_of_them |= {f"rte_sched, bursts of {burst}": theirs(burst) for burst in (1, 32)}
    return all_of_them


def main():
    """Measures and prints a row for each contestant and number of flows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--flows", default="32,1024,10000")
    parser.add_argument("--cost", help="the built program of crates/sim/benches/cost.rs")
    options = parser.parse_args()
    cost = options.cost or instructions.build()["cost"]
    program = dpdk()
    for flows in map(int, options.flows.split(",")):
        runs = contestants(cost, program, flows)
        taken = {name: [] for name in runs}
        for _ in range(options.rounds):
            for name, run in runs.items():
                taken[name].append(run())
        print(f"{flows} flows")
        first = statistics.median(taken[OURS[0]])
        for name, each in taken.items():
            middle = statistics.median(each)
            print(f"  {name:24} {middle:6.0f} ns ({min(each):.0f}..{max(each):.0f})"
                  f" {middle / first:5.2f} x", flush=True)


if __name__ == "__main__":
    main()
