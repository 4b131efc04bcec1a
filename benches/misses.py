#!/usr/bin/env python3
"""Which memory large runs do not ask for ahead: modelled misses by function and by source line.

    python3 benches/misses.py [CASE...] [--lines N] [--asked] [--check | --record]

A large run asks for memory before it is needed (`sojourn_memory::fetch`), with an instruction that
valgrind does not model. Here the program is built with the feature `reads` of that crate, which
makes each request a read in a function of its own. Cachegrind then counts a line that was asked for
as a miss of the request, and what misses elsewhere was not asked for. As in instructions.py, whose
cases these are, a shorter run is subtracted from a longer one, and what remains is divided by the
packets. The second level of the modelled cache has 1 MiB. A read that comes so soon after its
request that the memory cannot be there yet does not count as a miss.

--asked also runs the program as it is, where no request is modelled: what there would be to ask
for. --check fails if more than 5 % more or less is not asked for than benches/misses.tsv says, and
--record writes that file. The tolerance is wider than that of instructions: where the program's
data lie changes with each build, and so does which of it shares a set of the cache.
"""
import argparse
import collections
import concurrent.futures
import os
import sys
import tempfile

import instructions
from cases import CACHES, LARGE, ROOT, named

RECORDED = ROOT / "benches/misses.tsv"
TOLERANCE = 0.05
REQUESTS = "sojourn_memory::fetch"


def run(program, words, out):
    """Misses of reads and of writes by place, and the packets of the busiest queue."""
    valgrind = ["valgrind", "--tool=cachegrind", *CACHES, f"--cachegrind-out-file={out}"]
    said = instructions.execute([*valgrind, program, *words], env=instructions.ENVIRONMENT).stdout
    reads, writes = instructions.places(out, "DLmr", "DLmw")
    return reads, writes, int(said.split()[0])


def measure(program, case):
    """Misses a packet by place: of reads, of writes."""
    short, long = case.counted
    with tempfile.TemporaryDirectory() as folder:
        *before, fewer = run(program, case.words(short, folder), f"{folder}/out")
        *after, more = run(program, case.words(long, folder), f"{folder}/out")
    units = case.units(more - fewer, long - short)
    for now, was in zip(after, before):
        now.subtract(was)
    return [{place: misses / units for place, misses in kind.items()} for kind in after]


def total(kind, requests=False):
    places = kind.items()
    return sum(n for place, n in places if place.function.startswith(REQUESTS) == requests)


def show(kinds, number):
    """The functions and lines that miss most, without the requests."""
    for title, name in [
        ("function", lambda place: place.function),
        ("source line", lambda place: f"{place.file}:{place.line}"),
    ]:
        sums = collections.defaultdict(lambda: [0.0, 0.0])
        for column, kind in enumerate(kinds):
            for place, misses in kind.items():
                if not place.function.startswith(REQUESTS):
                    sums[name(place)][column] += misses
        print(f"   reads  writes  {title}")
        for key in sorted(sums, key=lambda key: -sum(sums[key]))[:number]:
            print(f"  {sums[key][0]:6.2f}  {sums[key][1]:6.2f}  {key[:110]}")


def recorded():
    rows = RECORDED.read_text().splitlines()[1:] if RECORDED.exists() else []
    return {case: (float(misses), rustc) for case, misses, rustc in (r.split("\t") for r in rows)}


def record(found):
    rows = recorded() | {case: (misses, instructions.compiler()) for case, misses in found.items()}
    lines = [f"{case}\t{misses:.3f}\t{rustc}\n" for case, (misses, rustc) in rows.items()]
    RECORDED.write_text("case\tnot asked for\trustc\n" + "".join(lines))


def check(found):
    """Ends with what differs from what is recorded."""
    rows, problems = recorded(), []
    for case, now in found.items():
        was, rustc = rows.get(case, (0.0, instructions.compiler()))
        if rustc != instructions.compiler():
            print(f"{case} is not held: recorded with {rustc}")
        elif abs(now - was) > TOLERANCE * was:
            problems.append(f"{case}: {now:.3f} not asked for, recorded {was:.3f}")
    if problems:
        sys.exit("\n".join(problems) + "\nIf that is wanted: benches/misses.py CASE... --record")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", nargs="*", help=f"as of instructions.py; else {' '.join(LARGE)}")
    parser.add_argument("--lines", type=int, default=20, metavar="N", help="list the N largest")
    parser.add_argument("--asked", action="store_true", help="also without any request")
    parser.add_argument("--check", action="store_true", help="hold them to what was recorded")
    parser.add_argument("--record", action="store_true", help="record them")
    options = parser.parse_args()
    cases = named(options.case, LARGE)
    programs = {"not asked for": instructions.build(features=["sojourn-memory/reads"])}
    if options.asked:
        programs["without any request"] = instructions.build()
    found = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {
            (name, what): pool.submit(measure, built[case.bench], case)
            for name, case in cases.items()
            for what, built in programs.items()
        }
        for (name, what), future in runs.items():
            kinds = future.result()
            reads, writes = map(total, kinds)
            print(f"{name}, misses a {cases[name].unit} {what}:", end=" ")
            print(f"{reads:.2f} reads, {writes:.2f} writes")
            if what == "not asked for":
                found[name] = reads + writes
                print(f"  (asked for: {total(kinds[0], requests=True):.2f})")
            show(kinds, options.lines)
    if options.record:
        record(found)
    if options.check:
        check(found)


if __name__ == "__main__":
    main()
