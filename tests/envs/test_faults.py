"""An environment that fails ends the run with an error that names it, and the logs are kept."""

import csv
import threading

import numpy as np
import pytest

import teen
from teen import envs
from teen.cli import main as cli
from teen.disk import checkpoint
from teen.engine.evaluate import rollout
from teen.errors import EnvironmentFault, UserError
from tests.toys import FAULTS, UNUSABLE, Counter

SMALL = (
    "--n 2 --m 1 --width 8 --batch 16 --steps 60 --warmup 10 --eval-every 20 --eval-episodes 1 --log-every 10 "
    "--checkpoint-every 20"
)
TOO_LONG = "did not return within 2 s"
REASONS = {
    "raises": "step raised RuntimeError: the robot fell over",
    "exits": "step raised SystemExit: 0",
    "exits-at-reset": "reset raised SystemExit: 0",
    "hangs": TOO_LONG,
    "spins": TOO_LONG,
    "matches": TOO_LONG,
    "nan-reward": "step returned a reward that is not finite in float32: nan",
    "huge-reward": "step returned a reward that is not finite in float32: -1e+39",
    "nan-obs": "step returned an observation that is not finite in float32: nan",
    "huge-obs": "step returned an observation that is not finite in float32: inf",
    "nan-start": "reset returned an observation that is not finite in float32: nan",
    "wrong-shape": "3 observation numbers, not the 1 promised",
}


def step_of(how: str) -> int:
    """It fails from its 25th step on. Episodes have 10 steps, so a reset comes at the 30th."""
    return 30 if how in ("exits-at-reset", "nan-start") else 25


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("how", FAULTS)
def test_a_fault_names_environment_lane_seed_and_step(how, tmp_path, capsys):
    """The copy of seed 3, lane 1, fails at its 25th step."""
    out = tmp_path / "run"
    env = f"tests.toys:Faulty-{how}-v0"
    # evaluation copies may get odd seeds too, but an evaluation episode ends after 10 steps, before the 25th
    arguments = ["train", "--env", env, "--seeds", "2,3", *SMALL.split(), "--env-timeout", "2", "--out", str(out)]
    assert cli.main(arguments) == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert env in error
    assert f"lane 1, seed 3, step {step_of(how)}: " in error
    assert REASONS[how] in error
    assert "the agent after 20 steps is saved" in error
    assert f"the checkpoint of step 20 is whole: teen train --resume {out} goes on from it" in error
    assert checkpoint.newest(out / "checkpoint").step == 20
    with (out / "eval.csv").open() as file:
        assert {row["step"] for row in csv.DictReader(file)} == {"20"}
    assert (out / "train.csv").exists()
    agent = teen.load(out)
    assert agent.step == 20
    assert all(np.isfinite(leaf).all() for leaf in agent.weights.members.actor[0])


@pytest.mark.filterwarnings("ignore:.*WARN:UserWarning", "error::RuntimeWarning")  # Gymnasium's checks see it too
@pytest.mark.parametrize("how", ["exits-at-reset", "nan-start"])
def test_a_fault_at_the_very_start_leaves_no_agent(how, tmp_path, capsys):
    env = f"tests.toys:Faulty-{how}-v1"
    assert cli.main(["train", "--env", env, "--seeds", "2,3", *SMALL.split(), "--out", str(tmp_path / "run")]) == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert f"teen: environment {env} failed in lane 1, seed 3, step 0: {REASONS[how]}" in error


def test_a_run_in_a_thread_raises_and_saves(tmp_path):
    """A step that goes on for ever in Python. The process, which is somebody else's, goes on as well."""
    settings = SMALL.replace("--", "").replace("-", "_").split()
    options = {name: int(value) for name, value in zip(settings[::2], settings[1::2], strict=True)}
    raised: list[EnvironmentFault] = []

    def run() -> None:
        try:
            teen.train("teen", "tests.toys:Faulty-spins-v0", seeds="2,3", env_timeout=2.0, out=out, **options)
        except EnvironmentFault as fault:
            raised.append(fault)

    out = tmp_path / "run"
    thread = threading.Thread(target=run)
    thread.start()
    thread.join(120)
    assert "lane 1, seed 3, step 25: did not return within 2 s" in str(raised[0])
    assert teen.load(out).step == 20


def stepped_until_a_fault(lanes: envs.Lanes) -> str:
    """Return the fault's message. All numbers before it are finite."""
    for _ in range(100):
        try:
            step = lanes.step(np.zeros((2, lanes.envs.spec.action)))
        except EnvironmentFault as fault:
            return str(fault)
        for numbers in (step.next_obs, step.obs, step.reward):
            assert np.isfinite(numbers.astype(np.float32)).all()
    raise AssertionError("nothing failed")


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("repeat", [1, 5])
@pytest.mark.parametrize("how", ["nan-reward", "huge-reward", "nan-obs", "huge-obs", "nan-start", "exits"])
def test_what_is_not_finite_gets_no_further(how, repeat):
    lanes = envs.Lanes(envs.make(f"tests.toys:Faulty-{how}-v0", 2, action_repeat=repeat), [2, 3])
    fault = stepped_until_a_fault(lanes)
    assert f"lane 1, seed 3, step {step_of(how) // repeat}: {REASONS[how]}" in fault


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rewards_may_become_infinite_by_what_we_do_to_them(monkeypatch):
    """2e38 is finite in float32, 2 × 2e38 is not, added up or scaled. Observations are as large as they may be."""
    monkeypatch.setattr(Counter, "step", lambda self, action: (np.full(2, 3.4e38), 2e38, False, False, {}))
    name = "tests.toys:Counter-v0"
    plain = envs.Lanes(envs.make(name, 2), [0, 1]).step(np.zeros((2, 2)))
    assert plain.reward.tolist() == [2e38, 2e38]
    np.testing.assert_array_equal(plain.next_obs, np.full((2, 2), np.float32(3.4e38)))
    scaled = stepped_until_a_fault(envs.Lanes(envs.make(name, 2), [0, 1], reward_scale=2.0))
    assert "lane 0, seed 0, step 1: step returned a reward that, times --reward-scale 2, is not finite in" in scaled
    assert scaled.endswith("4e+38")
    repeated = stepped_until_a_fault(envs.Lanes(envs.make(name, 2, action_repeat=2), [0, 1]))
    assert repeated.endswith("a reward that is not finite in float32: 4e+38")


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("number", [np.nan, np.inf, -1e39])
def test_envpool_is_checked_as_well(number):
    """EnvPool's own numbers, with one replaced: in the reset of copy 1, then in its step."""
    pool = envs.make("Hopper-v4", 3, "envpool")
    lanes = envs.Lanes(pool, [5, 6, 7])

    class Broken:
        def __init__(self, intact):
            self.intact, self._send = intact, intact._send

        def reset(self, ids):
            obs, info = self.intact.reset(ids)
            obs[list(info["env_id"]).index(1), 3] = number
            return obs, info

        def _recv(self):
            state = dict(zip(pool._state_keys, self.intact._recv(), strict=True))
            column = state["obs"][:, 3] if self.what == "observation" else state["reward"]
            with np.errstate(over="ignore"):
                column[list(state["info:env_id"]).index(1)] = number
            return list(state.values())

    intact = pool._pool
    pool._pool = Broken(intact)
    with pytest.raises(EnvironmentFault, match="lane 1, seed 6, step 0: reset returned an observation that is not fin"):
        envs.Lanes(pool, [5, 6, 7])
    for what in ("observation", "reward"):
        pool._pool.what = what
        with pytest.raises(EnvironmentFault, match=f"lane 1, seed 6, step .: step returned an? {what} that is not fin"):
            lanes.step(np.zeros((3, 3)))
    pool._pool = intact
    assert np.isfinite(lanes.step(np.zeros((3, 3))).next_obs).all()


@pytest.mark.filterwarnings("ignore:.*WARN:UserWarning", "error::RuntimeWarning")
def test_an_evaluation_is_checked_from_its_start_on():
    pool = envs.make("tests.toys:Faulty-nan-start-v1", 4)
    starts = np.array([[2, 4], [6, 7]])
    with pytest.raises(EnvironmentFault, match="lane 1, seed 9, an evaluation's start: reset returned an observation"):
        rollout(pool, lambda obs: np.zeros((2, 2, 1)), [8, 9], starts)


@pytest.mark.parametrize("version", ["v0", "v1"])  # without and with Gymnasium's own checks
@pytest.mark.parametrize("how", UNUSABLE)
def test_an_environment_that_cannot_be_used_says_why(how, version, tmp_path, capsys):
    env = f"tests.toys:Odd-{how}-{version}"
    with pytest.raises(UserError) as refused:
        envs.make(env, 2)
    assert env in str(refused.value)
    assert str(refused.value).isprintable()
    if version == "v0":
        assert UNUSABLE[how] in str(refused.value)
    assert cli.main(["train", "--env", env, "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("teen: ")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("how", "reason"), [("badly", "RuntimeError: closed already"), ("with-exit", "SystemExit: 0")])
def test_close_that_raises_is_a_notice_and_the_result_counts(how, reason, tmp_path, capsys):
    env, out = f"tests.toys:Odd-closes-{how}-v0", tmp_path / "run"
    assert cli.main(["train", "--env", env, "--seeds", "2", *SMALL.split(), "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert f"notice: environment {env}: close raised {reason}" in captured.err.splitlines()
    assert cli.main(["eval", str(out), "--episodes", "1"]) == 0
    assert reason in capsys.readouterr().err


def test_ctrl_c_in_an_environment_is_no_fault(monkeypatch):
    pool = envs.make("tests.toys:PointMass-v0", 1)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for name in ("reset", "close"):
        monkeypatch.setattr(pool.envs[0], name, interrupted)
    with pytest.raises(KeyboardInterrupt):
        pool.reset([0], [1])
    with pytest.raises(KeyboardInterrupt):
        pool.close()
