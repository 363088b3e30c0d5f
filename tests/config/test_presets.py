import pytest

from teen.cli import main as cli
from teen.config import job as config
from teen.errors import UserError


def resolved(**values):
    job = config.resolve({"preset": "paper", **values})
    return job.run, job.variants[0].config


def test_the_papers_settings_per_suite():
    run, teen = resolved(env="HalfCheetah")
    assert run.env == "HalfCheetah-v4"
    assert (run.eval_every, run.eval_episodes, run.warmup, run.batch) == (5000, 10, 25_000, 256)
    assert (teen.n, teen.m, teen.alpha, teen.period) == (10, 2, 0.2, 50_000)
    run, teen = resolved(env="fish-swim")
    assert run.env == "dm_control/fish-swim"
    assert teen.alpha == 0.02
    run, td3 = resolved(env="Ant-v5", algo="td3")
    assert run.env == "Ant-v5"
    assert td3.critics == 2


def test_what_is_given_beside_a_preset_wins():
    run, teen = resolved(env="fish-swim", alpha=1.0, steps=100)
    assert (teen.alpha, run.steps) == (1.0, 100)


def test_unknown_presets(capsys):
    with pytest.raises(UserError, match="unknown preset 'fast': choose from paper"):
        config.resolve({"preset": "fast", "env": "Ant"})
    assert cli.main(["train", "--preset", "fast", "--env", "Ant"]) == 2
    assert "unknown preset 'fast'" in capsys.readouterr().err


def test_envs_lists_tasks_with_sizes_backends_and_the_papers_tables(capsys):
    assert cli.main(["envs", "ant-v"]) == 0
    lines = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert lines["Ant-v3"] == ["111", "8", "envpool", "table", "1"]
    assert lines["Ant-v4"] == ["27", "8", "gymnasium,", "envpool", "table", "1"]
    assert lines["Ant-v5"] == ["105", "8", "gymnasium,", "envpool", "table", "1"]
    assert cli.main(["envs", "finger-spin"]) == 0
    assert ["dm_control/finger-spin", "9", "2", "gymnasium,", "envpool", "table", "2"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]
    assert cli.main(["envs", "nothing-like-it"]) == 2
