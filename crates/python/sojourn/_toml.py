"""Python's values as TOML, the language of scenarios."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def value(given: Any) -> str:
    """A value as TOML writes it. A `datetime.timedelta` is a time with its unit."""
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, str):
        return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(given, int):
        return str(given)
    if isinstance(given, float):
        if not math.isfinite(given):
            raise ValueError(f"{given} is not a number that a scenario can hold")
        return repr(given)
    if isinstance(given, timedelta):
        return f'"{given // timedelta(microseconds=1)}us"'
    if isinstance(given, Mapping):
        inner = ", ".join(f"{key(name)} = {value(one)}" for name, one in given.items())
        return f"{{ {inner} }}"
    if hasattr(given, "tolist"):  # numpy's arrays and numbers
        return value(given.tolist())
    if isinstance(given, Sequence):
        return f"[{', '.join(value(one) for one in given)}]"
    raise TypeError(f"a scenario cannot hold {given!r} ({type(given).__name__})")


def key(name: str) -> str:
    """A key, in quotes where it needs them."""
    return name if _BARE.match(name) else json.dumps(name, ensure_ascii=False)


def document(table: Mapping[str, Any]) -> str:
    """A table as a TOML file: plain keys first, then ``[table]`` and ``[[list of tables]]``."""
    return "\n".join(_lines(table, "")).strip() + "\n"


def _lines(table: Mapping[str, Any], path: str) -> Iterator[str]:
    below = []
    for name, one in table.items():
        full = f"{path}.{key(name)}" if path else key(name)
        if isinstance(one, Mapping) and not path:
            below.append((f"[{full}]", one, full))
        elif _is_tables(one) and not path:
            below.extend((f"[[{full}]]", item, full) for item in one)
        else:
            yield f"{key(name)} = {value(one)}"
    for heading, one, full in below:
        yield ""
        yield heading
        yield from _lines(one, full)


def _is_tables(given: Any) -> bool:
    return (
        isinstance(given, Sequence)
        and not isinstance(given, str)
        and len(given) > 0
        and all(isinstance(one, Mapping) for one in given)
    )
