"""Runs as tasks of an executor: other processes, other machines; and runs that are kept."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import _native
from ._progress import Bar
from ._scenario import read
from .errors import RunError
from .results import Results


@dataclass(frozen=True)
class Sweep:
    """What a task needs to make any of the runs anew, in another process too."""

    text: tuple[str, str, str]
    sets: tuple[str, ...]
    sweeps: tuple[str, ...]
    seeds: int | tuple[int, ...] | None
    series: bool
    part: tuple[int, int] | None = None

    def read(self) -> _native.Scenario:
        """The scenario with all runs or those of the part, checked."""
        return read(self.text, list(self.sets), list(self.sweeps), self.seeds, self.part)


    def of(self, numbers: list[int]) -> Sweep:
        """The part from the first of these runs to the last, which are in order."""
        first = self.part[0] if self.part else 0
        return replace(self, part=(first + numbers[0], first + numbers[-1] + 1))


#: What a run of a task has yielded: its bytes, or why it failed.
Answer = bytes | str


#: Seconds after which a task begins no more runs.
_ENOUGH = 1.0


def _task(part: Sweep, numbers: list[int]) -> list[Answer]:
    """Some runs of a part: as many of the first as take about a second, and one at least."""
    scenario = part.read()
    answers: list[Answer] = []
    end, size = time.monotonic() + _ENOUGH, 1
    while len(answers) < len(numbers):
        some = numbers[len(answers) : len(answers) + size]
        answers += _native.run_packed(scenario, some, part.series)
        if time.monotonic() > end:
            break
        size *= 2
    return answers


def _workers(executor: Executor) -> int:
    """How many tasks run at a time, where the executor tells; else as many as a small cluster."""
    told = getattr(executor, "_max_workers", None)
    client = getattr(executor, "_client", None)
    if told is None and client is not None and hasattr(client, "nthreads"):
        told = sum(client.nthreads().values())
    return told or 64


def _shares(numbers: list[int], workers: int) -> list[list[int]]:
    """The runs of each task: one where they are few, several where a task would cost more. Four
    for each worker, so that none is idle for long at the end."""
    size = 1 if len(numbers) < 512 else max(1, len(numbers) // (4 * workers))
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


class Folder:
    """Runs that are kept: each in a file that is there whole or not at all."""

    def __init__(self, place: str | os.PathLike[str], sweep: Sweep) -> None:
        self._place = Path(place)
        self._place.mkdir(parents=True, exist_ok=True)
        _, content, base = sweep.text
        self._about = [_native.VERSION, content, os.path.abspath(base), sweep.series]

    def file(self, run: tuple[list[tuple[str, str]], int]) -> Path:
        """The file of a run, by all that it follows from."""
        about = json.dumps([self._about, run], ensure_ascii=False)
        name = hashlib.sha256(about.encode()).hexdigest()[:32]
        return self._place / f"{name}.run"

    def keep(self, file: Path, packed: bytes) -> None:
        """Writes a run's file."""
        new = file.with_suffix(f".{os.getpid()}.new")
        new.write_bytes(packed)
        new.replace(file)


def run(
    sweep: Sweep,
    checked: _native.Scenario,
    executor: Executor,
    keep: str | os.PathLike[str] | None,
    bar: Bar,
) -> Results:
    """All runs, in the scenario's order; those that are kept are not run again."""
    done, failures = gather(sweep, checked, executor, keep, lambda count: bar.tell(0, count))
    return Results(_native.Results.of(checked, list(done.values()), failures))


def gather(
    sweep: Sweep,
    checked: _native.Scenario,
    executor: Executor,
    keep: str | os.PathLike[str] | None,
    tell: Callable[[int], None],
) -> tuple[dict[int, bytes], list[str]]:
    """Packed results by the numbers of their runs, in the scenario's order, and what the others
    lack."""
    folder = None if keep is None else Folder(keep, sweep)
    files = [] if folder is None else [folder.file(one) for one in checked.runs]
    done = {number: file.read_bytes() for number, file in enumerate(files) if file.exists()}
    failures: list[str] = []
    left = [number for number in range(len(checked)) if number not in done]
    tell(len(done))
    for number, answer in _answers(executor, sweep, _shares(left, _workers(executor))):
        if isinstance(answer, str):
            failures.append(answer)
            continue
        if folder is not None:
            folder.keep(files[number], answer)
        done[number] = answer
        tell(len(done))
    if not done:
        raise RunError("\n".join(failures))
    return dict(sorted(done.items())), failures


def _answers(
    executor: Executor, sweep: Sweep, shares: list[list[int]]
) -> Iterator[tuple[int, Answer]]:
    """Each run's number and what it has yielded, as they come. What a task leaves is another
    task."""
    futures: dict[Future[Any], list[int]] = {}
    broken: BrokenExecutor | None = None
    shares.reverse()
    try:
        while shares or futures:
            try:
                while shares and broken is None:
                    share = shares.pop()
                    numbers = [number - share[0] for number in share]
                    futures[executor.submit(_task, sweep.of(share), numbers)] = share
            except BrokenExecutor as error:
                broken = error
            if broken is not None:
                shares.clear()
            for future in wait(futures, return_when=FIRST_COMPLETED).done:
                share = futures.pop(future)
                try:
                    answers = future.result()
                except BrokenExecutor as error:
                    broken = error
                    continue
                yield from zip(share, answers, strict=False)
                if len(answers) < len(share):
                    shares.append(share[len(answers) :])
    finally:
        for future in futures:
            future.cancel()
    if broken is not None:
        message = "the executor lost its workers; runs that were kept are not run again"
        raise RunError(message) from broken
