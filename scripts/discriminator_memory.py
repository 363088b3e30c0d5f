"""Does TEEN's discriminator go by the action or by the state? Ask the one of a finished run about rows of its replay:
as they are stored, and with the action that another member would take there now. docs/diversity.md says what follows.
"""

import argparse
import csv
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from jax import vmap
from safetensors.numpy import load_file

import teen
from teen.algos.teen import recognise, stack

NEWEST = (50_000, 5_000)  # rows of replay: many, and those of the newest members, which are few episodes
MOST = 20_000  # of them are asked about
COLUMNS = ("newest", "action", "rows", "names_who_was_there", "names_whose_action_it_is", "log_q_of_whose_action")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what TEEN's discriminator goes by.")
    parser.add_argument("run", type=Path, help="a run folder of TEEN, with its checkpoint")
    parser.add_argument("out", type=Path, help="the CSV file to write")
    args = parser.parse_args()
    files = sorted((args.run / "checkpoint").glob("rows-*.safetensors"))
    if not files:
        parser.error(f"{args.run} has no checkpoint with rows of replay: train it without --checkpoint-every 0")
    agent = teen.load(args.run)
    replay = np.concatenate([load_file(file)["rows"][0] for file in files])  # of the first seed
    with args.out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for newest in NEWEST:
            writer.writerows((newest, *answer) for answer in asked(agent, replay[-newest:]))
    print(args.out.read_text(), end="")


def asked(agent: teen.Agent, rows: np.ndarray) -> Iterator[tuple[str, ...]]:
    """Yield what the discriminator of the first seed says of some of these rows, with each of three actions."""
    cfg, weights = agent.config, jax.tree.map(lambda leaf: leaf[0], agent.weights)
    draws = np.random.default_rng(0)
    rows = draws.choice(rows, min(MOST, len(rows)), replace=False)
    rows = rows[rows[:, -1] >= 0]  # those of the warm-up are no member's
    obs, stored, *_ = np.split(rows, np.cumsum(agent.spec), 1)
    z, every = rows[:, -1].astype(int), np.arange(len(rows))
    other = (z + draws.integers(1, cfg.n, len(z))) % cfg.n
    actions = np.asarray(vmap(stack(cfg).policies, (None, 0), 1)(weights.members, obs))  # (member, row, action)
    for words, whose, action in (
        ("stored", z, stored),
        ("own, now", z, actions[z, every]),
        ("another member's, now", other, actions[other, every]),
    ):
        log_q = np.asarray(recognise(cfg, weights, obs, action))
        shares = (f"{np.mean(log_q.argmax(1) == who):.3f}" for who in (z, whose))
        yield words, str(len(z)), *shares, f"{log_q[every, whose].mean():.3f}"


if __name__ == "__main__":
    main()
