"""Packages that only some formats need."""

import importlib
from typing import Any

from ..errors import UserError


def needed(package: str, extra: str) -> Any:
    """Import a package that an extra of ours brings. A UserError names the extra where it is missing."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise UserError(f'--to {extra} needs {package}: pip install "teen-rl[{extra}]"') from None
