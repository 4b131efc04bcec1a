"""AQMs and congestion controls that a text names: ``python:FILE:CLASS OPTION=VALUE ...``, or
``rust:FILE.so:TYPE OPTION=VALUE ...`` of a shared library.

>>> sojourn.run("line.toml")            # with qdisc = "python:my.py:OneOfN n=5" in it
>>> sojourn.sweep("line.toml", {"dumbbell.qdisc": ["codel", "python:my.py:OneOfN"]})
>>> sojourn.evaluate(qdisc="python:my.py:OneOfN n=5")
>>> sojourn.reproduce("codel-red", queue="python:my.py:OneOfN n=5")

The file is seen from the folder of the scenario, or from the working directory where no file says
it. Options are the class's keyword arguments: numbers where they look like it, else texts. What is
wrong is told with the place: that of the name, or the line of the file. ``docs/tutorials`` says how
a library is made.
"""

from __future__ import annotations

import importlib.util
import inspect
import linecache
import re
import shlex
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _native
from .aqm import Aqm
from .errors import ScenarioError
from .tcp import CongestionControl

__all__ = ["Library", "fault", "is_named", "load", "names_any", "replaced"]

_PREFIX = "python:"
_LIBRARY = "rust:"
_NAMED = re.compile(r"""(["'])((?:python|rust):[^"'\n]*)\1""")
_FIELD = re.compile(r"([\w.-]+)\s*=[^=]*$")


class _Wrong(Exception):
    """What is wrong with a name, and what would be right."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


def is_named(given: object) -> bool:
    """Whether a value names something of Python's, or of a library."""
    return isinstance(given, str) and given.startswith((_PREFIX, _LIBRARY))


def names_any(text: str) -> bool:
    """Whether a scenario's text may name something of Python's, or of a library."""
    return _PREFIX in text or _LIBRARY in text


def load(name: str, folder: str, where: str = "", field: str = "") -> Callable[..., Any]:
    """The class that a name means, with its options.

    Raises `ScenarioError`, as of the argument ``where``, which says what is wrong with the name.
    """
    try:
        return _loaded(name, folder)
    except _Wrong as wrong:
        raise _error(where, None, None, field, wrong, None) from wrong.__cause__


def replaced(
    text: tuple[str, str, str], put: Callable[[Callable[..., Any]], str]
) -> tuple[str, str, str]:
    """A scenario's text in which ``put`` has said what stands for each class that is named."""
    file, scenario, folder = text
    lines = scenario.split("\n")
    for number, line in enumerate(lines, 1):
        if not names_any(line) or line.lstrip().startswith("#"):
            continue
        before = "\n".join(lines[: number - 1])

        def stand_in(
            found: re.Match[str], number: int = number, line: str = line, before: str = before
        ) -> str:
            named = _FIELD.search(before + "\n" + line[: found.start()])
            field = named[1] if named else ""
            try:
                loaded = _loaded(found[2], folder)
                _fits(loaded, field)
                return f'"{put(loaded)}"'
            except _Wrong as wrong:
                at = found.start(2) + 1
                raise _error(file, number, at, field, wrong, line) from wrong.__cause__

        lines[number - 1] = _NAMED.sub(stand_in, line)
    return file, "\n".join(lines), folder


def _error(
    file: str, line: int | None, column: int | None, field: str, wrong: _Wrong, shown: str | None
) -> ScenarioError:
    place = file if line is None else f"{file}:{line}:{column}"
    text = ": ".join(part for part in (place, field, str(wrong)) if part)
    if shown is not None and column is not None:
        edge = " " * len(str(line))
        text += f"\n{edge} |\n{line} | {shown}\n{edge} | {' ' * (column - 1)}^"
    if wrong.help is not None:
        text += f"\n  = help: {wrong.help}"
    problem = {
        "file": file,
        "line": line,
        "column": column,
        "field": field,
        "message": str(wrong),
        "help": wrong.help,
    }
    return ScenarioError(text, [problem])


def _fits(loaded: Any, field: str) -> None:
    """Whether a field takes what was loaded, if its name says so."""
    last = field.rpartition(".")[2]
    if loaded.is_control and last == "qdisc":
        help = "an AQM belongs here: congestion controls are values of `cc`"
        raise _Wrong(f"`{loaded.__name__}` is a congestion control", help)
    if not loaded.is_control and last == "cc":
        help = "a congestion control belongs here: AQMs are values of `qdisc`"
        raise _Wrong(f"`{loaded.__name__}` is an AQM", help)


def _loaded(name: str, folder: str) -> Callable[..., Any]:
    if name.startswith(_LIBRARY):
        try:
            return Library(_native.Plugin(name, folder), name)
        except ValueError as error:
            raise _Wrong(str(error)) from error
    words = shlex.split(name.removeprefix(_PREFIX))
    path, _, class_name = (words[0] if words else "").rpartition(":")
    if not path or not class_name:
        raise _Wrong(f"`{name}` names no class", "write `python:FILE:CLASS`")
    module = _module(Path(folder) / path, path)
    made = getattr(module, class_name, None)
    known = [
        one.__name__
        for one in vars(module).values()
        if isinstance(one, type)
        and issubclass(one, (Aqm, CongestionControl))
        and one.__module__ == module.__name__
    ]
    if made is None:
        there = ", ".join(f"`{one}`" for one in known) or "none"
        raise _Wrong(f"{path} has no class `{class_name}`", f"those that it has: {there}")
    if not isinstance(made, type) or not issubclass(made, (Aqm, CongestionControl)):
        help = "let it be a class of `sojourn.Aqm` or `sojourn.CongestionControl`"
        raise _Wrong(f"`{class_name}` of {path} is neither an AQM nor a congestion control", help)
    options = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or not key.isidentifier():
            raise _Wrong(f"`{word}` is not an option", "write options as NAME=VALUE, like `n=5`")
        options[key] = _value(value)
    _check(made, class_name, options, path)
    return _With(made, options, name)


def _check(made: type, name: str, options: dict[str, Any], path: str) -> None:
    """Whether the class takes these options."""
    signature = inspect.signature(made)
    code = getattr(inspect.getattr_static(made, "__init__"), "__code__", None)
    place = f"{path}:{code.co_firstlineno}: " if code is not None else ""
    named = {
        one.name
        for one in signature.parameters.values()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    there = ", ".join(f"`{one}`" for one in sorted(named))
    help = f"its options: {there}" if there else "it has no options"
    try:
        signature.bind(**options)
    except TypeError as error:
        unknown = [f"`{one}`" for one in options if one not in named]
        if unknown:
            message = f"{place}`{name}` has no option {' and no option '.join(unknown)}"
        else:
            message = f"{place}`{name}`: {error}"
        raise _Wrong(message, help) from error


def fault(error: BaseException) -> str | None:
    """What a file that was loaded has raised, with its line; None if it was not such a file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [one for one in frames if Path(one.filename) in _modules]
    if not own or own[-1].lineno is None:
        return None
    name, line = own[-1].filename, own[-1].lineno
    path = Path(name)
    here = Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    text = f"{shown}:{line}: {type(error).__name__}: {error}"
    if source := linecache.getline(name, line).strip():
        edge = " " * len(str(line))
        text += f"\n{edge} |\n{line} | {source}\n{edge} |"
    return text


class _With:
    """A class with its options."""

    def __init__(self, made: type, options: dict[str, Any], name: str) -> None:
        self.made = made
        self.options = options
        self.is_control = issubclass(made, CongestionControl)
        self.__name__ = name

    def __call__(self, *given: Any) -> Any:
        return self.made(*given, **self.options)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _With) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.__name__)

    def _key(self) -> tuple[str, str]:
        return self.made.__module__, self.__name__


class Library:
    """An AQM or a congestion control of a shared library, which runs without Python."""

    def __init__(self, native: _native.Plugin, name: str) -> None:
        self.native = native
        self.is_control = native.is_control
        self.__name__ = name

    def __call__(self) -> Any:
        raise TypeError(f"{self.__name__} is a value of a field, or of a queue")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Library) and self.__name__ == other.__name__

    def __hash__(self) -> int:
        return hash(self.__name__)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)


_modules: dict[Path, tuple[int, ModuleType]] = {}


def _module(whole: Path, path: str) -> ModuleType:
    """The module of a file; the same one until the file changes."""
    whole = whole.resolve()
    try:
        changed = whole.stat().st_mtime_ns
    except OSError as error:
        raise _Wrong(f"{path} cannot be read: {error.strerror}") from error
    known = _modules.get(whole)
    if known is not None and known[0] == changed:
        return known[1]
    spec = importlib.util.spec_from_file_location(f"_sojourn_{whole.stem}_{len(_modules)}", whole)
    if spec is None or spec.loader is None:
        raise _Wrong(f"{path} is not a Python file", "its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__)]
        lines = [one.lineno for one in frames if one.filename == str(whole)]
        line = error.lineno if isinstance(error, SyntaxError) else (lines or [None])[-1]
        place = path if line is None else f"{path}:{line}"
        raise _Wrong(f"{place}: {type(error).__name__}: {error}") from error
    _modules[whole] = changed, module
    return module
