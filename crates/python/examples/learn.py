#!/usr/bin/env python3
"""Learns a congestion control or an AQM: a linear policy, by the cross-entropy method.

    python crates/python/examples/learn.py [control|aqm] [--rounds N] [--runs N] [--seconds N]
                                           [--policy FILE] [--control FILE]

Each round draws as many policies as there are runs from a normal distribution and plays all of
them at once. The next distribution is that of the best fifth (Rubinstein and Kroese, The
Cross-Entropy Method, 2004; with de Boer and others' noise, which goes to zero). Prints the mean
reward of the first policy and of the learned one over seeds that were not played, and their
latency and goodput beside CUBIC in a FIFO queue and in fq_codel. `--control` writes a congestion
control of Linux with the learned weights, for `sojourn kernel build --control`.
"""

import argparse
import json
import pathlib
import time

import gymnasium
import numpy

import sojourn
import sojourn.gym

UNSEEN = range(9001, 9009)


def control_features(seen, before):
    """The share of the RTT that is queueing, losses, marks, and how much of the window is used."""
    _, _, in_flight, _, rtt, lowest, _, lost, marked = seen.T
    window = seen[:, 0]
    queueing = 1 - lowest / numpy.maximum(rtt, 1e-3)
    used = numpy.minimum(in_flight / window, 1)
    return numpy.stack([4 * queueing, 10 * lost, marked, used, numpy.ones_like(lost)], 1)


def aqm_features(seen, before):
    """The delay in tenths of a second, what it has changed, and the root of the probability."""
    delay, root = seen[:, 3] / 100, numpy.sqrt(seen[:, 0])
    change = (seen[:, 3] - before[:, 3]) / 10
    return numpy.stack([delay, change, root, numpy.ones_like(delay)], 1)


AGENTS = {
    # Gymnasium's name, the scenario, features, their number, numbers of a decision, the squash.
    "control": (
        "sojourn/CongestionControl-v0",
        sojourn.gym.FLOW_LINE,
        (control_features, 5, 2, lambda x: numpy.tanh(x) * [0.2, 1.0]),
    ),
    "aqm": (
        "sojourn/Aqm-v0",
        sojourn.gym.QUEUE_LINE,
        (aqm_features, 4, 1, lambda x: 1 / (1 + numpy.exp(-x))),
    ),
}


def play(envs, policies, policy, seeds):
    """The mean reward of each policy over a whole run."""
    features, _, _, squash = policy
    seen, _ = envs.reset(seed=list(seeds))
    before, total, steps = seen, 0.0, 0
    while True:
        actions = squash(numpy.einsum("raf,rf->ra", policies, features(seen, before)))
        before = seen
        seen, rewards, _, over, _ = envs.step(actions.astype(numpy.float32))
        total, steps = total + rewards, steps + 1
        if over.any():
            return total / steps


def figures(results):
    """Goodput of all transfers in Mbit/s, and the link's sojourn time in ms."""
    table = results.flows.to_pandas()
    queue = results.links.to_pandas().query("link == 'up'")
    bulk = table[~table.flow.str.startswith("probe")]
    goodput = bulk.groupby("seed").goodput_bps.sum().mean() / 1e6
    return goodput, queue.sojourn_ms_mean.mean()


def as_control(weights):
    """policy.c with these weights, as numbers with 16 bits behind the point."""
    fixed = lambda numbers: ", ".join(str(round(float(number) * 65536)) for number in numbers)
    text = (pathlib.Path(__file__).parent / "policy.c").read_text(encoding="utf-8")
    rows = ", ".join(f"{{{fixed(row)}}}" for row in weights)
    text = text.replace("{WEIGHTS}", f"{{{rows}}}")
    return text.replace("{TANH}", f"{{{fixed(numpy.tanh(numpy.arange(33) / 8))}}}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agent", nargs="?", choices=AGENTS, default="control")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--policy", help="a file for the learned policy, as JSON")
    parser.add_argument("--control", help="a file for it as a congestion control of Linux, in C")
    given = parser.parse_args()
    if given.control and given.agent != "control":
        parser.error("--control goes with a congestion control")

    name, scenario, policy = AGENTS[given.agent]
    _, inputs, outputs, _ = policy
    line = {"scenario": scenario, "duration": f"{given.seconds}s", "warmup": "1s"}
    dice = numpy.random.default_rng(1)
    envs = gymnasium.make_vec(name, num_envs=given.runs, **line)
    mean = numpy.zeros((outputs, inputs))
    first, spread = mean, numpy.full_like(mean, 1.0)
    best, began, used = max(1, given.runs // 5), time.monotonic(), time.process_time()
    for number in range(given.rounds):
        policies = mean + spread * dice.normal(size=(given.runs, outputs, inputs))
        # One seed for all: what differs is the policy.
        rewards = play(envs, policies, policy, [number + 1] * given.runs)
        elite = policies[numpy.argsort(rewards)[-best:]]
        noise = 0.5 * max(0.0, 1 - number / max(1, given.rounds // 2))
        mean, spread = elite.mean(0), elite.std(0) + noise
        print(f"round {number + 1:2}: mean {rewards.mean():6.3f}, best {rewards.max():6.3f}")
    steps = given.rounds * given.runs * given.seconds * 100
    took = time.monotonic() - began
    print(f"{steps} decisions in {took:.0f} s, {time.process_time() - used:.0f} s of processors")

    judge = gymnasium.make_vec(name, num_envs=len(UNSEEN), **line)
    shown = {}
    for label, weights in [("before", first), ("learned", mean)]:
        same = numpy.broadcast_to(weights, (len(UNSEEN), outputs, inputs))
        reward = play(judge, same, policy, UNSEEN).mean()
        parts = [judge.unwrapped.results(index) for index in range(len(UNSEEN))]
        shown[label] = (reward, *figures(sum(parts[1:], parts[0])))
    flow = "agent" if given.agent == "control" else "bulk"
    for queue in ["pfifo limit 100", "fq_codel"]:
        changed = {
            "dumbbell.qdisc": queue,
            "duration": line["duration"],
            "warmup": line["warmup"],
            f"flow.{flow}.tcp.cc": "cubic",
        }
        results = sojourn.run(scenario, seeds=UNSEEN, progress=False, **changed)
        shown[f"cubic, {queue}"] = (None, *figures(results))
    print(f"\n{'':24}{'reward':>8}{'goodput Mbit/s':>16}{'sojourn ms':>12}")
    for label, (reward, goodput, sojourn_ms) in shown.items():
        reward = "" if reward is None else f"{reward:.3f}"
        print(f"{label:24}{reward:>8}{goodput:16.2f}{sojourn_ms:12.2f}")
    if given.policy:
        with open(given.policy, "w", encoding="utf-8") as file:
            json.dump({"agent": given.agent, "weights": mean.tolist()}, file)
    if given.control:
        pathlib.Path(given.control).write_text(as_control(mean), encoding="utf-8")


if __name__ == "__main__":
    main()
