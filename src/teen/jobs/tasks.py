"""What the tasks of a sweep look like: each is made once, so that one that cannot be made is known before anything
starts."""

from functools import cache

from .. import envs
from ..config.job import Job
from ..envs import Backend, versions
from ..spec import Spec


def spec(job: Job) -> Spec:
    """Return the shapes of a job's task. A UserError says why it cannot be made."""
    return _spec(job.settings.env, job.settings.backend)


@cache
def _spec(env: str, backend: Backend) -> Spec:
    made = envs.make(versions.newest(env, backend), 1, backend)
    made.close()
    return made.spec
