"""A claim of a published study, reproduced, and the figure that it is about.

`sojourn.studies()` lists the studies; without `claims` all of a study's claims are evaluated.
"""

# %%
import sojourn

print(sojourn.studies())
found = sojourn.reproduce("codel-red", claims=["R1"], seeds=3)
for claim in found.claims:
    print(claim["id"], claim["status"], "-", claim["statement"])
    print("   published:", claim["published"])
    print("   ours:     ", claim["ours"])
assert found.count("published") == 1

# %%
runs = found.results.runs.to_polars()
print(runs.select(runs.columns[:8]).head())
found.write("codel-red")  # report.html with the study's figures, claims.json, results.parquet
