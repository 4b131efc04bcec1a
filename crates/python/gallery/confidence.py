"""How many seeds does a difference take? Means over seeds with their 95 % intervals.

The runs are spread over processes and kept, so that a script that is run again, or was killed,
runs only what it lacks. A Dask cluster takes the place of the processes as
`executor=client.get_executor()`.
"""

# %%
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

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
    for seeds in [2, 4, 8, 16]:
        some = results.runs.to_polars().filter(pl.col("seed") <= seeds)
        delay = pl.col("induced_rtt_ms_p50")
        table = some.group_by("dumbbell.qdisc", maintain_order=True).agg(
            delay.mean().alias("mean"), (1.96 * delay.std() / seeds**0.5).alias("interval")
        )
        print(seeds, table.rows())
    assert len(results) == 32
    pie, codel = table["mean"]
    assert pie > codel
