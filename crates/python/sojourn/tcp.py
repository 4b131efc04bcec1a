"""Congestion controls written in Python, for prototypes: TCP senders ask them at every ACK.

>>> class Gentle(sojourn.CongestionControl):
...     def ack(self, ack):
...         if ack.may_grow and ack.window_limited:
...             self.window += ack.delivered / self.window
...     def congestion(self, why, in_flight, now):
...         self.reduce(self.window * 0.8, why, in_flight)
>>> sojourn.run("scenarios/basics/one-flow.toml", controls={"download": Gentle})

Windows count segments, times are whole nanoseconds (`US`, `MS` and `S` are so many), rates bit/s.
The sender stays the simulator's: it finds losses, repairs them, keeps the retransmission timer, and
obeys the application and the receiver. An ACK costs a call of Python and a few looks at attributes:
a run takes some ten times as long (``gallery/reno_in_20_lines.py`` shows it).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

from .aqm import MS, US, S

__all__ = [
    "Ack",
    "CongestionControl",
    "LOSS",
    "MARK",
    "MS",
    "S",
    "TIMEOUT",
    "TIMEOUT_AGAIN",
    "US",
]

LOSS = "loss"
"""Fast recovery begins (RFC 5681 section 3.2)."""
MARK = "mark"
"""A mark was echoed (RFC 3168 section 6.1.2)."""
TIMEOUT = "timeout"
"""The retransmission timer expired (RFC 5681 section 3.1)."""
TIMEOUT_AGAIN = "timeout again"
"""It expired for data that has already cost a reduction: only the window collapses."""


class Ack(Protocol):
    """What an ACK says."""

    now: int
    """When it arrived, in ns since the start of the run."""
    acked: int
    """Segments newly acknowledged cumulatively."""
    delivered: int
    """Segments newly acknowledged, cumulatively or selectively."""
    lost: int
    """Segments found lost since the last ACK."""
    marked: int
    """Segments of `delivered` that the receiver reports as marked."""
    rtt: int | None
    """Round trip of the newest acknowledged segment in ns, if it was sent once."""
    srtt: int
    """Smoothed round-trip time in ns."""
    min_rtt: int
    """Shortest round trip of the last five minutes, in ns."""
    in_flight: int
    """Segments in the network after this ACK."""
    prior_in_flight: int
    """And before it."""
    delivered_total: int
    """Bytes delivered since the connection began."""
    rate: int | None
    """The delivery rate that the newest delivered segment saw, in bit/s."""
    rate_app_limited: bool
    """The application, not the network, may have limited that rate."""
    round_start: bool
    """The first ACK for data sent after the first ACK of the round before."""
    window_limited: bool
    """The window is what limits the sender."""
    ecn_echo: bool
    """The ACK carries ECN-echo."""
    may_grow: bool
    """The window may grow: data was acknowledged, and no reduction is under way."""


class CongestionControl:
    """The window of one end of a connection. Subclasses move it; each end has an object.

    Both ends of each of a flow's connections have one, also the end that only acknowledges. What
    stands in `window`, `ssthresh`, `pacing_rate` and `limits_itself` after a method counts until
    the next one. Before the first, `window` and `ssthresh` are what the flow's ``tcp`` says, `mss`
    the payload of a segment in bytes; ``established`` is the place to begin otherwise.

    Whether ECN is negotiated follows from the flow's ``tcp.ecn`` and ``tcp.cc``: with ``cc =
    "dctcp"`` there the receiver echoes marks segment by segment.
    """

    window: float
    """The congestion window in segments, 1 or more; a fraction waits until it is whole."""
    ssthresh: float
    """The slow-start threshold in segments; `math.inf` before anything sets it."""
    mss: int
    """Payload of a full segment in bytes."""
    pacing_rate: float | None = None
    """Rate at which segments are spaced, in bit/s of payload, 1 or more. None: the sender paces, if
    the flow says so, at 2 windows a round trip in early slow start and 1.2 otherwise, as Linux."""
    controls_recovery: bool = False
    """Whether `window` holds during recovery too; otherwise the sender follows proportional rate
    reduction (RFC 6937) down to `ssthresh`. A property of the class."""
    limits_itself: bool = False
    """Whether the window is below the path's capacity on purpose now."""
    dice: random.Random
    """The same for the same seed, flow and end."""

    _credit: float = 0.0
    _prior: tuple[float, float] | None = None

    def seed(self, bits: int) -> None:
        """64 random bits of this end, before anything else: makes `dice`."""
        self.dice = random.Random(bits)

    def established(self, rtt: int | None, now: int) -> None:
        """The handshake is over; `rtt` is its round trip in ns, if it was measured."""

    def ack(self, ack: Ack) -> None:
        """An ACK arrived."""
        raise NotImplementedError(f"`{type(self).__name__}` has no method `ack`")

    def congestion(self, why: str, in_flight: int, now: int) -> None:
        """Congestion, once a window of data: `LOSS`, `MARK`, `TIMEOUT` or `TIMEOUT_AGAIN`.

        `in_flight` are the segments in the network now. Here the window is halved.
        """
        self.reduce(self.window // 2, why, in_flight)

    def recovered(self, now: int) -> None:
        """Recovery, or the reaction to a mark, is over."""

    def undo(self) -> None:
        """The last `congestion` was a mistake (RFC 4015, RFC 5682): the window is as before."""
        if self._prior is not None:
            self.window = max(self.window, self._prior[0])
            self.ssthresh = max(self.ssthresh, self._prior[1])
            self._prior = None

    def resume(self, idle: int, now: int) -> None:
        """Something is about to be sent, for the first time or again, with nothing in flight; the
        last was sent `idle` ns ago."""

    def idle_restart(self, timeouts: int, restart: int) -> None:
        """Nothing was sent for longer than a timeout: halved for each, down to `restart` segments
        (RFC 2861 section 3; RFC 5681 section 4.1)."""
        self._remember()
        least = min(restart, self.window)
        self.window = max(int(self.window) >> min(timeouts, 31), least)
        self._credit = 0.0

    def application_limited(self, used: int) -> None:
        """Only `used` segments of the window were needed for a timeout: half way down to them (RFC
        2861 section 3.2)."""
        if used < self.window:
            self._remember()
            self.window = max((int(self.window) + used) // 2, 1)

    def slow_start(self, acked: int) -> int:
        """Grow by `acked` segments up to the threshold; gives those that are left over."""
        before = self.window
        self.window = max(min(before + acked, self.ssthresh), before)
        return int(acked - (self.window - before))

    def grow(self, acked: int, each: float) -> None:
        """Grow by `acked` times `each` segments, whole ones at a time."""
        self._credit += acked * each
        whole = int(self._credit + 1e-9)  # n times 1/n must count as one
        self._credit -= whole
        self.window += whole

    def grow_each(self, acked: int, count: float) -> None:
        """Grow by one for each `count` acknowledged segments: Reno's `count` is the window. Those
        that a larger count has left over make one at most (Linux ``tcp_cong_avoid_ai``)."""
        if self._credit >= count:
            self._credit = 0.0
            self.window += 1
        self._credit += acked
        whole = int(self._credit // count)
        self._credit -= whole * count
        self.window += whole

    def reduce(self, ssthresh: float, why: str, in_flight: int) -> None:
        """Set the threshold, 2 at least, and the window to it; after a timeout the window to what
        is in flight and one (RFC 5681's loss window, when all in flight is lost)."""
        if why != TIMEOUT_AGAIN:
            self._prior = (self.window, self.ssthresh)
            self.ssthresh = max(ssthresh, 2)
        if why in (TIMEOUT, TIMEOUT_AGAIN):
            self.window = min(in_flight + 1, self.window)
        else:
            self.window = self.ssthresh
        self._credit = 0.0

    def _remember(self) -> None:
        self.ssthresh = max(self.ssthresh, self.window // 2 + self.window // 4)


Factory: TypeAlias = Callable[[], CongestionControl]
"""What makes a congestion control: mostly its class."""

Maker: TypeAlias = Callable[[int, float, int], CongestionControl]


def makers(controls: Mapping[str, Factory]) -> list[tuple[str, str, Maker]]:
    """Flows, the name of the congestion control there, and what makes it."""
    named = controls.items()
    return [(flow, getattr(one, "__name__", "own"), maker(one)) for flow, one in named]


def maker(factory: Factory) -> Maker:
    """What makes the congestion control of an end of such a flow; a library's needs no Python."""
    native: Maker | None = getattr(factory, "native", None)
    if native is not None:
        return native

    def make(window: int, ssthresh: float, mss: int) -> CongestionControl:
        made = factory()
        made.window, made.ssthresh, made.mss = window, ssthresh, mss
        return made

    return make
