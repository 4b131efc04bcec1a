"""AQMs written in Python, at the border that the built-in ones have."""

import math
from pathlib import Path

import pytest

import sojourn
from sojourn.aqm import DROP, MARK, MS, Packet, Queue


class Codel(sojourn.Aqm):
    """CoDel by the pseudocode of RFC 8289, section 5."""

    target, interval, mtu = 5 * MS, 100 * MS, 1514

    def __init__(self) -> None:
        self.first_above = self.drop_next = self.count = self.last_count = 0
        self.dropping = self.dropped = False

    def law(self, time: int) -> int:
        return time + int(self.interval * (1 / math.sqrt(self.count)) + 0.5)

    def dequeue(self, queue: Queue, packet: Packet, now: int) -> str | None:
        if packet.sojourn < self.target or queue.bytes <= self.mtu:
            return self.empty(now)
        if self.first_above == 0:
            self.first_above = now + self.interval
            self.dropping = self.dropped = False
            return None
        if now < self.first_above:
            self.dropping = self.dropped = False
            return None
        if not self.dropping:
            fresh = self.count - self.last_count
            recent = now - self.drop_next < 16 * self.interval
            self.count = self.last_count = fresh if recent and fresh > 1 else 1
            self.dropping, self.drop_next = True, self.law(now)
            return DROP
        if self.dropped:
            self.dropped, self.drop_next = False, self.law(self.drop_next)
        if now < self.drop_next:
            return None
        self.count += 1
        self.dropped = True
        return DROP

    def empty(self, now: int) -> None:
        self.first_above = 0
        self.dropping = self.dropped = False


def test_codel_in_python_is_the_built_in_one(home: sojourn.Scenario) -> None:
    built_in = sojourn.run(home, dumbbell__qdisc="codel law rfc8289 noecn", duration="20s")
    ours = sojourn.run(home, queues={"up": Codel, "down": Codel}, duration="20s")
    assert built_in.links["dropped_packets"][1] > 5
    assert ours.runs["digest"] == built_in.runs["digest"]
    assert ours.runs["down.aqm"] == ["Codel"]


class Dice(sojourn.Aqm):
    def enqueue(self, queue: Queue, packet: Packet, now: int) -> str | None:
        return MARK if queue.packets > 20 and self.dice.random() < 0.05 else None


def test_marks_and_dice(home: sojourn.Scenario) -> None:
    def down(**more: object) -> dict[str, object]:
        results = sojourn.run(home, queues={"down": Dice}, **more)
        return next(row for row in results.links.rows() if row["link"] == "down")

    plain, again = down(), down()
    assert (plain["marked_packets"], plain["dropped_packets"] != 0) == (0, True)
    assert plain["dropped_packets"] == again["dropped_packets"]
    marked = down(**{"flow.download.tcp.ecn": True})
    assert marked["marked_packets"] != 0


class Small(sojourn.Aqm):
    limit = 3


def test_the_limit_is_the_class_s(home: sojourn.Scenario) -> None:
    links = sojourn.run(home, queues={"down": Small}).links
    assert max(links["backlog_packets_mean"]) < 3
    assert links["dropped_packets"][1] > 0


def test_a_class_is_a_value_of_the_axis(home: sojourn.Scenario) -> None:
    queues = ["pfifo", Small, "codel"]
    results = sojourn.sweep(home, {"dumbbell.qdisc": queues})
    assert results.runs["dumbbell.qdisc"] == ["pfifo", "Small", "codel"]
    down = [row["dropped_packets"] for row in results.links.rows() if row["link"] == "down"]
    assert down[1] > down[0], "its limit is three packets"
    assert "Small" in results.report().html
    alone = sojourn.run(home, dumbbell__qdisc=Small)
    assert alone.runs["digest"] == results.runs["digest"][1:2]
    down_only = sojourn.sweep(home, {"dumbbell.down.qdisc": ["codel", Small]})
    assert down_only.runs["dumbbell.down.qdisc"] == ["codel", "Small"]
    with pytest.raises(TypeError, match="dumbbell.rtt=Small: an AQM is a value of a queue"):
        sojourn.sweep(home, {"dumbbell.rtt": [Small]})


def test_a_replaced_queue_is_swept_no_more(one_flow: Path) -> None:
    """No row names a queue that did not run."""
    results = sojourn.run(one_flow, queues={"down": Small}, duration="6s")
    assert results.runs["down.aqm"] == ["Small"]
    line = sojourn.Scenario("line", duration="3s")
    line.dumbbell(rtt="40ms", up={"rate": "2mbit"}, down={"rate": "12mbit"})
    line.flow("download", direction="down", app="bulk")
    axes = {"dumbbell.down.qdisc": ["codel", "pie"], "dumbbell.up.qdisc": ["codel", "pie"]}
    results = sojourn.sweep(line, axes, queues={"down": Small})
    assert results.runs["dumbbell.down.qdisc"] == ["Small", "Small"]
    assert results.runs["dumbbell.up.qdisc"] == ["codel", "pie"]


class Wrong(sojourn.Aqm):
    def enqueue(self, queue: Queue, packet: Packet, now: int) -> str | None:
        raise LookupError("as asked")


class Unclear(sojourn.Aqm):
    def dequeue(self, queue: Queue, packet: Packet, now: int) -> str | None:
        return "perhaps"


def test_what_it_raises_ends_the_run(home: sojourn.Scenario) -> None:
    with pytest.raises(LookupError, match="as asked"):
        sojourn.run(home, queues={"down": Wrong}, duration="100000s")
    with pytest.raises(ValueError, match="`perhaps` is not a verdict"):
        sojourn.run(home, queues={"down": Unclear}, seeds=2)
    with pytest.raises(ValueError, match="invalid literal"):
        sojourn.run(home, queues={"down": lambda: int("one")})
    with pytest.raises(sojourn.RunError, match="no link is named `side`; available: up, down"):
        sojourn.run(home, queues={"side": Small})
