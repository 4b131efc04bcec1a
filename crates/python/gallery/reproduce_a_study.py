"""A claim of a published study, reproduced, and the figure that it is about.

`sojourn.studies()` lists the studies; without `claims` all of a study's claims are evaluated.
"""

# %%
import matplotlib.pyplot as plt

import sojourn

for name, title in sojourn.studies().items():
    print(f"{name:15} {title}")
found = sojourn.reproduce("codel-red", claims=["R1"], seeds=3)
for claim in found.claims:
    print(claim["id"], claim["status"], "-", claim["statement"])
    print("   published:", claim["published"])
    print("   ours:     ", claim["ours"])
assert found.count("published") == 1

# %%
links = found.results.links.to_pandas().query("link == 'up'")
links["queue"] = links["dumbbell.qdisc"].astype(str).str.split().str[0]
delay = links.pivot_table(index="flow.ftp.count", columns="queue", values="sojourn_ms_mean")
print(delay.round(1))
delay.plot(marker="o", xlabel="number of flows", ylabel="mean queueing delay in ms")
plt.savefig("reproduce_a_study.png")
found.write("codel-red")  # report.html with the study's figures, claims.json, results.parquet
