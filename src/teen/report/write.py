"""Write a report: a folder with the page, the figures and the numbers behind them."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..disk.files import is_link, read, write_atomically
from ..disk.logs import csv_table
from ..errors import UserError
from . import page
from .compare import Row
from .data import collect
from .runs import Run, is_run

PAGE = "index.html"
SUMMARY = "data/report.json"  # all that the page shows; it also marks a folder as a report
LARGEST_SUMMARY = 2**28  # bytes


def write(runs: Sequence[Run], out: Path, steps: Sequence[int] = ()) -> Path:
    """Write the report of these runs into `out`, in place of an earlier one, with scores at these steps among others.
    Return the page.

    Every file is replaced in one step, so that a reader never sees half of one. The summary comes first: a report that
    was interrupted can be written again. Links inside the folder are not followed.
    """
    from . import figures  # matplotlib takes a second to import: not before it is needed

    earlier = _earlier_files(out)
    data = collect(runs, steps)
    if not data["environments"]:
        raise UserError("no run has an evaluation yet: there is nothing to report")
    pictures = [(f"figures/{name}", content) for name, content in figures.plot(data)]
    tables = [(f"data/{name}.csv", csv_table(rows).encode()) for name, rows in _tables(data).items() if rows]
    data["files"] = [name for name, _ in (*pictures, *tables)] + [SUMMARY]
    summary = json.dumps(data, allow_nan=False, indent=1).encode()
    contents = ((SUMMARY, summary), *pictures, *tables, (PAGE, page.render(data).encode()))
    try:
        _refuse_links(out, [*earlier, *(name for name, _ in contents)])
        for name, content in contents:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(out / name, content)
        for name in set(earlier) - set(data["files"]):
            (out / name).unlink(missing_ok=True)
            (out / f"{name}.part").unlink(missing_ok=True)  # of a report that was interrupted
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from None
    return out / PAGE


def _earlier_files(out: Path) -> list[str]:
    """Return the files of the report that is there. Refuse a folder of anything else, and one inside a run."""
    try:
        for folder in Path(os.path.realpath(out)).parents:
            if is_run(folder):
                raise UserError(f"{out} lies inside the run {folder}, where nothing is written: choose another --out")
        if not os.path.lexists(out) or _just_begun(out):
            return []
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from None
    foreign = UserError(f"{out} exists already and is no report: choose another --out or remove it")
    if is_run(out):  # whatever else is in it
        raise foreign
    try:
        files = json.loads(read(out, SUMMARY, LARGEST_SUMMARY))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise foreign from None
    names = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
    return [name for name in names if re.fullmatch(r"(data|figures)/[\w-][\w.-]*", name, re.ASCII)]


def _just_begun(out: Path) -> bool:
    """Return whether a folder is empty, or has only what a report leaves that was ended before its first file."""
    folder, first = SUMMARY.split("/")
    try:
        inside = os.listdir(out)
        alone = inside == [folder] and not is_link(out, folder)
        return not inside or (alone and set(os.listdir(out / folder)) <= {f"{first}.part"})
    except OSError:  # it is no folder
        return False


def _refuse_links(out: Path, names: Iterable[str]) -> None:
    """Refuse to write or remove through links: they may lead anywhere."""
    for name in names:
        if is_link(out, name):
            raise UserError(f"{out / name} is, or lies behind, a link: remove it, or choose another --out")


def _tables(data: dict[str, Any]) -> dict[str, list[Row]]:
    """Return the CSV files' rows by name."""
    return {
        "curves": _by_step(data, "curves", ("count", "mean", "std", "iqm", "low", "high")),
        "members": _by_step(data, "members", ("policy", "members", "best")),
        "seeds": [
            {**beginning, "seed": seed, "step": step, "return": value}
            for beginning, curve in _labelled(data, "curves")
            for seed, values in zip(curve["seeds"], curve["returns"], strict=True)
            for step, value in zip(curve["steps"], values, strict=True)
            if value is not None
        ],
        "confusion": [
            {**beginning, "step": matrix["step"], "member": z, "guess": guess, "share": share}
            for beginning, matrix in _labelled(data, "confusion")
            for z, row in enumerate(matrix["shares"])
            for guess, share in enumerate(row)
        ],
        **{name: data[name] for name in ("scores", "improvement", "normalised")},
        **{name: _by_step(data, name, ("mean", "std")) for name in ("training", "diagnostics")},
    }


def _labelled(data: dict[str, Any], kind: str) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield what the rows of each item of this kind begin with, and the item."""
    for part in data["environments"]:
        if kind in ("training", "diagnostics"):
            for quantity, curves in part[kind].items():
                for curve in curves:
                    yield {"env": part["env"], "label": curve["label"], "quantity": quantity}, curve
        else:
            for item in part[kind]:
                yield {"env": part["env"], "label": item["label"]}, item


def _by_step(data: dict[str, Any], kind: str, columns: Sequence[str]) -> list[Row]:
    return [
        {**beginning, "step": step, **{column: item[column][i] for column in columns}}
        for beginning, item in _labelled(data, kind)
        for i, step in enumerate(item["steps"])
    ]
