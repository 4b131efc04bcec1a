"""ADTH's limits, factors and drops, from the pseudo-code with its MIN and MAX put right, by a timer.

A server takes packets one after another; service times, sizes and arrivals come in phases.
Rows: "limit,time(ns),limit,factor" at each departure where they have changed; "drop,time,id".
"""
from fractions import Fraction
import sys

MS = 1_000_000
TARGET, SAMPLING, MIN, MAX = 100 * MS, 25 * MS, 2, 400
FMIN, FMAX = Fraction(1, 4), Fraction(1)
FULL_HEAD, DROP_HEAD = [word == "head" for word in (sys.argv[1:] + ["head", "tail"])[:2]]


def gap(ms):
    """Between arrivals (ns): light, heavy, silence, heavy, moderate."""
    if ms < 500:
        return 9 * MS
    if ms < 2000:
        return 1_700_003
    if ms < 2400:
        return None
    if ms < 3500:
        return 1_100_007
    return 2_900_001


def service(n, ms):
    """Of the n-th packet served (ns)."""
    slow = 3 if 2800 <= ms < 3100 else 1
    if 3100 <= ms < 3115:
        return 180 * MS  # longer than several intervals
    return slow * (2 * MS + (n * 7919 % 1000) * 1001)


queue, arrivals, busy, served = [], [], None, 0
t, ident = 0, 0
while t < 4500 * MS:
    g = gap(t // MS)
    if g is None:
        t = 2400 * MS
        continue
    arrivals.append((t, ident, 200 + ident * 37 % 1200))
    t, ident = t + g, ident + 1

f, limit = Fraction(1), MAX
packets = size = 0
mac, nodal = [], []
last, largest = None, None
received = refused = False
timer = SAMPLING
said = None


def drop(now, at_head):
    print(f"drop,{now},{queue.pop(0 if at_head else -1)[1]}")


def tick(now):
    global f, limit, packets, size, mac, nodal, largest, received, refused
    if packets:
        mean_mac = Fraction(sum(mac), len(mac)) if mac else Fraction(0)
        mean_nodal = Fraction(sum(nodal), len(nodal)) if nodal else Fraction(0)
        allowed = max(TARGET - mean_mac, Fraction(0))
        throughput = Fraction(size, SAMPLING)
        estimate = allowed * throughput / Fraction(size, packets)
        b = (TARGET - mean_nodal) / TARGET
        f = max(FMIN, f + b) if mean_nodal >= TARGET else min(FMAX, f + b / 2)
        wanted = min(MAX, max(MIN, int(f * estimate)))
        # Congestion: the limit follows the estimate. Without, it is the largest so far.
        slow = largest is not None and mean_mac * largest >= TARGET
        if mean_nodal >= TARGET or refused or len(queue) > wanted or slow:
            largest = max(largest or 0, wanted)
            limit = wanted
        else:
            limit = largest or MAX
    # Nothing left although packets wait: the last limit stays.
    if not received and not queue:
        limit = largest or MAX
    while len(queue) > limit:
        drop(now, DROP_HEAD)
    packets = size = 0
    mac, nodal = [], []
    received = refused = False


def serve(now):
    global busy, served, last, packets, size, said
    busy = None
    if not queue:
        return
    arrived, _, length = queue.pop(0)
    if last is not None and now > arrived:
        mac.append(now - last[0])
        nodal.append(now - last[0] + last[1])
    last = (now, now - arrived)
    packets, size = packets + 1, size + length
    if said != (limit, f):
        said = (limit, f)
        print(f"limit,{now},{limit},{float(f):.12f}")
    busy, served = now + service(served, now // MS), served + 1


print("what,time,a,b")
while arrivals or busy:
    # Interval first, then departure, then arrival.
    events = [(timer, 0)] + ([(busy, 1)] if busy else []) + ([(arrivals[0][0], 2)] if arrivals else [])
    now, kind = min(events)
    if kind == 0:
        tick(now)
        timer += SAMPLING
    elif kind == 1:
        serve(now)
    else:
        packet = arrivals.pop(0)
        received = True
        refused = refused or len(queue) >= limit
        if len(queue) < limit:
            queue.append(packet)
        elif FULL_HEAD:
            drop(now, True)
            queue.append(packet)
        else:
            print(f"drop,{now},{packet[1]}")
        if busy is None:
            serve(now)
