"""The machine: what JAX computes on, cores and memory, and the folder in which runs would be."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from ..disk import files
from ..engine.worker import cores
from . import child
from .finding import Finding, described

GIB = 2**30
LITTLE_MEMORY = 2 * GIB  # a small training takes one
LITTLE_DISK = 2 * GIB  # the checkpoints of ten seeds and a million steps of HalfCheetah
RUNS = Path("runs")  # where `teen train` makes folders
PLUGINS = ("jax-cuda13-plugin", "jax-cuda12-plugin")
CUDA_13 = 580  # the oldest driver that it works with; see docs/gpu.md
PATIENCE = 20  # seconds for nvidia-smi


class Card(NamedTuple):
    name: str
    driver: str  # its version; empty where it is not known


def check() -> list[Finding]:
    """Return findings of the devices, and of cores and memory."""
    answer = child.probe("machine")
    wanted = os.environ.get("JAX_PLATFORMS", "")
    if answer.why or len(answer.lines) < 2:
        text = answer.why.removeprefix("UserError: ") or "JAX does not say which devices there are"
        return [Finding("devices", "failure", text, "docs/gpu.md tells how a device is chosen")]
    seen, memory = map(json.loads, answer.lines)
    return [devices([tuple(each) for each in seen], cards(), plugins(), wanted), resources(cores(), memory)]


def devices(
    seen: Sequence[tuple[str, str]], cards: Sequence[Card], plugins: dict[str, str], wanted: str = ""
) -> Finding:
    """Judge the (platform, kind) of the devices that JAX takes, beside the cards that are there, the CUDA plugins that
    are installed with their versions, and JAX_PLATFORMS."""
    kinds = {kind: sum(kind == other for _, other in seen) for _, kind in seen}
    used = ", ".join(f"{count} × {kind}" for kind, count in kinds.items())
    text = f"JAX uses {used}" + (f", as JAX_PLATFORMS={wanted} says" if wanted else "")
    if not cards or wanted or any(platform != "cpu" for platform, _ in seen):
        return Finding("devices", "ok", text)
    there = f"{text}, though there is an NVIDIA card ({cards[0].name}): "
    if plugins:
        have = ", ".join(f"{name} {version}" for name, version in plugins.items())
        remedy = (
            "docs/gpu.md says which driver and versions go together; JAX_PLATFORMS=cuda teen doctor says what fails"
        )
        return Finding("devices", "warning", f"{there}{have} does not find it", remedy)
    major = cards[0].driver.partition(".")[0]
    cuda = "cuda12" if major.isdigit() and int(major) < CUDA_13 else "cuda13"
    return Finding("devices", "warning", f"{there}JAX lacks its CUDA plugin", f'pip install "jax[{cuda}]{_same_jax()}"')


def _same_jax() -> str:
    """Return what keeps the version of JAX that is here."""
    try:
        return f"=={metadata.version('jax')}"
    except metadata.PackageNotFoundError:
        return ""


def cards() -> list[Card]:
    """Return the NVIDIA cards of this machine: those that the driver names, or the devices that there are."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, check=True)
        rows = [[part.strip() for part in line.rpartition(",")[::2]] for line in done.stdout.splitlines()]
        if found := [Card(name, driver) for name, driver in rows if name]:
            return found
    return [Card(path.name, "") for path in sorted(Path("/dev").glob("nvidia[0-9]*"))]


def plugins() -> dict[str, str]:
    """Return the versions of JAX's CUDA plugins that are installed."""
    found = {}
    for name in PLUGINS:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def resources(cores: int, memory: int) -> Finding:
    """Judge how many cores and bytes of memory this process may use."""
    text = f"{cores} core{'s'[: cores - 1]}, {memory / GIB:,.1f} GiB of memory"
    if memory < LITTLE_MEMORY:
        return Finding("machine", "warning", text, "take one seed, and small --n, --width and --buffer")
    return Finding("machine", "ok", text)


def check_folder() -> list[Finding]:
    """Write a file where runs would be: permissions alone do not tell whether that works."""
    return [folder(place) for place in (Path(), RUNS) if place == Path() or place.is_dir()]


def folder(place: Path) -> Finding:
    """Write a file in a folder, and look how much space is left."""
    name = "folder" if place == Path() else f"folder {place}"
    try:
        with tempfile.TemporaryDirectory(prefix=".teen-doctor-", dir=place) as inside:
            files.write_synced(Path(inside) / "written", b"teen")
        free = shutil.disk_usage(place).free
    except OSError as error:
        here = "the current folder" if place == Path() else str(place)
        text = f"{here} cannot be written: {error.strerror or described(error)}"
        return Finding(name, "failure", text, "go to another folder, or name one with --out")
    text = f"can be written; {free / GIB:,.1f} GiB are free"
    if free < LITTLE_DISK:
        return Finding(name, "warning", text, "make room, or train with --checkpoint-every 0: checkpoints are large")
    return Finding(name, "ok", text)
