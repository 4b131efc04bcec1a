#!/usr/bin/env python3
"""A real DASH player behind real queues: dash.js in Chromium, lighttpd, the live bridge.

    scripts/dash/run.py [--seconds N] [--players 2.0.0,5.2.1] [--links 12/1,4/1] [--queues FIFO,PIE]
        [PROGRAM]

For each player, link and queue manager one live run of scenarios/dash.toml: sojourn's own hosts
make the cross traffic in real time, a lighttpd on the servers' side serves the chunks, a
headless Chromium on the clients' side plays them. What the player did is read from its console.
Everything runs in network and process namespaces of the run and ends with it. Writes
out/dash/results.json and out/dash/report.html and prints a table.
"""
import argparse
import html
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import video

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OUT = ROOT / "out" / "dash"
SCENARIO = ROOT / "scenarios" / "dash.toml"
PORT = 8080
# The study's, and today's, as in package.json and player.html.
PLAYERS = ["2.0.0", "5.2.1"]
# As the study has them.
QUEUES = {
    "FIFO": "pfifo limit 490",
    "PIE": "pie limit 1000",
    "FQ-CoDel": "fq_codel limit 1000 noecn",
    "FQ-PIE": "fq_pie limit 1000",
}
# The first seconds do not count: the player starts, queues fill.
SETTLE_S = 15

LIGHTTPD = """
server.port = {port}
server.document-root = "{root}"
server.modules = ("mod_setenv")
server.max-keep-alive-requests = 100000
mimetype.assign = (".mpd" => "application/dash+xml", ".mp4" => "video/mp4", ".m4s" => "video/mp4")
setenv.add-response-header = ("Access-Control-Allow-Origin" => "*", "Timing-Allow-Origin" => "*",
    "Access-Control-Expose-Headers" => "*", "Cache-Control" => "no-store")
"""

# As the study: the server's TCP is NewReno. lighttpd takes the system's.
SERVER = """
sysctl -q net.ipv4.tcp_congestion_control=reno
exec lighttpd -D -f {config} > {log} 2>&1
"""

CLIENT = """
until curl -s -o /dev/null http://198.19.0.1:{port}/{manifest}; do sleep 0.2; done
exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --mute-audio \\
    --no-first-run --disable-background-networking --disable-component-update --disable-sync \\
    --autoplay-policy=no-user-gesture-required --allow-file-access-from-files \\
    --user-data-dir={profile} --enable-logging=stderr --v=0 \\
    'file://{page}?player={player}&mpd=http://198.19.0.1:{port}/{manifest}' > {log} 2>&1
"""


def prepare(seconds):
    """Player and video, each once; both are kept in out/."""
    player = OUT / "player"
    player.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "player.html"):
        shutil.copy(HERE / name, player / name)
    if not (player / "node_modules" / "dashjs-2.0.0").exists():
        print("dash: installing dash.js", file=sys.stderr)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"],
                       cwd=player, check=True)
    print("dash: making the video", file=sys.stderr)
    manifest = video.make(str(OUT / "video"), seconds)
    return player / "player.html", os.path.basename(manifest)


def play(program, page, manifest, player, link, queue, seconds):
    """One run; returns what the player did."""
    down, up = link.split("/")
    folder = OUT / f"{player}-{down}-{up}-{queue}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config, log = folder / "lighttpd.conf", folder / "player.log"
    config.write_text(LIGHTTPD.format(port=PORT, root=OUT / "video"))
    server = SERVER.format(config=config, log=folder / "server.log")
    client = CLIENT.format(port=PORT, manifest=manifest, page=page, player=player, log=log,
                           profile=folder / "profile")
    command = [program, "run", SCENARIO, "--world", "live", "--out", folder,
               "--set", f"duration={seconds}s", "--set", f"warmup={SETTLE_S}s",
               "--set", f"dumbbell.down.rate={down}mbit", "--set", f"dumbbell.up.rate={up}mbit",
               "--set", f"dumbbell.qdisc={QUEUES[queue]}",
               "--server-command", server, "--client-command", client]
    if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit("dash: the run failed, for the reason above")
    shutil.rmtree(folder / "profile", ignore_errors=True)
    return read(log, seconds) | {"link": link, "queue": queue}


def events(log):
    """The player's lines among what the browser says."""
    for line in log.read_text(errors="replace").splitlines():
        start = line.find("DASH {")
        if start >= 0:
            yield json.JSONDecoder().raw_decode(line[start + 5:].replace('\\"', '"'))[0]


def read(log, seconds):
    """AR, RR and stalls of a run."""
    chunks, stalls, stalled, since, player, started = [], 0, 0.0, None, None, None
    for event in events(log):
        kind = event["event"]
        if kind == "playing" and started is None:
            started = round(event["t"], 1)
        if kind == "opened":
            player = event["player"]
        elif kind == "chunk":
            chunks.append(event)
        elif kind == "waiting" and event["media"] > 0:
            stalls, since = stalls + 1, event["t"]
        elif kind in ("playing", "ended") and since is not None:
            stalled, since = stalled + event["t"] - since, None
        elif kind == "error":
            print(f"dash: {log}: the player failed: {event}", file=sys.stderr)
    if since is not None:
        stalled += max(seconds - since, 0.0)
    if player is None:
        sys.exit(f"dash: the player did not start; {log} says why")
    settled = [chunk for chunk in chunks if chunk["t"] > SETTLE_S]
    return {
        "player": f"dash.js {player}",
        "chunks": len(chunks),
        "ar_kbps": quartiles([c["bytes"] * 8e-3 / c["seconds"] for c in settled]),
        "rr_kbps": quartiles([video.RATES[c["rate"]] for c in settled]),
        "started_s": started,
        "stalls": stalls,
        "stalled_s": round(stalled, 1),
        "each": chunks,
    }


def quartiles(values):
    """25th percentile, median and 75th; none of nothing."""
    if len(values) < 2:
        return [round(v) for v in values * 3] or None
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return [round(low), round(middle), round(high)]


def claims(results):
    """H10 and H11 of the study for one player, as far as these runs hold them."""
    found = {(r["link"], r["queue"]): r for r in results}
    player = results[0]["player"]

    def median(link, queue, what):
        run = found.get((link, queue))
        return run and run[what] and run[what][1]

    fair = ("FQ-CoDel", "FQ-PIE")
    checks = [("H10", "12/1", f"{q}: AR above 4 Mbit/s most of the time", q, "ar_kbps",
               lambda v: v > 4000) for q in fair]
    checks += [("H10", "12/1", "PIE: RR mostly below 1 Mbit/s", "PIE", "rr_kbps",
                lambda v: v < 1000)]
    checks += [("H11", "4/1", f"{q}: AR about 1.5 Mbit/s (1.2 to 1.8)", q, "ar_kbps",
                lambda v: 1200 <= v <= 1800) for q in fair]
    checks += [("H11", "4/1", f"{q}: RR steadily about 1.24 Mbit/s (1.0 to 1.5)", q, "rr_kbps",
                lambda v: 1000 <= v <= 1500) for q in fair]
    checks += [("H11", "4/1", "PIE: RR about 0.5 Mbit/s (0.3 to 0.8)", "PIE", "rr_kbps",
                lambda v: 300 <= v <= 800)]
    for claim, link, words, queue, what, holds in checks:
        value = median(link, queue, what)
        if value is not None:
            yield player, claim, link, words, value, holds(value)
    medians = {q: median("12/1", q, "rr_kbps") for q in QUEUES}
    if all(v is not None for v in medians.values()):
        worst = medians["FIFO"] <= min(medians.values())
        yield player, "H10", "12/1", "FIFO is the worst in RR", medians["FIFO"], worst


HEAD = ["player", "link", "queue", "chunks", "AR kbit/s p25 p50 p75", "RR kbit/s p25 p50 p75",
        "started s", "stalls", "stalled s"]


def row(result):
    def three(values):
        return " ".join(f"{v:6d}" for v in values) if values else "-"
    return [result["player"], result["link"], result["queue"], str(result["chunks"]),
            three(result["ar_kbps"]),
            three(result["rr_kbps"]), str(result["started_s"] or "never"), str(result["stalls"]),
            str(result["stalled_s"])]


def show(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    for cells in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())


def report(results, judged, seconds):
    """A page of its own, without scripts."""
    def table(rows):
        cells = ["".join(f"<td>{html.escape(str(c))}</td>" for c in r) for r in rows]
        return "<table>" + "".join(f"<tr>{c}</tr>" for c in cells) + "</table>"
    verdicts = [[player, c, link, words, value, "holds" if ok else "does not hold"]
                for player, c, link, words, value, ok in judged]
    (OUT / "report.html").write_text(f"""<!doctype html><meta charset="utf-8">
<title>A real DASH player behind four queue managers</title>
<style>body {{ font: 15px sans-serif; margin: 2em }} td {{ padding: 2px 12px; white-space: pre }}
tr:first-child {{ font-weight: bold }}</style>
<h1>A real DASH player behind four queue managers</h1>
<p>dash.js in headless Chromium, chunks of 2 s at twenty rates from
lighttpd, sojourn's live bridge and live cross traffic; one run of {seconds} s each, the first
{SETTLE_S} s left out. AR: bytes of a chunk over the time of its fetch; RR: the rate asked for.</p>
{table([HEAD] + [row(r) for r in results])}
<h2>Claims</h2>
{table([["player", "claim", "link", "statement", "median kbit/s", "here"]] + verdicts)}
""")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", default=str(ROOT / "target/release/sojourn"))
    parser.add_argument("--seconds", type=int, default=120, help="length of each run")
    parser.add_argument("--players", default=",".join(PLAYERS), help="of " + ", ".join(PLAYERS))
    parser.add_argument("--links", default="12/1,4/1", help="down/up in Mbit/s")
    parser.add_argument("--queues", default=",".join(QUEUES), help="of " + ", ".join(QUEUES))
    args = parser.parse_args()
    if args.seconds <= SETTLE_S:
        parser.error(f"--seconds must be above the {SETTLE_S} s that are left out")
    choices = (("queue", args.queues, QUEUES), ("player", args.players, PLAYERS))
    for what, given, known in choices:
        unknown = [name for name in given.split(",") if name not in known]
        if unknown:
            parser.error(f"no {what} {unknown[0]!r}; there are {', '.join(known)}")
    # Longer than any run, so that the video does not end.
    page, manifest = prepare(2 * (args.seconds // 2 + 30))
    results, judged = [], []
    for player in args.players.split(","):
        runs = []
        for link, queue in itertools.product(args.links.split(","), args.queues.split(",")):
            print(f"dash: dash.js {player}, {link} Mbit/s, {queue}, {args.seconds} s",
                  file=sys.stderr, flush=True)
            runs.append(play(args.program, page, manifest, player, link, queue, args.seconds))
        results += runs
        judged += claims(runs)
    (OUT / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    report(results, judged, args.seconds)
    show([HEAD] + [row(result) for result in results])
    for player, claim, link, words, value, holds in judged:
        verdict = "holds" if holds else "does not hold"
        print(f"{player}, {claim} {link}: {words}: {value} kbit/s, {verdict}")
    print(f"Report: {(OUT / 'report.html').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
