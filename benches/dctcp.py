#!/usr/bin/env python3
"""Marks of one DCTCP flow in DualPI2's C queue, with alpha as in RFC 8257 and as in Linux 7.3.

A small model apart from the simulator: one flow, whole segments, an ACK for each of them, a link
of 50 Mbit/s. The controller is Linux's (target 15 ms, an update every 16 ms). It shows how much of
the difference in docs/fidelity.md is due to alpha's arithmetic alone.
"""

import heapq
import random
from collections import deque

RATE = 50e6
SEND = 1514 * 8 / RATE
CERTAIN = 2**32 - 1
FROM, UNTIL = 5.0, 25.0


class Rfc8257:
    """Alpha is a real number."""

    def __init__(self):
        self.alpha = 1.0

    def observe(self, marked, delivered):
        self.alpha += (marked / delivered - self.alpha) / 16

    def cut(self, window):
        return int(window * self.alpha / 2)


class Linux:
    """Alpha is in 1/1024: what is added is cut, and what is left below 16 goes at once."""

    def __init__(self):
        self.alpha = 1024

    def observe(self, marked, delivered):
        self.alpha -= self.alpha >> 4 or self.alpha
        self.alpha = min(self.alpha + (marked << 6) // delivered, 1024)

    def cut(self, window):
        return (window * self.alpha) >> 11


class LinuxCut(Linux):
    """Only what is added is cut."""

    def observe(self, marked, delivered):
        self.alpha += -self.alpha / 16 + (marked << 6) // delivered

    def cut(self, window):
        return int(window * self.alpha / 2048)


class LinuxEnd(Linux):
    """Only what is left below 16 goes at once."""

    def observe(self, marked, delivered):
        self.alpha -= self.alpha / 16 if self.alpha >= 16 else self.alpha
        self.alpha += 64 * marked / delivered

    def cut(self, window):
        return int(window * self.alpha / 2048)


def marks(rule, rtt, seed):
    """Marks in ten seconds of steady state."""
    dice = random.Random(seed)
    queue, events, order = deque(), [], 0
    busy, probability, last = False, 0, 0.0
    window, in_flight, sent, growth, slow_start = 50, 0, 0, 0, True
    round_end = delivered = marked = count = 0
    reduction = None  # (window before, after, segments acknowledged since, where it ends)

    def at(time, what, of=None):
        nonlocal order
        order += 1
        heapq.heappush(events, (time, order, what, of))

    def transmit(now):
        nonlocal busy, count
        if busy or not queue:
            return
        _, number = queue.popleft()
        twice = [dice.random() * CERTAIN <= probability for _ in range(2)]
        is_marked = len(queue) >= 2 and all(twice)
        count += is_marked and now > FROM
        busy = True
        at(now + SEND, "sent")
        at(now + SEND + rtt, "ack", (number, is_marked))

    def fill(now):
        nonlocal in_flight, sent
        while in_flight < window:
            queue.append((now, sent))
            in_flight, sent = in_flight + 1, sent + 1
        transmit(now)

    at(0.016, "update")
    fill(0.0)
    while events:
        now, _, what, of = heapq.heappop(events)
        if now > UNTIL:
            break
        if what == "sent":
            busy = False
            transmit(now)
        elif what == "update":
            delay = now - queue[0][0] if queue else 0.0
            change = int((delay - 0.015) * 1e9) * 44 + int((delay - last) * 1e9) * 879
            probability = min(max(probability + int(change / 64), 0), CERTAIN)
            last = delay
            at(now + 0.016, "update")
        else:
            number, is_marked = of
            in_flight, delivered, marked = in_flight - 1, delivered + 1, marked + is_marked
            if number >= round_end:
                rule.observe(marked, delivered)
                round_end, delivered, marked = sent, 0, 0
            if reduction and number + 1 >= reduction[3]:
                window, reduction = reduction[1], None
            elif reduction:
                old, new, acked, end = reduction
                reduction = (old, new, acked + 1, end)
                window = max(new, old - (old - new) * (acked + 1) // old)
            if reduction is None and is_marked:
                reduction = (window, max(window - rule.cut(window), 2), 0, sent)
                slow_start = False
            elif reduction is None:
                growth += 1
                if slow_start or growth >= window:
                    window, growth = window + 1, 0
            fill(now)
    return count * 10 / (UNTIL - FROM)


if __name__ == "__main__":
    for rtt in (0.010, 0.020):
        for rule in (Rfc8257, LinuxCut, LinuxEnd, Linux):
            found = [marks(rule(), rtt, seed) for seed in range(4)]
            print(f"{rtt * 1000:.0f} ms {rule.__name__:9}", *(f"{n:.0f}" for n in found))
