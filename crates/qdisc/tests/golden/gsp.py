"""GSP's drops and pauses, from the formulas of Lautenschlaeger and Francini (2015) with a delay threshold.

One arrival a millisecond; the head's wait is given by phases. Overflow happens at 9000 ms.
Columns: time (ms) of each drop, cumul (ns) then, pause that it starts (ns).
"""
from fractions import Fraction

MS = 1_000_000
T0, TAU, ALPHA, THRESHOLD, LEAST = 200 * MS, 1000 * MS, 2, 5 * MS, 1 * MS
MAX = TAU * (T0 - LEAST) // LEAST


def wait(ms):
    """The head's wait (ns) at this arrival: phases of above, below, exactly at, above, below."""
    if ms < 100:
        return 0
    if ms < 3100:
        return 6 * MS
    if ms < 4100:
        return 4 * MS
    if ms < 5100:
        return 5 * MS
    if ms < 9000:
        return 5 * MS + 1
    if ms < 10000:  # draining after the overflow, still not empty
        return 1 * MS
    if ms < 11000:  # empty at 10000
        return 0
    if ms < 12000:
        return 7 * MS
    if ms < 13000:
        return 3 * MS
    return 7 * MS


cumul, expiry, before, stable, was_empty = Fraction(0), -1, 0, True, False
print("ms,cumul,pause")
for ms in range(14000):
    now = ms * MS
    if before > THRESHOLD:
        cumul += ALPHA * MS
    elif before < THRESHOLD and stable:
        cumul -= MS
    cumul = min(max(cumul, Fraction(0)), Fraction(MAX))
    before = wait(ms)
    if ms == 9000:
        stable, was_empty = False, False
    if not stable and before == 0:
        was_empty = True
    if not stable and was_empty and before > THRESHOLD:
        stable = True
    if ms != 9000 and before > THRESHOLD and now > expiry:
        pause = T0 / (1 + cumul / TAU)
        expiry = now + int(pause)
        print(f"{ms},{cumul},{int(pause)}")
