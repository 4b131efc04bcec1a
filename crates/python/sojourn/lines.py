"""The line behind a measurement."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from . import _native
from ._progress import Bar
from ._scenario import Scenario

__all__ = ["Figure", "Line", "fit"]

#: Most rounds of the search.
_ROUNDS = 20

File = str | os.PathLike[str]


@dataclass(frozen=True)
class Figure:
    """What was measured beside what the simulator gives on the line."""

    #: The measurement's file.
    file: str
    #: ``idle_rtt_ms``, ``up_bps``, ``down_bps``, ``added_ms_p50`` or ``added_ms_p95``; of tests
    #: that load both directions also ``up_full_bps`` and ``down_full_bps``, the upper decile over
    #: seconds.
    name: str
    measured: float
    simulated: float


class Line:
    """A line on which the simulator gives what was measured.

    `fit` makes it; ``print(line)`` says it in a sentence.
    """

    def __init__(self, native: _native.Line) -> None:
        self._native = native

    @property
    def rtt_ms(self) -> float:
        """Round-trip time without load, in ms."""
        return self._native.rtt_ms

    @property
    def up_bps(self) -> float | None:
        """Rate from the client, in bit/s of Ethernet frames; None where nothing was sent."""
        return self._native.rates[0]

    @property
    def down_bps(self) -> float | None:
        """Rate to the client, in bit/s of Ethernet frames; None where nothing was sent."""
        return self._native.rates[1]

    @property
    def up_buffer_ms(self) -> float | None:
        """What a full buffer from the client takes to empty, in ms; None without a FIFO there."""
        return self._native.buffers[0]

    @property
    def down_buffer_ms(self) -> float | None:
        """What a full buffer to the client takes to empty, in ms; None without a FIFO there."""
        return self._native.buffers[1]

    @property
    def up_qdisc(self) -> str:
        """The queue from the client in tc's words: ``"bfifo limit BYTES"`` or ``"fq_codel"``."""
        return self._native.qdiscs[0]

    @property
    def down_qdisc(self) -> str:
        """The queue to the client in tc's words: ``"bfifo limit BYTES"`` or ``"fq_codel"``."""
        return self._native.qdiscs[1]

    @property
    def scenario(self) -> Scenario:
        """The first measurement's load on this line, in which other queues can be tried.

        Its flows are ``up-0`` and ``down-0`` (with their class where they have another one) and
        ``ping``, its queues ``dumbbell.up.qdisc`` and ``dumbbell.down.qdisc``.
        """
        return Scenario.from_toml(self._native.scenario)

    @property
    def grade(self) -> str:
        """How well the line fits: ``"good"``, ``"fair"``, or ``"none"`` where no line gives the
        figures, and this one is only the nearest."""
        return self._native.grade

    @property
    def doubts(self) -> list[str]:
        """What makes the measurements uncertain, a sentence each."""
        return self._native.doubts

    @property
    def figures(self) -> list[Figure]:
        """How well the line fits: the figures of each measurement beside the line's."""
        return [
            Figure(file, name, measured, simulated)
            for file, rows in self._native.figures
            for name, measured, simulated in rows
            if measured is not None and simulated is not None
        ]

    def __str__(self) -> str:
        return str(self._native)

    def __repr__(self) -> str:
        return f"<sojourn.Line: {self}>"


def fit(
    files: File | Sequence[File],
    *,
    client: str | IPv4Address | IPv6Address | None = None,
    cc: str | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Line:
    """Find the line that measurements were made on: its rates, base RTT and buffers.

    Parameters
    ----------
    files
        Measurements on one line: ``.flent.gz`` files of any test with TCP streams and a ping,
        JSON of iperf3's TCP tests with irtt's beside it, or captures (pcapng, pcap) made at the
        client. A direction's buffer is best told by a test that loads it alone.
    client
        The client's address in captures; by default who opens the first connection.
    cc
        The streams' congestion control; by default what the file says, or CUBIC.
    jobs
        Runs at a time; by default one for each processor.
    progress
        Whether to show a bar (tqdm's). By default in a notebook or a terminal.

    Raises
    ------
    ValueError
        A file cannot be read, or its load shows no line; the message names it. How well the
        line fits is its ``grade``.
    ScenarioError
        ``cc`` is not a congestion control.

    Examples
    --------
    >>> line = sojourn.fit("rrul.flent.gz")
    >>> print(line)
    >>> queues = ["fq_codel", "cake"]
    >>> results = sojourn.sweep(line.scenario, {"dumbbell.up.qdisc": queues})
    """
    several = [files] if isinstance(files, (str, os.PathLike)) else files
    paths = [os.fspath(file) for file in several]
    address = None if client is None else str(client)
    with Bar(_ROUNDS, shown=progress, unit="round") as bar:
        return Line(_native.fit(paths, address, cc, jobs, bar.tell_rounds))
