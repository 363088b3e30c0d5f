"""A sweep's TOML file: settings of all jobs, a grid and a list over any of them.

lanes = 40                # most lanes of a job
seeds_per_job = 5
out = "runs/widths"
[settings]                # of all
env = "HalfCheetah-v5"
seeds = 10
[grid]                    # every combination
width = [128, 256]
lr = [3e-4, 1e-3]
[[list]]                  # each of these with every combination of the grid
algo = "td3"
[[list]]
algo = "teen"
alpha = [0, 0.2]          # a list in a table: each of its values
"""

import difflib
import math
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ..config import toml, variants
from ..config.job import MOST_LANES
from ..disk import files
from ..errors import UserError
from ..settings import shown

KEYS = "settings", "grid", "list", "lanes", "seeds_per_job", "out"
MOST_JOBS = 100_000
BLOCKS = 'seeds in [grid] lists blocks, such as ["0-4", "5-9"]; seeds = 10 belongs in [settings]'

Table = Mapping[str, Any]


class Sweep(NamedTuple):
    """What a file asks for."""

    settings: Table  # of all combinations
    axes: list[dict[str, list[Any]]]  # the values of each setting; one dictionary for each table of the list
    lanes: int | None = None
    seeds_per_job: int | None = None
    out: str | None = None

    @property
    def varied(self) -> list[str]:
        """The settings that the grid and the list name."""
        return list(dict.fromkeys(name for axes in self.axes for name in axes))

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Yield the flat settings of every combination, as `config.job.resolve` takes them."""
        for axes in self.axes:
            for values in product(*axes.values()):
                yield {**self.settings, **dict(zip(axes, values, strict=True))}


def read(path: Path) -> Sweep:
    """Return what a sweep's file asks for. A UserError names what is wrong, and the file."""
    try:
        return parse(files.read_file(path, toml.LARGEST))
    except OSError as error:
        raise UserError(f"sweep file {path} cannot be read: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"sweep file {path}: {error}") from None


def parse(data: bytes) -> Sweep:
    try:
        content = toml.tables(data)
    except ValueError as error:
        raise UserError(f"it is no TOML: {error}") from None
    if unknown := next((key for key in content if key not in KEYS), None):
        close = difflib.get_close_matches(unknown, KEYS, 1)
        hint = f"did you mean {close[0]!r}?" if close else "settings of the jobs belong in [settings]"
        raise UserError(f"there is no key {shown(unknown)}, only {', '.join(KEYS)}: {hint}")
    settings, grid = _table(content, "settings"), _grid(content)
    if twice := next((name for name in grid if name in settings), None):
        raise UserError(f"{shown(twice)} is in [settings] and in [grid]: leave one of them out")
    axes = [{**grid, **own} for own in _list(content, grid)]
    count = sum(math.prod(map(len, one.values())) for one in axes)
    if count > MOST_JOBS:
        raise UserError(f"grid and list make {count:,} combinations: {MOST_JOBS:,} are the most")
    lanes, seeds = _count(content, "lanes", MOST_LANES), _count(content, "seeds_per_job", MOST_LANES)
    out = content.get("out")
    if out is not None and (not isinstance(out, str) or not out.isprintable() or not out):
        raise UserError(f"out must be the path of a folder, or a URL, not {shown(out)}")
    return Sweep(settings, axes, lanes, seeds, out)


def _table(content: Table, key: str) -> dict[str, Any]:
    table = content.get(key, {})
    if not isinstance(table, dict):
        raise UserError(f"{key} must be a table, [{key}], not {shown(table)}")
    return table


def _grid(content: Table) -> dict[str, list[Any]]:
    """Return the values of each setting in the grid."""
    grid = _table(content, "grid")
    if "grid" in content and not grid:
        raise UserError("[grid] is empty: name a setting with a list of values, or leave it out")
    for name, values in grid.items():
        _check_name(name, "[grid]")
        if not isinstance(values, list):
            raise UserError(f"{name} in [grid] must be a list; one value, {shown(values)}, belongs in [settings]")
        if not values:
            raise UserError(f"{name} in [grid] is an empty list")
        if name == "seeds" and not all(isinstance(block, (str, list)) for block in values):
            raise UserError(BLOCKS)
    return grid


def _list(content: Table, grid: Table) -> list[dict[str, list[Any]]]:
    """Return the values of each setting in every table of the list; one empty table if there is no list."""
    if "list" not in content:
        return [{}]
    tables = content["list"]
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"list must be tables, each headed [[list]], not {shown(tables)}")
    if not tables:
        raise UserError("list is empty: name a table, or leave it out")
    for name, value in ((name, value) for table in tables for name, value in table.items()):
        _check_name(name, "[[list]]")
        if name in grid:
            raise UserError(f"{shown(name)} is in [grid] and in [[list]]: leave one of them out")
        if value == []:
            raise UserError(f"{name} in [[list]] is an empty list")
    return [{name: _values(name, value) for name, value in table.items()} for table in tables]


def _values(name: str, value: Any) -> list[Any]:
    return value if isinstance(value, list) and name != "seeds" else [value]


def _check_name(name: str, where: str) -> None:
    if name == variants.KEY:
        raise UserError(f"{name} is in {where}, but belongs in [settings]; a [[list]] names combinations, too")


def _count(content: Table, key: str, most: int) -> int | None:
    number = content.get(key)
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
        raise UserError(f"{key} must be a whole number from 1 to {most:,}, not {shown(number)}")
    return number
