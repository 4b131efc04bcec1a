"""Which queue keeps a ping shortest where: over rates and path lengths.

A comparison at one rate says little about another. A sweep of three queues over rates and
round-trip times shows where each of them has the lowest latency, and by how much.
"""

# %%
import sojourn

line = sojourn.Scenario("where", duration="20s", warmup="5s")
line.dumbbell(rtt="40ms", up={"rate": "5mbit"}, down={"rate": "20mbit"})
line.flow("download", direction="down", app="bulk", count=2, start_spread="1s")
line.flow("probe", direction="up", app={"kind": "ping", "interval": "20ms"})
results = sojourn.sweep(
    line,
    {
        "dumbbell.down.qdisc": ["codel", "pie", "pfifo limit 50"],
        "dumbbell.down.rate": ["2mbit", "5mbit", "20mbit", "50mbit"],
        "dumbbell.rtt": ["10ms", "40ms", "160ms"],
    },
)

# %%
import matplotlib.pyplot as plt

x, y = "dumbbell.down.rate_bps", "dumbbell.rtt_ms"
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
results.plot.winners(x, y, value="induced_rtt_ms_p95", ax=left)
results.plot.winners(x, y, value="goodput_bps", most=True, ax=right)
figure.savefig("which_queue_where.png", dpi=100)

# %%
p95 = results.to_xarray()["induced_rtt_ms_p95"].max("seed")
lowest = p95.min("dumbbell.down.qdisc")
for queue in ["codel", "pie", "pfifo limit 50"]:
    each = p95.sel({"dumbbell.down.qdisc": queue})
    best = int((each == lowest).sum())
    low, high = float(each.min()), float(each.max())
    print(f"{queue:15} {low:5.1f} to {high:5.1f} ms, best in {best} of 12")
assert float(lowest.max()) < 100, "some queue is good everywhere"
