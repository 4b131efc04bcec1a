"""Executors for clusters whose own interface is not that of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

__all__ = ["RayExecutor"]


class RayExecutor(Executor):
    """Runs tasks on a Ray cluster, one processor each.

    >>> import ray
    >>> ray.init("auto")
    >>> sojourn.sweep("scenarios/demo.toml", axes, executor=RayExecutor(), out="out/long")

    Ray runs the task of a lost worker again, ``retries`` times. Takes ``ray``, and a cluster that
    ``ray.init`` has joined or started; workers need sojourn installed.
    """

    def __init__(self, *, retries: int = 3) -> None:
        import ray

        if not ray.is_initialized():
            raise RuntimeError("there is no Ray cluster: call ray.init() first")
        self._ray: Any = ray
        self._retries = retries

    def submit(
        self, function: Callable[..., Any], /, *arguments: Any, **more: Any
    ) -> Future[Any]:
        """A task; it can be cancelled before it begins."""
        task = self._ray.remote(function).options(num_cpus=1, max_retries=self._retries)
        future: Future[Any] = task.remote(*arguments, **more).future()
        return future
