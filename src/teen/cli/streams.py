"""Standard output and error that may be closed, full, or unable to show a character: work goes on without them."""

import errno
import os
import sys
from typing import Any, TextIO


class Outlet:
    """A stream that loses what cannot be written, and remembers why."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.lost: OSError | None = None

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
    missing = OSError(errno.EBADF, os.strerror(errno.EBADF))
    outlets = [Outlet(_usable(stream, handle)) for stream, handle in ((sys.stdout, 1), (sys.stderr, 2))]
    for outlet, stream in zip(outlets, (sys.stdout, sys.stderr), strict=True):
        outlet.lost = missing if stream is None else None
    sys.stdout, sys.stderr = outlets
    return outlets[0], outlets[1]


def _usable(stream: Any, handle: int) -> TextIO:
    """Return the stream, or one to nowhere. Characters that the terminal lacks become question marks."""
    if stream is None:
        stream = os.fdopen(os.dup(handle), "w")
    stream.reconfigure(errors="replace")
    return stream  # type: ignore[no-any-return]


def closed_by_reader(outlet: Outlet) -> bool:
    """Return whether it was a reader such as `head` that had enough."""
    return outlet.lost is not None and outlet.lost.errno == errno.EPIPE
