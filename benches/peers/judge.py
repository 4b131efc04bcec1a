#!/usr/bin/env python3
"""ns-3 in the cells of the fidelity matrix, as a table that `sojourn judge` reads.

    python3 benches/peers/judge.py FILE [--seeds N] [--jobs N] [--cell TEXT] [--sojourn PROGRAM]

Runs each recorded cell of the phases start-up, steady, overload and wide that ns-3 can have (all
but CAKE's) with Debian's ns-3 (libns3-dev), and writes means over seeds with half the width of
their 95 % intervals into FILE. `sojourn judge FILE` then says how far they are from Linux.

What is set: the queue's parameters, segments of 1448 bytes with timestamps, SACK, socket buffers
of 6 MB, and the rate of ns-3's point-to-point link, whose header is 12 bytes shorter than
Ethernet's. All else is ns-3's own choice: initial window, delayed ACKs, recovery, PIE's dice. Start
times are drawn as the cells say, by ns-3's dice.
"""
import argparse
import concurrent.futures
import csv
import io
import math
import os
import statistics
import subprocess
import sys

from run import Ns3, ROOT, execute, last_json_line

# Of a phase: simulated seconds, from when on it is measured, spread of starts and probe's interval
# (scenarios/fidelity/*.toml).
PHASES = {
    "start-up": (4, 0, 0.02, 0.01),
    "steady": (20, 5, 0.5, 0.02),
    "overload": (10, 2, 0.02, 0.02),
    "wide": (10, 3, 0.5, 0.02),
}
CONTROLS = {"cubic": "Cubic", "reno": "LinuxReno", "bbr": "Bbr", "westwood": "WestwoodPlus"}
FLOWS = {"codel": "codel", "fq_codel": "fqcodel", "pie": "pie", "fq_pie": "fqpie"}
# tc's limits in packets where none is given.
LIMITS = {"codel": 1000, "fq_codel": 10240, "pie": 1000, "fq_pie": 10240}
# A full packet on Ethernet, and behind ns-3's point-to-point header.
ETHERNET, PPP = 1514, 1502
# Quantiles of Student's distribution at 0.975, by degrees of freedom from 1 on.
STUDENT = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
)


def queue(text):
    """ns-3's options for a queue in tc's words; none when it has no such queue."""
    words = text.split()
    options = dict(zip(words[1::2], words[2::2]))
    if words[0] == "pfifo":
        return {"aqm": "fifo", "buffer": options["limit"]}
    if words[0] == "red":
        least, mean, burst = (float(options[key]) for key in ("min", "avpkt", "burst"))
        return {
            "aqm": "red", "redBytes": 1, "buffer": options["limit"], "minTh": options["min"],
            "maxTh": options["max"], "qw": weight(burst, least / mean),
            "linterm": 1 / float(options["probability"]),
        }
    if words[0] in FLOWS and len(words) == 1:
        return {"aqm": FLOWS[words[0]], "buffer": LIMITS[words[0]]}
    return None


def weight(burst, least):
    """RED's weight as tc finds it: the first power of 1/2 whose average stays below `least`
    packets during a burst."""
    for power in range(1, 32):
        w = 2.0**-power
        if burst + 1 - least <= (1 - (1 - w) ** burst) / w:
            return w
    raise ValueError("no weight for this burst")


def options(cell):
    """ns-3's options for a cell; none when it cannot have it."""
    duration, start, spread, gap = PHASES[cell["phase"]]
    chosen = queue(cell["queue"])
    if chosen is None:
        return None
    rate = float(cell["rate"].removesuffix("mbit")) * 1e6 * PPP / ETHERNET
    rtt = float(cell["rtt"].removesuffix("ms"))
    flood = {"floodRate": "12Mbps"} if cell["phase"] == "overload" else {}
    return chosen | flood | {
        "aqmReverse": 1, "tcp": CONTROLS[cell["cc"] or "cubic"], "flows": cell["flows"] or 1,
        "bottleneckRate": f"{rate:.0f}bps", "accessRate": "100Gbps", "accessDelay": "0ms",
        "bottleneckDelay": f"{rtt / 2}ms", "segment": 1448, "sockbuf": 6_000_000,
        "duration": duration, "measureFrom": start, "startSpread": spread, "probeGap": gap,
        "eachFlow": 0,
    }


def figures(program, chosen, rtt, seed):
    """What a run gives, in the table's order; None for what it does not have."""
    command = [program, *(f"--{key}={value}" for key, value in chosen.items()), f"--seed={seed}"]
    run = last_json_line(execute(command))
    measured = run["measured"]
    return [
        measured["received_mbps"],
        run["probe_rtt_p50_ms"] - rtt,
        run["probe_rtt_p95_ms"] - rtt,
        measured["drops"],
        measured["retransmissions"],
        measured["jain"] if int(chosen["flows"]) > 1 else None,
        None,
    ]


def summary(values):
    """Mean and half the width of its interval, as the table's two fields."""
    if None in values:
        return ["", ""]
    half = STUDENT[len(values) - 2] * statistics.stdev(values) / math.sqrt(len(values))
    return [f"{statistics.mean(values):.4f}", f"{half:.4f}"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file")
    parser.add_argument("--seeds", type=int, default=6, help=f"2 to {len(STUDENT) + 1}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--cell", default="", help="only cells with this in their line")
    parser.add_argument("--sojourn", default=str(ROOT / "target/release/sojourn"))
    given = parser.parse_args()
    if not 2 <= given.seeds <= len(STUDENT) + 1:
        parser.error(f"--seeds is 2 to {len(STUDENT) + 1}")
    table = list(csv.reader(io.StringIO(execute([given.sojourn, "judge", "--cells"]))))
    head, cells = table[0], [line for line in table[1:] if given.cell in ",".join(line)]
    program = Ns3.program()
    version = subprocess.check_output(
        ["dpkg-query", "-W", "-f", "${Version}", "libns3-dev"], text=True
    ).split("-")[0].replace(".", "-")
    with (
        concurrent.futures.ThreadPoolExecutor(given.jobs) as pool,
        open(given.file, "w", newline="") as file,
    ):
        out = csv.writer(file, lineterminator="\n")
        out.writerow(head)
        runs = []
        for line in cells:
            cell = dict(zip(head[:6], line))
            chosen = options(cell) if cell["phase"] in PHASES else None
            if chosen is not None:
                rtt = float(cell["rtt"].removesuffix("ms"))
                of_cell = [
                    pool.submit(figures, program, chosen, rtt, seed)
                    for seed in range(1, given.seeds + 1)
                ]
                runs.append((line, of_cell))
        for done, (line, of_cell) in enumerate(runs, 1):
            columns = zip(*(run.result() for run in of_cell))
            fields = [field for values in columns for field in summary(values)]
            out.writerow([*line[:6], f"ns-{version}", given.seeds, *fields])
            file.flush()
            print(f"\r{done} of {len(runs)} cells", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)


if __name__ == "__main__":
    main()
