"""Published studies from Python."""

import json
from pathlib import Path

import pytest

import sojourn


def test_studies_have_names_and_titles() -> None:
    assert "CAKE" in sojourn.studies()["cake"]


def test_a_claim_is_reproduced(tmp_path: Path) -> None:
    found = sojourn.reproduce("codel-red", claims=["R1"], quick=True)
    (claim,) = found.claims
    assert (claim["id"], claim["status"]) == ("R1", "pass")
    assert found.count("pass") == 1
    assert claim["statement"] in found.report().html
    assert "setting" in found.results.runs.columns
    found.write(tmp_path)
    assert json.loads((tmp_path / "claims.json").read_text()) == found.document
    assert (tmp_path / "study" / "study.toml").is_file()
    assert len(sojourn.load(tmp_path)) == len(found.results)


def test_unknown_studies_and_claims_are_named() -> None:
    with pytest.raises(sojourn.ScenarioError, match="did you mean"):
        sojourn.reproduce("codel-rde")
    with pytest.raises(sojourn.RunError, match="codel-red has no claim `R99`"):
        sojourn.reproduce("codel-red", claims=["R99"])
