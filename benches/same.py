#!/usr/bin/env python3
"""Whether every scenario of this repository runs as in another commit, event for event and figure
for figure: the proof of a change that only makes the simulator faster.

    python3 benches/same.py --against COMMIT [PART...]
    python3 benches/same.py --programs BEFORE AFTER [PART...]

Runs the first cell of each scenario below scenarios/ and studies/ whose path contains every PART,
cut to a few seconds, in both programs (crates/sim/benches/count.rs), and compares the digest of the
events and that of all figures and series. The exit status is 1 if any differs, or none runs: a
commit from before `--figures` has nothing to compare.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys

import instructions

LENGTH = "4s"
# Those that are long for their size, and at least as long as their flows take to begin.
LENGTHS = {"10g-36-": "0.8s", "10g-36": "1.15s", "1g-36-": "2s", "crowd-10g": "1s", "crowd": "2s"}
PATIENCE = 300


def lengths(path):
    """What to set, the shortest first, until the scenario takes it."""
    length = next((length for part, length in LENGTHS.items() if part in path), LENGTH)
    return [f"duration={length}"], [f"duration={length}", "warmup=1s"], ["duration=30s"], []


def run(program, path, sets):
    command = [program, path, *sets, "--figures"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def compare(programs, path):
    """What both programs say of a scenario, and of which length."""
    before, after = programs
    for sets in lengths(path):
        if said := run(before, path, sets):
            return said, run(after, path, sets), sets
    return None, None, []


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="*", help="of the path")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--against", metavar="COMMIT", help="build this one and that")
    which.add_argument("--programs", nargs=2, metavar="FILE", help="both, built before")
    options = parser.parse_args()
    os.chdir(instructions.ROOT)
    if options.programs:
        programs = [os.path.abspath(program) for program in options.programs]
    else:
        programs = instructions.build_commit(options.against)[1]["count"]
        programs = [programs, instructions.build()["count"]]
    listed = instructions.execute(["git", "ls-files", "scenarios", "studies"]).stdout.split()
    paths = [p for p in listed if p.endswith(".toml") and "study.toml" not in p]
    paths = [p for p in paths if all(part in p for part in options.part)]
    ran, others = 0, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: compare(programs, path), paths)
        for path, (before, after, sets) in zip(paths, results):
            ran += before is not None
            if before != after:
                others += 1
                print(f"{path} {' '.join(sets)}: {before} became {after}", flush=True)
    print(f"{ran} of {len(paths)} scenarios ran, {others} are others")
    sys.exit(others > 0 or ran == 0)


if __name__ == "__main__":
    main()
