"""Saves where one running environment stands, in the middle of an episode, and sets another one to the same place.

The state is plain data, arrays and what JSON holds, and nothing that comes from it is ever run. Saved are the
attributes of every wrapper and of the environment itself, as long as they are plain (numbers, strings, arrays, and
lists, tuples and dicts of them), random generators, MuJoCo's data and what tasks change of its model; for the DeepMind
Control Suite also those of its environment, task and physics. An attribute of any other kind raises UnknownState: half
a state would silently be another episode.

An environment that keeps anything else can define save_state(), which returns a dict of plain values, and
load_state(state). They then stand for all of its attributes but Gymnasium's own random generator. So must one that
reads MuJoCo's contacts or constraints before it steps: the arrays whose size varies are not saved.

What lies outside the objects is not seen: global random streams, attributes of classes, generators of spaces.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from itertools import pairwise
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.registration import EnvSpec

from ..errors import one_line

PHYSICS = "dm_control.mujoco.engine.Physics"
# Classes whose objects are looked into, by name as the suite need not be installed; and their attributes that do not
# say where the episode stands: how the object was made, what draws or checks it, views of what is saved elsewhere.
LOOKED_INTO: dict[str, tuple[str, ...]] = {
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

# What tasks change of MuJoCo's model, at resets most of all: its float fields with these beginnings. Not the meshes and
# textures, which are large, and no integers, as a wrong index would be read out of bounds.
MODEL_FIELDS = (
    *("actuator_", "body_", "dof_", "eq_", "geom_", "hfield_data", "jnt_", "light_", "pair_", "qpos"),
    *("site_", "tendon_", "wrap_"),
)
MODEL_OPTIONS = ("gravity", "wind", "magnetic")
# With these, MuJoCo keeps integers between the steps that are in no state it gives or takes.
UNSAVED_OPTIONS = ("mjENBL_SLEEP", "mjENBL_IPC")
INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)

OWN_STATE = "save_state()"
SCALARS = (type(None), bool, int, float, str)
DTYPES = frozenset(np.dtype(code) for code in "?bhilqBHILQefd")
MT19937_WORDS, PHILOX_WORDS = 624, 4  # NumPy reads a generator's word at its position without a check

RandomGenerator = np.random.Generator | np.random.RandomState
Arrays = dict[str, np.ndarray]


class UnknownState(Exception):
    """An environment keeps something that cannot be saved. Says which attribute, of which class."""


class EnvState(NamedTuple):
    arrays: Arrays  # by path, such as "env.env.data.qpos"
    facts: dict[str, Any]  # by path; what JSON holds


def capture(env: gymnasium.Env[Any, Any]) -> EnvState:
    arrays: Arrays = {}
    facts: dict[str, Any] = {}
    containers: set[int] = set()
    for path, owner, attributes in _objects(env):
        facts[path] = _name(type(owner))
        for name, value in attributes.items():
            where = f"{path}.{name}"
            try:
                if isinstance(value, mujoco.MjData):
                    arrays |= {f"{where}.{field}": array for field, array in _simulation(value).items()}
                    _check_options(value.model)
                elif isinstance(value, RandomGenerator):
                    facts[where] = {"generator": _encoded(_generator_state(value), where, arrays, set())}
                else:
                    plain = owner.save_state() if name == OWN_STATE else value
                    facts[where] = _encoded(plain, where, arrays, containers)
            except UnknownState as unknown:
                raise UnknownState(f"{type(owner).__name__} cannot be saved: {where} {unknown}") from None
        if any(vars(kind).get("__slots__") for kind in type(owner).__mro__):
            raise UnknownState(f"{type(owner).__name__} cannot be saved: {path} has __slots__")
    _check_apart(arrays)
    return EnvState({where: np.array(array, order="C") for where, array in arrays.items()}, facts)


def restore(env: gymnasium.Env[Any, Any], state: EnvState) -> None:
    """Sets a freshly made and freshly reset environment to a saved state of the same task.

    Raises ValueError when the state does not fit, and has then changed nothing, unless it was load_state that refused.
    """
    arrays, facts = dict(state.arrays), dict(state.facts)
    changes = list(_changes(env, arrays, facts))
    if surplus := [*facts, *arrays]:
        raise ValueError(f"{surplus[0]!r:.100} is nothing that can be set here")
    for change in changes:
        change()


def _changes(env: gymnasium.Env[Any, Any], arrays: Arrays, facts: dict[str, Any]) -> Iterator[Callable[[], None]]:
    """What sets the environment to the state; takes from `arrays` and `facts` what it needs."""
    for path, owner, attributes in _objects(env):
        if facts.pop(path, None) != _name(type(owner)):
            raise ValueError(f"{path} is not of class {_name(type(owner))}")
        saved = {name for holder, _, name in (key.rpartition(".") for key in facts) if holder == path}
        defaults = {name: getattr(type(owner), name, None) for name in saved - attributes.keys()}
        appeared = {name: default for name, default in defaults.items() if _may_appear(owner, name, default)}
        for name, value in (attributes | appeared).items():
            where = f"{path}.{name}"
            if isinstance(value, mujoco.MjData):
                new = {field: _taken(arrays, f"{where}.{field}", like) for field, like in _simulation(value).items()}
                yield partial(_set_simulation, value, new, PHYSICS in _classes(owner))
                continue
            if where not in facts:
                raise ValueError(f"{where} is missing")
            if isinstance(value, RandomGenerator):
                yield partial(_set_generator, owner, name, _fitting(value, facts.pop(where), where, arrays))
                continue
            plain = _decoded(facts.pop(where), where, arrays)
            if value is not None and _kind(value) != _kind(plain):
                raise ValueError(f"{where} is of another kind here")
            yield partial(_load_own, owner, plain) if name == OWN_STATE else partial(_set, owner, name, plain)


def _objects(thing: Any, path: str = "env", seen: set[int] | None = None) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The environment and all that is looked into: path, object, and its attributes that may be part of the state.

    What is restored in place is met once, however many attributes lead to it.
    """
    seen = {id(thing)} if seen is None else seen
    constant, inner = _constant(thing), {}
    attributes: dict[str, Any] = {OWN_STATE: {}} if _saves_itself(thing) else {}
    for name, value in vars(thing).items():
        skipped = name in constant or (_saves_itself(thing) and name != "_np_random")
        if skipped or id(value) in seen or isinstance(value, STATELESS):
            continue
        if LOOKED_INTO.keys() & _classes(value):
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


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _classes(thing: object) -> set[str]:
    return {_name(kind) for kind in type(thing).__mro__}


def _constant(thing: object) -> set[str]:
    return {name for kind in LOOKED_INTO.keys() & _classes(thing) for name in LOOKED_INTO[kind]}


def _saves_itself(thing: object) -> bool:
    methods = [getattr(type(thing), name, None) for name in ("save_state", "load_state")]
    return isinstance(thing, gymnasium.Env) and not isinstance(thing, gymnasium.Wrapper) and all(map(callable, methods))


def _may_appear(owner: object, name: str, default: object) -> bool:
    """Whether an attribute that is not there after a reset can be set: it may hide nothing but a plain default."""
    known = name.startswith("__") or name in {*vars(owner), *_constant(owner)} or _saves_itself(owner)
    return name.isidentifier() and not known and type(default) in SCALARS


def _set(owner: object, name: str, value: Any) -> None:
    vars(owner)[name] = value  # past properties and __setattr__, as it was read


def _load_own(owner: Any, value: dict[str, Any]) -> None:
    try:
        owner.load_state(value)
    except Exception as error:
        raise ValueError(f"load_state raised {type(error).__name__}: {one_line(error)}") from error


def _encoded(value: Any, where: str, arrays: Arrays, containers: set[int]) -> Any:
    """A value as JSON. Its arrays are put aside uncopied, to see whether any share memory."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if (kind is np.ndarray or isinstance(value, np.generic)) and value.dtype in DTYPES:
        arrays[where] = np.asarray(value)
        # The order in memory decides how a product of matrices is rounded.
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return {"array": order if kind is np.ndarray else "scalar"}
    if kind not in (list, tuple, dict) or (kind is dict and any(type(key) is not str for key in value)):
        raise UnknownState(f"is of class {_name(kind)}")
    if kind is not tuple and id(value) in containers:
        raise UnknownState(f"holds a {kind.__name__} that is also held elsewhere")
    containers.add(id(value))
    if kind is dict:
        return {"dict": {key: _encoded(value[key], f"{where}[{key!r}]", arrays, containers) for key in value}}
    return {kind.__name__: [_encoded(item, f"{where}[{i}]", arrays, containers) for i, item in enumerate(value)]}


def _decoded(fact: Any, where: str, arrays: Arrays) -> Any:
    if type(fact) in SCALARS:
        return fact
    form, content = next(iter(fact.items())) if type(fact) is dict and len(fact) == 1 else (None, None)
    match form, content:
        case "array", "scalar" if not (array := _taken(arrays, where)).ndim:
            return array[()]
        case "array", "C" | "F":
            return np.array(_taken(arrays, where), order=content)
        case "dict", dict():
            return {key: _decoded(content[key], f"{where}[{key!r}]", arrays) for key in content}
        case "list" | "tuple", list():
            items = [_decoded(item, f"{where}[{i}]", arrays) for i, item in enumerate(content)]
            return items if form == "list" else tuple(items)
    raise ValueError(f"{where} is not a plain value")


def _kind(value: Any) -> Any:
    """What a value shares with the one it replaces. Not an array's precision: some tasks reset to another one."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.kind
    return "scalar" if isinstance(value, (np.generic, *SCALARS)) else type(value)


def _taken(arrays: Arrays, where: str, like: np.ndarray | None = None) -> np.ndarray:
    array = arrays.pop(where, None)
    if not isinstance(array, np.ndarray) or array.dtype not in DTYPES:
        raise ValueError(f"{where} is not an array of numbers, or missing")
    if like is not None and (array.shape, array.dtype) != (like.shape, like.dtype):
        raise ValueError(f"{where} is of another shape or precision here")
    return array


def _check_apart(arrays: Arrays) -> None:
    """Arrays are restored one by one, so a change to one must not be a change to another."""
    spans = sorted((*np.lib.array_utils.byte_bounds(array), where) for where, array in arrays.items() if array.size)
    for (_, end, one), (start, _, other) in pairwise(spans):
        if start < end:
            raise UnknownState(f"{one} and {other} cannot be saved: they share memory")


def _generator_state(generator: RandomGenerator) -> Any:
    if isinstance(generator, np.random.RandomState):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def _set_generator_state(generator: RandomGenerator, state: Any) -> None:
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


def _set_generator(owner: object, name: str, state: Any) -> None:
    _set_generator_state(vars(owner)[name], state)  # in place, as others may draw from it too


def _fitting(generator: RandomGenerator, fact: Any, where: str, arrays: Arrays) -> Any:
    """A saved state that this generator can take."""
    tagged = type(fact) is dict and fact.keys() == {"generator"}
    state: Any = _decoded(fact["generator"], where, arrays) if tagged else None
    try:
        fits = _form(state) == _form(_generator_state(generator))
        fits = fits and 0 <= state["state"].get("pos", 0) <= MT19937_WORDS
        fits = fits and 0 <= state.get("buffer_pos", 0) <= PHILOX_WORDS
        if fits:
            _set_generator_state(deepcopy(generator), state)
    except (ValueError, TypeError, OverflowError):
        fits = False
    if not fits:
        raise ValueError(f"{where} is not a state of this random generator")
    return state


def _form(state: Any) -> Any:
    """Of a generator's state: all but the numbers."""
    if isinstance(state, dict):
        return {key: _form(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return state.shape, state.dtype
    return state if isinstance(state, str) else type(state)


def _simulation(data: mujoco.MjData) -> Arrays:
    """MuJoCo's own state, what is derived from it, which tasks read before the next step, and the model's fields.

    The derived arrays of fixed size lie in one buffer that begins with qpos, those of varying size outside of it.
    """
    integration = np.empty(mujoco.mj_stateSize(data.model, INTEGRATION))
    mujoco.mj_getState(data.model, data, integration, INTEGRATION)
    buffer = range(data.qpos.ctypes.data, data.qpos.ctypes.data + data.nbuffer)
    derived = {name: array for name, array in _floats(data) if array.ctypes.data in buffer or name == "energy"}
    fields = {f"model.{name}": array for name, array in _floats(data.model) if name.startswith(MODEL_FIELDS)}
    options = {f"model.opt.{name}": array for name, array in _floats(data.model.opt) if name in MODEL_OPTIONS}
    return {"integration": integration, **derived, **fields, **options}


def _floats(struct: Any) -> Iterator[tuple[str, np.ndarray]]:
    for name in dir(struct):
        value = getattr(struct, name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
            yield name, value


def _check_options(model: mujoco.MjModel) -> None:
    if not model.nq:
        raise UnknownState("simulates nothing that has joints")  # and qpos, being empty, does not tell where it begins
    for option in UNSAVED_OPTIONS:
        if model.opt.enableflags & getattr(mujoco.mjtEnableBit, option, 0):
            raise UnknownState(f"simulates with {option}")


def _set_simulation(data: mujoco.MjData, new: Arrays, legacy_step: bool) -> None:
    now = _simulation(data)
    for name in now:
        if name.startswith("model."):
            now[name][...] = new[name]
    mujoco.mj_setState(data.model, data, new["integration"], INTEGRATION)
    if legacy_step:
        mujoco.mj_step1(data.model, data)  # the suite's next step begins with its second half, from these constraints
    for name in now:
        now[name][...] = new[name]
