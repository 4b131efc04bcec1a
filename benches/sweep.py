#!/usr/bin/env python3
"""What a sweep of many short cells costs with its results on disk, and what one thread does alone.

    python3 benches/sweep.py                      10 000 cells of 0.5 s, about a minute
    python3 benches/sweep.py --seeds 25           1000 of them
    python3 benches/sweep.py --program PATH       another program than target/release/sojourn
    python3 benches/sweep_python.py               the same sweep with `sojourn.sweep` and with Dask

CPU seconds are those of the process and its threads. Two threads have work that no other can take:
the first one before the first run (it reads the scenario and makes the cells) and after the last
run, and the one that puts the table together. All other threads share what they do, so that
Amdahl's law says how much 64 processors would gain.
"""

import argparse
import pathlib
import resource
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE.parent / "target/release/sojourn"
SCENARIO = """
format = "sojourn-scenario/1"
name = "sweep"
duration = "500ms"
warmup = "100ms"

[dumbbell]
rtt = "20ms"
up = { rate = "20mbit" }
down = { rate = "20mbit" }

[sweep]
dumbbell.qdisc = ["pfifo limit 100", "codel", "fq_codel", "pie"]
dumbbell.rtt = [%s]

[[flow]]
name = "bulk"
direction = "down"
app = "bulk"
start_spread = "10ms"

[[flow]]
name = "probe"
direction = "up"
app = { kind = "ping", size = 64, interval = "10ms" }
"""


def seconds(task: pathlib.Path) -> float:
    """Processor time of a thread."""
    return int((task / "schedstat").read_text().split()[0]) / 1e9


class Watched:
    """The threads of a process that work alone, read again and again until it ends."""

    def __init__(self, pid: int, out: pathlib.Path) -> None:
        self.tasks = pathlib.Path(f"/proc/{pid}/task")
        self.first = str(pid)
        self.out = out
        self.last = self.begun = 0.0
        self.has_begun = False
        self.ended: float | None = None
        self.table: dict[int, float] = {}

    def look(self) -> None:
        """Reads the threads' processor times."""
        for task in self.tasks.iterdir():
            try:
                taken = seconds(task)
                if task.name == self.first:
                    self.last = taken
                else:
                    self.has_begun |= taken > 1e-3
                    if (task / "comm").read_text().strip() == "table":
                        self.table[int(task.name)] = taken
            except OSError:
                continue
        if not self.has_begun:
            self.begun = self.last
        # Files under their temporary names: the runs are done.
        if self.ended is None and any(self.out.glob(".tmp*")):
            self.ended = self.last

    def alone(self) -> float:
        """Seconds of the threads that work alone."""
        after = 0.0 if self.ended is None else self.last - self.ended
        # Threads have the name of the one that made them: the oldest puts the table together, the
        # others make its parts.
        return self.begun + after + (self.table[min(self.table)] if self.table else 0.0)


def run(words: list[str], out: pathlib.Path) -> tuple[float, float]:
    """CPU seconds of a program, and those that no other thread could take."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    watched = Watched(child.pid, out)
    while child.poll() is None:
        try:
            watched.look()
        except OSError:
            pass
        time.sleep(0.002)
    if child.returncode != 0:
        raise SystemExit(f"{words}: exit status {child.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, watched.alone()


def run_words(program: str, file: pathlib.Path, seeds: int) -> list[str]:
    """The call that runs a sweep."""
    return [program, "run", str(file), "--seeds", str(seeds), "--quiet"]


def alone(program: str, text: str, seeds: int) -> float:
    """CPU seconds of a sweep that writes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "sweep.toml").write_text(text)
        return run(run_words(program, place / "sweep.toml", seeds), place)[0]


def scenario(cells: int) -> str:
    """The scenario with so many combinations."""
    return SCENARIO % ", ".join(f'"{10 + number}ms"' for number in range(cells // 4))


def main() -> None:
    """Runs, measures, prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default=str(PROGRAM))
    parser.add_argument("--cells", type=int, default=40, help="combinations, a multiple of 4")
    parser.add_argument("--seeds", type=int, default=250)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "sweep.toml").write_text(scenario(args.cells))
        words = run_words(args.program, place / "sweep.toml", args.seeds)
        plain, _ = run(words, place)
        out, again = place / "out", place / "again"
        written, tail = run([*words, "--out", str(out)], out)
        report, rest = run([args.program, "report", str(out), "--out", str(again)], again)
        runs = args.cells * args.seeds
        print(f"{runs} cells of 0.5 s | CPU s | of one thread | 64 cores")
        print(f"run without --out | {plain:.2f} | |")
        for name, cpu, own in [("run --out", written, tail), ("report", report, rest)]:
            gain = 1 / (own / cpu + (1 - own / cpu) / 64)
            print(f"{name} | {cpu:.2f} | {own:.2f} | {gain:.1f} x")
        for file in ["summary.json", "results.parquet", "report.html"]:
            size = (out / file).stat().st_size
            is_same = (out / file).read_bytes() == (again / file).read_bytes()
            print(f"{file}: {size / 1e6:.1f} MB{'' if is_same else ', another one after report'}")


if __name__ == "__main__":
    main()
