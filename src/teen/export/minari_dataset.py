"""Fresh episodes of an agent as a Minari dataset.

Fresh ones, and not the replay: they are whole, played by one policy, and begin from seeds that are stored with them.
The replay holds what thousands of changing policies did, and only its newest part.
"""

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from .. import __version__, envs
from ..config.toml import versions
from ..disk.agent import Agent, Player
from ..engine.evaluate import HEADLINE, Episode, episode_seeds, rollout
from ..engine.members import check_is_one, check_member
from ..envs import Envs
from ..envs.gym import GymnasiumEnvs
from ..envs.wrapper import Repeated
from ..errors import UserError, one_line
from .needed import needed

STARTS = 2**31  # as `Agent.evaluate` counts them: the same --seed starts from the same states


def write(
    agent: Agent,
    name: str,
    episodes: int = 10,
    start_seed: int = 0,
    *,
    seed: int | None = None,
    member: int | None = None,
    explore: bool = False,
    played: Callable[[Episode], None] = lambda episode: None,
) -> tuple[Path, list[Episode]]:
    """Play episodes of one seed's policy, and store them as the Minari dataset of this name. Return its folder and what
    was played. `played` is told of each episode."""
    minari, folder = _storage_for(name)
    lane = agent.lane(seed)
    check_member(agent.algo, agent.config, member)
    if member is not None and explore:
        raise UserError("a member acts without noise: leave out --explore, or --member")
    if not explore:
        check_is_one(agent.config, member, "--member, or --explore")
    player = agent._player(lane, member)
    starts = episode_seeds([agent.seeds[lane]], STARTS + start_seed, [0], episodes)[0]
    about = _description(agent, lane, member, explore, episodes)

    def collect() -> list[Episode]:
        pool = GymnasiumEnvs(agent.settings.env, 1)
        collector = pool.envs[0] = minari.DataCollector(_with_plain_spec(pool.envs[0]), data_format="hdf5")
        try:
            work = partial(_play, agent, lane, pool, player, starts, explore, played)
            rows = envs.watched(agent.settings.plan.env_timeout, [pool], work)
            collector.create_dataset(name, **about)
        finally:
            pool.close()
        return rows

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Minari asks for an author and so on, and cleans up its folders late
        return folder, collect()


def _storage_for(name: str) -> tuple[Any, Path]:
    """Return Minari, and the folder of a dataset that is to be made."""
    minari = needed("minari", "minari")
    needed("h5py", "minari")
    try:
        minari.dataset.minari_dataset.parse_dataset_id(name)
    except (TypeError, ValueError):  # the first where there is no version
        raise UserError(f"--out {name} is no name of a Minari dataset: write such as cheetah/teen-v0") from None
    try:
        folder: Path = minari.storage.datasets_root_dir.get_dataset_path(name)
    except OSError as error:
        raise UserError(f"Minari's folder cannot be made: {one_line(error)}; set MINARI_DATASETS_PATH") from None
    nearest = next(path for path in folder.parents if path.exists())
    if not (nearest.is_dir() and os.access(nearest, os.W_OK)):  # before anything is played
        raise UserError(f"the dataset would be in {folder}, and nothing can be written there; set MINARI_DATASETS_PATH")
    if os.path.lexists(folder):
        raise UserError(f"there is a dataset {name} in {folder}: take another version, such as -v1")
    return minari, folder


def _play(
    agent: Agent,
    lane: int,
    pool: GymnasiumEnvs,
    player: Player,
    starts: np.ndarray,
    explore: bool,
    played: Callable[[Episode], None],
) -> list[Episode]:
    """Play an episode from each start. Where actions are repeated, every step of the environment is collected."""
    repeat, rows, seed = agent.settings.action_repeat, list[Episode](), agent.seeds[lane]
    stepped: Envs = Repeated(pool, repeat) if repeat > 1 else pool
    for number, start in enumerate(starts):
        policy = _exploring(player) if explore else lambda obs: player.noiseless(obs[0])[None]
        scores, lengths = rollout(stepped, policy, [seed], np.array([[start]]))
        if np.isnan(scores).any():
            raise UserError(f"the policy of seed {seed} gives actions that are not finite")
        rows.append(Episode(seed, agent.steps[lane], HEADLINE, number, float(scores[0, 0]), int(lengths[0, 0])))
        played(rows[-1])
    return rows


def _exploring(player: Player) -> Callable[[np.ndarray], np.ndarray]:
    """Return the policy of one episode as in training: its first call begins it."""
    begins = iter([True])
    return lambda obs: player.explore(obs[0], next(begins, False))[None]


class _WithoutSpec(gymnasium.Wrapper[Any, Any, Any, Any]):
    spec = None


def _with_plain_spec(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """Return an environment whose spec can be stored: one that was registered with an object has none that can."""
    try:
        if env.spec is not None:
            env.spec.to_json()
        return env
    except (TypeError, ValueError):
        return _WithoutSpec(env)


def _description(agent: Agent, lane: int, member: int | None, explore: bool, episodes: int) -> dict[str, Any]:
    how = "with exploration noise" if explore else "without noise" if member is None else f"member {member} alone"
    algo, env, seed = agent.settings.algo, agent.settings.env, agent.seeds[lane]
    return {
        "algorithm_name": algo,
        "description": (
            f"{episodes} episodes of {algo} on {env}, seed {seed} after {agent.steps[lane]} steps, {how}; "
            f"teen {__version__}"
        ),
        "requirements": [f"{name}=={versions()[name]}" for name in ("gymnasium", "mujoco") if name in versions()],
    }
