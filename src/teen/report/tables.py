"""Print a comparison in the terminal."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.table import Table

from . import statistics
from .compare import ALL, Comparison, Row
from .terminal import show

WINDOW = f"last {statistics.LAST // 1000}k"


def print_tables(comparison: Comparison) -> None:
    for env, rows in _grouped(comparison.scores, "env").items():
        show(*_score_table(env, rows))
    for env, rows in _grouped(comparison.improvement, "env").items():
        for matrix in _improvement_tables(env, rows):
            show(*matrix)
    if comparison.normalised:
        show(*_normalised_table(comparison))


def _grouped(rows: Sequence[Row], column: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def _table(title: str, columns: Sequence[str], sections: Sequence[Sequence[Sequence[str]]]) -> tuple[str, Table]:
    """Make a table with text in the first column and numbers in the others. The title stands above it, not in it: it
    may be wider than the columns."""
    table = Table()
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for section in sections:
        for cells in section:
            table.add_row(*cells)
        table.add_section()
    return title, table


def _score_table(env: str, rows: Sequence[Row]) -> tuple[str, Table]:
    """Make a table with two lines for each row, one for each kind of score."""

    def cells(row: Row, name: str, kind: str, prefix: str) -> list[str]:
        mean, std = row[f"{kind}_mean"], row[f"{kind}_std"]
        iqm, low, high = (row[f"{prefix}{column}"] for column in ("iqm", "iqm_low", "iqm_high"))
        spread = f"{mean:.1f} ± {'–' if std is None else f'{std:.1f}'}"
        return [name, spread, f"{iqm:.1f} [{low:.1f}, {high:.1f}]"]

    def lines(row: Row) -> list[list[str]]:
        seeds = f"{row['seeds']} of {row['seeds'] + row['missing']}" if row["missing"] else str(row["seeds"])
        return [
            [row["label"], f"{row['step']:,}", seeds, *cells(row, WINDOW, "last", "")],
            ["", "", "", *cells(row, "best so far", "best", "best_")],
        ]

    columns = ("label", "step", "seeds", "score", "mean ± std", "IQM [95 %]")
    groups = _grouped(rows, "step").values()
    return _table(env, columns, [[line for row in group for line in lines(row)] for group in groups])


def _improvement_tables(env: str, rows: Sequence[Row]) -> Iterator[tuple[str, Table]]:
    """Make matrices at one step alone, where most labels can be compared: how likely one beats another, and by how much
    its mean is higher, where that is known."""
    step, shown = max(_grouped(rows, "step").items(), key=lambda item: (len(item[1]), item[0]))
    where = "all environments that two labels share (how many)" if env == ALL else env
    at = f"{where} at step {step:,}: "
    yield _matrix(f"{at}P(row beats column), 95 % interval; {WINDOW}, then best so far", shown, _probability)
    amount, known, what = (
        (_gain, "gain", "the row's average gain over the column in %")
        if env == ALL
        else (_difference, "difference", "mean of the row less that of the column")
    )
    if any(row[known] is not None for row in shown):
        yield _matrix(f"{at}{what}, 95 % interval; {WINDOW}", shown, amount)


def _matrix(title: str, rows: Sequence[Row], text: Callable[[Row], str]) -> tuple[str, Table]:
    pairs = {(row["label"], row["over"]): text(row) for row in rows}
    labels = list(dict.fromkeys(label for label, _ in pairs))
    lines = [[label, *(pairs.get((label, over), "") for over in labels)] for label in labels]
    return _table(title, ["", *labels], [lines])


def _probability(row: Row) -> str:
    last = f"{row['probability']:.2f}{_environments(row)} {row['low']:.2f}–{row['high']:.2f}"
    return f"{last}\n{row['best_probability']:.2f} {row['best_low']:.2f}–{row['best_high']:.2f}"


def _difference(row: Row) -> str:
    if row["difference"] is None:
        return "–"
    value, low, high = (_rounded(row[f"difference{end}"]) for end in ("", "_low", "_high"))
    return f"{value}\n[{low}, {high}]"


def _gain(row: Row) -> str:
    if row["gain"] is None:
        return "–"
    value, low, high = (_rounded(100 * row[f"gain{end}"]) for end in ("", "_low", "_high"))
    return f"{value}{_environments(row)}\n[{low}, {high}]"


def _rounded(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"  # 0.0, not -0.0


def _environments(row: Row) -> str:
    return f" ({row['environments']})" if row["env"] == ALL else ""


def _normalised_table(comparison: Comparison) -> tuple[str, Table]:
    def cells(row: Row) -> list[str]:
        interval = f"{row['iqm']:.3f} [{row['iqm_low']:.3f}, {row['iqm_high']:.3f}]"
        return [row["label"], f"{row['step']:,}", str(row["environments"]), f"{row['mean']:.3f}", interval]

    sections = [[cells(row) for row in group] for group in _grouped(comparison.normalised, "step").values()]
    title = f"several environments together: last means divided by the mean of {comparison.reference} on each"
    return _table(title, ("label", "step", "environments", "mean", "IQM [95 %]"), sections)
