"""The congestion window of Reno, CUBIC and BBR over one bottleneck, and the queue it makes."""

# %%
import polars as pl

import sojourn

line = sojourn.Scenario("sawtooth", duration="40s", sample="100ms")
line.dumbbell(rtt="50ms", rate="10mbit", qdisc="pfifo limit 100")
line.flow("upload", direction="up", app="bulk")

# Series are kept on request only.
results = sojourn.sweep(line, {"flow.upload.tcp.cc": ["reno", "cubic", "bbr"]}, series=True)
windows = results.series("cwnd").to_polars().filter(name="upload")
queue = results.series("backlog").to_polars().filter(name="up")
table = windows.group_by("flow.upload.tcp.cc", maintain_order=True).agg(
    pl.col("value").max().alias("largest window"), pl.col("value").mean().alias("mean window")
)
print(table)
# 10 Mbit/s over 50 ms are 43 segments of 1448 bytes; the queue holds 100 packets more.
assert table.filter(pl.col("flow.upload.tcp.cc") == "reno")["largest window"].item() > 100

# %%
import matplotlib.pyplot as plt

figure, (above, below) = plt.subplots(2, sharex=True, figsize=(8, 6), layout="constrained")
above.set_ylabel("window in segments")
below.set(xlabel="s", ylabel="backlog in packets")
for axes, series in [(above, windows), (below, queue)]:
    for (cc,), part in series.group_by("flow.upload.tcp.cc", maintain_order=True):
        axes.plot(part["t_s"], part["value"], label=cc)
above.legend()
figure.savefig("sawtooth.png", dpi=100)
