"""Which folders of results/ have which runs, and what was measured on them."""

import csv
import gzip
from collections import defaultdict

from .logs import ROOT, evaluations, several

PAPER = "paper/runs/"
TEEN = PAPER + "teen-HalfCheetah-v4,alpha=0.2"
FIRST_FIVE = f"{TEEN}+0,seeds=0-4/alpha=0.2"
MILLION = {
    "TEEN": [FIRST_FIVE, f"{TEEN},seeds=5-9"],
    "TEEN α = 0": [f"{TEEN}+0,seeds=0-4/alpha=0"],
    "SAC": [PAPER + "sac-HalfCheetah-v4,seeds=0-9"],
    "TD3": [PAPER + "td3-HalfCheetah-v4,seeds=0-9"],
}
SECOND_WALKER = "bf16-300k/Walker2d-v4-tf32"
FIRST, SECOND = "paper-early/first/", "paper-early/second/"
BOTH_ALPHAS = "teen-{}-v4,alpha=0.2+0,seeds=5-9/alpha={}"
HALF = PAPER + "teen-{}-v4,alpha=0.2+0,seeds=0-4/alpha={}"  # half a million steps
WALKER, WALKER_0 = (SECOND + BOTH_ALPHAS.format("Walker2d", alpha) for alpha in ("0.2", "0"))
HALF_MILLION = ("Hopper-v4", "Walker2d-v4", "Ant-v4")
MUJOCO = ("HalfCheetah-v4", *HALF_MILLION)
CONTROL = ("cheetah-run", "finger-spin", "walker-run")
CONTROL_TEEN = "teen-dm_control-{},alpha=0.02+0,seeds=0-4/alpha={}"
CONTROL_SEEDS = {task: ["0-4"] for task in CONTROL}  # of TD3 and SAC
CONTROL_SEEDS["walker-run"] += "56789"  # a program each; the first five were cut
LOST = "paper-early/third/"  # the same runs, which were lost with their machine after 120,000 to 130,000 steps
ALL_TASKS = {  # all runs with the paper's settings
    "HalfCheetah-v4": {
        **MILLION,
        "SAC": [
            *MILLION["SAC"],
            "reference-300k/sac-HalfCheetah-v4",
            "sac-settings-300k/halfcheetah/lr=0.0003,target_entropy=-1",
        ],
        "TD3": [*MILLION["TD3"], "reference-300k/td3-HalfCheetah-v4"],
    },
    "Hopper-v4": {
        "TEEN": [
            "settings-300k/teen/Hopper-v4/paper",
            FIRST + BOTH_ALPHAS.format("Hopper", "0.2"),
            HALF.format("Hopper", "0.2"),
        ],
        "TEEN α = 0": [FIRST + BOTH_ALPHAS.format("Hopper", "0"), HALF.format("Hopper", "0")],
        "SAC": [
            PAPER + "sac-Hopper-v4,seeds=0-4",
            "reference-300k/sac-Hopper-v4",
            "sac-settings-300k/hopper/lr=0.0003,target_entropy=-1",
            "settings-300k/sac/Hopper-v4/paper",
            FIRST + "sac-Hopper-v4,seeds=5-9",
        ],
        "TD3": [
            PAPER + "td3-Hopper-v4,seeds=0-4",
            "reference-300k/td3-Hopper-v4",
            "settings-300k/td3/Hopper-v4/paper",
        ],
    },
    "Walker2d-v4": {
        "TEEN": [
            "settings-300k/teen/Walker2d-v4/paper",
            SECOND_WALKER,
            FIRST + BOTH_ALPHAS.format("Walker2d", "0.2"),
            WALKER,
            HALF.format("Walker2d", "0.2"),
        ],
        "TEEN α = 0": [FIRST + BOTH_ALPHAS.format("Walker2d", "0"), WALKER_0, HALF.format("Walker2d", "0")],
        "SAC": [
            PAPER + "sac-Walker2d-v4,seeds=0-4",
            "settings-300k/sac/Walker2d-v4/paper",
            *(part + "sac-Walker2d-v4,seeds=5-9" for part in (FIRST, SECOND)),
        ],
        "TD3": [
            PAPER + "td3-Walker2d-v4,seeds=0-4",
            "settings-300k/td3/Walker2d-v4/paper",
            SECOND + "td3-Walker2d-v4,seeds=5-9",
        ],
    },
    "Ant-v4": {
        "TEEN": [
            "settings-300k/teen/Ant-v4/paper",
            FIRST + BOTH_ALPHAS.format("Ant", "0.2"),
            HALF.format("Ant", "0.2"),
        ],
        "TEEN α = 0": [FIRST + BOTH_ALPHAS.format("Ant", "0"), HALF.format("Ant", "0")],
        **{
            algo: [
                *(f"{part}{algo.lower()}-Ant-v4,seeds=5-9" for part in (FIRST, SECOND)),
                f"{PAPER}{algo.lower()}-Ant-v4,seeds=0-4",
            ]
            for algo in ("SAC", "TD3")
        },
    },
    **{
        task: {
            "TEEN": [PAPER + CONTROL_TEEN.format(task, "0.02"), LOST + CONTROL_TEEN.format(task, "0.02")],
            "TEEN α = 0": [PAPER + CONTROL_TEEN.format(task, "0"), LOST + CONTROL_TEEN.format(task, "0")],
            **{
                algo: [f"{PAPER}{algo.lower()}-dm_control-{task},seeds={seeds}" for seeds in CONTROL_SEEDS[task]]
                for algo in ("SAC", "TD3")
            },
        }
        for task in CONTROL
    },
}
TUNED = {"teen": "lr=0.0006,utd=2", "td3": "lr=0.001,utd=2", "sac": "lr=0.001,utd=2"}


def all_runs(task, label, step, part=""):
    """Return the runs of an algorithm with the paper's settings that came so far, of one set or of all."""
    return several([run for run in ALL_TASKS[task].get(label, []) if run.startswith(part)], step)


def half_million(task):
    """Return the runs with the paper's α and with α = 0, which were lanes of one program."""
    if task in CONTROL:
        return [PAPER + CONTROL_TEEN.format(task, alpha) for alpha in ("0.02", "0")]
    return [HALF.format(task.removesuffix("-v4"), alpha) for alpha in ("0.2", "0")]


def diagnosed(run, step):
    """Return the values of each quantity at a step, one per seed."""
    values = defaultdict(list)
    with gzip.open(ROOT / "results" / run / "diagnostics.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if int(row["step"]) == step:
                values[row["quantity"]].append(float(row["value"]))
    return values


def setting(task, name, algo="teen"):
    seeds = evaluations(f"settings-300k/{algo}/{task}/{name}")
    assert len(seeds) == 5
    return seeds
