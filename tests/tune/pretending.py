"""A launcher that trains nothing: jobs report returns of a formula to their study, and leave the marker of the end."""

import math
from pathlib import Path

from teen.config.job import resolve
from teen.jobs import markers
from teen.jobs.place import Folder
from teen.jobs.trials import reporter
from teen.settings import flat
from teen.training.callbacks import Event

SETTINGS = """\
algo = "td3"
env = "Pendulum-v1"
seeds = 2
steps = 300
warmup = 50
eval_every = 100
"""
SEARCH = """\
lr = {low = 1e-5, high = 1e-1, log = true}
gamma = {low = 0.9, high = 0.99}
"""


def write(folder: Path, search: str = SEARCH, tune: str = "trials = 10\nlanes = 4", settings: str = SETTINGS) -> Path:
    path = folder / "small.toml"
    path.write_text(f"[tune]\n{tune}\n[settings]\n{settings}\n[search]\n{search}")
    return path


def score(config: dict, seed: int, step: int) -> float:
    """The best lr is 1e-3; returns rise with the steps, and gamma hardly matters."""
    return -10 * (math.log10(config["lr"]) + 3) ** 2 + step / 100 + seed + config["gamma"] / 100


class Pretending:
    """Carries out jobs, and notes which."""

    def __init__(self, place: Folder, formula=score, fails=lambda job: "", dies_at=None):
        self.place, self.formula, self.fails, self.dies_at = place, formula, fails, dies_at
        self.jobs, self.trained, self.evaluated = [], [], []  # asked for; trained; (trial, step) told of

    def __call__(self, jobs) -> int:
        markers.add_to_ledger(self.place, jobs)
        self.jobs.append([job.name for job in jobs])
        failed = False
        for job in jobs:
            if markers.is_done(self.place, job):
                continue
            markers.remove_failed(self.place, job.name)
            if error := self.fails(job):
                markers.write_failed(self.place, job.name, error)
                failed = True
            else:
                self.train(job)
        return int(failed)

    def train(self, job) -> None:
        told, whole, silent = reporter(job), resolve(job.settings), set()
        plan = whole.settings.plan
        for step in range(plan.eval_every, plan.steps + 1, plan.eval_every):
            heard = [variant for variant in whole.variants if variant.name not in silent]
            if not heard:
                break
            if self.dies_at and self.dies_at(job, step):
                raise KeyboardInterrupt
            rows = [
                {"variant": v.name, "seed": seed, "policy": "mean", "return": self.formula(flat(v.config), seed, step)}
                for v in heard
                for seed in whole.settings.seeds
            ]
            self.evaluated += [(job.study["trials"][variant.name], step) for variant in heard]
            silent |= told(Event("evaluation", step, rows)).variants
        markers.write_done(self.place, job, step, 1.0)
        self.trained.append(job.name)
