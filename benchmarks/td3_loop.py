"""Time TD3 on HalfCheetah-v4, 10 lanes, without evaluation: alone, and over the larger of update and simulators."""

from benchmarks import loops, row


def measure() -> dict[str, object]:
    update = loops.update_seconds("td3", 10, calls=10) * 1e6
    alone = loops.simulators("HalfCheetah-v4", 10) * 1e6
    us = loops.ours("td3", "HalfCheetah-v4", 10, 10_000) * 1e6
    longer = loops.ours("td3", "HalfCheetah-v4", 10, 10_000, sync=25) * 1e6
    values = {"td3_loop": us, "td3_loop.ratio": us / max(update, alone)}
    return {"values": values, "update_us": update, "simulators_us": alone, "sync_25_us": longer}


if __name__ == "__main__":
    row.main(__file__, measure)
