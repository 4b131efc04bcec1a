"""Runs as tasks of an executor: other processes, other machines; and runs that are kept."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from dataclasses import dataclass
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


@functools.lru_cache(maxsize=4)
def _read(sweep: Sweep) -> _native.Scenario:
    return sweep.read()


#: What a run of a task has yielded: its bytes and what is to be said of it, or why it failed.
Answer = tuple[bytes, list[str]] | str


def _task(sweep: Sweep, numbers: list[int]) -> list[Answer]:
    """Some runs, each as bytes."""

    def one(number: int) -> Answer:
        try:
            result = _native.run(_read(sweep), [number], ([], [], [], []), 1, sweep.series, None)
        except RunError as error:
            return str(error)
        return result.pack(), result.notes

    return [one(number) for number in numbers]


def _shares(numbers: list[int]) -> list[list[int]]:
    """The runs of each task: one where they are few, several where a task would cost more."""
    size = max(1, min(32, len(numbers) // 256))
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
    joined = _native.Results.joined(list(done.values()))
    return Results(joined, failures)


def gather(
    sweep: Sweep,
    checked: _native.Scenario,
    executor: Executor,
    keep: str | os.PathLike[str] | None,
    tell: Callable[[int], None],
) -> tuple[dict[int, _native.Results], list[str]]:
    """Results by the numbers of their runs, in the scenario's order, and what the others lack."""
    folder = None if keep is None else Folder(keep, sweep)
    files = [None if folder is None else folder.file(one) for one in checked.runs]
    done: dict[int, _native.Results] = {}
    for number, file in enumerate(files):
        if file is not None and file.exists():
            done[number] = _native.Results.unpack(file.read_bytes(), [])
    failures: list[str] = []
    left = [number for number in range(len(checked)) if number not in done]
    futures, broken = _submitted(executor, sweep, _shares(left))
    tell(len(done))
    for number, answer in _answers(futures, broken):
        if isinstance(answer, str):
            failures.append(answer)
            continue
        packed, notes = answer
        file = files[number]
        if folder is not None and file is not None:
            folder.keep(file, packed)
        done[number] = _native.Results.unpack(packed, notes)
        tell(len(done))
    if not done:
        raise RunError("\n".join(failures))
    return dict(sorted(done.items())), failures


def _submitted(
    executor: Executor, sweep: Sweep, shares: list[list[int]]
) -> tuple[dict[Future[Any], list[int]], BrokenExecutor | None]:
    """The tasks that the executor has taken, and why it takes no more, if it lost its workers."""
    futures: dict[Future[Any], list[int]] = {}
    for share in shares:
        try:
            futures[executor.submit(_task, sweep, share)] = share
        except BrokenExecutor as error:
            return futures, error
    return futures, None


def _answers(
    futures: dict[Future[Any], list[int]], broken: BrokenExecutor | None
) -> Iterator[tuple[int, Answer]]:
    """Each run's number and what it has yielded, as they come."""
    try:
        for future in as_completed(futures):
            try:
                yield from zip(futures[future], future.result(), strict=True)
            except BrokenExecutor as error:
                broken = error
    finally:
        for future in futures:
            future.cancel()
    if broken is not None:
        message = "the executor lost its workers; runs that were kept are not run again"
        raise RunError(message) from broken
