"""CoDel drop times, from the pseudocode of RFC 8289 section 5 (deque, dodeque, control_law).

Packets of 1500 bytes leave every 1 ms. They arrive every 0.8 ms until 2 s (a standing queue that
grows), not at all until the queue is empty, every 0.8 ms from 3.2 s to 4.2 s (within 16 intervals
of the last drop: the rate resumes), and again from 7 s to 8 s (beyond 16 intervals: it does not).
"""

import math
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
        elif now >= self.first_above_time:
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
            self.drop_next = self.control_law(now, self.count)
            self.lastcount = self.count
        return p


def arrivals():
    for start, end in ((0, 2000), (3200, 4200), (7000, 8000)):
        t = start * MS
        while t < end * MS:
            yield t
            t += 800_000


def main():
    codel = CoDel()
    pending = deque(enumerate(arrivals()))
    for now in range(MS // 2, 9000 * MS, MS):
        while pending and pending[0][1] <= now:
            number, t = pending.popleft()
            codel.q.append((t, number))
        codel.deque(now)
    print("time_ns,packet")
    for now, number in codel.dropped:
        print(f"{now},{number}")


main()
