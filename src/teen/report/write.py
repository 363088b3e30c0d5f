"""`teen report`: a folder with the page, the figures and the numbers behind them."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..disk.files import write_atomically
from ..errors import UserError
from . import page
from . import runs as reading
from .compare import parse_steps
from .data import collect
from .runs import Run

SUMMARY = "data/report.json"  # all that the page shows; it also marks a folder as a report's


def write(runs: Sequence[Run], out: Path, steps: Sequence[int] = ()) -> Path:
    """The report of these runs in `out`, in place of an earlier one, with scores at these steps among others. Returns
    the page.

    Every file is written beside its name and renamed, so that a reader never meets half of one. The summary comes
    first: a report that was cut can be written again.
    """
    from . import figures  # matplotlib takes a second to import: not before it is needed

    earlier = _earlier(out)
    data = collect(runs, steps)
    if not data["environments"]:
        raise UserError("no run has an evaluation yet: there is nothing to report")
    pictures = [(f"figures/{name}", content) for name, content in figures.draw(data)]
    tables = [(f"data/{name}.csv", _csv(rows).encode()) for name, rows in _tables(data) if rows]
    data["files"] = [name for name, _ in (*pictures, *tables)] + [SUMMARY]
    whole = json.dumps(data, allow_nan=False, indent=1).encode()
    try:
        for name, content in ((SUMMARY, whole), *pictures, *tables, ("index.html", page.render(data).encode())):
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(out / name, content)
        for name in set(earlier) - set(data["files"]):
            (out / name).unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from None
    return out / "index.html"


def _earlier(out: Path) -> list[str]:
    """The files of the report that is there. A folder of anything else is left alone, and so is a run."""
    for folder in out.resolve().parents:
        if reading.is_run(folder):
            raise UserError(f"{out} lies inside the run {folder}, into which nothing is written: choose another --out")
    try:
        if not out.exists() or (out.is_dir() and not any(out.iterdir())):
            return []
        files = json.loads((out / SUMMARY).read_text())["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UserError(f"{out} exists already and is no report: choose another --out or remove it") from None
    own = [Path(name) for name in files if isinstance(name, str)] if isinstance(files, list) else []
    return [str(name) for name in own if len(name.parts) == 2 and name.parts[0] in ("data", "figures")]


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _tables(data: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What is not known is empty."""
    yield "curves", _long(data, "curves", ("count", "mean", "std", "iqm", "low", "high"))
    yield "members", _long(data, "members", ("policy", "members", "best"))
    yield (
        "seeds",
        [
            {"env": part["env"], "label": curve["label"], "seed": seed, "step": step, "return": value}
            for part in data["environments"]
            for curve in part["curves"]
            for seed, values in zip(curve["seeds"], curve["returns"], strict=True)
            for step, value in zip(curve["steps"], values, strict=True)
            if value is not None
        ],
    )
    yield "confusion", _guesses(data)
    for name in ("scores", "improvement", "normalised"):
        yield name, data[name]
    for name in ("training", "diagnostics"):
        yield (
            name,
            [
                {
                    "env": part["env"],
                    "label": curve["label"],
                    "quantity": quantity,
                    "step": step,
                    "mean": mean,
                    "std": std,
                }
                for part in data["environments"]
                for quantity, curves in part[name].items()
                for curve in curves
                for step, mean, std in zip(curve["steps"], curve["mean"], curve["std"], strict=True)
            ],
        )


def _guesses(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"env": part["env"], "label": one["label"], "step": one["step"], "member": z, "guess": guess, "share": share}
        for part in data["environments"]
        for one in part["confusion"]
        for z, row in enumerate(one["shares"])
        for guess, share in enumerate(row)
    ]


def _long(data: dict[str, Any], kind: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """A row per step."""
    return [
        {"env": part["env"], "label": one["label"], "step": step, **{column: one[column][i] for column in columns}}
        for part in data["environments"]
        for one in part[kind]
        for i, step in enumerate(one["steps"])
    ]


def command_report(arguments: list[str]) -> int:
    from ..cli.main import Parser

    parser = Parser(
        prog="teen report", allow_abbrev=False, description="A page, figures and tables of runs beside each other."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run directory, or a folder of them")
    parser.add_argument("--out", type=Path, required=True, help="the report's folder: new, empty, or an earlier report")
    parser.add_argument(
        "--steps",
        metavar="INT[,INT...]",
        help="scores at these steps too (in any case: where the runs end together, 300k, 500k and 1M)",
    )
    flags = parser.parse_args(arguments)
    steps = [] if flags.steps is None else parse_steps(flags.steps)
    print(write([reading.read(path) for path in reading.find(flags.runs)], flags.out, steps))
    return 0
