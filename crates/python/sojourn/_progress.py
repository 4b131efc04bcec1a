"""A bar while runs are on, where somebody looks."""

from __future__ import annotations

import sys
import warnings
from types import TracebackType
from typing import Any


class Bar:
    """tqdm's bar over runs, or rounds; nothing where it is not shown or tqdm is not installed."""

    def __init__(self, total: int | None, *, shown: bool | None, unit: str = "run") -> None:
        self._bar: Any = None
        if shown is None:
            shown = _in_notebook() or sys.stderr.isatty()
        if shown:
            # A notebook without ipywidgets has a bar of text, of which tqdm need not complain.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    from tqdm.auto import tqdm
                except ImportError:
                    return
            self._bar = tqdm(total=total, unit=unit)

    def tell(self, simulated_ms: int, done: int) -> None:
        """So many milliseconds are simulated, so many runs done."""
        if self._bar is not None:
            self._bar.set_postfix_str(f"{simulated_ms / 1000:.0f} s simulated", refresh=False)
            self._bar.update(done - self._bar.n)

    def tell_rounds(self, done: int) -> None:
        """So many rounds are done."""
        if self._bar is not None:
            self._bar.update(done - self._bar.n)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"
