#!/usr/bin/env python3
"""How the cost of a run grows with flows, links and radios.

    python3 benches/scale.py                        every case, CPU time, five rounds
    python3 benches/scale.py radios links --rounds 9
    python3 benches/scale.py --count                instructions and modelled cache misses instead
    python3 benches/scale.py --program PATH         another program than target/release/sojourn

Each case is one scenario in several sizes, which the script writes. The sizes are run in turn
(A B C A B C), so that a change of the machine's speed affects all of them. Each size is run twice,
the second time several times as long. The difference is divided by what was done meanwhile: packets
of the bottleneck (flows), packets of all queues (links) or events (radios). Set-up, slow start and
results are in both runs and fall out.

Two costs are printed, and each is compared with that of the smallest size or of the one that the
aim names. The first is of the fastest run of each length: what else goes on in the machine can only
make runs slower. The second is of the medians. Where they are far apart the machine is not quiet.

--count needs no quiet machine: it runs each size once under valgrind, with a modelled second-level
cache of 1 MiB. It takes some minutes a size.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from typing import NamedTuple

from cases import CACHES, flows, links, radios, shares

HERE = pathlib.Path(__file__).resolve().parent


def packets(result: dict) -> int:
    """Packets of the bottleneck."""
    return result["cost"]["bottleneck_packets"]


def sent(result: dict) -> int:
    """Packets that all queues sent."""
    return sum(link["dequeued_packets"] for link in result["links"].values())


class Case(NamedTuple):
    """How a scenario grows."""

    make: Callable[[int], str]
    #: Both lengths in seconds by size. Small runs are longer, to be measured at all.
    lengths: dict[int, tuple[float, float]]
    #: With which size the others are compared.
    base: int
    unit: str
    #: What is counted.
    units: Callable[[dict], int]
    aim: str


CASES = {
    "shares": Case(
        shares, {36: (70, 350), 100: (25, 125), 1000: (5, 15), 10_000: (2, 6)}, 36,
        "packet", packets, "10 000 flows of 1 Mbit/s at most 2 times 36",
    ),
    "flows": Case(
        flows, dict.fromkeys([36, 100, 1000, 3600, 10_000], (2, 6)), 36,
        "packet", packets, "10 000 flows of one link of 10 Gbit/s at most 2 times 36",
    ),
    "links": Case(
        links, {2: (8, 40), 10: (4, 20), 50: (1, 5), 100: (1, 5), 200: (0.5, 2.5)}, 10,
        "hop", sent, "200 links at most 1.5 times 10",
    ),
    "radios": Case(
        radios, {10: (200, 1000), 50: (50, 250), 500: (10, 50), 2000: (10, 50)}, 10,
        "event", lambda result: result["cost"]["events"],
        "2000 radios at most 2 times 10",
    ),
}


def run(program: str, text: str, seconds: float, place: pathlib.Path, counts: bool) -> dict:
    """One run: its result, and what valgrind counted."""
    file, out = place / "scale.toml", place / "valgrind.out"
    file.write_text(text)
    words = [program, "run", str(file), "--json", "--quiet", "--jobs", "1"]
    words += ["--set", f"duration={round(seconds * 1e6)}us"]
    if counts:
        valgrind = ["valgrind", "--tool=cachegrind", *CACHES, f"--cachegrind-out-file={out}"]
        words = [*valgrind, *words]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout)["cells"][0]
    result["ns"] = result["cost"]["cpu_s"] * 1e9
    if counts:
        text = out.read_text()
        names = re.search(r"^events: (.*)$", text, re.M)[1].split()
        totals = re.findall(r"^summary: (.*)$", text, re.M)[-1].split()
        result |= dict(zip(names, map(int, totals)))
    return result


def both(options, case: Case, size: int, place: pathlib.Path) -> list[dict]:
    """A run of each length."""
    lengths = case.lengths[size]
    if options.count:
        # Of instructions a few are enough: no more seconds than the largest size has.
        most = case.lengths[max(case.lengths)]
        lengths = (min(lengths[0], most[0]), min(lengths[0], most[0]) + (most[1] - most[0]) / 4)
    text = case.make(size)
    return [run(options.program, text, length, place, options.count) for length in lengths]


def cost(runs: list[list[dict]], done: int, key: str, of: Callable[[list[float]], float]) -> float:
    """What one unit costs, by the fastest runs or by the medians of both lengths."""
    before, after = (of([one[length][key] for one in runs]) for length in (0, 1))
    return (after - before) / done


def main() -> None:
    """Measures and prints a table of each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", nargs="*", help=" ".join(CASES))
    parser.add_argument("--program", default=str(HERE.parent / "target/release/sojourn"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", action="store_true", help="instructions and misses, not time")
    parser.add_argument("--sizes", type=lambda word: [int(size) for size in word.split(",")])
    options = parser.parse_args()
    for name in options.case or CASES:
        if name not in CASES:
            parser.error(f"no case {name}: there are {', '.join(CASES)}")
        case = CASES[name]
        sizes = options.sizes or list(case.lengths)
        for size in sizes:
            if size not in case.lengths:
                known = ", ".join(map(str, case.lengths))
                parser.error(f"{name} has no size {size}: it has {known}")
        runs: dict[int, list[list[dict]]] = {size: [] for size in sizes}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(1 if options.count else options.rounds):
                for size in sizes:
                    runs[size].append(both(options, case, size, pathlib.Path(folder)))
        print(f"{name}: {case.aim}")
        base = case.base if case.base in sizes else sizes[0]
        done = {size: case.units(all[0][1]) - case.units(all[0][0]) for size, all in runs.items()}
        key = "Ir" if options.count else "ns"
        ways = [min] if options.count else [min, statistics.median]
        first = [cost(runs[base], done[base], key, of) for of in ways]
        for size in sizes:
            costs = [cost(runs[size], done[size], key, of) for of in ways]
            ratios = [f"{now / than:.2f} x" for now, than in zip(costs, first)]
            line = f"{size:6} {name:7} {costs[0]:8.0f} "
            if options.count:
                missed = [cost(runs[size], done[size], kind, min) for kind in ("DLmr", "DLmw")]
                line += f"instructions a {case.unit}, {ratios[0]}, "
                line += f"{missed[0]:.2f} missed reads, {missed[1]:.2f} writes,"
            else:
                line += f"ns a {case.unit}, {ratios[0]}, median {costs[1]:.0f} ns, {ratios[1]},"
            memory = runs[size][-1][1]["cost"]["peak_rss_bytes"] / 2**20
            print(f"{line} {memory:.0f} MiB, {done[size]} {case.unit}s", flush=True)


if __name__ == "__main__":
    main()
