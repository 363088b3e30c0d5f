from dataclasses import replace

import pytest

from teen.engine.plan import Plan

PLAN = Plan(steps=600, warmup=60, log_every=120, eval_every=90, members_every=180, diagnose_every=0, sync=10)


@pytest.mark.parametrize(
    ("plan", "first", "chunk"),
    [
        (PLAN, 0, 10),  # 30 divides every interval; of its divisors, 10 is the largest up to sync
        (replace(PLAN, sync=9), 0, 6),
        (replace(PLAN, sync=100), 0, 30),
        (replace(PLAN, sync=1), 0, 1),
        (replace(PLAN, diagnose_every=45, sync=100), 0, 15),
        (replace(PLAN, warmup=0), 0, 10),
        (PLAN, 90, 10),
        (PLAN, 105, 5),  # resumed from there, steps of 10 would miss every evaluation
        (PLAN, 107, 1),
    ],
)
def test_a_chunk_meets_every_interval(plan, first, chunk):
    assert plan.chunk(first) == chunk


def test_a_replay_is_no_larger_than_the_run_is_long():
    assert PLAN.capacity == 600
    assert Plan(steps=600, buffer=100).capacity == 100
