"""The settings of a run that do not depend on the algorithm."""

from dataclasses import dataclass, field

from ..engine.plan import WATCHING, Plan
from ..settings import Backend, Facts, setting


@dataclass(frozen=True)
class RunSettings:
    algo: str = setting("teen", "teen, td3, sac, rnd, sunrise, redq, or a module of your own")
    env: str = setting("", "Gymnasium id, dm_control/domain-task, or package.module:Id of your own")
    backend: Backend = setting(
        "auto", "who steps the environments; auto: EnvPool where it offers the task", facts=WATCHING
    )
    seeds: tuple[int, ...] = setting((0,), "10: seeds 0-9; 3,5,8: these; 7,: just 7; 10-19: a range", facts=WATCHING)
    action_repeat: int = setting(1, "environment steps for which an action is held", "TEEN App. B", low=1, high=10_000)
    reward_scale: float = setting(
        1.0, "factor on training rewards; evaluation shows the environment's own", "ours", Facts(same_speed=True)
    )
    normalise_obs: bool = setting(False, "shift and scale observations by running statistics", "ours")
    from_: str = setting(
        "", "a run folder: begin with its agent's networks, not with new ones", facts=Facts(same_speed=True, before="")
    )
    from_seed: int = setting(
        -1,
        "which of that agent's seeds all begin with; -1: each with its own",
        facts=Facts(same_speed=True, before=-1),
        low=-1,
        high=2**31 - 1,
    )
    diagnose_episodes: int = setting(10, "episodes of a diagnosis", "ours", WATCHING, low=1, high=1_000)
    plan: Plan = field(default_factory=Plan)
