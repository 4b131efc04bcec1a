"""What the tests share."""

from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).parents[3]
SCENARIO = """format = "sojourn-scenario/1"
name = "small"
duration = "2s"
[dumbbell]
rtt = "20ms"
rate = "2mbit"
[sweep]
dumbbell.qdisc = ["pfifo limit 20", "fq_codel"]
[[flow]]
name = "upload"
direction = "up"
app = "bulk"
start_spread = "500ms"
"""
STUDY = """format = "sojourn-study/1"
name = "small"
title = "Small"
source = "nowhere"
link = "up"
[[setting]]
name = "near"
scenario = "small.toml"
[axes.aqm]
fifo."dumbbell.qdisc" = "pfifo limit 20"
fq."dumbbell.qdisc" = "fq_codel"
[[claim]]
id = "N1"
setting = "near"
statement = "s"
published = "p"
check = ["link.series.throughput.mean(1, 2)[fq] in 1000000 .. 3000000"]
"""


@pytest.fixture
def one_flow() -> Path:
    """One download at 20 Mbit/s beside a probe, over three queues."""
    return ROOT / "scenarios" / "basics" / "one-flow.toml"


@pytest.fixture
def home() -> sojourn.Scenario:
    """A short one of a home line, put together in Python."""
    scenario = sojourn.Scenario("home", duration="6s", warmup="2s", sample="100ms")
    scenario.dumbbell(rtt="40ms", up={"rate": "2mbit"}, down={"rate": "12mbit"}, qdisc="codel")
    scenario.flow("download", direction="down", app="bulk")
    return scenario.flow("probe", direction="up", app={"kind": "ping", "interval": "20ms"})


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A study of two queues, about a series."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "small.toml").write_text(SCENARIO)
    (folder / "study.toml").write_text(STUDY)
    return folder
