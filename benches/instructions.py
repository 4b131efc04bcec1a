#!/usr/bin/env python3
"""Instructions per packet of the bench scenarios: a figure that needs no quiet machine.

    python3 benches/instructions.py [CASE...] [--check | --record REASON]
                                    [--against COMMIT] [--profile FILE]
                                    [--cache] [--functions N | --files N] [--json FILE]

Runs each case twice under valgrind's cachegrind, the second time a little longer, and divides the
difference of the instructions by the difference of the packets that the busiest queue sent: what
a packet costs with its ACKs on a link that is full. Reading the scenario, slow start and writing
the results are in both and fall out. Of `links-N` the cost is that of a packet over one link, of
`radios-N` that of a packet that flows send. cases.py has all of them.

benches/instructions.tsv has the numbers that were recorded. --check, a part of `make test`, fails
if a case takes over 2 % more than was recorded, or over 2 % less, so that what was won is held too.
--record writes the new number with the reason; documents follow with
`SOJOURN_WRITE=1 cargo test -p sojourn-tidy instructions`.

--against counts the same cases in another commit of this repository, built in a work tree of its
own (benches/build): the ratio of both, and whether the runs were the same event for event.
--profile compares with a build by the profile of `make pgo`, target/pgo/sojourn.profdata.
--cache models the caches too: a second level of 1 MiB, without prefetching. --functions lists
where the instructions of the longer run are, each with what it calls. --files lists the source
files of the code that a packet's instructions come from.

docs/benchmarks.md says what the cases are.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from cases import CACHES, CASES, ROOT, named

HERE = ROOT / "benches"
BUILD = HERE / "build"
RECORDED = HERE / "instructions.tsv"
COLUMNS = ("case", "instructions", "after", "rustc", "reason")
BENCHES = ("count", "cost")
TOLERANCE = 0.02
Place = collections.namedtuple("Place", "function file line")
# Elsewhere the C library chooses how it copies by the processor, and the count would be its.
ENVIRONMENT = {**os.environ, "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS,-FSRM"}
# What `make test` holds; 10g-360 lies between its neighbours and is for a look at many flows.
HELD = [case for case in CASES if case != "10g-360"]


def execute(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}:\n{done.stderr[-2000:]}")
    return done


def build(tree=ROOT, features=(), **options):
    """The benches of a work tree, by name."""
    command = ["cargo", "build", "--profile", "bench", "--locked", "--message-format=json"]
    command += ["-q", "-p", "sojourn-sim"] + [word for b in BENCHES for word in ("--bench", b)]
    command += [f"--features={feature}" for feature in features]
    messages = map(json.loads, execute(command, cwd=tree, **options).stdout.splitlines())
    built = [m for m in messages if m.get("reason") == "compiler-artifact" and m.get("executable")]
    return {m["target"]["name"]: m["executable"] for m in built if m["target"]["name"] in BENCHES}


def build_commit(commit):
    """The benches of another commit, and its short name."""
    name = execute(["git", "-C", ROOT, "rev-parse", "--short", f"{commit}^{{commit}}"])
    name = name.stdout.strip()
    tree = BUILD / name
    print(f"building {name} in {tree} ...", file=sys.stderr, flush=True)
    if not tree.exists():
        execute(["git", "-C", ROOT, "worktree", "add", "--detach", tree, name])
    return name, build(tree, env={**os.environ, "CARGO_TARGET_DIR": str(tree / "target")})


def build_profiled(profile):
    """The benches compiled with the counts of a profile (scripts/pgo)."""
    flags = f"{os.environ.get('RUSTFLAGS', '')} -Cprofile-use={pathlib.Path(profile).resolve()}"
    place = str(BUILD / "profiled")
    return build(env={**os.environ, "RUSTFLAGS": flags.strip(), "CARGO_TARGET_DIR": place})


def compiler():
    text = execute(["rustc", "-vV"], cwd=ROOT).stdout
    return " ".join(re.search(rf"^{key}: (.*)$", text, re.M)[1] for key in ("release", "host"))


def count(program, words, options, out):
    """Events of one run by name, its packets, its digest."""
    valgrind = ["valgrind"]
    if options.functions or options.cache:
        valgrind += ["--tool=callgrind", f"--callgrind-out-file={out}"]
        valgrind += CACHES if options.cache else []
    else:
        valgrind += ["--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={out}"]
    said = execute([*valgrind, program, *words], env=ENVIRONMENT).stdout.split()
    text = pathlib.Path(out).read_text()
    names = re.search(r"^events: (.*)$", text, re.M)[1].split()
    totals = re.findall(r"^(?:totals|summary): (.*)$", text, re.M)[-1].split()
    return dict(zip(names, map(int, totals))), int(said[0]), said[1]


def places(out, *wanted):
    """Of a file of cachegrind the wanted events, each by function, source file and line."""
    counts = [collections.Counter() for _ in wanted]
    for line in pathlib.Path(out).read_text().splitlines():
        key, _, rest = line.partition("=")
        if key == "fl":
            file = re.sub(rf"^{ROOT}/|^.*(?=library/)", "", rest)
        elif key == "fn":
            function = rest
        elif line.startswith("events:"):
            columns = [line.split().index(name) for name in wanted]
        elif line[0].isdigit():
            numbers = line.split()
            for kind, column in zip(counts, columns):
                kind[Place(function, file, numbers[0])] += int(numbers[column])
    return counts


def measure(programs, case, options):
    program, (short, long) = programs[case.bench], case.counted
    with tempfile.TemporaryDirectory() as directory:
        out = f"{directory}/valgrind.out"
        before, fewer, _ = count(program, case.words(short, directory), options, out)
        files = file_counts(out) if options.files else {}
        after, more, digest = count(program, case.words(long, directory), options, out)
        if options.functions:
            show_functions(out, options.functions)
        units = case.units(more - fewer, long - short)
        if options.files:
            show_files(file_counts(out), files, units, options.files)
    per_unit = {name: (after[name] - before[name]) / units for name in after}
    return {
        "units": round(units),
        "unit": case.unit,
        "instructions": per_unit["Ir"],
        "read_misses": per_unit.get("DLmr"),
        "write_misses": per_unit.get("DLmw"),
        "digest": digest,
    }


def file_counts(out):
    """Instructions by source file."""
    counts = collections.Counter()
    for place, number in places(out, "Ir")[0].items():
        counts[place.file] += number
    return counts


def show_files(after, before, units, number):
    after.subtract(before)
    for file, instructions in after.most_common(number):
        print(f"    {instructions / units:7.1f} {file}")


def show_functions(out, number):
    command = ["callgrind_annotate", "--inclusive=yes", "--show=Ir", "--auto=no", out]
    text = execute(command).stdout
    ours = re.compile(r"%\).*sojourn_(apps|qdisc|radio|random|sim|tcp|world)::")
    lines = [line for line in text.splitlines() if ours.search(line)]
    for line in lines[:number]:
        share = re.search(r"\(\s*([\d.]+%)\)", line)[1]
        name = re.sub(r"^.*?:(?=[\w<])| \[.*$", "", line.split(")", 1)[1].strip())
        print(f"    {share:>7} {name[:100]}")


def recorded():
    """The recorded rows by case, in the file's order."""
    with RECORDED.open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["case"]: row for row in rows}


def record(results, reason):
    rows = recorded()
    # Of `main`, as a branch's own commits may yet be rebased.
    git = ["git", "-C", ROOT]
    has_main = subprocess.run([*git, "rev-parse", "-q", "--verify", "main"], capture_output=True)
    base = "HEAD" if has_main.returncode else execute([*git, "merge-base", "HEAD", "main"]).stdout
    after = execute([*git, "rev-parse", "--short", base.strip()]).stdout.strip()
    for case, result in results.items():
        number = f"{result['instructions']:.0f}"
        rows[case] = dict(zip(COLUMNS, (case, number, after, compiler(), reason)))
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(rows[case][c] for c in COLUMNS) for case in CASES if case in rows]
    RECORDED.write_text("\n".join(lines) + "\n")


def judge(results):
    """What is wrong with the counts beside those that were recorded."""
    problems, rows = [], recorded()
    for case, result in results.items():
        was = float(rows[case]["instructions"]) if case in rows else None
        now = result["instructions"]
        if was is None:
            problems.append(f"{case}: {now:.0f}, and nothing is recorded")
        elif abs(now / was - 1) > TOLERANCE:
            problems.append(f"{case}: {now:.0f}, recorded {was:.0f}: {now / was - 1:+.1%}")
    return problems


def check(results):
    others = {row["rustc"] for row in recorded().values()} - {compiler()}
    if others:
        print(f"not held to {RECORDED.name}, which {', '.join(others)} has: this is {compiler()}")
        return
    if problems := judge(results):
        sys.exit(
            "\n".join(["instructions a packet differ from benches/instructions.tsv:", *problems])
            + "\nIf that is a wanted rule's price, or a gain, record it in the same commit:\n"
            + "  python3 benches/instructions.py CASE... --record 'the reason'\n"
            + "  SOJOURN_WRITE=1 cargo test -p sojourn-tidy instructions\n"
            + "else `--against COMMIT` and `--functions 20` say what takes them."
        )


def show(case, ours, other):
    line = f"{case:11} {ours['units']:9} {ours['unit'] + 's':12}"
    line += f" {ours['instructions']:8.0f} instructions each"
    if ours["read_misses"] is not None:
        line += f", {ours['read_misses']:.1f} missed reads, {ours['write_misses']:.1f} writes"
    if other:
        same = "the same run" if other["digest"] == ours["digest"] else "ANOTHER RUN"
        ratio = ours["instructions"] / other["instructions"]
        line += f"; before {other['instructions']:.0f}, ratio {ratio:.3f}, {same}"
    print(line, flush=True)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    sized = "flows-N shares-N links-N radios-N"
    parser.add_argument("case", nargs="*", help=" ".join([*CASES, sized]))
    parser.add_argument("--check", action="store_true", help="hold them to what was recorded")
    parser.add_argument("--record", metavar="REASON", help="record them")
    parser.add_argument("--against", metavar="COMMIT", help="count that commit's program too")
    parser.add_argument("--profile", metavar="FILE", help="compile with it, and without it")
    parser.add_argument("--cache", action="store_true", help="model the caches too")
    parser.add_argument("--functions", type=int, metavar="N", help="list the N largest")
    parser.add_argument("--files", type=int, metavar="N", help="list the N largest source files")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    if options.profile and (options.against or options.check or options.record):
        parser.error("--profile stands by itself: what is recorded is compiled without")
    if options.files and (options.cache or options.functions):
        parser.error("--files stands without --cache and --functions: cachegrind counts it")
    if options.profile and not pathlib.Path(options.profile).is_file():
        parser.error(f"no file {options.profile}: `make pgo` makes target/pgo/sojourn.profdata")
    usual = HELD if options.check or options.record else list(CASES)
    options.case = named(options.case, usual)
    return options


def main():
    options = arguments()
    programs, name, others = build(), None, None
    if options.against:
        name, others = build_commit(options.against)
    if options.profile:
        programs, name, others = build_profiled(options.profile), "without", programs
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        cases = options.case.items()
        ours = {name: pool.submit(measure, programs, case, options) for name, case in cases}
        other = {n: pool.submit(measure, others, case, options) for n, case in cases if others}
        for case in options.case:
            show(case, ours[case].result(), other[case].result() if other else None)
    ours = {case: future.result() for case, future in ours.items()}
    if options.json:
        sides = {"this": ours}
        if name:
            sides[name] = {case: future.result() for case, future in other.items()}
        pathlib.Path(options.json).write_text(json.dumps(sides, indent=2) + "\n")
    if options.record:
        record(ours, options.record)
    if options.check:
        check(ours)


if __name__ == "__main__":
    main()
