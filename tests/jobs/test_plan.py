"""Combinations become as few jobs as lanes allow, and each lane is trained once."""

from collections import Counter
from itertools import product

import pytest

from teen.config.job import resolve
from teen.errors import UserError
from teen.jobs.plan import plan
from teen.jobs.sweep_file import MOST_JOBS

TASK = {"env": "Pendulum-v1", "algo": "td3", "seeds": 4, "steps": 30_000}


def grid(**lists):
    return [{**TASK, **dict(zip(lists, values, strict=True))} for values in product(*lists.values())]


def planned(combinations, lanes=100, **more):
    return plan(combinations, lambda job: lanes, **more)


def lanes_of(jobs):
    """Return how often each lane is trained: its width, learning rate and seed."""
    resolved = [resolve(job.settings) for job in jobs]
    return Counter(
        (v.config.width, v.config.lr, seed) for job in resolved for v in job.variants for seed in job.settings.seeds
    )


def test_numbers_become_lanes_and_shapes_become_jobs():
    jobs = planned(grid(lr=[0.1, 0.2, 0.3], width=[8, 16]))
    assert [job.settings["width"] for job in jobs] == [8, 16]
    assert all(job.settings["lr"] == [0.1, 0.2, 0.3] for job in jobs)
    assert [job.lanes for job in jobs] == [12, 12]
    assert lanes_of(jobs) == Counter(product([8, 16], [0.1, 0.2, 0.3], range(4)))


@pytest.mark.parametrize(
    ("lanes", "shapes"),
    [
        (100, [(6, 4)]),
        (24, [(6, 4)]),
        (23, [(3, 4), (3, 4)]),  # at most 5 variants with 4 seeds each; even parts
        (8, [(2, 4)] * 3),
        (4, [(1, 4)] * 6),
        (3, [(1, 2)] * 12),  # now the seeds are divided, too
        (1, [(1, 1)] * 24),
    ],
)
def test_variants_are_divided_first_and_then_seeds(lanes, shapes):
    numbers = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    jobs = planned(grid(lr=numbers), lanes)
    resolved = [resolve(job.settings) for job in jobs]
    assert [(len(job.variants), len(job.settings.seeds)) for job in resolved] == shapes
    assert [job.lanes for job in jobs] == [v * s for v, s in shapes]
    assert lanes_of(jobs) == Counter(product([256], numbers, range(4)))
    assert len({job.name for job in jobs}) == len(jobs)


def test_seeds_per_job_makes_blocks_that_stay_when_seeds_are_added():
    few = planned([{**TASK, "seeds": 10}], seeds_per_job=4)
    more = planned([{**TASK, "seeds": 16}], seeds_per_job=4)
    assert [job.settings["seeds"] for job in few] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [job.name for job in more[:2]] == [job.name for job in few[:2]]


def test_blocks_of_seeds_are_jobs():
    jobs = planned([{**TASK, "seeds": block} for block in ("0-1", "2-3", [7])])
    assert [job.settings["seeds"] for job in jobs] == [[0, 1], [2, 3], [7]]


def test_the_order_of_seeds_means_nothing():
    one, other = (planned([{**TASK, "seeds": seeds}]) for seeds in ([3, 0, 1], [0, 1, 3]))
    assert one == other


def test_what_is_there_twice_is_trained_once():
    """Written as it is by default, as another type of number, in another order, or with seeds in part the same."""
    usual = resolve(TASK).flat()
    again = {**TASK, "lr": usual["lr"], "width": str(usual["width"]), "batch": float(usual["batch"])}
    jobs = planned([TASK, dict(reversed(again.items())), {**again, "seeds": "2-6"}])
    assert [job.settings["seeds"] for job in jobs] == [[0, 1, 2, 3], [4, 5, 6]]
    assert len({job.name.rpartition(",")[2] for job in jobs}) == 1


def test_lists_and_tables_in_the_settings_are_variants_too():
    tables = [{"lr": 0.1}, {"lr": 0.2, "tau": 0.5}]
    jobs = planned([{**TASK, "variants": tables}, {**TASK, "lr": [0.1, 0.3]}])
    assert len(jobs) == 1
    usual = resolve(TASK).variants[0].config.tau
    found = {(v.config.lr, v.config.tau) for v in resolve(jobs[0].settings).variants}
    assert found == {(0.1, usual), (0.2, 0.5), (0.3, usual)}
    assert jobs[0].lanes == 12


def test_a_preset_fills_in_what_a_combination_leaves_open():
    """With a preset and without, the shapes are the same and the numbers are not."""
    plain = {"env": "HalfCheetah-v4", "algo": "teen"}
    given = resolve({**plain, "preset": "paper"}).flat()
    fixed = {name: given[name] for name in given if name not in ("alpha", "seeds", "lr")}
    jobs = planned([{**plain, "preset": "paper"}, {**fixed, "alpha": 0.77, "lr": given["lr"]}])
    assert [job.settings["alpha"] for job in jobs] == [[given["alpha"], 0.77]]


def test_a_grid_stays_a_grid_whatever_the_order_of_its_keys_is():
    one, other = planned(grid(lr=[0.1, 0.2], tau=[0.3, 0.4])), planned(grid(tau=[0.3, 0.4], lr=[0.1, 0.2]))
    assert one == other
    assert (one[0].settings["lr"], one[0].settings["tau"]) == ([0.1, 0.2], [0.3, 0.4])


def test_settings_are_plain_and_make_the_same_job():
    job = planned(grid(lr=[0.1, 0.2]))[0]
    assert resolve(job.settings).flat() == job.settings
    assert job.settings["seeds"] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lrr": 1}, "there is no setting 'lrr': did you mean 'lr'"),
        ({"alpha": 0.2}, "td3 has no setting 'alpha'"),
        ({"lr": "fast"}, "--lr must be a number"),
        ({"lr": -1}, "--lr must be"),
        ({"width": [8, 16]}, "--width takes one value"),
        ({"width": 0}, "--width must be at least 1"),
        ({"warmup": 30_000}, "--warmup 30000 is not below --steps 30000"),
        ({"env": ""}, "--env is missing"),
        ({"env": 3}, "--env must be text"),
        ({"algo": "none"}, "none"),
        ({"seeds": "x"}, "--seeds 'x' names no seeds"),
        ({"variants": []}, "variants is an empty list"),
        ({"preset": "none"}, "unknown preset"),
    ],
)
def test_a_wrong_setting_is_known_before_anything_starts(change, words):
    with pytest.raises(UserError, match=words):
        planned([TASK, {**TASK, **change}])


def test_too_many_jobs_or_lanes_are_one_line():
    with pytest.raises(UserError, match=f"more than {MOST_JOBS:,} jobs"):
        planned([{**TASK, "seeds": 10_000, "lr": i + 1} for i in range(11)], lanes=1)
    with pytest.raises(UserError, match="more than 1,000,000 lanes"):
        planned([{**TASK, "seeds": 10_000, "lr": i + 1} for i in range(101)])
