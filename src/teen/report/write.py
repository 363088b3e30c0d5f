"""Write a report: a folder with the page, the figures and the numbers behind them."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..disk.files import write_atomically
from ..disk.logs import csv_table
from ..errors import UserError
from . import page
from .compare import Row
from .data import collect
from .runs import Run, is_run

SUMMARY = "data/report.json"  # all that the page shows; it also marks a folder as a report


def write(runs: Sequence[Run], out: Path, steps: Sequence[int] = ()) -> Path:
    """Write the report of these runs into `out`, in place of an earlier one, with scores at these steps among others.
    Return the page.

    Every file is replaced in one step, so that a reader never sees half of one. The summary comes first: a report that
    was interrupted can be written again.
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
    try:
        for name, content in ((SUMMARY, summary), *pictures, *tables, ("index.html", page.render(data).encode())):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(out / name, content)
        for name in set(earlier) - set(data["files"]):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from None
    return out / "index.html"


def _earlier_files(out: Path) -> list[str]:
    """Return the files of the report that is there. Refuse a folder of anything else, and one inside a run."""
    for folder in out.resolve().parents:
        if is_run(folder):
            raise UserError(f"{out} lies inside the run {folder}, into which nothing is written: choose another --out")
    try:
        if not out.exists() or (out.is_dir() and not any(out.iterdir())):
            return []
        files = json.loads((out / SUMMARY).read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{out} exists already and is no report: choose another --out or remove it") from None
    names = [Path(name) for name in files if isinstance(name, str)] if isinstance(files, list) else []
    return [str(name) for name in names if len(name.parts) == 2 and name.parts[0] in ("data", "figures")]


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
