"""Save the state of a running environment in the middle of an episode, and restore it into another environment.

The state is plain data, arrays and JSON, and nothing in it is ever executed. Saved are the plain attributes (see
`encoding`) of every wrapper and of the environment, their random generators, MuJoCo's data and what tasks change in
its model; for the DeepMind Control Suite also those of its environment, task and physics. An attribute of any other
kind raises UnknownState: half a state would silently be another episode.

An environment that keeps anything else can define save_state(), which returns a dict of plain values, and
load_state(state). They then replace all of its attributes except Gymnasium's random generator. An environment that
reads MuJoCo's contacts or constraints before it steps must define them: arrays of varying size are not saved.

What lies outside the objects is not saved: global random states, attributes of classes, generators of spaces.
"""

from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.registration import EnvSpec

from ..errors import one_line
from ..snapshot import Snapshot
from .encoding import SCALARS, Arrays, UnknownState, check_disjoint, class_name, decode, encode, kind_of, pop_array
from .generators import RandomGenerator, decode_random_state, encode_random_state, set_random_state
from .simulator import check_model, set_simulation, simulation_arrays

__all__ = ["UnknownState", "capture", "restore"]

PHYSICS = "dm_control.mujoco.engine.Physics"
# Classes whose objects are searched for state, by name because the suite may not be installed; and their attributes
# that do not belong to the episode: how the object was made, what renders or checks it, views of what is saved anyway.
SEARCHED: dict[str, tuple[str, ...]] = {
    "gymnasium.core.Env": (
        *("spec", "metadata", "render_mode", "action_space", "observation_space"),
        *("fullpath", "mujoco_renderer"),
        *("_saved_kwargs", "_ezpickle_args", "_ezpickle_kwargs"),
        *("_cached_spec", "_metadata", "_action_space", "_observation_space"),
    ),
    "gymnasium.wrappers.common.PassiveEnvChecker": (
        *("checked_reset", "checked_step", "checked_render", "checked_data_reuse", "close_called", "_previous_data"),
    ),
    "shimmy.dm_control_compatibility.DmControlCompatibilityV0": ("env_type", "viewer"),
    "dm_control.rl.control.Environment": (),
    "dm_control.rl.control.Task": (),
    PHYSICS: ("_data", "_named", "_contexts", "_contexts_lock", "_warnings", "_warnings_before", "_new_warnings"),
    "dm_control.suite.quadruped.Physics": ("_hinge_names", "_sensor_types_to_names"),
}
STATELESS = (gymnasium.Space, EnvSpec, mujoco.Renderer, mujoco.MjModel, FunctionType, ModuleType, type)
SAVE_STATE = "save_state()"  # stands for the attributes of an environment that saves itself


def capture(env: gymnasium.Env[Any, Any]) -> Snapshot:
    """Return a copy of the environment's state, by paths such as "env.env.data.qpos". An UnknownState says what cannot
    be saved."""
    arrays: Arrays = {}
    facts: dict[str, Any] = {}
    containers: set[int] = set()
    for path, owner, attributes in _objects(env):
        facts[path] = class_name(type(owner))
        for name, value in attributes.items():
            where = f"{path}.{name}"
            try:
                if isinstance(value, mujoco.MjData):
                    arrays |= {f"{where}.{field}": array for field, array in simulation_arrays(value).items()}
                    check_model(value.model)
                elif isinstance(value, RandomGenerator):
                    facts[where] = encode_random_state(value, where, arrays)
                else:
                    plain = owner.save_state() if name == SAVE_STATE else value
                    facts[where] = encode(plain, where, arrays, containers)
            except UnknownState as unknown:
                raise UnknownState(f"{type(owner).__name__} cannot be saved: {where} {unknown}") from None
        if any(vars(kind).get("__slots__") for kind in type(owner).__mro__):
            raise UnknownState(f"{type(owner).__name__} cannot be saved: {path} has __slots__")
    check_disjoint(arrays)
    return Snapshot({where: np.array(array, order="C") for where, array in arrays.items()}, facts)


def restore(env: gymnasium.Env[Any, Any], state: Snapshot) -> None:
    """Set a newly made and newly reset environment to a saved state of the same task.

    A ValueError says what does not fit. Nothing has changed then, unless it was load_state that raised.
    """
    arrays, facts = dict(state.arrays), dict(state.facts)
    changes = list(_changes(env, arrays, facts))
    if surplus := [*facts, *arrays]:
        raise ValueError(f"{surplus[0]!r:.100} is nothing that can be set here")
    for change in changes:
        change()


def _changes(env: gymnasium.Env[Any, Any], arrays: Arrays, facts: dict[str, Any]) -> Iterator[Callable[[], None]]:
    """Yield the calls that set the environment to the state, and remove from `arrays` and `facts` what they use."""
    for path, owner, attributes in _objects(env):
        if facts.pop(path, None) != class_name(type(owner)):
            raise ValueError(f"{path} is not of class {class_name(type(owner))}")
        saved = {name for holder, _, name in (key.rpartition(".") for key in facts) if holder == path}
        defaults = {name: getattr(type(owner), name, None) for name in saved - attributes.keys()}
        added = {name: default for name, default in defaults.items() if _may_add(owner, name, default)}
        for name, value in (attributes | added).items():
            where = f"{path}.{name}"
            if isinstance(value, mujoco.MjData):
                current = simulation_arrays(value)
                new = {field: pop_array(arrays, f"{where}.{field}", like) for field, like in current.items()}
                yield partial(set_simulation, value, new, PHYSICS in _classes(owner))
                continue
            if where not in facts:
                raise ValueError(f"{where} is missing")
            if isinstance(value, RandomGenerator):
                yield partial(_set_generator, owner, name, decode_random_state(value, facts.pop(where), where, arrays))
                continue
            plain = decode(facts.pop(where), where, arrays)
            if value is not None and kind_of(value) != kind_of(plain):
                raise ValueError(f"{where} is of another kind here")
            # An attribute is set without properties and __setattr__, as it was read.
            yield partial(_load, owner, plain) if name == SAVE_STATE else partial(vars(owner).__setitem__, name, plain)


def _objects(thing: Any, path: str = "env", seen: set[int] | None = None) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield the environment and all objects in it that are searched: path, object, attributes that may be state.

    Objects that are restored in place are yielded once, however many attributes refer to them.
    """
    seen = {id(thing)} if seen is None else seen
    ignored, inner = _ignored(thing), {}
    attributes: dict[str, Any] = {SAVE_STATE: {}} if _saves_itself(thing) else {}
    for name, value in vars(thing).items():
        skipped = name in ignored or (_saves_itself(thing) and name != "_np_random")
        if skipped or id(value) in seen or isinstance(value, STATELESS):
            continue
        if SEARCHED.keys() & _classes(value):
            inner[name] = value
        else:
            attributes[name] = value
        if name in inner or isinstance(value, mujoco.MjData | RandomGenerator):
            seen.add(id(value))
    if PHYSICS in _classes(thing):
        attributes["data"] = thing.data.ptr
    yield path, thing, attributes
    for name, value in inner.items():
        yield from _objects(value, f"{path}.{name}", seen)


def _classes(thing: object) -> set[str]:
    return {class_name(kind) for kind in type(thing).__mro__}


def _ignored(thing: object) -> set[str]:
    return {name for kind in SEARCHED.keys() & _classes(thing) for name in SEARCHED[kind]}


def _saves_itself(thing: object) -> bool:
    methods = [getattr(type(thing), name, None) for name in ("save_state", "load_state")]
    return isinstance(thing, gymnasium.Env) and not isinstance(thing, gymnasium.Wrapper) and all(map(callable, methods))


def _may_add(owner: object, name: str, default: object) -> bool:
    """Return whether an attribute that is absent after a reset may be set. It may hide only a plain class default."""
    reserved = name.startswith("__") or name in {*vars(owner), *_ignored(owner)} or _saves_itself(owner)
    return name.isidentifier() and not reserved and type(default) in SCALARS


def _set_generator(owner: object, name: str, state: Any) -> None:
    set_random_state(vars(owner)[name], state)  # in place, as other attributes may refer to the same generator


def _load(owner: Any, state: dict[str, Any]) -> None:
    try:
        owner.load_state(state)
    except (Exception, SystemExit) as error:
        raise ValueError(f"load_state raised {type(error).__name__}: {one_line(error)}") from error
