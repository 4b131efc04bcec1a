#!/usr/bin/env python3
"""Whether one program is faster than another: both in turn, on a machine that may be busy.

    python3 benches/pairs.py BEFORE AFTER [CASE...] [--rounds N]

BEFORE and AFTER are programs of `count` or `cost` (crates/sim/benches) or commits, which are built
as by `instructions.py --against`; `.` is this work tree as it is. Cases are those of
instructions.py, with a longer run of some tenths of a second to some seconds.

A round runs both programs one after the other, every second round the other one first, each with a
shorter and a longer run. It gives a ratio of their CPU times in user mode: of the longer run as a
whole, and of the longer run less the shorter one. The latter has no set-up and no slow start, but
is a difference of two times. Of all rounds the medians are printed, with the quartiles in brackets.
If a median's quartiles lie on both sides of 1, more rounds are needed, or there is no difference.
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import instructions
from cases import CASES, named


def programs(word):
    """The benches by name, of a program, a commit or this work tree."""
    path = pathlib.Path(word)
    if word == ".":
        return instructions.build()
    if path.is_file():
        return dict.fromkeys(instructions.BENCHES, str(path.resolve()))
    return instructions.build_commit(word)[1]


def run(program, words):
    """CPU seconds in user mode, and what the run said."""
    read, write = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)]
    child = os.posix_spawn(program, [program, *words], os.environ, file_actions=actions)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        said = pipe.read()
    _, status, used = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{program} {' '.join(words)}: exit {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime, said


def ratios(both, case, rounds):
    """Of each round the ratios of whole runs and of differences, seconds, and what was said."""
    whole, less, seconds, said = [], [], [], [set(), set()]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            times = [0.0, 0.0]
            differences = [0.0, 0.0]
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                program = both[side][case.bench]
                short, _ = run(program, case.words(case.timed[0], folder))
                times[side], words = run(program, case.words(case.timed[1], folder))
                differences[side] = times[side] - short
                said[side].add(words)
            whole.append(times[1] / times[0])
            less.append(differences[1] / differences[0])
            seconds.append(times[0])
    return whole, less, statistics.median(seconds), said[0] == said[1]


def median(values):
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="a program, a commit, or .")
    parser.add_argument("after", help="a program, a commit, or .")
    sized = "flows-N shares-N links-N radios-N"
    parser.add_argument("case", nargs="*", help=" ".join([*CASES, sized]))
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("quartiles need two rounds at least")
    cases = named(options.case, CASES)
    both = [programs(options.before), programs(options.after)]
    for name, case in cases.items():
        whole, less, seconds, same = ratios(both, case, options.rounds)
        print(
            f"{name:11} longer less shorter {median(less)}, whole {median(whole)},"
            f" {seconds:.2f} s, {'the same run' if same else 'ANOTHER RUN'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
