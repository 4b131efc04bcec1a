"""Running scenarios."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _native, _program
from ._progress import Bar
from ._scenario import Source, assignments, read, text_of
from .results import Results


def run(
    scenario: Source,
    *,
    world: str = "sim",
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    series: bool = False,
    progress: bool | None = None,
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
    overrides
        Fields by their paths with other values: ``dumbbell__rtt="20ms"``, or
        ``**{"flow.upload.tcp.cc": "reno"}``. A field that the scenario sweeps is swept no more.

    Raises
    ------
    ScenarioError
        The scenario is wrong; nothing was run.
    RunError
        No run has a result. When some have, `Results.notes` says which lack.
    """
    return sweep(
        scenario,
        {},
        world=world,
        seeds=seeds,
        jobs=jobs,
        series=series,
        progress=progress,
        **overrides,
    )


def sweep(
    scenario: Source,
    axes: Mapping[str, Sequence[Any]],
    *,
    world: str = "sim",
    seeds: int | Sequence[int] | None = None,
    jobs: int | None = None,
    series: bool = False,
    progress: bool | None = None,
    **overrides: Any,
) -> Results:
    """Run a scenario over a grid: every combination of ``axes`` with every seed.

    ``axes`` are fields by their paths with the values that they take, beside what the scenario
    sweeps itself: ``{"dumbbell.rtt": ["10ms", "100ms"], "dumbbell.qdisc": ["codel", "pie"]}``.
    All else is as in `run`.
    """
    sets, sweeps = assignments(overrides), assignments(axes)
    text = text_of(scenario)
    checked = read(text, sets, sweeps, seeds)
    if world != "sim":
        return _program.run(text, world, sets, sweeps, checked, jobs)
    with Bar(len(checked), shown=progress) as bar:
        return Results(_native.run(checked, None, jobs, series, bar.tell))


def load(*folders: str | os.PathLike[str]) -> Results:
    """Read folders that ``sojourn run --out`` or `Results.write` has written, side by side."""
    return Results(_native.load([os.fspath(folder) for folder in folders]))
