"""Queues and congestion controls, measured in the test cases of RFCs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from . import _native, aqm, tcp
from ._progress import Bar

__all__ = ["Card", "evaluate"]


class Card:
    """The measures of all cases, as means over the seeds with 95 % confidence intervals."""

    def __init__(self, native: tuple[str, str, str, list[list[str]]]) -> None:
        self.json, self.markdown, self.title, self.lines = native
        self.document: dict[str, Any] = json.loads(self.json)
        """``card.json``: ``subject``, ``world``, ``seeds``, ``cells``."""

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Each cell of a case: ``case``, ``source``, ``params``, ``measures``."""
        cells: list[dict[str, Any]] = self.document["cells"]
        return cells

    def __str__(self) -> str:
        rows = [["case", "with", "measure", "value", "unit"], *self.lines]
        widths = [max(len(row[column]) for row in rows) for column in range(5)]
        text = f"{self.title}\n\n"
        for row in rows:
            parts = [
                one.rjust(width) if column == 3 else one.ljust(width)
                for column, (one, width) in enumerate(zip(row, widths, strict=True))
            ]
            text += "  ".join(parts).rstrip() + "\n"
        return text

    def __repr__(self) -> str:
        return f"<sojourn.Card: {self.document['subject']}, {len(self.cells)} cells>"

    def _repr_markdown_(self) -> str:
        return self.markdown


def evaluate(
    *,
    qdisc: str | aqm.Factory | None = None,
    cc: str | tcp.Factory | None = None,
    case: Sequence[str] = (),
    seeds: int = 10,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Card:
    """Measure a queue or a congestion control in the test cases of RFCs, in the simulator.

    A queue runs in the scenarios of RFC 7928, a congestion control in scenarios for the questions
    of RFC 9743, as ``sojourn evaluate`` runs them.

    Parameters
    ----------
    qdisc
        The queue: in tc's words, an `Aqm` class, or a text that names one (see `sojourn.plugins`).
    cc
        The congestion control: as scenarios name it, a `CongestionControl` class, or a text that
        names one. Give ``qdisc`` or ``cc``.
    case
        Only the cases of these names; all by default.
    seeds
        Seeds of each cell, 2 to 1000.
    out
        A folder for ``card.json``, ``card.md`` and a page for each case.
    overwrite
        Replace what another scenario or study has left in the folders of the cases.
    jobs, progress
        As in `sojourn.run`.

    Raises
    ------
    ValueError
        An argument is wrong; nothing was run. `ScenarioError` is one.
    RunError
        A run failed, or the folder cannot be written or holds other results.
    """
    if (qdisc is None) == (cc is None):
        raise ValueError("give a queue as qdisc, or a congestion control as cc")
    if not 2 <= seeds <= 1000:
        raise ValueError(f"seeds is {seeds}: a card has 2 to 1000")
    if out is None and overwrite:
        raise ValueError("overwrite is about a folder: name it with out")
    stands = aqm.StandIns()
    option, given = ("qdisc", qdisc) if cc is None else ("cc", cc)
    name, stand_in = stands.one(given, option)
    values = stands.makers, stands.controls
    if jobs is None and stands.asks_python():
        jobs = 1  # Python answers one at a time
    place = None if out is None else os.fspath(out)
    with Bar(None, shown=progress) as bar:
        native = _native.evaluate(
            (option, name, stand_in),
            (list(case), seeds),
            values,
            jobs,
            (place, overwrite),
            bar.tell,
        )
    return Card(native)
