"""What other libraries call a setting, and what is meant by a name that nobody has here.

The names are those of Stable-Baselines3's and SBX's SAC and TD3, of RL Zoo's `train.py`, of CleanRL's
`*_continuous_action.py`, and of Tianshou's MuJoCo examples; names that are the same here are left out.
"""

import difflib
from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple, get_args

from .. import algos
from ..settings import flag, leaves, shown

SB3, SBX, ZOO, CLEANRL, TIANSHOU = "Stable-Baselines3", "SBX", "RL Zoo", "CleanRL", "Tianshou"
JAXS_DEVICE = "JAX takes a GPU where it finds one, or what JAX_PLATFORMS says, as in JAX_PLATFORMS=cpu teen train"
ONE_ENVIRONMENT = "each seed is a lane with one environment of its own, so --seeds 4 steps four"
ONE_LR = "every network has the same"


class Alias(NamedTuple):
    name: str  # with underscores; a short flag as it is written
    whose: tuple[str, ...]
    here: str  # the setting or option; empty where there is none
    note: str = ""


ALIASES = (
    Alias("env_id", (CLEANRL,), "env"),
    Alias("task", (TIANSHOU,), "env"),
    Alias("gym_packages", (ZOO,), "env", "package.module:Id names the module that registers it"),
    Alias("seed", (SB3, SBX, ZOO, CLEANRL, TIANSHOU), "seeds", "--seeds 3, is seed 3 alone, --seeds 3 are three seeds"),
    Alias("num_envs", (CLEANRL,), "", ONE_ENVIRONMENT),
    Alias("n_envs", (SB3, ZOO), "", ONE_ENVIRONMENT),
    Alias("training_num", (TIANSHOU,), "", ONE_ENVIRONMENT),
    Alias("num_train_envs", (TIANSHOU,), "", ONE_ENVIRONMENT),
    Alias("vec_env", (ZOO,), "backend"),
    Alias("vec_env_cls", (SB3,), "backend"),
    Alias("device", (SB3, SBX, ZOO, TIANSHOU), "", JAXS_DEVICE),
    Alias("cuda", (CLEANRL,), "", JAXS_DEVICE),
    Alias("total_timesteps", (SB3, SBX, CLEANRL), "steps"),
    Alias("n_timesteps", (ZOO,), "steps"),
    Alias("-n", (ZOO,), "steps"),
    Alias("epoch", (TIANSHOU,), "steps", "epochs times the steps of one"),
    Alias("step_per_epoch", (TIANSHOU,), "eval_every"),
    Alias("epoch_num_steps", (TIANSHOU,), "eval_every"),
    Alias("learning_starts", (SB3, SBX, CLEANRL), "warmup"),
    Alias("start_timesteps", (TIANSHOU,), "warmup"),
    Alias("batch_size", (SB3, SBX, CLEANRL, TIANSHOU), "batch"),
    Alias("buffer_size", (SB3, SBX, CLEANRL, TIANSHOU), "buffer"),
    Alias("gradient_steps", (SB3, SBX), "utd"),
    Alias("train_freq", (SB3, SBX), "utd", "there are as many gradient steps after every step"),
    Alias("update_per_step", (TIANSHOU,), "utd"),
    Alias("learning_rate", (SB3, SBX, CLEANRL), "lr"),
    Alias("qf_learning_rate", (SBX,), "lr", ONE_LR),
    Alias("policy_lr", (CLEANRL,), "lr", ONE_LR),
    Alias("q_lr", (CLEANRL,), "lr", ONE_LR),
    Alias("actor_lr", (TIANSHOU,), "lr", ONE_LR),
    Alias("critic_lr", (TIANSHOU,), "lr", ONE_LR),
    Alias("alpha_lr", (TIANSHOU,), "lr", ONE_LR),
    Alias("policy_delay", (SB3, SBX), "delay"),
    Alias("policy_frequency", (CLEANRL,), "delay"),
    Alias("update_actor_freq", (TIANSHOU,), "delay"),
    Alias("target_update_interval", (SB3,), "delay", "targets move with the actors"),
    Alias("target_network_frequency", (CLEANRL,), "delay", "targets move with the actors"),
    Alias("action_noise", (SB3, SBX), "noise"),
    Alias("exploration_noise", (CLEANRL, TIANSHOU), "noise"),
    Alias("target_policy_noise", (SB3, SBX), "smoothing"),
    Alias("policy_noise", (CLEANRL, TIANSHOU), "smoothing"),
    Alias("target_noise_clip", (SB3, SBX), "smoothing_clip"),
    Alias("noise_clip", (CLEANRL, TIANSHOU), "smoothing_clip"),
    Alias("ent_coef", (SB3, SBX), "start_temperature", "--temperature fixed keeps it"),
    Alias("alpha", (CLEANRL, TIANSHOU), "start_temperature", "--temperature fixed keeps it"),
    Alias("autotune", (CLEANRL,), "temperature"),
    Alias("auto_alpha", (TIANSHOU,), "temperature"),
    Alias("policy_kwargs", (SB3, SBX), "width", "networks have --depth hidden layers of --width units"),
    Alias("net_arch", (SB3, SBX), "width", "networks have --depth hidden layers of --width units"),
    Alias("hidden_sizes", (TIANSHOU,), "width", "networks have --depth hidden layers of --width units"),
    Alias("n_critics", (SB3, SBX), "critics"),
    Alias("normalize", (ZOO,), "normalise_obs"),
    Alias("eval_freq", (SB3, ZOO), "eval_every"),
    Alias("n_eval_episodes", (SB3,), "eval_episodes"),
    Alias("n_eval_envs", (ZOO,), "eval_episodes", "they are stepped together"),
    Alias("test_num", (TIANSHOU,), "eval_episodes", "they are stepped together"),
    Alias("num_test_envs", (TIANSHOU,), "eval_episodes", "they are stepped together"),
    Alias("save_freq", (SB3, ZOO), "checkpoint_every"),
    Alias("save_replay_buffer", (ZOO,), "", "every checkpoint holds the replay"),
    Alias("log_interval", (SB3, SBX, ZOO), "log_every"),
    Alias("tensorboard_log", (SB3, SBX, ZOO), "log", "--log tensorboard, or log=\"tensorboard\" in Python"),
    Alias("track", (ZOO, CLEANRL), "log", "--log wandb, or log=\"wandb\" in Python"),
    Alias("wandb_project_name", (ZOO, CLEANRL), "log", "with --log wandb, WANDB_PROJECT names the project"),
    Alias("wandb_project", (TIANSHOU,), "log", "with --log wandb, WANDB_PROJECT names the project"),
    Alias("logger", (TIANSHOU,), "log", "--log tensorboard or --log wandb"),
    Alias("log_folder", (ZOO,), "out"),
    Alias("-f", (ZOO,), "out"),
    Alias("exp_name", (CLEANRL,), "out"),
    Alias("logdir", (TIANSHOU,), "out"),
    Alias("trained_agent", (ZOO,), "resume"),
    Alias("-i", (ZOO,), "resume"),
    Alias("resume_path", (TIANSHOU,), "resume"),
    Alias("conf_file", (ZOO,), "config"),
    Alias("-conf", (ZOO,), "config"),
    Alias("hyperparams", (ZOO,), "", "each setting is a flag of its own"),
    Alias("-params", (ZOO,), "", "each setting is a flag of its own"),
    Alias("verbose", (SB3, SBX, ZOO), "", "in Python, show=False prints nothing"),
    Alias("progress", (ZOO,), "", "it is always shown"),
    Alias("-P", (ZOO,), "", "it is always shown"),
    Alias("progress_bar", (SB3, SBX), "", "in Python, show=False prints none"),
)  # fmt: skip
_BY_NAME = {alias.name: alias for alias in ALIASES}


def unknown(name: str, algo: str, base: str | None, names: Iterable[str], on_command_line: bool = False) -> str:
    """Return what to say of a name that is not among `names`, those that there are with this algorithm."""
    names, alias, write = list(names), _BY_NAME.get(name), flag if on_command_line else shown
    missing = flag(name) if on_command_line else f"setting {shown(name)}"
    if alias and alias.here in names:
        return f"there is no {missing}: did you mean {write(alias.here)}?{alias.note and f' {alias.note}'}"
    if owners := _owners(name, algo, base):
        return f"{algo} has no {missing}: {owners}"
    if alias and (owners := _owners(alias.here, algo, base)):
        return f"{algo} has no {missing}, which is {write(alias.here)} here: {owners}"
    if alias:  # to an option that is no setting, or to nothing
        return f"there is no {missing}: {alias.note or f'did you mean {flag(alias.here)}?'}"
    close = difflib.get_close_matches(name, names, 1)
    return f"there is no {missing}" + (f": did you mean {write(close[0])}?" if close else f" for algorithm {algo}")


def _owners(name: str, algo: str, base: str | None) -> str:
    """Return, in words, which algorithms have a setting: this one on another base, or others."""
    bases = [get_args(leaf.type) for leaf in leaves(algos.default_config(algo, base)) if leaf.name == "base"]
    if on := next((other for other in chain(*bases) if _has(algo, other, name)), None):
        return f"--base {on} has"
    *owners, last = [other for other in algos.NAMES if _has(other, None, name)] or [""]
    return f"{', '.join(owners)} and {last} have" if owners else last and f"{last} has"


def _has(algo: str, base: str | None, name: str) -> bool:
    return any(leaf.name == name for leaf in leaves(algos.default_config(algo, base)))
