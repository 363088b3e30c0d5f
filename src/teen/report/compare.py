"""Runs beside each other: scores of each label on each environment, and how likely one label beats another."""

import csv
import sys
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import UserError
from . import runs as reading
from . import statistics
from .runs import Run

MILESTONES = (300_000, 500_000, 1_000_000)  # steps at which papers tell scores
WINDOW = f"last {statistics.LAST // 1000}k"
ALL = "all"  # in place of one environment's name

Row = dict[str, Any]
Pools = dict[str, dict[str, list[Run]]]  # by environment and label: runs that differ in their seeds alone


class Comparison(NamedTuple):
    reference: str  # the label whose mean is 1 in normalised scores
    scores: list[Row]  # per environment, step and label
    improvement: list[Row]  # per environment, or all that two labels share, and step and pair of labels
    normalised: list[Row]  # per step and label, over environments
    notes: list[str]  # what was left out, and why


class Scores(NamedTuple):
    """Of the seeds of one label that are left at a step. A quarantined seed is left out from then on."""

    last: np.ndarray
    best: np.ndarray
    missing: int  # seeds that began and have no score


def compare(
    runs: Sequence[Run], steps: Sequence[int] | None = None, reference: str | None = None, also: Sequence[int] = ()
) -> Comparison:
    """At these steps; otherwise where the runs of an environment end together, at milestones they reach, and `also`.

    ± is the standard deviation over seeds (of the sample itself, as NumPy has it). Columns that begin with `best_`
    are of each seed's best evaluation so far; IQMs and probabilities without it are of the last evaluations' means.
    """
    begun = [run for run in runs if run.steps.size]
    notes = [f"{run.path} has no evaluation yet: it is left out" for run in runs if not run.steps.size]
    if not begun:
        raise UserError("no run has an evaluation yet: there is nothing to compare")
    pools = pooled(begun)
    labels = list(dict.fromkeys(label for own in pools.values() for label in own))
    if reference is not None and reference not in labels:
        raise UserError(f"--reference {reference!r} is none of the labels here: {', '.join(labels)}")
    reference = reference or ("td3" if "td3" in labels else labels[0])
    found = Comparison(reference, [], [], [], notes)
    steps = sorted(set(steps or ()))
    for env, own in pools.items():
        for step in steps or _telling_steps([run for members in own.values() for run in members], also):
            at = scores_at(own, step)
            found.scores.extend(_score_row(env, step, label, scores) for label, scores in at.items())
            found.improvement.extend(_improvement_rows(env, step, {label: {env: own} for label, own in at.items()}))
    for step in (steps or _telling_steps(begun, also)) if len(pools) > 1 else ():
        tasks: dict[str, dict[str, Scores]] = {label: {} for label in labels}
        for env, own in pools.items():
            for label, scores in scores_at(own, step).items():
                tasks[label][env] = scores
        found.improvement.extend(_improvement_rows(ALL, step, tasks))
        found.normalised.extend(_normalised_rows(step, tasks, reference, notes))
    for step in (*steps, *also):
        if not any(row["step"] == step for row in found.scores):
            first, last = min(run.steps[0] for run in begun), max(run.steps[-1] for run in begun)
            raise UserError(f"no run has a score at step {step}: they were evaluated from {first} to {last}")
    return found


def pooled(runs: Sequence[Run]) -> Pools:
    """Seeds of one label and environment may be split over several runs; none may occur twice."""
    pools: Pools = {}
    for run, label in zip(runs, reading.labels(runs), strict=True):
        pool = pools.setdefault(run.env, {}).setdefault(label, [])
        for other in pool:
            for seed in sorted(_seeds(run) & _seeds(other)):
                raise UserError(f"seed {seed} of {label} on {run.env} occurs twice: in {other.path} and in {run.path}")
        pool.append(run)
    return pools


def _seeds(run: Run) -> set[int]:
    """Also those that went wrong before their first evaluation."""
    asked = run.settings.get("seeds")
    return {*run.seeds, *(seed for seed in (asked if isinstance(asked, list) else ()) if type(seed) is int)}


def _telling_steps(runs: Sequence[Run], also: Sequence[int]) -> list[int]:
    ends = [int(run.steps[-1]) for run in runs]
    return sorted({min(ends), *(step for step in (*MILESTONES, *also) if step <= max(ends))})


def scores_at(labels: Mapping[str, Sequence[Run]], step: int) -> dict[str, Scores]:
    """Of the labels that have any seed left at this step."""
    found = {label: _scores(runs, step) for label, runs in labels.items()}
    return {label: scores for label, scores in found.items() if scores.last.size}


def _scores(runs: Sequence[Run], step: int) -> Scores:
    last, best = [np.empty(0)], [np.empty(0)]
    for run in runs:
        if run.steps[-1] >= step:
            left = ~np.isnan(statistics.point(run, step))
            last.append(statistics.last_mean(run, step)[left])
            best.append(statistics.best_so_far(run, step)[left])
    scores = np.concatenate(last)
    return Scores(scores, np.concatenate(best), sum(len(_seeds(run)) for run in runs) - scores.size)


def _score_row(env: str, step: int, label: str, scores: Scores) -> Row:
    return {
        "env": env,
        "step": step,
        "label": label,
        "seeds": scores.last.size,
        "missing": scores.missing,
        "last_mean": float(scores.last.mean()),
        "last_std": float(scores.last.std()),
        "best_mean": float(scores.best.mean()),
        "best_std": float(scores.best.std()),
        **_iqm_columns([scores.last]),
        **{f"best_{name}": value for name, value in _iqm_columns([scores.best]).items()},
    }


def _iqm_columns(scores: Sequence[np.ndarray]) -> Row:
    return dict(zip(("iqm", "iqm_low", "iqm_high"), statistics.iqm_interval(scores), strict=True))


def _improvement_rows(env: str, step: int, tasks: Mapping[str, Mapping[str, Scores]]) -> list[Row]:
    """Of each label over each other one, on the environments that both have; `tasks` has scores by these two."""
    rows = []
    for one, other in combinations(tasks, 2):
        common = [name for name in tasks[one] if name in tasks[other]]
        if not common or (env == ALL and len(common) < 2):
            continue
        pairs = [(tasks[one][name], tasks[other][name]) for name in common]
        last = statistics.probability_of_improvement([x.last for x, _ in pairs], [y.last for _, y in pairs])
        best = statistics.probability_of_improvement([x.best for x, _ in pairs], [y.best for _, y in pairs])
        known = {"env": env, "environments": len(common), "step": step}
        rows.append({**known, "label": one, "over": other, **_improvement_columns(last, best)})
        rows.append({**known, "label": other, "over": one, **_improvement_columns(_other_way(last), _other_way(best))})
    return rows


def _improvement_columns(last: statistics.Interval, best: statistics.Interval) -> Row:
    names = ("probability", "low", "high", "best_probability", "best_low", "best_high")
    return dict(zip(names, (*last, *best), strict=True))


def _other_way(p: statistics.Interval) -> statistics.Interval:
    return statistics.Interval(1 - p.value, 1 - p.high, 1 - p.low)


def _normalised_rows(
    step: int, tasks: Mapping[str, Mapping[str, Scores]], reference: str, notes: list[str]
) -> list[Row]:
    """Last means divided by the reference's mean, which counts as known: intervals are those of the label's own seeds.
    A mean that is not positive would turn the order of scores around."""
    means = {env: float(scores.last.mean()) for env, scores in tasks[reference].items()}
    several = any(len(own) > 1 for own in tasks.values())  # otherwise there is nothing to normalise
    for env in dict.fromkeys(env for own in tasks.values() for env in own) if several else ():
        if means.get(env, 0) <= 0:
            why = f"the mean of {reference} there is not positive"
            why = why if env in means else f"{reference} has no score there"
            notes.append(f"{env} is not in the normalised scores at step {step}: {why}")
    rows = []
    for label, own in tasks.items():
        ratios = [scores.last / means[env] for env, scores in own.items() if means.get(env, 0) > 0]
        if len(ratios) < 2:
            continue
        rows.append(
            {
                "step": step,
                "label": label,
                "reference": reference,
                "environments": len(ratios),
                "mean": float(np.mean([ratio.mean() for ratio in ratios])),
                **_iqm_columns(ratios),
            }
        )
    return rows


def to_csv(rows: Sequence[Row], path: Path) -> None:
    """All rows have the columns of the first. Without any, a file that is there would be taken for theirs: it goes."""
    try:
        if not rows:
            return path.unlink(missing_ok=True)
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}") from None


def print_tables(comparison: Comparison) -> None:
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 100, markup=False, emoji=False, highlight=False)
    tables = [
        *(_score_table(env, rows) for env, rows in _grouped(comparison.scores, "env").items()),
        *(_improvement_table(env, rows) for env, rows in _grouped(comparison.improvement, "env").items()),
        *([_normalised_table(comparison)] if comparison.normalised else []),
    ]
    for table in tables:
        console.print(table)


def _grouped(rows: Sequence[Row], column: str) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def _table(title: str, columns: Sequence[str], sections: Sequence[Sequence[Sequence[str]]]) -> Any:
    """The first column is text, the others are numbers. The title is as wide as it needs, however narrow they are."""
    from rich.console import Group
    from rich.table import Table

    table = Table()
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    for section in sections:
        for cells in section:
            table.add_row(*cells)
        table.add_section()
    return Group(title, table)


def _score_table(env: str, rows: Sequence[Row]) -> Any:
    """Two lines for each row: one for each kind of score."""

    def lines(row: Row) -> list[list[str]]:
        seeds = f"{row['seeds']} of {row['seeds'] + row['missing']}" if row["missing"] else str(row["seeds"])
        found = []
        for name, kind, prefix in ((WINDOW, "last", ""), ("best so far", "best", "best_")):
            low, high = row[f"{prefix}iqm_low"], row[f"{prefix}iqm_high"]
            spread = f"{row[f'{kind}_mean']:.1f} ± {row[f'{kind}_std']:.1f}"
            found.append([name, spread, f"{row[f'{prefix}iqm']:.1f} [{low:.1f}, {high:.1f}]"])
        return [[row["label"], f"{row['step']:,}", seeds, *found[0]], ["", "", "", *found[1]]]

    columns = ("label", "step", "seeds", "score", "mean ± std", "IQM [95 %]")
    groups = _grouped(rows, "step").values()
    return _table(env, columns, [[line for row in own for line in lines(row)] for own in groups])


def _improvement_table(env: str, rows: Sequence[Row]) -> Any:
    """At one step alone, where most labels can be compared; the rows have all."""
    step, own = max(_grouped(rows, "step").items(), key=lambda item: (len(item[1]), item[0]))
    pairs = {(row["label"], row["over"]): row for row in own}
    labels = list(dict.fromkeys(label for label, _ in pairs))

    def cell(label: str, over: str) -> str:
        row = pairs.get((label, over))
        if row is None:
            return ""
        size = f" ({row['environments']})" if env == ALL else ""
        last = f"{row['probability']:.2f}{size} {row['low']:.2f}–{row['high']:.2f}"
        return f"{last}\n{row['best_probability']:.2f} {row['best_low']:.2f}–{row['best_high']:.2f}"

    where = "all environments that two labels share (how many)" if env == ALL else env
    title = f"{where} at step {step:,}: P(row beats column), 95 % interval; {WINDOW}, then best so far"
    return _table(title, ["", *labels], [[[label, *(cell(label, over) for over in labels)] for label in labels]])


def _normalised_table(comparison: Comparison) -> Any:
    def cells(row: Row) -> list[str]:
        interval = f"{row['iqm']:.3f} [{row['iqm_low']:.3f}, {row['iqm_high']:.3f}]"
        return [row["label"], f"{row['step']:,}", str(row["environments"]), f"{row['mean']:.3f}", interval]

    sections = [[cells(row) for row in own] for own in _grouped(comparison.normalised, "step").values()]
    title = f"several environments together: last means divided by the mean of {comparison.reference} on each"
    return _table(title, ("label", "step", "environments", "mean", "IQM [95 %]"), sections)


def command(arguments: list[str]) -> int:
    from ..cli.main import Parser

    parser = Parser(prog="teen compare", allow_abbrev=False, description="Runs beside each other, with intervals.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run directory, or a folder of them")
    parser.add_argument(
        "--steps",
        metavar="INT[,INT...]",
        help="at these steps (default: where the runs end together, 300k, 500k and 1M)",
    )
    parser.add_argument("--csv", type=Path, help="write scores there, and the rest beside it")
    parser.add_argument("--reference", help="the label that is 1 where environments are put together (default td3)")
    flags = parser.parse_args(arguments)
    steps = None if flags.steps is None else parse_steps(flags.steps)
    comparison = compare([reading.read(path) for path in reading.find(flags.runs)], steps, flags.reference)
    print_tables(comparison)
    for note in comparison.notes:
        print(note, file=sys.stderr)
    if flags.csv:
        for name in ("scores", "improvement", "normalised"):
            path = flags.csv if name == "scores" else flags.csv.with_stem(f"{flags.csv.stem}-{name}")
            to_csv(getattr(comparison, name), path)
    return 0


def parse_steps(text: str) -> list[int]:
    try:
        steps = [int(part) for part in text.split(",")]
    except ValueError:
        steps = []
    if not steps or min(steps) < 1:
        raise UserError(f"--steps {text!r} names no steps: write 300000,1000000")
    return steps
