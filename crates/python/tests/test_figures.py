"""`python -m sojourn`: figures for print, and scenarios that name something of Python's."""

import re
import warnings
import zlib
from pathlib import Path

import pytest

import sojourn
from sojourn.__main__ import main
from sojourn.figures import draw, usual

LIST = """
[[figure]]
name = "ping"
kind = "cdf"
name_of = "probe"
title = "Ping under load"
log = "x"
"""


@pytest.fixture
def out(home: sojourn.Scenario, tmp_path: Path) -> Path:
    axes = {
        "dumbbell.qdisc": ["pfifo", "fq_codel"],
        "dumbbell.down.rate": ["4mbit", "12mbit"],
        "dumbbell.rtt": ["20ms", "40ms"],
    }
    sojourn.sweep(home, axes, series=True, duration="3s", warmup="1s").write(tmp_path / "out")
    return tmp_path / "out"


def test_each_kind_is_drawn_in_each_format(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["figures", str(out), "--svg", "--pdf"])
    names = {Path(line).name for line in capsys.readouterr().out.splitlines()}
    kinds = ["latency-cdf", "latency-box", "tradeoff", "latency-series", "heatmap", "winners"]
    assert names == {f"{kind}.{end}" for kind in kinds for end in ("svg", "pdf")}
    assert all((out / name).stat().st_size > 1000 for name in names)


def test_many_cells_hide_nothing(home: sojourn.Scenario, tmp_path: Path) -> None:
    rates = ["4mbit", "8mbit", "12mbit", "16mbit", "20mbit", "24mbit"]
    axes = {"dumbbell.qdisc": ["pfifo", "fq_codel"], "dumbbell.down.rate": rates}
    swept = sojourn.sweep(home, axes, series=True, duration="2s", warmup="1s")
    listed = usual(swept)
    assert [one["kind"] for one in listed] == ["cdf", "box", "tradeoff", "series"]
    with warnings.catch_warnings():
        # Where axes have no room beside a legend, matplotlib warns.
        warnings.simplefilter("error")
        paths = draw(swept, listed, tmp_path, ["svg"])
    inches = [_height(path.read_text()) for path in paths]
    assert all(height > 2.4 for height in inches), inches
    # With more cells there is no curve for each.
    axes["dumbbell.rtt"] = ["10ms", "20ms", "40ms"]
    more = sojourn.sweep(home, axes, duration="2s", warmup="1s")
    assert [one["kind"] for one in usual(more)] == ["heatmap", "winners"]


def _height(svg: str) -> float:
    found = re.search(r'height="([0-9.]+)pt"', svg)
    assert found
    return float(found[1]) / 72


def test_fonts_are_in_the_file_and_the_ground_is_white(out: Path) -> None:
    main(["figures", str(out), "--svg", "--pdf"])
    pdf = (out / "tradeoff.pdf").read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf
    svg = (out / "tradeoff.svg").read_text()
    assert "<text" not in svg and "fill: #ffffff" in svg
    streams = re.findall(rb"stream\r?\n(.*?)endstream", pdf, flags=re.S)
    assert any(_inflated(one).startswith(b"1 j") or b"1 g" in _inflated(one) for one in streams)


def _inflated(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def test_the_same_results_give_the_same_bytes(out: Path, tmp_path: Path) -> None:
    for name in ["a", "b"]:
        main(["figures", str(out), "--svg", "--pdf", "--out", str(tmp_path / name)])
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_a_list_says_what_is_drawn(out: Path, tmp_path: Path) -> None:
    (tmp_path / "figures.toml").write_text(LIST)
    where = tmp_path / "paper"
    main(["figures", str(out), "--list", str(tmp_path / "figures.toml"), "--out", str(where)])
    assert [path.name for path in where.iterdir()] == ["ping.pdf"]


@pytest.mark.parametrize(
    ("list_", "message"),
    [
        (LIST.replace('kind = "cdf"', 'kind = "cfd"'), "figure 1: kind `cfd` is none of cdf, box"),
        (LIST.replace('name = "ping"\n', ""), "figure 1: missing key `name`"),
        (LIST.replace('"probe"', '"prob"'), "figure ping: no run has induced_rtt_ms of `prob`"),
        (LIST + "metrik = 1\n", "figure 1: kind `cdf` has no argument `metrik`; .*`metric`"),
        (LIST + "link = 1\n", "figure 1: kind `cdf` has no argument `link`; .*`name_of`"),
        (LIST.replace('"x"', '"z"'), "figure 1: log `z` is none of x, y, xy"),
        (LIST + "width = '3in'\n", "figure 1: width `3in` is not a number of inches"),
        (LIST.replace('"cdf"', '"heatmap"'), "figure 1: kind `heatmap` has no argument `name_of`"),
        ("figures = 1\n", "has tables"),
        ("[[figure]\n", "figures.toml: "),
    ],
)
def test_a_wrong_list_is_told(
    out: Path, tmp_path: Path, list_: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "figures.toml").write_text(list_)
    with pytest.raises(SystemExit) as raised:
        main(["figures", str(out), "--list", str(tmp_path / "figures.toml")])
    assert raised.value.code == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_scenario_with_a_queue_of_python_s_is_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from test_plugins import OWN, SCENARIO

    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "own.toml").write_text(SCENARIO)
    sweep = "dumbbell.qdisc=[codel, python:own.py:OneOfN n=20]"
    main(["run", "own.toml", "--sweep", sweep, "--seeds", "1", "--out", "out"])
    assert capsys.readouterr().out.endswith("out/report.html\n")
    loaded = sojourn.load(tmp_path / "out")
    assert loaded.runs["dumbbell.qdisc"] == ["codel", "python:own.py:OneOfN n=20"]
    with pytest.raises(SystemExit):
        main(["run", "own.toml", "--set", "dumbbell.qdisc"])
    assert "write KEY=VALUE" in capsys.readouterr().err
