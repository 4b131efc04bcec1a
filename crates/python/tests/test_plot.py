"""Figures of results, and results as arrays."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import pytest

import sojourn

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(autouse=True)
def fresh() -> None:
    pyplot.close("all")


@pytest.fixture(scope="module")
def results() -> sojourn.Results:
    line = sojourn.Scenario("line", duration="4s", warmup="1s")
    line.dumbbell(rtt="40ms", up={"rate": "2mbit"}, down={"rate": "8mbit"})
    line.flow("download", direction="down", app="bulk", start_spread="200ms")
    line.flow("probe", direction="up", app={"kind": "ping", "interval": "20ms"})
    axes = {"dumbbell.qdisc": ["pfifo", "fq_codel"], "dumbbell.down.rate": ["4mbit", "8mbit"]}
    return sojourn.sweep(line, axes, seeds=2, series=True)


def test_several_calls_are_several_figures(results: sojourn.Results) -> None:
    pyplot.subplot(1, 2, 2)
    current = pyplot.gca()
    assert results.plot.cdf(name="probe") is current
    assert results.plot.tradeoff() is not current
    assert len(pyplot.get_fignums()) == 2
    assert results.plot.cdf(name="probe", ax=current) is current


def names(ax: object) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_cdf_has_a_line_for_each_seed_and_a_label_for_each_cell(results: sojourn.Results) -> None:
    ax = results.plot.cdf("induced_rtt_ms", name="probe")
    assert len(ax.get_lines()) == 8 and len(names(ax)) == 4
    for line in ax.get_lines():
        x, y = line.get_data()
        assert list(x) == sorted(x) and list(y) == sorted(y) and y[-1] == 1.0
    # Half of the samples are at or below the median.
    run = next(row for row in results.flows.rows() if row["flow"] == "probe")
    x, y = ax.get_lines()[0].get_data()
    below = [share for value, share in zip(x, y, strict=True) if value <= run["induced_rtt_ms_p50"]]
    assert below[-1] == pytest.approx(0.5, abs=0.02)
    assert ax.get_xlabel() == "induced rtt in ms"


def test_boxes_are_quartiles(results: sojourn.Results) -> None:
    ax = results.plot.box("induced_rtt_ms", name="probe")
    assert len(ax.get_xticklabels()) == 4
    ax = results.plot.box("sojourn_ms", name="down", ax=pyplot.figure().gca())
    assert ax.get_ylabel() == "sojourn in ms"
    ax = results.plot.box(name="probe", horizontal=True, ax=pyplot.figure().gca())
    assert ax.get_xlabel() == "induced rtt in ms"
    assert ax.get_yticklabels()[0].get_text() == "pfifo, rate 4 Mbit/s"


def test_series_have_their_unit(results: sojourn.Results) -> None:
    ax = results.plot.series("rtt", name="probe")
    assert ax.get_ylabel() == "rtt in ms" and len(ax.get_lines()) == 8


def test_a_tradeoff_has_a_point_for_each_cell(results: sojourn.Results) -> None:
    ax = results.plot.tradeoff()
    assert len(names(ax)) == 4 and ax.get_ylabel() == "goodput in Mbit/s"
    assert names(ax)[0] == "pfifo, rate 4 Mbit/s" and 1.0 < max(ax.get_ylim()) < 10.0


def test_a_heat_map_has_the_means(results: sojourn.Results) -> None:
    ax = results.plot.heatmap("dumbbell.qdisc", "dumbbell.down.rate_bps")
    rows = [
        row["induced_rtt_ms_p50"]
        for row in results.runs.rows()
        if (row["dumbbell.qdisc"], row["dumbbell.down.rate_bps"]) == ("pfifo", 4e6)
    ]
    assert len(rows) == 2
    assert ax.texts[0].get_text() == f"{sum(rows) / 2:.3g}"
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["4", "8"]
    assert ax.get_ylabel() == "dumbbell.down.rate in Mbit/s"


def test_winners_are_told_by_their_colour(results: sojourn.Results) -> None:
    axes = {"dumbbell.rtt": ["20ms", "40ms"], "dumbbell.qdisc": ["pfifo", "fq_codel"]}
    line = sojourn.Scenario("line", duration="4s", warmup="1s", seeds=1)
    line.dumbbell(rtt="40ms", rate="4mbit").flow("download", direction="down", app="bulk")
    line.flow("probe", direction="up", app="ping")
    swept = sojourn.sweep(line, {**axes, "dumbbell.down.rate": ["2mbit", "4mbit"]})
    ax = swept.plot.winners("dumbbell.rtt_ms", "dumbbell.down.rate_bps")
    assert names(ax) == ["fq_codel"]
    ax = swept.plot.winners(
        "dumbbell.rtt_ms", "dumbbell.down.rate_bps", most=True, ax=pyplot.figure().gca()
    )
    assert names(ax) == ["pfifo"]
    with pytest.raises(ValueError, match="no queue is swept"):
        sojourn.run(line).plot.winners("dumbbell.rtt_ms", "dumbbell.down.rate_bps")


def test_what_no_run_has_is_named(results: sojourn.Results) -> None:
    with pytest.raises(ValueError, match="no run has induced_rtt_ms of `nobody`"):
        results.plot.cdf(name="nobody")
    with pytest.raises(IndexError, match="induced_rtt_ms"):
        results.plot.cdf("induced_rt_ms")


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda plot: plot.heatmap("a", "b", metric="c"), "`metric`; did you mean `value`"),
        (lambda plot: plot.cdf(value="rtt_ms"), "cdf.. has no argument `value`; .*mean `metric`"),
        (lambda plot: plot.box(flow="probe"), "argument `flow`; did you mean `name`"),
        (lambda plot: plot.winners("a", "b", queue="c"), "`queue`; did you mean `by`"),
        (lambda plot: plot.series(colour="red"), "`colour`; its arguments: metric, name, ax"),
        (lambda plot: plot.heatmap(), "needs `x` and `y`: .*dumbbell.qdisc, dumbbell.down.rate"),
        (lambda plot: plot.winners("dumbbell.qdisc"), "winners.. needs `y`"),
    ],
)
def test_a_wrong_argument_is_told(
    results: sojourn.Results, draw: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        draw(results.plot)


QUEUE, RATE = "dumbbell.qdisc", "dumbbell.down.rate_bps"


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda plot: plot.cdf("goodput_bps"), "`goodput_bps`; it is one number, which heatmap"),
        (lambda plot: plot.cdf("induced_rtt_ms_p50"), "did you mean `induced_rtt_ms`"),
        (lambda plot: plot.box("sojorn_ms"), "metric: no distribution `sojorn_ms`; .*`sojourn_ms`"),
        (lambda plot: plot.box("zzz"), "`zzz`; distributions: rtt_ms, induced_rtt_ms"),
        (lambda plot: plot.series("rtt_ms"), "no series `rtt_ms`; did you mean `rtt`"),
        (lambda plot: plot.tradeoff("induced_rtt_ms"), "x: .*of it, `induced_rtt_ms_p50`"),
        (lambda plot: plot.tradeoff(y="goodput_bp"), "y: .*did you mean `goodput_bps`"),
        (lambda plot: plot.heatmap(QUEUE, RATE, "sojourn_ms_p50"), "value: .*`results.links` has"),
        (lambda plot: plot.heatmap(QUEUE, "dumbbell.down.rate"), f"y: .*did you mean `{RATE}`"),
        (lambda plot: plot.heatmap("zzz", RATE), f"x: .*parameters that vary: {QUEUE}, {RATE}"),
        (lambda plot: plot.winners(RATE, "seed", "qdisc"), f"by: .*did you mean `{QUEUE}`"),
    ],
)
def test_a_name_that_is_not_there_is_told(
    results: sojourn.Results, draw: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(IndexError, match=message):
        draw(results.plot)


def test_one_cell_is_drawn_and_can_be_read() -> None:
    line = sojourn.Scenario("line", duration="2s", warmup="1s")
    line.dumbbell(rtt="40ms", rate="4mbit").flow("probe", direction="up", app="ping")
    one = sojourn.run(line, dumbbell__rtt="20ms", dumbbell__rate="2mbit")
    with pytest.raises(ValueError, match="run them with series=True"):
        one.plot.series("rtt")
    with pytest.raises(ValueError, match="x and y are both"):
        one.plot.heatmap("seed", "seed")
    ax = one.plot.heatmap("dumbbell.rtt_ms", "seed", ax=pyplot.figure().gca())
    assert len(ax.texts) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for draw in (one.plot.cdf, one.plot.box, one.plot.tradeoff):
            draw(ax=pyplot.figure().gca())
    with pytest.raises(ValueError, match="no run has jain"):
        one.plot.heatmap("dumbbell.rtt_ms", "seed", "jain")
    # On the map's dark end the number is light, and on its light end dark.
    assert ax.texts[0].get_color() == "white"


def test_arrays_have_a_dimension_for_each_parameter(
    results: sojourn.Results, tmp_path: Path
) -> None:
    data = results.to_xarray()
    assert dict(data.sizes) == {"dumbbell.qdisc": 2, "dumbbell.down.rate_bps": 2, "seed": 2}
    row = next(results.runs.rows())
    at = {name: row[name] for name in data.sizes}
    assert float(data["goodput_bps"].sel(at)) == row["goodput_bps"]
    assert data["goodput_bps"].attrs["unit"] == "bit/s"
