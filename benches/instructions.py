#!/usr/bin/env python3
"""Instructions per packet of the bench scenarios: a figure that needs no quiet machine.

    python3 benches/instructions.py [CASE...] [--against COMMIT] [--sojourn PROGRAM]
                                    [--cache] [--functions N] [--json FILE]

Runs each case twice under valgrind's callgrind, the second time a little longer, and divides the
difference of the instructions by the difference of the packets that the busiest queue sent: what
a packet costs with its ACKs on a link that is full. Reading the scenario, slow start and writing
the results are in both and fall out.

--against builds another commit of this repository in a work tree of its own (benches/build) and
counts the same cases there: the ratio of both, and whether the runs were the same event for event.
--cache models the caches too: a second level of 1 MiB, without prefetching. --functions lists
where the instructions of the longer run are, each with what it calls.

docs/benchmarks.md says what the cases are.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = HERE / "build"
# Scenario and the lengths of both runs in seconds, as short as a full link allows.
CASES = {
    "1g": ("1g-36-cubic", 2.0, 4.0),
    "10g": ("10g-36-cubic", 0.6, 0.8),
    "10g-360": ("10g-360-cubic", 1.2, 1.4),
    "10g-3600": ("10g-3600-cubic", 1.2, 1.4),
    "rrul": ("rrul-like", 10.0, 30.0),
}
CACHES = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64"]


def execute(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def build(commit):
    """The program of another commit."""
    name = execute(["git", "-C", ROOT, "rev-parse", "--short", f"{commit}^{{commit}}"]).strip()
    tree = BUILD / name
    program = tree / "target/release/sojourn"
    if not program.exists():
        print(f"building {name} in {tree} ...", file=sys.stderr, flush=True)
        if not tree.exists():
            execute(["git", "-C", ROOT, "worktree", "add", "--detach", tree, name])
        environment = {**os.environ, "CARGO_TARGET_DIR": str(tree / "target")}
        command = ["cargo", "build", "--release", "--locked", "-q", "-p", "sojourn-cli"]
        execute(command, cwd=tree, env=environment)
    return name, program


def count(program, scenario, seconds, options, out):
    """Events of one run by name, its packets, its digest."""
    run = [program, "run", ROOT / f"scenarios/bench/{scenario}.toml", "--json", "--jobs", "1"]
    run += ["--set", f"duration={seconds}s"]
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
    valgrind += CACHES if options.cache else []
    cell = json.loads(execute(valgrind + run))["cells"][0]
    text = pathlib.Path(out).read_text()
    names = re.search(r"^events: (.*)$", text, re.M)[1].split()
    totals = re.search(r"^(?:totals|summary): (.*)$", text, re.M)[1].split()
    events = dict(zip(names, map(int, totals)))
    return events, cell["cost"]["bottleneck_packets"], cell.get("digest")


def measure(program, case, options):
    scenario, short, long = CASES[case]
    with tempfile.TemporaryDirectory() as directory:
        out = f"{directory}/callgrind.out"
        before, fewer, _ = count(program, scenario, short, options, out)
        after, more, digest = count(program, scenario, long, options, out)
        if options.functions:
            show_functions(out, options.functions)
    per_packet = {name: (after[name] - before[name]) / (more - fewer) for name in after}
    return {
        "packets": more - fewer,
        "instructions": per_packet["Ir"],
        "read_misses": per_packet.get("DLmr"),
        "write_misses": per_packet.get("DLmw"),
        "digest": digest,
    }


def show_functions(out, number):
    text = execute(["callgrind_annotate", "--inclusive=yes", "--show=Ir", "--auto=no", out])
    ours = re.compile(r"%\).*sojourn_(apps|qdisc|random|sim|tcp|world)::")
    lines = [line for line in text.splitlines() if ours.search(line)]
    for line in lines[:number]:
        share = re.search(r"\(\s*([\d.]+%)\)", line)[1]
        name = re.sub(r"^.*?:(?=[\w<])| \[.*$", "", line.split(")", 1)[1].strip())
        print(f"    {share:>7} {name[:100]}")


def show(case, ours, other):
    line = f"{case:9} {ours['packets']:9} packets {ours['instructions']:8.0f} instructions each"
    if ours["read_misses"] is not None:
        line += f", {ours['read_misses']:.1f} missed reads, {ours['write_misses']:.1f} writes"
    if other:
        same = "the same run" if other["digest"] == ours["digest"] else "ANOTHER RUN"
        ratio = ours["instructions"] / other["instructions"]
        line += f"; before {other['instructions']:.0f}, ratio {ratio:.3f}, {same}"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", nargs="*", default=list(CASES), help=" ".join(CASES))
    parser.add_argument("--against", metavar="COMMIT", help="count that commit's program too")
    parser.add_argument("--sojourn", default=ROOT / "target/release/sojourn")
    parser.add_argument("--cache", action="store_true", help="model the caches too")
    parser.add_argument("--functions", type=int, metavar="N", help="list the N largest")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    for case in options.case:
        if case not in CASES:
            parser.error(f"no case {case}: there are {', '.join(CASES)}")
    if not pathlib.Path(options.sojourn).exists():
        parser.error(f"{options.sojourn} is not built: make build")
    name, program = build(options.against) if options.against else (None, None)
    results = {}
    for case in options.case:
        ours = measure(options.sojourn, case, options)
        other = measure(program, case, options) if program else None
        show(case, ours, other)
        results[case] = {"this": ours, name: other} if name else {"this": ours}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
