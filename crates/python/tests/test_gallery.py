"""The gallery: each script runs, and finds what it says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

GALLERY = sorted(Path(__file__).parents[1].glob("gallery/*.py"))


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_a_script_runs(script: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    wanted = {line.split('"')[1] for line in script.read_text().splitlines() if "savefig" in line}
    assert wanted == {picture.name for picture in tmp_path.glob("*.png")}


def test_there_are_twelve() -> None:
    assert len(GALLERY) == 12
