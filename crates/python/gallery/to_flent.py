"""A run in Flent's own plots: twelve uploads and a ping, as Flent's test `tcp_nup`.

Open the files with `flent-gui`, or plot them with `flent -i FILE -p totals -o totals.png`.
"""

# %%
import sojourn

line = sojourn.Scenario("nup", duration="30s", sample="200ms")
line.dumbbell(rtt="40ms", rate="10mbit")
line.flow("upload", direction="up", app="bulk", count=12, start="5s")
line.flow("ping", direction="up", app={"kind": "ping", "interval": "200ms"})

axes = {"dumbbell.qdisc": ["pfifo limit 200", "fq_codel"]}
results = sojourn.sweep(line, axes, series=True)
files = results.to_flent("flent")
print("\n".join(files))
assert len(files) == 2
