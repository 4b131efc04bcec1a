"""The package as a program, which does what the program ``sojourn`` has it do.

``run``, ``check``, ``evaluate`` and ``reproduce`` are for queues and congestion controls that are
written in Python; the program does everything else faster and with more options. ``figures`` draws.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Sequence, Sized
from typing import Any

from . import aqm, plugins
from ._run import load, sweep
from ._scenario import assignments, read, text_of
from .cards import evaluate
from .errors import RunError, ScenarioError
from .figures import FORMATS, draw, listed, usual
from .studies import reproduce

_TOLD = ScenarioError, RunError, ValueError, TypeError, OSError, ImportError
"""What is wrong with the input, in words for people."""
_OPTIONS = "qdisc", "cc", "case", "queue"
"""Arguments of the package that begin an error, and are options here."""
_NOTE = "exit status: 0 when all went well, 1 when a run failed, 2 when the input is wrong"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sojourn", epilog=_NOTE)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a scenario, with what it names of Python's")
    _add_scenario(run)
    run.add_argument("--jobs", type=int, help="runs at a time")
    run.add_argument("--out", metavar="DIR", help="write the report and the data there")
    run.add_argument("--overwrite", action="store_true", help="replace what is in DIR")
    run.add_argument("--into", metavar="DIR", help="only write results there, for the program")
    run.add_argument("-q", "--quiet", action="store_true", help="no progress and no warnings")
    check = commands.add_parser("check", help="say what a scenario means, with what it names")
    _add_scenario(check)
    _add_evaluate(commands.add_parser("evaluate", help="measure a queue or a congestion control"))
    _add_reproduce(commands.add_parser("reproduce", help="run a study with a queue beside its own"))
    figures = commands.add_parser("figures", help="draw the figures of results, ready for print")
    figures.add_argument("dirs", metavar="DIR", nargs="+", help="folders of results")
    figures.add_argument("--list", metavar="FILE", help="what to draw, in TOML")
    figures.add_argument("--out", metavar="DIR", help="folder to write into (the first DIR)")
    for format in FORMATS:
        figures.add_argument(f"--{format}", action="store_true", help=f"write {format.upper()}")
    return parser


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the scenario")
    for option in ("set", "sweep"):
        parser.add_argument(
            f"--{option}", metavar="KEY=VALUE", action="append", default=[],
            help="as of the program; a value may be python:FILE:CLASS or rust:FILE:TYPE",
        )
    parser.add_argument("--seed", type=int, help="first seed; without --seeds, the only one")
    parser.add_argument("--seeds", type=int, help="number of seeds")


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    subject = parser.add_mutually_exclusive_group(required=True)
    own = "python:FILE:CLASS or rust:FILE:TYPE"
    subject.add_argument("--qdisc", metavar="SPEC", help=f"the queue, {own}")
    subject.add_argument("--cc", metavar="NAME", help=f"the control, {own}")
    parser.add_argument("--case", action="append", default=[], help="only this case")
    parser.add_argument("--seeds", type=int, default=10, help="seeds of each cell")
    _add_shared(parser)


def _add_reproduce(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", help="its name or its folder")
    parser.add_argument("--queue", metavar="SPEC", help="a queue beside the study's own")
    parser.add_argument("--claims", metavar="IDS", default="", help="only these, with commas")
    parser.add_argument("--quick", action="store_true", help="one seed, no slow settings")
    parser.add_argument("--all", action="store_true", help="settings too that take hours")
    parser.add_argument("--seeds", type=int, help="number of seeds")
    parser.add_argument("--resume", action="store_true", help="run only what DIR lacks")
    parser.add_argument("--jobs", type=int, help="runs at a time")
    _add_shared(parser)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--world", choices=["sim"], default="sim", help="the simulator")
    parser.add_argument("--out", metavar="DIR", help="write pages and data there")
    parser.add_argument("--overwrite", action="store_true", help="replace what is in DIR")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


def _value(text: str) -> Any:
    """A value as of the command line: a list in brackets, else a text."""
    if not (text.startswith("[") and text.endswith("]")):
        return text
    parts = [part.strip() for part in text[1:-1].split(",")]
    return [part.strip("\"'") for part in parts if part]


def _fields(given: Sequence[str], option: str) -> dict[str, Any]:
    fields = {}
    for one in given:
        key, equals, value = one.partition("=")
        if not equals:
            raise ValueError(f"{option} {one}: write KEY=VALUE")
        fields[key] = _value(value)
    return fields


def _axes(words: argparse.Namespace) -> dict[str, Any]:
    axes = _fields(words.sweep, "--sweep")
    for key, values in axes.items():
        if not isinstance(values, list):
            raise ValueError(f"--sweep {key}: write a list, [VALUE, ...]")
    return axes


def _counted(what: Sized, name: str) -> str:
    return f"{len(what)} {name}{'' if len(what) == 1 else 's'}"


def _check(words: argparse.Namespace) -> None:
    axes = _axes(words)
    given = text_of(words.file)
    stands = aqm.StandIns(given[1], words.set, axes)
    sets = assignments(stands.put(_fields(words.set, "--set"), "--set"))
    sweeps = assignments(stands.put(axes, "--sweep"))
    checked = read(stands.text(given), sets, sweeps, _seeds(words))
    print(checked.warnings, end="", file=sys.stderr)
    title = f": {checked.title}" if checked.title else ""
    cells = {tuple(params) for params, _ in checked.runs}
    print(f"{checked.name}{title}\n{_counted(cells, 'cell')}, {_counted(checked, 'run')}\n")
    names = {stand_in: name for stand_in, name, _ in stands.makers + stands.controls}
    for field, values in checked.axes:
        print(f"{field}: {', '.join(names.get(value, value) for value in values)}")
    for name in names.values():
        print(f"{name}: loaded, takes its options")


def _seeds(words: argparse.Namespace) -> int | range | None:
    if words.seed is None:
        seeds: int | None = words.seeds
        return seeds
    return range(words.seed, words.seed + (words.seeds or 1))


def _run(words: argparse.Namespace) -> None:
    axes = _axes(words)
    more = {
        "seeds": _seeds(words),
        "jobs": words.jobs,
        "series": bool(words.out or words.into),
        "progress": False if words.quiet else None,
    }
    with warnings.catch_warnings(record=True) as told:
        results = sweep(words.file, axes, **more, **_fields(words.set, "--set"))
    if not words.quiet:
        print("".join(f"{one.message}\n" for one in told), end="", file=sys.stderr)
    if words.into is not None:
        results.write(words.into)
        sys.exit(1 if results.notes else 0)
    for line in results.reading():
        print(line)
    for note in results.notes:
        print(f"sojourn: {note}", file=sys.stderr)
    if words.out is not None:
        results.write(words.out, overwrite=words.overwrite)
        print(f"{words.out}/report.html")
    if results.notes:
        sys.exit(1)


def _figures(words: argparse.Namespace) -> None:
    formats = [one for one in FORMATS if getattr(words, one)] or ["pdf"]
    results = load(*words.dirs)
    figures = listed(words.list) if words.list else usual(results)
    for path in draw(results, figures, words.out or words.dirs[0], formats):
        print(path)


def _evaluate(words: argparse.Namespace) -> None:
    card = evaluate(
        qdisc=words.qdisc,
        cc=words.cc,
        case=words.case,
        seeds=words.seeds,
        out=words.out,
        overwrite=words.overwrite,
        progress=False if words.quiet else None,
    )
    print(card.json if words.json else card, end="")


def _reproduce(words: argparse.Namespace) -> None:
    found = reproduce(
        words.study,
        queue=words.queue,
        claims=[one for one in words.claims.split(",") if one],
        quick=words.quick,
        all_settings=words.all,
        seeds=words.seeds,
        jobs=words.jobs,
        out=words.out,
        resume=words.resume,
        overwrite=words.overwrite,
        progress=False if words.quiet else None,
    )
    for note in found.results.notes:
        print(f"sojourn: {note}", file=sys.stderr)
    if words.json:
        print(json.dumps(found.document, indent=2, ensure_ascii=False))
    elif not words.quiet:
        print(found, end="")
        if words.out is not None:
            print(f"{words.out}/report.html")
    if found.results.notes or any(claim["worse"] for claim in found.claims):
        sys.exit(1)


_COMMANDS = {
    "run": _run,
    "check": _check,
    "figures": _figures,
    "evaluate": _evaluate,
    "reproduce": _reproduce,
}


def main(words: Sequence[str] | None = None) -> None:
    """Do what the words of a command line say."""
    parsed = _parser().parse_args(words)
    try:
        _COMMANDS[parsed.command](parsed)
    except Exception as error:
        if fault := plugins.fault(error):
            print(f"sojourn: {fault}", file=sys.stderr)
            sys.exit(1)
        if not isinstance(error, _TOLD):
            raise
        option = "--" if str(error).partition(":")[0] in _OPTIONS else ""
        print(f"sojourn: {option}{error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
