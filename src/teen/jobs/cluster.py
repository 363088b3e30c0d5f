"""Join a Ray cluster, or start one on this machine for as long as a command runs.

One that is started listens on 127.0.0.1 alone, asks for a token that nobody else knows, has no dashboard and reports
nothing to anybody. Its sockets lie in a folder that other users cannot enter.
"""

import logging
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import UserError, notice, one_line

INSTALL = 'jobs on a cluster need a package: pip install "teen-rl[cluster]"'
OBJECT_STORE = 100 * 2**20  # bytes: only settings and results pass through it
PATIENCE = 10.0  # seconds for an address to answer
MODE, TOKEN, OOM = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_task_oom_retries"
ASKS = f"if it asks for a token, set {MODE}=token, and {TOKEN} or RAY_AUTH_TOKEN_PATH as on its head node"

QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # what it prints about workers that it has lost, and begins again
    "RAY_SCHEDULER_EVENTS": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else a warning about what it will be one day
}
ALONE = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on Linux as well: it takes 127.0.0.1, which nobody else can reach
    MODE: "token",
}


def needed() -> None:
    """Raise a UserError where Ray is not installed. It is not imported: `connected` sets variables before that."""
    if find_spec("ray") is None:
        raise UserError(INSTALL)


def ray() -> Any:
    """Return the package."""
    try:
        return import_module("ray")
    except ImportError:
        raise UserError(INSTALL) from None


@contextmanager
def connected(address: str | None, retries: int = 3) -> Iterator[Any]:
    """Give Ray, connected to the cluster at an address, or to one that is started here and ends with the block. A
    program that has connected already stays so. `retries` is how often a task may lose its process to a full memory,
    which Ray would allow without end."""
    for name, value in {**QUIET, OOM: str(retries), **(ALONE if address is None else {})}.items():
        os.environ[name] = value  # before the import: Ray reads some of them there
    if address is None:
        os.environ.setdefault(TOKEN, secrets.token_hex(32))
    package = ray()
    if package.is_initialized():
        yield package
        return
    handler = signal.getsignal(signal.SIGTERM)
    # Not where TMPDIR says: a path to a socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="teen-", dir="/tmp", ignore_cleanup_errors=True) as private:
        try:
            _start(package, private) if address is None else _join(package, address)
            yield package
        finally:
            package.shutdown()
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGTERM, handler)  # Ray has set its own


def _start(package: Any, private: str) -> None:
    with _elsewhere():
        package.init(
            address="local", include_dashboard=False, object_store_memory=OBJECT_STORE, log_to_driver=False,
            logging_level=logging.CRITICAL, _node_ip_address="127.0.0.1", _temp_dir=f"{private}/ray",
        )  # fmt: skip


def _join(package: Any, address: str) -> None:
    if "://" in address:
        raise UserError(f"--address {address}: give HOST:PORT of the cluster, or auto, on one of its machines")
    host, _, port = address.rpartition(":")
    if address != "auto":
        if not host or not port.isdecimal():
            raise UserError(f"--address {address} is not HOST:PORT, nor auto")
        try:
            socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()
        except (OSError, OverflowError) as error:
            raise UserError(f"no cluster answers at --address {address}: {one_line(error)}") from None
    try:
        with _elsewhere(), _silent():
            package.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except Exception as error:  # the token is another one, or the version, or it is no cluster
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise UserError(f"--address {address} cannot be joined: {first:.300}; {ASKS}") from None
    if os.environ.get(MODE, "").lower() != "token":
        notice(f"the cluster at {address} asks for no token: whoever reaches it can run code on it")


@contextmanager
def _silent() -> Iterator[None]:
    """Keep standard error from what is no Python: Ray writes a line a second there while it tries."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Be in the root folder for a while. Ray puts the current one first on the path of all workers, where what lies in
    a run folder would take the place of installed packages."""
    here, path = os.getcwd(), os.environ.get("PYTHONPATH")
    if path:
        os.environ["PYTHONPATH"] = os.pathsep.join(os.path.abspath(part) for part in path.split(os.pathsep) if part)
    os.chdir("/")
    try:
        yield
    finally:
        os.chdir(here)
        if path:
            os.environ["PYTHONPATH"] = path


def check_fits(nodes: list[Mapping[str, Any]], wanted: Mapping[str, float]) -> None:
    """Raise a UserError where no node of the cluster has what a job asks for."""
    have = [dict(node.get("Resources", {})) for node in nodes if node.get("Alive")]
    if any(all(node.get(kind, 0) >= amount for kind, amount in wanted.items() if amount) for node in have):
        return
    largest = {kind: max((float(node.get(kind, 0)) for node in have), default=0.0) for kind in wanted}
    raise UserError(f"a job asks for {_words(wanted)}, and no machine here has that: the most is {_words(largest)}")


def _words(amounts: Mapping[str, float]) -> str:
    names = {"CPU": "cores", "GPU": "GPUs"}
    parts = [f"{amounts[kind]:g} {name}" for kind, name in names.items()]
    return ", ".join(parts) + (f", {amounts['memory'] / 2**30:.1f} GiB of memory" if amounts.get("memory") else "")
