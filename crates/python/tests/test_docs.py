"""What docs/python.md shows is run, block by block, over shorter runs."""

import json
import shutil
from pathlib import Path

import polars
import pytest

import sojourn

ROOT = Path(__file__).parents[3]
BLOCKS = [
    part.split("```", 1)[0]
    for part in (ROOT / "docs" / "python.md").read_text(encoding="utf-8").split("```python\n")[1:]
]
# A search for a line takes minutes; test_fit.py has one.
QUICK = [number for number, block in enumerate(BLOCKS) if "sojourn.fit" not in block]
# What a test has no time for, or no cluster; what is left out is tested elsewhere.
SHORTER = {
    "seeds=10_000": "seeds=2, partition=5",
    "seeds=100": "seeds=1",
    'duration="60s", warmup="10s"': 'duration="3s", warmup="1s"',
    "from dask.distributed": "executor = None; raise StopIteration  # ",
}


@pytest.fixture
def here(tmp_path: Path, small: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which paths are those of the repository."""
    basics = tmp_path / "scenarios" / "basics"
    basics.mkdir(parents=True)
    for name in ["demo", "basics/one-flow"]:
        text = (ROOT / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")
        for long, short in [("60s", "3s"), ("20s", "3s"), ("10s", "1s"), ("5s", "1s")]:
            text = text.replace(f'= "{long}"', f'= "{short}"')
        (tmp_path / "scenarios" / f"{name}.toml").write_text(text, encoding="utf-8")
    # The study of that name, since the working directory's come first.
    study = small / "study.toml"
    study.write_text(study.read_text().replace('name = "small"', 'name = "cake"'))
    shutil.copytree(small, tmp_path / "studies" / "cake")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(here: Path) -> dict[str, object]:
    """What blocks take for granted."""
    results = sojourn.run("scenarios/demo.toml", series=True)
    results.write("out/sim")
    return {
        "sojourn": sojourn,
        "polars": polars,
        "results": results,
        "axes": {"dumbbell.rtt": ["10ms", "40ms"]},
        "executor": None,
    }


@pytest.mark.parametrize("number", QUICK)
def test_a_block_runs(number: int, here: Path) -> None:
    block = BLOCKS[number]
    for long, short in SHORTER.items():
        block = block.replace(long, short)
    found = names(here)
    try:
        exec(compile(block, f"docs/python.md, block {number + 1}", "exec"), found)
    except StopIteration:
        assert "RayExecutor" in block
    if "reproduce" in block:
        assert json.loads((here / "out" / "cake" / "claims.json").read_text())["study"] == "cake"


def test_there_are_blocks() -> None:
    assert len(BLOCKS) == 9
