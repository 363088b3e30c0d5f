"""Measure how much longer TEEN's loop takes with evaluation: every 5,000 steps, 10 episodes a lane, 10 lanes. That is
two evaluation steps per training step."""

from benchmarks import loops, row


def measure() -> dict[str, object]:
    us = {}
    for env in ("HalfCheetah-v4", "Ant-v4"):
        without = loops.ours("teen", env, 10, 5_000) * 1e6
        beside = loops.ours("teen", env, 10, 5_000, eval_every=5_000) * 1e6
        us[env] = {"without": without, "with": beside, "share": 1 - without / beside}
    return {"values": {"evaluation_share": us["HalfCheetah-v4"]["share"] * 100}, "us_a_step": us}


if __name__ == "__main__":
    row.main(__file__, measure)
