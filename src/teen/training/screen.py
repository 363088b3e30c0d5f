"""Lines of text that fit a screen."""

from collections.abc import Sequence
from itertools import zip_longest

from .scores import NONE, mean_and_std

GAP = "   "

Returns = Sequence[float | None]  # of the seeds of a variant; None where there is none


def duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    time = f"{hours}:{minutes:02}:{seconds:02}" if days or hours else f"{minutes}:{seconds:02}"
    return f"{days} d {time}" if days else time


def flowed(fields: Sequence[str], width: int) -> list[str]:
    """Put fields one after the other, as many on a line as fit."""
    lines: list[str] = []
    for field in fields:
        if lines and len(lines[-1]) + len(GAP) + len(field) <= width:
            lines[-1] += GAP + field
        else:
            lines.append(field)
    return lines


def score_lines(
    variants: Sequence[str], seeds: Sequence[int], scores: Sequence[Returns], width: int, height: int
) -> list[str]:
    """Show the returns of each variant, of all seeds where there is room, or else their mean and deviation."""
    whole = [_block(name, seeds, row) for name, row in zip(variants, scores, strict=True)]
    short = [rows[:1] for rows in whole]
    if len(variants) == 1:  # its seeds may go on in the next column
        whole = [[row] for row in whole[0]]
    for blocks in (_aligned(whole), _aligned(short)):
        if _fits(lines := _in_columns(blocks, height), width, height):
            return lines
    columns = (width + len(GAP)) // (len(blocks[0][0]) + len(GAP))
    kept = blocks[: max(columns, 1) * (height - 1)]
    return [*_in_columns(kept, height - 1), f"and {len(blocks) - len(kept)} more"]


Block = list[tuple[str, str]]  # name and return, line by line


def _block(name: str, seeds: Sequence[int], returns: Returns) -> Block:
    """Return a variant's mean, and below it each seed's return; or a single seed's return alone."""
    single = f"seed {seeds[0]}" if len(seeds) == 1 else "mean"
    mean = name or single, mean_and_std([score for score in returns if score is not None])
    rest = [
        (f"  seed {seed}", NONE if score is None else f"{score:.1f}")
        for seed, score in zip(seeds, returns, strict=True)
        if len(seeds) > 1
    ]
    return [mean, *rest]


def _aligned(blocks: Sequence[Block]) -> list[list[str]]:
    """Make lines of blocks, with names to the left and numbers to the right."""
    rows = [row for block in blocks for row in block]
    name, value = (max(len(row[i]) for row in rows) for i in range(2))
    return [[f"{left:<{name}}  {right:>{value}}" for left, right in block] for block in blocks]


def _in_columns(blocks: Sequence[list[str]], height: int) -> list[str]:
    """Put blocks below each other, and where the screen ends go on beside them. All lines have the same length."""
    columns: list[list[str]] = [[]]
    for block in blocks:
        if columns[-1] and len(columns[-1]) + len(block) > height:
            columns.append([])
        columns[-1] += block
    empty = " " * len(blocks[0][0])
    return [GAP.join(row).rstrip() for row in zip_longest(*columns, fillvalue=empty)]


def _fits(lines: Sequence[str], width: int, height: int) -> bool:
    return len(lines) <= height and max(map(len, lines)) <= width
