"""Measure what a checkpoint costs: the time to save a 10-lane TEEN run on HalfCheetah-v4 relative to the extrapolated
time of the 25,000 steps between two checkpoints."""

import tempfile
import time
from pathlib import Path

from benchmarks import loops, row
from teen.disk.checkpoint import CheckpointWriter
from teen.engine.trainer import Trainer

LANES, EVERY = 10, 25_000


def measure() -> dict[str, object]:
    trainer = loops.make_trainer("teen", LANES, 100_000)
    for _ in range(EVERY // 1_000):
        trainer.store(loops.random_rows(trainer.layout, LANES, 1_000))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        writer = CheckpointWriter(Path(folder) / "checkpoint", 100_000)
        seconds = [_save(writer, trainer, step) for step in (EVERY, EVERY + 1)]  # the first compiles what copies rows
        writer = CheckpointWriter(Path(folder) / "again", 100_000)
        seconds.append(_save(writer, trainer, EVERY))
        size = sum(path.stat().st_size for path in (Path(folder) / "again").rglob("*") if path.is_file())
    update = loops.update_seconds("teen", LANES, repeats=3)
    share = 100 * seconds[-1] / (EVERY * update)
    print(f"  {seconds[-1]:.2f} s for {size / 1e6:.0f} MB; a step takes {1e6 * update:.0f} µs or more", flush=True)
    return {"values": {"checkpoint": share}, "seconds": seconds, "megabytes": size / 1e6, "update_us": 1e6 * update}


def _save(writer: CheckpointWriter, trainer: Trainer, step: int) -> float:
    """Return the seconds of saving what the trainer holds. The rest, simulators and acting weights, is a few MB."""
    start = time.perf_counter()
    writer.save(step, trainer.snapshot(), trainer.rows)
    return time.perf_counter() - start


if __name__ == "__main__":
    row.main(__file__, measure)
