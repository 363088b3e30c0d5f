"""Compiled evaluations play what those in Python play."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import algos, envs
from teen.engine.episodes import Abandoned, CompiledEpisodes, waves
from teen.engine.evaluate import _policies, evaluate
from teen.envs import CompiledEnvs
from teen.errors import EnvironmentFault
from teen.settings import replace, stacked
from tests.engine.collecting import tamper

SEEDS = [3, 8]


def agents(name, spec, **settings):
    """Return an algorithm, and the config and untrained weights of two lanes."""
    algo = algos.find(name)
    cfg = replace(algo.Config(), {"width": 16, **settings})
    keys = jax.random.split(jax.random.key(1), len(SEEDS))
    weights = jax.vmap(lambda key: algo.weights(cfg, algo.init(cfg, key, spec)))(keys)
    return algo, stacked([cfg] * len(SEEDS)), weights


@pytest.mark.parametrize(
    ("name", "env", "repeat", "settings"),
    [
        ("teen", "Hopper-v4", 1, {"n": 3}),
        ("td3", "HalfCheetah-v4", 1, {}),
        ("sac", "dm_control/reacher-easy", 2, {}),
        ("sunrise", "Hopper-v4", 1, {"n": 3}),
    ],
)
def test_the_first_episodes_are_those_of_python(name, env, repeat, settings):
    """More copies than members, which is where rows could be mixed up. Later episodes differ: EnvPool resets finished
    copies, which draws from their random streams."""
    copies = 4
    compiled = CompiledEnvs(env, len(SEEDS), copies, repeat, threads=2)
    python = envs.make(env, len(SEEDS) * copies, "envpool", repeat)
    algo, config, weights = agents(name, python.spec, **settings)
    player = CompiledEpisodes(compiled, SEEDS)
    got = evaluate(algo, config, weights, player, SEEDS, 100, copies, members=True)
    expected = evaluate(algo, config, weights, python, SEEDS, 100, copies, members=True)
    for mine, theirs in zip(got, expected, strict=True):
        assert [e[:4] for e in mine] == [e[:4] for e in theirs]
        for a, b in zip(mine[:copies], theirs[:copies], strict=True):
            assert a.length == b.length
            assert a.score == pytest.approx(b.score, rel=1e-3, abs=1e-3)
    player.close(5)
    compiled.close()
    python.close()


def test_two_evaluations_give_the_same_numbers_whatever_the_threads():
    rows = []
    for threads in (1, 3):
        compiled = CompiledEnvs("Hopper-v4", 2, 5, threads=threads)
        algo, config, weights = agents("td3", compiled.spec)
        player = CompiledEpisodes(compiled, SEEDS)
        rows.append([evaluate(algo, config, weights, player, SEEDS, s, 5, members=False) for s in (100, 200)])
        player.close(5)
        compiled.close()
    assert rows[0] == rows[1]
    assert rows[0][0] != rows[0][1]


def test_only_the_lanes_that_are_asked_for_and_finite_are_played():
    compiled = CompiledEnvs("Hopper-v4", 2, 3)
    algo, config, weights = agents("td3", compiled.spec)
    player = CompiledEpisodes(compiled, SEEDS)
    asked = evaluate(algo, config, weights, player, SEEDS, 1, 3, members=False, lanes=[1])
    assert list(map(len, asked)) == [0, 3]
    spoilt = jax.tree.map(lambda leaf: leaf.at[0].set(np.nan), weights)
    finite = evaluate(algo, config, spoilt, player, SEEDS, 2, 3, members=False)
    assert list(map(len, finite)) == [0, 3]
    with pytest.raises(Abandoned):
        evaluate(algo, config, weights, player, SEEDS, 3, 3, members=False, wanted=lambda: False)
    player.close(5)
    compiled.close()


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("nan", "failed in lane 1, seed 8, step 7 of an evaluation: returned a number that is not finite"),
        ("raise", "failed in lane 1, seed 8, step 0 or later of an evaluation: .*the joint broke"),
    ],
)
def test_a_simulator_that_fails_is_named(what, message):
    compiled = CompiledEnvs("HalfCheetah-v4", 2, 3)
    tamper(compiled, 1, 7, what)
    algo, config, weights = agents("td3", compiled.spec)
    player = CompiledEpisodes(compiled, SEEDS)
    with pytest.raises(EnvironmentFault, match=message):
        evaluate(algo, config, weights, player, SEEDS, 1, 3, members=False)
    player.close(5)
    compiled.close()


def test_waves_have_every_episode_once_and_one_shape():
    for episodes, copies in ((3, 5), (5, 5), (5, 2), (10, 3), (4, 1)):
        played = list(waves(episodes, copies))
        assert {len(wave) for wave, _ in played} == {min(episodes, copies)}
        assert [e for wave, fresh in played for e in wave[:fresh]] == list(range(episodes))
        assert all(len(set(wave.tolist())) == len(wave) for wave, _ in played)


def test_more_episodes_than_copies_are_played_in_waves():
    """An episode of Reacher has 50 steps, and a step costs |action|² and the distance to the target, which is at most
    0.42: the return says with which action an episode was played."""
    compiled = CompiledEnvs("Reacher-v4", 2, 2)
    player = CompiledEpisodes(compiled, SEEDS)
    levels = np.array([[2, 0, 1, 0, 2], [0, 1, 1, 2, 0]])

    def constant(config, weights, level, obs):
        action = jnp.sqrt(0.4 * level)[:, None] * jnp.ones((len(level), 2))
        return jnp.where(level[:, None] < 0, jnp.nan, action).astype(jnp.float32)

    starts = np.arange(10).reshape(2, 5)
    scores, lengths = player.rollout(constant, (), (), levels, starts, [0, 1], lambda: True)
    assert (lengths == 50).all()
    assert (np.floor(-scores / 40) == levels).all()
    spoilt = np.where(np.arange(5) == 4, [[-1], [1]], levels)  # in the last wave of the first lane
    scores, _ = player.rollout(constant, (), (), spoilt, starts, [0, 1], lambda: True)
    assert np.isnan(scores[0]).all()
    assert (np.floor(-scores[1] / 40) == spoilt[1]).all()
    player.close(5)
    compiled.close()


@pytest.mark.parametrize("name", ["teen", "sunrise"])
def test_members_in_waves_act_as_those_of_all(name):
    compiled = CompiledEnvs("Hopper-v4", 2, 2)
    algo, config, weights = agents(name, compiled.spec, n=5)
    cfg, own = (jax.tree.map(lambda leaf: leaf[1], tree) for tree in (config, weights))
    obs = jnp.asarray(np.random.default_rng(0).normal(size=(5, compiled.spec.obs)), jnp.float32)
    everyone = algo.members(cfg, own, obs)
    some = np.array([4, 0])
    np.testing.assert_array_equal(_policies(algo).members(cfg, own, some, obs[some]), everyone[some])
    player = CompiledEpisodes(compiled, SEEDS)
    for seed, rows in zip(SEEDS, evaluate(algo, config, weights, player, SEEDS, 100, 2, members=True), strict=True):
        assert {row.seed for row in rows} == {seed}
        assert [row.policy for row in rows] == ["mean", "mean", "0", "1", "2", "3", "4"]
        assert all(np.isfinite(row.score) and row.length > 0 for row in rows)
    player.close(5)
    compiled.close()
