"""Time TEEN on HalfCheetah-v4, 10 lanes, with an evaluation every 5,000 steps, 10 episodes a lane."""

from functools import partial

from benchmarks import loops, row


def measure() -> dict[str, object]:
    run = partial(loops.ours, "teen", "HalfCheetah-v4", 10, 5_000, eval_every=5_000)
    us = {precision: run(precision=precision) * 1e6 for precision in ("tf32", "bf16")}
    return {"values": {"teen_loop": us["tf32"]}, "us_by_precision": us}


if __name__ == "__main__":
    row.main(__file__, measure)
