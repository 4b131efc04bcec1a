"""What can go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Problem", "RunError", "ScenarioError"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario."""

    file: str
    """The file, or the kind of argument (``--set`` for overrides, ``--sweep`` for axes)."""
    line: int | None
    """Its line, from 1; None for an argument."""
    column: int | None
    """Its column in characters, from 1."""
    field: str
    """The field's path, such as ``dumbbell.up.rate``; empty for the file as a whole."""
    message: str
    """What is wrong."""
    help: str | None
    """What would be right, where that can be said."""


class ScenarioError(ValueError):
    """A scenario is wrong; nothing was run.

    The text shows every problem with the line that it is in. ``file``, ``line``, ``column``,
    ``field``, ``message`` and ``help`` are those of the first one.
    """

    def __init__(self, text: str, problems: Sequence[dict[str, Any]]) -> None:
        super().__init__(text, problems)
        self.problems: list[Problem] = [Problem(**problem) for problem in problems]

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def file(self) -> str:
        return self.problems[0].file

    @property
    def line(self) -> int | None:
        return self.problems[0].line

    @property
    def column(self) -> int | None:
        return self.problems[0].column

    @property
    def field(self) -> str:
        return self.problems[0].field

    @property
    def message(self) -> str:
        return self.problems[0].message

    @property
    def help(self) -> str | None:
        return self.problems[0].help


class RunError(RuntimeError):
    """Runs have no result, or files of results cannot be read or written."""
