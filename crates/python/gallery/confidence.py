"""How many seeds does a difference take? Means over seeds with their 95 % intervals.

The runs are spread over processes and kept, so that a script that is run again, or was killed,
runs only what it lacks. A Dask cluster takes the place of the processes as
`executor=client.get_executor()`.
"""

# %%
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import matplotlib.pyplot as plt
import polars as pl

import sojourn

line = sojourn.Scenario("confidence", duration="20s", warmup="5s")
line.dumbbell(rtt="40ms", rate="10mbit")
line.flow("upload", direction="up", app="bulk", count=4, start_spread="2s")
line.flow("probe", direction="up", app="ping")
axes = {"dumbbell.qdisc": ["pie", "codel"]}

# %%
if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        results = sojourn.sweep(line, axes, seeds=16, executor=executor, keep="kept")
    delay = pl.col("induced_rtt_ms_p50")
    for seeds in [2, 4, 8, 16]:
        some = results.runs.to_polars().filter(pl.col("seed") <= seeds)
        table = some.group_by("dumbbell.qdisc", maintain_order=True).agg(
            delay.mean().alias("mean"), (1.96 * delay.std() / seeds**0.5).alias("interval")
        )
        for (queue, mean, interval), colour in zip(table.rows(), ["C0", "C1"], strict=True):
            print(f"{seeds:2} seeds  {queue:5}  {mean:5.2f} ± {interval:.2f} ms")
            label = queue if seeds == 2 else None
            plt.errorbar(str(seeds), mean, interval, fmt="o", capsize=4, color=colour, label=label)
    plt.xlabel("seeds")
    plt.ylabel("median induced RTT in ms")
    plt.ylim(bottom=0)
    plt.legend()
    plt.savefig("confidence.png")
    assert len(results) == 32
    pie, codel = table["mean"]
    assert pie > codel
