"""How long to train, and what happens when; `config.run` adds which algorithm and which task."""

import math
from dataclasses import dataclass
from typing import Literal

from ..errors import UserError
from ..settings import Collecting, Facts, Precision, ReplayPlace, setting

WATCHING = Facts(bookkeeping=True)
CHANGEABLE = Facts(bookkeeping=True, changeable=True)

MOST_STEPS = 2_000_000_000  # a device counts them in 32 bits
LONGEST = 10**12  # steps between two events; more are a typing error


@dataclass(frozen=True)
class Plan:
    steps: int = setting(
        1_000_000,
        "decisions of each seed: environment steps, but for action repeat",
        "TEEN §5",
        CHANGEABLE,
        low=1,
        high=MOST_STEPS,
    )
    warmup: int = setting(25_000, "first steps, of uniform random actions", "TD3", low=0, high=MOST_STEPS)
    utd: int = setting(1, "gradient steps per environment step", "REDQ: 20", low=1, high=10_000)
    n_step: int = setting(
        1,
        "rewards that a target sums before Q follows; fewer at an episode's end",
        "TD3",
        Facts(before=1),
        low=1,
        high=1_000,
    )
    batch: int = setting(256, "transitions in a gradient step", "TD3", low=1, high=1_000_000)
    buffer: int = setting(1_000_000, "transitions kept", "TD3", low=1, high=MOST_STEPS)
    eval_every: int = setting(5_000, "steps between evaluations", "TD3", low=1, high=LONGEST)
    eval_episodes: int = setting(10, "episodes of an evaluation", "TD3", low=1, high=10_000)
    members_every: int = setting(
        50_000, "steps between evaluations of each member", "ours", WATCHING, low=1, high=LONGEST
    )
    log_every: int = setting(1_000, "steps between rows of train.csv", "ours", WATCHING, low=1, high=LONGEST)
    diagnose_every: int = setting(
        0,
        "steps between rows of diagnostics.csv: bias, entropy, members (docs/diagnostics.md); 0: none",
        "ours",
        WATCHING,
        low=0,
        high=LONGEST,
    )
    sync: int = setting(
        10, "steps between hand-overs of weights and data; 1: strictly in turn", "ours", low=1, high=100_000
    )
    collector: Collecting = setting(
        "auto",
        "what acts, steps and evaluates; compiled: programs, for EnvPool's tasks; python: any environment; auto: "
        "compiled where EnvPool steps and the acting weights are small",
        "ours",
        WATCHING,
    )
    replay: ReplayPlace = setting(
        "auto",
        "where transitions are kept; auto: with the learner, or in host memory where they do not fit",
        "ours",
        WATCHING,
    )
    precision: Precision = setting(
        "tf32", "products of an update: float32; tf32: that on a CPU, TF32 on a GPU; bf16: operands rounded to bfloat16"
    )
    env_timeout: float = setting(
        60.0,
        "seconds after which a step, or a compiled chunk of them, counts as hung",
        "ours",
        CHANGEABLE,
        above=0,
        high=1_000_000_000,
    )
    checkpoint_every: int = setting(
        25_000,
        "steps between checkpoints, from which --resume goes on; 0: none, not even at the end",
        "ours",
        CHANGEABLE,
        low=0,
        high=LONGEST,
    )
    on_nan: Literal["quarantine", "stop"] = setting(
        "quarantine",
        "a learner whose numbers are no longer finite: its lane no longer counts, or the run ends",
        "ours",
        CHANGEABLE,
    )

    def __post_init__(self) -> None:
        if self.n_step > self.buffer:
            raise UserError(f"--n-step {self.n_step} is more than --buffer {self.buffer}: so many rows are not kept")

    def chunk(self, first: int = 0) -> int:
        """Return the steps between two hand-overs: the largest number up to `sync` that divides every interval, the
        last step, and the first, from which a run is resumed."""
        intervals = self.warmup, self.log_every, self.eval_every, self.members_every, self.diagnose_every
        common = math.gcd(first, self.steps, *intervals)  # zeros are passed over
        return max(k for k in range(1, min(self.sync, common) + 1) if common % k == 0)

    @property
    def capacity(self) -> int:
        """Rows of a lane's replay."""
        return min(self.buffer, self.steps)
