#!/usr/bin/env python3
"""How many decisions a second and core the environments for Gymnasium take.

    python3 benches/gym.py [--decisions N]

Needs the package of a release (`pip install ./crates/python`) and gymnasium. Decisions are 10 ms
apart, in the default scenarios (10 Mbit/s, 40 ms), and the same in each step: they leave the window
and the queue such that the link is full. Prints decisions a
second of processor time: one run by `step`, the same through `gymnasium.make` and its wrappers, and
32 runs by the vector environment on one thread.
"""
import argparse
import time

import gymnasium
import numpy
import sojourn.gym

# 60 segments: the bandwidth-delay product, and 26 that wait.
FULL = {"flow.agent.tcp.initial_window": 60}
ENVIRONMENTS = {
    "CongestionControl": (sojourn.gym.CongestionControlEnv, [0.0, 1.0], FULL),
    "Aqm": (sojourn.gym.AqmEnv, [0.05], {}),
}


def rate(count: int, step, runs: int = 1) -> float:
    began = time.process_time()
    for _ in range(count // runs):
        step()
    return count / (time.process_time() - began)


def alone(env, action, count: int) -> float:
    env.reset(seed=1)

    def step() -> None:
        if env.step(action)[3]:
            env.reset()

    return rate(count, step)


def many(name: str, action, line, count: int) -> float:
    envs = gymnasium.make_vec(f"sojourn/{name}-v0", num_envs=32, jobs=1, **line)
    envs.reset(seed=1)
    actions = numpy.tile(action, (32, 1))
    return rate(count, lambda: envs.step(actions), 32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--decisions", type=int, default=60_000)
    count = parser.parse_args().decisions
    print("decisions a second of processor time")
    print(f"{'':20}{'step':>10}{'made':>10}{'32 runs':>10}")
    for name, (kind, numbers, line) in ENVIRONMENTS.items():
        action = numpy.array(numbers, numpy.float32)
        made = gymnasium.make(f"sojourn/{name}-v0", **line)
        rates = [alone(kind(**line), action, count), alone(made, action, count)]
        rates.append(many(name, action, line, count))
        print(f"{name:20}" + "".join(f"{rate:10.0f}" for rate in rates))


if __name__ == "__main__":
    main()
