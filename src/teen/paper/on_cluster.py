"""Train the paper's programs as jobs of a cluster."""

from collections.abc import Sequence
from pathlib import Path

from ..errors import UserError
from ..jobs.launch import SIGNALLED, launch
from ..jobs.packing import CORES
from ..jobs.place import place
from ..jobs.planned import PlannedJob, Resources, Result
from .needs import Need
from .reproduce import Trainer
from .runs import Failure, planned_runs


def trainer(address: str | None, cores: float | None, gpus: float | None) -> Trainer:
    """Return what trains all programs that are not done, side by side, on the cluster at this address. Their folders
    are those of programs that are trained one after the other, and either goes on where the other was stopped."""
    resources = Resources(cores or CORES, gpus or 0.0)

    def train(needs: Sequence[Need], out: Path, command: str) -> tuple[int | None, list[Failure]]:
        todo = {
            planned.folder.relative_to(out).as_posix(): planned
            for planned in planned_runs(needs, out)
            if planned.state in ("cut", "missing")
        }
        jobs = [PlannedJob(name, planned.settings()) for name, planned in todo.items()]
        results: list[Result] = []
        code = launch(jobs, place(out), on="ray", address=address, resources=resources, heard=results.append)
        failures = [
            Failure(todo[result.name], UserError(result.error)) for result in results if result.state == "failed"
        ]
        return (code - SIGNALLED if code > SIGNALLED else None), failures

    return train
