"""Files that are never met half written."""

import os
from pathlib import Path


def write_beside(path: Path, data: bytes) -> None:
    """The file is always whole: the old one, or the new one."""
    beside = path.with_name(path.name + ".part")
    beside.unlink(missing_ok=True)  # a link left there is replaced, not followed
    with beside.open("xb") as file:
        file.write(data)
    os.replace(beside, path)
