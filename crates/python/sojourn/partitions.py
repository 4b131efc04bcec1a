"""Sweeps that are too long for the memory: their tables as partitions of Parquet, in a folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._progress import Bar
from ._scenario import survey
from ._spread import Sweep, gather
from .errors import RunError

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.dataset

__all__ = ["Partitions"]

FORMAT = "sojourn-partitions/1"
_ABOUT = "sweep.json"
_FAILED = "failed"
_UNFINISHED = "unfinished"


class Partitions:
    """The folder that ``sojourn.sweep(..., out=)`` has written.

    Each table is a folder of Parquet files, ``flows/000000.parquet`` and so on, one for as many
    runs as ``partition`` says. Columns are those of `Results`; a partition has columns for what
    its runs have, and the datasets here those of all. Polars and DuckDB read them too:
    ``polars.scan_pyarrow_dataset(partitions.flows)``, ``FROM 'out/flows/*.parquet'``.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        """Where it is."""
        about = self.folder / _ABOUT
        try:
            self._about = json.loads(about.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{about}: {error}") from error
        if self._about.get("format") != FORMAT:
            raise RunError(f"{about}: holds no {FORMAT}")

    @property
    def runs(self) -> pyarrow.dataset.Dataset:
        """As `Results.runs`: a row for each run."""
        return self._dataset("runs")

    @property
    def flows(self) -> pyarrow.dataset.Dataset:
        """As `Results.flows`: a row for each flow of each run."""
        return self._dataset("flows")

    @property
    def links(self) -> pyarrow.dataset.Dataset:
        """As `Results.links`: a row for each link of each run."""
        return self._dataset("links")

    @property
    def series(self) -> pyarrow.dataset.Dataset:
        """As `Results.series`: a row for each point; only of a sweep with ``series=True``."""
        return self._dataset("series")

    @property
    def notes(self) -> list[str]:
        """Sentences: which runs failed."""
        files = sorted((self.folder / _FAILED).glob("*.txt"))
        return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    def __len__(self) -> int:
        """The number of runs that have a result."""
        return int(self.runs.count_rows())

    def __repr__(self) -> str:
        return f"<sojourn.Partitions in {str(self.folder)!r}: {len(self)} runs>"

    def _dataset(self, table: str) -> pyarrow.dataset.Dataset:
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet

        files = sorted((self.folder / table).glob("*.parquet"))
        if not files:
            raise RunError(f"{self.folder}: has no {table}")
        schemas = [pyarrow.parquet.read_schema(file) for file in files]
        schema = pyarrow.unify_schemas(schemas)
        return pyarrow.dataset.dataset([str(file) for file in files], schema=schema)


def stream(
    sweep: Sweep,
    executor: Executor,
    folder: str | os.PathLike[str],
    partition: int,
    shown: bool | None,
) -> Partitions:
    """Runs what the folder lacks, a partition at a time."""
    _import_pyarrow()
    if partition < 1:
        raise ValueError("a partition has one run at least")
    combinations, seeds = survey(
        sweep.text, list(sweep.sets), list(sweep.sweeps), sweep.seeds
    )
    total = combinations * seeds
    place = Path(folder)
    _claim(place, {**asdict(sweep), "partition": partition, "total": total})
    with Bar(total, shown=shown) as bar:
        for number, start in enumerate(range(0, total, partition)):
            stop = min(start + partition, total)
            if not (place / "runs" / _name(number)).exists():
                part = replace(sweep, part=(start, stop))
                checked = part.read()
                done, failures = gather(
                    part,
                    checked,
                    executor,
                    place / _UNFINISHED,
                    lambda count, start=start: bar.tell(0, start + count),  # type: ignore[misc]
                )
                cells = _cells(checked.runs, done, start, seeds)
                joined = _native.Results.of(checked, list(done.values()), [])
                _write(place, number, joined, cells, failures)
            bar.tell(0, stop)
    shutil.rmtree(place / _UNFINISHED, ignore_errors=True)
    return Partitions(place)


def _import_pyarrow() -> None:
    try:
        import pyarrow.dataset
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        message = "out= writes Parquet and needs pyarrow: pip install 'sojourn[arrow]'"
        raise ImportError(message) from error


def _claim(place: Path, what: dict[str, Any]) -> None:
    """Makes the folder this sweep's, or refuses one that is another's."""
    about = {"format": FORMAT, "program": _native.VERSION, **what}
    # As it will be read: without tuples.
    about = json.loads(json.dumps(about))
    file = place / _ABOUT
    if file.exists():
        if Partitions(place)._about != about:
            raise RunError(
                f"{place}: holds another sweep, or one of another program or partition; name "
                "another folder, or remove it"
            )
        return
    if place.exists() and any(place.iterdir()):
        raise RunError(f"{place}: holds something else; name an empty folder, or a new one")
    place.mkdir(parents=True, exist_ok=True)
    _appear(file, lambda new: new.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8"))


def _cells(
    runs: list[tuple[list[tuple[str, str]], int]],
    done: Iterable[int],
    start: int,
    seeds: int,
) -> list[int]:
    """The number among all of each combination that these results have, in their order."""
    cells: dict[tuple[tuple[str, str], ...], int] = {}
    for number in done:
        cells.setdefault(tuple(runs[number][0]), (start + number) // seeds)
    return list(cells.values())


def _write(
    place: Path,
    number: int,
    joined: _native.Results,
    cells: list[int],
    failures: list[str],
) -> None:
    """Writes a partition's files; the runs last, since they say that it is whole."""
    import pyarrow.parquet

    if failures:
        text = "".join(f"{failure}\n" for failure in failures)
        file = place / _FAILED / f"{number:06}.txt"
        _appear(file, lambda new: new.write_text(text, encoding="utf-8"))
    for name, table in _tables(joined):
        whole = pyarrow.table(table)
        own = whole.column("cell").to_numpy()
        column = pyarrow.array(cells, pyarrow.int64()).take(pyarrow.array(own))
        where = whole.column_names.index("cell")
        whole = _plain(whole.set_column(where, whole.schema.field(where), column))
        file = place / name / _name(number)
        _appear(file, lambda new, whole=whole: pyarrow.parquet.write_table(whole, new))
    # What the partition holds need not be kept.
    shutil.rmtree(place / _UNFINISHED, ignore_errors=True)


def _plain(table: pyarrow.Table) -> pyarrow.Table:
    """The table with texts of swept fields as they are: a partition does not know their order."""
    import pyarrow

    def type_of(field: pyarrow.Field) -> pyarrow.DataType:
        is_coded = pyarrow.types.is_dictionary(field.type) and field.type.ordered
        return field.type.value_type if is_coded else field.type

    return table.cast(pyarrow.schema([f.with_type(type_of(f)) for f in table.schema]))


def _tables(joined: _native.Results) -> Iterator[tuple[str, _native.Table]]:
    series = joined.series(None)
    if len(series):
        yield "series", series
    yield "flows", joined.flows()
    yield "links", joined.links()
    yield "runs", joined.runs()


def _name(number: int) -> str:
    return f"{number:06}.parquet"


def _appear(file: Path, write: Any) -> None:
    """A file that is there whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(f".{os.getpid()}.new")
    write(new)
    new.replace(file)
