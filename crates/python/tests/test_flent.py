"""Data files, opened by Flent itself."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).parents[3]


def flent(*arguments: str, home: Path) -> str:
    """Runs Flent and gives what it prints."""
    environment = {**os.environ, "HOME": str(home), "MPLBACKEND": "Agg"}
    ended = subprocess.run(
        [sys.executable, "-m", "flent", *arguments],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert "ERROR" not in ended.stderr, ended.stderr
    return ended.stdout


PLOTS = {
    "tcp_nup": ["totals", "upload_with_ping_and_tcp_rtt", "upload_box", "ping_cdf"],
    "tcp_ndown": ["totals", "download"],
    "rrul": ["all_scaled", "ping_cdf", "box_combine", "totals"],
    "rrul_be": ["all", "ping"],
}


@pytest.mark.parametrize("test", PLOTS)
def test_flents_plots_show_runs(test: str, tmp_path: Path) -> None:
    scenario = ROOT / "scenarios" / "flent" / f"{test}.toml"
    queue = "htb rate 10mbit over fq_codel"
    results = sojourn.run(scenario, series=True, duration="20s", dumbbell__qdisc=queue)
    (file,) = results.to_flent(tmp_path / "flent")
    assert Path(file).name.startswith(f"{test}-")
    for plot in PLOTS[test]:
        picture = tmp_path / f"{plot}.png"
        flent("-i", file, "-p", plot, "-o", str(picture), home=tmp_path)
        assert picture.stat().st_size > 10_000
    summary = flent("-i", file, "-f", "summary", home=tmp_path)
    assert "Ping (ms) ICMP" in summary


def test_flent_reads_our_means(home: sojourn.Scenario, tmp_path: Path) -> None:
    results = sojourn.run(home, series=True)
    (file,) = results.to_flent(tmp_path)
    with gzip.open(file) as stream:
        document = json.load(stream)
    rtts = results.series("rtt").to_polars().filter(name="probe")["value"].to_list()
    assert document["results"]["Ping (ms) ICMP"] == rtts
    summary = flent("-i", file, "-f", "summary", home=tmp_path)
    line = next(line for line in summary.splitlines() if "Ping (ms) ICMP" in line)
    there = [rtt for rtt in rtts if rtt is not None]
    assert f"{sum(there) / len(there):.2f}" in line


def test_runs_without_series_are_refused(home: sojourn.Scenario, tmp_path: Path) -> None:
    with pytest.raises(sojourn.RunError, match="no series"):
        sojourn.run(home).to_flent(tmp_path)


class Small(sojourn.Aqm):
    limit = 3


def test_what_is_written_in_python_has_data_files_too(
    home: sojourn.Scenario, tmp_path: Path
) -> None:
    results = sojourn.run(home, series=True, queues={"down": Small})
    (file,) = results.to_flent(tmp_path / "link")
    with gzip.open(file) as stream:
        ours = json.load(stream)["results"]["Ping (ms) ICMP"]
    rtts = results.series("rtt").to_polars().filter(name="probe")["value"].to_list()
    assert ours == rtts
    swept = sojourn.sweep(home, {"dumbbell.qdisc": ["codel", Small]}, series=True)
    assert len(swept.to_flent(tmp_path / "axis")) == 2
