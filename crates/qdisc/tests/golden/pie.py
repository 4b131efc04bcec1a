"""PIE's probability over 220 updates of 15 ms.

Source: RFC 8033 section 4.2 (control law and scaling table) and 5.5 (cap of 2 %); the decay of
1/64 per idle update and 2 % more above 250 ms, and no upper bound, as in Linux. Defaults: target 15 ms, alpha 1/8 Hz,
beta 1 1/4 Hz. The delay is what the last departure before each update measured; the queue is
empty at the updates whose delay is zero. With the argument `dummynet` as FreeBSD's dummynet: no more
than the controller's step above 250 ms, and one at most.
"""

import sys

DUMMYNET = "dummynet" in sys.argv[1:]


def delay_ms(k):
    if k < 10:
        return 20            # just above the target: small probabilities, small steps
    if k < 30:
        return 20 + 8 * (k - 10)  # growing: the trend counts
    if k < 45:
        return 180           # standing
    if k < 55:
        return 300           # above 250 ms
    if k < 75:
        return 60 - 2 * (k - 55)
    if k < 80:
        return 10
    if k < 120:
        return 0             # idle: decay
    if k < 170:
        return 400           # far above: the probability exceeds one
    return 0


def main():
    p, old = 0.0, 0.0
    print("update,delay_ms,probability")
    for k in range(220):
        current = delay_ms(k) / 1000
        step = 0.125 * (current - 0.015) + 1.25 * (current - old)
        for bound, divisor in ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32),
                               (1e-2, 8), (1e-1, 2)):
            if p < bound:
                step /= divisor
                break
        if p >= 0.1 and step > 0.02:
            step = 0.02
        if current > 0.25 and not DUMMYNET:
            step += 0.02
        p = max(0.0, p + step)
        if current == 0 and old == 0:
            p *= 1 - 1 / 64
        if DUMMYNET:
            p = min(p, 1.0)
        old = current
        print(f"{k},{delay_ms(k)},{p:.15g}")


main()
