"""Bring the runs of jobs at a URL into a folder, to look at them."""

import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from ..disk import files
from ..disk.jobs import CHECKPOINTS, DONE, FAILED, LEDGER, ledger, marker
from ..disk.place import Folder
from ..errors import UserError
from . import snapshots
from .remote import Remote

FETCHED = "fetched.json"  # which snapshot of each job is in the folder
PART = ".fetching"


class Fetched(NamedTuple):
    name: str
    step: int | None  # None where nothing was uploaded yet
    new: bool  # whether it was downloaded now


def fetch(place: Remote, out: Path, whole: bool, told: Callable[[Fetched], None]) -> None:
    """Bring the newest snapshot of every job here, without checkpoints unless the `whole` folder is wanted, and what
    says that it is done or has failed. A snapshot that is here already is left alone. `told` is told of each job."""
    jobs = ledger(place)
    if jobs is None:
        raise UserError(f"{place} holds no jobs: there is no {LEDGER}")
    here = _opened(out, str(place))
    there = marker(here, FETCHED) or {}
    for job in jobs:
        name = job["name"]
        part = out / PART
        files.remove(part)
        names = place.names(name)
        latest = snapshots.latest_name(names)
        known = f"{latest} {'whole' if whole else 'logs'}"
        if latest is None or there.get(name) == known:
            _copy_markers(place, here, name, names)
            told(Fetched(name, None if latest is None else snapshots.step_of(latest), False))
            continue
        snapshot = snapshots.newest(place, name, part, lambda path: whole or not path.startswith(f"{CHECKPOINTS}/"))
        if snapshot:
            files.remove(out / name)
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            os.rename(part, out / name)
            there[name] = f"{snapshot.name} {'whole' if whole else 'logs'}"
            here.write(FETCHED, json.dumps({**there, "from": str(place)}, indent=1).encode())
        _copy_markers(place, here, name, names)
        told(Fetched(name, snapshot.step if snapshot else None, snapshot is not None))
    files.remove(out / PART)
    if data := place.read(LEDGER):
        here.write(LEDGER, data)


def _opened(out: Path, source: str) -> Folder:
    """Return the folder to fetch into: a new one, or one that was fetched into from the same place."""
    here = Folder(out)
    if out.exists() and not out.is_dir():
        raise UserError(f"--out {out} is not a folder")
    if here.names("") and (before := (marker(here, FETCHED) or {}).get("from")) != source:
        what = f"was fetched from {before}" if isinstance(before, str) else "holds other files"
        raise UserError(f"--out {out} {what}: name a new folder")
    out.mkdir(parents=True, exist_ok=True)
    here.write(FETCHED, json.dumps({**(marker(here, FETCHED) or {}), "from": source}, indent=1).encode())
    return here


def _copy_markers(place: Remote, here: Folder, name: str, names: Collection[str]) -> None:
    """Copy the markers among the names there, and remove others: a job that failed may train again by now."""
    for kind in (DONE, FAILED):
        if kind in names and (data := place.read(f"{name}/{kind}")):
            here.write(f"{name}/{kind}", data)
        else:
            here.remove(f"{name}/{kind}")
