"""Files that no reader ever sees half written."""

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new one."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)  # a link left there is replaced, not followed
    with part.open("xb") as file:
        file.write(data)
    os.replace(part, path)
