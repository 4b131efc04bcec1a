"""Scenarios: from a file, a text, a dict, or put together here."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from . import _native, _toml

FORMAT = "sojourn-scenario/1"


class Scenario:
    """A scenario that is put together in Python.

    >>> line = Scenario("home", duration="60s", warmup="10s")
    >>> line.dumbbell(rtt="40ms", up={"rate": "1mbit"}, down={"rate": "12mbit"})
    >>> line.flow("download", direction="down", app="bulk")
    >>> line.flow("probe", direction="up", app={"kind": "ping", "interval": "20ms"})

    Keys and values are those of scenario files (``docs/scenario.md``). Times, rates and sizes are
    texts with a unit (``"40ms"``, ``"12mbit"``, ``"64kb"``); a time may be a
    `datetime.timedelta`. Each method gives the scenario back.
    """

    def __init__(self, name: str, *, duration: Any, **keys: Any) -> None:
        self.table: dict[str, Any] = {"format": FORMAT, "name": name, "duration": duration, **keys}
        """The scenario as a dict."""

    @classmethod
    def from_toml(cls, text: str) -> Scenario:
        """A scenario from the text of a file; paths in it are seen from the current folder."""
        scenario = cls.__new__(cls)
        scenario.table = tomllib.loads(text)
        return scenario

    def dumbbell(self, **keys: Any) -> Scenario:
        """Clients, servers and one bottleneck each way; ``up`` and ``down`` are its links."""
        self.table["dumbbell"] = keys
        return self

    def node(self, name: str, **keys: Any) -> Scenario:
        """A node of a graph."""
        return self._add("node", {"name": name, **keys})

    def link(self, **keys: Any) -> Scenario:
        """A link of a graph; ``between`` names its two nodes."""
        return self._add("link", keys)

    def radio(self, **keys: Any) -> Scenario:
        """802.11 stations in place of links."""
        self.table["radio"] = keys
        return self

    def flow(self, name: str, **keys: Any) -> Scenario:
        """Traffic: ``direction`` or ``from`` and ``to``, and an ``app``."""
        return self._add("flow", {"name": name, **keys})

    def change(self, **keys: Any) -> Scenario:
        """What becomes of a link during the run, at a time ``at``."""
        return self._add("change", keys)

    def sweep(self, axes: Mapping[str, Sequence[Any]]) -> Scenario:
        """Fields by their paths with the values that they take; every combination is run."""
        self.table.setdefault("sweep", {}).update(axes)
        return self

    def to_toml(self) -> str:
        """The scenario as the text of a file."""
        return _toml.document(self.table)

    def _add(self, key: str, table: dict[str, Any]) -> Scenario:
        self.table.setdefault(key, []).append(table)
        return self

    def __repr__(self) -> str:
        return f"Scenario({self.table['name']!r})"


Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Scenario"
"""What can be run: a path, a text, a dict, a `Scenario`."""


def text_of(source: Source) -> tuple[str, str, str]:
    """Name, text, and the folder from which paths in the text are seen."""
    if isinstance(source, Scenario):
        source = source.table
    if isinstance(source, Mapping):
        return "<dict>", _toml.document(source), os.getcwd()
    # A path has no line ends; a scenario has many.
    if isinstance(source, str) and "\n" in source:
        return "<text>", source, os.getcwd()
    path = Path(source)
    return str(path), path.read_text(encoding="utf-8"), str(path.parent)


def read(
    text: tuple[str, str, str],
    sets: list[str],
    sweeps: list[str],
    seeds: int | Sequence[int] | None,
    part: tuple[int, int] | None = None,
) -> _native.Scenario:
    """The scenario with its runs, or those of a part, checked."""
    return _native.Scenario.parse(text, sets, sweeps, _first_and_count(seeds), part)


def survey(
    text: tuple[str, str, str],
    sets: list[str],
    sweeps: list[str],
    seeds: int | Sequence[int] | None,
) -> tuple[int, int]:
    """The number of combinations, all of which are checked, and of the seeds of each."""
    return _native.Scenario.survey(text, sets, sweeps, _first_and_count(seeds))


def _first_and_count(seeds: int | Sequence[int] | None) -> tuple[int | None, int | None]:
    if seeds is None:
        return None, None
    if isinstance(seeds, int):
        first, count = None, seeds
    else:
        numbers = [int(seed) for seed in seeds]
        first, count = numbers[0] if numbers else None, len(numbers)
        if first is not None and numbers != list(range(first, first + count)):
            raise ValueError("seeds are a number of them, or a range without gaps")
    if count < 1:
        raise ValueError("at least one seed is needed")
    return first, count


def assignments(fields: Mapping[str, Any]) -> list[str]:
    """``KEY=VALUE`` of each; in a key without dots, ``__`` stands for one."""
    return [f"{_path(name)}={_toml.value(given)}" for name, given in fields.items()]


def _path(name: str) -> str:
    return name if "." in name else name.replace("__", ".")
