"""Congestion controls written in Python, at the border that the built-in ones have."""

import traceback
from pathlib import Path

import pytest

import sojourn
from sojourn.tcp import LOSS, MARK, MS, TIMEOUT, Ack


class Reno(sojourn.CongestionControl):
    """RFC 5681's equations 2 to 4."""

    def ack(self, ack: Ack) -> None:
        if not ack.may_grow or not ack.window_limited:
            return
        left = ack.delivered
        if self.window < self.ssthresh:
            left = self.slow_start(left)
        if left:
            self.grow_each(left, self.window)


def columns(results: sojourn.Results, wanted: str) -> list[object]:
    rows = results.flows.rows()
    return [row[wanted] for row in rows if row["flow"] == "download"]


@pytest.mark.parametrize(
    "more",
    [
        {"dumbbell__qdisc": "codel"},
        {"dumbbell__qdisc": "pfifo limit 30p"},
        {"dumbbell__qdisc": "fq_codel", "flow.download.tcp.ecn": True},
        {"dumbbell__loss": "3%"},
        {"flow.download.tcp.sack": False},
    ],
    ids=["drops", "tail drops", "marks", "random loss", "no SACK"],
)
def test_reno_in_python_is_the_built_in_one(
    home: sojourn.Scenario, more: dict[str, object]
) -> None:
    more = {"seeds": 2, "duration": "20s", "flow.download.tcp.cc": "reno", **more}
    built_in = sojourn.run(home, **more)
    ours = sojourn.run(home, controls={"download": Reno}, **more)
    assert ours.runs["digest"] == built_in.runs["digest"]
    assert ours.runs["download.cc"] == ["Reno", "Reno"]
    assert columns(ours, "goodput_bps") == columns(built_in, "goodput_bps")
    cubic = sojourn.run(home, **{**more, "flow.download.tcp.cc": "cubic"})
    assert ours.runs["digest"] != cubic.runs["digest"]


def test_it_idles_as_the_built_in_one(home: sojourn.Scenario) -> None:
    page = {"kind": "web", "pause": "1s"}
    home.flow("pages", direction="down", app=page, tcp={"cc": "reno"})
    built_in = sojourn.run(home, duration="20s")
    ours = sojourn.run(home, controls={"pages": Reno}, duration="20s")
    assert ours.runs["digest"] == built_in.runs["digest"]


class Heard(sojourn.CongestionControl):
    """Grows by one each ACK, and writes down what it hears."""

    all: "list[Heard]" = []

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.acks: list[Ack] = []
        self.all.append(self)

    def established(self, rtt: int | None, now: int) -> None:
        self.began, self.first_rtt = (self.window, self.ssthresh, self.mss), rtt

    def ack(self, ack: Ack) -> None:
        self.acks.append(ack)
        if ack.may_grow:
            self.window += 1

    def congestion(self, why: str, in_flight: int, now: int) -> None:
        self.reasons.append(why)
        super().congestion(why, in_flight, now)


def test_what_it_hears(home: sojourn.Scenario) -> None:
    Heard.all.clear()
    tcp = {"initial_window": 4, "ecn": True}
    marks = {"dumbbell__qdisc": "codel ecn", "flow__download__tcp": tcp}
    sojourn.run(home, controls={"download": Heard}, **marks)
    sender = max(Heard.all, key=lambda one: len(one.acks))
    assert len(Heard.all) == 2
    assert sender.began == (4, float("inf"), 1448)
    assert set(sender.reasons) == {MARK}
    for ack in sender.acks:
        assert ack.rtt is None or 40 * MS <= ack.min_rtt <= ack.rtt < 6000 * MS
    assert sum(ack.marked for ack in sender.acks) > 0
    assert sender.acks[-1].delivered_total > 1_000_000
    rates = [ack.rate for ack in sender.acks if ack.rate is not None]
    assert 5e6 < sorted(rates)[len(rates) // 2] < 13e6
    Heard.all.clear()
    sojourn.run(home, controls={"download": Heard}, dumbbell__qdisc="pfifo limit 20p")
    assert LOSS in {why for one in Heard.all for why in one.reasons}


class Paced(sojourn.CongestionControl):
    """Sends at half of the line's rate, whatever happens."""

    controls_recovery = True

    def established(self, rtt: int | None, now: int) -> None:
        self.window, self.pacing_rate = 1000, 6_000_000

    def ack(self, ack: Ack) -> None:
        pass

    def congestion(self, why: str, in_flight: int, now: int) -> None:
        assert why == TIMEOUT


def test_a_pacing_rate_is_kept(home: sojourn.Scenario) -> None:
    ours = sojourn.run(home, controls={"download": Paced}, dumbbell__qdisc="pfifo")
    (goodput,) = columns(ours, "goodput_bps")
    assert goodput == pytest.approx(6e6, rel=0.01)


class Dice(sojourn.CongestionControl):
    def ack(self, ack: Ack) -> None:
        if ack.may_grow:
            self.window += self.dice.random()


def test_the_same_seed_gives_the_same_run(home: sojourn.Scenario) -> None:
    def digests() -> list[object]:
        return sojourn.run(home, controls={"download": Dice}, seeds=3).runs["digest"]

    first = digests()
    assert digests() == first and len(set(first)) == 3


class Wrong(sojourn.CongestionControl):
    def ack(self, ack: Ack) -> None:
        raise LookupError("as asked")


class Small(sojourn.CongestionControl):
    def ack(self, ack: Ack) -> None:
        self.window = 0.5


class Blunt(sojourn.CongestionControl):
    def ack(self, ack: Ack) -> None:
        self.pacing_rate = float("nan")


def test_what_it_raises_ends_the_run(home: sojourn.Scenario) -> None:
    with pytest.raises(LookupError, match="as asked") as raised:
        sojourn.run(home, controls={"download": Wrong}, duration="100000s")
    last = traceback.extract_tb(raised.tb)[-1]
    lines = Path(__file__).read_text().splitlines()
    assert last.filename == __file__ and lines[last.lineno - 1].strip().startswith("raise Lookup")
    with pytest.raises(ValueError, match="window is 0.5: segments, 1 or more"):
        sojourn.run(home, controls={"download": Small})
    with pytest.raises(ValueError, match="pacing_rate is NaN: bit/s, 1 or more"):
        sojourn.run(home, controls={"download": Blunt})
    with pytest.raises(NotImplementedError, match="`CongestionControl` has no method `ack`"):
        sojourn.run(home, controls={"download": sojourn.CongestionControl})
    with pytest.raises(ValueError, match="invalid literal"):
        sojourn.run(home, controls={"download": lambda: int("one")})


def test_a_class_is_a_value_of_an_axis(home: sojourn.Scenario) -> None:
    swept = sojourn.sweep(home, {"flow.download.tcp.cc": ["reno", Reno]}).runs
    assert swept["flow.download.tcp.cc"] == ["reno", "Reno"]
    assert len(set(swept["digest"])) == 1
    # For all flows, and where another axis varies.
    ours = sojourn.sweep(home, {"dumbbell.qdisc": ["pfifo", "codel"]}, tcp__cc=Reno).runs["digest"]
    built_in = sojourn.sweep(home, {"dumbbell.qdisc": ["pfifo", "codel"]}, tcp__cc="reno").runs
    assert ours == built_in["digest"] and ours[0] != ours[1]
    with pytest.raises(TypeError, match="a congestion control is a value of `cc`"):
        sojourn.run(home, dumbbell__qdisc=Reno)


def test_only_flows_that_ask_one_have_one(home: sojourn.Scenario) -> None:
    with pytest.raises(sojourn.RunError, match="no flow is named `upload`; available: download, probe"):
        sojourn.run(home, controls={"upload": Reno})
    with pytest.raises(sojourn.RunError, match="flow `probe` is not a TCP connection"):
        sojourn.run(home, controls={"probe": Reno})
    with pytest.raises(ValueError, match="for the simulator"):
        sojourn.run(home, controls={"download": Reno}, world="kernel")
