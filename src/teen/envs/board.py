"""The trainer's side of the sentinel: the memory that it reads, how it is started, and how the trainer may be ended."""

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from ..errors import notice
from . import sentinel
from .adapter import Watched


@contextmanager
def posted(limit: float, grace: float, pools: Sequence[Watched], beside: Sequence[Watched]) -> Iterator[np.ndarray]:
    """Have a sentinel watch while the block runs, and yield the numbers that it reads. `pools` are stepped in the main
    thread, where a step can be interrupted, `beside` in others.

    Without environments that hold Python's lock, or where a person can end the process, there is none; nor without
    /proc, since a process that is stopped would be taken for one that hangs.
    """
    watched = [envs for envs in (*pools, *beside) if envs.in_python]
    count = sentinel.STEPS + 2 * len(watched)
    if not watched or is_interactive() or not os.path.exists("/proc/self/stat"):
        yield np.zeros(count)
        return
    with _exit_code_3() as ending:
        facts = os.getpid(), limit, grace, ending, sum(envs.in_python for envs in pools)
        try:
            process, numbers = _start([*map(str, facts), *(envs.name for envs in watched)], count)
        except (OSError, ValueError) as error:
            notice(f"an environment that hangs and keeps Python's lock will not be ended: {error}")
            yield np.zeros(count)
            return
        for i, envs in enumerate(watched):
            envs.mark_in(numbers[sentinel.STEPS + 2 * i :][:2])
        try:
            yield numbers
        finally:
            process.kill()
            process.wait()


def _start(arguments: Sequence[str], count: int) -> tuple[subprocess.Popen[bytes], np.ndarray]:
    """Start a sentinel; return it and the numbers that it reads."""
    memory = _memory(8 * count)
    try:
        numbers = np.frombuffer(mmap.mmap(memory, 8 * count), float)
        process = subprocess.Popen(
            [sys.executable or "python", "-I", "-S", sentinel.__file__, *arguments],
            stdin=memory,
            stdout=subprocess.DEVNULL,  # only standard error is handed on
            close_fds=True,
            cwd="/",
            start_new_session=True,  # Ctrl-C and Ctrl-Z are for the trainer
        )
        return process, numbers
    finally:
        os.close(memory)


def _memory(size: int) -> int:
    """Return memory that another process can map, as an open file."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("teen")
    else:
        file, path = tempfile.mkstemp()
        os.unlink(path)
    os.write(file, bytes(size))  # takes the room now: no step may find the disk full
    return file


def is_interactive() -> bool:
    """Return whether a person works at this process: Python's prompt, IPython, a notebook."""
    return hasattr(sys, "ps1")


_exits = 0  # how many blocks want it
_exits_lock = threading.Lock()
_handler_before = ctypes.create_string_buffer(256)  # larger than any system's struct sigaction


@contextmanager
def _exit_code_3() -> Iterator[int]:
    """Let a signal end the process with exit code 3, without Python's lock, and yield the signal.

    SIGQUIT has number 3, and a handler gets the number: libc's _exit itself is the handler. Where that is impossible
    it is SIGKILL, without the exit code.
    """
    global _exits
    try:
        libc = ctypes.CDLL(None)
        address = ctypes.cast(libc._exit, ctypes.c_void_p)
        set_action, set_handler = libc.sigaction, libc.signal
        set_handler.restype = ctypes.c_void_p
    except (OSError, AttributeError, TypeError):
        yield signal.SIGKILL
        return
    with _exits_lock:
        if not _exits:
            set_action(signal.SIGQUIT, None, _handler_before)
            set_handler(signal.SIGQUIT, address)
        _exits += 1
    try:
        yield signal.SIGQUIT
    finally:
        with _exits_lock:
            _exits -= 1
            if not _exits:
                set_action(signal.SIGQUIT, _handler_before, None)
