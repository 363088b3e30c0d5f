"""The pages that speak of our runs, and the tables on them."""

import csv
import re

from .logs import ROOT

PAGE = (ROOT / "docs" / "evidence.md").read_text()
DIVERSITY = (ROOT / "docs" / "diversity.md").read_text()
STRONGER = (ROOT / "docs" / "stronger-term.md").read_text()
SPARSE = (ROOT / "docs" / "sparse-reward.md").read_text()
FISH = (ROOT / "docs" / "fish-swim.md").read_text()
BASELINES = (ROOT / "docs" / "baselines.md").read_text()
README = (ROOT / "README.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()


def table_of(page, *heading):
    """Return the one table of a page whose heading begins with these cells."""
    begin = "".join(rf"\| {re.escape(cell)} ?" for cell in heading)
    (found,) = re.findall(rf"^{begin}\|.*\n\|---.*\n(?:\|.*\n)+", page, re.MULTILINE)
    return found


def cells(page, first):
    """Return the other cells of the one table line whose first cell is this."""
    (line,) = re.findall(rf"^\| {re.escape(first)} \|(.*)\|$", page, re.MULTILINE)
    return [cell.strip() for cell in line.split("|")]


def flat(text):
    return " ".join(text.split())


def steps_of(words):
    """300k, 1M -> a number."""
    return int(words[:-1]) * {"k": 1_000, "M": 1_000_000}[words[-1]]


def table(name):
    with (ROOT / "src" / "teen" / "paper" / name).open() as file:
        return list(csv.DictReader(file))


def printed(algo, task, step):
    """What the paper prints, "–" for nothing."""
    name = task.replace("-v4", "-v3")
    rows = [r for r in table("paper_tables.csv") if (r["algo"], r["env"], r["env_step"]) == (algo, name, str(step))]
    return f"{rows[0]['mean']} ± {rows[0]['spread']}" if rows else "–"


def beats(label, over, report="report", tasks=4):
    """How often a run of one beats one of the other at 500k on so many tasks, with its interval, by `teen report`."""
    with (ROOT / "results/paper" / report / "data/improvement.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if (row["env"], row["step"]) == ("all", "500000")]
    (row,) = [row for row in rows if (row["label"], row["over"], row["environments"]) == (label, over, str(tasks))]
    return tuple(float(row[name]) for name in ("probability", "low", "high"))
