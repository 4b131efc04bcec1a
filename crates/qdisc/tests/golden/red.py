"""RED's average and the fate of every arrival.

Source: Floyd and Jacobson 1993, figure 2 (average, idle time); Linux `red_action` (the distance between
drops is drawn once, from the first packet over min on, and held to the probability of each packet);
the gentle slope between max and 2 max (Floyd 2000). Thresholds in packets: min 5, max 15,
limit 35, weight 0.02, max_p 0.1, mean packet 1000 bytes at 8 Mbit/s (1 ms). Packets of 1000 bytes
arrive every 0.9 ms for 400 packets, then in bursts of 30 every 40 ms (the queue idles between
them), then every 0.3 ms (overload: the gentle slope), then after 1 s
300 at every 10 us (tail and forced drops). One leaves every 1 ms at most, and the link asks for
the next at the same pace.
Dice: stream "red" of seed 7.
"""

from dice import Stream

MIN, MAX, LIMIT, W, MAXP = 5, 15, 35, 0.02, 0.1
S_NS = 1_000_000


def arrivals():
    t = 0
    for _ in range(400):
        yield t
        t += 900_000
    for burst in range(10):
        for i in range(30):
            yield t + burst * 40_000_000 + i * 10_000
    t += 10 * 40_000_000
    for _ in range(600):
        yield t
        t += 300_000
    t += 1_000_000_000
    for _ in range(300):
        yield t
        t += 10_000


def main():
    dice = Stream(7, "red")
    queue, avg, count, drawn, idle_since = 0, 0.0, -1, None, None
    departure = 1_000_000
    print("time_ns,average,fate")
    for now in arrivals():
        while departure <= now:
            if queue:
                queue -= 1
            elif idle_since is None:
                idle_since = departure
            departure += S_NS
        if queue == 0 and idle_since is not None:
            avg *= (1 - W) ** ((now - idle_since) / S_NS)
        else:
            avg += W * (queue - avg)
        idle_since = None
        fate = "pass"
        if MIN <= avg < 2 * MAX:
            count += 1
            if avg < MAX:
                pb = MAXP * (avg - MIN) / (MAX - MIN)
            else:
                pb = MAXP + (1 - MAXP) * (avg - MAX) / MAX
            if count == 0:
                drawn = dice.unit()
            elif count * pb >= drawn:
                fate, count, drawn = "early", 0, dice.unit()
        elif avg >= 2 * MAX:
            fate, count = "forced", -1
        else:
            count = -1
        if fate == "pass":
            if queue < LIMIT:
                queue += 1
            else:
                fate = "tail"
        print(f"{now},{avg:.12g},{fate}")


main()
