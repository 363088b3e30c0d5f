"""A study, found or made: in Optuna's own storage, so that Optuna's tools read it."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import UserError
from ..jobs import markers, study
from ..jobs.place import Folder, Place
from ..jobs.study import Handle
from . import kinds
from .file import StudyFile
from .space import Space

FILE = "study.db"
BEGUN_WITH = "teen"  # an attribute of the study: what makes its values comparable


class Kept(NamedTuple):
    """Where a study is, as its jobs are told."""

    storage: str
    name: str
    pruner: dict[str, Any]

    def opened(self) -> Handle:
        """Open the study, to read and to tell."""
        return study.opened(self.storage, self.name, self.pruner)


def begun_study(file: StudyFile, space: Space, place: Place) -> Kept:
    """Find the study of a file, or make it. All else that can be wrong with the file is found before."""
    prunes = dict(kinds.pruning(file, space))
    kinds.sampler(file, space, 0)
    address = _address(file.storage) if file.storage else _in_folder(place)
    kept = study.storage(address)
    import optuna  # there, as the storage could be opened

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # As JSON has it: so it is compared.
    asked = json.loads(json.dumps({"settings": space.settings, "search": file.search, "tune": {"last": file.last}}))
    known = {one.study_name: one for one in optuna.get_all_study_summaries(storage=kept)}
    if file.name in known:
        _check_same(file, asked, known[file.name].user_attrs.get(BEGUN_WITH), study.hidden(address))
    elif any(job.study and job.study.get("name") == file.name for job in markers.planned(place)):
        where = study.hidden(address)
        raise UserError(f"{place} holds jobs of a study {file.name!r} that is not in {where}: choose another --out")
    else:
        made = optuna.create_study(study_name=file.name, storage=kept, direction="maximize")
        made.set_user_attr(BEGUN_WITH, asked)
    return Kept(address, file.name, prunes)


def _address(storage: str) -> str:
    """Return a storage as any process can open it: the path of a journal is made absolute."""
    named = storage.startswith(study.VARIABLE) or "://" in storage
    return storage if named else str(Path(storage).absolute())


def _in_folder(place: Place) -> str:
    if not isinstance(place, Folder):
        raise UserError(f"{place} is a URL, which SQLite cannot use: name the study's database, [tune] storage = …")
    path = (place.root / FILE).absolute()
    if re.search(r"[?#%{}]", str(path)):  # they mean something in the address of a database
        raise UserError(
            f"{path} has ?, #, % or braces in its name, which SQLite's address cannot have: take another --out"
        )
    return f"sqlite:///{path}"


def _check_same(file: StudyFile, asked: dict[str, Any], had: Any, where: str) -> None:
    """Raise a UserError where a study has been begun with other settings: its values could not be compared."""
    if not isinstance(had, dict):
        raise UserError(f"study {file.name!r} in {where} was not made by teen tune: take another name in [tune]")
    for table, ours in asked.items():
        theirs = had.get(table, {})
        for key in dict.fromkeys([*ours, *theirs]):
            if ours.get(key) != theirs.get(key):
                raise UserError(
                    f"study {file.name!r} in {where} was begun with another {key} in [{table}]: values could not be "
                    "compared; take another name in [tune], and another --out"
                )
