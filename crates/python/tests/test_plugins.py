"""AQMs and congestion controls that a scenario names."""

from pathlib import Path

import pytest

import sojourn

OWN = """import sojourn
from sojourn.aqm import DROP


class OneOfN(sojourn.Aqm):
    def __init__(self, n=10):
        self.n, self.seen = n, 0

    def enqueue(self, queue, packet, now):
        self.seen += 1
        if self.seen % self.n == 0:
            return DROP


class Fixed(sojourn.CongestionControl):
    def ack(self, ack):
        self.window = 4


class Other:
    pass
"""
SCENARIO = """format = "sojourn-scenario/1"
name = "own"
duration = "4s"

[dumbbell]
rtt = "40ms"
rate = "8mbit"
qdisc = "python:own.py:OneOfN n=50"

[[flow]]
name = "download"
direction = "down"
app = "bulk"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN)
    path = tmp_path / "own.toml"
    path.write_text(SCENARIO)
    return path


def dropped(results: sojourn.Results) -> dict[str, float]:
    rows = [row for row in results.links.rows() if row["link"] == "down"]
    return {row.get("dumbbell.qdisc", ""): row["dropped_packets"] for row in rows}


def test_a_scenario_names_an_aqm_of_a_file_beside_it(own: Path, tmp_path: Path) -> None:
    results = sojourn.run(own)
    (drops,) = dropped(results).values()
    offered = next(row["offered_packets"] for row in results.links.rows() if row["link"] == "down")
    assert drops == pytest.approx(offered / 50, abs=1)
    results.write(tmp_path / "out")
    assert "python:own.py:OneOfN n=50" in (tmp_path / "out" / "summary.json").read_text()


def test_it_is_swept_beside_built_in_ones(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    names = ["pfifo", "python:own.py:OneOfN n=20", "python:own.py:OneOfN n=100"]
    found = dropped(sojourn.sweep(own, {"dumbbell.qdisc": names}))
    assert list(found) == names
    assert found[names[1]] > found[names[2]] > 0


def test_a_sweep_in_the_file_names_them(own: Path) -> None:
    text = SCENARIO.replace('qdisc = "python:own.py:OneOfN n=50"\n', "")
    sweep = '\n[sweep]\ndumbbell.qdisc = ["codel", "python:own.py:OneOfN"]\n'
    own.write_text(text.replace("\n[[flow]]", f"{sweep}\n[[flow]]"))
    assert list(dropped(sojourn.run(own))) == ["codel", "python:own.py:OneOfN"]


def test_a_congestion_control_is_a_value_of_an_axis(own: Path) -> None:
    class Fixed(sojourn.CongestionControl):
        def ack(self, ack):
            self.window = 4

    scenario = SCENARIO.replace("python:own.py:OneOfN n=50", "pfifo")
    results = sojourn.sweep(scenario, {"flow.download.tcp.cc": ["cubic", Fixed]})
    cubic, fixed = results.runs["goodput_bps"]
    assert results.runs["flow.download.tcp.cc"] == ["cubic", "Fixed"]
    # Four segments of 1448 bytes in each round trip of 40 ms and their time on the wire.
    assert fixed < 4 * 1448 * 8 / 0.04 < cubic


def test_a_flow_names_a_congestion_control(own: Path) -> None:
    text = SCENARIO.replace("python:own.py:OneOfN n=50", "pfifo")
    own.write_text(text + 'tcp = { cc = "python:own.py:Fixed" }\n')
    (goodput,) = sojourn.run(own).runs["goodput_bps"]
    assert goodput < 4 * 1448 * 8 / 0.04


@pytest.mark.parametrize(
    ("name", "message", "help"),
    [
        ("python:own.py:OneOfM", "own.py has no class `OneOfM`", "`OneOfN`, `Fixed`"),
        ("python:own.py:Other", "`Other` of own.py is no AQM", "sojourn.Aqm"),
        ("python:own.py", "names no class", "python:FILE:CLASS"),
        ("python:none.py:A", "none.py cannot be read", ""),
        ("python:own.py:OneOfN 5", "`5` is no option", "NAME=VALUE"),
    ],
)
def test_a_wrong_name_is_told_with_its_line(own: Path, name: str, message: str, help: str) -> None:
    own.write_text(SCENARIO.replace("python:own.py:OneOfN n=50", name))
    with pytest.raises(sojourn.ScenarioError) as raised:
        sojourn.run(own)
    error = raised.value
    assert (error.line, error.field) == (8, "qdisc")
    assert message in error.message and help in (error.help or "")
    assert f"{own}:8:10: qdisc:" in str(error)


def test_a_fault_of_the_file_is_told_with_its_line(own: Path) -> None:
    (own.parent / "own.py").write_text(OWN + "\nvalue = 1 / 0\n")
    with pytest.raises(sojourn.ScenarioError, match=r"own.py:23: ZeroDivisionError"):
        sojourn.run(own)
    (own.parent / "own.py").write_text(OWN.replace("self.seen += 1", "self.seen += self.none"))
    with pytest.raises(AttributeError) as raised:
        sojourn.run(own)
    assert raised.traceback[-1].path == own.parent / "own.py"


def test_values_stand_where_they_belong(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    with pytest.raises(TypeError, match="a congestion control is a value of `cc`"):
        sojourn.run(own, dumbbell__qdisc="python:own.py:Fixed")
    with pytest.raises(TypeError, match="an AQM is a value of a queue's field"):
        sojourn.run(own, **{"flow.download.tcp.cc": "python:own.py:OneOfN"})
