"""The program `sojourn`, for worlds that need a process of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from . import _native
from .errors import RunError
from .results import Results


def run(
    text: tuple[str, str, str],
    world: str,
    sets: list[str],
    sweeps: list[str],
    checked: _native.Scenario,
    jobs: int | None,
) -> Results:
    """Run a scenario, which has been checked, by the program, and read its folder."""
    program = _find(world)
    seeds = sorted({seed for _, seed in checked.runs})
    with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
        name, content, _ = text
        file = Path(name)
        if not file.is_file():
            file = Path(folder, "scenario.toml")
            file.write_text(content, encoding="utf-8")
        out = Path(folder, "out")
        command = [program, "run", str(file), "--world", world, "--out", str(out)]
        command += [f"--set={one}" for one in sets] + [f"--sweep={one}" for one in sweeps]
        command += [f"--seed={seeds[0]}", f"--seeds={len(seeds)}"]
        command += [] if jobs is None else [f"--jobs={jobs}"]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        said = ended.stderr.decode(errors="replace").strip()
        if not out.is_dir():
            raise RunError(said or f"`sojourn run` ended with status {ended.returncode}")
        results = _native.load([str(out)])
        return Results(results, notes=said.splitlines())


def reproduce(
    study: str, world: str, options: list[str], out: str | None
) -> tuple[_native.Reproduced, list[str]]:
    """Reproduce a study by the program, and read its folder; and what the program has said."""
    program = _find(world)
    with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
        place = os.path.join(folder, "out") if out is None else out
        command = [program, "reproduce", "--world", world, "--json", "--out", place]
        ended = subprocess.run([*command, *options, "--", study], capture_output=True)
        said = ended.stderr.decode(errors="replace").strip()
        if not ended.stdout:
            # It prints the claims when all is written.
            raise RunError(said or f"`sojourn reproduce` ended with status {ended.returncode}")
        return _native.Reproduced.open(place), said.splitlines()


def _find(world: str) -> str:
    # The wheel brings one, which is of the same version.
    own = Path(sysconfig.get_path("scripts"), "sojourn")
    beside = str(own) if own.is_file() else shutil.which("sojourn")
    program = os.environ.get("SOJOURN_PROGRAM") or beside
    if program is None:
        raise RunError(
            f"world {world!r} is run by the program `sojourn`, which is not in the PATH "
            "(SOJOURN_PROGRAM may name it)"
        )
    return program
