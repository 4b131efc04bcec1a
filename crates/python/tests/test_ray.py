"""Sweeps on a real Ray cluster on this machine, with a worker that is killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray

import sojourn
from sojourn.clusters import RayExecutor

AXES = {"dumbbell.rtt": ["10ms", "20ms", "40ms", "80ms"], "dumbbell.qdisc": ["codel", "pie"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_without_a_cluster_it_says_what_to_do() -> None:
    if not ray.is_initialized():
        with pytest.raises(RuntimeError, match=r"call ray\.init\(\) first"):
            RayExecutor()


@pytest.mark.usefixtures("cluster")
def test_a_ray_cluster_yields_the_same(home: sojourn.Scenario, tmp_path: Path) -> None:
    here = sojourn.sweep(home, AXES, seeds=2)
    there = sojourn.sweep(home, AXES, seeds=2, executor=RayExecutor())
    assert there.runs["digest"] == here.runs["digest"]
    out = sojourn.sweep(home, AXES, seeds=2, executor=RayExecutor(), out=tmp_path, partition=6)
    assert out.runs.to_table()["digest"].to_pylist() == here.runs["digest"]


@pytest.mark.usefixtures("cluster")
def test_the_task_of_a_lost_worker_is_run_again(tmp_path: Path) -> None:
    # In here, so that it goes to the worker by value: a module of tests is not there.
    def die_once(mark: str) -> int:
        if not os.path.exists(mark):
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    future = RayExecutor().submit(die_once, str(tmp_path / "died"))
    assert future.result(timeout=120) == 7 and (tmp_path / "died").exists()


@pytest.mark.usefixtures("cluster")
def test_what_fails_there_is_told_here(home: sojourn.Scenario) -> None:
    home.flow("other", direction="down", app="bulk", tcp={"cc": "illinois"})
    with pytest.raises(sojourn.RunError, match="illinois"):
        sojourn.run(home, executor=RayExecutor())
