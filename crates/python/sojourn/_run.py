"""Running scenarios."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, overload

from . import _native, _program, _spread, aqm, tcp
from ._progress import Bar
from ._scenario import Source, assignments, read, text_of
from .partitions import Partitions, stream
from .results import Results


def run(
    scenario: Source,
    *,
    world: str = "sim",
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    series: bool = False,
    progress: bool | None = None,
    executor: Executor | None = None,
    keep: str | os.PathLike[str] | None = None,
    queues: Mapping[str, aqm.Factory] | None = None,
    controls: Mapping[str, tcp.Factory] | None = None,
    **overrides: Any,
) -> Results:
    """Run a scenario: every combination of its sweep with every seed.

    Parameters
    ----------
    scenario
        A path, the text of a scenario, a dict of the same shape, or a `Scenario`.
    world
        ``"sim"`` simulates, in this process. ``"kernel"`` (Linux in virtual time) and ``"live"``
        (real packets, as root) run the program ``sojourn``, which must be in the ``PATH``.
    seeds
        How many (1, 2, 3 and so on), or a range; by default as many as the scenario says.
    jobs
        Runs at a time; by default one for each processor.
    series
        Whether to keep the series of links and flows. They are most of a result's size.
    progress
        Whether to show a bar (tqdm's). By default in a notebook or a terminal, where tqdm is
        installed.
    executor
        Where to run: any `concurrent.futures.Executor`, such as a `ProcessPoolExecutor`,
        ``client.get_executor()`` of a Dask cluster, or `sojourn.clusters.RayExecutor`. Each run
        is a task. By default threads of this process, which let go of Python while they run.
    keep
        A folder in which every run is kept as soon as it is done. What is there already is not
        run again, so that the same call goes on where another one ended. A new version of the
        program runs all anew; files that a scenario names (traces) are not looked at.
    queues
        Links with an AQM that is written in Python (see `sojourn.aqm`) in place of their queue. A
        queue that the scenario sweeps for that link is swept no more. To compare the AQM with
        others, give the class as a value of the field instead.
    controls
        Flows with a congestion control that is written in Python (see `sojourn.tcp`) in place of
        theirs, at both ends.
    overrides
        Fields by their paths with other values: ``dumbbell__rtt="20ms"``, or
        ``**{"flow.upload.tcp.cc": "reno"}``. A field that the scenario sweeps is swept no more.
        A queue's value may be an `Aqm` class: ``dumbbell__qdisc=HalfFull``, that of ``cc`` a
        `CongestionControl`, and both a text that names one (see `sojourn.plugins`).

    Raises
    ------
    ScenarioError
        The scenario is wrong; nothing was run.
    RunError
        No run has a result. When some have, `Results.notes` says which lack.

    Warns (`UserWarning`) of what is right and may not be meant, such as a rate of ``20Mbps``, which
    is bytes as in tc.
    """
    return sweep(
        scenario,
        {},
        world=world,
        seeds=seeds,
        jobs=jobs,
        series=series,
        progress=progress,
        executor=executor,
        keep=keep,
        out=None,
        queues=queues,
        controls=controls,
        **overrides,
    )


@overload
def sweep(
    scenario: Source, axes: Mapping[str, Sequence[Any]], *, out: None = None, **more: Any
) -> Results: ...
@overload
def sweep(
    scenario: Source,
    axes: Mapping[str, Sequence[Any]],
    *,
    out: str | os.PathLike[str],
    **more: Any,
) -> Partitions: ...
def sweep(
    scenario: Source,
    axes: Mapping[str, Sequence[Any]],
    *,
    world: str = "sim",
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    series: bool = False,
    progress: bool | None = None,
    executor: Executor | None = None,
    keep: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    partition: int = 1000,
    queues: Mapping[str, aqm.Factory] | None = None,
    controls: Mapping[str, tcp.Factory] | None = None,
    **overrides: Any,
) -> Results | Partitions:
    """Run a scenario over a grid: every combination of ``axes`` with every seed.

    ``axes`` are fields by their paths with the values that they take, beside what the scenario
    sweeps itself: ``{"dumbbell.rtt": ["10ms", "100ms"], "dumbbell.qdisc": ["codel", "pie"]}``.
    An `Aqm` class is a value of a queue's field, ``{"dumbbell.qdisc": ["codel", HalfFull]}``, and
    a `CongestionControl` one of ``cc``: ``{"flow.download.tcp.cc": ["cubic", Gentle]}``. What is
    not explained here is as in `run`.

    Parameters
    ----------
    out
        A folder for the tables, as partitions of Parquet files, where they are more than the
        memory should hold: it holds one partition at a time, however many runs there are. Every
        run is kept there as soon as it is done, so that the same call goes on where another one
        ended. Takes pyarrow, and gives `Partitions`.
    partition
        Runs in each partition, with `out`.
    """
    given = text_of(scenario)
    stands = aqm.StandIns(given[1], overrides, axes)
    sets = assignments(stands.put(overrides, "--set"))
    sweeps = assignments(stands.put(axes, "--sweep"))
    text = stands.text(given)
    prototypes = bool(queues or controls or stands.makers or stands.controls)
    if out is not None:
        if world != "sim" or prototypes or keep is not None:
            raise ValueError("out is for the simulator, with nothing of Python's, and keeps runs")
        of = _spread.Sweep(text, tuple(sets), tuple(sweeps), _seeds(seeds), series)
        if executor is not None:
            return stream(of, executor, out, partition, progress)
        with ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
            return stream(of, threads, out, partition, progress)
    checked = read(text, sets, sweeps, seeds)
    if checked.warnings:
        warnings.warn(checked.warnings.rstrip(), stacklevel=3)
    if executor is not None or keep is not None:
        if world != "sim" or prototypes:
            raise ValueError("executor and keep are for the simulator, with nothing of Python's")
        of = _spread.Sweep(text, tuple(sets), tuple(sweeps), _seeds(seeds), series)
        with Bar(len(checked), shown=progress) as bar:
            if executor is not None:
                return _spread.run(of, checked, executor, keep, bar)
            with ThreadPoolExecutor(jobs or os.cpu_count()) as threads:
                return _spread.run(of, checked, threads, keep, bar)
    if world != "sim":
        if prototypes:
            raise ValueError("what is written in Python is for the simulator")
        return _program.run(text, world, sets, sweeps, checked, jobs)
    if jobs is None and (queues or controls or stands.asks_python()):
        jobs = 1  # Python answers one at a time
    own = aqm.makers(queues or {}), tcp.makers(controls or {})
    made = *own, stands.makers, stands.controls
    with Bar(len(checked), shown=progress) as bar:
        return Results(_native.run(checked, None, made, jobs, series, bar.tell))


def _seeds(seeds: int | Sequence[int] | None) -> int | tuple[int, ...] | None:
    return seeds if seeds is None or isinstance(seeds, int) else tuple(seeds)


def load(*folders: str | os.PathLike[str]) -> Results:
    """Read folders that ``sojourn run --out`` or `Results.write` has written, side by side."""
    return Results(_native.load([os.fspath(folder) for folder in folders]))
