"""A trained agent in a user's hands: it acts and is evaluated. Where it is saved is the business of `saved`."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array, random, vmap

from .. import algos, envs
from ..config.run import RunSettings
from ..engine import memory
from ..engine.best import Kept, joined
from ..engine.evaluate import Episode, copies_needed, evaluate
from ..engine.members import check_member, member_policy
from ..engine.on_numpy import numpy_version
from ..envs import Envs
from ..errors import UserError
from ..settings import replace, stacked
from ..spec import AnyAlgorithm, PyTree, Spec


class Agent:
    """The policies of one run, one per seed.

    Examples:
        >>> agent = teen.load("runs/cheetah")
        >>> action = agent.act(obs)              # the first seed's policy, in the environment's bounds
    """

    def __init__(
        self,
        settings: RunSettings,
        config: Any,
        step: int,
        weights: PyTree,
        steps: tuple[int, ...] = (),
        complete: bool = True,
    ):
        """The leaves of `weights` are (seed, ...). `steps` are those of each seed's weights, where these were kept
        because they were the best so far. An agent that is not `complete` has only what acting reads; the rest of its
        weights is NaN."""
        self.settings, self.config, self.step, self.weights = settings, config, step, weights
        self.complete = complete
        self.steps = steps or (step,) * len(settings.seeds)
        self.algo = algos.find(settings.algo, settings.normalise_obs)
        self.configs = stacked([config] * len(settings.seeds))  # leaves (seed,)
        self._players: dict[tuple[int, int | None], Player] = {}  # by lane and member
        self._env: Envs | None = None

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.settings.seeds

    @property
    def spec(self) -> Spec:
        return self._spaces().spec

    def __repr__(self) -> str:
        seeds = f"{len(self.seeds)} seeds" if len(self.seeds) > 1 else f"seed {self.seeds[0]}"
        return f"<Agent: {self.settings.algo} on {self.settings.env}, {seeds}, {self.step:,} steps>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what an agent is made of: compiled functions and environments are made again."""
        weights = jax.tree.map(np.asarray, self.weights)
        return Agent, (self.settings, self.config, self.step, weights, self.steps, self.complete)

    def act(
        self,
        obs: Any,
        *,
        deterministic: bool = True,
        episode_start: Any = None,
        seed: int | None = None,
        member: int | None = None,
    ) -> np.ndarray:
        """Return the action for an observation of the environment, or the actions for a batch of them, in its bounds.

        `seed` chooses the policy, which is that of the first seed if none is named; `member` one member of an ensemble
        alone. Without `deterministic` it explores as in training; an ensemble then draws the acting member when an
        episode starts, (row,).
        """
        lane = self.lane(seed)
        check_member(self.algo, self.config, member)
        if member is not None and not deterministic:
            raise UserError("a member acts without noise: leave out deterministic=False, or the member")
        env = self._spaces()
        player = self._player(lane, member)
        rows, batch = env.rows(obs)
        actions = env.scale(player.noiseless(rows) if deterministic else player.explore(rows, episode_start))
        return actions if batch else actions[0]

    def predict(
        self,
        observation: Any,
        state: None = None,
        episode_start: Any = None,
        deterministic: bool = True,
        *,
        seed: int | None = None,
        member: int | None = None,
    ) -> tuple[np.ndarray, None]:
        """Return the action of `act`, with Stable-Baselines3's signature: its `evaluate_policy` takes an agent. There
        is no recurrent state. Unlike there, the default is the policy without noise."""
        how = {"deterministic": deterministic, "episode_start": episode_start}
        return self.act(observation, **how, seed=seed, member=member), None

    def evaluate(self, episodes: int = 10, seed: int = 0, members: bool = False) -> list[Episode]:
        """Play fresh episodes of every seed's policy. `seed` chooses other starts."""
        lanes = len(self.seeds)
        copies = copies_needed(self.algo, self.config, lanes, episodes) if members else lanes * episodes
        # Another machine may lack the backend of the training: both give the same task.
        pool = envs.make(self.settings.env, memory.check_copies(copies), "auto", self.settings.action_repeat)
        asked = self.seeds, 2**31 + seed, episodes, members
        try:
            self.check_fits(pool.spec)
            work = partial(evaluate, self.algo, self.configs, self.weights, pool, *asked)
            rows = envs.watched(self.settings.plan.env_timeout, [pool], work)
        finally:
            pool.close()
        return [row._replace(step=step) for step, lane in zip(self.steps, rows, strict=True) for row in lane]

    def lane(self, seed: int | None) -> int:
        """Return the row of a seed's policy among the weights; that of the first seed if none is named."""
        if seed is not None and seed not in self.seeds:
            raise UserError(f"this agent has seeds {list(self.seeds)}, not {seed}")
        return 0 if seed is None else self.seeds.index(seed)

    def only(self, seeds: Sequence[int]) -> "Agent":
        """Return this agent with the policies of these seeds alone."""
        lanes = [self.lane(seed) for seed in seeds]
        weights = jax.tree.map(lambda leaf: leaf[np.array(lanes)], self.weights)
        settings = replace(self.settings, {"seeds": tuple(seeds)})
        return Agent(settings, self.config, self.step, weights, tuple(self.steps[i] for i in lanes), self.complete)

    def check_complete(self, what: str) -> None:
        """Raise a UserError, which begins with `what`, if there are no weights but those that acting reads."""
        if not self.complete:
            raise UserError(f"{what} needs critics, and this agent was shared without them: it can only act")

    def at_best(self, kept: dict[int, Kept], first: int) -> "Agent | None":
        """Return this agent with each seed's best weights; None where there are none. The seeds are the lanes of a
        program from `first` on. One that was never evaluated has its last weights."""
        lanes = range(first, first + len(self.seeds))
        if not kept.keys() & set(lanes):
            return None
        steps = tuple(kept[lane].step if lane in kept else self.step for lane in lanes)
        return Agent(self.settings, self.config, self.step, joined(kept, lanes, self.weights), steps, self.complete)

    def check_fits(self, spec: Spec) -> None:
        """Raise a UserError if the policies were made for an environment of other sizes."""
        config, weights = jax.tree.map(lambda leaf: leaf[0], (self.configs, self.weights))
        try:
            rows = np.zeros((1, spec.obs), np.float32)
            memo = self.algo.begin(config, random.key(0), spec)
            policy = vmap(self.algo.policy, (None, None, None, 0))
            fits = jax.eval_shape(policy, config, weights, memo, rows).shape == (1, spec.action)
        except (TypeError, ValueError):  # products of matrices that do not match
            fits = False
        if not fits:
            sizes = f"{spec.obs} observations and {spec.action} actions"
            raise UserError(f"this agent does not fit {self.settings.env}, which has {sizes}")

    def _spaces(self) -> Envs:
        """Return the environment, for its observations and bounds."""
        if self._env is None:
            env = envs.make(self.settings.env, 1, "auto")
            self.check_fits(env.spec)
            self._env = env
        return self._env

    def _player(self, lane: int, member: int | None) -> "Player":
        if (lane, member) not in self._players:
            one = jax.tree.map(lambda leaf: leaf[lane], (self.configs, self.weights))
            self._players[lane, member] = Player(self.algo, one[0], one[1], self.spec, self.seeds[lane], member)
        return self._players[lane, member]


class Player:
    """One policy, or one member's, on the host's CPU: a call for a few observations is too small for a GPU."""

    def __init__(
        self, algo: AnyAlgorithm, config: Any, weights: PyTree, spec: Spec, seed: int, member: int | None = None
    ):
        self.host = jax.devices("cpu")[0]
        config, weights, self._key = jax.device_put((config, weights, random.key(seed)), self.host)
        self._memos: PyTree = None  # of the episodes under way, leaves (row, ...)
        self._count = 0
        memo = algo.begin(config, random.key(0), spec)

        # Compiled with the weights inside: to pass them at every call takes longer than the arithmetic.
        def noiseless(rows: Array) -> Array:
            return vmap(lambda obs: member_policy(algo, config, weights, memo, obs, member))(rows)

        def begin(key: Array, count: int) -> PyTree:
            return vmap(lambda key: algo.begin(config, key, spec))(random.split(key, count))

        def explore(memos: PyTree, rows: Array, key: Array) -> tuple[Array, PyTree]:
            def act(memo: PyTree, obs: Array, key: Array) -> tuple[Array, PyTree]:
                actor = algo.actor(config, weights, memo)
                action, _, memo = algo.act(config, actor, memo, obs, algo.draw_act(config, key, spec))
                return action, memo

            return vmap(act)(memos, rows, random.split(key, len(rows)))

        self._noiseless, self._explore = jax.jit(noiseless), jax.jit(explore)
        self._begin = jax.jit(begin, static_argnums=1)
        # For one observation NumPy is faster: a compiled call waits for a thread of XLA's.
        one = np.zeros((1, spec.obs), np.float32)
        self._noiseless_one = numpy_version(
            lambda rows: member_policy(algo, config, weights, memo, rows[0], member)[None], one, any_product=True
        )

    def noiseless(self, rows: np.ndarray) -> np.ndarray:
        """Return the actions without noise, (row, action)."""
        if self._noiseless_one and len(rows) == 1:
            return np.asarray(self._noiseless_one(rows))
        with jax.default_device(self.host):
            return np.asarray(self._noiseless(rows))

    def explore(self, rows: np.ndarray, starts: Any) -> np.ndarray:
        """Return actions as in training, (row, action). `starts` says in which rows an episode starts, (row,)."""
        if starts is not None and np.shape(starts) not in ((), (len(rows),)):
            raise UserError(f"episode_start has the shape {np.shape(starts)}, and there are {len(rows)} observations")
        with jax.default_device(self.host):
            self._key, begin_key, key = random.split(self._key, 3)
            if len(rows) != self._count:
                self._memos, self._count = self._begin(begin_key, len(rows)), len(rows)
            elif starts is not None:
                new = np.broadcast_to(np.asarray(starts, bool), len(rows))
                self._memos = jax.tree.map(
                    lambda begun, under_way: np.where(new.reshape(-1, *[1] * (begun.ndim - 1)), begun, under_way),
                    self._begin(begin_key, len(rows)),
                    self._memos,
                )
            actions, self._memos = self._explore(self._memos, rows, key)
            return np.asarray(actions)
