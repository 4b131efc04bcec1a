"""Figures of a folder of results, ready for print: ``python -m sojourn figures DIR --pdf``.

What is drawn is a list, in TOML:

    [[figure]]
    name = "latency"               # the file's name
    kind = "cdf"                   # a method of `Results.plot`
    metric = "induced_rtt_ms"      # and its arguments
    name_of = "probe"              # `name` of that method: a flow or a link
    width = 3.5                    # inches; default 3.5, a column of a paper
    height = 2.4
    title = "Ping under load"      # default: none
    log = "x"                      # a logarithmic axis: x, y or xy

Without a list there is one figure of each kind that the results have something for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._arguments import arguments, parameters, unknown
from .plot import Plot
from .results import Results

__all__ = ["FORMATS", "STYLE", "draw", "listed", "usual"]

FORMATS = ("svg", "pdf", "pgf")
KINDS = ("cdf", "box", "series", "tradeoff", "heatmap", "winners")
# Up to so many entries of a legend stand in the axes, up to so many cells have a curve each.
_FEW, _CURVES = 5, 24
_OWN = ("name", "kind", "name_of", "width", "height", "title", "log")

STYLE: Any = {
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    # Fonts as TrueType in the file, as publishers ask for, and the same bytes each time.
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "sojourn",
}
"""What matplotlib is told for print: white, small, with the fonts in the file."""


def listed(path: str | Path) -> list[dict[str, Any]]:
    """The figures of a list. Raises `ValueError`, which names the file and the figure."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: {error}") from error
    figures: list[dict[str, Any]] = table.get("figure", [])
    if not figures or set(table) != {"figure"}:
        raise ValueError(f"{path}: a list has tables [[figure]], one at least, and nothing else")
    for number, figure in enumerate(figures, 1):
        place = f"{path}: figure {number}"
        missing = [key for key in ("name", "kind") if key not in figure]
        if missing:
            raise ValueError(f"{place}: missing key `{missing[0]}`")
        if figure["kind"] not in KINDS:
            raise ValueError(f"{place}: kind `{figure['kind']}` is none of {', '.join(KINDS)}")
        if not isinstance(figure["name"], str) or "/" in figure["name"]:
            raise ValueError(f"{place}: name `{figure['name']}` is not a file name")
        if figure.get("log", "") not in ("", "x", "y", "xy"):
            raise ValueError(f"{place}: log `{figure['log']}` is none of x, y, xy")
        for key in ("width", "height"):
            if not isinstance(figure.get(key, 1), (int, float)) or figure.get(key, 1) <= 0:
                raise ValueError(f"{place}: {key} `{figure[key]}` is not a number of inches")
        _known(place, figure)
    return figures


def _known(place: str, figure: Mapping[str, Any]) -> None:
    """Refuse a key that a figure of this kind does not have."""
    own = arguments(getattr(Plot, figure["kind"]))
    # `name` is the file's; that of a flow or link has another key.
    keys = [one for one in _OWN if one != "name_of" or "name" in own]
    known = [*keys, *(one for one in own if one not in ("name", "ax"))]
    for key in figure:
        if key not in known:
            kind = f"kind `{figure['kind']}`"
            if key in ("flow", "link") and "name_of" in known:
                help = "did you mean `name_of`?"
                raise ValueError(f"{place}: {kind} has no argument `{key}`; {help}")
            raise ValueError(f"{place}: {unknown(kind, key, known)}")


def usual(results: Results) -> list[dict[str, Any]]:
    """The list of what these results have something for, of latencies those of one ping.

    More than 24 cells have no curve or box each: a map of two parameters shows them, or a list.
    """
    runs = results.runs
    swept = [name for name in parameters(runs) if not name.endswith("qdisc")]
    queues = [name for name in parameters(runs) if name.endswith("qdisc")]
    flows = results.flows
    pings = [name for name, app in zip(flows["flow"], flows["app"], strict=True) if app == "ping"]
    of = {"name_of": pings[0]} if pings else {}
    cells = len(set(zip(runs["world"], runs["cell"], strict=True)))
    figures: list[dict[str, Any]] = []
    if cells <= _CURVES and len(results._distributions("induced_rtt_ms")):
        many: dict[str, Any] = {"horizontal": True, "log": "x"} if cells > _FEW else {"log": "y"}
        figures += [
            {"name": "latency-cdf", "kind": "cdf", "log": "x", **of},
            {"name": "latency-box", "kind": "box", **many, **of},
        ]
    if cells <= _CURVES and any(one is not None for one in runs["induced_rtt_ms_p50"]):
        figures.append({"name": "tradeoff", "kind": "tradeoff", "log": "x"})
    if cells <= _CURVES and len(results.series("rtt")):
        latency = {"name": "latency-series", "kind": "series", "metric": "rtt", "log": "y"}
        figures.append({**latency, **of})
    if len(swept) == 2 or (len(swept) > 2 and cells > _CURVES):
        x, y = swept[:2]
        figures.append({"name": "heatmap", "kind": "heatmap", "x": x, "y": y})
        if queues:
            figures.append({"name": "winners", "kind": "winners", "x": x, "y": y, "by": queues[0]})
    return figures


def draw(
    results: Results,
    figures: Sequence[Mapping[str, Any]],
    folder: str | Path,
    formats: Sequence[str],
) -> list[Path]:
    """Draw a list into a folder, and give the files' paths.

    Raises `ValueError` with the figure's name where a figure cannot be drawn.
    """
    import matplotlib
    from matplotlib.figure import Figure

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for wanted in figures:
        arguments = {key: value for key, value in wanted.items() if key not in _OWN}
        if "name_of" in wanted:
            arguments["name"] = wanted["name_of"]
        with matplotlib.rc_context(STYLE):
            size = wanted.get("width", 3.5), wanted.get("height", 2.4)
            figure = Figure(figsize=size, layout="constrained")
            ax = figure.subplots()
            try:
                getattr(Plot(results), wanted["kind"])(ax=ax, **arguments)
            except (IndexError, KeyError, TypeError, ValueError) as error:
                raise ValueError(f"figure {wanted['name']}: {error}") from error
            _legend(figure, ax)
            if "title" in wanted:
                ax.set_title(wanted["title"])
            for axis in wanted.get("log", ""):
                getattr(ax, f"set_{axis}scale")("symlog" if _has_zero(ax, axis) else "log")
            for format in formats:
                path = folder / f"{wanted['name']}.{format}"
                # No time of day in the file: the same results give the same bytes.
                metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
                figure.savefig(path, metadata=metadata)
                paths.append(path)
    return paths


def _legend(figure: Any, ax: Any) -> None:
    """Put a long legend, or many boxes, where they hide nothing: the figure grows by them."""
    boxes = len(ax.get_yticklabels()) if ax.yaxis_inverted() else 0
    width, height = figure.get_size_inches()
    if boxes > _FEW:
        figure.set_size_inches(width, max(height, 0.7 + 0.16 * boxes))
    legend = ax.get_legend()
    entries = len(legend.get_texts()) if legend else 0
    if entries > _FEW:
        handles, labels = ax.get_legend_handles_labels()
        legend.remove()
        # A letter of the legend is about 0.049 inches wide, its key 0.42.
        longest = 0.42 + 0.049 * max(len(one) for one in labels)
        columns = max(1, int(width / longest))
        rows = -(-entries // columns)
        figure.set_size_inches(width, height + 0.14 * rows)
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def _has_zero(ax: Any, axis: str) -> bool:
    return bool(getattr(ax.dataLim, f"{axis}0") <= 0)
