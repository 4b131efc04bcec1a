"""What the tests share."""

from pathlib import Path

import pytest

import sojourn

ROOT = Path(__file__).parents[3]


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
