"""Read the config.toml of a run folder, which may be a stranger's: its settings and versions, as plain values."""

from pathlib import Path
from typing import Any

from ..config import toml
from ..config.toml import CONFIG
from ..disk import files
from ..errors import UserError

MOST_SETTINGS = 1000
LONGEST_NAME = 200  # characters of an algorithm or environment: it stands in every row of a report
DEEPEST = 8  # tables and lists inside each other
LARGEST_NUMBER = 2**63  # as TOML has it; Python refuses to print much larger ones


def read_settings(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return settings and versions. The settings name an algorithm and an environment."""
    path = folder / CONFIG
    try:
        settings = toml.tables(files.read(folder, CONFIG, toml.LARGEST))
        _check(settings)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    versions = settings.pop("versions", {})
    if not isinstance(versions, dict):
        raise UserError(f"{path} is damaged: its versions are no table")
    names = [settings.get("algo"), settings.get("env")]
    if not all(isinstance(name, str) for name in names):
        raise UserError(f"{path} names no algo and env")
    if any(len(str(name)) > LONGEST_NAME for name in names):
        raise UserError(f"{path} is damaged: its algo or env has more than {LONGEST_NAME} characters")
    return settings, versions


def _check(settings: dict[str, Any]) -> None:
    """Raise ValueError on what could not be printed, compared or shown."""
    level: list[Any] = [settings]
    for _ in range(DEEPEST):
        if any(isinstance(value, dict) and len(value) > MOST_SETTINGS for value in level):
            raise ValueError(f"it has more than {MOST_SETTINGS:,} settings")
        if any(isinstance(value, int) and abs(value) > LARGEST_NUMBER for value in level):
            raise ValueError("a number has more than 64 bits")
        tables = [value.values() if isinstance(value, dict) else value for value in level if _holds(value)]
        level = [value for table in tables for value in table]
    if any(map(_holds, level)):
        raise ValueError("its tables or lists lie too deep inside each other")


def _holds(value: Any) -> bool:
    return isinstance(value, (dict, list))
