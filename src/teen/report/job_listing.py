"""Jobs as texts, and as the part of the first page of `teen serve` that lists them."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from html import escape

from ..disk.jobs import STATES, JobState

COLUMNS = ("Job", "State", "Step", "Left")
MOST = 2_000  # jobs in the list; of more, done ones are left out first
LAST = 3  # lines of an error that a list shows
MOST_LEFT = 1e9  # seconds, 30 years; what claims to take longer says nothing


def counts(jobs: Sequence[JobState]) -> str:
    """Return how many jobs are in which state, such as `12 jobs: 1 running, 11 done`."""
    there = Counter(job.state for job in jobs)
    number = f"{len(jobs):,} {'job' if len(jobs) == 1 else 'jobs'}"
    return f"{number}: " + ", ".join(f"{there[state]:,} {state}" for state in STATES if there[state])


def progress(job: JobState) -> str:
    if job.steps is None:
        return f"{job.step:,}" if job.step else "–"
    return f"{job.step:,} of {job.steps:,}" if job.step < job.steps else f"{job.step:,}"


def left(job: JobState) -> str:
    return "" if job.left is None or not 0 <= job.left < MOST_LEFT else str(timedelta(seconds=int(job.left)))


def last_lines(job: JobState, lines: int = LAST) -> list[str]:
    return job.error.splitlines()[-lines:]


def render(jobs: Sequence[JobState]) -> str:
    """Return the list as HTML; nothing where there are no jobs."""
    if not jobs:
        return ""
    ordered = sorted(jobs, key=lambda job: STATES.index(job.state))
    heads = "".join(f'<th class="text">{column}</th>' for column in COLUMNS)
    more = f'<p class="hint">and {len(jobs) - MOST:,} more</p>' if len(jobs) > MOST else ""
    rows = "".join(map(_row, ordered[:MOST]))
    table = f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    # A list of thousands is folded away, a short one is not; the runs are below it.
    return f"<details{' open' if len(jobs) <= 20 else ''}><summary>{counts(jobs)}</summary>{table}{more}</details>"


def _row(job: JobState) -> str:
    error = "".join(f'<div class="wrong">{escape(line)}</div>' for line in last_lines(job))
    cells = [escape(job.name), escape(job.state) + error, progress(job), left(job)]
    return "<tr>" + "".join(f'<td class="text">{cell}</td>' for cell in cells) + "</tr>"
