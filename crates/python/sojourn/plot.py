"""Figures of results, on matplotlib: `Results.plot`.

>>> results.plot.cdf()                                   # the induced RTT, a curve for each cell
>>> results.plot.box("sojourn_ms", name="down")          # of a link
>>> results.plot.winners("dumbbell.rtt_ms", "dumbbell.down.rate_bps")

Each draws into ``ax``, or into the axes that matplotlib has at the moment, and gives these axes
back. Colours, fonts and sizes are those of the user's style (``matplotlib.style.use``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from ._arguments import checked, distribution, figure, parameters, series, swept

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .results import Results, Table

__all__ = ["Plot", "parameters"]

# Student's t of a two-sided 95 % interval, by degrees of freedom; 1.96 beyond.
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160)
_QUANTILES = ("p5", "p25", "p50", "p75", "p95")


class Plot:
    """Figures of some results."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @checked
    def cdf(
        self, metric: str = "induced_rtt_ms", *, name: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """The cumulative distribution of a metric: a colour for each cell, a line for each seed.

        ``name`` is a flow or a link; by default all that have the metric.
        """
        distribution(self._results, metric)
        ax = _axes(ax)
        table = self._results._distributions(metric)
        labels = _labels(table)
        lines: dict[tuple[str, object, str], tuple[list[float], list[float]]] = {}
        rows = zip(
            labels, table["seed"], table["name"], table["value"], table["share"], strict=True
        )
        for label, seed, at, value, share in rows:
            if name is None or at == name:
                values, shares = lines.setdefault((label, seed, at), ([], []))
                values.append(value)
                shares.append(share)
        _some(lines, metric, name, table["name"])
        several = len({at for _, _, at in lines}) > 1
        drawn = _Colours(ax)
        for (label, _, at), (values, shares) in lines.items():
            drawn.line(f"{label} {at}".strip() if several else label, values, shares, steps=True)
        ax.set(xlabel=_axis(metric), ylabel="share of samples", ylim=(0, 1))
        return drawn.done()

    @checked
    def box(
        self, metric: str = "induced_rtt_ms", *, name: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """Boxes of a distribution, one for each cell: quartiles, median, whiskers at 5 and 95 %.

        With several seeds each is the mean of the seeds' quantiles. ``name`` is a flow or a link.
        """
        table = distribution(self._results, metric)
        ax = _axes(ax)
        who = table["flow" if "flow" in table.columns else "link"]
        quantiles = [table[f"{metric}_{one}"] for one in _QUANTILES]
        groups: dict[str, list[tuple[float, ...]]] = {}
        several = name is None and len(set(who)) > 1
        for label, at, *values in zip(_labels(table), who, *quantiles, strict=True):
            if (name is None or at == name) and None not in values:
                key = f"{label} {at}".strip() if several else label
                groups.setdefault(key, []).append(tuple(values))
        _some(groups, metric, name, who)
        boxes = []
        for label, seeds in groups.items():
            low, first, middle, third, high = (fmean(one) for one in zip(*seeds, strict=True))
            box = {"label": label, "whislo": low, "q1": first, "med": middle}
            boxes.append({**box, "q3": third, "whishi": high, "fliers": []})
        ax.bxp(boxes, showfliers=False)
        ax.set(ylabel=_axis(metric))
        ax.tick_params(axis="x", rotation=30)
        return ax

    @checked
    def series(
        self, metric: str = "rtt", *, name: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """A metric over time; of runs that were made with ``series=True``.

        ``name`` is a flow or a link; by default all that have the metric.
        """
        table = series(self._results, metric)
        ax = _axes(ax)
        units = set(table["unit"])
        lines: dict[tuple[str, object, str], tuple[list[float], list[float]]] = {}
        rows = zip(
            _labels(table), table["seed"], table["name"], table["t_s"], table["value"], strict=True
        )
        for label, seed, at, time, value in rows:
            if name is None or at == name:
                times, values = lines.setdefault((label, seed, at), ([], []))
                times.append(time)
                values.append(math.nan if value is None else value)
        _some(lines, metric, name, table["name"])
        several = len({at for _, _, at in lines}) > 1
        drawn = _Colours(ax)
        for (label, _, at), (times, values) in lines.items():
            drawn.line(f"{label} {at}".strip() if several else label, times, values)
        unit = units.pop() if len(units) == 1 else ""
        ax.set(xlabel="time in s", ylabel=f"{metric} in {unit}" if unit else metric)
        return drawn.done()

    @checked
    def tradeoff(
        self,
        x: str = "induced_rtt_ms_p50",
        y: str = "goodput_bps",
        *,
        ax: Axes | None = None,
    ) -> Axes:
        """Two figures of runs against each other: a point for each cell, with the 95 % intervals of
        both means over seeds."""
        figure(self._results, "x", x)
        figure(self._results, "y", y)
        ax = _axes(ax)
        table = self._results.runs
        groups: dict[str, list[tuple[float, float]]] = {}
        for label, one, other in zip(_labels(table), table[x], table[y], strict=True):
            if one is not None and other is not None:
                groups.setdefault(label, []).append((one, other))
        _some(groups, f"{x} and {y}", None, ())
        for label, points in groups.items():
            (x_mean, x_half), (y_mean, y_half) = (
                _interval(one) for one in zip(*points, strict=True)
            )
            ax.errorbar(x_mean, y_mean, y_half, x_half, fmt="o", label=label, capsize=2)
        ax.set(xlabel=_axis(x), ylabel=_axis(y))
        if any(groups):
            ax.legend()
        return ax

    @checked
    def heatmap(
        self,
        x: str,
        y: str,
        value: str = "induced_rtt_ms_p50",
        *,
        ax: Axes | None = None,
    ) -> Axes:
        """A figure of runs over two parameters, as colours with numbers: the mean over all else.

        ``x`` and ``y`` are columns of parameters, ``value`` is a column of a figure.
        """
        cells, columns, rows = self._grid(x, y, value)
        ax = _axes(ax)
        import numpy

        grid = [[_mean(cells.get((column, row), {}).get("")) for column in columns] for row in rows]
        image = ax.imshow(grid, origin="lower", aspect="auto")
        shades = image.to_rgba(numpy.array(grid))
        for at, line in enumerate(grid):
            for across, one in enumerate(line):
                if not math.isnan(one):
                    red, green, blue, _ = shades[at][across]
                    dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
                    colour = "white" if dark else "black"
                    ax.text(across, at, f"{one:.3g}", ha="center", va="center", color=colour)
        _ticks(ax, x, y, columns, rows)
        ax.figure.colorbar(image, ax=ax, label=_axis(value))
        return ax

    @checked
    def winners(
        self,
        x: str,
        y: str,
        by: str | None = None,
        value: str = "induced_rtt_ms_p50",
        *,
        most: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Which value of ``by`` is best where: a colour for the lowest mean of a figure (with
        ``most`` the highest) over two parameters. By default ``by`` is the queue that is swept."""
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch

        table = self._results.runs
        others = [one for one in parameters(table) if one not in (x, y)]
        by = by or next((one for one in others if one.endswith("qdisc")), None)
        if by is None:
            raise ValueError(f"no queue is swept; give by=, one of {', '.join(others) or 'none'}")
        swept(table, "by", by)
        cells, columns, rows = self._grid(x, y, value, by)
        ax = _axes(ax)
        names = list(dict.fromkeys(str(one) for one in table[by]))
        sign = -1.0 if most else 1.0

        def best(cell: dict[str, list[float]]) -> float:
            means = {name: sign * fmean(values) for name, values in cell.items() if values}
            return names.index(min(means, key=means.__getitem__)) if means else math.nan

        grid = [[best(cells.get((column, row), {})) for column in columns] for row in rows]
        from matplotlib import colormaps

        colours = [colormaps["tab10"](number % 10) for number in range(len(names))]
        map_ = ListedColormap(colours)
        ax.imshow(grid, origin="lower", aspect="auto", cmap=map_, vmin=-0.5, vmax=len(names) - 0.5)
        won = {int(one) for row in grid for one in row if not math.isnan(one)}
        patches = [Patch(color=colours[one], label=names[one]) for one in sorted(won)]
        # Above the map, which it would hide.
        title = f"{'highest' if most else 'lowest'} {_axis(value)}"
        place: dict[str, Any] = {"bbox_to_anchor": (0.5, 1.0), "ncols": len(patches)}
        ax.legend(handles=patches, title=title, loc="lower center", **place)
        _ticks(ax, x, y, columns, rows)
        return ax

    def _grid(
        self, x: str, y: str, value: str, by: str | None = None
    ) -> tuple[dict[tuple[Any, Any], dict[str, list[float]]], list[Any], list[Any]]:
        """By the values of two parameters, and by a third: all values of a figure there."""
        table = self._results.runs
        swept(table, "x", x)
        swept(table, "y", y)
        if x == y:
            raise ValueError(f"x and y are both `{x}`; a map needs two parameters")
        figure(self._results, "value", value)
        names = [""] * len(table) if by is None else [str(one) for one in table[by]]
        cells: dict[tuple[Any, Any], dict[str, list[float]]] = {}
        for column, row, name, one in zip(table[x], table[y], names, table[value], strict=True):
            if one is not None:
                cells.setdefault((column, row), {}).setdefault(name, []).append(one)
        _some(cells, value, None, ())
        return cells, _sorted(table[x]), _sorted(table[y])


class _Colours:
    """Lines of one colour for each label, which the legend names once."""

    def __init__(self, ax: Axes) -> None:
        self.ax = ax
        self.known: dict[str, Any] = {}

    def line(self, label: str, x: list[float], y: list[float], steps: bool = False) -> None:
        again = {"color": self.known[label]} if label in self.known else {"label": label}
        style: dict[str, Any] = {**again, "drawstyle": "steps-post" if steps else "default"}
        (line,) = self.ax.plot(x, y, **style)
        self.known[label] = line.get_color()

    def done(self) -> Axes:
        if any(self.known):
            self.ax.legend()
        return self.ax


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("figures take matplotlib: pip install 'sojourn[plot]'") from error
    return pyplot.gca()


def _labels(table: Table) -> list[str]:
    """For each row the values of what varies: the world, if there are several, and parameters."""
    shown = parameters(table)
    if len(set(table["world"])) > 1:
        shown = ["world", *shown]
    columns = [[_shown(one) for one in table[name]] for name in shown]
    if len(shown) > 1:
        short = [_short(name) for name in shown]
        rows = zip(*columns, strict=True)
        return [
            ", ".join(f"{name} {one}" for name, one in zip(short, row, strict=True)) for row in rows
        ]
    return columns[0] if columns else [""] * len(table)


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sorted(values: Sequence[Any]) -> list[Any]:
    distinct = list(dict.fromkeys(values))
    numbers = all(isinstance(one, (int, float)) for one in distinct)
    return sorted(distinct) if numbers else distinct


def _axis(column: str) -> str:
    """A column's name as an axis has it: its unit behind `in`."""
    for end, unit in [("_ms", "ms"), ("_bps", "bit/s"), ("_s", "s"), ("_bytes", "bytes")]:
        head, found, tail = column.partition(end)
        if found and (not tail or tail.startswith("_")):
            return f"{(head + tail).replace('_', ' ')} in {unit}"
    return column.replace("_", " ")


def _ticks(ax: Axes, x: str, y: str, columns: list[Any], rows: list[Any]) -> None:
    """Marks at the values of two parameters; rates are in Mbit/s."""

    def shown(name: str, values: list[Any]) -> list[str]:
        by = 1e6 if name.endswith("_bps") else 1
        return [_shown(one / by if isinstance(one, float) else one) for one in values]

    def named(name: str) -> str:
        head = name.removesuffix("_bps")
        return _axis(name) if head == name else f"{head.replace('_', ' ')} in Mbit/s"

    ax.set_xticks(range(len(columns)), shown(x, columns))
    ax.set_yticks(range(len(rows)), shown(y, rows))
    ax.set(xlabel=named(x), ylabel=named(y))


def _mean(values: Iterable[float] | None) -> float:
    kept = list(values or [])
    return fmean(kept) if kept else math.nan


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half of its 95 % interval; none with one value."""
    if len(values) < 2:
        return fmean(values), 0.0
    degrees = len(values) - 1
    t = _T95[degrees - 1] if degrees <= len(_T95) else 1.96 + 2.6 / degrees
    return fmean(values), t * stdev(values) / math.sqrt(len(values))


def _some(found: object, metric: str, name: str | None, who: Iterable[str]) -> None:
    if found:
        return
    have = list(dict.fromkeys(who))
    if name is None or not have:
        raise ValueError(f"no run has {metric}")
    raise ValueError(f"no run has {metric} of `{name}`; it is there for {', '.join(have)}")
