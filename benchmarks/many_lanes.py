"""Time TEEN with many lanes in one program: its loop on Walker2d-v4 over its update, and updates by `--utd`."""

import jax

from benchmarks import loops, row


def measure() -> dict[str, object]:
    gpu = jax.default_backend() == "gpu"
    table = [(10, 1), (10, 4), (20, 1), (20, 4), (40, 1), (40, 4)] if gpu else [(1, 1), (1, 4)]  # lanes, utd
    us = {f"{k} lanes, utd {utd}": loops.update_seconds("teen", k, 4, 2, utd=utd) * 1e6 for k, utd in table}
    lanes = table[-1][0]
    loop = loops.ours("teen", "Walker2d-v4", lanes, 1_500) * 1e6
    return {
        "values": {"many_lanes": loop / us[f"{lanes} lanes, utd 1"]},
        "lanes": lanes,
        "loop_us": loop,
        "update_us": us,
    }


if __name__ == "__main__":
    row.main(__file__, measure)
