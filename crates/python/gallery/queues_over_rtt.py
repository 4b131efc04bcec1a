"""Five queues over path lengths from 5 to 320 ms: delay and utilisation."""

# %%
import polars as pl

import sojourn

line = sojourn.Scenario("queues-over-rtt", duration="30s", warmup="10s")
line.dumbbell(rtt="50ms", rate="20mbit")
line.flow("upload", direction="up", app="bulk", count=2)
line.flow("probe", direction="up", app="ping")

queues = ["pfifo limit 1000", "codel", "pie", "fq_codel", "cake"]
rtts = [f"{rtt}ms" for rtt in [5, 20, 80, 320]]
results = sojourn.sweep(line, {"dumbbell.qdisc": queues, "dumbbell.rtt": rtts})

# %%
up = results.links.to_polars().filter(link="up")
both = up.join(results.runs.to_polars(), on=["cell", "seed"], suffix="_run")
table = both.select("dumbbell.qdisc", "dumbbell.rtt_ms", "utilisation", "induced_rtt_ms_p50")
print(table.pivot("dumbbell.rtt_ms", index="dumbbell.qdisc", values="induced_rtt_ms_p50"))
print(table.pivot("dumbbell.rtt_ms", index="dumbbell.qdisc", values="utilisation"))

fair = table.filter(pl.col("dumbbell.qdisc").is_in(["fq_codel", "cake"]))
assert fair["induced_rtt_ms_p50"].max() < 5, "a probe waits for no other flow's queue"

# %%
import matplotlib.pyplot as plt

figure, (delay, use) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for (queue,), part in table.group_by("dumbbell.qdisc", maintain_order=True):
    delay.loglog(part["dumbbell.rtt_ms"], part["induced_rtt_ms_p50"], "o-")
    use.semilogx(part["dumbbell.rtt_ms"], part["utilisation"] * 100, "o-", label=queue)
delay.set(xlabel="RTT of the path in ms", ylabel="median induced RTT in ms")
use.set(xlabel="RTT of the path in ms", ylabel="utilisation in %")
use.legend(loc="lower left")
figure.savefig("queues_over_rtt.png", dpi=100)
