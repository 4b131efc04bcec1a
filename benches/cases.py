"""The cases of the benches: which scenario or queue, how long, and what its cost is divided by.

`instructions.py`, `misses.py` and `pairs.py` run them by name: those of CASES, and `flows-N`,
`shares-N`, `links-N` and `radios-N` of any size, whose scenarios are written here. `scale.py` runs
these too, with `sojourn run`.
"""

import pathlib
import re
from collections.abc import Callable
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = 'format = "sojourn-scenario/1"\nname = "scale"\nflow_series = false\n'
# A second level of 1 MiB, for valgrind.
CACHES = ["--cache-sim=yes", "--D1=32768,8,64", "--LL=1048576,16,64"]
# Packets a second of 512 bytes, at 20 kbit/s, of one flow for every five radios.
OFFERED = 20_000 / (8 * 512) / 5


def dumbbell(count: int, rate: str, limit: int, access: str = "") -> str:
    """So many flows of CUBIC through one link, whose round trip takes 50 ms."""
    tables = [min(10_000, count - first) for first in range(0, count, 10_000)]
    return (
        HEAD
        + f"""framing = "ip"
[tcp]
receive_window_max = 33_554_432
send_buffer = 33_554_432
[dumbbell]
rtt = "50ms"
rate = "{rate}"
{access}qdisc = "pfifo limit {limit}"
"""
        + "".join(
            f'[[flow]]\nname = "cubic-{table}"\ncount = {number}\n'
            'direction = "up"\napp = "bulk"\nstart_spread = "1s"\n'
            for table, number in enumerate(tables)
        )
    )


def flows(count: int) -> str:
    """A dumbbell of 10 Gbit/s, as in scenarios/bench, with so many flows."""
    return dumbbell(count, "10gbit", 25_000, 'access = "100gbit"\n')


def shares(count: int) -> str:
    """A dumbbell of 1 Mbit/s a flow, without access links: each flow does the same in all sizes."""
    return dumbbell(count, f"{count}mbit", 5 * count // 2)


def links(count: int) -> str:
    """A parking lot: a flow over each link, and one over all of them."""
    parts = [HEAD] + [f'[[node]]\nname = "n{node}"\n' for node in range(count + 1)]
    for link in range(count):
        parts.append(
            f'[[link]]\nname = "l{link}"\nfrom = "n{link}"\nto = "n{link + 1}"\nduplex = true\n'
            'rate = "100mbit"\ndelay = "1ms"\nqdisc = "pfifo limit 200"\n'
        )
    for link in range(count):
        parts.append(
            f'[[flow]]\nname = "f{link}"\nfrom = "n{link}"\nto = "n{link + 1}"\n'
            'app = "bulk"\nrtt = "20ms"\n'
        )
    parts.append(f'[[flow]]\nname = "long"\nfrom = "n0"\nto = "n{count}"\napp = "bulk"\n')
    return "".join(parts)


def radios(count: int) -> str:
    """A grid in rows of at most fifty, and a flow over four hops for every five stations."""
    columns = min(50, count // 2)
    parts = [
        HEAD,
        '[radio]\nprofile = "ns2-802.11b"\nrouting = "aodv-ns2"\nqdisc = "pfifo limit 50"\n',
        f'grid = {{ columns = {columns}, rows = {count // columns}, spacing = "25m" }}\n',
    ]
    for first in range(0, count, 5):
        parts.append(
            f'[[flow]]\nname = "f{first}"\nfrom = "n{first}"\nto = "n{first + 4}"\n'
            'app = { kind = "cbr", size = 512, rate = "20kbit" }\nstart_spread = "1s"\n'
        )
    return "".join(parts)


class Case(NamedTuple):
    """What a bench of `sojourn-sim` runs."""

    bench: str
    #: A scenario's file or text with what is set in it, or a queue with its number of flows.
    what: tuple[str, ...]
    #: Both lengths of a count, in seconds or packets: as short as a full link allows.
    counted: tuple[float, float]
    #: Both lengths where the time is taken.
    timed: tuple[float, float]
    #: What the cost is divided by, of the busiest queue's packets and the seconds.
    unit: str = "packet"
    units: Callable[[int, float], float] = lambda packets, seconds: packets

    def words(self, length: float, folder: str) -> list[str]:
        """The bench's arguments for a run of this length. A text is written to the folder."""
        first, *others = self.what
        if self.bench == "cost":
            return ["packets", str(length), first, *others]
        if "\n" in first:
            file = pathlib.Path(folder) / "scenario.toml"
            file.write_text(first)
            first = str(file)
        return [first, f"duration={round(length * 1e6)}us", *others]


def scenario(name: str, *sets: str, **lengths) -> Case:
    """A scenario of this repository."""
    return Case("count", (str(ROOT / f"scenarios/{name}.toml"), *sets), **lengths)


def scaled(kind: str, size: int) -> Case:
    """A scenario of any size."""
    # All flows have begun after a second.
    if kind == "flows":
        return Case("count", (flows(size),), (1.1, 1.2), (1.1, 3.1))
    if kind == "shares":
        return Case("count", (shares(size),), (2, 2 + 1000 / size), (2, 2 + 20_000 / size))
    if kind == "links":
        # Each link is full, and has as many packets as the busiest.
        unit = {"unit": "hop", "units": lambda packets, seconds: packets * size}
        return Case("count", (links(size),), (0.25, 0.3), (0.25, 0.25 + 300 / size), **unit)
    # Routes are found in the first seconds.
    unit = {"unit": "sent packet", "units": lambda packets, seconds: seconds * OFFERED * size}
    return Case("count", (radios(size),), (2, 6), (2, 2 + 1e6 / size**1.5), **unit)


CASES = {
    "1g": scenario("bench/1g-36-cubic", counted=(1, 2), timed=(1, 31)),
    "10g": scenario("bench/10g-36-cubic", counted=(0.6, 0.8), timed=(0.6, 3.6)),
    "10g-360": scenario("bench/10g-360-cubic", counted=(1.2, 1.3), timed=(1.2, 3.2)),
    "10g-3600": scenario("bench/10g-3600-cubic", counted=(1.2, 1.3), timed=(1.2, 2.2)),
    "rrul": scenario("bench/rrul-like", counted=(10, 20), timed=(10, 1010)),
    "cake": Case("cost", ("cake diffserv4", "1024"), (20_000, 60_000), (20_000, 10_020_000)),
    "radio-3": scenario(
        "radio/saturated", "radio.chain.hops=3", counted=(20, 40), timed=(20, 4020)
    ),
    "radio-15": scenario(
        "radio/saturated", "radio.chain.hops=15", counted=(20, 40), timed=(20, 2020)
    ),
    "flows-10000": scaled("flows", 10_000),
    "links-200": scaled("links", 200),
    "radios-2000": scaled("radios", 2000),
}
#: Those whose memory does not fit into the caches.
LARGE = ("flows-10000", "links-200", "radios-2000")


def named(names: list[str], default: list[str] | tuple[str, ...]) -> dict[str, Case]:
    """The cases of these names, or of those that are usual."""
    found = {}
    for name in names or default:
        size = re.fullmatch(r"(flows|shares|links|radios)-([1-9]\d*)", name)
        if name not in CASES and size is None:
            raise SystemExit(
                f"no case {name}: there are {', '.join(CASES)}, and flows-N, shares-N, links-N, "
                "radios-N"
            )
        found[name] = CASES[name] if name in CASES else scaled(size[1], int(size[2]))
    return found
