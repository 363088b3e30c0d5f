"""Imports point one way, from room to room as CONTRIBUTING says; every module is in a room."""

import ast
from pathlib import Path

import pytest

import teen

ROOT = Path(teen.__file__).parent
VOCABULARY = ("errors", "spec", "settings", "nets", "ops", "snapshot")

# What the modules of a room may import beside the room itself and the vocabulary: rooms, or single modules of one.
ROOMS = {
    "algos": (),
    "envs": (),
    "engine": ("envs", "disk.diagnostics"),
    "config": ("algos", "envs", "engine.loop"),
    "measure": ("algos", "envs", "engine", "disk"),
    "disk": ("config", "algos", "envs", "engine", "report"),
    "training": ("algos", "config", "disk", "engine", "envs", "measure", "cli", "report"),
    "report": ("disk.files", "disk.lock", "disk.logs", "cli"),
    "paper": ("algos", "config", "disk", "engine", "envs", "measure", "report", "training"),
    "cli": ("algos", "config", "disk", "engine", "envs", "measure", "paper", "report", "training"),
}
INSIDE_VOCABULARY = {
    "errors": (),
    "spec": (),
    "settings": ("errors",),
    "nets": ("spec",),
    "ops": ("spec",),
    "snapshot": ("spec",),
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


def test_every_room_exists():
    assert {path.parent.name for path in ROOT.glob("*/*.py")} == set(ROOMS)
