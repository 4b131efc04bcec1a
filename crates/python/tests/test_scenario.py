"""Scenarios as TOML: what Python writes is what the reader reads."""

import tomllib
from datetime import timedelta
from typing import Any

import pytest

import sojourn
from sojourn import _toml


@pytest.mark.parametrize(
    "given",
    [
        {"a": 1, "b": -0.5, "c": True, "d": 'quoted "text" with \\ and é and \x7f\n'},
        {"table": {"x": 1, "inner": {"y": [1, 2, 3]}}, "list": [{"n": "a"}, {"n": "b"}]},
        {"odd key.with dots": 1, "sweep": {"a.b": ["x", "y"], "zip": [{"c": [1], "d": [2]}]}},
        {"empty": [], "last": 1e-7, "large": 1e300},
    ],
)
def test_what_is_written_reads_the_same(given: dict[str, Any]) -> None:
    assert tomllib.loads(_toml.document(given)) == given


def test_times_become_texts_with_a_unit() -> None:
    assert _toml.value(timedelta(milliseconds=1.5)) == '"1500us"'


def test_numbers_must_be_finite() -> None:
    with pytest.raises(ValueError, match="not a number"):
        _toml.value(float("nan"))


def test_a_scenario_reads_like_a_file(home: sojourn.Scenario) -> None:
    read = tomllib.loads(home.to_toml())
    assert read["format"] == "sojourn-scenario/1"
    assert [flow["name"] for flow in read["flow"]] == ["download", "probe"]
    assert read["dumbbell"]["up"] == {"rate": "2mbit"}
