"""What is said of packages that are missing, too old, or broken."""

import os
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import pytest

from teen.doctor import packages
from teen.doctor.packages import PURPOSES, needed

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIRES = [*PROJECT["dependencies"], *(f'{each}; extra == "{extra}"' for extra in EXTRAS for each in EXTRAS[extra])]
FOR_DEVELOPERS = {"dev", "bench", "docs"}


def by_name(findings):
    return {finding.name: finding for finding in findings}


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """Return a folder whose modules other processes find before those that are installed."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    return tmp_path


def test_every_extra_of_a_user_has_a_purpose():
    assert set(PURPOSES) == set(EXTRAS) - FOR_DEVELOPERS


def test_the_project_needs_what_it_says():
    names = {package.name for package in needed(REQUIRES)}
    assert {"jax", "numpy", "gymnasium", "mujoco"} <= names
    assert "imageio" in names  # of gymnasium[mujoco]
    assert "envpool" not in names
    assert [package.name for package in needed(REQUIRES, "fast")] == ["envpool"]


def test_modules_have_the_names_that_are_imported():
    every = [package for extra in ("", *PURPOSES) for package in needed(REQUIRES, extra)]
    assert [p.name for p in every if p.version and find_spec(p.module) is None] == []


def test_what_is_missing_or_too_old_is_a_failure_with_a_command():
    found = by_name(packages.check(["rich>=1", "tomli-w>=99,<100", "no-such-package>=2"]))
    assert found["packages"].state == "ok"
    assert f"rich {version('rich')}" in found["packages"].text
    assert "tomli-w" not in found["packages"].text
    old = found["tomli-w"]
    assert (old.state, old.text) == ("failure", f"{version('tomli-w')} is installed, and <100,>=99 is needed")
    missing = found["no-such-package"]
    assert (missing.state, missing.text) == ("failure", "is not installed")
    assert missing.remedy == 'pip install "no-such-package>=2"'


@pytest.mark.parametrize("text", [None, "", "Name: tomli-w"])
def test_a_package_whose_description_is_damaged_counts_as_missing(text, tmp_path, monkeypatch):
    (tmp_path / "tomli_w-9.dist-info").mkdir()
    if text is not None:
        (tmp_path / "tomli_w-9.dist-info" / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    found = by_name(packages.check(["tomli-w", "rich"]))
    assert (found["tomli-w"].state, found["tomli-w"].text) == ("failure", "is not installed")
    assert "rich" in found["packages"].text


def test_where_no_process_answers_no_package_is_blamed(monkeypatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with pytest.raises(RuntimeError, match="cannot be started"):
        packages.check(["rich"])


def test_a_missing_extra_is_no_failure():
    requires = ["rich", 'no-such-package; extra == "hub"', 'rich; extra == "video"', 'no-such-package; extra == "dev"']
    found = by_name(packages.check(requires))
    hub = found["extra hub"]
    assert (hub.state, hub.remedy) == ("not installed", 'pip install "teen-rl[hub]"')
    assert "no-such-package, for teen share" in hub.text
    assert (found["extra video"].state, found["extra video"].remedy) == ("ok", "")
    assert "extra dev" not in found
    assert "failure" not in {finding.state for finding in found.values()}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("raise RuntimeError('half\\ninstalled')", "RuntimeError: half installed"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal 11"),
        ("import os; os._exit(0)", "it ends the process"),
        ("this is no Python", "SyntaxError"),
    ],
)
def test_a_broken_package_is_found_and_the_others_are_checked_all_the_same(code, why, beside):
    (beside / "tomli_w.py").write_text(code)
    found = by_name(packages.check(["tomli-w", "rich", 'tomli-w; extra == "video"']))
    broken = found["tomli-w"]
    assert broken.state == "failure"
    assert f"{version('tomli-w')} cannot be imported: " in broken.text
    assert why in broken.text
    assert broken.remedy == f'pip install --force-reinstall "tomli-w=={version("tomli-w")}"'
    assert "rich" in found["packages"].text
    assert found["extra video"].state == "failure"


def test_what_a_package_prints_is_no_answer(beside):
    (beside / "tomli_w.py").write_text('print(\'["tomli_w", "hello"]\')')
    assert "tomli-w" in by_name(packages.check(["tomli-w"]))["packages"].text


def test_code_that_is_not_installed_is_a_warning(monkeypatch):
    def unknown(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", unknown)
    found = by_name(packages.check())
    assert found["teen"].state == "warning"
    assert found["python"].state == "ok"
