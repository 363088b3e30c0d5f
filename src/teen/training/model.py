"""A model as users of Stable-Baselines3 know it: made, trained, asked for actions, saved.

It is a thin hand on `train` and `resume`: what it trains is a run folder like any other.
"""

import os
from pathlib import Path
from typing import Any, ClassVar, Self

import jax
import numpy as np
from jax import random, vmap

from .. import envs
from ..config.job import Job, resolve
from ..config.modules import Trust, import_named
from ..disk import saved
from ..disk.agent import Agent
from ..engine import device
from ..engine.evaluate import Episode
from ..engine.program import Streams
from ..envs import given
from ..errors import UserError
from ..loggers.names import Loggers
from ..settings import stacked
from .callbacks import Callbacks
from .origin import origin_of
from .outcome import Outcome
from .run import resume, train_job


class Model:
    """The agents of one program: one per variant, with a policy per seed.

    Examples:
        >>> model = teen.TEEN("Pendulum-v1", seeds=3, warmup=1_000, n=5, width=64, lr=1e-3)
        >>> model.learn(10_000)
        >>> action, _ = model.predict(obs)
    """

    algo: ClassVar[str] = "teen"

    def __init__(
        self, env: Any, *, out: str | Path | None = None, show: bool = True, trust: Trust = (), **settings: Any
    ):
        """`env` is a name, a function that makes an environment, or one that Gymnasium made. `settings` are the
        command's flags with underscores, but `steps`, which `learn` gets. Everything is checked at once. `trust` lists
        the modules that the agent may name with which `from_` begins."""
        if "steps" in settings:
            raise UserError("a model has no steps: give them to learn(steps)")
        if "algo" in settings:
            raise UserError(f"{type(self).__name__} is an algorithm by itself: leave algo out")
        device.check()
        self.settings = {"algo": self.algo, "env": given.name_of(env), **settings}
        self.out, self.show, self.trust = Path(out) if out is not None else None, show, trust
        import_named(self.settings)
        self.agents = _untrained(resolve(self.settings).settled()[0], trust)
        self.outcome: Outcome | None = None

    @property
    def agent(self) -> Agent:
        """The agent of the first variant: the only one, unless a setting is a list."""
        return self.agents[0]

    @property
    def folder(self) -> Path:
        """The folder of the program, once it has one."""
        if self.outcome is None:
            raise UserError("this model has not been trained: call learn(steps) first")
        return Path(os.path.commonpath(self.outcome.folders))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {repr(self.agent).strip('<>').partition(': ')[2]}>"

    def learn(self, steps: int, callback: Callbacks = None, log: Loggers = None) -> Self:
        """Train for so many steps; again, for so many more, as `teen.resume` does. `callback` is told of every
        evaluation and log row, and ends training by returning False. `log` names loggers, such as "tensorboard"."""
        if self.outcome is None:
            job = resolve({**self.settings, "steps": steps})
            self.outcome = train_job(job, self.out, self.show, callback, log, trust=self.trust)
        else:
            until = self.outcome.step + steps  # less than planned, if a callback or a signal ended the last time
            self.outcome = resume(self.folder, self.show, callback=callback, log=log, shorter=True, steps=until)
        self.agents = self.outcome.agents
        return self

    def predict(
        self, observation: Any, state: None = None, episode_start: Any = None, deterministic: bool = True, **which: Any
    ) -> tuple[np.ndarray, None]:
        """Return `Agent.predict` of the first variant."""
        return self.agent.predict(observation, state, episode_start, deterministic, **which)

    def act(self, obs: Any, **how: Any) -> np.ndarray:
        """Return `Agent.act` of the first variant."""
        return self.agent.act(obs, **how)

    def evaluate(self, episodes: int = 10, seed: int = 0, members: bool = False) -> list[Episode]:
        """Return `Agent.evaluate` of the first variant."""
        return self.agent.evaluate(episodes, seed, members)

    def save(self, path: str | Path) -> None:
        """Save the agent of the first variant into a folder of its own, which `teen.load` reads. The run folder has
        all of them, and what training needs to go on."""
        saved.export(Path(path), self.agent)


class TEEN(Model):
    algo = "teen"


class TD3(Model):
    algo = "td3"


class SAC(Model):
    algo = "sac"


class REDQ(Model):
    algo = "redq"


class SUNRISE(Model):
    algo = "sunrise"


class RND(Model):
    algo = "rnd"


def _untrained(job: Job, trust: Trust = ()) -> list[Agent]:
    """Return the agents with which training begins."""
    pool = envs.make(job.settings.env, 1, job.settings.backend)
    spec = pool.spec
    pool.close()
    algo, seeds = job.algorithm, job.settings.seeds
    if origin := origin_of(job, spec, trust):
        first = jax.tree.map(lambda leaf: leaf[: len(seeds)], origin.weights)  # all variants begin alike
        return [Agent(job.settings, variant.config, 0, first) for variant in job.variants]
    keys = random.wrap_key_data(Streams.of(seeds).init)
    agents = []
    for variant in job.variants:
        configs = stacked([variant.config] * len(seeds))
        weights = jax.jit(vmap(lambda cfg, key: algo.weights(cfg, algo.init(cfg, key, spec))))(configs, keys)
        agents.append(Agent(job.settings, variant.config, 0, weights))
    return agents
