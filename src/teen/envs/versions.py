"""Find the version of a task that is meant by a name without one."""

import re

import gymnasium

from ..errors import UserError
from . import Backend, make, names, pool


def newest(name: str, backend: Backend) -> str:
    """Return the name with the newest version that can be made here: `HalfCheetah-v5` for `HalfCheetah`.

    A name that has a version, is registered without one, or is not known comes back as it is.
    """
    names.check(name)
    task = names.registered_id(name)
    if names.is_suite(name) or re.search(r"-v\d+$", task) or task in gymnasium.registry:
        return name
    known = [*(gymnasium.registry if backend != "envpool" else ()), *(pool.tasks() if backend != "gymnasium" else ())]
    versions = {int(found[1]) for other in known if (found := re.fullmatch(rf"{re.escape(task)}-v(\d+)", other))}
    plain, brace, more = name.partition("{")  # arguments
    newest_first = [f"{plain}-v{version}{brace}{more}" for version in sorted(versions, reverse=True)]
    # Where none can be made, making the newest says why.
    return next(filter(lambda versioned: _can_be_made(versioned, backend), newest_first), (*newest_first, name)[0])


def _can_be_made(name: str, backend: Backend) -> bool:
    try:
        make(name, 1, backend).close()
    except UserError:
        return False
    return True
