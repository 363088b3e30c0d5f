"""The page of a shared agent, README.md, as the Hugging Face Hub shows it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..config.toml import versions
from ..disk.agent import Agent
from ..settings import flat

CURVE = "curve.png"
_CURVE = f"""
![Learning curve: return against environment steps]({CURVE})

The curve has every seed of the run, also those that are not part of this folder."""


class Score(NamedTuple):
    """What one policy of a shared agent reached in fresh episodes, played with the files that are shared."""

    seed: int  # of the training
    step: int
    episodes: int
    mean: float
    std: float | None  # over episodes, n − 1; None for one


def card(agent: Agent, scores: Sequence[Score], name: str, curve: bool, trained_with: Mapping[str, str]) -> str:
    """Return the page. `name` is how the agent can be loaded."""
    settings, mean = agent.settings, sum(score.mean for score in scores) / len(scores)
    rows = "\n".join(
        f"| {s.seed} | {s.step:,} | {s.episodes} | {s.mean:.1f}{'' if s.std is None else f' ± {s.std:.1f}'} |"
        for s in scores
    )
    return f"""---
library_name: teen
tags: [reinforcement-learning, continuous-control, {_quoted(settings.algo)}, {_quoted(settings.env)}]
model-index:
- name: {_quoted(f"{settings.algo} on {settings.env}")}
  results:
  - task: {{type: reinforcement-learning, name: reinforcement-learning}}
    dataset: {{name: {_quoted(settings.env)}, type: {_quoted(settings.env)}}}
    metrics: [{{type: mean_reward, value: {mean:.1f}, name: mean return}}]
---

# {settings.algo} on {settings.env}

Trained with [TEEN](https://arxiv.org/abs/2310.11138)'s implementation `teen` for {agent.step:,} steps.

| seed | weights of step | episodes | return |
|---|---|---|---|
{rows}

Fresh episodes, actions without noise, played with the files in this folder; ± over episodes.
{_contents(agent)}
{_CURVE if curve else ""}

## Load it

```python
import teen

agent = teen.load({_quoted(name)})
action, _ = agent.predict(observation)
```

    teen eval {name}
    teen play {name} --video out.mp4

The files are data: loading them executes nothing of theirs. One that names a module, such as that of an environment of
somebody's own, is refused unless you trust that module: `teen.load(..., trust="module")`.

## Settings

```toml
{_settings(agent)}
```

Trained with {_listed(trained_with)}; scored with {_listed(versions())}.
"""


def _contents(agent: Agent) -> str:
    size = agent.algo.size(agent.config)
    how = {"mean": "whose mean action is the policy", "vote": "whose critics vote for the policy's action"}
    evaluated = flat(agent.config).get("evaluate", "mean")
    drawn = "one of which is drawn for each episode"
    policies = f"{size} members, {how.get(evaluated, drawn)}" if size else "one policy"
    return f"Each seed has {policies}." + ("" if agent.complete else " What acting does not need is left out.")


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {number}" for package, number in versions.items())


def _settings(agent: Agent) -> str:
    values = {**flat(agent.settings), **flat(agent.config)}
    return "\n".join(f"{key} = {json.dumps(_plain(value))}" for key, value in values.items())


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _quoted(text: str) -> str:
    return json.dumps(text)  # what YAML reads as one text, whatever is in it
