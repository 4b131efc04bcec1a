#!/usr/bin/env python3
"""CPU cost of our simulator beside ns-2, ns-3 and htsim on the same dumbbells and radios.

    python3 benches/peers/run.py [CASE...] [--rounds N] [--sojourn PROGRAM] [--json FILE]

Prints, for each case: processor nanoseconds per packet that the bottleneck sent (of radios:
processor microseconds per simulated second), simulated seconds per second of real time (one core),
and the first as a ratio to ours. Runs are interleaved
(A B C A B C) and medians compared, so that a machine that changes its speed is fair to all. A
simulator that is not installed is named and left out. htsim is fetched with git and compiled, once;
--htsim names a clone that is there. Every figure is the simulator's own account
of its run: set-up, parsing and writing results are not in it.

docs/benchmarks.md says what the cases are and how to read the peers' figures.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = HERE / "build"
NS3_HEADER = pathlib.Path("/usr/include/ns3/core-module.h")
NS3_MODULES = (
    "core", "network", "internet", "bridge", "stats", "traffic-control", "point-to-point",
    "applications",
)
# The code of others stays in the folder of builds: nothing of it is committed or passed on.
HTSIM = "https://github.com/Broadcom/csg-htsim"
HTSIM_COMMIT = "841d9e7"
GIT_CLONE = ["git", "clone", "--quiet", "--no-checkout", "--filter=blob:none"]
# Of its library what a TCP over FIFOs needs.
HTSIM_PARTS = (
    "config", "eth_pause_packet", "eventlist", "fairpullqueue", "loggers", "mtcp", "network",
    "pipe", "queue", "route", "tcp", "tcppacket", "trigger",
)
TIMEOUT_S = 3600


class Missing(Exception):
    """Why a simulator cannot take part."""


def last_json_line(text):
    lines = [line for line in text.splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(f"no JSON line in: {text[-400:]!r}")
    return json.loads(lines[-1])


def execute(command):
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]}: exit {done.returncode}: {done.stderr[-400:]}")
    return done.stdout


class Sojourn:
    name = "sojourn"

    def __init__(self, program, scenario, seconds, settings=()):
        if not pathlib.Path(program).exists():
            raise Missing(f"{program} is not built: make build")
        self.seconds = seconds
        self.command = [
            program, "run", str(ROOT / scenario), "--json", "--jobs", "1",
            "--set", f"duration={seconds}s",
        ]
        for setting in settings:
            self.command += ["--set", setting]

    def run(self):
        cost = json.loads(execute(self.command))["cells"][0]["cost"]
        return {
            "packets": cost["bottleneck_packets"],
            "cpu_s": cost["cpu_s"],
            "wall_s": cost["wall_s"],
            "peak_mib": cost["peak_rss_bytes"] / 2**20,
        }


class Ns2:
    name = "ns-2.35"

    def __init__(self, seconds, program="dumbbell.tcl", **options):
        if not shutil.which("ns"):
            raise Missing("not installed (Debian: ns2)")
        self.seconds = seconds
        flat = [str(x) for pair in options.items() for x in pair]
        self.command = ["ns", str(HERE / program), *flat, "duration", str(seconds)]

    def run(self):
        result = last_json_line(execute(self.command))
        return {key: result[key] for key in ("packets", "cpu_s", "wall_s", "peak_mib")}


class Ns3:
    name = "ns-3"

    def __init__(self, seconds, **options):
        self.seconds = seconds
        self.command = [self.program(), f"--duration={seconds}", "--eachFlow=0", "--collect=0"]
        self.command += [f"--{key}={value}" for key, value in options.items()]

    @staticmethod
    def program():
        """Compiles dumbbell.cc once; again when it has changed."""
        if not NS3_HEADER.exists() or not shutil.which("g++"):
            raise Missing("not installed (Debian: libns3-dev, g++)")
        source, program = HERE / "dumbbell.cc", BUILD / "dumbbell-ns3"
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            print("compiling dumbbell.cc against ns-3 ...", file=sys.stderr, flush=True)
            BUILD.mkdir(exist_ok=True)
            libraries = [f"-lns3-{module}" for module in NS3_MODULES]
            execute(["g++", "-O3", "-std=c++17", str(source), "-o", str(program), *libraries])
        return str(program)

    def run(self):
        result = last_json_line(execute(self.command))
        return {
            "packets": result["packets"],
            "cpu_s": result["user_s"] + result["sys_s"],
            "wall_s": result["wall_s"],
            "peak_mib": result["peak_mib"],
        }


class Htsim:
    name = "htsim"

    def __init__(self, seconds, clone, *words):
        self.seconds = seconds
        self.command = [self.program(clone), *map(str, words)]

    @staticmethod
    def program(clone):
        """Fetches htsim where no clone is named, and compiles htsim.cc with it once."""
        if not shutil.which("g++"):
            raise Missing("not compiled (Debian: g++)")
        BUILD.mkdir(exist_ok=True)
        if clone is None:
            clone = BUILD / "csg-htsim"
            if not clone.exists():
                print(f"fetching {HTSIM} ...", file=sys.stderr, flush=True)
                try:
                    # Without its traffic matrices, which are large.
                    execute([*GIT_CLONE, HTSIM, f"{clone}.new"])
                    wanted = ["--", "LICENSE", "sim/*.cpp", "sim/*.h"]
                    execute(["git", "-C", f"{clone}.new", "checkout", HTSIM_COMMIT, *wanted])
                except RuntimeError as error:
                    shutil.rmtree(f"{clone}.new", ignore_errors=True)
                    raise Missing(f"not fetched: {error}") from error
                pathlib.Path(f"{clone}.new").rename(clone)
        library = pathlib.Path(clone) / "sim"
        source, program = HERE / "htsim.cc", BUILD / "dumbbell-htsim"
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            print("compiling htsim.cc with htsim ...", file=sys.stderr, flush=True)
            # Its warnings are not ours; parts that nobody calls refer to some that are not here.
            options = ["-O3", "-std=c++17", "-w", "-ffunction-sections", "-Wl,--gc-sections"]
            parts = [str(library / f"{part}.cpp") for part in HTSIM_PARTS]
            execute(["g++", *options, f"-I{library}", str(source), *parts, "-o", str(program)])
        return str(program)

    def run(self):
        return last_json_line(execute(self.command))


def fast_case(gbit, flows, seconds, ns3_seconds, spread=0.1):
    """CUBIC flows, RTT 50 ms, tail drop at 2500 packets per Gbit/s; all start within `spread`."""
    buffer = 2500 * gbit
    scenario = f"scenarios/bench/{gbit}g-{flows}-cubic.toml"
    makers = [
        lambda opt: Sojourn(opt.sojourn, scenario, opt.seconds or seconds),
        lambda opt: Ns2(
            opt.seconds or seconds, aqm="fifo", tcp="Cubic", flows=flows, rate=gbit * 1e9,
            access=gbit * 10e9, accessDelay=0.006, bottleneckDelay=0.013, buffer=buffer,
            segment=1448, timestamps=1, seed=1, startSpread=spread,
        ),
    ]

    def ns3(opt):
        length = opt.ns3_seconds or ns3_seconds
        if not length:
            raise Missing("takes minutes per simulated second here: --ns3-seconds 1 runs it")
        return Ns3(
            length, aqm="fifo", tcp="Cubic", flows=flows, bottleneckRate=f"{gbit}Gbps",
            accessRate=f"{10 * gbit}Gbps", accessDelay="6ms", bottleneckDelay="13ms",
            buffer=buffer, segment=1448, seed=1, startSpread=spread,
        )

    def htsim(opt):
        length = opt.seconds or seconds
        return Htsim(length, opt.htsim, flows, gbit * 1e9, gbit * 10e9, buffer, length, spread)

    return [*makers, ns3, htsim]


def rrul_case():
    def no_ns2(_):
        raise Missing("ns-2.35 has no fq_codel")

    def no_htsim(_):
        raise Missing("it has no fq_codel")

    return [
        lambda opt: Sojourn(opt.sojourn, "scenarios/bench/rrul-like.toml", opt.seconds or 60),
        no_ns2,
        lambda opt: Ns3(
            opt.seconds or 60, aqm="fqcodel", aqmReverse=1, tcp="Cubic",
            flows=4, reverseFlows=4, bottleneckRate="10Mbps", accessRate="1Gbps",
            accessDelay="0.5ms", bottleneckDelay="24ms", buffer=10240, segment=1448,
            probeGap=0.02, measureFrom=5, seed=1,
        ),
        no_htsim,
    ]


def radio_options(scenario, hops):
    """Stations and flows of a scenario, as radio.tcl wants them."""
    file = tomllib.loads((ROOT / scenario).read_text())
    radio = file["radio"]
    if "chain" in radio:
        spacing, columns, rows = radio["chain"]["spacing"], hops + 1, 1
    else:
        spacing, columns, rows = (radio["grid"][key] for key in ("spacing", "columns", "rows"))
    stations, apart = columns * rows, float(spacing.removesuffix("m"))
    units = {"kbit": 1e3, "mbit": 1e6}

    def number(node):
        return {"first": 0, "last": stations - 1}.get(node) if node[0] != "n" else int(node[1:])

    def rate(text):
        return float(text[:-4]) * units[text[-4:]]

    flows = []
    for flow in file["flow"]:
        app = flow["app"]
        flows += [number(flow["from"]), number(flow["to"]), app["size"], rate(app["rate"])]
    places = ((n % columns * apart, n // columns * apart) for n in range(stations))
    return {
        "positions": " ".join(f"{x:g} {y:g}" for x, y in places),
        "flows": " ".join(str(part) for part in flows),
        "queue": int(radio["qdisc"].split()[-1]),
    }


def radio_case(scenario, hops=None):
    def no_ns3(_):
        raise Missing("seven times ns-2's CPU and more, with another MAC")

    def no_htsim(_):
        raise Missing("it has no radio")

    return [
        lambda opt: Sojourn(
            opt.sojourn, scenario, opt.seconds or 100,
            [f"radio.chain.hops={hops}"] if hops else [],
        ),
        lambda opt: Ns2(opt.seconds or 100, program="radio.tcl", **radio_options(scenario, hops)),
        no_ns3,
        no_htsim,
    ]


CASES = {
    "1g": (
        "1 Gbit/s, RTT 50 ms, 36 CUBIC flows, pfifo limit 2500",
        fast_case(1, 36, 30, 4),
    ),
    "10g": (
        "10 Gbit/s, RTT 50 ms, 36 CUBIC flows, pfifo limit 25000",
        fast_case(10, 36, 10, None),
    ),
    "10g-360": (
        "10 Gbit/s, RTT 50 ms, 360 CUBIC flows, pfifo limit 25000",
        fast_case(10, 360, 10, None, spread=1),
    ),
    "10g-3600": (
        "10 Gbit/s, RTT 50 ms, 3600 CUBIC flows, pfifo limit 25000",
        fast_case(10, 3600, 10, None, spread=1),
    ),
    "rrul": (
        "10/10 Mbit/s, RTT 50 ms, 4 + 4 CUBIC flows, probe every 20 ms, fq_codel",
        rrul_case(),
    ),
    "radio-3": (
        "802.11b, chain of 3 hops, 3 Mbit/s offered, AODV",
        radio_case("scenarios/radio/saturated.toml", 3),
    ),
    "radio-15": (
        "802.11b, chain of 15 hops, 3 Mbit/s offered, AODV",
        radio_case("scenarios/radio/saturated.toml", 15),
    ),
    "radio-50": (
        "802.11b, grid of 50, 10 flows of 0.1 Mbit/s, AODV",
        radio_case("scenarios/radio/grid.toml"),
    ),
}
# Their packets take different ways in each simulator, so that time is what they have in common.
PER_SECOND = ("radio-3", "radio-15", "radio-50")
PEERS = ("sojourn", "ns-2.35", "ns-3", "htsim")


def measure(case, options):
    """Runs one case; returns {simulator: {figure: median}} and the reasons of those left out."""
    title, makers = CASES[case]
    print(f"\n{case}: {title}", flush=True)
    contestants, runs = [], {}
    for name, make in zip(PEERS, makers):
        try:
            contestants.append(make(options))
        except Missing as reason:
            print(f"  left out: {name}: {reason}")
    for _ in range(options.rounds):
        for contestant in list(contestants):
            try:
                runs.setdefault(contestant.name, []).append(contestant.run())
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"  left out: {contestant.name}: {error}")
                contestants.remove(contestant)
                runs.pop(contestant.name, None)
    return {
        contestant.name: summary(contestant.seconds, runs[contestant.name], case in PER_SECOND)
        for contestant in contestants
    }


def summary(seconds, runs, per_second):
    def median(figure):
        return statistics.median(figure(run) for run in runs)

    if per_second:
        name, costs = "cpu_us_per_s", [run["cpu_s"] * 1e6 / seconds for run in runs]
    else:
        name, costs = "cpu_ns_per_packet", [run["cpu_s"] * 1e9 / run["packets"] for run in runs]
    return {
        "simulated_s": seconds,
        "runs": len(runs),
        "packets": median(lambda run: run["packets"]),
        name: statistics.median(costs),
        f"{name}_min": min(costs),
        f"{name}_max": max(costs),
        "sim_s_per_wall_s": median(lambda run: seconds / run["wall_s"]),
        "peak_mib": median(lambda run: run["peak_mib"]),
    }


def show(results):
    ours = results.get("sojourn")
    name, title = "cpu_ns_per_packet", "CPU ns/packet"
    if any("cpu_us_per_s" in r for r in results.values()):
        name, title = "cpu_us_per_s", "CPU us/sim s"
    print(f"  {'':8} {'sim s':>6} {'packets':>10} {title:>14} {'(min..max)':>17}"
          f" {'x ours':>7} {'sim s/wall s':>13} {'peak MiB':>9}")
    for peer, r in results.items():
        ratio = r[name] / ours[name] if ours else float("nan")
        spread = f"({r[f'{name}_min']:.0f}..{r[f'{name}_max']:.0f})"
        print(f"  {peer:8} {r['simulated_s']:6g} {r['packets']:10.0f}"
              f" {r[name]:14.0f} {spread:>17} {ratio:7.1f}"
              f" {r['sim_s_per_wall_s']:13.3g} {r['peak_mib']:9.1f}", flush=True)


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    models = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 2),
        "date": time.strftime("%Y-%m-%d"),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", nargs="*", default=list(CASES), help=" ".join(CASES))
    parser.add_argument("--rounds", type=int, default=3, help="runs of each simulator")
    parser.add_argument("--seconds", type=float, help="simulated seconds; of ns-3 in rrul only")
    parser.add_argument("--ns3-seconds", type=float, help="of ns-3 in 1g and 10g")
    parser.add_argument("--sojourn", default=str(ROOT / "target/release/sojourn"))
    parser.add_argument("--htsim", metavar="DIR", help="a clone of csg-htsim; else it is fetched")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    options = parser.parse_args()
    for case in options.case:
        if case not in CASES:
            parser.error(f"no case {case}: there are {', '.join(CASES)}")
    host = machine()
    print("{cpu}, {cores} cores, Linux {kernel}, load {load} before the start".format(**host))
    if host["load"] > 0.5:
        print("The machine is busy: CPU figures are noisy, wall figures too high.")
    results = {}
    for case in options.case:
        results[case] = measure(case, options)
        show(results[case])
    print("\nns-3 here is Debian's 3.37, with logging compiled in: upstream's own optimised build"
          "\nof a recent ns-3 takes about three quarters of its CPU time. Its CUBIC loses more"
          "\npackets than it should under AQMs: a yardstick of speed, not of TCP.")
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps({"machine": host, "cases": results}, indent=2) + "\n"
        )


if __name__ == "__main__":
    main()
