"""Launch many jobs: leave out what is done, carry out the rest here or on a cluster, and tell how each ended."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Literal

from ..errors import UserError
from ..report.terminal import say
from . import markers
from .local import name_of
from .place import Folder, Place
from .planned import PlannedJob, Resources, Result
from .states import each

On = Literal["local", "ray"]
SIGNALLED = 128  # plus the signal's number, as a shell reports it


def launch(
    jobs: Sequence[PlannedJob],
    place: Place,
    *,
    on: On = "local",
    address: str | None = None,
    resources: Resources | None = None,
    retries: int = 3,
    trust: str | Sequence[str] = (),
    show: bool = True,
    heard: Callable[[Result], None] = lambda result: None,
) -> int:
    """Carry out jobs, and return an exit code: 0, 1 if any failed, or 128 and the signal that ended it early. `address`
    is the cluster's, `trust` lists the modules that settings may name, `heard` is told every result."""
    runner = _runner(on, address, show)
    if isinstance(place, Folder) and os.path.lexists(place.root) and not place.root.is_dir():
        raise UserError(f"{place} is not a folder")
    done = each(place, lambda job: markers.is_done(place, job), jobs)
    todo = [job for job, over in zip(jobs, done, strict=True) if not over]

    def begin() -> None:
        markers.add_to_ledger(place, jobs)
        if show:
            before = f": {len(jobs) - len(todo)} done before" if len(todo) < len(jobs) else ""
            say(f"{_counted(len(jobs))}{before}")

    results: list[Result] = []

    def told(result: Result) -> None:
        results.append(result)
        heard(result)
        if show or result.state == "failed":
            tell(result, len(results), len(todo))

    signal = None
    if todo:
        with _trusting(trust):
            signal = runner(todo, place, told, resources, retries, begin=begin)
    else:
        begin()
    markers.add_to_ledger(place, jobs)  # again: of two launchers that began at once, one may have lost its entries
    if show and todo:
        _summarise(results, len(todo), place, signal)
    if signal is not None:
        return SIGNALLED + signal
    return 1 if any(result.state == "failed" for result in results) else 0


def _runner(on: On, address: str | None, show: bool) -> Callable[..., int | None]:
    if on == "local":
        from . import local

        if address:
            raise UserError("--address names a cluster: take --on ray with it")
        return partial(local.run, show=show)
    if on == "ray":
        from . import on_ray

        return partial(on_ray.run, address=address)
    raise UserError(f"jobs run on local or ray, not on {on!r:.40}")


@contextmanager
def _trusting(trust: str | Sequence[str]) -> Iterator[None]:
    """Let the processes of the jobs know which modules may be imported."""
    from ..config.modules import VARIABLE  # brings JAX

    before = os.environ.get(VARIABLE)
    names = [*([trust] if isinstance(trust, str) else trust), before or ""]
    try:
        os.environ[VARIABLE] = ",".join(filter(None, names))
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def tell(result: Result, number: int, of: int) -> None:
    """Print how a job ended."""
    begin = f"[{number} of {of}] {result.name}"
    if result.state == "failed":
        first, *rest = result.error.splitlines() or [""]
        for line in [f"teen: {begin} failed: {first}", *(f"  {line}" for line in rest)]:
            say(line, sys.stderr)
    elif result.state == "taken":
        say(f"{begin} is left to another process: {result.error}")
    else:
        say(f"{begin}: {result.state} after {_counted(result.step, 'step')}")


def _summarise(results: Sequence[Result], todo: int, place: Place, signal: int | None) -> None:
    counts = {state: sum(r.state == state for r in results) for state in ("done", "failed", "stopped")}
    parts = [f"{n} {state}" for state, n in counts.items() if n]
    taken = sum(result.state == "taken" for result in results)
    parts += [f"{taken} left to other processes"] if taken else []
    parts += [f"{todo - len(results)} not begun"] if todo > len(results) else []
    say(f"{_counted(todo)}: {', '.join(parts)}")
    if signal is not None:
        say(f"stopped by {name_of(signal)}; the same command goes on from here", sys.stderr)
    elif counts["failed"]:
        say(f"teen status {place} --failed shows why; the same command tries them again", sys.stderr)


def _counted(number: int, what: str = "job") -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
