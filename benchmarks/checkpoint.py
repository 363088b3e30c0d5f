"""What a checkpoint costs: the time of a save of a 10-lane TEEN run on HalfCheetah-v4 over the extrapolated time of the
25,000 steps between two of them."""

import tempfile
import time
from pathlib import Path

from benchmarks import loops, row
from teen.disk import checkpoint
from teen.engine.learner import Learning
from teen.snapshot import Record

LANES, EVERY = 10, 25_000


def measure() -> dict[str, object]:
    learner = loops.learning("teen", LANES, 100_000)
    for _ in range(EVERY // 1_000):
        learner.store(loops.rows(learner, LANES, 1_000))
    with tempfile.TemporaryDirectory(dir=".") as folder:
        writer = checkpoint.Checkpoints(Path(folder) / "checkpoint", 100_000)
        seconds = [_save(writer, learner, step) for step in (EVERY, EVERY + 1)]  # the first compiles what copies rows
        writer = checkpoint.Checkpoints(Path(folder) / "again", 100_000)
        seconds.append(_save(writer, learner, EVERY))
        size = sum(path.stat().st_size for path in (Path(folder) / "again").rglob("*") if path.is_file())
    update = loops.update_seconds("teen", LANES, repeats=3)
    share = 100 * seconds[-1] / (EVERY * update)
    print(f"  {seconds[-1]:.2f} s for {size / 1e6:.0f} MB; a step takes {1e6 * update:.0f} µs or more", flush=True)
    return {"values": {"checkpoint": share}, "seconds": seconds, "megabytes": size / 1e6, "update_us": 1e6 * update}


def _save(writer: checkpoint.Checkpoints, learner: Learning, step: int) -> float:
    """Of all that lives with the learner, which is nearly all: simulators and acting weights are a few MB."""
    start = time.perf_counter()
    record = learner.record()
    writer.save(step, Record(record.arrays, {}), learner.rows)
    return time.perf_counter() - start


if __name__ == "__main__":
    row.main(__file__, measure)
