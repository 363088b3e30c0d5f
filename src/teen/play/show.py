"""Who plays what: an agent's policy or its members, in environments that are drawn."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

from ..disk.agent import Agent
from ..engine.evaluate import HEADLINE, Episode
from ..engine.members import check_is_one, check_member
from ..errors import notice
from ..settings import replace
from .episode import Moment, episode, side_by_side
from .picture import Size
from .scene import Mode, Scene, drawable

Members = Sequence[int | None]  # who plays, side by side; None is the policy that is evaluated
WHOLE: Members = (None,)


class Show(NamedTuple):
    agent: Agent
    policy: int  # the training seed
    members: Members
    scenes: list[Scene]  # one for each

    @property
    def limit(self) -> int | None:
        """The most actions of an episode, where it is known."""
        steps = self.scenes[0].limit
        return None if steps is None else math.ceil(steps / self.agent.settings.action_repeat)

    def episode(self, start: int, every: int = 1) -> Iterator[list[Moment]]:
        """Play one episode of everybody, from the same start; see `episode`."""
        repeat = self.agent.settings.action_repeat
        return side_by_side(
            [
                episode(scene, partial(self.agent.act, seed=self.policy, member=member), start, repeat, every)
                for scene, member in zip(self.scenes, self.members, strict=True)
            ]
        )

    def rows(self, number: int, moments: Sequence[Moment]) -> list[Episode]:
        """Return what was scored in an episode whose last moments these are."""
        step = self.agent.steps[self.agent.seeds.index(self.policy)]
        return [
            Episode(self.policy, step, HEADLINE if member is None else str(member), number, last.score, last.length)
            for member, last in zip(self.members, moments, strict=True)
        ]


def prepared(
    stack: ExitStack, agent: Agent, policy: int | None, members: Members, mode: Mode, size: Size | None
) -> Show:
    """Return what is to be played; the stack closes it. A UserError says what the agent or the machine lacks."""
    for member in members:
        check_member(agent.algo, agent.config, member)
        check_is_one(agent.config, member, "--member, or show several with --members")
    lane = agent.lane(policy)
    agent = _in_gymnasium(agent)
    scenes = []
    for _ in members:
        scenes.append(Scene(agent.settings.env, mode, size))
        stack.callback(scenes[-1].close)
    return Show(agent, agent.seeds[lane], members, scenes)


def _in_gymnasium(agent: Agent) -> Agent:
    """Return the agent in the task that Gymnasium draws."""
    task = drawable(agent.settings.env)
    if task != agent.settings.env:
        notice(f"{agent.settings.env} is drawn as {task}, the same task on today's simulator")
        settings = replace(agent.settings, {"env": task})
        agent = Agent(settings, agent.config, agent.step, agent.weights, agent.steps, agent.complete)
    _ = agent.spec  # whether it fits
    return agent
