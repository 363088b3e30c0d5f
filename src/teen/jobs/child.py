"""A process that carries out one job: `python -m teen.jobs.child HANDLE`. The order comes as a line of JSON on standard
input, and the result goes as JSON to the handle. Standard input stays open as long as who asked lives."""

import json
import os
import signal
import sys
import threading
from typing import Any, NoReturn

from ..training import streams
from .carry_out import carry_out
from .place import place
from .planned import PlannedJob


def main(handle: int) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    os.set_inheritable(handle, False)
    streams.prepare()
    order = _line()
    threading.Thread(target=_leave_with_parent, daemon=True, name="parent").start()
    result = carry_out(PlannedJob(**order["job"]), place(order["place"]), order["show"])
    os.write(handle, json.dumps(result._asdict()).encode())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # a thread may be left behind in an environment that hangs


def _interrupt(number: int, frame: Any) -> None:
    """End what goes on as Ctrl-C does. While a run trains it answers signals itself."""
    raise KeyboardInterrupt(number)


def _line() -> dict[str, Any]:
    """Return the order. Nothing beyond its line is read: the other thread waits for that."""
    text = b""
    while not text.endswith(b"\n"):
        piece = os.read(0, 2**16)
        if not piece:
            sys.exit("teen.jobs.child is started by `teen sweep` and others, which tell it what to do")
        text += piece
    return dict(json.loads(text))


def _leave_with_parent() -> None:
    """Stop cleanly when who asked is gone, also by kill -9: the same command goes on, and must find nobody here."""
    while os.read(0, 1):
        pass
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # nobody reads them any more
        os.dup2(nowhere, stream)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]))
    except KeyboardInterrupt:  # before there was anything to stop
        os._exit(130)
