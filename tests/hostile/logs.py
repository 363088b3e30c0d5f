"""Mutations of the CSV logs of a run folder."""

import gzip
from collections.abc import Callable, Iterator
from functools import cache
from random import Random

from teen.disk.logs import COLUMNS

from .values import NUMBERS, TEXTS
from .victim import Victim, encoded

LOGS = tuple(COLUMNS)
MEBIBYTE = 2**20


def cell(victim: Victim, rng: Random) -> str:
    """Put a hostile value into one cell, or into a whole column."""
    name = rng.choice(LOGS)
    path = victim.run / name
    text = (
        path.read_text()
        if path.is_file()
        else ",".join(COLUMNS[name]) + "\n" + ",".join("0" for _ in COLUMNS[name]) + "\n"
    )
    rows = [line.split(",") for line in text.splitlines()]
    hostile = rng.choice((*map(str, NUMBERS), *TEXTS))
    quoted = '"' + hostile.replace('"', '""') + '"' if rng.random() < 0.7 else hostile
    column = rng.randrange(len(rows[0]))
    first = rng.choice((0, 1, len(rows) - 1))
    for row in rows[first : rng.choice((first + 1, len(rows)))]:
        if column < len(row):
            row[column] = quoted
    path.write_bytes(encoded("".join(",".join(row) + "\n" for row in rows)))
    return f"{name} has {hostile!r:.60} in column {column}"


def many(victim: Victim, rng: Random) -> str:
    """Write a log with very many seeds, steps, members or columns."""
    name, (what, write) = rng.choice(LOGS[:2] * 2 + LOGS[2:]), rng.choice(list(SIZES.items()))
    (victim.run / name).unlink(missing_ok=True)
    data = "".join(write(COLUMNS[name])).encode()
    packed = rng.random() < 0.3
    (victim.run / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(data, 1, mtime=0) if packed else data)
    return f"{name} has {what}{', packed' if packed else ''}"


def row(columns: tuple[str, ...], seed: int, step: int, third: str = "mean") -> str:
    """Return a row of any log; the third column is a policy, a quantity or a number."""
    return ",".join([str(seed), str(step), third, "0", "1.5", "7"][: len(columns)]) + "\n"


def head(columns: tuple[str, ...]) -> str:
    return ",".join(columns) + "\n"


def each_alone(columns: tuple[str, ...], count: int = 2000) -> Iterator[str]:
    """A seed for each step: few rows, and a large table of seeds and steps."""
    yield head(columns)
    yield from (row(columns, k, k) for k in range(count))


SIZES: dict[str, Callable[[tuple[str, ...]], Iterator[str]]] = {
    "2000 seeds and steps": each_alone,
    "30000 seeds and steps": lambda columns: each_alone(columns, 30_000),
    "100000 steps": lambda columns: (head(columns) if k < 0 else row(columns, 0, k) for k in range(-1, 100_000)),
    "5000 seeds": lambda columns: (head(columns) if k < 0 else row(columns, k, 10) for k in range(-1, 5000)),
    "steps far apart": lambda columns: iter([head(columns), row(columns, 0, 1), row(columns, 0, 2**53)]),
    "a member 9999": lambda columns: iter([head(columns), *(row(columns, 0, k, "9999") for k in range(200))]),
    "1000 quantities": lambda columns: iter([head(columns), *(row(columns, 0, 10, f"q{k}") for k in range(1000))]),
    "5000 columns": lambda columns: iter(
        [head((*columns, *(f"c{k}" for k in range(5000)))), "0,10" + ",1" * 5000 + "\n"]
    ),
    "a column twice": lambda columns: iter([head((*columns, *columns)), ",".join(["1"] * 2 * len(columns)) + "\n"]),
    "a long cell": lambda columns: iter([head(columns), row(columns, 0, 10, "x" * 200_000)]),
    "an open quote": lambda columns: iter([head(columns), '0,10,"', "x\n" * 200_000]),
    "no end of line": lambda columns: iter([head(columns), row(columns, 0, 10).rstrip()]),
    "the head only": lambda columns: iter([head(columns)]),
}


@cache
def bomb(kind: str) -> bytes:
    """Return a gzip file that unpacks to more than a gigabyte: the same packed block again and again."""
    piece = {"zeros": b"\0", "newlines": b"\n", "digits": b"0,10,mean,0,1.5,7\n"}[kind]
    block = gzip.compress(piece * (16 * MEBIBYTE // len(piece)), mtime=0)
    return gzip.compress(b"seed,step,policy,episode,return,length\n", mtime=0) + block * 70


def gzip_bomb(victim: Victim, rng: Random) -> str:
    name, kind = rng.choice(LOGS), rng.choice(("zeros", "newlines", "digits"))
    (victim.run / name).unlink(missing_ok=True)
    (victim.run / f"{name}.gz").write_bytes(bomb(kind))
    return f"{name}.gz unpacks to more than a gigabyte of {kind}"


def odd_gzip(victim: Victim, rng: Random) -> str:
    name = rng.choice(LOGS)
    path = victim.run / name
    data = gzip.compress(path.read_bytes() if path.is_file() else b"", mtime=0)
    path.unlink(missing_ok=True)
    what, written = rng.choice(
        (("cut", data[:-9]), ("no gzip", b"seed,step\n"), ("twice", data * 2), ("followed", data + b"x"))
    )
    (victim.run / f"{name}.gz").write_bytes(written)
    return f"{name}.gz is {what}"
