"""What the command says of bad input: a command, its one line, its exit code. Nothing is written."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import teen
from teen import algos, settings
from teen.cli import main as cli
from teen.config import aliases
from teen.config.job import resolve
from teen.config.run import RunSettings

from .conftest import ENV, SMALL

TRAIN = f"train --env {ENV} --seeds 2 {SMALL}"
HELP = "(see teen train --help)"
TASKS = "; teen envs lists what there is"
ONE_ENVIRONMENT = "each seed is a lane with one environment of its own, so --seeds 4 steps four"
DEVICE = "JAX takes a GPU where it finds one, or what JAX_PLATFORMS says, as in JAX_PLATFORMS=cpu teen train"
NOTHING_LEARNT = "all steps would be random, and nothing would be learnt; lower --warmup, for example to"

# A command and its line, without `teen: `. A line that ends with … goes on in words of a library or the system.
REFUSED = [
    # a run that would learn nothing
    (
        "train --algo sac --env Pendulum-v1 --steps 10000",
        f"--warmup 25000 is not below --steps 10000: {NOTHING_LEARNT} 1000, or raise --steps",
    ),
    (f"{TRAIN} --warmup 60", f"--warmup 60 is not below --steps 60: {NOTHING_LEARNT} 6, or raise --steps"),
    ("train --config short.toml", f"--warmup 20 is not below --steps 9: {NOTHING_LEARNT} 0, or raise --steps"),
    (
        "paper table1 --steps 100 --run",
        f"--warmup 25000 is not below --steps 100: {NOTHING_LEARNT} 10, or raise --steps",
    ),
    # arguments of the environment
    (f"{TRAIN} --env-kwargs g=abc", "'g=abc' are no arguments of an environment: write key=value, …"),
    (f"{TRAIN} --env-kwargs size", "'size' are no arguments of an environment: write key=value, …"),
    (f"{TRAIN} --env-kwargs size=3", f"environment '{ENV}{{size = 3}}' cannot be made: …"),
    # other libraries' names
    (
        f"{TRAIN} --seed 3",
        "there is no --seed: did you mean --seeds? --seeds 3, is seed 3 alone, --seeds 3 are three seeds " + HELP,
    ),
    (f"{TRAIN} --learning-rate 1e-3", f"there is no --learning-rate: did you mean --lr? {HELP}"),
    (f"{TRAIN} --learning_rate=1e-3", f"there is no --learning-rate: did you mean --lr? {HELP}"),
    (f"{TRAIN} --total-timesteps 1000", f"there is no --total-timesteps: did you mean --steps? {HELP}"),
    (f"{TRAIN} -n 1000", f"there is no -n: did you mean --steps? {HELP}"),
    (f"{TRAIN} --batch-size 64", f"there is no --batch-size: did you mean --batch? {HELP}"),
    ("train --env-id Pendulum-v1", f"there is no --env-id: did you mean --env? {HELP}"),
    (f"{TRAIN} --num-envs 4", f"there is no --num-envs: {ONE_ENVIRONMENT} {HELP}"),
    (f"{TRAIN} --device cuda", f"there is no --device: {DEVICE} {HELP}"),
    (f"{TRAIN} -f logs", f"there is no -f: did you mean --out? {HELP}"),
    # other algorithms' settings
    ("train --algo td3 --env Pendulum-v1 --alpha 0.2", f"td3 has no --alpha: teen has {HELP}"),
    ("train --algo td3 --env Pendulum-v1 --n 5", f"td3 has no --n: teen and sunrise have {HELP}"),
    ("train --algo teen --env Pendulum-v1 --temperature auto", f"teen has no --temperature: --base sac has {HELP}"),
    (
        "train --algo sac --env Pendulum-v1 --alpha 0.2",
        f"there is no --alpha: did you mean --start-temperature? --temperature fixed keeps it {HELP}",
    ),
    (
        "train --algo td3 --env Pendulum-v1 --ent-coef 0.2",
        f"td3 has no --ent-coef, which is --start-temperature here: sac, sunrise and redq have {HELP}",
    ),
    # slips
    ("fly", f"unknown command 'fly': choose from {', '.join(cli.COMMANDS)}"),
    (f"{TRAIN} --alpa 1", f"there is no --alpa: did you mean --alpha? {HELP}"),
    (f"{TRAIN} --eval-ep 1", f"there is no --eval-ep: did you mean --eval-every? {HELP}"),  # no abbreviation
    (f"{TRAIN} --zzz 1 --alpa 1", f"there is no --zzz for algorithm teen {HELP}"),
    (f"{TRAIN} HalfCheetah-v5", f"unrecognized argument 'HalfCheetah-v5' {HELP}"),
    ("eval full --num-episodes 3", "there is no --num-episodes: did you mean --episodes? (see teen eval --help)"),
    ("eval full --zzz", "there is no --zzz (see teen eval --help)"),
    ("envs ant bee", "unrecognized argument 'bee' (see teen envs --help)"),
    ("eval", "the following arguments are required: run (see teen eval --help)"),
    ("paper table9", "unknown experiment 'table9': choose from …"),
    # tasks and algorithms
    ("train", "--env is missing: for example --env Pendulum-v1"),
    (f"{TRAIN} --env NoSuch-v9", f"environment 'NoSuch-v9' cannot be made: Environment NoSuch doesn't exist{TASKS}"),
    (f"{TRAIN} --env NoSuch", f"environment 'NoSuch' cannot be made: Environment NoSuch doesn't exist{TASKS}"),
    (f"{TRAIN} --env NoSuch-v9 --epsilon 0.4", "environment 'NoSuch-v9' cannot be made…"),  # no notice before
    (f"{TRAIN} --env HalfCheeta-v5", "environment 'HalfCheeta-v5' cannot be made: Environment HalfCheeta …"),
    (f"{TRAIN} --env HalfCheetah-v9", "environment 'HalfCheetah-v9' cannot be made: Environment version v9 …"),
    (f"{TRAIN} --env CartPole-v1", "CartPole-v1 has actions of kind Discrete; TEEN needs a Box"),
    (f"{TRAIN} --env tests.toys:Unbounded-v0", "tests.toys:Unbounded-v0 has unbounded actions …"),
    (f"{TRAIN} --env tests.toys:Image-v0", "tests.toys:Image-v0 has image observations (8, 8, 3); TEEN …"),
    (f"{TRAIN} --env nowhere.tasks:Reach-v0", "--env nowhere.tasks:Reach-v0: nowhere.tasks cannot be imported: …"),
    (
        f"{TRAIN} --env dm_control/cheetah-fly",
        "the DeepMind Control Suite has no task 'dm_control/cheetah-fly'; teen envs lists those it has",
    ),
    (
        f"{TRAIN} --algo ppo",
        "unknown algorithm 'ppo': choose from teen, td3, sac, rnd, sunrise, redq, or give a module as package.module",
    ),
    ("train --preset fast --env Ant", "unknown preset 'fast': choose from paper, tuned"),
    ("envs hovercraft", "no task here has 'hovercraft' in its name; …"),
    # values
    (f"{TRAIN} --seeds x", "--seeds 'x' names no seeds: write 10, or 3,5,8, or 7, or 10-19"),
    (f"{TRAIN} --m 4", "--m 4 is more than --n 3: the target draws m of n critics"),
    (f"{TRAIN} --steps -1", "--steps must be at least 1, not -1"),
    (f"{TRAIN} --lr -1", "--lr must be greater than 0, not -1.0"),
    (f"{TRAIN} --alpha nan", "--alpha must be a finite number in single precision, not nan"),
    (f"{TRAIN} --alpha 0,x", "--alpha must be a number, not 'x'"),
    ("eval full --episodes 0", "--episodes must be at least 1 and --seed at least 0"),
    # files and folders
    (f"{TRAIN} --config missing.toml", "config file missing.toml cannot be read: No such file or directory"),
    (f"{TRAIN} --config damaged.toml", "config file damaged.toml is damaged: Invalid value (at line 1, column 9)"),
    (f"{TRAIN} --config unknown.toml", "there is no setting 'colour': did you mean 'collector'?"),
    (f"{TRAIN} --config table.toml", "config file table.toml has an unknown table [network]"),
    (f"{TRAIN} --out full", "output folder full exists already: choose another --out or remove it"),
    (f"{TRAIN} --out file/inside", "output folder file/inside cannot be written: Not a directory"),
    ("eval full", "full is not a run folder: there is no config.toml in it"),
    ("eval empty-run", "empty-run holds no agent yet: empty-run/agent/agent.json is missing"),
    ("train --resume full", "there is no checkpoint in full/checkpoint"),
    ("train --resume nowhere", "nowhere is not a run folder"),
    (
        "train --resume full --total-timesteps 9",
        "a run goes on as it began: with --resume there is no --total-timesteps, only --steps, --env-timeout, "
        "--checkpoint-every, --on-nan",
    ),
    ("compare full", "full holds no run: there is no config.toml with an eval.csv beside it"),
]


def agree(said: str, line: str) -> bool:
    return said.startswith(line.removesuffix("…")) if line.endswith("…") else said == line


@pytest.mark.parametrize(
    ("command", "line"), REFUSED, ids=[command.replace(TRAIN, "train …") for command, _ in REFUSED]
)
def test_bad_input_is_one_line_and_exit_code_2_and_leaves_nothing(command, line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("damaged.toml").write_text("steps = = 3")
    Path("unknown.toml").write_text('colour = "blue"')
    Path("table.toml").write_text("[network]\nwidth = 3")
    Path("short.toml").write_text('env = "Pendulum-v1"\nsteps = 9\nwarmup = 20')
    Path("full").mkdir()
    Path("full/notes.txt").write_text("keep me")
    Path("file").write_text("")
    Path("empty-run").mkdir()
    Path("empty-run/config.toml").write_text("")
    before = sorted(p for p in tmp_path.rglob("*"))
    assert cli.main(shlex.split(command)) == 2
    output = capsys.readouterr()
    assert output.err.endswith("\n")
    (said,) = output.err.splitlines()
    assert agree(said, f"teen: {line}"), said
    assert output.out == ""
    assert sorted(p for p in tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"learning_rate": 1e-3}, "there is no setting 'learning_rate': did you mean 'lr'?"),
        ({"total_timesteps": 9}, "there is no setting 'total_timesteps': did you mean 'steps'?"),
        ({"log_folder": "x"}, "there is no setting 'log_folder': did you mean --out?"),
        ({"device": "cuda"}, f"there is no setting 'device': {DEVICE}"),
        ({"algo": "td3", "alpha": 0.2}, "td3 has no setting 'alpha': teen has"),
        ({"algo": "sac", "steps": 9_000}, f"--warmup 25000 is not below --steps 9000: {NOTHING_LEARNT} 900, or …"),
    ],
    ids=str,
)
def test_python_says_the_same(given, line, tmp_path):
    with pytest.raises(teen.UserError) as error:
        teen.train(**{"algo": "teen", "env": ENV, "out": tmp_path / "run", **given})
    assert agree(str(error.value), line)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({}, []),  # TEEN's own epsilon is 1/n, which nobody chose
        ({"n": 5}, []),
        ({"n": 20}, ["epsilon 0.1 is not below 1/n = 0.05: …"]),
        ({"algo": "rnd", "base": "teen"}, []),
        ({"algo": "rnd", "base": "teen", "epsilon": 0.2}, ["epsilon 0.2 is not below 1/n = 0.1: …"]),
        ({"env": "Pendulum"}, ["--env Pendulum is taken as Pendulum-v1, its newest version here"]),
    ],
    ids=str,
)
def test_what_a_run_says_beforehand(given, lines):
    _, notices = resolve({"env": ENV, **given}).settled()
    assert len(notices) == len(lines)
    assert all(map(agree, notices, lines))


def test_every_alias_leads_to_something_that_there_is():
    """And none to a name that all algorithms have: it would never be looked up."""
    configs = [algos.default_config(name) for name in algos.NAMES]
    known = [{leaf.name for leaf in settings.leaves(part)} for part in (RunSettings(), *configs)]
    for alias in aliases.ALIASES:
        assert alias.here or alias.note, alias
        assert alias.here in {"", "out", "config", "resume", "log"}.union(*known), alias
        assert alias.name not in known[0], alias
        assert not all(alias.name in names for names in known[1:]), alias
    names = [alias.name for alias in aliases.ALIASES]
    assert len(set(names)) == len(names)


PLATFORMS = """
import sys
from teen.cli.main import main
codes = [main(command.split()) for command in sys.argv[1:]]
sys.exit(codes != [2] * len(codes))
"""


@pytest.mark.parametrize(
    ("platform", "remedy"),
    [("cuda", "pip install 'jax[cuda13]'; or unset it, or set it to cpu"), ("abacus", ": unset it, or set it to cpu")],
)
def test_a_device_that_jax_does_not_have_is_one_line(platform, remedy, trained, tmp_path):
    """Every command that computes; those that only read runs do without a device."""
    if platform == "cuda" and Path("/dev/nvidia0").exists():
        pytest.skip("there may be one")
    out = tmp_path / "run"
    commands = [
        f"train --algo td3 --env {ENV} --steps 60 --warmup 20 --out {out}",
        f"train --resume {trained} --steps 90 --trust tests.toys",
        f"eval {trained} --trust tests.toys",
        f"analyze {trained} --trust tests.toys",
        f"paper ablation-alpha --smoke --measure --out {out}",
    ]
    environment = {**os.environ, "PYTHONPATH": f"src{os.pathsep}.", "JAX_PLATFORMS": platform}
    start = [sys.executable, "-c", PLATFORMS]
    done = subprocess.run([*start, *commands], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(commands), done.stderr
    for line in lines:
        assert line.startswith(f"teen: JAX_PLATFORMS={platform} cannot be used (")
        assert line.endswith(remedy)
    assert not out.exists()
    reading = [sys.executable, "-m", "teen", "compare", str(trained)]
    assert subprocess.run(reading, env=environment, capture_output=True, timeout=300).returncode == 0
