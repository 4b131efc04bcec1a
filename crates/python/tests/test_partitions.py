"""Sweeps into partitions of Parquet: the same figures, flat memory, going on after a kill."""

import json
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import polars as pl
import pyarrow.parquet
import pytest

import sojourn

AXES = {"dumbbell.rtt": ["10ms", "20ms", "40ms"], "dumbbell.qdisc": ["codel", "pie"]}


def sorted_frame(frame: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    return frame.select(columns).sort("cell", "seed", maintain_order=True)


def test_the_tables_are_those_of_one_sweep(home: sojourn.Scenario, tmp_path: Path) -> None:
    here = sojourn.sweep(home, AXES, seeds=3, series=True)
    out = sojourn.sweep(home, AXES, seeds=3, series=True, out=tmp_path, partition=4)
    assert len(out) == len(here) == 18
    # Four runs each, which begin in the midst of combinations too.
    assert [path.name for path in sorted((tmp_path / "runs").iterdir())] == [
        f"{number:06}.parquet" for number in range(5)
    ]
    for name in ["runs", "flows", "links"]:
        ours, theirs = getattr(out, name), getattr(here, name)
        assert set(ours.schema.names) == set(theirs.columns), name
        columns = [one for one in theirs.columns if one not in {"cpu_s", "wall_s"}]
        table = pl.from_arrow(ours.to_table())
        assert isinstance(table, pl.DataFrame)
        # A partition does not know the whole sweep's order.
        ordered = pl.selectors.by_dtype(pl.Categorical, pl.Enum)
        frame = theirs.to_polars().with_columns(ordered.cast(pl.String))
        assert sorted_frame(table, columns).equals(sorted_frame(frame, columns)), name
    assert out.series.count_rows() == len(here.series())
    assert not (tmp_path / "unfinished").exists() and out.notes == []
    unit = pyarrow.parquet.read_schema(tmp_path / "flows" / "000000.parquet")
    assert unit.field("goodput_bps").metadata[b"unit"] == b"bit/s"


def times(folder: Path) -> dict[str, int]:
    return {str(file): file.stat().st_mtime_ns for file in folder.rglob("*.parquet")}


def test_the_same_call_goes_on(home: sojourn.Scenario, tmp_path: Path) -> None:
    sojourn.sweep(home, AXES, seeds=2, out=tmp_path, partition=5)
    whole = times(tmp_path)
    (tmp_path / "runs" / "000001.parquet").unlink()
    again = sojourn.sweep(home, AXES, seeds=2, out=tmp_path, partition=5)
    changed = {file for file, at in times(tmp_path).items() if whole[file] != at}
    assert {Path(file).name for file in changed} == {"000001.parquet"}
    assert len(again) == 12 and len(sojourn.Partitions(tmp_path)) == 12


# Each run that is kept is a file that gets its name when it is whole. The process dies of itself
# when the sixth is to have its own, or says all their names.
SCRIPT = """
import os, signal, sys, sojourn
names = []
def keeps(event, arguments):
    if event != "os.rename" or not str(arguments[1]).endswith(".run"):
        return
    if sys.argv[2] == "die" and len(names) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    names.append(os.path.basename(arguments[1]))
if __name__ == "__main__":
    sys.addaudithook(keeps)
line = sojourn.Scenario("home", duration="20s")
line.dumbbell(rtt="40ms", up={"rate": "20mbit"}, down={"rate": "50mbit"}, qdisc="codel")
line.flow("download", direction="down", app="bulk")
if __name__ == "__main__":
    sojourn.sweep(line, {"dumbbell.rtt": ["10ms", "20ms"]}, seeds=20, out=sys.argv[1], jobs=2,
                  partition=30)
    print(*names)
"""


def test_a_kill_loses_no_run_that_was_done(tmp_path: Path) -> None:
    script, out = tmp_path / "sweep.py", tmp_path / "out"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(out)]
    assert subprocess.run([*command, "die"]).returncode == -signal.SIGKILL
    kept = {file.name for file in out.glob("unfinished/*.run")}
    assert len(kept) == 5 and not (out / "runs").exists()
    told = subprocess.run([*command, "go on"], check=True, capture_output=True, text=True)
    again = set(told.stdout.split())
    assert len(again) == 40 - 5 and not again & kept, "what was kept is not run again"
    runs = pyarrow.parquet.read_table(out / "runs", columns=["cell", "seed"]).to_pylist()
    assert [(run["cell"], run["seed"]) for run in runs] == [
        (cell, seed) for cell in range(2) for seed in range(1, 21)
    ]


def test_workers_of_an_executor(home: sojourn.Scenario, tmp_path: Path) -> None:
    here = sojourn.sweep(home, AXES, seeds=2)
    with ProcessPoolExecutor(2) as executor:
        out = sojourn.sweep(home, AXES, seeds=2, out=tmp_path, partition=7, executor=executor)
    assert out.runs.to_table()["digest"].to_pylist() == here.runs["digest"]


MEMORY = """
import resource, sys, sojourn
line = sojourn.Scenario("short", duration="300ms")
line.dumbbell(rtt="20ms", rate="10mbit", qdisc="codel")
line.flow("upload", direction="up", app="bulk")
sojourn.sweep(line, {"dumbbell.rtt": ["10ms", "20ms"]}, seeds=int(sys.argv[1]), out=sys.argv[2],
              partition=100)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_is_flat_in_the_number_of_runs(tmp_path: Path) -> None:
    def peak_kib(seeds: int) -> int:
        command = [sys.executable, "-c", MEMORY, str(seeds), str(tmp_path / str(seeds))]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    few, many = peak_kib(100), peak_kib(1000)
    assert many < few + 24 * 1024, (few, many)


def test_other_folders_are_refused(home: sojourn.Scenario, tmp_path: Path) -> None:
    sojourn.sweep(home, {}, out=tmp_path / "one")
    with pytest.raises(sojourn.RunError, match="holds another sweep"):
        sojourn.sweep(home, {}, out=tmp_path / "one", dumbbell__rtt="41ms")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("")
    with pytest.raises(sojourn.RunError, match="holds something else"):
        sojourn.sweep(home, {}, out=tmp_path / "other")
    with pytest.raises(sojourn.RunError, match=r"sweep\.json"):
        sojourn.Partitions(tmp_path)
    about = json.loads((tmp_path / "one" / "sweep.json").read_text())
    assert about["format"] == "sojourn-partitions/1" and about["total"] == 1


def test_mistakes_are_found_before_anything_runs(home: sojourn.Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    wrong = {"dumbbell.rtt": [f"{ms}ms" for ms in range(1, 30)] + ["fast"]}
    with pytest.raises(sojourn.ScenarioError, match="fast"):
        sojourn.sweep(home, wrong, out=out, partition=2)
    with pytest.raises(ValueError, match="one run at least"):
        sojourn.sweep(home, {}, out=out, partition=0)
    with pytest.raises(ValueError, match="for the simulator"):
        sojourn.sweep(home, {}, out=out, world="kernel")
    assert not out.exists()
