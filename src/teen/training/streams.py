"""Standard output and error that may be closed, full, or unable to show a character: work goes on without them."""

import errno
import io
import os
import sys
from typing import Any, TextIO


class Outlet:
    """A stream that loses what cannot be written, and remembers why."""

    def __init__(self, stream: TextIO | None, handle: int):
        """Without a stream, as after `>&-`, all is lost. Characters that a terminal lacks become question marks."""
        self.lost = OSError(errno.EBADF, os.strerror(errno.EBADF)) if stream is None else None
        self.stream = os.fdopen(os.dup(handle), "w") if stream is None else stream
        if isinstance(self.stream, io.TextIOWrapper):
            self.stream.reconfigure(errors="replace")

    @property
    def closed_by_reader(self) -> bool:
        """Whether it was a reader such as `head` that had enough."""
        return self.lost is not None and self.lost.errno == errno.EPIPE

    def write(self, text: str) -> int:
        try:
            return self.stream.write(text)
        except OSError as error:
            self._lose(error)
            return len(text)

    def flush(self) -> None:
        try:
            self.stream.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        """From now on, write to nowhere. What is still buffered would fail again when Python exits."""
        self.lost = self.lost or error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.stream.fileno())
        os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def prepare() -> tuple[Outlet, Outlet]:
    """Replace standard output and error by outlets, and return them."""
    for handle in range(3):
        try:
            os.fstat(handle)
        except OSError:  # closed by who started us (>&-): the next file that is opened would take its place
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    outlets = Outlet(sys.stdout, 1), Outlet(sys.stderr, 2)
    sys.stdout, sys.stderr = outlets
    return outlets
