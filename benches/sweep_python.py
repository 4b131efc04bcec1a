#!/usr/bin/env python3
"""What the sweep of `sweep.py` costs in Python: in one process, in others, and with Dask.

    make python                                            the package, in target/python
    target/python/bin/python benches/sweep_python.py       10 000 cells of 0.5 s, some minutes
    target/python/bin/python benches/sweep_python.py --seeds 25

CPU seconds are those between the call and its return, of this process with all its threads and of
the workers, which have been started before. Those of the first thread are what nobody else can
take: in one process it waits for the others, with an executor it hands out tasks and puts together
what comes back. With Dask, its scheduler has a thread of this process too. What is Dask's own is
measured with as many tasks, of runs that take no longer than a second together, which make nothing
but as many bytes.
"""

import argparse
import multiprocessing
import os
import pathlib
import time
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed

import sweep as program

#: Ticks of the clock in `/proc/PID/stat`, a second.
TICKS = os.sysconf("SC_CLK_TCK")


def taken(pid: int) -> float:
    """CPU seconds of a process, with those of threads that have ended."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / TICKS


def below(parent: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    folders = pathlib.Path(f"/proc/{parent}/task").iterdir()
    children = [int(pid) for task in folders for pid in (task / "children").read_text().split()]
    return children + [pid for child in children for pid in below(child)]


def ready(number: int) -> int:
    """A task after which a worker has the package."""
    import sojourn

    time.sleep(0.3)
    return number + len(sojourn.__name__)


def made(number: int, size: int) -> list[bytes]:
    """A task that makes bytes and nothing else."""
    return [bytes(size), bytes(number)]


class Clock:
    """What has been taken since it was made."""

    def __init__(self) -> None:
        self.workers = {pid: taken(pid) for pid in below(os.getpid())}
        self.own, self.first = time.process_time(), time.thread_time()

    def row(self, name: str) -> str:
        """A row of the table."""
        first, own = time.thread_time() - self.first, time.process_time() - self.own
        workers = sum(taken(pid) - before for pid, before in self.workers.items())
        return f"{name} | {own + workers:.2f} | {own:.2f} | {first:.2f}"


def measure(name: str, text: str, seeds: int, executor: Executor | None) -> int:
    """Prints what a sweep takes. Gives the size of its packed results."""
    import sojourn

    if executor is not None:
        list(executor.map(ready, range(16)))
    clock = Clock()
    results = sojourn.sweep(text, {}, seeds=seeds, executor=executor)
    print(clock.row(name))
    return len(results._native.pack())


def main() -> None:
    """Runs, measures, prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--program", default=str(program.PROGRAM))
    parser.add_argument("--cells", type=int, default=40, help="combinations, a multiple of 4")
    parser.add_argument("--seeds", type=int, default=250)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    args = parser.parse_args()
    text = program.scenario(args.cells)
    runs = args.cells * args.seeds
    print(f"{runs} cells of 0.5 s | CPU s | of this process | of its first thread")
    print(f"sojourn run | {program.alone(args.program, text, args.seeds):.2f} | |")
    measure("sojourn.sweep", text, args.seeds, None)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.workers, mp_context=context) as executor:
        measure("ProcessPoolExecutor", text, args.seeds, executor)

    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=args.workers, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster) as client:
        executor = client.get_executor()
        size = measure("Dask", text, args.seeds, executor)
        tasks = 4 * args.workers
        clock = Clock()
        futures = [executor.submit(made, number, size // tasks) for number in range(tasks)]
        kept = [future.result() for future in as_completed(futures)]
        print(clock.row(f"Dask, {len(kept)} tasks of {size // tasks} bytes"))


if __name__ == "__main__":
    main()
