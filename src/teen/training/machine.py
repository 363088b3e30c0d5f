"""Facts about a start of a run, for machine.json: where it runs, which code, which command. None is a user's or a
machine's name."""

import os
import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from ..config.toml import versions
from ..engine import memory
from ..engine.worker import cores

PYTHON = "python"  # the command of a run that a program began: its call is not known
CHECKOUT = Path(__file__).resolve().parents[3]  # of which this file is src/teen/training/machine.py
PATIENCE = 5.0  # seconds that git may take


def facts(command: str, step: int) -> dict[str, Any]:
    """Return what is known at the start of a run, or where it goes on from a step."""
    device: Any = jnp.zeros(()).device  # the learner's
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "step": step,
        "command": command,
        "device": {"platform": device.platform, "kind": device.device_kind, "count": jax.device_count()},
        "cpu": {"model": cpu_model(), "cores": cores()},
        "memory_bytes": memory.of_machine(),
        "os": f"{platform.system()} {platform.release()} {platform.machine()}",
        "versions": versions(),
        **source(CHECKOUT),
    }


def cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def source(checkout: Path) -> dict[str, Any]:
    """Return the commit of a checkout, and whether the code in it differs from that. Both are None for a package that
    was installed, and where git does not answer."""
    if not (checkout / ".git").exists() or not (checkout / "src" / "teen").is_dir():
        return {"commit": None, "dirty": None}
    commit, changes = _git(checkout, "rev-parse", "HEAD"), _git(checkout, "status", "--porcelain", "--", "src")
    return {"commit": commit and commit.strip(), "dirty": None if changes is None else changes != ""}


def _git(checkout: Path, *arguments: str) -> str | None:
    """Return what git says. It writes nothing, asks nobody, and knows nothing of another repository."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    command = ["git", "-C", str(checkout), "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None
