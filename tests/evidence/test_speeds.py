"""How fast programs ran side by side on one GPU, as docs/scale.md says."""

import csv
import gzip
import json
import tomllib

from .logs import ROOT
from .pages import PAGE, README, flat
from .runs import ALL_TASKS, CONTROL, CONTROL_TEEN, FIRST, HALF_MILLION, LOST, PAPER, SECOND, half_million

TEXT = flat((ROOT / "docs" / "scale.md").read_text())


def times(run):
    """Return the second of training at which a run came to each step."""
    with gzip.open(ROOT / "results" / run / "timing.csv.gz", "rt") as lines:
        return {int(row["step"]): float(row["seconds"]) for row in csv.DictReader(lines)}


def steadily(run):
    """Return the steps per second from step 60,000 on, when everything is compiled."""
    at = times(run)
    return (max(at) - 60_000) / (at[max(at)] - at[60_000])


def test_five_and_seven_programs():
    for part, said in ((SECOND, "ran at {} to {} steps a second each,"), (FIRST, "lanes at {} to {}.")):
        speeds = [steadily(file.parent) for file in (ROOT / "results" / part).rglob("timing.csv.gz")]
        assert said.format(round(min(speeds)), round(max(speeds))) in TEXT


def test_low_priority():
    beside = [steadily(file.parent) for file in (ROOT / "results" / LOST).glob("teen*/alpha=0/timing.csv.gz")]
    assert len(beside) == 4
    assert f"which ran at {min(beside):.0f} to {max(beside):.0f} steps a second" in TEXT
    low = times(f"{LOST}td3-dm_control-finger-spin,seeds=0-4")
    assert f"did 10,000 steps in {low[30_000] - low[20_000]:.0f} s." in TEXT
    again = [steadily(half_million(task)[1]) for task in CONTROL]
    normal = steadily(f"{PAPER}td3-dm_control-finger-spin,seeds=0-4")
    assert f"beside three of them at {min(again):.0f} to {max(again):.0f}, it ran at {normal:.0f}." in TEXT


def test_compiling_ahead():
    """TEEN on three tasks: lost runs of before the change, and those that began again after it."""
    text, said = flat((ROOT / "docs" / "performance.md").read_text()), {}
    for part, runs in (
        ("before", [LOST + CONTROL_TEEN.format(task, "0") for task in CONTROL]),
        ("after", [half_million(task)[1] for task in CONTROL]),
    ):
        all_times = [times(run) for run in runs]
        for what, first, last in (("metrics", 30_000, 40_000), ("warm-up", 0, 20_000), ("all", 0, 40_000)):
            seconds = [at[last] - at.get(first, 0) for at in all_times]
            said[what, part] = f"{min(seconds):.0f}–{max(seconds):.0f}"
    assert f"first metrics fall: {said['metrics', 'before']} s → {said['metrics', 'after']}, as long as later" in text
    assert f"20,000 steps in {said['warm-up', 'before']} s → {said['warm-up', 'after']}." in text
    assert f"Up to step 40,000 {said['all', 'before']} s → {said['all', 'after']}: nothing gained" in text


def test_nine_programs():
    runs = [run for task in HALF_MILLION for some in ALL_TASKS[task].values() for run in some if run.startswith(PAPER)]
    minutes = {run: times(run)[500_000] / 60 for run in runs}
    assert len(minutes) == 12  # α = 0.2 and 0 are one program
    assert f"came to 500,000 steps in {min(minutes.values()):.0f} to {max(minutes.values()):.0f} minutes" in TEXT
    assert "teen-Ant-v4" in max(minutes, key=minutes.get)
    measured = json.loads((ROOT / "benchmarks/results/h200/side_by_side.json").read_text())
    gpu, cores = (round(100 * measured["busy"][what]) for what in ("gpu", "cores"))
    assert f"with the GPU {gpu} % and the cores {cores} % busy" in TEXT
    used = [(name, program) for look in measured["cores_used"] for name, program in look["programs"].items()]
    busiest = max(max(program["busiest_threads"]) for _, program in used)
    assert f"No thread used more than {busiest} of a core" in TEXT
    assert f"up to {max(program['cores'] for name, program in used if name == 'teen-Ant-v4'):.1f} cores" in TEXT


def test_the_price_of_the_ensemble():
    """TEEN's ten members beside TD3: a whole step and its updates on an H200, a step on 2 cores."""
    speeds = tomllib.loads((ROOT / "src" / "teen" / "paper" / "speeds.toml").read_text())
    gpu, cores = (dict(speeds[name]["steps"]) for name in ("H200", "2 cores"))
    step = gpu[100] / gpu[10]
    measured = json.loads((ROOT / "benchmarks/results/h200/td3_loop.json").read_text())
    teen = json.loads((ROOT / "benchmarks/results/h200/teen_loop.json").read_text())
    update = teen["update_us"] / measured["update_us"]
    assert (round(step), round(update), round(cores[10] / cores[1])) == (2, 4, 7)
    assert "a whole step takes [about twice as long](performance.md) as TD3's, its updates four times" in flat(PAGE)
    assert "7 times as long with one seed, and about ten times or more with ten" in flat(PAGE)
    days, hours = 4, (7, 10)  # README's table of ten seeds on 2 cores
    assert f"| TD3, 10 seeds, HalfCheetah, 1M steps, without evaluations | {hours[0]} to {hours[1]} hours" in README
    assert f"| TEEN, 10 seeds of 10 members, HalfCheetah, 1M steps | about {days} days" in README
    assert 24 * days / hours[1] > 9.5
    assert "twice as long as TD3's on an H200, and by estimate ten times or more on 2 cores" in flat(README)


def test_processes_and_lanes_on_two_cores():
    text = (ROOT / "docs" / "performance.md").read_text()
    first = json.loads((ROOT / "benchmarks/results/2-core-epyc/processes.json").read_text())
    pinned, free = [], []
    for run in (first, first["again"]):
        speeds, ratios = run["lane_steps_per_second"], run["values"]
        program = speeds["one program, lanes"]
        best = max(program.values())
        assert best in (program["2"], program["5"])
        pinned.append(speeds["a process on each core"] / best)
        free.append(speeds["not pinned"] / best)
        assert ratios == {"processes": pinned[-1], "processes.free": free[-1]}
        cells = [f"{program[lanes]:.0f}" for lanes in ("1", "2", "5", "10")]
        cells += [f"{speeds['a process on each core']:.0f} ({pinned[-1]:.2f} ×)"]
        cells += [f"{speeds['not pinned']:.0f} ({free[-1]:.2f} ×)"]
        assert f"| jax {run['machine']['jax']} | {' | '.join(cells)} |" in text
    assert f"is {min(pinned):.1f} to {max(pinned):.1f} times as fast as one program of five lanes" in flat(text)
    assert max(free) < 1.05
