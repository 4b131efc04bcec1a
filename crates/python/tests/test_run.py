"""Running scenarios: where they come from, what is changed, how it stops."""

import pickle
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

import sojourn


def test_a_file_runs_with_its_sweep(one_flow: Path) -> None:
    results = sojourn.run(one_flow, duration="4s", warmup="1s")
    assert results.name == "one-flow"
    assert len(results) == 3
    assert results.runs["dumbbell.qdisc"] == ["pfifo", "codel", "fq_codel"]
    pfifo, codel, _ = results.runs["induced_rtt_ms_p50"]
    assert pfifo > 10 * codel


def test_sources_are_the_same_scenario(home: sojourn.Scenario, tmp_path: Path) -> None:
    text = home.to_toml()
    file = tmp_path / "home.toml"
    file.write_text(text)
    sources = [home, home.table, text, file, str(file)]
    digests = {sojourn.run(source).runs["digest"][0] for source in sources}
    assert len(digests) == 1


def test_overrides_reach_fields_by_their_paths(home: sojourn.Scenario) -> None:
    by_name = sojourn.run(home, dumbbell__rtt=timedelta(milliseconds=20))
    by_path = sojourn.run(home, **{"dumbbell.rtt": "20ms"})
    assert by_name.runs["dumbbell.rtt_ms"] == [20.0]
    assert by_name.runs["digest"] == by_path.runs["digest"]
    assert by_name.runs["digest"] != sojourn.run(home).runs["digest"]


def test_a_sweep_is_every_combination_with_every_seed(home: sojourn.Scenario) -> None:
    axes = {"dumbbell.down.rate": ["6mbit", "12mbit"], "dumbbell.qdisc": ["codel", "pie"]}
    runs = sojourn.sweep(home, axes, seeds=range(3, 5)).runs
    assert len(runs) == 8
    assert runs["dumbbell.down.rate_bps"] == [6e6] * 4 + [12e6] * 4
    assert runs["dumbbell.qdisc"] == (["codel"] * 2 + ["pie"] * 2) * 2
    assert runs["seed"] == [3, 4] * 4


def test_runs_repeat_on_any_number_of_threads(home: sojourn.Scenario) -> None:
    alone = sojourn.run(home, seeds=4, jobs=1, dumbbell__qdisc="pie")
    together = sojourn.run(home, seeds=4, jobs=4, dumbbell__qdisc="pie")
    assert alone.runs["digest"] == together.runs["digest"]
    assert len(set(alone.runs["digest"])) == 4


def test_mistakes_say_where_they_are_and_what_would_be_right(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('format = "sojourn-scenario/1"\nname = "bad"\nduration = "10"\n[dumbell]\n')
    with pytest.raises(sojourn.ScenarioError) as caught:
        sojourn.run(file)
    error = caught.value
    assert [problem.line for problem in error.problems] == [1, 3, 4]
    duration = error.problems[1]
    assert (duration.file, duration.column) == (str(file), 12)
    assert (duration.field, duration.message) == ("duration", "`10` needs a unit")
    assert duration.help == 'for example "40ms"'
    assert error.message == "missing key `flow`"
    assert "did you mean `dumbbell`?" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_wrong_override_is_blamed_itself(home: sojourn.Scenario) -> None:
    with pytest.raises(sojourn.ScenarioError) as caught:
        sojourn.run(home, dumbbell__qdisc="codle")
    assert caught.value.file == "--set"
    assert caught.value.line is None
    assert caught.value.help == "did you mean `codel`?"
    with pytest.raises(sojourn.ScenarioError) as caught:
        sojourn.sweep(home, {"dumbbell.rtt": []})
    assert (caught.value.file, caught.value.field) == ("--sweep", "sweep")


def test_a_missing_file_is_no_scenario_error() -> None:
    with pytest.raises(FileNotFoundError):
        sojourn.run("no-such-file.toml")


def test_what_no_scenario_can_hold_is_refused(home: sojourn.Scenario) -> None:
    with pytest.raises(TypeError, match="a scenario cannot hold"):
        sojourn.run(home, dumbbell__rtt=object())
    with pytest.raises(ValueError, match="without gaps"):
        sojourn.run(home, seeds=[1, 3])


def test_ctrl_c_stops_a_run(home: sojourn.Scenario) -> None:
    # Shells let what they start in the background ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt.start()
            sojourn.run(home, duration="10000s", jobs=1)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_go_on_during_a_run(home: sojourn.Scenario) -> None:
    ticks = 0
    ended = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not ended.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        # On a busy machine a short run may be over before it is the thread's turn.
        for duration in ["60s", "600s", "6000s"]:
            before = ticks
            sojourn.run(home, duration=duration)
            if ticks > before:
                break
        assert ticks > before
    finally:
        ended.set()
        thread.join()


def test_worlds_of_the_program_say_when_it_is_missing(
    home: sojourn.Scenario, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("SOJOURN_PROGRAM", raising=False)
    # The wheel brings one beside Python's own programs.
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(sojourn.RunError, match="not in the PATH"):
        sojourn.run(home, world="kernel")


def test_a_notebook_without_widgets_has_a_bar_of_text_alone(one_flow: Path) -> None:
    program = f"""
import sys, types
class ZMQInteractiveShell: pass
sys.modules["ipykernel.zmqshell"] = types.ModuleType("zmqshell")
sys.modules["IPython"] = types.ModuleType("IPython")
sys.modules["IPython"].get_ipython = ZMQInteractiveShell
sys.modules["ipywidgets"] = None
import sojourn
sojourn.run({str(one_flow)!r}, duration="2s", warmup="1s")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "3/3" in ran.stderr and "Warning" not in ran.stderr


def test_what_is_right_and_may_not_be_meant_is_warned_of(home: sojourn.Scenario) -> None:
    with pytest.warns(UserWarning, match="`12Mbps` is 96.0 Mbit/s"):
        sojourn.run(home, **{"dumbbell.down.rate": "12Mbps"})
