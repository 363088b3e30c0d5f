"""Names of jobs, by what they are: a rerun finds what was trained, whatever else a sweep has by then."""

import json
import re
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any

from ..config import variants
from ..config.facts import BOOKKEEPING, values_before
from ..config.job import ranges
from ..settings import number_text

LONGEST = 190  # bytes of a name
MOST_NUMBERS = 8  # in a name; more are counted


def job_name(settings: Mapping[str, Any], shown: Collection[str] = ()) -> str:
    """Return the name of a job with these flat settings, such as
    `teen-Walker2d-v4,width=128,lr=0.0003+0.001,seeds=0-4,1f0c6a2e`.

    It shows the settings in `shown`, as far as the algorithm has them, and those in which the variants differ. It ends
    with a digest of all that changes what is learnt, so that a name never means two things.
    """
    within = [name for name in settings if isinstance(settings[name], list) and name not in ("seeds", variants.KEY)]
    beside = [name for name in shown if name in settings and name not in ("algo", "env", "seeds", *within)]
    tables = settings.get(variants.KEY, ())
    parts = [
        f"{settings['algo']}-{settings['env']}",
        *(f"{name}={_text(settings[name])}" for name in beside if not any(name in table for table in tables)),
        *(f"{name}={_text(settings[name])}" for name in within),
        *([f"variants={len(tables)}"] if tables else []),
        f"seeds={ranges(settings['seeds'])}",
    ]
    readable = _safe(",".join(parts))
    if len(readable) + 9 <= LONGEST:
        return f"{readable},{digest(settings)}"
    return f"{readable[: LONGEST - 9].rstrip('.,')},{digest(settings, readable)}"


def digest(settings: Mapping[str, Any], more: str = "") -> str:
    """Return eight hexadecimal digits of the settings that change what is learnt. A setting with the value that runs
    older than it had is left out: so names outlive new settings."""
    before = values_before()
    learning = {
        name: value
        for name, value in settings.items()
        if name not in BOOKKEEPING and not (name in before and before[name] == value)
    }
    return sha256((json.dumps(learning, sort_keys=True) + more).encode()).hexdigest()[:8]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(_text, value)) if len(value) <= MOST_NUMBERS else f"{len(value)}-values"
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, (int, float)) else str(value)


def _safe(text: str) -> str:
    """Return a text as the name of a folder, wherever that is: no separators, spaces, quotes, or leading points."""
    return re.sub(r"[^A-Za-z0-9._=+,-]+", "-", text).lstrip(".-")
