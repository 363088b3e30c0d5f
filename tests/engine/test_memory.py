"""What a program needs is known before it is built, and what cannot fit is refused."""

import numpy as np
import pytest

from teen import algos
from teen.engine import memory
from teen.engine.plan import Plan
from teen.engine.replay import Layout
from teen.errors import UserError
from teen.settings import replace
from teen.spec import Spec

SPEC = Spec(3, 1)
ALGO, CONFIG = algos.find("td3"), replace(algos.default_config("td3"), {"width": 5, "depth": 1, "critics": 2})
LAYOUT = Layout(SPEC, ())
PLAN = Plan(steps=1_000, warmup=100, batch=7, utd=3, sync=4, eval_every=100, members_every=100, log_every=100)


def by_hand(place: str) -> int:
    """Count the numbers of TD3 with one hidden layer of 5 units, for 2 lanes; each takes 4 bytes."""
    actor = (3 + 1) * 5 + (5 + 1) * 1
    critics = 2 * ((3 + 1 + 1) * 5 + (5 + 1) * 1)
    networks = 2 * (actor + critics)  # with their targets
    optimisers = 2 * (actor + critics) + 2  # two moments of each, and two counts
    updates = 4 * 3  # steps of a chunk × updates after each
    drawn = updates * (7 * 1 + 7)  # smoothing noise, and which rows
    row = 3 + 1 + 1 + 1 + 1 + 3
    return 4 * 2 * (networks + optimisers + drawn + (updates if place == "host" else 1) * 7 * row)


@pytest.mark.parametrize("place", ["device", "host"])
def test_the_bytes_of_a_program_are_those_counted_by_hand(place):
    plan = Plan(**{**vars(PLAN), "replay": place})
    assert plan.chunk() == 4
    assert memory.needed(ALGO, CONFIG, LAYOUT, 2, plan) == by_hand(place)


def test_a_program_that_cannot_fit_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: (16 * 2**30, "this machine"))
    memory.check(ALGO, CONFIG, LAYOUT, 10, PLAN)
    wide = replace(algos.default_config("td3"), {"width": 60_000})
    # 60,000² weights in each of 3 networks, each with a target and two moments of Adam: 161 GiB a lane
    with pytest.raises(
        UserError, match=r"--width 60000 --utd 3 in 10 lanes needs 1,609.5 GiB .* this machine has 16.0 GiB"
    ):
        memory.check(ALGO, wide, LAYOUT, 10, PLAN)
    often = Plan(**{**vars(PLAN), "utd": 10_000, "batch": 1_000_000})
    with pytest.raises(UserError, match=r"with --utd 10000 --batch 1000000 in 1 lane needs 298.1 GiB"):
        memory.check(ALGO, CONFIG, LAYOUT, 1, often)


def test_a_limit_of_the_process_counts_as_the_machines(monkeypatch):
    whole = memory.of_machine()
    assert 2**28 < whole < 2**50
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (whole // 2, -1))
    assert memory.of_machine() == whole // 2


def test_the_size_of_arrays():
    assert memory.size({"a": np.zeros((2, 3), np.float32), "b": [np.zeros((), np.int64)]}) == 4 * 6 + 8


def test_an_absurd_number_of_environments_is_refused():
    assert memory.check_copies(10_000) == 10_000
    with pytest.raises(UserError, match="10,001 copies of the environment"):
        memory.check_copies(10_001)
