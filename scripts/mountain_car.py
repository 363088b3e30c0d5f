"""Play the members of the agents of results/sparse-reward on MountainCarContinuous-v0 and write how far they drive:
mountain-car.csv. Their weights are not kept: name a folder that has them, with SETTING/SEEDS below it."""

import csv
import sys
from pathlib import Path

import gymnasium
import numpy as np

import teen

OUT = Path(__file__).parents[1] / "results" / "sparse-reward" / "mountain-car.csv"
EPISODES, STEPS = 10, 999
COLUMNS = ("setting", "seed", "member", "episode", "farthest")


def farthest(agent: teen.Agent, seed: int, member: int) -> np.ndarray:
    """Return the largest position of each episode. The reward is at 0.45; the valley's bottom is at −0.52."""
    cars = gymnasium.make_vec("MountainCarContinuous-v0", EPISODES, vectorization_mode="sync")
    obs, _ = cars.reset(seed=seed)
    position = obs[:, 0]
    for _ in range(STEPS - 1):  # an episode's last step is left out
        obs, *_ = cars.step(agent.act(obs, seed=seed, member=member))
        position = np.maximum(position, obs[:, 0])
    cars.close()
    return position


def main(root: Path) -> None:
    with OUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for folder in sorted(root.glob("*/*")):
            agent = teen.load(folder)
            for seed in agent.seeds:
                for member in range(agent.config.n):
                    for episode, position in enumerate(farthest(agent, seed, member)):
                        writer.writerow((folder.parent.name, seed, member, episode, f"{position:.4f}"))
                print(f"{folder.parent.name}, seed {seed}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
