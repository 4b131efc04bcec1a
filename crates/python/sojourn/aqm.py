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
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from . import _native

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


CONTROLS = "bic cdg highspeed htcp hybla illinois lp nv scalable veno yeah".split()
"""What stands in a scenario for congestion controls of Python's: those that only Linux has."""


class StandIns:
    """AQMs and congestion controls that are values of fields.

    In the scenario's text a queue that nobody uses stands for each AQM, a FIFO of a limit of four
    billion packets, and for each congestion control one that only Linux has, and that nothing which
    was ``said`` may mean.
    """

    def __init__(self, *said: object) -> None:
        words = re.findall(r"[a-z0-9]+", " ".join(map(str, said)))
        self._free = [name for name in CONTROLS if name not in words]
        self.makers: list[tuple[str, str, Callable[[int, str], Any]]] = []
        """The queue's string, the name of the AQM, and what makes it."""
        self.controls: list[tuple[str, str, Callable[[int, float, int], Any]]] = []
        """The same of congestion controls, with a name of Linux's."""
        self._known: dict[Any, str] = {}

    def put(self, fields: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Fields with their values, or lists of values, and a stand-in in the place of each class.

        ``where`` is the kind of argument, for errors.
        """
        return {name: self._put(name, given, where) for name, given in fields.items()}

    def text(self, text: tuple[str, str, str]) -> tuple[str, str, str]:
        """A scenario's text with a stand-in in the place of each class that it names."""
        from . import plugins

        if not plugins.names_any(text[1]):
            return text
        return plugins.replaced(text, self.stand_in)

    def one(self, given: Any, option: str) -> tuple[str, str]:
        """The name of a queue (``qdisc``) or congestion control (``cc``), and what stands for it.

        A text that names nothing of Python's stands for itself. ``option`` names it in errors; its
        last word is ``qdisc``, ``queue`` or ``cc``.
        """
        from . import plugins

        if plugins.is_named(given):
            given = plugins.load(given, ".", option)
        elif isinstance(given, str):
            return given, given
        name = getattr(given, "__name__", repr(given))
        if not callable(given):
            raise TypeError(f"{option}: write a text, or give a class of your own")
        if _is_control(given) != option.endswith("cc"):
            wanted = "Aqm" if _is_control(given) else "CongestionControl"
            raise TypeError(f"{option} {name}: a class of `sojourn.{wanted}` belongs here")
        return name, self.stand_in(given)

    def asks_python(self) -> bool:
        """Whether any of them is Python's: it answers one run at a time."""
        made = [maker for *_, maker in self.makers + self.controls]
        return any(not isinstance(maker, _native.Plugin) for maker in made)

    def stand_in(self, given: Any) -> str:
        """What stands for a class."""
        from . import tcp

        if given in self._known:
            return self._known[given]
        name = getattr(given, "__name__", "own")
        if _is_control(given):
            if len(self.controls) == len(self._free):
                raise ValueError(f"at most {len(self._free)} congestion controls of one's own")
            stand_in = self._free[len(self.controls)]
            self.controls.append((stand_in, name, tcp.maker(given)))
        else:
            stand_in = f"pfifo limit {2**32 - 1 - len(self.makers)}"
            self.makers.append((stand_in, name, _maker(given)))
        self._known[given] = stand_in
        return stand_in

    def _put(self, field: str, given: Any, where: str) -> Any:
        from . import plugins

        path = field if "." in field else field.replace("__", ".")
        if isinstance(given, (list, tuple)):
            return [self._put(field, one, where) for one in given]
        if plugins.is_named(given):
            given = plugins.load(given, ".", where, path)
        elif not callable(given):
            return given
        name = getattr(given, "__name__", repr(given))
        last = path.rpartition(".")[2]
        if _is_control(given) and last != "cc":
            raise TypeError(f"{field}={name}: a congestion control is a value of `cc` (…tcp.cc)")
        if not _is_control(given) and last != "qdisc":
            raise TypeError(f"{field}={name}: an AQM is a value of a queue's field (…qdisc)")
        return self.stand_in(given)


def _is_control(given: Any) -> bool:
    from .tcp import CongestionControl

    if isinstance(given, type):
        return issubclass(given, CongestionControl)
    return getattr(given, "is_control", False)


def _maker(factory: Factory) -> Callable[[int, str], Aqm]:
    """What makes the AQM of a link in a run with this seed; a library's makes it without Python."""
    native: Callable[[int, str], Aqm] | None = getattr(factory, "native", None)
    if native is not None:
        return native

    def make(seed: int, link: str) -> Aqm:
        made = factory()
        made.dice = random.Random(f"{seed}/{link}")
        return made

    return make
