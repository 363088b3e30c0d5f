"""Time TD3 on HalfCheetah-v4, 10 lanes, without evaluation."""

from benchmarks import loops, row


def measure() -> dict[str, object]:
    update = loops.update_seconds("td3", 10, calls=10) * 1e6
    alone = loops.environments("HalfCheetah-v4", 10) * 1e6
    us = loops.ours("td3", "HalfCheetah-v4", 10, 10_000) * 1e6
    return {"values": {"td3_loop": us}, "update_us": update, "environments_us": alone}


if __name__ == "__main__":
    row.main(__file__, measure)
