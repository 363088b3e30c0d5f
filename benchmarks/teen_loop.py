"""Time TEEN on HalfCheetah-v4 and Ant-v4, 10 lanes, without evaluation and with one every 5,000 steps, 10 episodes a
lane: two evaluation steps per training step. The update alone is that of HalfCheetah-v4, whose observations are
smaller than Ant-v4's."""

from functools import partial

from benchmarks import loops, row


def measure() -> dict[str, object]:
    update = loops.update_seconds("teen", 10, calls=10) * 1e6
    us = {}
    for env in ("HalfCheetah-v4", "Ant-v4"):
        run = partial(loops.ours, "teen", env, 10, 5_000)
        alone, without, beside = (
            seconds() * 1e6
            for seconds in (partial(loops.simulators, env, 10, 500), run, partial(run, eval_every=5_000))
        )
        us[env] = {"simulators": alone, "without": without, "with": beside, "share": 1 - without / beside}
    cheetah, ant = us["HalfCheetah-v4"], us["Ant-v4"]
    values = {
        "teen_loop": cheetah["with"],
        "teen_loop.ratio": cheetah["with"] / update,
        "teen_loop.share": cheetah["share"] * 100,
        "teen_loop.ant": ant["without"],
        "teen_loop.ant_ratio": ant["without"] / max(update, ant["simulators"]),
        "teen_loop.ant_share": ant["share"] * 100,
    }
    return {"values": values, "update_us": update, "us_a_step": us}


if __name__ == "__main__":
    row.main(__file__, measure)
