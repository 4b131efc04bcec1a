#!/usr/bin/env python3
"""How fast the kernel world is: virtual seconds per second of real time, of one guest.

    python3 benches/kernel.py [--sojourn PROGRAM] [--rounds N] [--against PROGRAM]

Runs each case in a guest, one at a time, and prints the best of the rounds: real time, processor
time of the whole guest, and virtual time over each. With --against another program runs the same
cases in turn with the first, so that a change of the machine's speed hits both.

docs/benchmarks.md says what the cases are.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent / "scenarios"
# Scenario, virtual seconds, further arguments.
CASES = {
    "kernel's queues": ("bench/rrul-like", 60, ["--queues", "kernel"]),
    "our bridge": ("demo", 30, ["--set", "dumbbell.qdisc=fq_codel"]),
}


def run(program, case):
    """Real and processor time of a case."""
    scenario, seconds, more = CASES[case]
    with tempfile.TemporaryDirectory() as out:
        command = [program, "run", SCENARIOS / f"{scenario}.toml", "--world", "kernel", "--jobs", "1",
                   "--set", f"duration={seconds}s", "--out", out, *more]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{case}: exit {done.returncode}:\n{done.stderr[-2000:]}")
        cell = json.loads((pathlib.Path(out) / "summary.json").read_text())["cells"][0]
    return cell["cost"]["wall_s"], cell["cost"]["cpu_s"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sojourn", default="target/release/sojourn")
    parser.add_argument("--against")
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    programs = [program for program in (arguments.sojourn, arguments.against) if program]
    print(f"{'case':<16} {'program':<28} {'virtual s':>9} {'real s':>7} {'ratio':>6} {'CPU s':>6} {'ratio':>6}")
    for case, (_, seconds, _) in CASES.items():
        times = {program: [] for program in programs}
        for _ in range(arguments.rounds):
            for program in programs:
                times[program].append(run(program, case))
        for program in programs:
            wall, cpu = (min(column) for column in zip(*times[program]))
            print(f"{case:<16} {program[-28:]:<28} {seconds:>9} {wall:>7.1f} {seconds / wall:>6.1f} "
                  f"{cpu:>6.1f} {seconds / cpu:>6.1f}", flush=True)


main()
