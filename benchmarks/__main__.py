"""Run the rows that this machine can measure and print the table: `make bench`, or `python -m benchmarks`.

    --keep NAME     write the results to benchmarks/results/NAME/
    --rows ROW ...  only these
    --show          run nothing; print what is kept in benchmarks/results
    --together      all but `memory` in one process, so that a row reuses what another one has compiled

Otherwise every row runs in a process of its own.
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
from rich.console import Console
from rich.table import Table

from benchmarks import machine
from benchmarks.row import ANY, FEW_CORES, GPU, ROWS

RESULTS = Path(__file__).parent / "results"


def scripts(wanted: list[str]) -> list[str]:
    here = GPU if jax.default_backend() == "gpu" else FEW_CORES
    names = dict.fromkeys(row.name.split(".")[0] for row in ROWS if row.on in (here, ANY))
    return [name for name in names if not wanted or name in wanted]


def collected(folder: Path) -> dict[str, float]:
    values: dict[str, float] = {}
    for file in sorted(folder.glob("*.json")):
        values |= json.loads(file.read_text()).get("values", {})
    return values


def table(columns: dict[str, dict[str, float]]) -> Table:
    grid = Table(title="bar, aim and measured", title_justify="left")
    for heading in ("on", "measure", "unit", "bar", "aim", *columns):
        grid.add_column(heading, justify="left" if heading in ("on", "measure", "unit") else "right")
    for row in ROWS:
        cells = []
        for values in columns.values():
            value = values.get(row.name)
            colour = {True: "green", False: "red", None: "default"}[None if value is None else row.passed(value)]
            cells.append(
                "–" if value is None else f"[{colour}]{value:,.3g}[/]" if value < 10 else f"[{colour}]{value:,.0f}[/]"
            )
        limits = ["–" if limit is None else f"{limit:g}" for limit in (row.bar, row.aim)]
        grid.add_row(row.on, row.measure, row.unit, *limits, *cells)
    return grid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep")
    parser.add_argument("--rows", nargs="*", default=[])
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--together", action="store_true")
    flags = parser.parse_args()
    columns = {folder.name: collected(folder) for folder in sorted(RESULTS.iterdir()) if folder.is_dir()}
    if not flags.show:
        folder = RESULTS / flags.keep if flags.keep else Path(tempfile.mkdtemp())
        folder.mkdir(exist_ok=True)
        for name in scripts(flags.rows):
            print(name, flush=True)
            if flags.together and name != "memory":
                result = {"machine": machine.describe(), **importlib.import_module(f"benchmarks.{name}").measure()}
                (folder / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
                continue
            command = [sys.executable, "-m", f"benchmarks.{name}", "--out", str(folder / f"{name}.json")]
            subprocess.run(command, check=False)  # a row that fails prints why, and its cell stays empty
        columns[flags.keep or "here"] = collected(folder)
    Console(width=170 if not sys.stdout.isatty() else None).print(table(columns))


if __name__ == "__main__":
    main()
