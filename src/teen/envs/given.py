"""Environments that are given as Python objects, and the names that they get.

The project knows environments by name, since a name can be saved. A function that can be imported is named after its
module, and a file may name it, too. Any other object gets a name that holds in this process only.
"""

import itertools
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from ..errors import UserError, one_line
from . import arguments

Maker = Callable[..., Any]
PREFIX = "given/"  # of names that hold in this process only

_given: dict[str, Maker] = {}  # by name
_allowed: set[str] = set()  # modules whose functions a name may call


def allow(module: str) -> None:
    """Let names call functions of this module, because the user named or trusts it. A stranger's file could name any
    function of Python."""
    _allowed.add(module)


def name_of(env: Any) -> str:
    """Return the name of an environment: of a function that makes it, of a Gymnasium spec, or of an environment that
    Gymnasium made. Of the last, copies are made: the object itself is never stepped."""
    if isinstance(env, str):
        return env
    if isinstance(env, gymnasium.Env):
        env = _spec_of(env)
    if isinstance(env, EnvSpec):
        return _name_of_spec(env)
    if not callable(env):
        raise UserError(f"an environment is a name, or a function that makes one, and not {env!r:.100}")
    module, function = str(getattr(env, "__module__", "")), str(getattr(env, "__qualname__", ""))
    if module != "__main__" and function.isidentifier() and getattr(sys.modules.get(module), function, None) is env:
        allow(module)
        return f"{module}:{function}"
    return _register(function.rpartition(".")[2] or type(env).__name__, env)


def give(name: Any, env: Any) -> None:
    """Give an environment again that files know by this name only: the object, since no name could be recorded."""
    if not isinstance(name, str) or not name.startswith(PREFIX):
        raise UserError(f"{name} can be made by its name: no other environment is to be given")
    if isinstance(env, str):
        raise UserError(f"{name} was given as a Python object: give that again, not the name {env!r:.60}")
    given = name_of(env)
    plain, values = arguments.split(given)
    _given[arguments.plain(name)] = maker(given) or partial(gymnasium.make, plain, **values)


def is_known(name: str) -> bool:
    """Return whether this process can make an environment of this name, as far as objects are concerned."""
    plain = arguments.plain(name)
    return plain in _given or not plain.startswith(PREFIX)


def maker(name: str) -> Maker | None:
    """Return the function that makes the environment of this name; None where Gymnasium's registry knows it."""
    plain, values = arguments.split(name)
    if plain in _given:
        return partial(_given[plain], **values)
    if plain.startswith(PREFIX):
        raise UserError(
            f"the environment {name!r} was given as a Python object, which no file can hold: give it again, as in "
            "teen.load(path, env=...)"
        )
    module, _, function = plain.partition(":")
    if not function or function in gymnasium.registry:
        return None
    found = getattr(sys.modules.get(module), function, None)
    if not callable(found) or not _is_at(found, module, function):  # such as what the module has imported: os.system
        return None
    if module not in _allowed:
        raise UserError(
            f"environment {name!r} is a function, which would be called: if you know it, allow its module with "
            f"--trust {module}, TEEN_TRUST={module} or trust={module!r}"
        )
    return partial(found, **values)


def _is_at(found: Any, module: str, function: str) -> bool:
    """Return whether this is a function or class of the module itself."""
    return (getattr(found, "__module__", None), getattr(found, "__qualname__", None)) == (module, function)


def _register(label: str, env: Maker) -> str:
    """Return a new name for an object, or the one that it has."""
    names = (PREFIX + label + (f"-{k}" if k > 1 else "") for k in itertools.count(1))
    name = next(name for name in names if _same(_given.get(name, env), env))
    _given[name] = env
    return name


def _same(one: Maker, other: Maker) -> bool:
    """Return whether two objects make the same environment: the same function, or Gymnasium with an equal spec."""
    if isinstance(one, partial) and isinstance(other, partial):
        return one.func is other.func and repr(one.args) == repr(other.args)
    return one is other


def _spec_of(env: gymnasium.Env[Any, Any]) -> EnvSpec:
    """Return what Gymnasium needs to make an environment again."""
    advice = "give a function that makes it instead, such as lambda: MyWrapper(gymnasium.make(...))"
    try:
        spec = env.spec
        if spec is not None:
            gymnasium.make(spec).close()
    except Exception as error:  # whatever wrappers do that cannot be made again
        raise UserError(f"{env} cannot be made again: {one_line(error)}; {advice}") from None
    if spec is None:
        raise UserError(f"{env} was not made by gymnasium.make and cannot be copied: {advice}")
    return spec


def _name_of_spec(spec: EnvSpec) -> str:
    """Return the id and arguments of one of Gymnasium's own environments. One with wrappers, or that somebody else
    registered, has no name that another process understands."""
    registered = gymnasium.registry.get(spec.id)
    own = registered is not None and str(registered.entry_point).startswith(("gymnasium.", "shimmy."))
    if registered is None or not own or spec.additional_wrappers:
        return _register(spec.id, partial(gymnasium.make, spec))
    values = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    if spec.max_episode_steps != registered.max_episode_steps:
        values["max_episode_steps"] = spec.max_episode_steps
    try:
        arguments.joined(spec.id, values)  # whether all can be written
        changed = {name: value for name, value in values.items() if registered.kwargs.get(name, spec) != value}
        return arguments.joined(spec.id, changed)
    except UserError:  # an argument that is an object
        return _register(spec.id, partial(gymnasium.make, spec))
