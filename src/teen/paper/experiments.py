"""The experiments by name: the runs that each needs, and the function that renders it."""

import difflib
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from ..envs import names
from ..errors import UserError
from ..measure.region import check_installed
from ..settings import number_text
from . import ablations, claims, curves, region, tables, theory
from .claims import ALPHA_0, BASELINES, CONTROL, OURS
from .needs import Entry, needed, preset_alpha
from .page import Page
from .scale import Scale, settings
from .store import Trained

MUJOCO = ("HalfCheetah-v4", "Hopper-v4", "Walker2d-v4", "Ant-v4")
SUITE = tuple(
    f"{names.SUITE}{task}" for task in ("cheetah-run", "finger-spin", "fish-swim", "walker-walk", "walker-run")
)
ABLATED = ("Ant-v4", "HalfCheetah-v4", "Hopper-v4", "Walker2d-v4")  # the paper's body, then its appendix

STEPS, SEEDS, FEWER_SEEDS = 1_000_000, 10, 5  # fewer in the appendix: Humanoid and ablations

MEMBERS, JUDGES = (2, 5, 10, 20), (1, 2, 5, 10)  # N and M: the paper's are in its figures only
ALPHAS = (0.0, 0.2, 0.5, 1.0)
SCALES = (0.1, 1.0, 10.0, 100.0)


Check = Callable[[], None]  # raises a UserError if something is not installed


class Experiment(NamedTuple):
    title: str
    paper: str  # what the paper shows, and where
    entries: Callable[[Scale], list[Entry]]
    render: Callable[[str, Sequence[Trained], Scale], Page]
    check: Check = lambda: None  # of what `render` needs


def side_by_side(
    tasks: Sequence[str], scale: Scale, baselines: Sequence[str] = BASELINES, seeds: int = SEEDS, steps: int = STEPS
) -> list[Entry]:
    """Return entries for TEEN, its control and the baselines on each task."""
    extent = scale.extent(seeds, steps)
    entries = []
    for env in scale.tasks(tasks):
        entries += [
            Entry(OURS, needed("teen", env, preset_alpha(env, scale.preset), (), extent), paper=OURS),
            Entry(CONTROL, needed("teen", env, 0.0, (), extent)),
            *(Entry(name, needed(name.lower(), env, None, (), extent), paper=name) for name in baselines),
        ]
    return entries


class Varied(NamedTuple):
    """A setting of TEEN, whose values are always trained together with their control."""

    setting: str
    word: str
    values: Sequence[float]
    few: Sequence[float]  # for a smoke test
    usual: float  # the paper's
    tasks: Sequence[str] = ABLATED

    def entries(self, scale: Scale) -> list[Entry]:
        unchanged = settings("teen", scale.smoke).get(self.setting, self.usual)
        extent = scale.extent(FEWER_SEEDS, STEPS)
        entries = []
        for env in scale.tasks(self.tasks):
            for value in self.few if scale.smoke else self.values:
                changes = () if value == unchanged else ((self.setting, value),)
                label, paper = f"{self.word}{number_text(value)}", OURS if value == self.usual else ""
                alphas = preset_alpha(env, scale.preset), 0.0
                teen, control = (needed("teen", env, alpha, changes, extent) for alpha in alphas)
                entries += [Entry(label, teen, paper=paper), Entry(label, control, ALPHA_0)]
        return entries


def varied_alpha(scale: Scale) -> list[Entry]:
    """Return entries that one program trains, as alpha may differ between lanes."""
    extent = scale.extent(FEWER_SEEDS, STEPS)
    return [
        Entry(
            f"α={number_text(alpha)}",
            needed("teen", env, alpha, (), extent),
            paper=OURS if alpha == preset_alpha(env, scale.preset) else "",
        )
        for env in scale.tasks(ABLATED)
        for alpha in (ALPHAS[:2] if scale.smoke else ALPHAS)
    ]


def half_trained(scale: Scale) -> list[Entry]:
    """Return entries of one seed, as in the paper. A smoke test has as many as elsewhere: their program is compiled."""
    one = scale if scale.smoke else scale._replace(seeds=(scale.seeds or (0,))[:1])
    return [
        entry._replace(need=entry.need._replace(steps=entry.need.steps // 2, agent=True))
        for entry in side_by_side(("Ant-v4",), one)
    ]


EXPERIMENTS = {
    "table1": Experiment(
        "Table 1: returns on four MuJoCo tasks",
        "Table 1: TEEN has the highest return on all four tasks, at 500k and at 1M steps.",
        partial(side_by_side, MUJOCO),
        tables.render,
    ),
    "table2": Experiment(
        "Table 2: returns on five tasks of the DeepMind Control Suite",
        "Table 2: TEEN has the highest return on all but walker-walk, where SAC has.",
        partial(side_by_side, SUITE),
        tables.render,
    ),
    "claims": Experiment(
        "the 41 % and 7.3 % of abstract and introduction, from Tables 1 and 2",
        "Introduction: TEEN surpasses the ensemble baseline by 41 % and the best off-policy algorithms by 7.3 %.",
        partial(side_by_side, (*MUJOCO, *SUITE)),
        partial(claims.render, suites={"MuJoCo": MUJOCO, "DM Control": SUITE, claims.ALL: (*MUJOCO, *SUITE)}),
    ),
    "curves-mujoco": Experiment(
        "learning curves on four MuJoCo tasks",
        "Figure 1: learning curves on the tasks of Table 1. Its numbers are not printed; those of Table 1 stand below.",
        partial(side_by_side, MUJOCO),
        curves.render,
    ),
    "curves-dmc": Experiment(
        "learning curves on five tasks of the DeepMind Control Suite",
        "Figure 2: learning curves on the tasks of Table 2. Its numbers are not printed; those of Table 2 stand below.",
        partial(side_by_side, SUITE),
        curves.render,
    ),
    "ablation-n": Experiment(
        "the size N of the ensemble: returns and estimation bias",
        "Figure 4 (Ant) and Appendix C.2, N: a larger ensemble lessens the underestimation and does "
        "better. The paper's values of N are in its figures only; ours are " + ", ".join(map(str, MEMBERS)) + ".",
        Varied("n", "N=", MEMBERS, (2, 3), 10).entries,
        partial(ablations.render, quantities=ablations.BIAS),
    ),
    "ablation-m": Experiment(
        "the number M of target critics: returns and estimation bias",
        "Figure 4 (Ant) and Appendix C.2, M: the target underestimates the more, the larger M is. The "
        "paper's values of M are in its figures only; ours are " + ", ".join(map(str, JUDGES)) + ".",
        Varied("m", "M=", JUDGES, (1, 2), 2).entries,
        partial(ablations.render, quantities=ablations.BIAS),
    ),
    "ablation-alpha": Experiment(
        "the weight α of being recognisable: returns and the entropy of visits",
        "Figure 4 (Ant) and Appendix C.2, α of 0, 0.2, 0.5 and 1: α helps, and too much of it hurts.",
        varied_alpha,
        partial(ablations.render, quantities=ablations.DIVERSITY),
    ),
    "reward-scale": Experiment(
        "rewards times 0.1 to 100: does TEEN with a fixed α depend on their scale",
        "The text says that TEEN is sensitive to the reward scale and points to its appendix, which shows nothing of "
        "it. Training sees scaled rewards; returns here are the environment's own.",
        Varied("reward_scale", "rewards × ", SCALES, (1.0, 10.0), 1.0, ("HalfCheetah-v4", "Ant-v4")).entries,
        curves.render,
    ),
    "region": Experiment(
        "the exploration region at half of training, by t-SNE",
        "Figure 3: states of 10 episodes on Ant, one seed, at half of training. It has no numbers.",
        half_trained,
        region.render,
        check_installed,
    ),
    "humanoid": Experiment(
        "learning curves on Humanoid, 5M steps",
        "Appendix C.1: TEEN, TD3 and SAC on Humanoid, 5 seeds, as a figure without numbers.",
        partial(side_by_side, ("Humanoid-v4",), baselines=("TD3", "SAC"), seeds=FEWER_SEEDS, steps=5_000_000),
        curves.render,
    ),
    "theory": Experiment(
        "Theorem 1 and Lemma 3 in numbers; no runs",
        "Theorem 1 and Lemma 3: bounds for the minimum and the mean of N independent errors.",
        lambda scale: [],
        theory.render,
    ),
}


def named(wanted: Sequence[str]) -> list[str]:
    """Return names in the order in which they were given, `all` replaced by all of them."""
    for name in wanted:
        if name != "all" and name not in EXPERIMENTS:
            close = difflib.get_close_matches(name, EXPERIMENTS, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise UserError(f"unknown experiment {name!r}: choose from {', '.join(EXPERIMENTS)}, or all{hint}")
    return list(dict.fromkeys(n for name in wanted for n in (EXPERIMENTS if name == "all" else [name])))
