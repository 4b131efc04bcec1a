"""AQMs written in Python, for prototypes: the simulator asks them about every packet.

>>> class HalfFull(sojourn.Aqm):
...     def enqueue(self, queue, packet, now):
...         if queue.packets > 50 and self.dice.random() < 0.1:
...             return DROP
>>> one_flow = "scenarios/basics/one-flow.toml"
>>> sojourn.sweep(one_flow, {"dumbbell.qdisc": ["pfifo", "codel", HalfFull]})
>>> sojourn.run(one_flow, queues={"down": HalfFull})  # that link alone

Times are whole nanoseconds; `US`, `MS` and `S` are so many. A packet costs two calls of Python:
some hundred times what a built-in AQM takes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

__all__ = ["Aqm", "DROP", "MARK", "MS", "PASS", "Packet", "Queue", "S", "US"]

PASS = "pass"
"""Let the packet go on; None says the same."""
MARK = "mark"
"""Let it go on with ECN's mark; a packet that cannot carry one is dropped."""
DROP = "drop"
"""Drop it. At dequeue the next packet is asked about then."""

US = 1_000
MS = 1_000_000
S = 1_000_000_000


class Queue(Protocol):
    """What an AQM may know of its queue; the packet in question is not in it."""

    packets: int
    """Packets waiting."""
    bytes: int
    """Bytes waiting, link headers included."""
    head_wait: int
    """How long the packet at the head has waited, in ns."""


class Packet(Protocol):
    """What an AQM may know of the packet in question."""

    length: int
    """Its length in bytes, the link header included."""
    ect: bool
    """Whether it can carry ECN's mark."""
    sojourn: int
    """How long it has waited, in ns; zero on arrival."""


class Aqm:
    """The policy for one queue. Subclasses say what becomes of packets; each link has an object.

    ``limit`` is the most packets that the queue holds, ``dice`` a `random.Random` that is the same
    for the same seed and link.
    """

    limit: int = 1000
    dice: random.Random

    def enqueue(self, queue: Queue, packet: Packet, now: int) -> str | None:
        """A packet arrives, and there is room for it. `now` is the time since the start in ns."""
        return PASS

    def dequeue(self, queue: Queue, packet: Packet, now: int) -> str | None:
        """A packet has reached the head and would leave."""
        return PASS

    def empty(self, now: int) -> None:
        """The link asked for a packet and there was none, or all were dropped."""


Factory: TypeAlias = Callable[[], Aqm]
"""What makes an AQM: mostly its class."""


def makers(queues: Mapping[str, Factory]) -> list[tuple[str, str, Callable[[int, str], Aqm]]]:
    """Links, the name of the AQM there, and what makes it."""
    named = queues.items()
    return [(link, getattr(one, "__name__", "own"), _maker(one)) for link, one in named]


class StandIns:
    """AQMs that are values of fields. In the scenario's text a queue that nobody uses stands for
    each: a FIFO of a limit of four billion packets."""

    def __init__(self) -> None:
        self.makers: list[tuple[str, str, Callable[[int, str], Aqm]]] = []
        """The queue's string, the name of the AQM, and what makes it."""
        self._known: dict[Factory, str] = {}

    def put(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Fields with their values, or lists of values, and a queue in the place of each AQM."""
        return {name: self._put(name, given) for name, given in fields.items()}

    def _put(self, field: str, given: Any) -> Any:
        if isinstance(given, (list, tuple)):
            return [self._put(field, one) for one in given]
        if not callable(given):
            return given
        if not field.endswith("qdisc"):
            name = getattr(given, "__name__", repr(given))
            path = field.replace("__", ".")
            if path.rpartition(".")[2] == "cc":
                flow = path.split(".")[1] if path.startswith("flow.") else "FLOW"
                instead = f'controls={{"{flow}": {name}}}'
                raise TypeError(f"{field}={name}: a congestion control is no value; give {instead}")
            raise TypeError(f"{field}={name}: an AQM is a value of a queue's field (…qdisc)")
        if given not in self._known:
            stand_in = f"pfifo limit {2**32 - 1 - len(self.makers)}"
            self._known[given] = stand_in
            self.makers.append((stand_in, getattr(given, "__name__", "own"), _maker(given)))
        return self._known[given]


def _maker(factory: Factory) -> Callable[[int, str], Aqm]:
    """What makes the AQM of a link in a run with this seed."""

    def make(seed: int, link: str) -> Aqm:
        made = factory()
        made.dice = random.Random(f"{seed}/{link}")
        return made

    return make
