#!/usr/bin/env python3
"""How the cost of a run grows with flows, links and radios.

    python3 benches/scale.py                        every case, CPU time, three rounds
    python3 benches/scale.py radios links --rounds 5
    python3 benches/scale.py --count                instructions and modelled cache misses instead
    python3 benches/scale.py --program PATH         another program than target/release/sojourn

Each case is one scenario in several sizes, which the script writes. The sizes are run in turn
(A B C A B C), so that a change of the machine's speed affects all of them. Each size is run twice,
the second time longer. The difference is divided by what was done meanwhile: packets of the
bottleneck (flows), packets of all queues (links) or events (radios). Set-up, slow start and results
are in both runs and fall out. Medians are compared with the smallest size.

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

from cases import CACHES, flows, links, radios

HERE = pathlib.Path(__file__).resolve().parent


def sent(result: dict) -> int:
    """Packets that all queues sent."""
    return sum(link["dequeued_packets"] for link in result["links"].values())


# What makes the scenario, its sizes, both lengths in seconds, what is counted, the aim.
CASES = {
    "flows": (
        flows, [36, 100, 1000, 3600, 10_000], (2.0, 3.0),
        ("packet", lambda result: result["cost"]["bottleneck_packets"]),
        "10 000 flows at most 2 times 36",
    ),
    "links": (
        links, [2, 10, 50, 100, 200], (1.0, 3.0), ("hop", sent), "200 links at most 1.5 times 10"
    ),
    "radios": (
        radios, [10, 50, 500, 2000], (5.0, 15.0),
        ("event", lambda result: result["cost"]["events"]),
        "2000 radios at most 2 times 10",
    ),
}
# Small runs are so many times longer, to be measured at all, and large ones shorter.
LONGER = {
    ("links", 2): 8, ("links", 10): 4, ("links", 50): 0.5, ("links", 100): 0.5, ("links", 200): 0.25,
    ("radios", 10): 40, ("radios", 50): 10, ("radios", 2000): 0.5,
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


def difference(options, name: str, size: int, place: pathlib.Path) -> dict[str, float]:
    """What one unit costs at this size, and the memory of the longer run."""
    make, _, lengths, (_, units), _ = CASES[name]
    # Of instructions a few are enough.
    longer = min(LONGER.get((name, size), 1), 1 if options.count else 1000)
    text = make(size)
    before, after = (
        run(options.program, text, length * longer, place, options.count) for length in lengths
    )
    done = units(after) - units(before)
    keys = ("Ir", "DLmr", "DLmw") if options.count else ("ns",)
    cost = {key: (after[key] - before[key]) / done for key in keys}
    return cost | {"units": done, "mib": after["cost"]["peak_rss_bytes"] / 2**20}


def main() -> None:
    """Measures and prints a table of each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", nargs="*", help=" ".join(CASES))
    parser.add_argument("--program", default=str(HERE.parent / "target/release/sojourn"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", action="store_true", help="instructions and misses, not time")
    parser.add_argument("--sizes", type=lambda word: [int(size) for size in word.split(",")])
    options = parser.parse_args()
    for name in options.case or CASES:
        if name not in CASES:
            parser.error(f"no case {name}: there are {', '.join(CASES)}")
        _, sizes, _, (unit, _), aim = CASES[name]
        sizes = options.sizes or sizes
        runs: dict[int, list[dict[str, float]]] = {size: [] for size in sizes}
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(1 if options.count else options.rounds):
                for size in sizes:
                    runs[size].append(difference(options, name, size, pathlib.Path(folder)))
        main_key = "Ir" if options.count else "ns"
        print(f"{name}: {aim}")
        first = statistics.median(one[main_key] for one in runs[sizes[0]])
        for size in sizes:
            costs = [one[main_key] for one in runs[size]]
            cost, last = statistics.median(costs), runs[size][-1]
            line = f"{size:6} {name:7} {cost:8.0f} {'instructions' if options.count else 'ns'} a {unit}"
            line += f" ({min(costs):.0f}..{max(costs):.0f}), {cost / first:.2f} x,"
            if options.count:
                line += f" {last['DLmr']:.2f} missed reads, {last['DLmw']:.2f} writes,"
            print(f"{line} {last['mib']:.0f} MiB, {last['units']:.0f} {unit}s", flush=True)


if __name__ == "__main__":
    main()
