"""Published studies, reproduced."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from typing import Any

from . import _native
from ._progress import Bar
from .results import Report, Results

__all__ = ["Reproduction", "reproduce", "studies"]


class Reproduction:
    """What came out of a study: its claims with our verdicts, and all results."""

    def __init__(self, native: _native.Reproduced) -> None:
        self._native = native
        self.document: dict[str, Any] = json.loads(native.claims)
        """``claims.json`` (``docs/claims.md``)."""
        self.results: Results = Results(native.results)
        """All runs; ``setting`` is the first parameter."""

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Each claim: ``id``, ``statement``, ``published``, ``ours``, ``status``, ``reason``."""
        claims: list[dict[str, Any]] = self.document["claims"]
        return claims

    def count(self, status: str) -> int:
        """How many claims came out so: ``pass``, ``deviation``, ``fail``, ``not run``."""
        return sum(claim["status"] == status for claim in self.claims)

    def report(self) -> Report:
        """The page with claims, charts and tables; a notebook shows it in place."""
        return Report(self._native.html)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the folder that ``sojourn reproduce --out`` writes."""
        self._native.write(os.fspath(folder))

    def __repr__(self) -> str:
        passed = self.count("pass")
        return f"<sojourn.Reproduction: {passed} of {len(self.claims)} claims pass>"

    def _repr_html_(self) -> str:
        rows = []
        for claim in self.claims:
            shown = [claim["id"], claim["statement"], claim["published"], claim["ours"]]
            shown.append(claim["status"])
            rows.append("".join(f"<td>{html.escape(str(one))}</td>" for one in shown))
        head = "".join(f"<th>{name}</th>" for name in ["", "claim", "published", "ours", ""])
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def studies() -> dict[str, str]:
    """The studies that can be reproduced, by their names, with their titles."""
    return dict(_native.studies())


def reproduce(
    study: str | os.PathLike[str],
    *,
    claims: Sequence[str] = (),
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Run a published study in the simulator and hold its claims against what comes out.

    Parameters
    ----------
    study
        Its name (see `studies`), or a folder with ``study.toml``.
    claims
        Ids of the claims that are asked for; all of them by default.
    quick
        One seed, and without settings that take long.
    seeds
        The number of seeds, instead of the scenarios' own.
    jobs, progress
        As in `sojourn.run`.
    """
    with Bar(None, shown=progress) as bar:
        native = _native.reproduce(
            os.fspath(study), list(claims), quick, seeds, jobs, bar.tell
        )
    return Reproduction(native)
