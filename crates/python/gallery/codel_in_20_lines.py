"""CoDel in twenty lines of Python, and the same run with the built-in one.

An AQM that is written in Python stands where the built-in ones stand, so that the same decisions
give the same run to the last bit. It is slow: good for a prototype, not for a sweep.
"""

# %%
from math import sqrt

import sojourn
from sojourn.aqm import DROP, MS


class Codel(sojourn.Aqm):
    """The pseudocode of RFC 8289, section 5."""

    target, interval, mtu = 5 * MS, 100 * MS, 1514
    first_above = drop_next = count = last_count = 0
    dropping = dropped = False

    def dequeue(self, queue, packet, now):
        if packet.sojourn < self.target or queue.bytes <= self.mtu:
            return self.empty(now)
        self.first_above = self.first_above or now + self.interval
        if now < self.first_above:
            self.dropping = self.dropped = False
        elif not self.dropping:
            fresh, recent = self.count - self.last_count, now - self.drop_next < 16 * self.interval
            self.count = self.last_count = fresh if recent and fresh > 1 else 1
            self.dropping, self.drop_next = True, self.law(now)
            return DROP
        else:
            if self.dropped:
                self.drop_next, self.dropped = self.law(self.drop_next), False
            if now >= self.drop_next:
                self.count, self.dropped = self.count + 1, True
                return DROP

    def law(self, time):
        return time + int(self.interval * (1 / sqrt(self.count)) + 0.5)

    def empty(self, now):
        self.first_above, self.dropping, self.dropped = 0, False, False


# %%
line = sojourn.Scenario("codel", duration="20s", warmup="5s")
line.dumbbell(rtt="40ms", up={"rate": "2mbit"}, down={"rate": "12mbit"}, qdisc="codel law rfc8289")
line.flow("download", direction="down", app="bulk")
line.flow("probe", direction="up", app="ping")

ours = sojourn.run(line, queues={"up": Codel, "down": Codel})
built_in = sojourn.run(line)
for name, results in [("Python", ours), ("built in", built_in)]:
    (run,) = results.runs.rows()
    delay, cost = run["induced_rtt_ms_p50"], run["cpu_s"]
    print(f"{name:9} {delay:6.2f} ms  {cost:.2f} CPU s  {run['digest']}")
assert ours.runs["digest"] == built_in.runs["digest"]
