"""Untrained agents of every algorithm, with networks of random numbers and statistics as if much had been seen."""

import jax
import numpy as np

from teen import Agent, envs
from teen.algos.normalise import Statistics
from teen.config.job import resolve

KEY = jax.random.key(0)

TASK = "tests.toys:Composite-v0"  # 7 numbers in a dict; actions are 2×2, each entry with bounds of its own
LOW, HIGH = np.array([[-1.0, 0.0], [-100.0, 5.0]]), np.array([[1.0, 1.0], [300.0, 6.0]])
MEMBERS = 3
ALGORITHMS = [
    ("td3", {}),
    ("sac", {}),
    ("redq", {"critics": 3}),
    ("teen", {"n": MEMBERS, "epsilon": 0.05}),
    ("teen", {"n": MEMBERS, "epsilon": 0.05, "base": "sac"}),
    ("sunrise", {"n": MEMBERS}),
    ("sunrise", {"n": MEMBERS, "base": "td3"}),
    ("rnd", {"rnd_width": 8}),
    ("rnd", {"rnd_width": 8, "base": "teen", "n": MEMBERS, "epsilon": 0.05}),
]


def untrained(algo, task=TASK, normalise_obs=False, seeds="3,7", **settings):
    """Return an agent whose tanh is well used, and whose observations are far from normal. Nothing is compiled."""
    values = {"algo": algo, "env": task, "seeds": seeds, "width": 8, "normalise_obs": normalise_obs, **settings}
    (job, _), rng = resolve(values).settled(), np.random.default_rng(1)
    config, spec, lanes = job.variants[0].config, envs.make(task, 1).spec, len(job.settings.seeds)
    shapes = jax.eval_shape(lambda key: job.algorithm.weights(config, job.algorithm.init(config, key, spec)), KEY)

    def drawn(leaf):
        return rng.uniform(-0.6, 0.6, (lanes, *leaf.shape)).astype(leaf.dtype)

    weights = jax.tree.map(drawn, shapes)
    if normalise_obs:
        squares = 400 * rng.uniform(0.1, 3, (lanes, spec.obs)) ** 2
        squares[:, 0] = 0  # an entry that never changes
        seen = Statistics(np.full(lanes, 400, np.float32), weights.statistics.mean, np.float32(squares))
        weights = weights._replace(statistics=seen)
    return Agent(job.settings, config, 0, weights)


def observations(rows=1_000, size=7, seed=0):
    """Return observations, some of them so far out that a normaliser clips them."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(rows, size)) * rng.choice([0.1, 1, 10], (rows, 1))).astype(np.float32)


def apart(actions, others, half=(HIGH - LOW) / 2):
    """Return the largest difference of actions, as a part of half their range."""
    assert actions.shape == others.shape
    return np.abs((actions - others) / half).max()
