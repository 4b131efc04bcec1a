"""Two flows with different paths: who gets how much, behind a FIFO and behind flow queues."""

# %%
import matplotlib.pyplot as plt

import sojourn

line = sojourn.Scenario("rtt-fairness", duration="60s", warmup="20s")
line.dumbbell(rtt="20ms", rate="20mbit")
line.flow("near", direction="up", app="bulk", rtt="20ms")
line.flow("far", direction="up", app="bulk", rtt="100ms")

axes = {"dumbbell.qdisc": ["pfifo limit 100", "codel", "fq_codel"], "tcp.cc": ["reno", "cubic"]}
results = sojourn.sweep(line, axes, seeds=3)

# %%
goodput = results.flows.to_pandas().pivot_table(
    index=["dumbbell.qdisc", "tcp.cc"], columns="flow", values="goodput_bps", aggfunc="mean"
)
goodput["near / far"] = goodput["near"] / goodput["far"]
mbps = goodput[["near", "far"]] / 1e6
print(mbps.round(2).join(goodput["near / far"].round(2)))
mbps.plot.barh(xlabel="goodput in Mbit/s", ylabel="")
plt.gca().invert_yaxis()
plt.tight_layout()
plt.savefig("rtt_fairness.png")
assert goodput.loc["fq_codel", "near / far"].max() < 1.5
assert goodput.loc["pfifo limit 100", "near / far"].loc["reno"] > 2
