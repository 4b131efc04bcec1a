"""Environments for Gymnasium: an agent that is a congestion control, or an AQM.

>>> import gymnasium, sojourn.gym
>>> env = gymnasium.make("sojourn/CongestionControl-v0", scenario="scenarios/basics/one-flow.toml",
...                      flow="download")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

``sojourn/Aqm-v0`` decides for a link's queue. ``gymnasium.make_vec`` makes environments that step
many runs at once, without the GIL. ``docs/gym.md`` has the spaces with their units. Takes
gymnasium (``pip install 'sojourn[gym]'``).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

from . import _native
from ._scenario import Source, assignments, text_of
from .results import Results

try:
    import gymnasium
    import numpy
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError as missing:
    raise ImportError(
        "sojourn.gym needs gymnasium: pip install 'sojourn[gym]'", name=missing.name
    ) from missing

from numpy.typing import NDArray

Numbers: TypeAlias = NDArray[numpy.float32]
"""Observations and decisions."""

Reward: TypeAlias = Callable[[Numbers, Numbers], Any]
"""A reward of your own, from the observation after a decision and the decision: a number. In a
vector environment both have a row for each run, and it gives a number for each; an index such as
``observation[..., 3]`` serves both."""

FLOW_LINE = """format = "sojourn-scenario/1"
name = "gym-flow"
duration = "30s"
warmup = "5s"
[dumbbell]
rtt = "40ms"
rate = "10mbit"
qdisc = "pfifo limit 100"
[[flow]]
name = "agent"
direction = "up"
app = "bulk"
"""
"""The scenario of a congestion control that names none: one flow over a plain FIFO."""

QUEUE_LINE = """format = "sojourn-scenario/1"
name = "gym-queue"
duration = "30s"
warmup = "5s"
[dumbbell]
rtt = "40ms"
rate = "10mbit"
qdisc = "codel"
[[flow]]
name = "bulk"
direction = "up"
app = "bulk"
count = 3
start_spread = "1s"
[[flow]]
name = "probe"
direction = "up"
app = "ping"
"""
"""The scenario of an AQM that names none: three CUBIC flows and a probe share the queue."""


class Field(NamedTuple):
    """One number of an observation."""

    name: str
    """Its name; the end is the unit."""
    meaning: str
    """What it is."""
    low: float
    """The lowest value."""
    high: float
    """The highest value; what is beyond is shown as this."""


class _Runs:
    """Runs of one task, with the arrays in which they tell what they see."""

    def __init__(
        self,
        scenario: tuple[Source, dict[str, Any]],
        role: tuple[str, str, int],
        every: str | timedelta,
        count: int,
        jobs: int | None,
    ) -> None:
        source, overrides = scenario
        if isinstance(every, timedelta):
            every = f"{every // timedelta(microseconds=1)}us"
        text, sets = text_of(source), assignments(overrides)
        self.native = _native.Agents(text, sets, role, every, count, jobs)
        if self.native.warnings:
            warnings.warn(self.native.warnings.rstrip(), stacklevel=4)
        self.cells = tuple(dict(params) for params in self.native.cells)
        self.fields = tuple(Field(*field) for field in self.native.fields)
        self.seen = numpy.zeros((count, len(self.fields)), numpy.float32)
        self.rewards = numpy.zeros(count, numpy.float64)
        self.over = numpy.zeros(count, numpy.uint8)

    def spaces(self) -> tuple[gymnasium.Space[Numbers], gymnasium.Space[Numbers]]:
        """Of the observations and decisions of one run."""
        bounds = [(field.low, field.high) for field in self.fields]
        low, high = numpy.array(bounds, numpy.float32).T
        least, most = numpy.array(self.native.actions, numpy.float32).T
        # A Box's type says nothing of its numbers' width.
        seen: Any = gymnasium.spaces.Box(low, high, dtype=numpy.float32)
        decided: Any = gymnasium.spaces.Box(least, most, dtype=numpy.float32)
        return seen, decided

    def begin(
        self,
        index: int,
        dice: numpy.random.Generator,
        seed: int | None,
        options: dict[str, Any] | None,
    ) -> tuple[int, int]:
        """Begins a run anew; which cell and which seed it has."""
        drawn = int(dice.integers(len(self.cells)))
        cell = int((options or {}).get("cell", drawn))
        if not 0 <= cell < len(self.cells):
            raise ValueError(f"the scenario has {len(self.cells)} cells, none with index {cell}")
        if seed is None:
            seed = int(dice.integers(1, 2**31))
        self.native.begin(index, cell, seed, self.seen[index])
        self.rewards[index], self.over[index] = 0, 0
        return cell, seed

    def step(self, actions: Numbers) -> None:
        """Takes a decision for each run that is not over."""
        actions = numpy.ascontiguousarray(actions, numpy.float32)
        self.native.step(actions, self.seen, self.rewards, self.over)

    def fork(self) -> _Runs:
        """A copy."""
        other = copy.copy(self)
        other.native = self.native.fork()
        other.seen, other.rewards = self.seen.copy(), self.rewards.copy()
        other.over = self.over.copy()
        return other

    def results(self, index: int) -> Results:
        """The tables of a run."""
        result = self.native.result(index)
        if result is None:
            raise ValueError("there is no run before reset()")
        return Results(result)

    def time_s(self, index: int) -> float:
        """How far a run is."""
        return (self.native.now(index) or 0) * 1e-9


def _at_queue(action: str, link: str, limit: int) -> tuple[str, str, int]:
    if action not in ("probability", "target"):
        raise ValueError(f"action is {action!r}: 'probability' or 'target'")
    return action, link, limit


class _Env(gymnasium.Env[Numbers, Numbers]):
    """One run."""

    metadata = {"render_modes": []}
    render_mode = None

    def __init__(self, runs: _Runs, reward: Reward | None) -> None:
        self._runs, self._reward = runs, reward
        self.observation_space, self.action_space = runs.spaces()

    @property
    def fields(self) -> tuple[Field, ...]:
        """The numbers of an observation, in order."""
        return self._runs.fields

    @property
    def cells(self) -> tuple[dict[str, str], ...]:
        """What the scenario varies, of each cell. ``reset`` draws one of them, or takes
        ``options={"cell": index}``."""
        return self._runs.cells

    @property
    def time_s(self) -> float:
        """The simulated time in seconds."""
        return self._runs.time_s(0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begin a run. ``seed`` is that of the run too, as in `sojourn.run`; without, the
        environment draws one, and ``info`` says which."""
        super().reset(seed=seed)
        cell, seed = self._runs.begin(0, self.np_random, seed, options)
        return self._runs.seen[0].copy(), {"cell": cell, "seed": seed}

    def step(self, action: Numbers) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """Take a decision. At the end of the run, which is a limit in time, ``truncated`` is
        true."""
        runs = self._runs
        runs.step(action)
        seen = runs.seen[0].copy()
        if self._reward is None:
            reward = float(runs.rewards[0])
        else:
            reward = float(self._reward(seen, numpy.asarray(action, numpy.float32)))
        return seen, reward, False, bool(runs.over[0]), {}

    def fork(self) -> _Env:
        """A copy. With the same decisions both go on bit for bit as this one alone would have,
        its random numbers included. ``copy.deepcopy(env)`` copies its wrappers too."""
        other = copy.copy(self)
        other._runs = self._runs.fork()
        other._np_random = copy.deepcopy(self._np_random)
        other.action_space = copy.deepcopy(self.action_space)
        other.observation_space = copy.deepcopy(self.observation_space)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> _Env:
        return self.fork()

    def results(self) -> Results:
        """The tables of the run until now, as `sojourn.run` gives them."""
        return self._runs.results(0)


class CongestionControlEnv(_Env):
    """An agent that is the congestion control of a flow.

    Parameters
    ----------
    scenario
        A path, a text, a dict or a `sojourn.Scenario`; `FLOW_LINE` by default. If it sweeps
        fields, each run is one of the combinations.
    flow
        The flow, of TCP, whose congestion control the agent is.
    every
        The time between two decisions.
    reward
        A `Reward` in place of the default one.
    overrides
        Fields of the scenario with other values, as for `sojourn.run`.
    """

    def __init__(
        self,
        scenario: Source = FLOW_LINE,
        flow: str = "agent",
        *,
        every: str | timedelta = "10ms",
        reward: Reward | None = None,
        render_mode: None = None,
        **overrides: Any,
    ) -> None:
        role = ("control", flow, 0)
        super().__init__(_Runs((scenario, overrides), role, every, 1, 1), reward)


class AqmEnv(_Env):
    """An agent that is the AQM of a link.

    Parameters
    ----------
    scenario
        As for `CongestionControlEnv`; `QUEUE_LINE` by default.
    link
        The link whose queue it is.
    action
        ``"probability"``: the link gets one FIFO queue, and the agent decides the probability of a
        mark or drop. ``"target"``: the link keeps its queue, and the agent sets its delay target.
    limit
        Most packets in the queue, with ``"probability"``.
    every, reward, overrides
        As for `CongestionControlEnv`.
    """

    def __init__(
        self,
        scenario: Source = QUEUE_LINE,
        link: str = "up",
        *,
        action: str = "probability",
        limit: int = 1000,
        every: str | timedelta = "10ms",
        reward: Reward | None = None,
        render_mode: None = None,
        **overrides: Any,
    ) -> None:
        role = _at_queue(action, link, limit)
        super().__init__(_Runs((scenario, overrides), role, every, 1, 1), reward)


class _VectorEnv(VectorEnv[Numbers, Numbers, NDArray[Any]]):
    """Many runs, stepped at once without the GIL.

    The environment with index i is what the single one is after ``reset(seed=seed + i)``. A run
    that is over begins anew with the next step, whose decision does not count for it
    (`AutoresetMode.NEXT_STEP`).
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, runs: _Runs, reward: Reward | None) -> None:
        self._runs, self._reward = runs, reward
        self.num_envs = len(runs.over)
        self.single_observation_space, self.single_action_space = runs.spaces()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._dice = [seeding.np_random(None)[0] for _ in range(self.num_envs)]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The numbers of an observation, in order."""
        return self._runs.fields

    @property
    def cells(self) -> tuple[dict[str, str], ...]:
        """What the scenario varies, of each cell."""
        return self._runs.cells

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Numbers, dict[str, Any]]:
        """Begin all runs; ``info`` says their cells and seeds."""
        seeds: Sequence[int | None]
        if seed is None:
            seeds = [None] * self.num_envs
        elif isinstance(seed, int):
            seeds = [seed + index for index in range(self.num_envs)]
        else:
            seeds = seed
        if len(seeds) != self.num_envs:
            raise ValueError(f"{self.num_envs} environments take as many seeds, not {len(seeds)}")
        begun = []
        for index, one in enumerate(seeds):
            if one is not None:
                self._dice[index] = seeding.np_random(one)[0]
            begun.append(self._runs.begin(index, self._dice[index], one, options))
        return self._runs.seen.copy(), self._info(begun)

    def step(
        self, actions: Numbers
    ) -> tuple[Numbers, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take a decision in each run."""
        runs = self._runs
        anew = numpy.flatnonzero(runs.over)
        runs.step(actions)
        begun = [runs.begin(int(index), self._dice[index], None, None) for index in anew]
        seen = runs.seen.copy()
        if self._reward is None:
            rewards = runs.rewards.copy()
        else:
            actions = numpy.asarray(actions, numpy.float32)
            rewards = numpy.array(self._reward(seen, actions), numpy.float64)
            rewards[anew] = 0
        over = runs.over.astype(bool)
        return seen, rewards, numpy.zeros_like(over), over, self._info(begun, anew)

    def fork(self) -> _VectorEnv:
        """A copy of all runs, as `CongestionControlEnv.fork`."""
        other = copy.copy(self)
        other._runs = self._runs.fork()
        other._dice = copy.deepcopy(self._dice)
        other.action_space = copy.deepcopy(self.action_space)
        other.observation_space = copy.deepcopy(self.observation_space)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> _VectorEnv:
        return self.fork()

    def results(self, index: int) -> Results:
        """The tables of one run until now."""
        return self._runs.results(index)

    def _info(
        self, begun: Sequence[tuple[int, int]], indices: NDArray[Any] | None = None
    ) -> dict[str, Any]:
        """What has begun, as Gymnasium has it: arrays, and masks of what they say."""
        if not begun:
            return {}
        places = numpy.arange(self.num_envs) if indices is None else indices
        info: dict[str, Any] = {}
        for key, values in zip(("cell", "seed"), zip(*begun, strict=True), strict=True):
            info[key] = numpy.zeros(self.num_envs, numpy.uint64)
            info[key][places] = values
            info[f"_{key}"] = numpy.zeros(self.num_envs, bool)
            info[f"_{key}"][places] = True
        return info


class CongestionControlVectorEnv(_VectorEnv):
    """Many runs in which an agent is the congestion control of a flow. ``jobs`` are threads, by
    default one for each processor; the rest is as for `CongestionControlEnv`."""

    def __init__(
        self,
        scenario: Source = FLOW_LINE,
        flow: str = "agent",
        *,
        num_envs: int = 1,
        jobs: int | None = None,
        every: str | timedelta = "10ms",
        reward: Reward | None = None,
        **overrides: Any,
    ) -> None:
        role = ("control", flow, 0)
        super().__init__(_Runs((scenario, overrides), role, every, num_envs, jobs), reward)


class AqmVectorEnv(_VectorEnv):
    """Many runs in which an agent is the AQM of a link. ``jobs`` are threads, by default one for
    each processor; the rest is as for `AqmEnv`."""

    def __init__(
        self,
        scenario: Source = QUEUE_LINE,
        link: str = "up",
        *,
        num_envs: int = 1,
        jobs: int | None = None,
        action: str = "probability",
        limit: int = 1000,
        every: str | timedelta = "10ms",
        reward: Reward | None = None,
        **overrides: Any,
    ) -> None:
        role = _at_queue(action, link, limit)
        super().__init__(_Runs((scenario, overrides), role, every, num_envs, jobs), reward)


for _name in ("CongestionControl", "Aqm"):
    gymnasium.register(
        id=f"sojourn/{_name}-v0",
        entry_point=f"sojourn.gym:{_name}Env",
        vector_entry_point=f"sojourn.gym:{_name}VectorEnv",
    )
