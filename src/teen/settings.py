"""Settings: fields of frozen dataclasses that are command-line flags and TOML keys at once.

A field says its default, what it does, where the default comes from, and which values make sense. A
config may hold another one (an ensemble holds its members' config); names are flat all the same.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from .errors import UserError


class Bounds(NamedTuple):
    low: float | None = None  # the smallest value allowed
    above: float | None = None  # every value must be greater
    high: float | None = None  # the greatest value allowed


def setting(default: Any, help: str, source: str = "", **bounds: float) -> Any:
    """A field fixed for a whole program. For its bounds see `Bounds`."""
    metadata = {"help": help, "source": source, "bounds": Bounds(**bounds), "per_lane": False}
    return dataclasses.field(default=default, metadata=metadata)


def per_lane(default: float, help: str, source: str = "", **bounds: float) -> Any:
    """A number that may differ between the lanes of one program: `--alpha 0,0.2` runs both."""
    metadata = {"help": help, "source": source, "bounds": Bounds(**bounds), "per_lane": True}
    return dataclasses.field(default=default, metadata=metadata)


class Leaf(NamedTuple):
    """One flat setting of a config."""

    name: str
    type: Any
    value: Any
    help: str
    source: str
    bounds: Bounds
    per_lane: bool

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


def _leaf(config: Any, field: dataclasses.Field[Any]) -> Leaf:
    hint = get_type_hints(type(config))[field.name]
    return Leaf(field.name, hint, getattr(config, field.name), **field.metadata)


def leaves(config: Any) -> Iterator[Leaf]:
    """The flat settings of a config and of the configs inside it. An outer name hides an inner one."""
    own = [field for field in dataclasses.fields(config) if not dataclasses.is_dataclass(getattr(config, field.name))]
    for field in own:
        yield _leaf(config, field)
    for field in dataclasses.fields(config):
        if field not in own:
            hidden = {f.name for f in own}
            yield from (leaf for leaf in leaves(getattr(config, field.name)) if leaf.name not in hidden)


def flat(config: Any) -> dict[str, Any]:
    return {leaf.name: leaf.value for leaf in leaves(config)}


def replace(config: Any, values: dict[str, Any]) -> Any:
    """A copy of `config` with some flat settings changed, each one checked."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            own = {f.name for f in dataclasses.fields(config)}
            changes[field.name] = replace(value, {k: v for k, v in values.items() if k not in own})
        elif field.name in values:
            changes[field.name] = checked(_leaf(config, field), values[field.name])
    return dataclasses.replace(config, **changes)


def checked(leaf: Leaf, value: Any) -> Any:
    """The value as the leaf's type, or a UserError that names the flag."""
    value = _typed(leaf, value)
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{leaf.flag} must be a finite number, not {value}")
    low, above, high = leaf.bounds
    if low is not None and value < low:
        raise UserError(f"{leaf.flag} must be at least {low:g}, not {value}")
    if above is not None and value <= above:
        raise UserError(f"{leaf.flag} must be greater than {above:g}, not {value}")
    if high is not None and value > high:
        raise UserError(f"{leaf.flag} must be at most {high:g}, not {value}")
    return value


def _typed(leaf: Leaf, value: Any) -> Any:
    """Accepts what TOML and Python give (3 for 3.0) and what the command line gives (strings)."""
    if get_origin(leaf.type) is Literal:
        if value not in get_args(leaf.type):
            options = ", ".join(map(str, get_args(leaf.type)))
            raise UserError(f"{leaf.flag} is one of {options}, not {value!r}")
        return value
    if leaf.type is bool and isinstance(value, bool):
        return value
    if leaf.type in (int, float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = None
        if number is not None and leaf.type is float:
            return number
        if number is not None and math.isfinite(number) and number == int(number):
            return int(value) if isinstance(value, int) else int(number)
    if leaf.type is str and isinstance(value, str):
        return value
    if get_origin(leaf.type) is tuple and isinstance(value, tuple):
        return value
    kind = {int: "a whole number", float: "a number", bool: "true or false"}.get(leaf.type, "text")
    raise UserError(f"{leaf.flag} must be {kind}, not {value!r}")


def variants(config: Any, values: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every combination of the per-lane numbers given as lists, each with a name such as `alpha=0.2`.

    A single variant has the empty name.
    """
    named = [("", dict(values))]
    for leaf in leaves(config):
        choices = values.get(leaf.name)
        if not isinstance(choices, (list, tuple)):
            continue
        if not leaf.per_lane:
            raise UserError(f"{leaf.flag} takes one value: it cannot differ between lanes")
        numbers = [checked(leaf, choice) for choice in choices]
        if not numbers or len(set(numbers)) < len(numbers):
            raise UserError(f"{leaf.flag} must list different numbers, not {list(choices)}")
        named = [
            (
                ",".join(filter(None, [name, f"{leaf.name}={number:g}" if len(numbers) > 1 else ""])),
                {**v, leaf.name: number},
            )
            for name, v in named
            for number in numbers
        ]
    return [(name, replace(config, v)) for name, v in named]


def static(config: Any) -> Any:
    """The config with its per-lane numbers back at their defaults: what one compiled program shares."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            changes[field.name] = static(value)
        elif field.metadata["per_lane"]:
            changes[field.name] = field.default
    return dataclasses.replace(config, **changes)
