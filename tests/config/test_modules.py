"""Which modules are imported: those that the user names, and of those that files name only the trusted ones."""

import importlib
import sys
from pathlib import Path

import pytest

from teen.config import modules
from teen.errors import UserError

CONFIG = Path("runs/shared/config.toml")
NAMES = ("canary", "nest", "nest.canary", "sibling")
CANARY = "from pathlib import Path\nPath('executed').touch()\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Return the current folder. It holds a module that leaves a file when it is executed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delenv(modules.VARIABLE, raising=False)
    for name in NAMES:
        sys.modules.pop(name, None)
    write(tmp_path / "canary.py")
    yield tmp_path
    for name in NAMES:
        sys.modules.pop(name, None)


def write(path: Path, text: str = CANARY) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def executed() -> bool:
    return Path("executed").exists()


@pytest.mark.parametrize("values", [{"env": "canary:X-v0"}, {"env": "nest.canary:X-v0"}, {"algo": "nest.canary"}])
def test_a_module_that_a_file_names_is_not_imported(here, values):
    write(here / "nest" / "canary.py")
    with pytest.raises(UserError, match=r"runs/shared/config.toml asks for the module '(nest\.)?canary'.*--trust"):
        modules.admit(values, CONFIG)
    assert not executed()


@pytest.mark.parametrize("name", ["antigravity", "this", "idlelib.idle"])
def test_nor_is_one_of_the_standard_library(here, name):
    assert name not in sys.modules
    with pytest.raises(UserError, match=name):
        modules.admit({"env": f"{name}:X"}, CONFIG)
    assert name not in sys.modules


@pytest.mark.parametrize("trust", ["canary", "other,canary", ["canary"], " canary "])
def test_a_trusted_module_is(here, trust):
    modules.admit({"env": "canary:X-v0"}, CONFIG, trust)
    assert executed()


def test_a_trusted_package_covers_its_modules_and_no_others(here, monkeypatch):
    write(here / "nest" / "canary.py")
    monkeypatch.setenv(modules.VARIABLE, "nes,nest")
    modules.admit({"env": "nest.canary:X-v0"}, CONFIG)
    assert executed()
    with pytest.raises(UserError, match="'nestling'"):
        modules.admit({"env": "nestling:X-v0"}, CONFIG)


def test_what_has_been_imported_is_trusted(here):
    modules.import_named({"env": "canary:X-v0"})
    Path("executed").unlink()
    modules.admit({"env": "canary:X-v0"}, CONFIG)
    assert not executed()  # it was not executed again


def test_names_of_this_project_need_no_trust():
    modules.admit({"algo": "teen", "env": "Ant-v5"}, CONFIG)
    modules.admit({"algo": "sac", "env": "dm_control/cheetah-run"}, CONFIG)
    modules.admit({"algo": 3, "env": ["a:b"]}, CONFIG)  # refused later, as what they are


RUNS = {
    "a run": ["config.toml", "eval.csv"],
    "a compressed run": ["config.toml", "eval.csv.gz"],
    "an agent alone": ["agent/agent.json"],
    "a sweep": ["checkpoint/step-000000000100/manifest.json"],
}


@pytest.mark.parametrize("files", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("module", ["nest.canary", "nest.agent.canary"])
def test_nothing_is_imported_out_of_a_run_folder(here, files, module):
    """Neither the module nor the packages around it: importing one executes them."""
    for name in files:
        write(here / "nest" / name, "")
    write(here / f"{module.replace('.', '/')}.py")
    write(here / "nest" / "__init__.py")
    for ask in (lambda values: modules.import_named(values), lambda values: modules.admit(values, CONFIG, "nest")):
        with pytest.raises(UserError, match="inside the run folder"):
            ask({"env": f"{module}:X-v0"})
    assert not executed()


def test_nor_when_it_is_the_current_folder_itself(here):
    for name in ("config.toml", "eval.csv"):
        write(here / name, "")
    with pytest.raises(UserError, match="inside the run folder"):
        modules.import_named({"env": "canary:X-v0"})
    assert not executed()


def test_a_project_is_no_run_folder(here):
    """Many have a config.toml, and a package for agents."""
    for name in ("config.toml", "agent/__init__.py", "checkpoint/notes.txt"):
        write(here / name, "")
    modules.import_named({"env": "canary:X-v0"})
    assert executed()


def test_an_optional_package_is_not_taken_from_a_run_folder(here):
    """The current folder is searched, once the user has named a module of it: for everything that is missing."""
    for name in ("config.toml", "eval.csv"):
        write(here / "missing_package" / name, "")
    write(here / "missing_package" / "__init__.py")
    write(here / "nest" / "canary.py", "import sibling\n")
    write(here / "sibling.py", "")
    modules.import_named({"env": "nest.canary:X-v0"})
    with pytest.raises(ImportError):
        importlib.import_module("missing_package")
    assert not executed()


@pytest.mark.parametrize(
    "text", ["raise RuntimeError('broken')", "import sys; sys.exit(0)", "def (", "import no_such_thing"]
)
def test_a_module_that_cannot_be_imported_is_one_line(here, text):
    write(here / "canary.py", text)
    with pytest.raises(UserError, match=r"--env canary:X-v0: canary cannot be imported: \w+: ") as error:
        modules.import_named({"env": "canary:X-v0"})
    assert "\n" not in str(error.value)
