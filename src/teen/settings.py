"""Settings: fields of frozen dataclasses that are command-line flags and TOML keys at once.

A field says its default, what it does, where the default comes from, and which values make sense. A config may hold
another one (an ensemble holds its members' config); names are flat all the same.

This module does not import JAX: commands that only read runs need the settings too.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from .errors import UserError

C = TypeVar("C")

LARGEST = 3.4e38  # numbers become float32, in which greater ones are infinite
LONGEST_TEXT = 1_000  # characters of a setting; an environment has its arguments in its name

_HINTS: dict[type, dict[str, Any]] = {}  # of configs: to find them again for every setting would take a sweep minutes

Backend = Literal["auto", "gymnasium", "envpool"]
Precision = Literal["float32", "tf32", "bf16"]
ReplayPlace = Literal["auto", "device", "host"]
Collecting = Literal["auto", "compiled", "python"]


class Limits(NamedTuple):
    low: float | None = None  # the smallest value allowed
    above: float | None = None  # every value must be greater
    high: float | None = None  # the greatest value allowed


class Facts(NamedTuple):
    """What the rest of the project must know about a setting."""

    per_lane: bool = False  # a number that may differ between the lanes of one program
    changeable: bool = False  # may be changed when a run is resumed
    bookkeeping: bool = False  # where a run runs, for how long and how closely it is watched; not what it learns
    same_speed: bool = False  # changes what is learnt, but not how fast
    before: Any = None  # the value in runs that are older than the setting


def setting(default: Any, help: str, source: str = "", facts: Facts | None = None, **limits: float) -> Any:
    """Declare a setting that is fixed for a whole program. The limits are those of `Limits`."""
    metadata = {"help": help, "source": source, "limits": Limits(**limits), "facts": facts or Facts()}
    return dataclasses.field(default=default, metadata=metadata)


def per_lane(default: float, help: str, source: str = "", before: float | None = None, **limits: float) -> Any:
    """Declare a number that may differ between the lanes of one program: `--alpha 0,0.2` trains both."""
    return setting(default, help, source, Facts(per_lane=True, before=before), **limits)


def config(cls: type[C]) -> type[C]:
    """Make a pytree of a frozen dataclass that is an algorithm's config.

    Its per-lane numbers, and the configs inside it, are children; all other settings are static. So a config with an
    array of numbers in place of each per-lane number can be an argument of a compiled function and be mapped over
    lanes, while `cfg.width` stays a plain integer.
    """
    import jax  # heavy, and only algorithms need it

    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    children = [field.name for field in fields if "facts" not in field.metadata or field.metadata["facts"].per_lane]
    statics = [field.name for field in fields if field.name not in children]

    def flatten(cfg: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(cfg, name) for name in children], tuple(getattr(cfg, name) for name in statics)

    def flatten_with_keys(cfg: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        values, static = flatten(cfg)
        return list(zip(map(jax.tree_util.GetAttrKey, children), values, strict=True)), static

    def unflatten(static: tuple[Any, ...], values: Iterable[Any]) -> C:
        cfg = object.__new__(cls)  # past __post_init__, which checks numbers, not tracers
        for name, value in zip([*children, *statics], [*values, *static], strict=True):
            object.__setattr__(cfg, name, value)
        return cfg

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


def flag(name: str) -> str:
    """Return a setting's name as the command line has it; `from_` is `--from`, which Python cannot name. A short flag
    stays as it is."""
    return name if name.startswith("-") else "--" + name.rstrip("_").replace("_", "-")


class Leaf(NamedTuple):
    """One flat setting of a config."""

    name: str
    type: Any
    value: Any
    help: str
    source: str
    limits: Limits
    facts: Facts

    @property
    def flag(self) -> str:
        return flag(self.name)

    @property
    def per_lane(self) -> bool:
        return self.facts.per_lane


def _leaf(config: Any, field: dataclasses.Field[Any]) -> Leaf:
    if type(config) not in _HINTS:
        _HINTS[type(config)] = get_type_hints(type(config))
    return Leaf(field.name, _HINTS[type(config)][field.name], getattr(config, field.name), **field.metadata)


def leaves(config: Any) -> Iterator[Leaf]:
    """Yield the flat settings of a config and of the configs inside it. An outer name hides an inner one."""
    fields = dataclasses.fields(config)
    direct = [field for field in fields if not dataclasses.is_dataclass(getattr(config, field.name))]
    for field in direct:
        yield _leaf(config, field)
    hidden = {field.name for field in direct}
    for field in fields:
        if field not in direct:
            yield from (leaf for leaf in leaves(getattr(config, field.name)) if leaf.name not in hidden)


def flat(config: Any) -> dict[str, Any]:
    """Return the values of `leaves` by name. Sweeps ask for those of thousands of jobs: this does without the rest."""
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    inner = [value for value in values.values() if dataclasses.is_dataclass(value)]
    direct = {name: value for name, value in values.items() if not dataclasses.is_dataclass(value)}
    return direct | {name: value for one in inner for name, value in flat(one).items() if name not in direct}


def replace(config: C, values: dict[str, Any]) -> C:
    """Return a copy of `config` with some flat settings changed, each one checked."""
    changes: dict[str, Any] = {}
    fields = dataclasses.fields(config)  # type: ignore[arg-type]
    names = {field.name for field in fields}
    for field in fields:
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = replace(value, {k: v for k, v in values.items() if k not in names})
        elif field.name in values:
            changes[field.name] = checked(_leaf(config, field), values[field.name])
    return dataclasses.replace(config, **changes)  # type: ignore[type-var]


def shown(value: Any) -> str:
    """Return a value as an error message can show it, whatever file it came from: at most a few words."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python does not write numbers of thousands of digits, nor endless lists
        return "something too long to show"
    return text if len(text) <= 60 else f"{text[:50]}…"


def number_text(value: float) -> str:
    """Return a short text of a number that is different for different numbers."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)


def checked(leaf: Leaf, value: Any) -> Any:
    """Return the value as the leaf's type, or raise a UserError that names the flag."""
    value = _typed(leaf, value)
    low, above, high = leaf.limits
    if low is not None and value < low:
        raise UserError(f"{leaf.flag} must be at least {low:,}, not {shown(value)}")
    if above is not None and value <= above:
        raise UserError(f"{leaf.flag} must be greater than {above:,}, not {shown(value)}")
    if high is not None and value > high:
        raise UserError(f"{leaf.flag} must be at most {high:,}, not {shown(value)}")
    if isinstance(value, (int, float)) and not abs(value) <= LARGEST:  # NaN passes all comparisons above
        raise UserError(f"{leaf.flag} must be a finite number in single precision, not {shown(value)}")
    return value


def _typed(leaf: Leaf, value: Any) -> Any:
    """Accept what TOML and Python give (3 for 3.0) and what the command line gives (strings)."""
    if get_origin(leaf.type) is Literal:
        if value not in get_args(leaf.type):
            options = ", ".join(map(str, get_args(leaf.type)))
            raise UserError(f"{leaf.flag} is one of {options}, not {shown(value)}")
        return value
    if leaf.type is bool and isinstance(value, bool):
        return value
    if leaf.type in (int, float) and not isinstance(value, bool):
        if leaf.type is int and isinstance(value, int):
            return value
        number = _float(value)
        if number is not None and leaf.type is float:
            return number
        if number is not None and math.isfinite(number) and number == int(number):
            return int(number)
    if leaf.type is str and isinstance(value, str):
        if len(value) > LONGEST_TEXT or not value.isprintable():  # it is shown, and becomes part of file names
            raise UserError(f"{leaf.flag} must be at most {LONGEST_TEXT} printable characters, not {shown(value)}")
        return value
    if get_origin(leaf.type) is tuple and isinstance(value, tuple):
        return value
    kind = {int: "a whole number", float: "a number", bool: "true or false"}.get(leaf.type, "text")
    raise UserError(f"{leaf.flag} must be {kind}, not {shown(value)}")


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
    except OverflowError:  # an integer of hundreds of digits
        return math.inf if value > 0 else -math.inf


def stacked(configs: Sequence[C]) -> C:
    """Return the configs of all lanes as one: each per-lane number becomes a float32 array, (lane,)."""
    import jax  # see `config`
    import jax.numpy as jnp

    lanes: C = jax.tree.map(lambda *numbers: jnp.array(numbers, jnp.float32), *configs)
    return lanes
