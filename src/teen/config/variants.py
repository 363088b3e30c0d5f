"""The variants of a job: combinations of per-lane numbers, from lists that form a grid, from tables that name each
combination (`variants`), or from both."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeVar

from ..errors import UserError
from ..settings import checked, flag, flat, leaves, number_text, replace, shown

C = TypeVar("C")

KEY = "variants"
MOST_VARIANTS = 1_000  # each has a folder of its own; more are a typing error
LONGEST_NAME = 255  # bytes of a folder's name


def combined(config: C, values: Mapping[str, Any]) -> list[tuple[str, C]]:
    """Return every combination of the variants' tables with the numbers that are given as lists, each with a name
    such as `alpha=0.2`. All other settings in `values` are those of every variant.

    A single variant has the empty name. Names differ wherever numbers do: each is a folder.
    """
    tables = _tables(config, values[KEY]) if KEY in values else [{}]
    lists = _lists(config, values, len(tables))
    if twice := next((name for name in lists if any(name in table for table in tables)), None):
        raise UserError(f"{flag(twice)} is a list and in {KEY} as well: give it in one of them")
    common = {name: value for name, value in values.items() if name not in lists and name != KEY}
    configs = [
        replace(config, {**common, **table, **dict(zip(lists, numbers, strict=True))})
        for table in tables
        for numbers in product(*lists.values())
    ]
    names = _names(configs)
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        raise UserError(f"{KEY} has two that are the same{twice and f': {twice}'}")
    return list(zip(names, configs, strict=True))


def flattened(configs: Sequence[Any]) -> dict[str, Any]:
    """Return the flat settings of which `combined` makes these variants: lists where they form a grid, else tables."""
    lists, rows = _differing(configs)
    if list(product(*lists.values())) == rows:
        return {**flat(configs[0]), **lists}
    return {**flat(configs[0]), KEY: [dict(zip(lists, numbers, strict=True)) for numbers in rows]}


def _lists(config: Any, values: Mapping[str, Any], count: int) -> dict[str, list[float]]:
    """Return the settings given as lists, checked, of which there may be `count` times as many combinations."""
    lists: dict[str, list[float]] = {}
    for leaf in leaves(config):
        choices = values.get(leaf.name)
        if not isinstance(choices, (list, tuple)):
            continue
        if not leaf.per_lane:
            raise UserError(f"{leaf.flag} takes one value: it cannot differ between lanes")
        numbers = [checked(leaf, choice) for choice in choices]
        if not numbers or len(set(numbers)) < len(numbers):
            raise UserError(f"{leaf.flag} must list different numbers, not {shown(list(choices))}")
        count *= len(numbers)
        if count > MOST_VARIANTS:
            raise UserError(f"{leaf.flag} and other lists make more than {MOST_VARIANTS:,} combinations")
        lists[leaf.name] = numbers
    return lists


def _tables(config: Any, given: Any) -> list[dict[str, float]]:
    """Return the variants' tables, checked."""
    if not isinstance(given, (list, tuple)) or not all(isinstance(table, Mapping) for table in given):
        raise UserError(f"{KEY} must be a list of tables, such as [{{lr = 1e-3}}, {{lr = 1e-4}}], not {shown(given)}")
    if not given:
        raise UserError(f"{KEY} is an empty list: name at least one, or leave it out")
    if len(given) > MOST_VARIANTS:
        raise UserError(f"{KEY} has {len(given):,} tables: {MOST_VARIANTS:,} are the most")
    known = {leaf.name: leaf for leaf in leaves(config) if leaf.per_lane}
    if static := next((name for name in named(given) if name not in known), None):
        raise UserError(f"{KEY} names {shown(static)}, which takes one value: it cannot differ between lanes")
    return [{name: checked(known[name], value) for name, value in table.items()} for table in given]


def named(given: Any) -> list[str]:
    """Return the settings that a list of tables names, whatever else is wrong with it."""
    tables = given if isinstance(given, (list, tuple)) else ()
    return list(dict.fromkeys(str(name) for table in tables if isinstance(table, Mapping) for name in table))


def _names(configs: Sequence[Any]) -> list[str]:
    """Return a name of each variant: all numbers in which there are differences."""
    lists, rows = _differing(configs)
    names = [",".join(f"{n}={number_text(x)}" for n, x in zip(lists, numbers, strict=True)) for numbers in rows]
    if max(map(len, names)) <= LONGEST_NAME:
        return names
    numbers = {name: str(number) for number, name in enumerate(dict.fromkeys(names))}
    return [f"variant={numbers[name]}" for name in names]  # a dozen settings of 17 digits: no folder has that name


def _differing(configs: Sequence[Any]) -> tuple[dict[str, list[float]], list[tuple[float, ...]]]:
    """Return the per-lane settings in which variants differ, each with its numbers, and the numbers of each variant."""
    values = [flat(config) for config in configs]
    names = [leaf.name for leaf in leaves(configs[0]) if leaf.per_lane]
    numbers = {name: list(dict.fromkeys(one[name] for one in values)) for name in names}
    lists = {name: several for name, several in numbers.items() if len(several) > 1}
    return lists, [tuple(one[name] for name in lists) for one in values]
