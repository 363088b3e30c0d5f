import os
import sys
from contextlib import suppress

# `python -m` puts the current folder first on Python's path. It may hold a stranger's runs, and files in it would be
# taken for optional packages that are missing here. The command `teen` does not have it there either.
with suppress(OSError):
    if not sys.flags.safe_path and sys.path[0] == os.getcwd():
        del sys.path[0]

from .cli.main import entry

entry()
