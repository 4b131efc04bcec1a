"""Runs on other processes, lost workers, and runs that are kept."""

import multiprocessing
import os
import signal
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from pathlib import Path
from typing import Any

import dask
import distributed
import pytest

import sojourn
from sojourn import _spread

AXES = {"dumbbell.rtt": ["10ms", "20ms", "40ms", "80ms"], "dumbbell.qdisc": ["codel", "pie"]}


@pytest.fixture
def here(home: sojourn.Scenario) -> sojourn.Results:
    return sojourn.sweep(home, AXES, seeds=2)


def processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def test_processes_yield_the_same(home: sojourn.Scenario, here: sojourn.Results) -> None:
    with processes() as executor:
        there = sojourn.sweep(home, AXES, seeds=2, executor=executor)
    assert there.runs["digest"] == here.runs["digest"]
    costs = {"cpu_s", "wall_s"}
    columns = [column for column in here.runs.columns if column not in costs]
    assert there.runs.to_polars()[columns].equals(here.runs.to_polars()[columns])
    assert there.flows.to_polars().equals(here.flows.to_polars())


class Dying(Executor):
    """Processes, one of which is killed when half of the runs are done."""

    def __init__(self, pool: ProcessPoolExecutor, after: int) -> None:
        self.pool, self.left = pool, after

    def submit(self, *args: Any, **more: Any) -> "Future[Any]":
        future = self.pool.submit(*args, **more)
        future.add_done_callback(self.one_is_done)
        return future

    def one_is_done(self, _: "Future[Any]") -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(next(iter(self.pool._processes)), signal.SIGKILL)


def test_a_killed_worker_loses_no_run_that_is_kept(
    home: sojourn.Scenario, here: sojourn.Results, tmp_path: Path
) -> None:
    with processes() as pool, pytest.raises(sojourn.RunError, match="lost its workers"):
        sojourn.sweep(home, AXES, seeds=2, executor=Dying(pool, 8), keep=tmp_path)
    kept = {file: file.stat().st_mtime_ns for file in tmp_path.glob("*.run")}
    assert 8 <= len(kept) < 16
    with processes() as pool:
        again = sojourn.sweep(home, AXES, seeds=2, executor=pool, keep=tmp_path)
    assert again.runs["digest"] == here.runs["digest"]
    assert all(file.stat().st_mtime_ns == at for file, at in kept.items())
    assert len(list(tmp_path.iterdir())) == 16


class Broken(Executor):
    """Its workers die while tasks are still handed over: three of these are done."""

    def __init__(self, pool: Executor) -> None:
        self.pool, self.left = pool, 3

    def submit(self, *args: Any, **more: Any) -> "Future[Any]":
        if self.left == 0:
            raise BrokenExecutor("a worker has died")
        self.left -= 1
        return self.pool.submit(*args, **more)


def test_workers_that_die_early_lose_no_run_that_is_done(
    home: sojourn.Scenario, tmp_path: Path
) -> None:
    with (
        ThreadPoolExecutor(2) as threads,
        pytest.raises(sojourn.RunError, match="lost its workers"),
    ):
        sojourn.sweep(home, AXES, seeds=2, executor=Broken(threads), keep=tmp_path)
    assert len(list(tmp_path.glob("*.run"))) == 3


class Never(Executor):
    def submit(self, *_: Any, **__: Any) -> "Future[Any]":
        raise AssertionError("it is kept")


def test_what_is_kept_is_not_run_again(home: sojourn.Scenario, tmp_path: Path) -> None:
    first = sojourn.run(home, seeds=3, keep=tmp_path)
    again = sojourn.run(home, seeds=3, keep=tmp_path, executor=Never())
    assert again.runs.to_polars().equals(first.runs.to_polars())
    with pytest.raises(AssertionError, match="it is kept"):
        sojourn.run(home, seeds=3, keep=tmp_path, executor=Never(), dumbbell__rtt="41ms")


def test_what_a_task_leaves_is_another_task(
    home: sojourn.Scenario, here: sojourn.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_spread, "_ENOUGH", 0.0)
    monkeypatch.setattr(_spread, "_shares", lambda numbers, _: [numbers[:10], numbers[10:]])
    with ThreadPoolExecutor(2) as threads:
        there = sojourn.sweep(home, AXES, seeds=2, executor=threads)
    assert there.runs["digest"] == here.runs["digest"]


def test_series_come_along_on_request(home: sojourn.Scenario) -> None:
    with ThreadPoolExecutor(2) as threads:
        results = sojourn.run(home, seeds=2, executor=threads, series=True)
        assert len(results.series("rtt")) > 0
        assert len(sojourn.run(home, executor=threads).series()) == 0


def test_mistakes_are_found_before_anything_is_sent(home: sojourn.Scenario) -> None:
    with pytest.raises(sojourn.ScenarioError):
        sojourn.run(home, executor=Never(), dumbbell__rtt="fast")
    with pytest.raises(ValueError, match="for the simulator"):
        sojourn.run(home, executor=Never(), world="kernel")


def test_a_dask_cluster(home: sojourn.Scenario, here: sojourn.Results) -> None:
    # Of a busy machine's processes some start late.
    patience = {f"distributed.comm.timeouts.{what}": "300s" for what in ("connect", "tcp")}
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, timeout="300s") as client,
    ):
        there = sojourn.sweep(home, AXES, seeds=2, executor=client.get_executor())
    assert there.runs["digest"] == here.runs["digest"]
