"""`teen analyze`: the diagnostics of a run, from its agent or its newest checkpoint."""

import gzip
import sys
import zlib
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from .. import envs
from ..disk import diagnostics
from ..disk.files import write_atomically
from ..disk.loading import load
from ..engine.evaluate import copies_needed
from ..errors import UserError
from ..measure.diagnose import examine, tables
from ..measure.rollouts import Scene
from ..report import runs

Quantity = tuple[int, str, float]  # seed, name and value


class Measured(NamedTuple):
    step: int  # that the agent has trained
    quantities: list[Quantity]


def analyze(path: Path, episodes: int = 10, seed: int = 0) -> Measured:
    """Writes diagnostics.csv, and members.csv and confusion.csv where they apply, into the run's folder. Rows of the
    same step are replaced, others are kept. `seed` chooses other starts."""
    agent = load(path)
    before = _packed(path)
    pool = envs.make(
        agent.run.env, copies_needed(agent.algo, len(agent.seeds), episodes), "auto", agent.run.action_repeat
    )
    here = jax.device_put(agent.agents, jax.devices("cpu")[0])  # in full precision
    scene = Scene(agent.algo, here, pool, agent.seeds, 2**31 + seed, range(len(agent.seeds)))
    try:
        with envs.Watchdog(agent.run.env_timeout, [pool]):
            findings = examine(scene, episodes, agent.run.reward_scale)
    finally:
        pool.close()
    lanes = [(own, found) for own, found in zip(agent.seeds, findings, strict=True) if found.quantities]
    if not lanes:
        raise UserError(f"the agent in {path} cannot be diagnosed: its actions are not finite")
    for name, content in before.items():
        write_atomically(path / name, content)
    diagnostics.write(path, agent.step, [(own, tables(found)) for own, found in lanes])
    return Measured(agent.step, [(own, *quantity) for own, found in lanes for quantity in found.quantities])


def _packed(folder: Path) -> dict[str, bytes]:
    """Files of earlier diagnoses that were compressed: a plain file beside one hides it, so it must begin with its
    rows."""
    packed = {name: folder / f"{name}.gz" for name in diagnostics.COLUMNS if not (folder / name).exists()}
    return {name: _unpacked(path) for name, path in packed.items() if path.is_file()}


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as file:
            content = file.read(runs.LARGEST_LOG + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    if len(content) > runs.LARGEST_LOG:
        raise UserError(f"{path} is absurdly large")
    return content


def command(arguments: list[str]) -> int:
    from ..cli.main import Parser

    parser = Parser(
        prog="teen analyze", allow_abbrev=False, description="Bias, entropies and members of trained agents."
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run directories, or folders that hold some")
    parser.add_argument("--episodes", type=int, default=10, help="episodes behind each quantity (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="chooses other starting states (default 0)")
    flags = parser.parse_args(arguments)
    if flags.episodes < 1 or flags.seed < 0:
        raise UserError("--episodes must be at least 1 and --seed at least 0")
    for path in runs.find(flags.runs):
        _print(path, analyze(path, flags.episodes, flags.seed))
    return 0


def _print(path: Path, measured: Measured) -> None:
    """Mean ± std over seeds."""
    from rich.console import Console
    from rich.table import Table

    quantities: dict[str, list[float]] = {}
    for _, name, value in measured.quantities:
        quantities.setdefault(name, []).append(value)
    shown = Table(title=f"{path} after {measured.step} steps", title_justify="left")
    for column in ("quantity", "seeds", "mean", "std"):
        shown.add_column(column, justify="left" if column == "quantity" else "right")
    for name, values in quantities.items():
        shown.add_row(name, str(len(values)), f"{np.mean(values):.4g}", f"{np.std(values):.4g}")
    Console(width=None if sys.stdout.isatty() else 100).print(shown)
