"""Time TEEN's update alone, 10 lanes, N=10, batch 256, all actors, in every precision."""

from benchmarks import loops, row


def measure() -> dict[str, object]:
    us = {p: loops.update_seconds("teen", 10, calls=10, precision=p) * 1e6 for p in ("float32", "tf32", "bf16")}
    return {"values": {"teen_update": us["tf32"]}, "us_by_precision": us}


if __name__ == "__main__":
    row.main(__file__, measure)
