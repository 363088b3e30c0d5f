"""Run folders that a stranger made, hundreds of them: every command that reads one answers in one line, executes
nothing, changes nothing outside, and needs little time and memory. One that fails is looked at with

    python -m tests.hostile.sweep --seed SEED --keep FOLDER
"""

from collections import Counter

import pytest

from . import broken, checks, generator
from .commands import COMMANDS
from .process import Worker
from .sweep import main, sweep

OFTEN, RARELY = range(100), range(100, 300)
HEAVY = 2  # of the slow commands for each of them


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.fixture
def work(folder):
    """Return the folder with the valid runs."""
    worker = Worker(folder)
    worker.make_valid()
    worker.close()
    return folder


@pytest.mark.parametrize("seeds", [OFTEN, pytest.param(RARELY, marks=pytest.mark.full)], ids=["some", "more"])
def test_no_hostile_run_does_harm(folder, seeds):
    """The worker that trains the valid runs goes on with the others: it has compiled their programs."""
    results = list(sweep(seeds, folder, heavy=HEAVY))
    failures = [str(result) for result in results if result.problems]
    assert not failures, "\n".join(failures)
    counts = Counter(result.command for result in results)
    for name, command in COMMANDS.items():
        assert counts[name] >= (len(seeds) if command.light else 10), name
    assert {result.code for result in results} >= {0, 2}  # some are refused, some are harmless


def test_the_sweep_sees_what_is_wrong(work):
    worker = Worker(work, "tests.hostile.broken", limit=20)
    results = {result.command: result for result in worker.try_seed(0, list(broken.COMMANDS))}
    worker.close()
    for name, (_, words) in broken.EXPECTED.items():
        problems = results[name].problems
        assert [problem for problem in problems if words in problem] if words else not problems, (name, problems)


def test_the_same_seed_gives_the_same_folder(work, tmp_path):
    for seed in range(30):
        scenes = [tmp_path / name / f"{seed}" for name in ("one", "another")]
        words = [generator.build(generator.plan(seed), scene, work / "valid")[1] for scene in scenes]
        assert words[0] == words[1]
        looks = [looks_of(scene) for scene in scenes]
        assert looks[0] == looks[1]


def looks_of(scene):
    """Return names and contents without times."""
    taken = checks.snapshot(scene, ()).items()
    return {name.removeprefix(str(scene)): (look[0], *look[3:]) for name, look in taken}


def test_a_seed_is_shown_and_kept(work, tmp_path, capsys):
    (tmp_path / "valid").symlink_to(work / "valid")
    assert main(["--seed", "1", "--heavy", "0", "--keep", str(tmp_path)]) in (0, 1)
    shown = capsys.readouterr().out
    assert "seed 1, compare" in shown
    assert (tmp_path / "seed-1" / "runs").is_dir()
