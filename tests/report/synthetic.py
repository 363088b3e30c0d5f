"""Runs with known numbers. In those of `write_run`, seed k returns level · s / 1000 + k at step s, on average over two
episodes."""

from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from teen.report.runs import Run

EVERY = 10_000  # steps between evaluations
HOSTILE = '</script><img src=x onerror="window.owned=1"><b>&amp;\'`\u2028$\\frac{'


def score(level: float, step: int, seed: int) -> float:
    return level * step / 1000 + seed


def write_run(
    folder: Path,
    algo: str = "td3",
    env: str = "Hopper-v5",
    level: float = 1.0,
    seeds: tuple[int, ...] = (0, 1, 2),
    evaluations: int = 10,
    members: int = 0,
    **settings: Any,
) -> Path:
    folder.mkdir(parents=True)
    known = {"algo": algo, "env": env, "seeds": list(seeds), "steps": 100_000, "lr": 0.001, **settings}
    (folder / "config.toml").write_text(tomli_w.dumps({**known, "versions": {"python": "3.11.9", "jax": "0.10.2"}}))
    (folder / "eval.csv").write_text("seed,step,policy,episode,return,length\n")
    for number in range(1, evaluations + 1):
        evaluate(folder, number * EVERY, level, seeds, members)
    steps = range(1000, evaluations * EVERY + 1, 1000)
    rows = [
        f"{seed},{step},{100_000 / step + seed},{'nan' if step < 5000 else step / 1000}"
        for step in steps
        for seed in seeds
    ]
    (folder / "train.csv").write_text("seed,step,critic_loss,q\n" + "\n".join(rows) + "\n")
    return folder


def evaluate(folder: Path, step: int, level: float, seeds: tuple[int, ...], members: int = 0) -> None:
    """Append an evaluation."""
    with (folder / "eval.csv").open("a") as file:
        for seed in seeds:
            middle = score(level, step, seed)
            for episode, value in enumerate((middle - 1, middle + 1)):
                file.write(f"{seed},{step},mean,{episode},{value},1000\n")
            for member in range(members):
                file.write(f"{seed},{step},{member},0,{middle - member},1000\n")


def write_flat(folder: Path, algo="teen", env="Ant-v5", scores=(1.0, 2.0), seeds=None, steps=(25_000, 50_000)) -> Path:
    """Write a run folder in which every evaluation of a seed has the same score."""
    seeds = list(range(len(scores))) if seeds is None else seeds
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(f'algo = "{algo}"\nenv = "{env}"\nseeds = {seeds}\n')
    lines = [f"{seed},{step},mean,0,{s},9\n" for step in steps for seed, s in zip(seeds, scores, strict=True)]
    (folder / "eval.csv").write_text("seed,step,policy,episode,return,length\n" + "".join(lines))
    return folder


def run(env, algo, returns, seeds=None, path="r", every=25_000, **settings) -> Run:
    """Return a run in memory with these (seed, evaluation) returns."""
    returns = np.array(returns, float)
    steps = every * np.arange(1, returns.shape[1] + 1)
    seeds = list(range(len(returns))) if seeds is None else seeds
    settings = {"algo": algo, "env": env, "seeds": seeds, **settings}
    return Run(Path(path), settings, {}, seeds, steps, returns, np.ones(returns.shape, int), {}, {})


def flat(env, algo, scores, evaluations=4, **settings) -> Run:
    """Return a run in which every evaluation of a seed has the same score."""
    return run(env, algo, np.repeat(np.array(scores, float)[:, None], evaluations, 1), **settings)
