"""Imports point one way: spec ← ops, nets ← algos; the engine knows no algorithm."""

import ast
from pathlib import Path

import pytest

import teen

ROOT = Path(teen.__file__).parent


def imports(path: Path) -> set[str]:
    """The project's own modules that a file imports, as dotted names below `teen`."""
    package = path.relative_to(ROOT).parts[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            parent = package[: len(package) - node.level + 1]
            prefix = ".".join([*parent, *([node.module] if node.module else [])])
            found |= {f"{prefix}.{alias.name}".lstrip(".") for alias in node.names} | ({prefix} - {""})
    return found


ALLOWED = {
    "errors.py": (),
    "spec.py": (),
    "settings.py": ("errors",),
    "ops.py": ("spec",),
    "nets.py": ("spec",),
    "replay.py": ("spec",),
    "algos": ("spec", "ops", "nets", "settings", "errors", "algos"),
    "record.py": ("spec",),
    "checkpoint.py": ("errors", "record"),
    "envs": ("spec", "errors", "record", "envs"),
    "files.py": (),
    "stepwise.py": ("errors", "files"),
    "diagnostics.py": ("stepwise",),
    "evaluate.py": ("diagnostics", "envs", "record", "spec", "errors"),
    "on_numpy.py": ("spec",),
    "program.py": ("nets", "replay", "spec"),
    "acting.py": ("on_numpy", "program", "record", "spec"),
    "learning.py": ("program", "record", "replay", "errors", "spec"),
    "collect.py": ("acting", "envs", "learning", "record", "spec"),
    "engine.py": (
        *("acting", "collect", "diagnostics", "learning", "nets", "program", "record", "replay", "envs", "errors"),
        *("evaluate", "spec"),
    ),
    "lock.py": ("errors",),
    "loading.py": ("agent", "algos", "checkpoint", "config", "envs", "errors", "record"),
    "analysis": (
        "agent",
        "algos",
        "analysis",
        "cli",
        "diagnostics",
        "envs",
        "errors",
        "evaluate",
        "files",
        "loading",
        "ops",
        "settings",
        "spec",
        "stepwise",
    ),
    "report": ("analysis", "cli", "errors", "files", "lock", "report"),
    "paper": (
        *(
            "agent",
            "algos",
            "analysis",
            "checkpoint",
            "cli",
            "config",
            "engine",
            "envs",
            "errors",
            "files",
            "loading",
            "lock",
            "paper",
            "report",
            "settings",
        ),
        *("stopping", "training"),
    ),
}


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_point_one_way(part):
    place = ROOT / part
    for path in place.rglob("*.py") if place.is_dir() else [place]:
        for name in imports(path):
            top = name.split(".")[0]
            inside = place.is_dir() and not (ROOT / f"{top}.py").exists() and not (ROOT / top).is_dir()
            assert inside or top in ALLOWED[part], f"{path.name} imports {name}"
