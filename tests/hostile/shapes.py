"""Mutations of a run folder's shape: what lies in it, how deep, under which names."""

import json
import os
import shutil
from collections.abc import Callable
from random import Random

from . import values
from .things import link
from .victim import Victim


def deep(victim: Victim, rng: Random) -> str:
    """Make folders inside each other until the path is longer than the system allows."""
    handle = os.open(victim.run, os.O_RDONLY)
    for _ in range(40):
        os.mkdir("d" * 120, dir_fd=handle)
        inner = os.open("d" * 120, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    return "folders whose path is too long"


def crowd(victim: Victim, rng: Random) -> str:
    for k in range(60):
        (victim.run / "crowd" / f"{k}" / "x").mkdir(parents=True)
    return "120 folders"


def runs_inside(victim: Victim, rng: Random) -> str:
    """Put runs into the run folder, in place of its logs or beside them."""
    for k in range(20):
        inner = victim.run / f"inner{k}" / rng.choice(("", "deeper"))
        inner.mkdir(parents=True)
        for name in ("config.toml", "eval.csv"):
            shutil.copy(victim.run / name, inner / name)
    if rng.random() < 0.5:
        (victim.run / "eval.csv").unlink()
    return "20 runs inside the run"


def circle(victim: Victim, rng: Random) -> str:
    for name in ("loop", "agent/loop", "checkpoint/loop"):
        path = victim.file(name)
        path.parent.mkdir(exist_ok=True)
        link(victim, path, f"../runs/{victim.root.name}")
    return "links that lead in circles"


def odd_names(victim: Victim, rng: Random) -> str:
    """Add files and folders with odd names, some of them runs."""
    names = [text.replace("/", "∕").replace("\0", "0")[:60] for text in rng.sample(values.TEXTS, 5)]
    for name in filter(lambda name: name.strip(". "), [*names, os.fsdecode(b"\xff\xfe bytes"), "n" * 255]):
        inner = victim.run / name
        inner.mkdir(exist_ok=True)
        for file in ("config.toml", "eval.csv"):
            shutil.copy(victim.run / file, inner / file)
    if rng.random() < 0.6:  # now only those inside are runs
        (victim.run / "eval.csv").unlink()
    return f"runs inside called {[name[:20] for name in names]!r:.120}"


def strange_steps(victim: Victim, rng: Random) -> str:
    """Add checkpoints with odd names, copies of the newest one or empty."""
    folder = victim.root / "checkpoint"
    newest = victim.steps()[-1]
    names = (
        "step-999999999999",
        "step-٠٠٠٠٠٠٠٠٠٠٩٩",
        "step-00000000004x",
        "step-000000000041",
        "step-1",
        "step-000000000099.part",
    )
    for name in rng.sample(names, 3):
        if rng.random() < 0.5:
            shutil.copytree(newest, folder / name)
        else:
            (folder / name).mkdir()
    return "checkpoints with odd names"


def many_steps(victim: Victim, rng: Random) -> str:
    for k in range(150):
        (victim.root / "checkpoint" / f"step-{10**6 + k:012}").mkdir(parents=True)
    return "150 empty checkpoints"


def linked_strays(victim: Victim, rng: Random) -> str:
    """Put links among the checkpoints, where older ones are removed."""
    folder = victim.root / "checkpoint"
    folder.mkdir(exist_ok=True)
    for name, target in (("step-000000000001", "run"), ("rows-000000000000-000000000001.safetensors", "secret.txt")):
        link(victim, folder / name, target)
    link(victim, folder / "step-000000000002.part", "folder")
    return "checkpoints that are links outside"


def forged_report(victim: Victim, rng: Random) -> str:
    """Make it look like a report whose files lie outside."""
    (victim.root / "data").mkdir()
    files = [
        "figures/secret.txt",
        "data/../../outside/secret.txt",
        "../outside/secret.txt",
        "/etc/x",
        5,
        "figures/a\0b",
    ]
    (victim.root / "data" / "report.json").write_text(json.dumps({"files": files}))
    link(victim, victim.root / "figures", "folder")
    if rng.random() < 0.5:
        for name in ("eval.csv", "config.toml"):
            (victim.run / name).unlink()
    return "a forged report with a linked folder"


def forged_lock(victim: Victim, rng: Random) -> str:
    (victim.root / "lock").write_bytes(
        rng.choice((b"\x1b[31m1\n", b"1" * 10**6, b"\xff\xfe", b"[/b]", b"1\nteen: x\n"))
    )
    return "a forged lock"


def cached_speeds(victim: Victim, rng: Random) -> str:
    """Leave hostile speeds where `teen paper` keeps its own."""
    text = values.to_json(values.value(rng)) if rng.random() < 0.5 else "[" * 100_000
    (victim.scene / "speed.json").write_text(text)
    return "hostile speed.json"


NAMES: tuple[str, ...] = (
    *("-run", "--out", "alpha=0.2", "a b", "[/b]", "[link=x]", "<script>owned(5)<∕script>", "new\nline", "\x1b[31mred"),
    *(
        "r" * 255,
        "ünï",
        "🧨",
        "%00%2e%2e",
        "a?name=b&c#d",
        "'\"`$(x)",
        ".hidden",
        "runs",
        "lock",
        "checkpoint",
        "agent",
    ),
    *("\\", "\u202eabc", "...", "~", "*", os.fsdecode(b"\xff\xfe"), os.fsdecode(b"caf\xe9")),
)

SHAPES: tuple[Callable[[Victim, Random], str], ...] = (
    *(
        deep,
        crowd,
        runs_inside,
        circle,
        odd_names,
        strange_steps,
        many_steps,
        linked_strays,
        forged_report,
        forged_lock,
    ),
    cached_speeds,
)
