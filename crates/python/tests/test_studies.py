"""Published studies from Python."""

import gc
import json
import pickle
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn
from sojourn import Reproduction


def walls(results: sojourn.Results) -> list[float]:
    """What each run has taken: no two that were run take the same."""
    return results.runs["wall_s"]


def test_studies_have_names_and_titles() -> None:
    assert "CAKE" in sojourn.studies()["cake"]


def test_a_claim_is_reproduced(tmp_path: Path) -> None:
    found = sojourn.reproduce("codel-red", claims=["R1"], quick=True)
    (claim,) = found.claims
    assert (claim["id"], claim["status"]) == ("R1", "not judged")
    assert claim["reason"] == "It needs 3 seeds, there is one."
    assert found.count("not judged") == 1
    with pytest.raises(IndexError, match="no status `publishd`; did you mean `published`?"):
        found.count("publishd")
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


def test_a_killed_study_goes_on(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # The kernel kills it as soon as its file of finished runs has this many bytes, in the middle
    # of a run's: that does not depend on how fast anything is.
    code = f"""
import resource, signal, sojourn
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
sojourn.reproduce({str(small)!r}, seeds=300, jobs=1, out={str(out)!r})
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGXFSZ
    assert not (out / "summary.json").exists()
    before = b"".join(file.read_bytes() for file in sorted(out.glob("unfinished/*")))
    assert len(before) == 100_000
    found = sojourn.reproduce(small, seeds=300, out=out, resume=True)
    assert found.count("published") == 1 and len(found.results) == 600
    # What a run took stands among its bytes as it is, and no two take the same.
    again = [wall for wall in walls(found.results) if struct.pack("<d", wall) in before]
    assert 4 <= len(again) < 600
    assert not (out / "unfinished").exists()
    whole = sojourn.reproduce(small, seeds=300)
    assert whole.results.runs["digest"] == found.results.runs["digest"]
    assert whole.document["claims"] == found.document["claims"]


def test_a_finished_study_is_run_on(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = sojourn.reproduce(small, seeds=2, out=out)
    after = sojourn.reproduce(small, seeds=3, out=out, resume=True)
    assert set(walls(before.results)) < set(walls(after.results))
    # The first one's table is still there for it, though another one stands in the folder.
    assert len(before.results.series("throughput")) * 3 == len(after.results.series("throughput")) * 2
    again = Reproduction.load(out)
    assert again.document == after.document and again.report().html == after.report().html
    assert walls(again.results) == walls(after.results)
    anew = sojourn.reproduce(small, seeds=3, out=out)
    assert not set(walls(anew.results)) & set(walls(after.results))


def test_series_of_a_study_are_on_disk_as_long_as_it_is_there(small: Path, tmp_path: Path) -> None:
    found = sojourn.reproduce(small, seeds=1)
    series = found.results.series("throughput").to_polars()
    assert series["value"].max() > 1e6
    copied = pickle.loads(pickle.dumps(found.results))
    both = found.results + copied
    del found
    gc.collect()
    assert len(both.series("throughput")) == 2 * len(series)
    both.write(tmp_path / "both")


def test_folders_of_others_are_left_alone(small: Path, tmp_path: Path, one_flow: Path) -> None:
    out = tmp_path / "out"
    sojourn.run(one_flow, duration="2s", warmup="1s").write(out)
    summary = (out / "summary.json").read_bytes()
    with pytest.raises(sojourn.RunError, match="one-flow.*overwrite=True"):
        sojourn.reproduce(small, out=out)
    with pytest.raises(sojourn.RunError, match="holds no results of study `small`"):
        sojourn.reproduce(small, out=out, overwrite=True, resume=True)
    assert (out / "summary.json").read_bytes() == summary
    found = sojourn.reproduce(small, seeds=1)
    with pytest.raises(sojourn.RunError, match="one-flow.*overwrite=True"):
        found.write(out)
    assert (out / "summary.json").read_bytes() == summary
    found.write(out, overwrite=True)
    with pytest.raises(sojourn.RunError, match="results of study `small`.*overwrite=True"):
        sojourn.run(one_flow, duration="2s", warmup="1s").write(out)
    found = sojourn.reproduce(small, seeds=1, out=out, overwrite=True)
    assert len(sojourn.load(out)) == len(found.results) == 2


def test_what_does_not_go_together_is_refused(small: Path) -> None:
    with pytest.raises(ValueError, match="leave out seeds or quick"):
        sojourn.reproduce(small, quick=True, seeds=2)
    with pytest.raises(ValueError, match="leave out claims and quick"):
        sojourn.reproduce(small, claims=["S1"], all_settings=True)
    with pytest.raises(ValueError, match="1 to 10 000"):
        sojourn.reproduce(small, seeds=0)
    with pytest.raises(ValueError, match="name it with out"):
        sojourn.reproduce(small, resume=True)


def test_other_worlds_are_the_programs(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = tmp_path / "done"
    sojourn.reproduce(small, seeds=1, out=done)
    program = tmp_path / "sojourn"
    program.write_text(
        f"""#!{sys.executable}
import pathlib, shutil, sys
words = sys.argv[1:]
assert words[:4] == ["reproduce", "--world", "kernel", "--json"], words
assert words[6:] == ["--claims=N1", "--seeds=1", "--", {str(small)!r}], words
shutil.copytree({str(done)!r}, words[5])
print(pathlib.Path(words[5], "claims.json").read_text())
print("sojourn: said", file=sys.stderr)
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("SOJOURN_PROGRAM", str(program))
    found = sojourn.reproduce(small, world="kernel", claims=["N1"], seeds=1)
    assert found.count("published") == 1 and found.results.notes == ["sojourn: said"]
    # Its folder is gone, and its table still open.
    assert len(found.results.series("throughput")) > 0
    program.write_text(f"#!{sys.executable}\nimport sys; sys.exit('sojourn: no kernel')\n")
    with pytest.raises(sojourn.RunError, match="no kernel"):
        sojourn.reproduce(small, world="kernel")
