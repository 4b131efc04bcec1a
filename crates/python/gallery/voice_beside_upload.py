"""A call beside an upload: what the queue does to its mouth-to-ear quality."""

# %%
import matplotlib.pyplot as plt

import sojourn

line = sojourn.Scenario("voice", duration="40s", warmup="10s")
line.dumbbell(rtt="30ms", up={"rate": "2mbit"}, down={"rate": "20mbit"})
line.flow("upload", direction="up", app="bulk", start="5s")
line.flow("call", direction="up", app="voip", deadline="150ms")

queues = ["pfifo limit 200", "codel", "pie", "fq_codel", "cake"]
results = sojourn.sweep(line, {"dumbbell.up.qdisc": queues})

# %%
calls = results.flows.to_pandas().query("flow == 'call'").set_index("dumbbell.up.qdisc")
print(calls[["delay_ms_p50", "delay_ms_p95", "loss_ratio", "late_ratio"]].round(3))
results.plot.cdf("delay_ms", name="call").set_xscale("log")
plt.tight_layout()
plt.savefig("voice_beside_upload.png")
assert calls.loc["pfifo limit 200", "late_ratio"] > 0.5 > 0.01 > calls.loc["fq_codel", "late_ratio"]
