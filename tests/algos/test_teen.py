import jax
import jax.numpy as jnp
import numpy as np
import pytest

from teen import nets, ops
from teen.algos import td3, teen
from teen.errors import UserError
from teen.settings import replace
from tests.reference import numpy_updates, translate
from tests.support import SPEC, clock, compiled, differ, double, for_actors, random_batch, start

ALGO, N, M, ROWS = teen.ALGORITHM, 4, 2, 32
LEARNER = td3.Config(width=16, critics=1, lr=3e-3, gamma=0.9, tau=0.1)
NUMBERS = {name: getattr(LEARNER, name) for name in ("lr", "gamma", "tau", "smoothing", "smoothing_clip")}


def config(**changes):
    learner = {**LEARNER.__dict__, **changes.pop("member", {})}
    return teen.Config(**{"n": N, "m": M, "member": td3.Config(**learner), **changes})


def noise_of(cfg, seed, rows=ROWS):
    return jax.jit(teen.draw, static_argnums=(2, 3))(cfg, jax.random.key(seed), rows, SPEC)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"alpha": 5.0, "epsilon": 0.24},
        {"alpha": 5.0, "regularise": "all", "epsilon": 0.01},
        {"alpha": 5.0, "regularise": "round-robin", "period": 3, "epsilon": 0.01},
        {"alpha": 5.0, "actors": "selected-only", "epsilon": 0.01},
        {"actor_q": "mean", "m": 3},
        {"member": {"target_actors": False}},
        {"member": {"critics": 2}},
        {"discriminator_window": 10},
        {"alpha": 20.0, "alpha_scale": "q", "regularise": "all", "epsilon": 0.01},
        {"alpha": 20.0, "alpha_scale": "q", "actor_q": "mean", "epsilon": 0.01},
    ],
    ids=str,
)
def test_four_updates_equal_the_numpy_reference(changes):
    cfg = config(**changes)
    critics = cfg.member.critics
    with jax.enable_x64(True):
        state = double(start(ALGO, cfg))
        theirs = translate.teen_state(state, N, critics)
        for step in range(1, 5):  # actors move in the 2nd and the 4th
            batch, noise = random_batch(ROWS, N, seed=step), noise_of(cfg, step)
            now = clock(step, env_step=step)
            chosen = [float(who == chosen_member(cfg, state, now)) for who in range(N)]
            if cfg.regularise == "all":
                chosen = [1.0] * N
            state, losses = compiled(ALGO)(cfg, state, batch, now, noise)
            theirs, info = numpy_updates.teen_update(
                theirs,
                translate.batch(batch),
                np.array(noise.members),
                np.array(noise.critics).tolist(),
                do_actor=step % 2 == 0,
                regularised=chosen,
                alpha=cfg.alpha,
                epsilon=cfg.epsilon,
                alpha_scale=cfg.alpha_scale,
                actor_q=cfg.actor_q,
                actors=cfg.actors,
                target_actors=cfg.member.target_actors,
                discriminator_rows=np.arange(ROWS) < (cfg.discriminator_window or ROWS),
                **NUMBERS,
            )
            translate.assert_close(translate.teen_state(state, N, critics), theirs)
            np.testing.assert_allclose(losses["target"], info["y"].mean(), rtol=1e-5)
            np.testing.assert_allclose(losses["critic_loss"], info["critic_loss"], rtol=1e-5)
            np.testing.assert_allclose(losses["discriminator_loss"], info["discriminator_loss"], rtol=1e-5)


def chosen_member(cfg, state, now):
    """Which member an actor step regularises, found from outside: with a flat Q only that one moves."""
    wide = replace(cfg, {"alpha": 1.0, "epsilon": 1e-6, "actors": "all"})
    flat = state._replace(members=state.members._replace(critics=zeros(state.members.critics)))
    now = now._replace(gradient_step=jnp.array(2))
    after, _ = compiled(ALGO)(wide, flat, for_actors(random_batch(ROWS, N)), now, noise_of(cfg, 0))
    moved = jax.vmap(lambda a, b: jnp.abs(a - b).max())(after.members.actor[0].weight, state.members.actor[0].weight)
    return int(np.argmax(moved))


def zeros(tree):
    return jax.tree.map(jnp.zeros_like, tree)


def test_target_by_hand():
    """Constant critics 3, 5, 7, 9: the subset's minimum counts, and terminated rows end at r."""
    cfg = config()
    state = start(ALGO, cfg)
    flat = zeros(state.members.target_critics)
    last = flat[-1]._replace(bias=jnp.array([3.0, 5.0, 7.0, 9.0]).reshape(N, 1, 1))
    state = state._replace(members=state.members._replace(target_critics=(*flat[:-1], last)))
    batch = random_batch(2, N)._replace(reward=jnp.array([1.0, 2.0]), discount=jnp.array([0.9, 0.0]))
    for subset, least in (([3, 1], 5.0), ([2, 3], 7.0)):
        noise = noise_of(cfg, 0, 2)._replace(critics=jnp.array(subset))
        _, losses = compiled(ALGO)(cfg, state, batch, clock(1), noise)
        assert losses["target"] == pytest.approx(((1 + 0.9 * least) + 2) / 2)


def test_the_subset_has_m_distinct_critics_and_reaches_all():
    cfg = config(m=2)
    subsets = {tuple(sorted(np.array(noise_of(cfg, seed, 1).critics).tolist())) for seed in range(60)}
    assert all(len(set(subset)) == 2 for subset in subsets)
    assert len(subsets) == 6  # all pairs of four


def test_regulariser_makes_the_selected_member_more_recognisable_and_moves_no_other():
    cfg = config(alpha=1.0, epsilon=1e-6, member={"lr": 1e-4})
    state, batch = start(ALGO, cfg), random_batch(ROWS, N)
    state = state._replace(members=state.members._replace(critics=zeros(state.members.critics)))
    now = clock(2, env_step=10)

    def recognised(s):  # mean log q(k | s, π_k(s)) of every member
        actions = jax.vmap(nets.actor, (0, None))(s.members.actor, batch.obs)
        log_q = jax.vmap(nets.discriminator, (None, None, 0))(s.discriminator, batch.obs, actions)
        return np.array([log_q[k, :, k].mean() for k in range(N)])

    after, _ = compiled(ALGO)(cfg, state, for_actors(batch), now, noise_of(cfg, 0))
    gain = recognised(after) - recognised(state)
    selected = chosen_member(cfg, state, now)
    assert gain[selected] > 1e-6
    assert all(gain[k] == 0 for k in range(N) if k != selected)
    others = [k for k in range(N) if k != selected]
    for new, old in zip(jax.tree.leaves(after.members.actor), jax.tree.leaves(state.members.actor), strict=True):
        np.testing.assert_array_equal(new[jnp.array(others)], old[jnp.array(others)])


@pytest.mark.parametrize("shift", [50.0, -50.0], ids=["q above 1 - epsilon", "q below epsilon"])
def test_regulariser_has_no_gradient_outside_the_clip(shift):
    """Biases of ±50 put q(k | ·) of every member k at one of the two ends."""
    cfg = config(alpha=1.0, regularise="all")
    for k in range(N):
        state = start(ALGO, cfg)
        last = state.discriminator[-1]
        discriminator = (*state.discriminator[:-1], last._replace(bias=last.bias.at[k].add(shift)))
        members = state.members._replace(critics=zeros(state.members.critics))
        state = state._replace(members=members, discriminator=discriminator)
        after, _ = compiled(ALGO)(cfg, state, for_actors(random_batch(ROWS, N)), clock(2), noise_of(cfg, 0))
        member = jax.tree.map(lambda x: x[k], (after.members.actor, state.members.actor))  # noqa: B023
        assert not any(differ(*member))


def test_clipped_log_and_its_gradient_by_hand():
    q = jnp.array([0.01, 0.1001, 0.5, 0.8999, 0.99])
    value, gradient = jax.vmap(jax.value_and_grad(lambda p: ops.clipped_log(jnp.log(p), jnp.array(0.1))))(q)
    np.testing.assert_allclose(value, np.log([0.1, 0.1001, 0.5, 0.8999, 0.9]), rtol=1e-5)
    np.testing.assert_allclose(gradient, [0, 1 / 0.1001, 2, 1 / 0.8999, 0], rtol=1e-5)


def test_a_relative_alpha_is_larger_where_q_is_larger_whatever_its_sign():
    """With Q = -3 everywhere, α = 2 relative to Q pulls as α = 6 does, three times as much as α = 2."""
    relative = config(alpha=2.0, alpha_scale="q", regularise="all", epsilon=1e-6, member={"delay": 1})
    state = start(ALGO, relative)
    flat = zeros(state.members.critics)
    last = flat[-1]._replace(bias=jnp.full_like(flat[-1].bias, -3.0))
    state = state._replace(members=state.members._replace(critics=(*flat[:-1], last)))
    batch = for_actors(random_batch(ROWS, N))._replace(reward=jnp.full(ROWS, -3.0))  # y = -3: critics stay

    def pull(cfg):
        return float(compiled(ALGO)(cfg, state, batch, clock(2), noise_of(cfg, 0))[1]["actor_grad_norm"])

    absolute = replace(relative, {"alpha_scale": "absolute"})
    assert pull(absolute) > 0
    assert pull(relative) == pytest.approx(pull(replace(absolute, {"alpha": 6.0})), rel=1e-4)
    assert pull(relative) == pytest.approx(3 * pull(absolute), rel=1e-4)


def test_warm_up_rows_never_train_the_discriminator():
    cfg = config()
    state = start(ALGO, cfg)
    nobodys = random_batch(ROWS, N)._replace(extras={"z": -jnp.ones((ROWS, 1))})
    after, losses = compiled(ALGO)(cfg, state, nobodys, clock(1), noise_of(cfg, 0))
    assert losses["discriminator_loss"] == 0
    assert not any(differ(after.discriminator, state.discriminator))

    # and among others they change nothing: the loss is the mean over the known rows alone
    mixed = random_batch(ROWS, N)
    known = np.array(mixed.extras["z"][:, 0]) >= 0
    assert 0 < known.sum() < ROWS
    log_q = np.array(nets.discriminator(state.discriminator, mixed.obs, mixed.action))
    by_hand = -np.mean([log_q[row, int(mixed.extras["z"][row, 0])] for row in np.flatnonzero(known)])
    _, losses = compiled(ALGO)(cfg, state, mixed, clock(1), noise_of(cfg, 0))
    assert losses["discriminator_loss"] == pytest.approx(by_hand, rel=1e-5)
    assert losses["diversity_bound"] == pytest.approx(np.log(N) - by_hand, abs=1e-5)


def test_the_regularised_member_is_redrawn_every_period():
    cfg = config(period=100)
    state = start(ALGO, cfg)
    members = [chosen_member(cfg, state, clock(2, env_step=step)) for step in range(0, 3000, 50)]
    periods = [members[i : i + 2] for i in range(0, len(members), 2)]
    assert all(a == b for a, b in periods)  # the same within a period
    assert {a for a, _ in periods} == set(range(N))  # and everybody's turn comes

    episodes = config(period=2, period_unit="episodes")
    by_episode = [chosen_member(episodes, state, clock(2, 12345, episodes=e)) for e in range(40)]
    assert all(by_episode[i] == by_episode[i + 1] for i in range(0, 40, 2))
    assert set(by_episode) == set(range(N))

    in_turn = config(period=100, regularise="round-robin")
    assert [chosen_member(in_turn, state, clock(2, step)) for step in (0, 99, 100, 250, 399, 400)] == [
        0, 0, 1, 2, 3, 0,
    ]  # fmt: skip


def test_evaluated_policies():
    weights = ALGO.weights(config(), start(ALGO, config()))
    obs, actions = jnp.array([0.3, -0.2, 0.9]), []
    for k in range(N):
        actor = jax.tree.map(lambda x: x[k], weights.members.actor)  # noqa: B023
        actions.append(nets.actor(actor, obs[None])[0])
    actions = jnp.stack(actions)
    mean, mixture, vote = (
        ALGO.policy(config(evaluate=how), weights, jnp.array(2), obs) for how in ("mean", "mixture", "vote")
    )
    np.testing.assert_allclose(mean, actions.mean(0), rtol=1e-6)
    np.testing.assert_allclose(mixture, actions[2], rtol=1e-6)
    worth = [
        np.mean([nets.critic(jax.tree.map(lambda x: x[i, 0], weights.members.critics), obs[None], a[None])[0]  # noqa: B023
                 for i in range(N)])
        for a in actions
    ]  # fmt: skip
    np.testing.assert_allclose(vote, actions[int(np.argmax(worth))], rtol=1e-6)
    each = ALGO.members(config(), weights, jnp.tile(obs, (N, 1)))
    np.testing.assert_allclose(each, actions, rtol=1e-6)


def test_watched_shares_by_hand():
    """All actors alike and a discriminator that is sure of member 1: N−1 of N are clipped below, 1 above."""
    cfg = config()
    state = start(ALGO, cfg)
    alike = jax.tree.map(lambda x: jnp.broadcast_to(x[:1], x.shape), state.members.actor)
    blind = zeros(state.discriminator)
    sure = (*blind[:-1], blind[-1]._replace(bias=jnp.array([0.0, 3.0, 0.0, 0.0])))
    state = state._replace(members=state.members._replace(actor=alike), discriminator=sure)
    watched = teen.metrics(cfg, state, random_batch(ROWS, N))
    log_z = np.log(3 + np.exp(3))  # q(1) = 0.87, the others 0.043
    assert watched["own_log_q"] == pytest.approx((3 - log_z - 3 * log_z) / N, rel=1e-5)
    assert watched["clipped_share"] == pytest.approx(3 / 4)
    assert watched["action_spread"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("scale", ["absolute", "q"])
def test_the_pull_of_the_diversity_term_equals_the_numpy_reference(scale):
    """Rows where q lies outside [ε, 1 − ε] count with 0. A member that is not selected now counts as well."""
    cfg, batch = config(alpha=5.0, epsilon=0.24, alpha_scale=scale), random_batch(ROWS, N)
    with jax.enable_x64(True):
        state = double(start(ALGO, cfg))
        watched = teen.metrics(cfg, state, batch)
    theirs, obs = translate.teen_state(state, N, 1), np.array(batch.obs)
    by_q, by_term = [], []
    for k, member in enumerate(theirs["members"]):
        action = numpy_updates.actor_action(member["actor"], obs)
        q, gradient = numpy_updates.critic_action_gradient(member["critics"][0], obs, action)
        _, push = numpy_updates.clipped_log_q_action_gradient(theirs["discriminator"], obs, action, k, 0.24)
        alpha = 5.0 if scale == "absolute" else 5.0 * np.abs(q).mean()
        by_q.append(np.linalg.norm(gradient, axis=1))
        by_term.append(np.linalg.norm(alpha * push, axis=1))
    assert 0 < np.mean(np.array(by_term) == 0) < 1
    assert watched["diversity_pull"] == pytest.approx(np.mean(by_term) / np.mean(by_q), rel=1e-5)


@pytest.mark.parametrize(
    ("alpha", "weight", "expected"),
    [(0.0, 0.0, 0.0), (0.2, 0.0, np.inf), (0.2, np.nan, np.nan)],
    ids=["neither term has a gradient", "the log-q term alone", "a critic that diverged"],
)
def test_the_pull_where_q_has_no_gradient(alpha, weight, expected):
    """Critics whose hidden units are all dead give every action the same Q. A metric of NaN says nothing of them."""
    cfg, batch = config(alpha=alpha, epsilon=1e-6), random_batch(ROWS, N)
    state = start(ALGO, cfg)
    critics = jax.tree.map(lambda weights: jnp.full_like(weights, weight), state.members.critics)
    members = state.members._replace(critics=critics)
    pull = teen.metrics(cfg, state._replace(members=members), batch)["diversity_pull"]
    assert np.array_equal(pull, expected, equal_nan=True)


def test_config_warns_and_refuses():
    assert "no better than by chance" in teen.Config(n=20).notices()[0]
    assert "no better than by chance" in teen.Config(epsilon=0.2).notices()[0]
    assert teen.Config().notices() == []  # nobody chose the paper's own numbers
    assert teen.Config(epsilon=0.05).notices() == []
    with pytest.raises(UserError, match="--m 3 is more than --n 2"):
        teen.Config(n=2, m=3)
    with pytest.raises(UserError, match="epsilon"):
        teen.Config(epsilon=0.5)
