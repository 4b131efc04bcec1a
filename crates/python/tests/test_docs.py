"""What docs/python.md shows is run, block by block, over shorter runs; what pages show of scripts is
what the scripts print."""

import json
import os
import re
import shutil
import subprocess
import sys
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
# The class that blocks name, beside `HalfFull`, which is that of a block.
OWN = """import sojourn


class OneOfN(sojourn.Aqm):
    def __init__(self, n):
        self.n, self.seen = n, 0

    def enqueue(self, queue, packet, now):
        self.seen += 1
        return "drop" if self.seen % self.n == 0 else None
"""
# What a test has no time for, or no cluster; what is left out is tested elsewhere.
SHORTER = {
    "seeds=10_000": "seeds=2, partition=5",
    "seeds=100": "seeds=1",
    'duration="60s", warmup="10s"': 'duration="3s", warmup="1s"',
    'case=["short"]': 'case=["short"], seeds=2',
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
    (tmp_path / "own.py").write_text(OWN)
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
    assert len(BLOCKS) == 11


PAGES = sorted((ROOT / "docs").rglob("*.md"))
SHOWN = re.compile(r"^```console\n\$ python (\S+)\n(.*?)^```$", flags=re.M | re.S)
NAMED = re.compile(r"^\*\*`([^`]+)`\*\*\n\n```[^\n]*\n(.*?)^```$", flags=re.M | re.S)
WITH_SCRIPTS = [page for page in PAGES if SHOWN.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", WITH_SCRIPTS, ids=lambda page: page.stem)
def test_a_page_shows_what_its_scripts_print(page: Path, tmp_path: Path) -> None:
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    text = page.read_text(encoding="utf-8")
    for name, lines in NAMED.findall(text):
        (tmp_path / name).write_text(lines, encoding="utf-8")

    def today(found: re.Match[str]) -> str:
        ran = subprocess.run(
            [sys.executable, found[1]], cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return f"```console\n$ python {found[1]}\n{ran.stdout}```"

    wanted = SHOWN.sub(today, text)
    if "SOJOURN_WRITE" in os.environ:
        page.write_text(wanted, encoding="utf-8")
    assert text == wanted, f"{page}: run this test with SOJOURN_WRITE=1"


def test_pages_show_scripts() -> None:
    assert len(WITH_SCRIPTS) >= 3
