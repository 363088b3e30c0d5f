"""Time TEEN's update by numbers of members and of lanes. `--draw FILE.json` plots a result as FILE.png."""

import json
import sys
from pathlib import Path
from typing import Any

import jax

from benchmarks import loops, row

MEMBERS, LANES = (2, 5, 10, 20), (1, 10, 40)


def measure() -> dict[str, object]:
    gpu = jax.default_backend() == "gpu"
    base = 10 if gpu else 1
    lanes = LANES if gpu else LANES[:2]  # 40 lanes take a second a step on 2 cores
    effort = {"repeats": 6, "calls": 5} if gpu else {"repeats": 4, "calls": 1}
    by_members = {n: loops.update_seconds("teen", base, n=n, **effort) * 1e6 for n in MEMBERS}
    by_lanes = {k: loops.update_seconds("teen", k, **effort) * 1e6 for k in lanes if k != base} | {base: by_members[10]}
    by_lanes = dict(sorted(by_lanes.items()))
    print("  members:", {k: round(v) for k, v in by_members.items()}, f"({base} lanes), lanes:", by_lanes, flush=True)
    return {"values": {"scaling": by_lanes[10]}, "lanes": base, "us_by_members": by_members, "us_by_lanes": by_lanes}


def plot(result: dict[str, Any], path: Path) -> None:
    import matplotlib  # takes long to import

    matplotlib.use("agg")
    from matplotlib import pyplot

    by_members, by_lanes = result["us_by_members"], result["us_by_lanes"]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3), layout="constrained")
    left.plot([int(n) for n in by_members], [us / 1e3 for us in by_members.values()], "o-")
    left.set(xlabel=f"members N ({result['lanes']} lanes)", ylabel="ms an update, all lanes", ylim=(0, None))
    right.plot([int(k) for k in by_lanes], [us / 1e3 / int(k) for k, us in by_lanes.items()], "o-")
    right.set(xlabel="lanes (N=10)", ylabel="ms an update and lane", ylim=(0, None))
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--draw"]:  # plots a kept result, and measures nothing
        plot(json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[2]).with_suffix(".png"))
    else:
        row.main(__file__, measure)
