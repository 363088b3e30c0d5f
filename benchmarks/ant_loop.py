"""Time TEEN on Ant-v4, 10 lanes, without evaluation."""

from benchmarks import loops, row


def measure() -> dict[str, object]:
    alone = loops.environments("Ant-v4", 10) * 1e6
    return {"values": {"ant_loop": loops.ours("teen", "Ant-v4", 10, 5_000) * 1e6}, "environments_us": alone}


if __name__ == "__main__":
    row.main(__file__, measure)
