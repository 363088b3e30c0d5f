"""Begin a run, or continue one."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from .. import envs
from ..config import modules
from ..config.facts import CHANGEABLE
from ..config.job import Job, resolve
from ..config.modules import Trust
from ..config.toml import versions
from ..disk import agreement, checkpoint, folder
from ..disk.checkpoint import Checkpoint
from ..disk.lock import locked
from ..engine.worker import cores
from ..errors import UserError, notice
from ..loggers import names
from ..loggers.names import Loggers
from .callbacks import Callbacks, listed
from .keeper import Kept
from .machine import PYTHON
from .origin import origin_of
from .outcome import Outcome
from .prepared import Prepared


def train(
    algo: str = "teen",
    env: Any = "",
    *,
    out: str | Path | None = None,
    show: bool = True,
    callback: Callbacks = None,
    log: Loggers = None,
    trust: Trust = (),
    **settings: Any,
) -> Outcome:
    """Train from Python; settings are the command's flags with underscores. `env` is a name, a function that makes an
    environment, or one that Gymnasium made. Modules that `algo` and `env` name are imported. `callback` is told of
    every evaluation and log row, and ends training by returning False: see `training.callbacks`. `log` names loggers
    beside the CSV files, such as "tensorboard,wandb", or is an object of your own: see `loggers.base`. `trust` lists
    the modules that the agent may name with which `from_` begins.

    Examples:
        >>> teen.train("teen", "Pendulum-v1", seeds=3, steps=10_000, n=5, width=64, lr=1e-3, warmup=1_000)
    """
    env = envs.name_of(env)
    modules.import_named({"algo": algo, "env": env})
    job = resolve({"algo": algo, "env": env, **settings})
    return train_job(job, Path(out) if out is not None else None, show, callback, log, trust=trust)


def train_job(
    job: Job,
    out: Path | None = None,
    show: bool = True,
    callback: Callbacks = None,
    log: Loggers = None,
    command: str = PYTHON,
    trust: Trust = (),
    kept: Kept | None = None,
) -> Outcome:
    """Train every lane of a job. Nothing is written before everything that can be wrong was checked. `command` is the
    line that asks for it, for machine.json; `trust` is for the agent that it begins with; `kept` is told the step of
    every checkpoint, in the thread that wrote it."""
    callbacks, loggers = listed(callback), names.listed(log)
    job, notices = job.settled()
    modules.remember(job.settings.env)
    if out is not None:
        folder.check_free(out)
    prepared = Prepared.of(job)
    origin = origin_of(job, prepared.layout.spec, trust)
    if show:
        for line in dict.fromkeys([*notices, *([str(origin)] if origin else [])]):
            notice(line)
    parent = out if out is not None else folder.claim(job.settings)
    try:
        with locked(parent) as lock:
            folder.check_free(parent, locked=True)  # again: a run may have begun and ended there meanwhile
            return prepared.train(lock, None, show, callbacks, loggers, command, origin, kept)
    finally:
        if out is None:
            with suppress(OSError):
                parent.rmdir()  # nothing was written there


def resume(
    path: str | Path,
    show: bool = True,
    trust: Trust = (),
    *,
    env: Any = None,
    callback: Callbacks = None,
    log: Loggers = None,
    command: str = PYTHON,
    shorter: bool = False,
    kept: Kept | None = None,
    **changes: Any,
) -> Outcome:
    """Continue a run from its newest whole checkpoint. `changes` are settings that may change: see CHANGEABLE. `trust`
    lists the modules that the checkpoint may name, `command` is the line that asks for it. `env` is the environment, if
    it was given as a Python object. `log` names loggers as in `train`: those of before are not remembered. `shorter`
    allows fewer steps than the run was planned for. `kept` is told the step of every checkpoint."""
    parent, callbacks, loggers = Path(path), listed(callback), names.listed(log)
    if not os.path.isdir(parent):
        raise UserError(f"{parent} is not a run folder")
    for name in changes:
        if name not in CHANGEABLE:
            raise UserError(f"a run goes on as it began: {name!r} cannot be changed, only {', '.join(CHANGEABLE)}")
    with locked(parent) as lock:
        saved = checkpoint.newest(parent / "checkpoint")
        for damage in saved.damaged:
            notice(f"going on from step {saved.step}, because a newer checkpoint is damaged: {damage}")
        job = _job_of(saved, changes, trust, env, shorter)
        if job.settings.plan.steps < saved.step:
            raise UserError(f"{parent} has {saved.step} steps already: --steps {job.settings.plan.steps} is less")
        return Prepared.of(job).train(lock, saved, show, callbacks, loggers, command, None, kept)


def _job_of(saved: Checkpoint, changes: dict[str, Any], trust: Trust, env: Any, shorter: bool) -> Job:
    """Return the job of a checkpoint, with some settings changed; print a notice if versions or cores differ."""
    try:
        facts = saved.snapshot.part("run").facts
        settings, before, made_on = dict(facts["settings"]), dict(facts["versions"]), facts.get("cores")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"the checkpoint of step {saved.step} does not say what it is of: {error}") from None
    modules.admit(settings, saved.manifest, trust)
    if env is not None:
        envs.give(settings.get("env"), env)
    job, planned = resolve({**settings, **changes}), resolve(settings).settings.plan.steps
    if job.settings.plan.steps < planned and not shorter:
        raise UserError(f"{saved.folder.parent} is a run of {planned} steps: --steps can be raised, not lowered")
    agreement.check_job(saved.folder.parent, job, settings, saved.manifest)
    now = versions()
    if differing := [f"{name} {before.get(name)} → {now.get(name)}" for name in now if now[name] != before.get(name)]:
        notice(f"made with other versions ({', '.join(differing)}): it goes on, but not bit for bit")
    if made_on not in (None, cores()):
        notice(f"made on {made_on} cores, and here are {cores()}: it goes on, but not bit for bit")
    return job
