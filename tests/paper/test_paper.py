"""The command as a user meets it, and a smoke test from nothing to tables and figures."""

import jax
import pytest

from teen.cli.main import main
from teen.cli.paper import command
from teen.envs.names import is_suite
from teen.errors import UserError
from teen.paper import estimate, recorded
from teen.paper.experiments import EXPERIMENTS
from teen.paper.runs import planned_runs
from teen.paper.scale import Scale
from teen.training.prepared import Prepared

from .synthetic import needs, write

NAMES = [
    *("table1", "table2", "claims", "curves-mujoco", "curves-dmc", "ablation-n", "ablation-m", "ablation-alpha"),
    *("reward-scale", "region", "humanoid", "theory"),
]


def test_experiments_are_listed_a_line_each(capsys):
    assert command([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES == list(EXPERIMENTS)


@pytest.mark.parametrize("name", ["table3", "table 1", ""])
def test_an_unknown_experiment_names_the_known_ones(name):
    with pytest.raises(UserError) as error:
        command([name])
    assert all(known in str(error.value) for known in NAMES)
    assert "did you mean 'table" in str(error.value) or not name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table1", "--steps", "1"], "--steps must be at least 2, not 1"),
        (["table1", "--steps", "many"], "argument --steps: invalid int value: 'many'"),
        (["table1", "--step", "100"], "there is no --step: did you mean --steps?"),
        (["table1", "--seeds", "x"], "--seeds"),
        (["table1", "--seeds", "0"], "--seeds"),
        (["table3", "--smoke", "--run"], "unknown experiment 'table3'"),
        (["table1", "--run", "--draw"], "--draw: not allowed with argument --run"),
        (["table1", "--run", "--measure"], "--measure: not allowed with argument --run"),
        (["table1", "--draw", "--measure"], "--measure: not allowed with argument --draw"),
        (["--run"], "which experiments?"),
        (["--draw"], "which experiments?"),
        (["--measure"], "which experiments?"),
        (["--smoke"], "which experiments?"),
        (["--seeds", "2"], "which experiments?"),
    ],
)
def test_the_users_mistakes_take_a_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["paper", *arguments]) == 2
    out, line = capsys.readouterr()
    assert not out
    assert line.count("\n") == 1
    assert message in line
    assert not any(tmp_path.iterdir())


@pytest.fixture
def unmeasured(monkeypatch):
    """Fails the test if anything is measured or trained, or a device is looked for."""
    for module, name in ((estimate, "measure"), (estimate, "machine"), (Prepared, "of"), (jax, "devices")):
        monkeypatch.setattr(module, name, lambda *_, name=name: pytest.fail(f"called {name}"))


def test_the_plan_says_what_is_there_and_how_to_go_on(tmp_path, unmeasured, capsys):
    assert command(["table1", "--out", str(tmp_path)]) == 0
    text, progress = capsys.readouterr()
    assert "teen-HalfCheetah-v4,alpha=0.2+0,seeds=0-9" in text
    assert f"\nin {tmp_path}: 20 programs, 20 missing\n" in text
    assert "on an NVIDIA H200 with 16 cores, about " in text
    assert "on 2 cores (AMD EPYC)" in text
    assert "--measure measures this machine" in text
    assert text.endswith(f"teen paper table1 --out {tmp_path} --run\n")
    assert not progress
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("flags", [["all"], ["all", "--smoke"], ["table1", "--seeds", "1"], ["theory"]])
def test_no_plan_measures_unless_asked_to(tmp_path, unmeasured, capsys, flags):
    assert command([*flags, "--out", str(tmp_path)]) == 0
    hinted = "--measure measures this machine" in capsys.readouterr().out
    assert hinted == (flags in (["all"], ["table1", "--seeds", "1"]))


def test_the_plan_adds_up_the_time_of_all_programs(tmp_path, monkeypatch, capsys):
    """Eight programs of 10 lanes × 10 members, a million steps each at 3.6 or 36 ms; one is half done."""
    fast, slow = (recorded.Machine(f"a {word} one", [(100, ms)], {}) for word, ms in (("fast", 3.6), ("slow", 36)))
    monkeypatch.setattr(recorded, "machines", lambda: {"fast": fast, "slow": slow})
    first, *_ = planned_runs(needs("reward-scale"), tmp_path)
    write(first, 1.0, until=500_000, checkpoint=500_000)
    assert command(["reward-scale", "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "left: about 7.5 h on a fast one, about 3.1 days on a slow one\n" in text
    times = [line.split()[-4:] for line in text.splitlines() if line.startswith("teen-")]
    assert times == [["30", "min", "5", "h"], *[["60", "min", "10", "h"]] * 7]


def test_this_machine_is_measured_when_asked_to(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(estimate, "measure", lambda planned: 0.001)
    assert command(["table1", "--measure", "--out", str(tmp_path)]) == 0
    text, progress = capsys.readouterr()
    assert "left: about 5.6 h here" in text
    assert "an estimate" in text
    assert "H200" not in text
    assert text.endswith(f"teen paper table1 --out {tmp_path} --run\n")
    assert "measuring 20 of 20: " in progress


def test_the_plan_says_what_is_there_before_it_measures(tmp_path, monkeypatch, capsys):
    printed = []

    def measure(planned):
        printed.append(capsys.readouterr())
        return 0.001

    monkeypatch.setattr(estimate, "measure", measure)
    first, *_ = planned_runs(needs("humanoid"), tmp_path)
    write(first, 1.0)
    assert command(["humanoid", "theory", "reward-scale", "--out", str(tmp_path), "--measure"]) == 0
    said = printed[0].out.splitlines()
    assert [line for line in said if line.startswith("  ")] == [
        "  3 programs, 1 done, 2 missing",
        "  8 programs, 8 missing",
    ]
    assert [line.partition(":")[0] for line in said if not line.startswith("  ")] == [
        "humanoid",
        "theory",
        "reward-scale",
    ]
    assert "measuring how fast" in printed[0].err
    assert f"in {tmp_path}: 11 programs, 1 done, 10 missing" in capsys.readouterr().out


@pytest.mark.parametrize("action", [[], ["--measure"], ["--run"], ["--draw"]])
def test_a_file_is_no_folder_for_results(tmp_path, monkeypatch, action):
    monkeypatch.setattr(estimate, "measure", lambda planned: pytest.fail("measured"))
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file is not a folder"):
        command(["table1", "--out", str(tmp_path / "file"), *action])


def test_the_plan_tells_what_goes_on_from_what_begins_again(tmp_path, unmeasured, capsys):
    scale = Scale(seeds=(0, 1))
    first, second, *_ = planned_runs(needs("table1", scale=scale), tmp_path)
    write(first, 1.0, until=300_000, checkpoint=275_000)
    write(second, 1.0, until=300_000)
    assert command(["table1", "--out", str(tmp_path), "--seeds", "2"]) == 0
    text = capsys.readouterr().out
    assert "cut at 275,000" in text
    assert "no checkpoint: begins again" in text


def test_what_is_there_can_be_drawn_without_training(tmp_path, capsys):
    assert command(["table1", "--out", str(tmp_path), "--draw"]) == 0
    assert "24 of 24 entries lack something" in capsys.readouterr().out
    page = (tmp_path / "table1" / "table1.md").read_text()
    assert "| TEEN | – (10139 ± 623) |" in page
    assert not (tmp_path / "runs").exists()


def test_a_smoke_test_asks_for_little():
    for experiment in EXPERIMENTS.values():
        for entry in experiment.entries(Scale(smoke=True)):
            assert entry.need.steps <= 300
            assert entry.need.seeds == (0, 1)
            assert entry.need.settings()["width"] == 32
            assert entry.need.settings()["warmup"] == 50
            assert entry.need.settings().get("n", 3) <= 3
        tasks = {entry.need.env for entry in experiment.entries(Scale(smoke=True))}
        assert len({is_suite(task) for task in tasks}) == len(tasks)  # one of each kind


def smoke(out, capsys, *names):
    """Runs them twice: the second time everything is there."""
    arguments = [*names, "--smoke", "--out", str(out), "--run"]
    assert command(arguments) == 0
    printed = capsys.readouterr().out
    for name in NAMES if names == ("all",) else names:
        page = (out / name / f"{name}.md").read_text()
        assert "Missing" not in page
        assert ("SMOKE" in page) == (name != "theory")
        assert list((out / name).glob("*.csv"))
        assert list((out / name).glob("*.pdf"))
        assert len(list((out / name).glob("*.png"))) == page.count(".png)")
        assert f"{name}: {out / name / name}.md\n" in printed
    logs = {path: path.stat().st_mtime_ns for path in out.rglob("eval.csv")}
    assert command(arguments) == 0
    assert {path: path.stat().st_mtime_ns for path in out.rglob("eval.csv")} == logs
    assert command(arguments[:-1]) == 0
    assert f"{len(list(out.glob('runs/*')) + list(out.glob('agents/*')))} done" in capsys.readouterr().out


def test_smoke_of_some(tmp_path, capsys):
    smoke(tmp_path, capsys, "ablation-alpha", "reward-scale", "theory")
    agents = (tmp_path / "ablation-alpha" / "ablation-alpha.md").read_text().partition("## The trained agents")[2]
    assert "| HalfCheetah-v4 | α=0.2 | 300 |" in agents
    assert "–" not in agents.splitlines()[4]


@pytest.mark.full
def test_smoke_of_all(tmp_path, capsys):
    smoke(tmp_path, capsys, "all")
