"""How long a ping waits behind one upload, by the size of the buffer.

The rule of thumb wants a bandwidth-delay product of buffer for one flow. More of it buys no
goodput, only delay; an AQM takes the delay away whatever the buffer.
"""

# %%
import polars as pl

import sojourn

line = sojourn.Scenario("bufferbloat", duration="30s", warmup="10s")
line.dumbbell(rtt="50ms", up={"rate": "5mbit"}, down={"rate": "50mbit"})
line.flow("upload", direction="up", app="bulk")
line.flow("probe", direction="up", app={"kind": "ping", "interval": "50ms"})

packets = [5, 10, 20, 40, 80, 160, 320, 640]
queues = [f"{kind} limit {limit}" for kind in ["pfifo", "codel"] for limit in packets]
results = sojourn.sweep(line, {"dumbbell.up.qdisc": queues})

# %%
runs = results.runs.to_polars().with_columns(
    pl.col("dumbbell.up.qdisc").cast(str).str.extract(r"^(\w+)").alias("queue"),
    pl.col("dumbbell.up.qdisc.limit").alias("limit"),
)
table = runs.select("queue", "limit", "goodput_bps", "induced_rtt_ms_p50", "induced_rtt_ms_p95")
print(table)

longest = table.filter(limit=640).sort("queue")["induced_rtt_ms_p50"].to_list()
assert longest[0] < 15 < 500 < longest[1], "CoDel, then the FIFO"

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for (queue,), part in table.group_by("queue", maintain_order=True):
    axes.loglog(part["limit"], part["induced_rtt_ms_p50"], "o-", label=queue)
axes.set(xlabel="limit in packets", ylabel="median induced RTT in ms", title="One upload, 5 Mbit/s")
axes.legend()
figure.savefig("bufferbloat.png", dpi=100)
