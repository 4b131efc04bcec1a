"""Published studies, reproduced."""

from __future__ import annotations

import difflib
import html
import json
import os
from collections.abc import Sequence
from typing import Any

from . import _native, _program, aqm, plugins
from ._progress import Bar
from .results import Report, Results

__all__ = ["Reproduction", "reproduce", "studies"]

#: What becomes of a claim.
_STATUSES = ("published", "reference", "model", "open", "not judged")


class Reproduction:
    """What came out of a study: its claims with our verdicts, and all results."""

    def __init__(self, native: _native.Reproduced, notes: list[str] | None = None) -> None:
        self._native = native
        self.document: dict[str, Any] = json.loads(native.claims)
        """``claims.json`` (``docs/claims.md``)."""
        self.results: Results = Results(native.results, notes)
        """All runs; ``setting`` is the first parameter."""

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Reproduction:
        """Read the folder that `reproduce` with ``out``, or the program, has written."""
        return cls(_native.Reproduced.open(os.fspath(folder)))

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Each claim: ``id``, ``statement``, ``published``, ``ours``, ``status``, ``reason``."""
        claims: list[dict[str, Any]] = self.document["claims"]
        return claims

    def count(self, status: str) -> int:
        """How many claims came out so.

        ``published``, ``reference``, ``model``, ``open`` or ``not judged``.
        """
        if status not in _STATUSES:
            near = difflib.get_close_matches(status, _STATUSES, n=1)
            known = f"did you mean `{near[0]}`?" if near else f"available: {', '.join(_STATUSES)}"
            raise IndexError(f"no status `{status}`; {known}")
        return sum(claim["status"] == status for claim in self.claims)

    def report(self) -> Report:
        """The page with claims, charts and tables; a notebook shows it in place."""
        return Report(self._native.html)

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the folder that ``sojourn reproduce --out`` writes.

        A folder with results of another study or of a scenario is refused with a `RunError`, unless
        ``overwrite`` replaces them.
        """
        self._native.write(os.fspath(folder), overwrite)

    def __str__(self) -> str:
        text = ""
        for claim in self.claims:
            text += f"{claim['id']:<5} {claim['statement']}\n"
            text += f"      published  {claim['published']}\n"
            text += f"      ours       {claim['ours']}\n" if claim["ours"] else ""
            reason = f": {claim['reason']}" if claim["reason"] else ""
            text += f"      {claim['worlds'][0]['title']}{reason}\n\n"
        return text

    def __repr__(self) -> str:
        published = self.count("published")
        return f"<sojourn.Reproduction: {published} of {len(self.claims)} claims as published>"

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
    world: str = "sim",
    queue: str | aqm.Factory | None = None,
    claims: Sequence[str] = (),
    quick: bool = False,
    all_settings: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
) -> Reproduction:
    """Run a published study and hold its claims against what comes out.

    Runs are kept on disk as they finish, so that memory holds their figures alone.

    Parameters
    ----------
    study
        Its name (see `studies`), or a folder with ``study.toml``.
    world
        ``"sim"``, or as in `sojourn.run` a world that the program runs; ``"both"`` for two.
    queue
        A queue that runs too, in place of each queue that the study compares, as `yours` in its
        charts and tables: in tc's words, an `Aqm` class, or a text that names one (see
        `sojourn.plugins`). Claims are still judged on the study's own queues.
    claims
        Ids of the claims that are asked for; all of them by default.
    quick
        One seed, and without settings that take long.
    all_settings
        Also settings that are otherwise run only for ``claims`` about them, because they take
        hours. Not with ``claims`` or ``quick``.
    seeds
        The number of seeds (1 to 10 000), instead of the scenarios' own. Not with ``quick``.
    out
        A folder for the results, as ``sojourn reproduce --out`` writes it. Every run is kept there
        as soon as it is done, also when Ctrl-C or a kill ends it. Without it they are kept where
        temporary files are (``TMPDIR``) and go with the `Reproduction`.
    resume
        Run only what ``out`` lacks: what this version of the package has run of the same scenarios
        stays, also where it was interrupted or killed.
    overwrite
        Replace what another study or scenario has left in ``out``.
    jobs, progress
        As in `sojourn.run`.

    Raises
    ------
    ScenarioError
        The study is unknown or wrong; nothing was run.
    RunError
        A claim is unknown, the folder cannot be written or holds other results, or, in worlds
        that the program runs, it has failed.
    ValueError
        The queue is wrong, or arguments do not go together; nothing was run.
    """
    if quick and seeds is not None:
        raise ValueError("quick has one seed: leave out seeds or quick")
    if all_settings and (quick or claims):
        raise ValueError("all_settings runs the whole study: leave out claims and quick")
    if seeds is not None and not 1 <= seeds <= 10_000:
        raise ValueError(f"seeds is {seeds}: a study has 1 to 10 000")
    if out is None and (resume or overwrite):
        raise ValueError("resume and overwrite are about a folder: name it with out")
    place = None if out is None else os.fspath(out)
    if world != "sim":
        options = [f"--claims={','.join(claims)}"] if claims else []
        options += ["--quick"] if quick else []
        options += ["--all"] if all_settings else []
        options += [] if seeds is None else [f"--seeds={seeds}"]
        options += [] if jobs is None else [f"--jobs={jobs}"]
        options += ["--resume"] if resume else []
        options += ["--overwrite"] if overwrite else []
        if queue is not None:
            if not isinstance(queue, str) or plugins.is_named(queue):
                raise ValueError("what is written in Python is for the simulator")
            options += [f"--queue={queue}"]
        native, said = _program.reproduce(os.fspath(study), world, options, place)
        return Reproduction(native, said)
    stands = aqm.StandIns()
    own = None
    if queue is not None:
        own = *stands.one(queue, "queue"), stands.makers
    if stands.makers:
        if resume:
            raise ValueError("resume cannot know whether your code has changed: leave it out")
        if stands.asks_python():
            jobs = jobs or 1  # Python answers one at a time
    with Bar(None, shown=progress) as bar:
        native = _native.reproduce(
            os.fspath(study),
            (list(claims), (quick, all_settings), seeds),
            own,
            jobs,
            (place, resume, overwrite),
            bar.tell,
        )
    return Reproduction(native)
