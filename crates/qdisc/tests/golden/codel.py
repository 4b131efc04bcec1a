"""CoDel drop times, from the pseudocode of RFC 8289 section 5 (deque, dodeque, control_law) or,
with the argument `linux`, in the arithmetic of Linux 6.1 (`codel_impl.h`): times in units of
1024 ns, 1/sqrt(count) in 16 bits by one step of Newton's method a change, a first drop later than
an interval; or, with the argument `ns2`, by ns-2's law of 2012 as it is described in
`crates/qdisc/src/aqm/codel.rs`.

Packets of 1500 bytes leave every 1 ms. They arrive every 0.8 ms until 2 s (a standing queue that
grows), not at all until the queue is empty, every 0.8 ms from 3.2 s to 4.2 s (within 16 intervals
of the last drop: the rate resumes), and again from 7 s to 8 s (beyond 16 intervals: it does not).
"""

import math
import sys
from collections import deque

MS = 1_000_000
TARGET, INTERVAL, MAXPACKET = 5 * MS, 100 * MS, 1514


class CoDel:
    def __init__(self):
        self.q = deque()
        self.first_above_time = 0
        self.drop_next = 0
        self.count = 0
        self.lastcount = 0
        self.dropping = False
        self.dropped = []

    def control_law(self, t, count):
        return t + INTERVAL / math.sqrt(count)

    def changed(self):
        """The count has changed."""

    def restarted(self):
        """The count is one."""

    def later(self, now):
        return now >= self.first_above_time

    def dodeque(self, now):
        if not self.q:
            self.first_above_time = 0
            return None, False
        p = self.q.popleft()
        ok = False
        sojourn = now - p[0]
        if sojourn < TARGET or 1500 * len(self.q) <= MAXPACKET:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            self.first_above_time = now + INTERVAL
        elif self.later(now):
            ok = True
        return p, ok

    def drop(self, p, now):
        self.dropped.append((now, p[1]))

    def deque(self, now):
        p, ok = self.dodeque(now)
        if self.dropping:
            if not ok:
                self.dropping = False
            while now >= self.drop_next and self.dropping:
                self.drop(p, now)
                self.count += 1
                self.changed()
                p, ok = self.dodeque(now)
                if not ok:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next, self.count)
        elif ok:
            self.drop(p, now)
            p, ok = self.dodeque(now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * INTERVAL:
                self.count = delta
                self.changed()
            else:
                self.restarted()
            self.drop_next = self.control_law(now, self.count)
            self.lastcount = self.count
        return p


class Linux(CoDel):
    """All times in units of 1024 ns."""

    root = 0

    def control_law(self, t, count):
        return t + (INTERVAL * (self.root << 16) >> 32)

    def changed(self):
        root = self.root << 16
        rest = ((3 << 32) - self.count * (root * root >> 32)) % 2**64 >> 2
        self.root = ((rest * root) % 2**64 >> 31 + 16) % 2**16

    def restarted(self):
        self.root = 2**16 - 1

    def later(self, now):
        return now > self.first_above_time


class Ns2(CoDel):
    """Counts after a drop, resumes within 8 intervals two lower, and sooner above the target."""

    largest = 256

    def recent(self, now):
        return now - self.drop_next < 8 * INTERVAL

    def dodeque(self, now):
        if not self.q:
            self.first_above_time = 0
            return None, False
        p = self.q.popleft()
        self.largest = max(self.largest, 1500)
        if now - p[0] < TARGET or 1500 * len(self.q) <= self.largest:
            self.first_above_time = 0
        elif self.first_above_time == 0:
            soon = self.recent(now) and self.count > 1
            self.first_above_time = now + (INTERVAL / math.sqrt(self.count) if soon else INTERVAL)
        elif now >= self.first_above_time:
            return p, True
        return p, False

    def deque(self, now):
        p, ok = self.dodeque(now)
        if self.dropping:
            self.dropping = ok
            while self.dropping and now >= self.drop_next:
                self.drop(p, now)
                p, self.dropping = self.dodeque(now)
                if self.dropping:
                    self.count += 1
                    self.drop_next = self.control_law(self.drop_next, self.count)
        elif ok:
            self.drop(p, now)
            p, ok = self.dodeque(now)
            self.dropping = True
            if self.count > 2 and self.recent(now):
                self.count = self.count - 2 if self.count <= 128 else int(0.9844 * self.count)
            else:
                self.count = 1
            self.drop_next = self.control_law(now, self.count)
        return p


def arrivals():
    for start, end in ((0, 2000), (3200, 4200), (7000, 8000)):
        t = start * MS
        while t < end * MS:
            yield t
            t += 800_000


def main():
    global TARGET, INTERVAL
    linux = sys.argv[1:] == ["linux"]
    codel = {"linux": Linux, "ns2": Ns2}.get("".join(sys.argv[1:]), CoDel)()
    shift = 10 if linux else 0
    TARGET, INTERVAL = TARGET >> shift, INTERVAL >> shift
    pending = deque(enumerate(arrivals()))
    for now in range(MS // 2, 9000 * MS, MS):
        while pending and pending[0][1] <= now:
            number, t = pending.popleft()
            codel.q.append((t >> shift, number))
        before = len(codel.dropped)
        codel.deque(now >> shift)
        codel.dropped[before:] = [(now, number) for _, number in codel.dropped[before:]]
    print("time_ns,packet")
    for now, number in codel.dropped:
        print(f"{now},{number}")


main()
