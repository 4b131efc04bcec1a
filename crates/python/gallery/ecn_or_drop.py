"""What ECN changes: marks in place of drops, the same delay, no retransmissions."""

# %%
import sojourn

line = sojourn.Scenario("ecn", duration="40s", warmup="10s")
line.dumbbell(rtt="40ms", rate="10mbit", qdisc="fq_codel")
line.flow("upload", direction="up", app="bulk", count=4)
line.flow("probe", direction="up", app="ping")

results = sojourn.sweep(line, {"tcp.ecn": [False, True]}, seeds=3)

# %%
links = results.links.to_pandas().query("link == 'up'")
flows = results.flows.to_pandas().query("app == 'bulk'")
table = links.groupby("tcp.ecn")[["dropped_packets", "marked_packets", "sojourn_ms_p50"]].mean()
table["retransmitted"] = flows.groupby("tcp.ecn")["retransmitted_packets"].sum()
table["goodput_bps"] = flows.groupby("tcp.ecn")["goodput_bps"].mean()
print(table.round(2).T)
assert table.loc["true", "retransmitted"] == 0 < table.loc["false", "retransmitted"]
assert table.loc["true", "marked_packets"] > 0 == table.loc["false", "marked_packets"]
