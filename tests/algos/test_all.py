"""What holds for every algorithm in the engine: the same seed twice, and a lane alone against the lane among ten."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, envs
from teen.engine import replay
from teen.engine.log import Log
from teen.engine.loop import Loop
from teen.engine.plan import Plan
from teen.settings import replace, stacked

PLAN = Plan(
    steps=60, warmup=20, batch=16, utd=2, buffer=1000, log_every=20, eval_every=60, eval_episodes=1, members_every=60,
    sync=10, replay="device", checkpoint_every=0,
)  # fmt: skip
SYSTEMS = [  # TEEN and TD3 on themselves: tests/engine/test_loop.py
    *((name, None) for name in algos.NAMES if name not in ("teen", "td3")),
    pytest.param("teen", "sac", marks=pytest.mark.full),
    pytest.param("rnd", "teen", marks=pytest.mark.full),
]


def run(name, base, seeds):
    settings = {"width": 8, "n": 3, "critics": 2, "rnd_width": 8, "epsilon": 0.05}
    cfg, algo = replace(algos.default_config(name, base), settings), algos.find(name)
    training, evaluation = (envs.make("tests.toys:PointMass-v0", copies) for copies in (len(seeds), 3 * len(seeds)))
    end = Loop(algo, PLAN, seeds, stacked([cfg] * len(seeds)), [training], evaluation, Log()).run()
    assert end.fault is None
    assert int(end.train.gradient_step) == 2 * (PLAN.steps - PLAN.warmup)
    return end.train, replay.Layout(training.spec, algo.extras(cfg))


@pytest.mark.parametrize(("name", "base"), SYSTEMS, ids=str)
def test_lanes_are_reproducible_and_independent(name, base):
    ten, layout = run(name, base, range(10))
    again, _ = run(name, base, range(10))
    for a, b in zip(jax.tree.leaves(ten), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(a, b)
    alone, _ = run(name, base, [5])
    for a, b in zip(jax.tree.leaves(alone.state), jax.tree.leaves(ten.state), strict=True):
        np.testing.assert_allclose(a[0], b[5], rtol=2e-3, atol=2e-4)
    np.testing.assert_allclose(alone.buffer[0], ten.buffer[5], rtol=1e-3, atol=1e-3)
    for name, width in layout.extras:
        rows = layout.unpack(replay.Rows(ten.buffer[5], jnp.zeros(60)), 0.99).extras[name]
        assert rows.shape == (60, width)
        np.testing.assert_array_equal(
            rows, layout.unpack(replay.Rows(alone.buffer[0], jnp.zeros(60)), 0.99).extras[name]
        )
