"""`teen train` as a user meets it; in process, except where a process is the point."""

import csv
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import teen
from teen.cli import main as cli
from teen.config import toml
from tests.support import same_in_every_run

from .conftest import ENV, TRAIN


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_run_leaves_what_it_promises(trained):
    assert {p.name for p in trained.iterdir()} == {
        "config.toml",
        "eval.csv",
        "train.csv",
        "agent",
        "agent-best",
        "checkpoint",
        "curve.png",
        "timing.csv",
        "machine.json",
    }
    episodes = rows(trained / "eval.csv")
    assert list(episodes[0]) == ["seed", "step", "policy", "episode", "return", "length"]
    assert [(r["seed"], r["step"], r["policy"], r["episode"]) for r in episodes] == [
        *((s, "30", "mean", e) for s in "01" for e in "01"),
        *((s, "60", p, e) for s in "01" for p, e in [("mean", "0"), ("mean", "1"), *((k, "0") for k in "012")]),
    ]
    assert all(r["length"] == "40" for r in episodes)
    metrics = rows(trained / "train.csv")
    assert [(r["seed"], r["step"]) for r in metrics] == [(s, t) for t in ("40", "60") for s in "01"]
    wanted = (
        "critic_loss actor_loss discriminator_loss q target discriminator_accuracy diversity_bound "
        "clipped_share diversity_pull action_spread saturated_share critic_grad_norm actor_grad_norm "
        "discriminator_grad_norm"
    )
    assert set(wanted.split()) <= set(metrics[0])
    assert list(metrics[0])[:4] == ["seed", "step", "episode_return", "episode_length"]
    assert [r.pop("episode_length") for r in metrics] == ["40.0", "40.0", "", ""]
    assert [bool(r.pop("episode_return")) for r in metrics] == [True, True, False, False]
    assert all(np.isfinite(float(value)) for row in metrics for value in row.values())
    assert (trained / "curve.png").read_bytes().startswith(b"\x89PNG")
    text = (trained / "config.toml").read_text()
    assert str(trained) not in text
    assert 'env = "tests.toys:PointMass-v0"' in text


def test_the_same_command_twice_and_its_config_give_identical_files(trained, tmp_path):
    assert cli.main([*TRAIN, "--out", str(tmp_path / "again")]) == 0
    assert same_in_every_run(tmp_path / "again") == same_in_every_run(trained)
    arguments = ["train", "--config", str(trained / "config.toml"), "--out", str(tmp_path / "config")]
    assert cli.main(arguments) == 0
    assert same_in_every_run(tmp_path / "config") == same_in_every_run(trained)


def test_flags_override_the_config_file(trained, tmp_path, capsys):
    arguments = [
        "train",
        "--config",
        str(trained / "config.toml"),
        "--steps",
        "30",
        "--out",
        str(tmp_path / "x"),
    ]
    assert cli.main(arguments) == 0
    assert {r["step"] for r in rows(tmp_path / "x" / "eval.csv")} == {"30"}
    output = capsys.readouterr()
    assert "warm-up until step 20\nstep 30/30" in output.out
    assert "mean over 2 seeds" in output.out
    assert output.out.count("│") == 2 * 5  # a line for each seed


@pytest.mark.parametrize("flags", [[], ["--members"]])
def test_members_are_shown_on_request(flags, trained, tmp_path, capsys):
    run = shutil.copytree(trained, tmp_path / "run")
    assert cli.main(["train", "--resume", str(run), *flags]) == 0
    assert capsys.readouterr().out.count("│") == (2 * (1 + 3) * 6 if flags else 2 * 5)
    assert (run / "config.toml").read_bytes() == (trained / "config.toml").read_bytes()


def test_each_variant_has_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "sweep"
    assert cli.main([*TRAIN, "--alpha", "0,5", "--seeds", "4,", "--out", str(out)]) == 0
    assert sorted(p.name for p in out.iterdir()) == ["alpha=0", "alpha=5", "checkpoint"]
    for name, alpha in (("alpha=0", 0.0), ("alpha=5", 5.0)):
        assert toml.parse((out / name / "config.toml").read_bytes(), out / name / "config.toml")["alpha"] == alpha
        assert {r["seed"] for r in rows(out / name / "eval.csv")} == {"4"}
        assert teen.load(out / name).config.alpha == alpha
    assert rows(out / "alpha=0" / "train.csv") != rows(out / "alpha=5" / "train.csv")


def test_arguments_of_the_environment_become_part_of_its_name(tmp_path, capsys):
    flags = f"--algo td3 --env {ENV} --width 8 --batch 16 --steps 20 --warmup 10 --eval-every 20 --eval-episodes 1"
    command = ["train", *flags.split(), "--env-kwargs", "max_episode_steps=7", "disable_env_checker=true"]
    assert cli.main([*command, "--out", str(tmp_path / "run")]) == 0
    name = f"{ENV}{{disable_env_checker = true, max_episode_steps = 7}}"
    assert f'env = "{name}"' in (tmp_path / "run" / "config.toml").read_text()
    assert {row["length"] for row in rows(tmp_path / "run" / "eval.csv")} == {"7"}
    assert {episode.length for episode in teen.load(tmp_path / "run").evaluate(2)} == {7}


def test_negative_numbers_make_variants_after_an_equals_sign(tmp_path, capsys):
    flags = "--algo sac --env tests.toys:PointMass-v0 --steps 20 --warmup 10 --eval-every 20"
    small = ["train", *flags.split()]
    assert cli.main([*small, "--target-entropy", "-1,-0.5", "--out", str(tmp_path / "flag")]) == 2
    assert "--flag=-1,-2" in capsys.readouterr().err
    assert cli.main([*small, "--target-entropy=-1,-0.5", "--out", str(tmp_path / "both")]) == 0
    assert {p.name for p in (tmp_path / "both").iterdir()} >= {"target_entropy=-1", "target_entropy=-0.5"}


def test_the_name_of_a_folder_is_no_markup(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flags = f"--algo td3 --env {ENV} --width 8 --batch 16 --steps 20 --warmup 10 --eval-every 20 --eval-episodes 1"
    assert cli.main(["train", *flags.split(), "--out", "a[/b]c"]) == 0
    out = capsys.readouterr().out
    assert "a[/b]c after 20 steps" in out
    assert out.splitlines()[-1] == "picture: a[/b]c/curve.png"


def test_without_out_the_next_free_folder_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "td3-tests.toys-PointMass-v0-1").mkdir(parents=True)
    outcome = teen.train("td3", ENV, seeds=1, steps=20, warmup=10, eval_every=20, eval_episodes=1, show=False)
    assert outcome.folders == [Path("runs/td3-tests.toys-PointMass-v0-2")]
    assert {e.policy for e in outcome.episodes[0]} == {"mean"}


def test_normaliser_is_saved_with_the_agent_and_reward_scale_leaves_evaluation_alone(tmp_path):
    settings = {"seeds": 1, "steps": 60, "warmup": 20, "eval_every": 60, "eval_episodes": 2, "width": 8, "batch": 16}
    outcome = teen.train("td3", ENV, **settings, normalise_obs=True, out=tmp_path / "a", show=False)
    loaded, kept = teen.load(tmp_path / "a").weights.statistics, outcome.agents[0].weights.statistics
    assert float(kept.rows[0]) == 40 * 16
    for a, b in zip(loaded, kept, strict=True):
        np.testing.assert_array_equal(a, b)
    assert -2 < float(loaded.mean[0, 0]) < 2
    assert float(loaded.squares[0, 0]) > 0
    scaled = teen.train("td3", ENV, **settings, reward_scale=100, out=tmp_path / "b", show=False)
    assert min(episode.score for episode in scaled.episodes[0]) > -200  # 40 steps of at most -4 each


def start(arguments: list[str], **options) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": "src", "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "teen", *arguments],
        env=environment,
        text=True,
        stderr=subprocess.PIPE,
        **options,
    )


def test_ctrl_c_saves_the_agent_and_leaves_whole_logs(tmp_path):
    """Also: `python -m teen` works from a source checkout."""
    out = tmp_path / "run"
    process = start([*TRAIN, "--steps", "10000000", "--out", str(out)], stdout=subprocess.PIPE)
    try:
        for line in process.stdout:
            if line.startswith("step 150/"):
                process.send_signal(signal.SIGINT)
                break
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "the agent so far is saved" in errors
    agent = teen.load(out)
    assert agent.step >= 150
    for name in ("eval.csv", "train.csv"):
        text = (out / name).read_text()
        assert text.endswith("\n")
        assert len({line.count(",") for line in text.splitlines()}) == 1
    assert (out / "curve.png").exists()


def test_a_terminal_gets_a_live_display(tmp_path):
    main, other = pty.openpty()
    process = start([*TRAIN, "--steps", "90", "--out", str(tmp_path / "run")], stdout=other)
    os.close(other)
    screen, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            chunk = os.read(main, 65536)
        except OSError:  # the terminal closes with the process
            break
        if not chunk:
            break
        screen += chunk
    process.communicate(timeout=60)
    os.close(main)
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.decode())  # without colours and cursor moves
    assert process.returncode == 0
    for part in ("step 90 of 90", "warm-up until step 20", "elapsed", "last evaluation", "seed 1", "diversity_bound"):
        assert part in text


def test_the_replay_is_announced_with_its_size_and_place(tmp_path, capsys):
    arguments = (
        "--env tests.toys:PointMass-v0 --seeds 2 --n 2 --width 8 --batch 16 --steps 40 --warmup 20 --eval-every 40"
    )
    for place, words in (("auto", "memory of cpu"), ("host", "host memory")):
        out = str(tmp_path / place)
        assert cli.main(["train", *arguments.split(), "--replay", place, "--out", out]) == 0
        assert f"replay: 0.00 GB in {words}" in capsys.readouterr().err


def test_a_task_without_a_version_is_said_and_recorded_with_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    flags = "--algo td3 --env tests.toys:PointMass --width 8 --batch 16 --steps 20 --warmup 10 --eval-every 20"
    assert cli.main(["train", *flags.split(), "--eval-episodes", "1"]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("notice: ")]
    assert told == [f"notice: --env tests.toys:PointMass is taken as {ENV}, its newest version here"]
    (run,) = Path("runs").iterdir()
    assert run.name == "td3-tests.toys-PointMass-v0-1"
    assert toml.parse((run / "config.toml").read_bytes(), run)["env"] == ENV
    assert teen.load(run).settings.env == ENV


@pytest.mark.parametrize(
    ("line", "flags", "said"),
    [
        ('from_ = "hf:me/agent"', [], "begins with an agent on the Hub: say --from hf:me/agent to download it"),
        ("", ["--from-seed", "3"], "--from-seed 3 is for --from RUN, which is not given"),
    ],
)
def test_a_file_does_not_download_and_a_seed_of_nothing_is_no_seed(tmp_path, capsys, line, flags, said):
    (tmp_path / "config.toml").write_text(f'algo = "td3"\nenv = "Pendulum-v1"\nsteps = 200\nwarmup = 50\n{line}\n')
    out = ["--out", str(tmp_path / "run")]
    assert cli.main(["train", "--config", str(tmp_path / "config.toml"), *out, *flags]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
