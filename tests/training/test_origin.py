"""A run that begins with an agent's networks, `--from`."""

import csv
import json
import shutil

import jax
import numpy as np
import pytest

import teen
from teen import UserError, algos, envs
from teen.cli import main as cli
from teen.disk import saved
from teen.engine.evaluate import evaluate
from tests.export.agents import untrained

TASK = "tests.toys:PointMass-v0"
SMALL = {
    "width": 8, "batch": 16, "buffer": 60, "warmup": 50, "eval_every": 50, "eval_episodes": 2, "log_every": 50,
    "checkpoint_every": 50, "normalise_obs": True, "show": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """Return the folder of an agent with seeds 3 and 7."""
    out = tmp_path_factory.mktemp("old") / "run"
    teen.train("td3", TASK, seeds="3,7", steps=100, out=out, **SMALL)
    return out


@pytest.fixture(scope="module")
def run(old, tmp_path_factory):
    """Return a run that began with it, in the same program, so that nothing is compiled again."""
    out = tmp_path_factory.mktemp("new") / "run"
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if not isinstance(value, bool)]
    named = ["--algo", "td3", "--env", TASK, "--seeds", "3,7", "--steps", "100", "--normalise-obs", *arguments]
    assert cli.main(["train", *named, "--from", str(old), "--out", str(out)]) == 0
    return out


OBS = np.random.default_rng(0).normal(size=(50, 1)).astype(np.float32)


def rows(folder, step):
    """Return (seed, episode, return) of the evaluated policy at a step."""
    with (folder / "eval.csv").open() as file:
        found = [row for row in csv.DictReader(file) if (row["step"], row["policy"]) == (str(step), "mean")]
    return [(int(row["seed"]), int(row["episode"]), float(row["return"])) for row in found]


def test_the_first_evaluation_is_that_of_the_old_agent(old, run):
    """At the end of the warm-up nothing has been learnt: the same episodes, to the last bit."""
    agent = teen.load(old)
    pool = envs.make(TASK, 4)
    played = evaluate(agent.algo, agent.configs, agent.weights, pool, agent.seeds, 50, 2, False)
    assert rows(run, 50) == [(row.seed, row.episode, row.score) for lane in played for row in lane]
    assert rows(run, 50) != rows(old, 50)


def test_what_follows_is_learnt(old, run):
    """Neither what the old agent was, nor what a run from the start becomes."""
    first, second = teen.load(old), teen.load(run)
    assert not np.allclose(first.act(OBS), second.act(OBS), atol=1e-4)
    assert second.step == 100
    assert second.settings.from_ == str(old)


def test_it_is_recorded_where_it_came_from(old, run):
    (start,) = json.loads((run / "machine.json").read_text())
    assert start["from"].pop("sha256").isalnum()
    assert start["from"] == {"agent": str(old), "step": 100, "seeds": [3, 7]}
    text = (run / "config.toml").read_text()
    assert f'from_ = "{old}"' in text
    assert "from_seed = -1" in text
    assert 'from_ = ""' in (old / "config.toml").read_text()


LOGS = "eval.csv", "train.csv", "agent/weights.safetensors", "config.toml"


def test_the_same_run_again_by_its_config(run, tmp_path):
    assert cli.main(["train", "--config", str(run / "config.toml"), "--out", str(tmp_path / "again")]) == 0
    for name in LOGS:
        assert (tmp_path / "again" / name).read_bytes() == (run / name).read_bytes(), name


def test_a_resume_needs_no_origin(old, run, tmp_path):
    """As long as the other; the agent that it began with has gone meanwhile."""
    moved = tmp_path / "moved"
    settings = {**SMALL, "from_": str(old)}
    teen.train("td3", TASK, seeds="3,7", steps=60, out=tmp_path / "cut", **settings)
    shutil.move(old, moved)
    try:
        teen.resume(tmp_path / "cut", show=False, steps=100)
    finally:
        shutil.move(moved, old)
    cut = tmp_path / "cut"
    np.testing.assert_array_equal(teen.load(cut).act(OBS, seed=7), teen.load(run).act(OBS, seed=7))
    starts = json.loads((cut / "machine.json").read_text())
    assert ["from" in start for start in starts] == [True, False]


def made(old, algo="td3", task=TASK, **changes):
    """Return a model that begins with the old agent."""
    settings = {**SMALL, "seeds": "3,7", "from_": str(old), **changes}
    return getattr(teen, algo.upper())(task, **settings)


def test_a_model_is_the_old_agent_before_it_learns(old):
    agent = teen.load(old)
    model = made(old, lr=[1e-3, 1e-4])
    assert len(model.agents) == 2
    for new in model.agents:
        for seed in (3, 7):
            np.testing.assert_array_equal(new.act(OBS, seed=seed), agent.act(OBS, seed=seed))


def test_seeds_find_theirs_and_one_may_serve_all(old, tmp_path):
    agent = teen.load(old)
    np.testing.assert_array_equal(made(old, seeds="7,").act(OBS), agent.act(OBS, seed=7))
    both = made(old, seeds="1,2", from_seed=7)
    np.testing.assert_array_equal(both.act(OBS, seed=2), agent.act(OBS, seed=7))
    single = made(old, seeds="7,")
    single.save(tmp_path / "single")
    others = made(tmp_path / "single", seeds="4,5")
    np.testing.assert_array_equal(others.act(OBS, seed=5), agent.act(OBS, seed=7))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"width": 16}, "does not fit: --width is 8 there and 16 here; --config .*/config.toml takes its settings"),
        ({"critics": 3}, "does not fit: --critics is 2 there and 3 here"),
        ({"normalise_obs": False}, "does not fit: --normalise-obs is True there and False here"),
        ({"seeds": "3,8"}, r"seed 8 has no policy to begin with: .* has seeds \[3, 7\]; .* with --from-seed"),
        ({"from_seed": 5}, r"--from-seed 5: .* has seeds \[3, 7\]"),
        ({"from_seed": -2}, "--from-seed must be at least -1"),
        ({"task": "Pendulum-v1"}, "it was trained on tests.toys:PointMass-v0, and Pendulum-v1 has other sizes, 3 obs"),
        ({"from_": "nowhere"}, "nowhere is not a run folder"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_one_line(changes, words, old):
    with pytest.raises(UserError, match=words) as error:
        made(old, **changes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("algo", "changes", "words"),
    [
        ("td3", {}, "does not fit: --algo is 'teen' there and 'td3' here"),
        ("teen", {"n": 3}, "does not fit: --n is 2 there and 3 here"),
        ("teen", {"n": 2, "base": "sac"}, "does not fit: --base is 'td3' there and 'sac' here"),
    ],
    ids=str,
)
def test_another_algorithm_or_ensemble_does_not_fit(algo, changes, words, tmp_path):
    saved.export(tmp_path / "ensemble", untrained("teen", TASK, normalise_obs=True, n=2, epsilon=0.1))
    with pytest.raises(UserError, match=words):
        made(tmp_path / "ensemble", algo, **changes)


def test_nothing_is_written_where_it_does_not_fit(old, tmp_path):
    with pytest.raises(UserError, match="--width is 8 there and 16 here"):
        teen.train("td3", TASK, seeds="3,7", steps=100, out=tmp_path / "out", from_=old, **{**SMALL, "width": 16})
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_not_finite_are_refused(old, tmp_path):
    agent = teen.load(old)
    agent.weights = jax.tree.map(lambda leaf: leaf.at[1].set(np.nan), agent.weights)
    saved.export(tmp_path / "broken", agent)
    with pytest.raises(UserError, match="the agent's numbers are not finite"):
        made(tmp_path / "broken")
    made(tmp_path / "broken", seeds="3,")  # whose are


def test_its_files_name_no_module_that_is_not_trusted(old, tmp_path, monkeypatch):
    """As `teen.load`, though the agent's environment is not stepped."""
    folder = tmp_path / "strange"
    saved.export(folder, teen.load(old))
    for name in ("agent/agent.json", "config.toml"):
        text = (folder / name).read_text().replace("tests.toys:PointMass-v0", "strange_tasks:PointMass-v0")
        (folder / name).write_text(text)
    with pytest.raises(UserError, match="asks for the module 'strange_tasks'"):
        made(folder)
    (tmp_path / "strange_tasks.py").write_text("from tests.toys import PointMass\n")
    monkeypatch.syspath_prepend(tmp_path)
    agent = made(folder, trust="strange_tasks").agent
    np.testing.assert_array_equal(agent.act(OBS), teen.load(old).act(OBS))


def test_an_algorithm_without_adopt_says_so(old, monkeypatch):
    without = algos.find("td3", True)._replace(adopt=None)
    monkeypatch.setattr(algos, "find", lambda *name: without)
    with pytest.raises(UserError, match="td3 has no --from: give its Algorithm an `adopt`"):
        made(old)
    unlike = without._replace(adopt=lambda cfg, state, weights: state._replace(nothing=weights))
    monkeypatch.setattr(algos, "find", lambda *name: unlike)
    with pytest.raises(UserError, match="td3 has no --from"):
        made(old)
