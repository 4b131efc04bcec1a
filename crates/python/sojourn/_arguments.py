"""What the arguments of figures may be, and what is said of a wrong one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .plot import Plot
    from .results import Results, Table

__all__ = [
    "arguments",
    "checked",
    "distribution",
    "figure",
    "parameters",
    "series",
    "swept",
    "unknown",
]

_Given = ParamSpec("_Given")
_Plot = TypeVar("_Plot", bound="Plot")
_Drawn = TypeVar("_Drawn")

# What the same thing is called in other figures, or in the words of the page.
_MEANT = {
    "metric": ("metric", "value", "y"),
    "value": ("metric", "value", "y"),
    "figure": ("metric", "value", "y"),
    "flow": ("name",),
    "link": ("name",),
    "qdisc": ("by",),
    "queue": ("by",),
    "highest": ("most",),
    "axes": ("ax",),
}
_STATISTICS = ("p50", "mean", "p95", "p25", "p75", "p99", "min", "max", "p5", "count")
_SHOWN = 8


def arguments(method: Callable[..., object]) -> list[str]:
    """The names of a figure's arguments, in their order."""
    return [name for name in inspect.signature(method).parameters if name != "self"]


def unknown(kind: str, name: str, known: Sequence[str]) -> str:
    """What is said of an argument that a figure does not have."""
    meant = next((one for one in _MEANT.get(name, ()) if one in known), None)
    near = [meant] if meant else get_close_matches(name, known, 1)
    if near:
        return f"{kind} has no argument `{name}`; did you mean `{near[0]}`?"
    return f"{kind} has no argument `{name}`; its arguments: {', '.join(known)}"


def checked(
    method: Callable[Concatenate[_Plot, _Given], _Drawn],
) -> Callable[Concatenate[_Plot, _Given], _Drawn]:
    """A method whose wrong keywords are answered with the right ones."""
    known = arguments(method)
    needed = [
        name
        for name, one in inspect.signature(method).parameters.items()
        if name != "self" and one.default is inspect.Parameter.empty
    ]

    @functools.wraps(method)
    def call(self: _Plot, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Drawn:
        for name in kwargs:
            if name not in known:
                raise TypeError(unknown(f"{method.__name__}()", name, known))
        missing = [name for name in needed[len(args) :] if name not in kwargs]
        if missing:
            are = ", ".join(parameters(self._results.runs)) or "none: sweep two fields"
            named = " and ".join(f"`{one}`" for one in missing)
            raise TypeError(f"{method.__name__}() needs {named}: parameters that vary ({are})")
        return method(self, *args, **kwargs)

    return call


def parameters(table: Table) -> list[str]:
    """The columns of parameters that vary, without those of the options that queues name."""
    found = _parameters(table)
    # `dumbbell.qdisc.target_ms` belongs to `dumbbell.qdisc`.
    own = [one for one in found if not any(one.startswith(f"{other}.") for other in found)]
    return [one for one in own if len(set(table[one])) > 1]


def _parameters(table: Table) -> list[str]:
    columns = table.columns
    start = columns.index("seed") + 1
    ends = [name for name in ("flow", "link", "jain", "kind") if name in columns]
    return columns[start : min(columns.index(name) for name in ends)]


def swept(table: Table, argument: str, name: str) -> None:
    """Refuse what is no column of a parameter: an axis of a map."""
    known = ["world", "seed", *_parameters(table)]
    if name in known:
        return
    # A field's column may end with its unit, and a path with its last key.
    near = [one for one in known if one.startswith(f"{name}_") or one.endswith(f".{name}")]
    near = near or get_close_matches(name, known, 1)
    varying = parameters(table)
    if near:
        help = f"did you mean `{near[0]}`?"
    elif varying:
        help = f"parameters that vary: {', '.join(varying)}"
    else:
        help = "no parameter varies in these results"
    raise IndexError(f"{argument}: no parameter `{name}`; {help}")


def figure(results: Results, argument: str, name: str) -> None:
    """Refuse what is no figure of runs."""
    columns = results.runs.columns
    known = columns[columns.index("jain") :]
    if name in known:
        return
    statistic = next((f"{name}_{one}" for one in _STATISTICS if f"{name}_{one}" in known), None)
    if statistic:
        help = f"it is a distribution: name a statistic of it, `{statistic}`"
    elif where := [one for one in ("flows", "links") if _has(getattr(results, one), name)]:
        help = f"`results.{where[0]}` has it, for each of them; {_some_of('runs', known)}"
    else:
        help = _near("runs", name, known)
    raise IndexError(f"{argument}: no figure `{name}` of runs; {help}")


def distribution(results: Results, name: str) -> Table:
    """The table, flows or links, that has quantiles of a distribution."""
    for table in (results.flows, results.links):
        if f"{name}_p50" in table.columns:
            return table
    columns = [*results.flows.columns, *results.links.columns]
    known = [one.removesuffix("_p50") for one in columns if one.endswith("_p50")]
    stem = next((one for one in known if name.startswith(f"{one}_")), None)
    if stem:
        help = f"did you mean `{stem}`?"
    elif name in columns or name in results.runs.columns:
        help = f"it is one number, which heatmap() and tradeoff() draw; {_some_of('', known)}"
    else:
        help = _near("", name, known)
    raise IndexError(f"metric: no distribution `{name}`; {help}")


def series(results: Results, name: str) -> Table:
    """The points of a series. A name with a unit or a statistic is answered with the series'."""
    try:
        table = results.series(name)
    except IndexError as error:
        stem = name.partition("_")[0]
        if stem == name:
            raise
        try:
            results.series(stem)
        except IndexError:
            raise error from None
        raise IndexError(f"metric: no series `{name}`; did you mean `{stem}`?") from None
    if not len(table) and not len(results.series()):
        raise ValueError("these runs have no series: run them with series=True")
    return table


def _has(table: Table, name: str) -> bool:
    return name in table.columns or f"{name}_p50" in table.columns


def _near(whose: str, name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean `{near[0]}`?" if near else _some_of(whose, known)


def _some_of(whose: str, known: Iterable[str]) -> str:
    names = list(known)
    rest = ", ..." if len(names) > _SHOWN else ""
    of = f"figures of {whose}" if whose else "distributions"
    return f"{of}: {', '.join(names[:_SHOWN])}{rest}"
