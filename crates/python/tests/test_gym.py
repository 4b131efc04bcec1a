"""The environments for Gymnasium: what its checker asks, and that copies and repetitions are exact."""

import copy
import importlib.util
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import VectorEnv

import sojourn
import sojourn.gym
from conftest import ROOT

NAMES = ["sojourn/CongestionControl-v0", "sojourn/Aqm-v0"]
SHORT = {"duration": "2s", "warmup": "500ms"}
KINDS: list[tuple[str, dict[str, Any]]] = [
    (NAMES[0], {}),
    (NAMES[1], {}),
    (NAMES[1], {"action": "target"}),
]


def make(name: str, **more: Any) -> sojourn.gym._Env:
    env = gymnasium.make(name, **SHORT, **more).unwrapped
    assert isinstance(env, sojourn.gym._Env)
    return env


def decisions(env: Any, count: int) -> list[Any]:
    env.action_space.seed(3)
    return [env.action_space.sample() for _ in range(count)]


def play(env: Any, actions: list[Any]) -> list[tuple[bytes, float, bool]]:
    seen = [env.step(action) for action in actions]
    return [(bytes(observation), reward, over) for observation, reward, _, over, _ in seen]


@pytest.mark.parametrize(("name", "more"), KINDS)
def test_the_checker_finds_nothing(name: str, more: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(name, **more), skip_render_check=True)


@pytest.mark.parametrize(("name", "more"), KINDS)
def test_a_run_repeats_by_its_seed(name: str, more: dict[str, Any]) -> None:
    env, other = make(name, **more), make(name, **more)
    actions = decisions(env, 300)
    runs = []
    for one, seed in [(env, 5), (other, 5), (env, 5), (env, 6)]:
        first, info = one.reset(seed=seed)
        assert info == {"cell": 0, "seed": seed}
        runs.append((bytes(first), play(one, actions)))
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][1][-1][2], "the run is over"
    if name == NAMES[1]:
        assert runs[0] != runs[3]
    # Without a seed the environment's own dice say it, which the seed before has set.
    env.reset(seed=5)
    other.reset(seed=5)
    assert env.reset()[1] == other.reset()[1]


@pytest.mark.parametrize(("name", "more"), KINDS)
def test_a_fork_goes_on_as_the_run_alone_would(name: str, more: dict[str, Any]) -> None:
    env = make(name, **more)
    actions = decisions(env, 190)
    env.reset(seed=2)
    whole = play(env, actions)
    env.reset(seed=2)
    assert play(env, actions[:80]) == whole[:80]
    fork, other = env.fork(), env.fork()
    play(other, actions[:50])
    assert play(fork, actions[80:]) == whole[80:]
    assert play(env, actions[80:]) == whole[80:]
    digests = [one.results().runs["digest"] for one in (env, fork)]
    assert digests[0] == digests[1]
    assert env.reset()[1] == fork.reset()[1], "their dice are the same too"


def test_a_deep_copy_has_the_wrappers_too() -> None:
    env = gymnasium.wrappers.TimeLimit(gymnasium.make(NAMES[0], **SHORT), 50)
    env.reset(seed=1)
    actions = decisions(env, 50)
    play(env, actions[:20])
    fork = copy.deepcopy(env)
    ends = [play(one, actions[20:]) for one in (env, fork)]
    assert ends[0] == ends[1]
    assert [over for *_, over in ends[0]] == [False] * 29 + [True]


@pytest.mark.parametrize(("name", "more"), KINDS)
def test_many_runs_are_what_each_would_be(name: str, more: dict[str, Any]) -> None:
    envs: VectorEnv[Any, Any, Any] = gymnasium.make_vec(
        name, num_envs=9, jobs=2, vector_kwargs=None, **SHORT, **more
    )
    singles = [make(name, **more) for _ in range(9)]
    envs.action_space.seed(4)
    seen, info = envs.reset(seed=10)
    begun = [env.reset(seed=10 + index) for index, env in enumerate(singles)]
    assert numpy.array_equal(seen, [observation for observation, _ in begun])
    assert info["seed"].tolist() == list(range(10, 19))
    over, seeds = numpy.zeros(9, bool), []
    for _ in range(220):
        actions = envs.action_space.sample()
        last = over
        seen, rewards, ended, over, info = envs.step(actions)
        assert not ended.any()
        for index, env in enumerate(singles):
            if last[index]:
                observation, begun_info = env.reset()
                expected: tuple[Any, float, bool] = observation, 0.0, False
                assert info["_seed"][index]
                assert info["seed"][index] == begun_info["seed"]
                seeds.append(begun_info["seed"])
            else:
                observation, reward, _, truncated, _ = env.step(actions[index])
                expected = observation, reward, truncated
            assert numpy.array_equal(seen[index], expected[0])
            assert (rewards[index], over[index]) == expected[1:]
    assert len(set(seeds)) == 9, "each began anew, with a seed of its own"


def test_a_fork_of_many_runs_goes_on() -> None:
    envs: Any = gymnasium.make_vec(NAMES[1], num_envs=5, **SHORT)
    envs.reset(seed=1)
    actions = decisions(envs, 250)
    for action in actions[:50]:
        envs.step(action)
    fork = envs.unwrapped.fork()
    for action in actions[50:]:
        ours, theirs = envs.step(action), fork.step(action)
        assert all(numpy.array_equal(a, b) for a, b in zip(ours[:4], theirs[:4], strict=True))


def test_a_reward_of_ones_own() -> None:
    def minus_delay(observation: Any, action: Any) -> Any:
        return -observation[..., 3] - action[..., 0]

    env = make(NAMES[1], reward=minus_delay)
    env.reset(seed=1)
    action = numpy.array([0.25], numpy.float32)
    seen, reward, *_ = env.step(action)
    assert reward == -float(seen[3]) - 0.25
    envs: Any = gymnasium.make_vec(NAMES[1], num_envs=3, reward=minus_delay, **SHORT)
    envs.reset(seed=1)
    seen, rewards, *_ = envs.step(numpy.tile(action, (3, 1)))
    assert rewards.tolist() == [-float(row[3]) - 0.25 for row in seen]


def test_a_file_with_a_sweep_and_its_cells(one_flow: Path) -> None:
    env = make(NAMES[0], scenario=one_flow, flow="download", every="20ms")
    assert [cell["dumbbell.qdisc"] for cell in env.cells] == ["pfifo", "codel", "fq_codel"]
    drawn = {env.reset(seed=seed)[1]["cell"] for seed in range(20)}
    assert drawn == {0, 1, 2}
    _, info = env.reset(seed=7, options={"cell": 2})
    assert info == {"cell": 2, "seed": 7}
    before = env.time_s
    env.step(numpy.zeros(2, numpy.float32))
    assert env.time_s == pytest.approx(before + 0.02)
    assert env.results().flows["flow"] == ["download", "probe"]
    with pytest.raises(ValueError, match="3 cells, none with index 3"):
        env.reset(options={"cell": 3})


def test_an_agent_that_sets_what_is_there_changes_nothing() -> None:
    """A target of 10 ms, set again and again, is the plain run."""
    line = {**SHORT, "dumbbell__qdisc": "codel target 10ms"}
    env = gymnasium.make(NAMES[1], action="target", **line).unwrapped
    assert isinstance(env, sojourn.gym.AqmEnv)
    env.reset(seed=3)
    play(env, [numpy.array([0.5], numpy.float32)] * 200)
    plain = sojourn.run(sojourn.gym.QUEUE_LINE, seeds=range(3, 4), **line)
    assert env.results().runs["digest"] == plain.runs["digest"]


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(sojourn.RunError, match="no flow is named `blk`; there are `agent`"):
        sojourn.gym.CongestionControlEnv(flow="blk")
    with pytest.raises(sojourn.RunError, match="has no delay target to set"):
        sojourn.gym.AqmEnv(action="target", dumbbell__qdisc="pfifo")
    with pytest.raises(ValueError, match="action is 'control'"):
        sojourn.gym.AqmEnv(action="control")
    with pytest.raises(ValueError, match="every"):
        sojourn.gym.AqmEnv(every="soon")
    with pytest.raises(sojourn.ScenarioError):
        sojourn.gym.AqmEnv(dumbbell__rate="fast")
    env = sojourn.gym.AqmEnv()
    with pytest.raises(ValueError, match="no run before reset"):
        env.results()
    env.reset(seed=1)
    with pytest.raises(sojourn.RunError, match="finite"):
        env.step(numpy.array([numpy.nan], numpy.float32))
    with pytest.raises(ValueError, match="1 runs take 1 numbers each"):
        env.step(numpy.zeros(2, numpy.float32))


def test_the_package_does_not_need_it() -> None:
    text = "import sys; sys.modules['gymnasium'] = None; import sojourn\n"
    text += "try:\n    import sojourn.gym\nexcept ImportError as why: print(why)"
    told = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert told.stdout == "sojourn.gym needs gymnasium: pip install 'sojourn[gym]'\n"


def table(env: sojourn.gym._Env) -> str:
    """The fields as docs/gym.md shows them."""
    rows = [
        f"| {number} | `{name}` | {low:.12g} to {high:.12g} | {meaning} |"
        for number, (name, meaning, low, high) in enumerate(env.fields)
    ]
    return "\n".join(["| | field | range | |", "| --- | --- | --- | --- |", *rows])


def test_the_page_has_the_fields() -> None:
    page = ROOT / "docs" / "gym.md"
    text = page.read_text(encoding="utf-8")
    envs = {"control": sojourn.gym.CongestionControlEnv(), "aqm": sojourn.gym.AqmEnv()}
    for mark, env in envs.items():
        before, begins, rest = text.partition(f"<!-- fields: {mark} -->\n")
        _, ends, after = rest.partition("\n<!-- end -->")
        assert begins and ends, f"docs/gym.md has no place for the fields of {mark}"
        text = before + begins + table(env) + ends + after
    if os.environ.get("SOJOURN_WRITE"):
        page.write_text(text, encoding="utf-8")
    assert page.read_text(encoding="utf-8") == text, "SOJOURN_WRITE=1 writes the tables"


PAGE = (ROOT / "docs" / "gym.md").read_text(encoding="utf-8")
BLOCKS = [part.split("```", 1)[0] for part in PAGE.split("```python\n")[1:]]


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_page_runs(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    found: dict[str, Any] = {}
    for block in BLOCKS[: number + 1]:
        exec(compile(block, f"docs/gym.md, block {number + 1}", "exec"), found)


@pytest.mark.parametrize("agent", ["control", "aqm"])
def test_the_example_learns(agent: str, tmp_path: Path) -> None:
    """A short search: the learned policy earns more than the first one."""
    script = ROOT / "crates" / "python" / "examples" / "learn.py"
    sizes = ["--rounds", "6", "--runs", "20", "--seconds", "4"]
    command = [sys.executable, str(script), agent, *sizes, "--policy", str(tmp_path / "policy")]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rewards = {
        label: float(found[1])
        for label in ("before", "learned")
        if (found := re.search(rf"^{label} +(-?[\d.]+) ", told, re.MULTILINE))
    }
    assert rewards["learned"] > rewards["before"] + 0.2, told
    assert "nan" not in told
    assert "cubic, fq_codel" in told
    assert json.loads((tmp_path / "policy").read_text())["agent"] == agent


def test_the_learned_control_of_linux_decides_as_the_policy(tmp_path: Path) -> None:
    """policy.c in fixed point beside the same policy in floating point."""
    examples = ROOT / "crates/python/examples"
    spec = importlib.util.spec_from_file_location("learn", examples / "learn.py")
    assert spec and spec.loader
    learn = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(learn)
    dice = numpy.random.default_rng(1)
    weights = dice.normal(size=(2, 5))
    features = dice.uniform(0, [4, 10, 1, 1, 1], size=(500, 5))
    features[:, 4] = 1
    types = "#include <stdint.h>\n#include <stdio.h>\n" + "".join(
        f"typedef {c}int{bits}_t {kernel}{bits};\n"
        for c, kernel in [("", "s"), ("u", "u")]
        for bits in [32, 64]
    )
    main = (
        "int main(void) { s32 f[5]; u32 window, pacing;\n"
        'while (scanf("%d %d %d %d %d", f, f + 1, f + 2, f + 3, f + 4) == 5) {\n'
        'policy_decide(f, &window, &pacing); printf("%u %u\\n", window, pacing); } return 0; }\n'
    )
    source, program = tmp_path / "policy.c", tmp_path / "policy"
    source.write_text(f"#define POLICY_ALONE\n{types}{learn.as_control(weights)}{main}")
    subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    fixed = numpy.round(features * 65536).astype(int)
    lines = "\n".join(" ".join(map(str, row)) for row in fixed)
    said = subprocess.run([program], input=lines, text=True, capture_output=True, check=True)
    got = numpy.array([line.split() for line in said.stdout.splitlines()], float) / 65536
    wanted = numpy.exp2(numpy.tanh(features @ weights.T) * [0.2, 1.0])
    assert got.shape == wanted.shape
    assert numpy.abs(got / wanted - 1).max() < 0.003
