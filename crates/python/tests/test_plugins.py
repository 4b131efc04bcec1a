"""AQMs and congestion controls that a text names: in scenarios, cards and studies."""

import json
import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

import sojourn
from sojourn.__main__ import main

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
        ("python:own.py:Other", "`Other` of own.py is neither an AQM", "sojourn.Aqm"),
        ("python:own.py", "names no class", "python:FILE:CLASS"),
        ("python:none.py:A", "none.py cannot be read", ""),
        ("python:own.py:OneOfN 5", "`5` is not an option", "NAME=VALUE"),
        ("python:own.py:OneOfN m=5", "own.py:6: `OneOfN` has no option `m`", "its options: `n`"),
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


def mean(card: sojourn.Card, measure: str) -> float:
    return card.cells[0]["measures"][measure]["mean"]


def test_a_card_measures_an_aqm(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    name = "python:own.py:OneOfN n=50"
    card = sojourn.evaluate(qdisc=name, case=["start"], seeds=2, out="out")
    assert card.document["subject"] == f"--qdisc '{name}'"
    # One packet in 50 is dropped, and the queue is never full.
    assert mean(card, "packets dropped") == pytest.approx(2.0, abs=0.05)
    assert json.loads(Path("out/card.json").read_text()) == card.document
    page = Path("out/start/report.html").read_text()
    assert name in page and "4294967295" not in page
    # The class itself is the same queue.
    module = sojourn.plugins._module(own.parent / "own.py", "own.py")
    again = sojourn.evaluate(qdisc=lambda: module.OneOfN(50), case=["start"], seeds=2)
    assert again.cells == card.cells


def test_a_card_measures_a_congestion_control(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    card = sojourn.evaluate(cc="python:own.py:Fixed", case=["outage"], seeds=2)
    # A window of four segments in each round trip.
    assert 0 < mean(card, "goodput of the control") < 4 * 1448 * 8 / 0.02 / 1e6
    assert "goodput of the control" in str(card)


def test_built_in_ones_have_cards_of_the_program() -> None:
    card = sojourn.evaluate(qdisc="fq_codel", case=["short"], seeds=2)
    assert card.document["subject"] == "--qdisc 'fq_codel'"
    assert mean(card, "queue delay, mean") < 20
    with pytest.raises(ValueError, match="qdisc: .*did you mean `fq_codel`"):
        sojourn.evaluate(qdisc="fq_codle")
    with pytest.raises(ValueError, match="no case has the name `shrot`; did you mean `short`"):
        sojourn.evaluate(cc="cubic", case=["shrot"])
    with pytest.raises(ValueError, match="give a queue as qdisc, or a congestion control as cc"):
        sojourn.evaluate()


def test_a_study_has_an_aqm_beside_its_own(
    own: Path, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.parent)
    name = "python:own.py:OneOfN n=20"
    found = sojourn.reproduce(small, queue=name, seeds=2, out="out")
    assert found.document["queue"] == name
    drops = dropped_by_queue(found.results)
    assert list(drops) == ["pfifo limit 20", "fq_codel", name]
    assert drops[name] == pytest.approx(offered(found.results, name) / 20, abs=2)
    # Claims are about the study's own queues, as without it.
    assert found.claims == sojourn.reproduce(small, seeds=2).claims
    # The page is made again from the folder, which names the class.
    assert sojourn.Reproduction.load("out").document == found.document
    with pytest.raises(ValueError, match="your code has changed"):
        sojourn.reproduce(small, queue=name, out="out", resume=True)


def dropped_by_queue(results: sojourn.Results) -> dict[str, float]:
    rows = [row for row in results.links.rows() if row["link"] == "up" and row["seed"] == 1]
    return {row["dumbbell.qdisc"]: row["dropped_packets"] for row in rows}


def offered(results: sojourn.Results, queue: str) -> float:
    rows = results.links.rows()
    (row,) = (
        row
        for row in rows
        if (row["link"], row["seed"], row["dumbbell.qdisc"]) == ("up", 1, queue)
    )
    return row["offered_packets"]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["evaluate", "--qdisc", "python:own.py:OneOfM"], ["--qdisc: own.py has no class `OneOfM`"]),
        (["evaluate", "--qdisc", "python:own.py:OneOfN m=5"], ["own.py:6: `OneOfN` has no option"]),
        (["evaluate", "--qdisc", "python:own.py:Fixed"], ["a class of `sojourn.Aqm` belongs here"]),
        (["evaluate", "--cc", "python:own.py:OneOfN"], ["a class of `sojourn.CongestionControl`"]),
        (["evaluate", "--cc", "python:none.py:A"], ["--cc: none.py cannot be read"]),
        (["reproduce", "small", "--queue", "python:own.py:Other"], ["--queue: `Other` of own.py"]),
    ],
)
def test_commands_tell_what_is_wrong(
    own: Path,
    words: list[str],
    parts: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(own.parent)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("sojourn: ")
    for part in parts:
        assert part in told


def test_a_run_that_raises_is_told_with_the_line_of_the_file(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.parent)
    (own.parent / "own.py").write_text(OWN.replace("self.seen += 1", "self.seen += self.none"))
    for words in (
        ["run", "own.toml"],
        ["evaluate", "--qdisc", "python:own.py:OneOfN", "--case", "short", "--seeds", "2"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 1
        told = capsys.readouterr().err
        assert told.startswith("sojourn: own.py:10: AttributeError: "), told
        assert "self.seen += self.none" in told


def test_commands_print_cards_and_claims(
    own: Path, small: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.parent)
    name = "python:own.py:OneOfN n=20"
    main(["evaluate", "--qdisc", name, "--case", "short", "--seeds", "2"])
    said = capsys.readouterr().out
    assert said.startswith(f"--qdisc '{name}' in the world sim, 2 seeds: mean")
    assert "completion of 100 kB, mean" in said
    main(["reproduce", str(small), "--queue", name, "--seeds", "2", "--json"])
    assert json.loads(capsys.readouterr().out)["queue"] == name
    main(["reproduce", str(small), "--queue", name, "--seeds", "2"])
    assert "published  p" in capsys.readouterr().out


def test_check_loads_the_classes_and_runs_nothing(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own.parent)
    sweep = "dumbbell.qdisc=[codel, python:own.py:OneOfN n=20]"
    main(["check", "own.toml", "--sweep", sweep, "--seeds", "3"])
    said = capsys.readouterr().out
    assert "own\n2 cells, 6 runs\n" in said
    assert "dumbbell.qdisc: codel, python:own.py:OneOfN n=20\n" in said
    with pytest.raises(SystemExit) as ended:
        main(["check", "own.toml", "--set", "dumbbell.qdisc=python:own.py:OneOfN m=20"])
    assert ended.value.code == 2
    assert "m" in capsys.readouterr().err


ROOT = Path(__file__).parents[3]
EXAMPLES = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "examples"
"""Where `make python` builds the libraries of the examples."""
SLOPE = f"rust:{EXAMPLES}/libslope.so:Slope low=1ms"
CALM = f"rust:{EXAMPLES}/libcalm.so:Calm beta=0.9"


def test_libraries_stand_beside_classes(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own.parent)
    names = ["codel", SLOPE, "python:own.py:OneOfN n=20"]
    found = dropped(sojourn.sweep(own, {"dumbbell.qdisc": names}))
    assert list(found) == names and len(set(found.values())) == 3
    # The same run as the program's, whose text names it.
    text = SCENARIO.replace("python:own.py:OneOfN n=50", SLOPE)
    own.write_text(text)
    assert dropped(sojourn.run(own)) == {"": found[SLOPE]}
    cc = {"flow.download.tcp.cc": ["reno", CALM, "python:own.py:Fixed"]}
    own.write_text(SCENARIO.replace("python:own.py:OneOfN n=50", "codel"))
    rows = list(sojourn.sweep(own, cc).runs.rows())
    assert [row["flow.download.tcp.cc"] for row in rows] == cc["flow.download.tcp.cc"]
    assert len({row["goodput_bps"] for row in rows}) == 3


def test_a_library_is_measured_and_reproduced(small: Path) -> None:
    card = sojourn.evaluate(cc=CALM, case=["outage"], seeds=2)
    assert card.document["subject"] == f"--cc {CALM}"
    found = sojourn.reproduce(small, queue=SLOPE, seeds=2)
    assert found.document["queue"] == SLOPE


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (SLOPE.replace("low=1ms", "low=60ms"), "Slope: `low` must be below `high`"),
        (SLOPE.replace("Slope", "Slop"), "did you mean `Slope`?"),
        ("rust:none.so:Slope", "none.so cannot be read"),
        (CALM, "is a congestion control"),
    ],
)
def test_a_wrong_library_is_told_with_its_line(own: Path, name: str, message: str) -> None:
    own.write_text(SCENARIO.replace("python:own.py:OneOfN n=50", name))
    with pytest.raises(sojourn.ScenarioError) as raised:
        sojourn.run(own)
    assert (raised.value.line, raised.value.field) == (8, "qdisc")
    assert message in raised.value.message


def test_a_control_of_linux_is_not_taken_for_ones_own(own: Path) -> None:
    own.write_text(SCENARIO.replace("python:own.py:OneOfN n=50", "pfifo"))
    axes = {"flow.download.tcp.cc": ["bic", f"python:{own.parent}/own.py:Fixed"]}
    results = sojourn.sweep(own, axes)
    assert len(list(results.runs.rows())) == 1
    assert "no congestion control bic" in " ".join(results.notes)


def test_the_wheel_brings_a_program_that_finds_the_package(own: Path) -> None:
    program = Path(sysconfig.get_path("scripts"), "sojourn")
    environment = {key: value for key, value in os.environ.items() if key != "SOJOURN_PYTHON"}
    environment["PATH"] = "/nowhere"
    said = subprocess.run(
        [program, "check", "own.toml"],
        cwd=own.parent, env=environment, capture_output=True, text=True, check=True,
    )
    assert "python:own.py:OneOfN n=50: loaded" in said.stdout
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.split()[1] == sojourn.__version__.split()[0]
