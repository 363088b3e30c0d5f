import gymnasium
import pytest

from teen.cli import main as cli
from teen.config.job import resolve
from teen.envs import pool
from teen.errors import UserError
from tests.registry import restored_registry
from tests.toys import PointMass


def resolved(**values):
    job = resolve({"preset": "paper", **values})
    return job.settings, job.variants[0].config


def test_the_papers_settings_per_suite():
    settings, teen = resolved(env="HalfCheetah")
    plan = settings.plan
    assert settings.env == "HalfCheetah-v4"
    assert (plan.eval_every, plan.eval_episodes, plan.warmup, plan.batch) == (5000, 10, 25_000, 256)
    assert (teen.n, teen.m, teen.alpha, teen.period) == (10, 2, 0.2, 50_000)
    settings, teen = resolved(env="fish-swim")
    assert settings.env == "dm_control/fish-swim"
    assert teen.alpha == 0.02
    settings, td3 = resolved(env="Ant-v5", algo="td3")
    assert settings.env == "Ant-v5"
    assert td3.critics == 2


@pytest.mark.parametrize(
    ("algo", "changed"),
    [
        ("teen", {"lr": 6e-4, "utd": 2}),
        ("td3", {"lr": 1e-3, "utd": 2}),
        ("sac", {"lr": 1e-3, "utd": 2}),
        ("rnd", {}),
        ("sunrise", {}),
        ("redq", {}),
    ],
)
def test_tuned_is_the_papers_but_for_what_it_says(algo, changed):
    tuned, paper = (resolve({"preset": name, "algo": algo, "env": "Walker2d"}).flat() for name in ("tuned", "paper"))
    assert tuned["env"] == "Walker2d-v4"
    assert {name: tuned[name] for name in tuned if tuned[name] != paper[name]} == changed
    suite = [resolve({"preset": name, "algo": algo, "env": "fish-swim"}) for name in ("tuned", "paper")]
    assert suite[0] == suite[1]  # chosen on MuJoCo's tasks, for them alone


def test_what_is_given_beside_a_preset_wins():
    settings, teen = resolved(env="fish-swim", alpha=1.0, steps=100)
    assert (teen.alpha, settings.plan.steps) == (1.0, 100)


def test_unknown_presets(capsys):
    with pytest.raises(UserError, match="unknown preset 'fast': choose from paper, tuned"):
        resolve({"preset": "fast", "env": "Ant"})
    assert cli.main(["train", "--preset", "fast", "--env", "Ant"]) == 2
    assert "unknown preset 'fast'" in capsys.readouterr().err


def test_envs_lists_tasks_with_sizes_backends_and_the_papers_tables(capsys):
    assert cli.main(["envs", "ant-v"]) == 0
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["Ant-v3"] == ["111", "8", "envpool", "table", "1"]
    assert lines["Ant-v4"] == ["27", "8", "gymnasium,", "envpool", "table", "1"]
    assert lines["Ant-v5"] == ["105", "8", "gymnasium,", "envpool", "table", "1"]
    assert cli.main(["envs", "walker-run"]) == 0
    assert ["dm_control/walker-run", "24", "6", "gymnasium,", "envpool", "table", "2"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]
    assert cli.main(["envs", "nothing-like-it"]) == 2


@pytest.mark.parametrize(("version", "backends"), [("1.2.5", ["gymnasium"]), ("1.2.6", ["gymnasium,", "envpool"])])
def test_envs_lists_envpool_for_the_finger_where_it_is_sound(version, backends, monkeypatch, capsys):
    monkeypatch.setattr(pool, "_version", lambda: tuple(map(int, version.split("."))))
    assert cli.main(["envs", "finger-spin"]) == 0
    assert ["dm_control/finger-spin", "9", "2", *backends, "table", "2"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]


def test_envs_lists_every_task_that_is_registered_and_says_what_it_cannot_list(capsys):
    with restored_registry():
        gymnasium.register("other_package/Reacher-v0", PointMass, max_episode_steps=5)
        assert cli.main(["envs", "REACHER-v"]) == 0
    output = capsys.readouterr()
    lines = {line.split()[0]: line.split()[1:] for line in output.out.splitlines()}
    assert lines["other_package/Reacher-v0"] == ["1", "1", "gymnasium"]
    assert lines["Reacher-v2"] == ["11", "2", "envpool"]
    assert "not listed: tasks of your own, which are named package.module:Id" in output.err
