"""Agents that are not in a folder of the user's: those that come with this package, and those on the Hugging Face Hub.

A download is real files in a folder of its own, never links into a cache, because links in a run folder are not
followed. It is data: loading it imports nothing that the user does not trust.
"""

import os
import re
import tempfile
from contextlib import suppress
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from ..config import toml
from ..errors import UserError, notice
from .saved import CARD, LAST, WEIGHTS

PRETRAINED, HUB = "pretrained/", "hf:"
WANTED = ("README.md", toml.CONFIG, f"{LAST}/{CARD}", f"{LAST}/{WEIGHTS}", "score.json", "curve.png")
COMMIT = 40  # digits of a commit's name
LARGEST = 2**30  # bytes of a download; an agent of ten members has 3 MB for each seed
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?")


def found(path: str | Path) -> Path:
    """Return the folder of an agent that is named as `pretrained/TASK` or `hf:USER/NAME[@REVISION]`; any other path as
    it is. A folder of that name comes first."""
    name = str(path)
    if name.startswith(HUB) and not os.path.lexists(path):
        return fetched(name.removeprefix(HUB))
    if name.startswith(PRETRAINED) and not os.path.lexists(path):
        return _shipped(name.removeprefix(PRETRAINED))
    return Path(path)


def pretrained() -> list[str]:
    """Return the tasks for which an agent comes with this package."""
    place = Path(str(resources("teen"))) / "pretrained"
    return sorted(folder.name for folder in place.iterdir() if folder.is_dir()) if place.is_dir() else []


def _shipped(task: str) -> Path:
    if task not in pretrained():
        raise UserError(f"there is no pretrained agent for {task!r:.40}: there are {', '.join(pretrained())}")
    return Path(str(resources("teen"))) / "pretrained" / task


def fetched(name: str) -> Path:
    """Download an agent from the Hub and return its folder; one that is there already is not downloaded again. Without
    a network, the newest one that is there is taken."""
    if not _REPOSITORY.fullmatch(name) or ".." in name:
        raise UserError(f"{HUB}{name:.60} names no agent: write {HUB}USER/NAME, or {HUB}USER/NAME@REVISION")
    repository, _, revision = name.partition("@")
    place = _cache() / name.replace("/", "--")
    try:
        commit = _commit(repository, revision or None)
    except ConnectionError as error:
        earlier = sorted((p for p in place.glob("*") if len(p.name) == COMMIT), key=lambda p: p.stat().st_mtime)
        if not earlier:
            raise UserError(f"{HUB}{name} cannot be downloaded: {error}") from None
        notice(f"the Hub cannot be reached; {HUB}{name} as it was downloaded before is taken")
        return earlier[-1]
    folder = place / commit
    if not folder.is_dir():
        _download(repository, commit, folder)
    return folder


def hub() -> Any:
    """Return the Hub's client library."""
    try:
        import huggingface_hub
    except ImportError:
        raise UserError('agents on the Hugging Face Hub need a package: pip install "teen-rl[hub]"') from None
    return huggingface_hub


def _cache() -> Path:
    return Path(os.environ.get("TEEN_CACHE") or Path.home() / ".cache" / "teen") / "hub"


def _commit(repository: str, revision: str | None) -> str:
    """Return the commit of a repository, whose size has been checked. A ConnectionError says that nobody answers."""
    client = hub()
    try:
        info = client.HfApi().model_info(repository, revision=revision, files_metadata=True)
    except client.errors.HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        if status >= 500 or not status:
            raise ConnectionError(f"the server answers {status}") from None
        raise UserError(f"the Hub has no agent {repository} that you may read: it answers {status}") from None
    except Exception as error:  # the client's own network library decides which
        raise ConnectionError(first_line(error)) from None
    there = {file.rfilename: file.size or 0 for file in info.siblings or []}
    if missing := [name for name in WANTED[1:4] if name not in there]:
        raise UserError(f"{HUB}{repository} is no agent of teen: {missing[0]} is missing")
    if sum(there[name] for name in WANTED if name in there) > LARGEST:
        raise UserError(f"{HUB}{repository} is larger than an agent: it has more than {LARGEST:,} bytes")
    if not re.fullmatch(rf"[0-9a-f]{{{COMMIT}}}", str(info.sha)):
        raise UserError(f"{HUB}{repository}: the Hub names no commit")
    return str(info.sha)


def _download(repository: str, commit: str, folder: Path) -> None:
    """Download into a folder beside it, which gets its name when it is whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=folder.parent) as part:
            hub().snapshot_download(repository, revision=commit, local_dir=Path(part, "a"), allow_patterns=list(WANTED))
            with suppress(OSError):  # another process was faster
                os.replace(Path(part, "a"), folder)
    except Exception as error:  # the client's own network library decides which
        raise UserError(f"{HUB}{repository} cannot be downloaded: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """Return what an error of the client's says, in one line."""
    return (str(error) or type(error).__name__).splitlines()[0]
