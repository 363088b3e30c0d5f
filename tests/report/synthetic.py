"""Run folders written by hand, whose numbers are known: at step s, seed k of a label with this level returns
level · s + k, on average over two episodes."""

from pathlib import Path
from typing import Any

import tomli_w

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
    """Appends an evaluation."""
    with (folder / "eval.csv").open("a") as file:
        for seed in seeds:
            middle = score(level, step, seed)
            for episode, value in enumerate((middle - 1, middle + 1)):
                file.write(f"{seed},{step},mean,{episode},{value},1000\n")
            for member in range(members):
                file.write(f"{seed},{step},{member},0,{middle - member},1000\n")
