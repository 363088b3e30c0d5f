"""Measure what a checkpoint of a 10-lane TEEN run on HalfCheetah-v4 costs: how long training waits for the copy in
memory, and how long it takes until that is on disk, both relative to the extrapolated time of the 25,000 steps between
two checkpoints."""

import tempfile
import time
from pathlib import Path
from typing import Any, cast

from benchmarks import loops, row
from teen.disk.checkpoint import CheckpointWriter
from teen.engine.trainer import Trainer
from teen.snapshot import Snapshot
from teen.training.keeper import CheckpointKeeper

LANES, EVERY = 10, 25_000


class NoLogs:
    """The part of a recorder that checkpoints need, without logs: those of a run are a few kB."""

    def snapshot(self) -> Snapshot:
        return Snapshot({}, {})

    def sync(self) -> None:
        pass


def measure() -> dict[str, object]:
    trainer = loops.make_trainer("teen", LANES, 100_000)
    for _ in range(EVERY // 1_000):
        trainer.store(loops.random_rows(trainer.layout, LANES, 1_000))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        times = [_save(Path(folder) / str(i), trainer) for i in range(3)]  # the first compiles what copies rows
        size = sum(path.stat().st_size for path in (Path(folder) / "2").rglob("*") if path.is_file())
    update = loops.update_seconds("teen", LANES, repeats=3)
    held, written = (min(seconds) for seconds in zip(*times[1:], strict=True))
    print(
        f"  training is held up for {held:.2f} s, and {size / 1e6:.0f} MB are on disk after {written:.2f} s; "
        f"a step takes {1e6 * update:.0f} µs or more",
        flush=True,
    )
    shares = {"checkpoint": 100 * held / (EVERY * update), "checkpoint.write": 100 * written / (EVERY * update)}
    return {"values": shares, "seconds": times, "megabytes": size / 1e6, "update_us": 1e6 * update}


def _save(folder: Path, trainer: Trainer) -> tuple[float, float]:
    """Return the seconds for which saving what the trainer holds keeps the caller, and those until it is on disk. The
    rest of a checkpoint, simulators and acting weights, is a few MB."""
    keeper = CheckpointKeeper(CheckpointWriter(folder, 100_000), cast(Any, NoLogs()), {})
    start = time.perf_counter()
    keeper(EVERY, trainer.snapshot(), trainer.rows)
    held = time.perf_counter() - start
    keeper.close()
    if keeper.failure:
        raise OSError(keeper.failure)
    return held, time.perf_counter() - start


if __name__ == "__main__":
    row.main(__file__, measure)
