"""Play fish-swim with random actions, each held for 1, 2 or 4 simulator steps, and write how near the fish comes to its
target: results/fish-swim/random.csv. docs/fish-swim.md says what follows. Twelve minutes on one core."""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # dm_control looks for a display
    from dm_control import suite

OUT = Path(__file__).parents[1] / "results" / "fish-swim" / "random.csv"
HELD, EPISODES, STEPS = (1, 2, 4), 500, 1000
NEAR = 0.135  # metres: here the reward for the target is a tenth of its most
COLUMNS = ("held", "episode", "travelled", "nearest", "near_steps", "target_return", "posture_return")


def play(held: int, episode: int) -> tuple[float, float, int, float, float]:
    """Return how far the fish was from its start at the end and how near to its target it came, in metres, for how many
    steps it was near, and the two parts of its return."""
    env = suite.load("fish", "swim", task_kwargs={"random": episode})
    draws = np.random.default_rng((held, episode))
    limits = env.action_spec()
    env.reset()
    physics = env.physics
    start = physics.named.data.geom_xpos["mouth"].copy()
    distances, target, posture = [], 0.0, 0.0
    for step in range(STEPS):
        if step % held == 0:
            action = draws.uniform(limits.minimum, limits.maximum)
        reward = env.step(action).reward
        upright = (physics.upright() + 1) / 2 / 8
        posture += upright
        target += reward - upright
        distances.append(float(np.linalg.norm(physics.mouth_to_target())))
    travelled = float(np.linalg.norm(physics.named.data.geom_xpos["mouth"] - start))
    return travelled, min(distances), sum(d < NEAR for d in distances), target, posture


def main() -> None:
    with OUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for held in HELD:
            for episode in range(EPISODES):
                travelled, nearest, near, target, posture = play(held, episode)
                cells = (f"{travelled:.4f}", f"{nearest:.4f}", near, f"{target:.3f}", f"{posture:.3f}")
                writer.writerow((held, episode, *cells))
                print(f"\rheld {held}, episode {episode + 1} of {EPISODES}", end="", file=sys.stderr)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
