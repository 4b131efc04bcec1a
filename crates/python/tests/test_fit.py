"""The line behind a measurement."""

from pathlib import Path

import pytest

import sojourn


@pytest.fixture
def upload(tmp_path: Path) -> str:
    """Flent's file of an upload over a line that is known."""
    scenario = sojourn.Scenario("known", duration="30s", warmup="10s", sample="200ms")
    up = {"rate": "4mbit", "qdisc": "bfifo limit 80000"}
    scenario.dumbbell(rtt="30ms", up=up, down={"rate": "unlimited"})
    scenario.flow("load", count=2, direction="up", app="bulk", start="4s")
    scenario.flow("ping", direction="up", app={"kind": "ping", "size": 64, "interval": "200ms"})
    (file,) = sojourn.run(scenario, series=True).to_flent(tmp_path)
    return str(file)


def test_a_known_line_is_found(upload: str) -> None:
    line = sojourn.fit(upload, cc="cubic")
    assert line.rtt_ms == pytest.approx(30, rel=0.01)
    assert line.up_bps == pytest.approx(4e6, rel=0.01)
    assert line.up_buffer_ms == pytest.approx(160, rel=0.03)
    assert (line.down_bps, line.down_buffer_ms) == (None, None)
    assert str(line).startswith("Base RTT 30.")
    figures = {figure.name: figure for figure in line.figures}
    assert set(figures) == {"idle_rtt_ms", "up_bps", "added_ms_p50", "added_ms_p95"}
    assert figures["up_bps"].simulated == pytest.approx(figures["up_bps"].measured, rel=0.01)
    # Other queues are tried in its scenario.
    queues = [line.up_qdisc, "fq_codel"]
    results = sojourn.sweep(line.scenario, {"dumbbell.up.qdisc": queues}, seeds=1)
    pings = results.flows.to_polars().filter(flow="ping")
    fifo, managed = pings["induced_rtt_ms_p95"].to_list()
    assert fifo > 100 > 20 > managed


def test_what_cannot_be_used_is_said(upload: str, tmp_path: Path) -> None:
    plain = tmp_path / "a.flent.gz"
    plain.write_text("plain")
    with pytest.raises(ValueError, match=r"a\.flent\.gz: is not a \.flent\.gz file"):
        sojourn.fit(plain)
    with pytest.raises(ValueError, match="missing.pcapng: No such file"):
        sojourn.fit("missing.pcapng")
    with pytest.raises(sojourn.ScenarioError, match="cubik"):
        sojourn.fit(upload, cc="cubik")
