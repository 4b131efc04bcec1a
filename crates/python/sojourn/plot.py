"""Figures of results, on matplotlib: `Results.plot`.

>>> results.plot.cdf()                                   # the induced RTT, a curve for each cell
>>> results.plot.box("sojourn_ms", name="down")          # of a link
>>> results.plot.winners("dumbbell.rtt_ms", "dumbbell.down.rate_bps")

Each draws into ``ax`` and gives these axes back. Without ``ax`` it draws into matplotlib's current
axes if nothing is in them yet, and into a new figure otherwise. Colours, fonts and sizes are those
of the user's style (``matplotlib.style.use``).
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
_MARKERS = "osD^v<>pP*X"
_DASHES = ("-", "--", ":", "-.")


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
        by, words = _quantity(metric)
        table = self._results._distributions(metric)
        labels = _labels(table)
        lines: dict[tuple[str, object, str], tuple[list[float], list[float]]] = {}
        rows = zip(
            labels, table["seed"], table["name"], table["value"], table["share"], strict=True
        )
        for label, seed, at, value, share in rows:
            if name is None or at == name:
                values, shares = lines.setdefault((label, seed, at), ([], []))
                values.append(value / by)
                shares.append(share)
        _some(lines, metric, name, table["name"])
        several = len({at for _, _, at in lines}) > 1
        drawn = _Colours(ax)
        for (label, _, at), (values, shares) in lines.items():
            drawn.line(f"{label} {at}".strip() if several else label, values, shares, steps=True)
        ax.set(xlabel=words, ylabel="share of samples", ylim=(0, 1))
        return drawn.done()

    @checked
    def box(
        self,
        metric: str = "induced_rtt_ms",
        *,
        name: str | None = None,
        horizontal: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """Boxes of a distribution, one for each cell: quartiles, median, whiskers at 5 and 95 %.

        With several seeds each is the mean of the seeds' quantiles. ``name`` is a flow or a link.
        Many boxes are easier to read when they are ``horizontal``, one below the other.
        """
        table = distribution(self._results, metric)
        ax = _axes(ax)
        by, words = _quantity(metric)
        who = table["flow" if "flow" in table.columns else "link"]
        quantiles = [table[f"{metric}_{one}"] for one in _QUANTILES]
        groups: dict[str, list[tuple[float, ...]]] = {}
        several = name is None and len(set(who)) > 1
        for label, at, *values in zip(_labels(table), who, *quantiles, strict=True):
            if (name is None or at == name) and None not in values:
                key = f"{label} {at}".strip() if several else label
                groups.setdefault(key, []).append(tuple(one / by for one in values))
        _some(groups, metric, name, who)
        boxes = []
        for label, seeds in groups.items():
            low, first, middle, third, high = (fmean(one) for one in zip(*seeds, strict=True))
            box = {"label": label, "whislo": low, "q1": first, "med": middle}
            boxes.append({**box, "q3": third, "whishi": high, "fliers": []})
        if horizontal:
            _lying(ax, boxes)
            ax.invert_yaxis()
            ax.set(xlabel=words)
        else:
            ax.bxp(boxes, showfliers=False)
            ax.set(ylabel=words)
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
        unit = units.pop() if len(units) == 1 else ""
        unit, by = ("Mbit/s", 1e6) if unit == "bit/s" else (unit, 1.0)
        lines: dict[tuple[str, object, str], tuple[list[float], list[float]]] = {}
        rows = zip(
            _labels(table), table["seed"], table["name"], table["t_s"], table["value"], strict=True
        )
        for label, seed, at, time, value in rows:
            if name is None or at == name:
                times, values = lines.setdefault((label, seed, at), ([], []))
                times.append(time)
                values.append(math.nan if value is None else value / by)
        _some(lines, metric, name, table["name"])
        several = len({at for _, _, at in lines}) > 1
        drawn = _Colours(ax)
        for (label, _, at), (times, values) in lines.items():
            drawn.line(f"{label} {at}".strip() if several else label, times, values)
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
        (x_by, x_words), (y_by, y_words) = _quantity(x), _quantity(y)
        for number, (label, points) in enumerate(groups.items()):
            ones, others = zip(*points, strict=True)
            x_mean, x_half = _interval([one / x_by for one in ones])
            y_mean, y_half = _interval([one / y_by for one in others])
            # Colours come round after ten.
            marker = _MARKERS[number // 10 % len(_MARKERS)]
            ax.errorbar(x_mean, y_mean, y_half, x_half, fmt=marker, label=label, capsize=2)
        ax.set(xlabel=x_words, ylabel=y_words)
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

        by, words = _quantity(value)
        grid = [
            [_mean(cells.get((column, row), {}).get("")) / by for column in columns] for row in rows
        ]
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
        ax.figure.colorbar(image, ax=ax, label=words)
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
        title = f"{'highest' if most else 'lowest'} {_quantity(value)[1].partition(' in ')[0]}"
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
        again = self.known.get(label)
        dash = _DASHES[len(self.known) // 10 % len(_DASHES)]
        style: dict[str, Any] = again or {"label": label, "linestyle": dash}
        (line,) = self.ax.plot(x, y, drawstyle="steps-post" if steps else "default", **style)
        self.known[label] = {"color": line.get_color(), "linestyle": line.get_linestyle()}

    def done(self) -> Axes:
        if any(self.known):
            self.ax.legend()
        return self.ax


def _lying(ax: Axes, boxes: list[dict[str, Any]]) -> None:
    """Boxes from left to right, in the words of the matplotlib that is there."""
    import matplotlib

    new = tuple(int(one) for one in matplotlib.__version__.split(".")[:2]) >= (3, 10)
    how: dict[str, Any] = {"orientation": "horizontal"} if new else {"vert": False}
    ax.bxp(boxes, showfliers=False, **how)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("figures take matplotlib: pip install 'sojourn[plot]'") from error
    ax = pyplot.gca()
    # Several calls of a script are several figures.
    return pyplot.figure().gca() if ax.has_data() else ax


def _labels(table: Table) -> list[str]:
    """For each row the values of what varies: the world, if there are several, and parameters."""
    shown = parameters(table)
    if len(set(table["world"])) > 1:
        shown = ["world", *shown]
    columns = [_said(name, table[name]) for name in shown]
    return [", ".join(row) for row in zip(*columns, strict=True)] if columns else [""] * len(table)


def _said(name: str, values: Sequence[Any]) -> list[str]:
    """Values of a parameter in a label. Words say what they are, a number has name and unit."""
    if not all(isinstance(one, (int, float)) for one in values):
        return [_shown(one) for one in values]
    by, words = _quantity(name.rpartition(".")[2])
    head, _, unit = words.partition(" in ")
    return [f"{head} {_shown(one / by)} {unit}".strip() for one in values]


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _sorted(values: Sequence[Any]) -> list[Any]:
    distinct = list(dict.fromkeys(values))
    numbers = all(isinstance(one, (int, float)) for one in distinct)
    return sorted(distinct) if numbers else distinct


def _quantity(column: str) -> tuple[float, str]:
    """What a column's numbers are divided by, and how an axis names them, with the unit."""
    ends = [("_ms", "ms", 1.0), ("_bps", "Mbit/s", 1e6), ("_s", "s", 1.0), ("_bytes", "bytes", 1.0)]
    for end, unit, by in ends:
        head, found, tail = column.partition(end)
        if found and (not tail or tail.startswith("_")):
            return by, f"{(head + tail).replace('_', ' ')} in {unit}"
    return 1.0, column.replace("_", " ")


def _ticks(ax: Axes, x: str, y: str, columns: list[Any], rows: list[Any]) -> None:
    """Marks at the values of two parameters."""

    def shown(name: str, values: list[Any]) -> list[str]:
        by, _ = _quantity(name)
        return [_shown(one / by if isinstance(one, float) else one) for one in values]

    ax.set_xticks(range(len(columns)), shown(x, columns))
    ax.set_yticks(range(len(rows)), shown(y, rows))
    ax.set(xlabel=_quantity(x)[1], ylabel=_quantity(y)[1])


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
