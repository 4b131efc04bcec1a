"""Results: tables, series on request, a report."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _native
from .plot import Plot, parameters

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    import xarray

__all__ = ["Report", "Results", "Table"]

_SHOWN = 20


class Table:
    """A table in Arrow's layout, which pandas, polars, pyarrow and DuckDB take over.

    It has Arrow's ``__arrow_c_stream__``: ``polars.DataFrame(table)`` and ``pyarrow.table(table)``
    copy no numbers.
    """

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def columns(self) -> list[str]:
        """The columns' names. Those of quantities end with the unit: ``_ms``, ``_bps``."""
        return self._native.columns

    def unit(self, column: str) -> str:
        """The unit of a column: ``"ms"``, ``"bit/s"``; empty where there is none."""
        return dict(self._native.about(column)).get("unit", "")

    def meaning(self, column: str) -> str:
        """What a column says, in a sentence; empty for parameters."""
        return dict(self._native.about(column)).get("meaning", "")

    def __getitem__(self, column: str) -> list[Any]:
        """A column as a list; None where there is no value."""
        return self._native.values(column, None)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, each as a dict."""
        columns = self.columns
        for row in zip(*(self[column] for column in columns), strict=True):
            yield dict(zip(columns, row, strict=True))

    def to_pyarrow(self) -> pyarrow.Table:
        """As a `pyarrow.Table`."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a `pandas.DataFrame`; takes pyarrow, too."""
        return self.to_pyarrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """As a `polars.DataFrame`."""
        import polars

        return polars.DataFrame(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<sojourn.Table: {len(self)} rows, {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        columns = self.columns
        shown = [self._native.values(column, _SHOWN) for column in columns]
        return _html_table(columns, zip(*shown, strict=True), len(self))


class Report:
    """A page that shows results: in a notebook in place, otherwise as text."""

    def __init__(self, page: str) -> None:
        self.html: str = page
        """The page, which needs nothing else."""

    def _repr_html_(self) -> str:
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 40em; border: 0"></iframe>'


class Results:
    """What runs have yielded.

    Rows of tables are told apart by ``world``, ``cell`` (the number of the combination of
    parameters), ``seed``, and a column for each parameter: a number in the unit that the name
    ends with where the field is a quantity (``dumbbell.rtt_ms``), otherwise a text.
    """

    def __init__(self, native: _native.Results, notes: list[str] | None = None) -> None:
        self._native = native
        self._more = notes or []

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._native.name

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self._native.title

    @property
    def notes(self) -> list[str]:
        """Sentences: which runs failed, and what else a reader should know."""
        return self._native.notes + self._more

    @cached_property
    def runs(self) -> Table:
        """A row for each run: figures over all flows, induced RTT of the probes, cost, digest."""
        return Table(self._native.runs())

    @cached_property
    def flows(self) -> Table:
        """A row for each flow of each run: goodput, round-trip times, losses, what apps measure."""
        return Table(self._native.flows())

    @cached_property
    def links(self) -> Table:
        """A row for each link of each run: drops, marks, utilisation, sojourn times, tc's counts.

        Numbers of the queue's own statistics stand in columns ``qdisc_NAME``, in tc's units.
        """
        return Table(self._native.links())

    def series(self, metric: str | None = None) -> Table:
        """A row for each point of the series, of one metric or of all; ``t_s`` are seconds.

        Runs keep them when they are asked to (``series=True``); otherwise the table is empty. A
        metric that there is not is an `IndexError`, which names the nearest.
        """
        return Table(self._native.series(metric))

    def _distributions(self, metric: str | None = None) -> Table:
        """A row for each point of the cumulative distributions, of one metric or of all."""
        return Table(self._native.distributions(metric))

    @property
    def plot(self) -> Plot:
        """Figures on matplotlib: ``cdf``, ``box``, ``series``, ``tradeoff``, ``heatmap`` and
        ``winners``."""
        return Plot(self)

    def to_xarray(self) -> xarray.Dataset:
        """The figures of runs as an `xarray.Dataset`: a dimension for each parameter that varies,
        and ``seed``; ``world`` is one too, if there are several."""
        import numpy
        import xarray

        runs = self.runs
        dimensions = [*parameters(runs), "seed"]
        if len(set(runs["world"])) > 1:
            dimensions.insert(0, "world")
        values = {name: list(dict.fromkeys(runs[name])) for name in dimensions}
        places = [
            tuple(values[name].index(one) for name, one in zip(dimensions, row, strict=True))
            for row in zip(*(runs[name] for name in dimensions), strict=True)
        ]
        shape = [len(values[name]) for name in dimensions]
        figures = runs.columns[runs.columns.index("jain") :]
        variables = {}
        for name in figures:
            column = runs[name]
            if not all(one is None or isinstance(one, (int, float)) for one in column):
                continue
            array = numpy.full(shape, numpy.nan)
            for place, one in zip(places, column, strict=True):
                if one is not None:
                    array[place] = one
            about = {"unit": runs.unit(name), "long_name": runs.meaning(name)}
            variables[name] = (dimensions, array, about)
        return xarray.Dataset(variables, coords=values, attrs={"title": self.title})

    def reading(self) -> list[str]:
        """What the figures say, in sentences."""
        return self._native.reading()

    def report(self) -> Report:
        """The page with charts and all figures; a notebook shows it in place."""
        return Report(self._native.html())

    def write(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write ``report.html``, ``results.parquet`` and ``summary.json``, as the program does.

        A folder with results of another scenario or of a study is refused with a `RunError`, unless
        ``overwrite`` replaces them.
        """
        self._native.write(os.fspath(folder), overwrite)

    def to_flent(
        self, folder: str | os.PathLike[str], base: str | os.PathLike[str] = "."
    ) -> list[str]:
        """Write a data file of Flent's for each run, as ``sojourn export --flent`` does.

        The runs must have been made with ``series=True``. ``base`` is the folder of the scenario's
        file, if that names others. Gives the files' paths.
        """
        paths = self._native.flent(os.fspath(folder), os.fspath(base))
        return [str(path) for path in paths]

    def __len__(self) -> int:
        """The number of runs."""
        return len(self._native)

    def __add__(self, other: Results) -> Results:
        joined = _native.Results.joined([self._native, other._native])
        return Results(joined, self._more + other._more)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpack, (self._native.pack(), self._native.notes, self._more)

    def __repr__(self) -> str:
        return f"<sojourn.Results of {self.name!r}: {len(self)} runs>"

    def _repr_html_(self) -> str:
        reading = "".join(f"<li>{html.escape(line)}</li>" for line in self.reading())
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        table = self._headline()
        return f"<h4>{html.escape(self.title)}</h4><ul>{reading}</ul>{notes}{table}"

    def _headline(self) -> str:
        runs = self.runs
        first = runs.columns.index("jain")
        columns = runs.columns[:first]
        columns += ["goodput_bps", "jain", "induced_rtt_ms_p50", "induced_rtt_ms_p95"]
        shown = [self._native.runs().values(column, _SHOWN) for column in columns]
        return _html_table(columns, zip(*shown, strict=True), len(self))


def _unpack(packed: bytes, notes: list[str], more: list[str]) -> Results:
    return Results(_native.Results.unpack(packed, notes), more)


def _html_table(columns: list[str], rows: Any, total: int) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    lines = []
    for row in rows:
        cells = "".join(f"<td>{html.escape(_shown(one))}</td>" for one in row)
        lines.append(f"<tr>{cells}</tr>")
    more = f"<p>{total} rows</p>" if total > len(lines) else ""
    body = "".join(lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) and abs(value) < 1e6 else str(value)
