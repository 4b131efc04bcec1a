"""Reno in twenty lines of Python, the same run with the built-in one, and a gentler one.

A congestion control that is written in Python stands where the built-in ones stand, so that the
same decisions give the same run to the last bit. It is slow: good for a prototype, not for a sweep.
"""

# %%
import sojourn
from sojourn.tcp import LOSS


class Reno(sojourn.CongestionControl):
    """RFC 5681: doubles in slow start, then grows by one segment a round trip, and halves."""

    def ack(self, ack):
        if not ack.may_grow or not ack.window_limited:
            return
        left = ack.delivered
        if self.window < self.ssthresh:
            left = self.slow_start(left)
        if left:
            self.grow_each(left, self.window)

    def congestion(self, why, in_flight, now):
        self.reduce(self.window // 2, why, in_flight)


class Gentle(Reno):
    """Gives way by an eighth when something is lost, as after a mark it would not have to."""

    def congestion(self, why, in_flight, now):
        left = 7 / 8 if why == LOSS else 1 / 2
        self.reduce(self.window * left // 1, why, in_flight)


# %%
line = sojourn.Scenario("reno", duration="20s", warmup="5s")
line.dumbbell(rtt="40ms", rate="10mbit", qdisc="codel")
for name in ["one", "other"]:
    line.flow(name, direction="up", app="bulk", tcp={"cc": "reno"})

runs = {
    "built in": sojourn.run(line),
    "Python": sojourn.run(line, controls={"one": Reno, "other": Reno}),
    "gentle": sojourn.run(line, controls={"one": Gentle, "other": Reno}),
}
for name, results in runs.items():
    one, other = (rate / 1e6 for rate in results.flows["goodput_bps"])
    (run,) = results.runs.rows()
    print(f"{name:8} {one:5.2f} and {other:5.2f} Mbit/s  {run['cpu_s']:.2f} CPU s  {run['digest']}")
assert runs["Python"].runs["digest"] == runs["built in"].runs["digest"]
one, other = runs["gentle"].flows["goodput_bps"]
assert one > 1.2 * other
