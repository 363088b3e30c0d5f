"""Imports point one way, from room to room as CONTRIBUTING says; every module is in a room."""

import ast
import re
from pathlib import Path

import pytest

import teen

ROOT = Path(teen.__file__).parent
VOCABULARY = ("errors", "spec", "settings", "nets", "ops", "snapshot")

# What the modules of a room may import beside the room itself and the vocabulary: rooms, or single modules of one.
ROOMS = {
    "algos": (),
    "envs": (),
    "engine": ("envs",),
    "config": ("algos", "envs", "engine.plan"),
    "measure": ("algos", "envs", "engine"),
    "disk": ("algos", "config", "engine", "envs"),
    "loggers": ("disk.files", "engine"),
    "training": ("algos", "config", "disk", "engine", "envs", "loggers", "measure", "report.curve", "report.runs"),
    "report": ("config.facts", "config.toml", "disk.files", "disk.jobs", "disk.lock", "disk.logs", "disk.place"),
    "play": ("algos", "config", "disk", "engine", "envs"),
    "export": ("algos", "config", "disk", "engine", "envs", "report"),
    "doctor": ("config", "disk", "engine", "envs", "play"),
    "jobs": ("config", "disk", "engine", "envs", "report", "training"),
    "tune": ("config", "disk", "jobs", "report"),
    "paper": ("algos", "config", "disk", "engine", "envs", "jobs", "measure", "report", "training"),
    "cli": (
        "algos",
        "config",
        "disk",
        "doctor",
        "engine",
        "envs",
        "export",
        "jobs",
        "measure",
        "paper",
        "play",
        "report",
        "training",
        "tune",
    ),
}
INSIDE_VOCABULARY = {
    "errors": (),
    "spec": (),
    "settings": ("errors",),
    "nets": ("settings", "spec"),
    "ops": ("spec",),
    "snapshot": ("errors", "spec"),
}
MODULES = sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in ROOT.rglob("*.py"))


def imports(module: str) -> set[str]:
    """Return the project's own modules and names that a module imports, also inside functions, as dotted names."""
    path = ROOT / (module.replace(".", "/") + ".py")
    package = module.split(".")[:-1]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            prefix = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            names |= {".".join([*prefix, alias.name]) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.module.split(".")[0] != "teen", f"{module}: imports inside the package are relative"
        elif isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] != "teen" for alias in node.names), module
    return names


def allows(rule: str, name: str) -> bool:
    return name == rule or name.startswith(f"{rule}.")


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_one_way(module):
    room = module.split(".")[0]
    if module in ("__init__", "__main__"):
        return
    assert room in ROOMS or module in INSIDE_VOCABULARY, f"{module} is in no room: list it here and in CONTRIBUTING"
    allowed = (room, *VOCABULARY, *ROOMS[room]) if room in ROOMS else INSIDE_VOCABULARY[module]
    for name in imports(module) - {"__version__"}:
        assert any(allows(rule, name) for rule in allowed), f"{module} imports {name}"


def test_the_root_is_small():
    assert len([path for path in ROOT.iterdir() if path.suffix == ".py"]) <= 8


def test_every_room_exists_and_contributing_lists_it():
    assert {path.parent.name for path in ROOT.glob("*/*.py")} == set(ROOMS)
    table = (ROOT.parents[1] / "CONTRIBUTING.md").read_text().partition("| room |")[2].partition("\n\n")[0]
    rows = [row.split("|") for row in table.splitlines()[2:]]
    assert {name for row in rows for name in quoted(row[1])} == {*ROOMS, *VOCABULARY}
    assert all(name in rule for row in rows for name in quoted(row[3]) for rule in [[*ROOMS, *MODULES]])


def quoted(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize("module", MODULES)
def test_files_and_functions_are_short(module):
    """About 250 lines a file and 60 a function. A longer one must be listed here, and say in its docstring why."""
    text = (ROOT / (module.replace(".", "/") + ".py")).read_text()
    assert len(text.splitlines()) <= 260
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    assert {f.name: f.end_lineno - f.lineno for f in functions if f.end_lineno - f.lineno > 65} == {}
