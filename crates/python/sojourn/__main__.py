"""The package as a program: ``python -m sojourn run FILE``, ``python -m sojourn figures DIR``.

``run`` is for scenarios that name queues or congestion controls of Python's; the program
``sojourn run`` does everything else faster and with more options.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from ._run import load, sweep
from .errors import RunError, ScenarioError
from .figures import FORMATS, draw, listed, usual

_NOTE = "exit status: 0 when all went well, 1 when a run failed, 2 when the input is wrong"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sojourn", epilog=_NOTE)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a scenario, with what it names of Python's")
    run.add_argument("file", help="the scenario")
    for option in ("set", "sweep"):
        run.add_argument(
            f"--{option}", metavar="KEY=VALUE", action="append", default=[],
            help="as of the program; a value may be python:FILE:CLASS",
        )
    run.add_argument("--seeds", type=int, help="number of seeds")
    run.add_argument("--jobs", type=int, help="runs at a time")
    run.add_argument("--out", metavar="DIR", help="write the report and the data there")
    run.add_argument("--overwrite", action="store_true", help="replace what is in DIR")
    figures = commands.add_parser("figures", help="draw the figures of results, ready for print")
    figures.add_argument("dirs", metavar="DIR", nargs="+", help="folders of results")
    figures.add_argument("--list", metavar="FILE", help="what to draw, in TOML")
    figures.add_argument("--out", metavar="DIR", help="folder to write into (the first DIR)")
    for format in FORMATS:
        figures.add_argument(f"--{format}", action="store_true", help=f"write {format.upper()}")
    return parser


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


def _run(words: argparse.Namespace) -> None:
    axes = _fields(words.sweep, "--sweep")
    for key, values in axes.items():
        if not isinstance(values, list):
            raise ValueError(f"--sweep {key}: write a list, [VALUE, ...]")
    more = {"seeds": words.seeds, "jobs": words.jobs, "series": words.out is not None}
    results = sweep(words.file, axes, **more, **_fields(words.set, "--set"))
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


def main(words: Sequence[str] | None = None) -> None:
    """Do what the words of a command line say."""
    parsed = _parser().parse_args(words)
    try:
        (_run if parsed.command == "run" else _figures)(parsed)
    except (ScenarioError, RunError, ValueError, TypeError, OSError, ImportError) as error:
        print(f"sojourn: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
